"""An MDF model that `write` made, as the ONNX graph that it was made of.

Operators, values and what connects them are read from the nodes and edges, so that a file that was changed says what it
says now. Metadata adds what these can't express; where it contradicts them, the file is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from onnx import FunctionProto, GraphProto, ModelProto, helper

from ....passes.errors import InvalidModel
from ....passes.garbage import bulk
from ....passes.graph import GIVEN, Graph, Value
from ....passes.schema_check import check_forms
from ...onnx.read_graph import Function, imported_opsets
from .. import model as mdf
from ..model import Plain
from ..plain_values import shown
from ..structure import model_from_tree
from .metadata import message_of
from .nodes import DEEPEST, METADATA
from .operators import Fields, OperatorReader, Surroundings, own_metadata, read_constant, read_input, text_of, texts_of
from .write import FORM

_NO_IMPORTS_BEFORE_IR = 3


def is_ours(model: mdf.Model) -> bool:
    """Whether a model is in function form, written by `write`."""
    fields = model.metadata.get(METADATA)
    return isinstance(fields, dict) and fields.get("form") == FORM


def from_model(model: mdf.Model) -> Graph:
    """The graph of dialect "onnx" at the model's own opsets.

    Raises:
        InvalidModel: the model isn't in function form, or contradicts itself.
    """
    fields = own_metadata(model.metadata, "the model")
    if len(model.graphs) != 1:
        raise InvalidModel("a model in function form has one graph")
    opsets = _opsets(fields.get("opsets"))
    functions = _functions(fields.get("functions", []))
    calls = {key[:2] for key in functions}
    with bulk():
        graph = _Reader(model.graphs[0], opsets, calls, "the model", 0).graph(fields)
        for key, (proto, body) in functions.items():
            graph.functions[key] = _function(proto, body, calls)
        check_forms(graph, given=True)
    own = message_of(ModelProto, fields.get("model", {}), "the model")
    own.ClearField("graph")
    del own.functions[:]
    if not own.opset_import and own.ir_version >= _NO_IMPORTS_BEFORE_IR:
        for domain, version in opsets.items():
            own.opset_import.add(domain=domain, version=version)
    graph.opsets = opsets
    graph.meta["onnx.model"] = own
    graph.meta[GIVEN] = True
    return graph


def _opsets(stated: Plain) -> dict[str, int]:
    if not isinstance(stated, dict) or not all(type(one) is int and abs(one) < 2**63 for one in stated.values()):
        raise InvalidModel("the model: its metadata names no opsets")
    return imported_opsets(helper.make_opsetid(*entry) for entry in stated.items())


def _functions(stated: Plain) -> dict[tuple[str, str, str], tuple[FunctionProto, Plain]]:
    """Fields and body of the model's own functions."""
    made: dict[tuple[str, str, str], tuple[FunctionProto, Plain]] = {}
    for entry in stated if isinstance(stated, list) else [None]:
        if not isinstance(entry, dict) or set(entry) != {"function", "body"}:
            raise InvalidModel("the model: each of its functions has the fields 'function' and 'body'")
        proto = message_of(FunctionProto, entry["function"], "a function of the model")
        key = (proto.domain, proto.name, proto.overload)
        if key in made:
            raise InvalidModel(f"function {proto.domain}.{proto.name} is defined twice")
        made[key] = (proto, entry["body"])
    return made


def _function(proto: FunctionProto, body: Plain, calls: Set[tuple[str, str]]) -> Function:
    where = f"function {shown(proto.name)}"
    opsets = imported_opsets(proto.opset_import, 0)
    graph = _nested(body, opsets, calls, where, 0)
    graph.opsets = opsets
    for field in ("node", "input", "output", "value_info"):
        proto.ClearField(field)
    return Function(graph, proto)


def _nested(value: Plain, opsets: Mapping[str, int], calls: Set[tuple[str, str]], where: str, depth: int) -> Graph:
    """The graph that is the value of a parameter."""
    if depth > DEEPEST:
        raise InvalidModel(f"{where}: subgraphs nested deeper than {DEEPEST}")
    if not isinstance(value, dict) or len(value) != 1:
        raise InvalidModel(f"{where}: a subgraph must be in an object, under its id")
    ((id, tree),) = value.items()
    model = model_from_tree({"model": {"graphs": {id.removeprefix("graph_"): tree}}})
    fields = own_metadata(model.graphs[0].metadata, where)
    return _Reader(model.graphs[0], opsets, calls, where, depth + 1).graph(fields)


