"""What an MDF model's inputs and outputs are called. What raises MDF and the session of MDF's engine both ask here.

MDF has no list of inputs and outputs, so they are found (see `interface`), unless the model's metadata states them, as
in files that a conversion wrote:

    metadata: {backedge: {inputs:  [{name: x, node: x_1, port: x, type: float32, shape: [2]}],
                          outputs: [{name: y, node: add, port: out, type: float32}, {name: s, node: n, parameter: s}]}}

`type` (an element type's name) and `shape` may be left out. Works on the plain tree of a document: dicts, lists,
strings and numbers, where objects stand in a dict by their ids or in a list with `id` in each.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...passes.errors import InvalidModel
from .mdf_syntax import unchecked

METADATA = "backedge"
"""The one key in metadata under which everything stands that isn't MDF's own."""

STYLE = "stateful"
"""What the metadata of a model with stateful parameters calls its style where the model was written of another one."""

Plain = Any
Tree = Mapping[str, Any]
Kind = Literal["port", "parameter"]
_Place = tuple[str, Kind, str]
_LARGEST = 2**63 - 1
_LIST_TEXT = re.compile(r"\((.*)\)|\[(.*)\]")


@dataclass(frozen=True, slots=True)
class InputName:
    """One input of a model.

    Attributes:
        ports: (node, input port) of each port that it feeds.
        shape: as declared, else that of the default, else (); a str is a size that isn't known.
        type: an element type's name: float64, int64 or bool, or whatever the metadata states.
        default: the ports' default value as the document has it; None: zeros.
        required: the model that the document was written of has no value for it; MDF's engine takes zeros.
    """

    name: str
    ports: list[tuple[str, str]]
    shape: tuple[int | str, ...]
    type: str
    default: Plain
    required: bool = False


@dataclass(frozen=True, slots=True)
class OutputName:
    """One output of a model: what the output port or the parameter `id` of a node holds in the end.

    Attributes:
        type: the element type that the metadata states, "" where there is none.
    """

    name: str
    node: str
    kind: Kind
    id: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Interface:
    """Inputs and outputs in order.

    Attributes:
        steps: the name of a further input, int64 [] and 0 by default: how many times the model is evaluated after the
            first time, its state kept. None where it is evaluated once.
        time_increment: the name of a further input, float64 [] and 0.0 by default, of those further evaluations.
    """

    inputs: list[InputName]
    outputs: list[OutputName]
    steps: str | None = None
    time_increment: str | None = None


def interface(tree: Tree) -> Interface:
    """The interface of a document's first graph.

    Inputs are the input ports that no edge leads to. Ports of one id are one input, called by it, if they agree in
    shape, type and default; otherwise each is "node.port".

    Outputs are the output ports of the nodes that no edge leaves, in file order; then every stateful parameter (one
    with a derivative, with an initial value or with its own id in its expression) that no such port shows as it is.
    They are called by their ids; "node.id" where an input or another output has the id, too.

    A model with stateful parameters, but without a termination and conditions of nodes, also has the input `steps`, and
    with a derivative the input `time_increment` ("steps_2" and so on where those names are taken).

    Raises:
        InvalidModel: the tree isn't a model, or its metadata names something that isn't there.
    """
    graph = first_graph(tree)
    nodes = [_Node(name, as_mapping(node, f"node {name!r}")) for name, node in objects(graph.get("nodes"), "nodes")]
    stated = _metadata(_model(tree))
    if "inputs" in stated and "outputs" in stated:
        found = _stated(stated, {node.id: node for node in nodes})
        _check_fed(nodes, _fed(graph), found.inputs)
        return found
    return _found(graph, nodes)


def first_graph(tree: Tree) -> Tree:
    """A document's first graph, which is the one that is run.

    Raises:
        InvalidModel: the tree isn't a model, or has no graph.
    """
    for name, graph in objects(_model(tree).get("graphs"), "graphs"):
        return as_mapping(graph, f"graph {name!r}")
    raise InvalidModel("the MDF model has no graph")


def objects(children: Plain, what: str) -> Iterator[tuple[str, Plain]]:
    """(id, object) of each child: of a dict by id, or of a list of dicts with `id`. None are no children.

    Raises:
        InvalidModel: it is something else.
    """
    if isinstance(children, Mapping):
        for name, child in children.items():
            yield str(name), child
    elif isinstance(children, list | tuple):
        for child in children:
            if not isinstance(child, Mapping) or "id" not in child:
                raise InvalidModel(f"{what}: an object without an id in a list")
            yield str(child["id"]), child
    elif children is not None:
        raise InvalidModel(f"{what} must be objects by their ids, not {type(children).__name__}")


def unused(name: str, taken: Iterable[str]) -> str:
    """`name`, or the first of "name_2", "name_3", ... that isn't taken."""
    taken = set(taken)
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