class _Reader:
    """Reads one graph."""

    def __init__(
        self, graph: mdf.Graph, opsets: Mapping[str, int], calls: Set[tuple[str, str]], where: str, depth: int
    ) -> None:
        self.source, self.where = graph, f"{where}, graph {shown(graph.id)}"
        self.fields = own_metadata(graph.metadata, self.where)
        if graph.node_conditions or graph.termination or graph.parameters:
            raise InvalidModel(f"{self.where}: in function form there are no conditions and no parameters of graphs")
        self.around = Surroundings(
            self.where,
            opsets,
            calls,
            self._sources(),
            lambda value, location: _nested(value, opsets, calls, location, depth),
        )

    def _sources(self) -> dict[tuple[str, str], tuple[str, str]]:
        made: dict[tuple[str, str], tuple[str, str]] = {}
        for edge in self.source.edges:
            location = f"{self.where}, edge {shown(edge.id)}"
            if edge.parameters:
                raise InvalidModel(f"{location}: in function form it has no weight")
            if made.setdefault((edge.receiver, edge.receiver_port), (edge.sender, edge.sender_port)) != (
                edge.sender,
                edge.sender_port,
            ):
                raise InvalidModel(f"{location}: another edge leads to the same port")
        return made

    def graph(self, interface: Fields) -> Graph:
        """The graph; `interface` holds its inputs and outputs."""
        made = Graph("onnx", text_of(self.fields, "name", self.source.id, self.where))
        inputs: set[str] = set()
        operators: list[OperatorReader] = []
        for node in self.source.nodes:
            kind = own_metadata(node.metadata, f"{self.where}, node {shown(node.id)}").get("kind")
            if kind == "input":
                read_input(node, self.around)
                inputs.add(node.id)
            elif kind == "constant":
                read_constant(node, self.around)
            else:
                operators.append(OperatorReader(node, self.around))
        made.add_nodes([operator.connect() for operator in operators])
        made.inputs = self._interface(interface, "inputs")
        if {key[0] for key in self._port_keys(interface, "inputs")} != inputs or len(made.inputs) != len(inputs):
            raise InvalidModel(f"{self.where}: its inputs in the metadata aren't its nodes of kind 'input'")
        made.outputs = self._outputs(interface)
        made.constants = self._constants()
        if "notes" in self.fields:
            made.meta["onnx"] = message_of(GraphProto, self.fields["notes"], self.where)
        made.topological()
        for operator in operators:
            operator.check()
        return made

    def _port_keys(self, interface: Fields, kind: str) -> list[tuple[str, str]]:
        entries = interface.get(kind)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise InvalidModel(f"{self.where}: the metadata has no list of {kind}")
        return [(str(entry.get("node")), str(entry.get("port"))) for entry in entries]

    def _interface(self, interface: Fields, kind: str) -> list[Value]:
        """The values of the inputs or outputs, called as the interface says."""
        made: list[Value] = []
        for key, entry in zip(self._port_keys(interface, kind), interface[kind], strict=True):
            value = self.around.values.get(key)
            if value is None or entry.get("name") != value.name or value in made:
                name = shown(str(entry.get("name")))
                raise InvalidModel(f"{self.where}: {name} of the metadata's {kind} is at no port, or at several")
            made.append(value)
        return made

    def _outputs(self, interface: Fields) -> list[Value]:
        distinct = self._interface(interface, "outputs")
        order = interface.get("order")
        if order is None:
            return distinct
        indices = range(len(distinct))
        if not isinstance(order, list) or not all(type(one) is int and one in indices for one in order):
            raise InvalidModel(f"{self.where}: 'order' in the metadata must consist of indices in 'outputs'")
        return [distinct[one] for one in order]

    def _constants(self) -> list[Value]:
        """The constants in the order that the metadata has; others after them."""
        order: dict[str, int] = {}
        for name in texts_of(self.fields, "constants", self.where):
            order.setdefault(name, len(order))
        return sorted(self.around.constants, key=lambda value: order.get(value.name, len(order)))