class _Node:
    """A node's id and what it has."""

    def __init__(self, name: str, tree: Tree) -> None:
        self.id = name
        self.inputs = _fields(tree, "input_ports", f"node {name!r}")
        self.outputs = _fields(tree, "output_ports", f"node {name!r}")
        self.parameters = {
            one: of if isinstance(of, Mapping) else {"value": of}
            for one, of in objects(tree.get("parameters"), f"node {name!r}")
        }

    def input(self, port: str) -> InputName:
        """The port as an input of its own."""
        tree = self.inputs[port]
        default = tree.get("default_value")
        shape = declared_shape(tree.get("shape"), f"node {self.id!r}, input port {port!r}") or _shape_of(default)
        return InputName(f"{self.id}.{port}", [(self.id, port)], shape, _element(tree.get("type")), default)


def _fields(tree: Tree, kind: str, where: str) -> dict[str, Tree]:
    return {name: as_mapping(of, f"{where}, {name!r}") for name, of in objects(tree.get(kind), where)}


def _edges(graph: Tree) -> list[Tree]:
    return [as_mapping(edge, f"edge {name!r}") for name, edge in objects(graph.get("edges"), "edges")]


def _fed(graph: Tree) -> set[tuple[str, str]]:
    """(node, input port) of each port that an edge leads to."""
    return {(str(edge.get("receiver")), str(edge.get("receiver_port"))) for edge in _edges(graph)}


def _check_fed(nodes: list[_Node], fed: set[tuple[str, str]], inputs: list[InputName]) -> None:
    """
    Raises:
        InvalidModel: an input port gets nothing, neither by an edge nor as an input.
    """
    fed = fed.union(port for one in inputs for port in one.ports)
    for node in nodes:
        for port in node.inputs:
            if (node.id, port) not in fed:
                raise InvalidModel(f"no edge and no input of the metadata leads to input port {port!r} of {node.id!r}")


def _found(graph: Tree, nodes: list[_Node]) -> Interface:
    fed = _fed(graph)
    sending = {str(edge.get("sender")) for edge in _edges(graph)}
    stateful = [(node, name) for node in nodes for name, tree in node.parameters.items() if is_stateful(name, tree)]
    inputs = _inputs([node.input(port) for node in nodes for port in node.inputs if (node.id, port) not in fed])

    ports: list[_Place] = []
    shown: set[tuple[str, str]] = set()
    for node in nodes:
        if node.id not in sending:
            ports.extend((node.id, "port", port) for port in node.outputs)
            shown |= {(node.id, str(tree.get("value")).strip()) for tree in node.outputs.values()}
    states: list[_Place] = [(node.id, "parameter", name) for node, name in stateful if (node.id, name) not in shown]
    outputs = _outputs(ports + states, {one.name for one in inputs})

    conditions = as_mapping(graph.get("conditions"), "conditions")
    if not stateful or conditions.get("termination") or conditions.get("node_specific"):
        return Interface(inputs, outputs)
    names = [one.name for one in (*inputs, *outputs)]
    steps = unused("steps", names)
    if all(node.parameters[name].get("time_derivative") is None for node, name in stateful):
        return Interface(inputs, outputs, steps)
    return Interface(inputs, outputs, steps, unused("time_increment", names))


def _inputs(ports: list[InputName]) -> list[InputName]:
    """Ports of one id put together where they agree, in the order of the first of each."""
    groups: dict[str, list[InputName]] = {}
    for one in ports:
        groups.setdefault(one.ports[0][1], []).append(one)
    made: list[InputName] = []
    taken = set(groups)
    for port, group in groups.items():
        first = group[0]
        if all(_kind(one) == _kind(first) for one in group):
            made.append(InputName(port, [one.ports[0] for one in group], first.shape, first.type, first.default))
            continue
        for one in group:
            name = unused(one.name, taken)
            taken.add(name)
            made.append(InputName(name, one.ports, one.shape, one.type, one.default))
    return made


def _kind(one: InputName) -> tuple[object, ...]:
    return one.shape, one.type, repr(one.default)


def _outputs(places: list[_Place], inputs: set[str]) -> list[OutputName]:
    counts = Counter(name for _, _, name in places)
    taken = {name for name, count in counts.items() if count == 1} | inputs
    made: list[OutputName] = []
    for node, kind, own in places:
        name = own
        if counts[own] > 1 or own in inputs:
            name = unused(f"{node}.{own}", taken)
            taken.add(name)
        made.append(OutputName(name, node, kind, own))
    return made


def is_stateful(name: str, parameter: Tree) -> bool:
    """Whether a parameter keeps its value from one execution of its node to the next."""
    if parameter.get("time_derivative") is not None or parameter.get("default_initial_value") is not None:
        return True
    value = parameter.get("value")
    return isinstance(value, str) and name in _variables(value)


def _variables(expression: str) -> set[str]:
    """The names in an expression; none if it isn't one."""
    try:
        return {node.id for node in ast.walk(unchecked(expression.strip())) if isinstance(node, ast.Name)}
    except SyntaxError:
        return set()


def _stated(stated: Tree, nodes: Mapping[str, _Node]) -> Interface:
    """The interface as metadata has it."""
    inputs: list[InputName] = []
    is_ours = stated.get("style") == STYLE
    for name, entry in _entries(stated["inputs"], "inputs"):
        node, port = _place(entry, "port", nodes)
        if port not in node.inputs:
            raise InvalidModel(f"the metadata's input {name!r}: node {node.id!r} has no input port {port!r}")
        own = node.input(port)
        shape = declared_shape(entry["shape"], f"input {name!r}") if "shape" in entry else own.shape
        type, required = str(entry.get("type") or own.type), is_ours and own.default is None
        inputs.append(InputName(name, own.ports, shape, type, own.default, required))
    outputs: list[OutputName] = []
    for name, entry in _entries(stated["outputs"], "outputs"):
        kind: Kind = "parameter" if "parameter" in entry else "port"
        node, own = _place(entry, kind, nodes)
        if own not in (node.parameters if kind == "parameter" else node.outputs):
            raise InvalidModel(f"the metadata's output {name!r}: node {node.id!r} has no {kind} {own!r}")
        outputs.append(OutputName(name, node.id, kind, own, str(entry.get("type") or "")))
    return Interface(inputs, outputs)


def _entries(entries: Plain, what: str) -> Iterator[tuple[str, Tree]]:
    if not isinstance(entries, list | tuple):
        raise InvalidModel(f"the metadata's {what} must be a list")
    seen: set[str] = set()
    for entry in entries:
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or name in seen:
            raise InvalidModel(f"the metadata's {what} must have names, each its own")
        seen.add(name)
        yield name, entry


def _place(entry: Tree, key: str, nodes: Mapping[str, _Node]) -> tuple[_Node, str]:
    node = nodes.get(str(entry.get("node")))
    if node is None:
        raise InvalidModel(f"the metadata's {entry['name']!r} names no node of the graph: {entry.get('node')!r}")
    return node, str(entry.get(key))


def _model(tree: Plain) -> Tree:
    """What the document says of its one model: it stands under its id, or says it."""
    tree = as_mapping(tree, "the document")
    if "id" in tree or not tree:
        return tree
    return as_mapping(next(iter(tree.values())), "the model")


def _metadata(model: Tree) -> Tree:
    metadata = model.get("metadata")
    ours = metadata.get(METADATA) if isinstance(metadata, Mapping) else None
    return ours if isinstance(ours, Mapping) else {}


def as_mapping(tree: Plain, what: str) -> Tree:
    """An object's fields; None has none.

    Raises:
        InvalidModel: it is something else.
    """
    if tree is None:
        return {}
    if not isinstance(tree, Mapping):
        raise InvalidModel(f"{what} must be an object with named fields, not {type(tree).__name__}")
    return tree


def declared_shape(shape: Plain, where: str) -> tuple[int | str, ...]:
    """A shape as a list, or as the text of one: "(2, n)", "[2]"; () where nothing is given.

    Raises:
        InvalidModel: it is none.
    """
    if shape is None or shape == "":
        return ()
    if isinstance(shape, str):
        found = _LIST_TEXT.fullmatch(shape.strip())
        if found is None:
            raise InvalidModel(f"{where}: the shape {shape[:60]!r} isn't a list")
        shape = [size.strip().strip("'\"") for size in (found[1] or found[2] or "").split(",")]
        if not shape[-1]:
            shape.pop()  # "()" and "(2,)"
    if not isinstance(shape, list | tuple):
        raise InvalidModel(f"{where}: 'shape' must be a list, not of type {type(shape).__name__}")
    return tuple(_size(size, where) for size in shape)


def _size(size: Plain, where: str) -> int | str:
    if isinstance(size, str):
        if re.fullmatch(r"[0-9]{1,18}", size):
            return int(size)
        if re.fullmatch(r"[^\W\d][\w.:/ +*()-]*", size):
            return size
    elif isinstance(size, float) and size.is_integer() and 0 <= size <= _LARGEST:
        return int(size)
    elif isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= _LARGEST:
        return size
    raise InvalidModel(f"{where}: {str(size)[:60]!r} is no size of a shape")


def _shape_of(value: Plain) -> tuple[int, ...]:
    """The shape of nested lists, as far as the first of each tells."""
    shape: list[int] = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    return tuple(shape)


def _element(written: Plain) -> str:
    """The element type that a port's type comes to: numbers are 64 bits wide, and floats where nothing else is said."""
    text = str(written or "").lower()
    return "int64" if "int" in text else "bool" if "bool" in text else "float64"
