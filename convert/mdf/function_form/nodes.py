"""MDF nodes for the inputs, the constants and the operators of an ONNX graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.message import Message

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.schemas import since_version
from ....passes.types import TensorType
from .. import model as mdf
from ..model import ENGINE_OPSET, Plain
from .arrays import Metadata, Storage, plain_array
from .attributes import plain_attribute
from .engine_form import Form, Ids, Types, attribute_argument, composed_expression, expression, form_of, identifier
from .metadata import plain_message, plain_type, port_type
from .prepare import MADE, ORIGIN, Origin, same_attribute

METADATA = "backedge"
"""The one key in metadata under which everything of ours stands."""

DEEPEST = 70
"""How deep subgraphs may stand in each other, as a document's objects may only be `plain_values.DEEPEST` deep."""

HERE, MODEL = "here", "model"
"""What a parameter is `only` for: the operator as the file has it, or as the model has it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a graph has in common with the subgraphs in it.

    Attributes:
        storage: how the file holds arrays.
        opsets: the imports of the model, or of the function that the graph belongs to.
        calls: (domain, name) of the model's own functions.
        depth: in how many graphs it stands.
    """

    storage: Storage
    opsets: Mapping[str, int]
    calls: Set[tuple[str, str]]
    depth: int = 0


@dataclass(slots=True)
class Context:
    """The graph that is being written.

    Attributes:
        subgraph: writes a region.
        types: of values, where more is known than they say.
        ports: node and output port of each value.
    """

    setting: Setting
    subgraph: Callable[[Graph, Setting], Plain]
    types: Types = field(default_factory=dict)
    made: mdf.Graph = field(default_factory=lambda: mdf.Graph("main"))
    ports: dict[Value, tuple[str, str]] = field(default_factory=dict)
    ids: Ids = field(default_factory=Ids)
    edge_ids: Ids = field(default_factory=Ids)

    @property
    def storage(self) -> Storage:
        return self.setting.storage

    def connect(self, value: Value, node: str, port: str) -> None:
        """An edge from where a value is made."""
        sender, sent = self.ports[value]
        name = self.edge_ids.take(f"{sender}_{sent}_to_{node}_{port}", "edge")
        self.made.edges.append(mdf.Edge(name, sender, node, sent, port))


def _ours(fields: dict[str, Plain]) -> dict[str, Plain]:
    """Metadata of these fields, without those that say nothing."""
    stated = {name: value for name, value in fields.items() if value is not None}
    return {METADATA: stated} if stated else {}


def _notes(holder: Node | Value, storage: Storage) -> Plain:
    notes = (holder.meta or {}).get("onnx")
    return plain_message(notes, storage.pack) if isinstance(notes, Message) else None


def _renamed(name: str, id: str) -> str | None:
    return None if name == id else name


def _output_port(value: Value, id: str, expression: str, storage: Storage) -> mdf.OutputPort:
    shape, written, stated = port_type(value.type)
    metadata = _ours({"name": _renamed(value.name, id), "type": stated, "notes": _notes(value, storage)})
    return mdf.OutputPort(id, expression, shape, written, metadata)


def _input_port(value: Value, id: str) -> mdf.InputPort:
    shape, written, _ = port_type(value.type)
    return mdf.InputPort(id, shape=shape, type=written)


def add_input(context: Context, value: Value) -> None:
    """A node with one port, which takes in what the graph is fed with; its default is the port's."""
    name = context.ids.take(value.name, "input")
    port = _input_port(value, Ids().take(value.name, "input"))
    shown, default = port.id, None
    if value.data is not None:
        port.default, default = plain_array(value.data, context.storage, value.name)
        shown = expression(port.id, value.data)
    port.metadata = _ours({"default": default})
    output = _output_port(value, port.id, shown, context.storage)
    context.made.nodes.append(mdf.Node(name, [port], outputs=[output], metadata=_ours({"kind": "input"})))
    context.ports[value] = (name, output.id)


def _constant(value: Value, id: str, storage: Storage) -> mdf.Parameter:
    """A constant as a parameter: its data, its name and what else is said of it."""
    assert value.data is not None
    plain, of_array = plain_array(value.data, storage, value.name)
    usual = value.type == TensorType(value.data.dtype, value.data.shape)
    meta = value.meta or {}
    stated = {
        "of": "constant",
        "name": _renamed(value.name, id),
        **of_array,
        "type": None if usual else plain_type(value.type),
        "declared": meta.get("declared"),
        "only": HERE if meta.get(MADE) else None,
        "notes": _notes(value, storage),
    }
    return mdf.Parameter(id, plain, metadata=_ours(stated))


def add_constant(context: Context, value: Value) -> None:
    """A node that holds one constant, for several users."""
    assert value.data is not None
    name = context.ids.take(value.name, "constant")
    parameter = _constant(value, Ids().take(value.name, "constant"), context.storage)
    output = mdf.OutputPort(parameter.id, expression(parameter.id, value.data))
    output.shape, output.type, _ = port_type(TensorType(value.data.dtype, value.data.shape))
    node = mdf.Node(name, parameters=[parameter], outputs=[output], metadata=_ours({"kind": "constant"}))
    context.made.nodes.append(node)
    context.ports[value] = (name, output.id)


def assign_output_ports(context: Context, node: Node, name: str) -> None:
    """Say where the values of an operator will stand, before any operator is written."""
    ids = Ids()
    for value in node.outputs:
        if value.name:
            context.ports[value] = (name, ids.take(value.name, "output"))


def used_by(node: Node) -> list[Value]:
    """The values that an operator uses, here or in the model."""
    origin = (node.meta or {}).get(ORIGIN)
    own = origin.inputs if isinstance(origin, Origin) else None
    return [value for value in dict.fromkeys([*node.inputs, *(own or ())]) if value is not None]


def add_operator(context: Context, node: Node, name: str) -> None:
    """An operator, called `name`. Constants that have no port of their own become its parameters."""
    form = form_of(node, node.op in context.setting.calls, context.types)
    made, ids = mdf.Node(name), Ids()
    shown = dict(_attributes(context, made, ids, form, node))
    parameters = list(made.parameters)
    made.parameters.clear()
    used = {value: _use(context, made, ids, form, node, value) for value in used_by(node)}
    made.parameters += parameters
    args: dict[str, Plain] = {}
    for argument, value in zip(form.arguments, node.inputs, strict=False):
        if value is not None:
            args[argument] = _argument(context, value, used[value])
    for argument, text in shown.items():
        args[f"{argument}_attribute" if argument in args else argument] = text
    called = ids.take(f"onnx_{node.op_type.lower()}", "onnx_operator", form.avoided)
    made.parameters.append(_function(called, node, form.function, {**args, **form.added}))
    for index, value in enumerate(node.outputs):
        if value.name:
            text = f"{called}[{index}]" if form.indexed else called
            made.outputs.append(_output_port(value, context.ports[value][1], text, context.storage))
    stated = {
        **_operator(context, node, name, form),
        **_wiring(node, form, used),
        "notes": _notes(node, context.storage),
        "from": node.written_origin or None,
    }
    made.metadata = _ours(stated)
    context.made.nodes.append(made)


def _function(id: str, node: Node, function: str, args: dict[str, Plain]) -> mdf.Parameter:
    """The parameter that computes the outputs."""
    text = composed_expression(node, function, args)
    if text is None:
        return mdf.Parameter(id, function=function, args=args)
    return mdf.Parameter(id, text, metadata=_ours({"of": "operator", "function": function, "args": args}))


def _attributes(context: Context, made: mdf.Node, ids: Ids, form: Form, node: Node) -> Iterator[tuple[str, str]]:
    """A parameter for each attribute and subgraph; yields argument and expression of those that the function has."""
    for key, value, only in _with_origin(node):
        beside = only == MODEL  # which the engine must not take for an argument
        free = () if not beside and attribute_argument(node, key, key)[0] == key else form.avoided
        id = ids.take(form.prefix + key if beside else key, "attribute", free)
        plain, stated = plain_attribute(key, value, node, context.storage)
        stated = _attribute_metadata(key, id, {**stated, "only": only})
        made.parameters.append(mdf.Parameter(id, plain, metadata=_ours(stated)))
        if not beside:
            yield attribute_argument(node, key, id)
    setting = replace(context.setting, depth=context.setting.depth + 1)
    if node.regions and setting.depth > DEEPEST:
        raise Unsupported(node, f"subgraphs may be nested at most {DEEPEST} deep: backedge reads no deeper documents")
    for key, region in node.regions.items():
        id = ids.take(key, "body")
        stated = _attribute_metadata(key, id, {"kind": "graph"})
        made.parameters.append(mdf.Parameter(id, context.subgraph(region, setting), metadata=_ours(stated)))
        yield id, id


def _with_origin(node: Node) -> Iterator[tuple[str, Any, str | None]]:
    """Name and value of each attribute, and whether only the model or only the file has it."""
    origin = (node.meta or {}).get(ORIGIN)
    own = origin.attributes if isinstance(origin, Origin) and origin.attributes is not None else node.attributes
    for name, value in own.items():
        shared = name in node.attributes and same_attribute(name, value, node.attributes[name], node)
        yield name, value, None if shared else MODEL
    for name, value in node.attributes.items():
        if name not in own or not same_attribute(name, value, own[name], node):
            yield name, value, HERE


def _attribute_metadata(key: str, id: str, stated: Metadata) -> Metadata:
    return {"of": "attribute", "name": _renamed(key, id), **stated}


def _use(context: Context, made: mdf.Node, ids: Ids, form: Form, node: Node, value: Value) -> str:
    """The port or the parameter through which an operator uses a value: its id."""
    own = {name for name, used in zip(form.arguments, node.inputs, strict=False) if used is value}
    id = ids.take(form.prefix + identifier(value.name, "value"), "value", form.avoided - own)
    if value in context.ports:
        made.inputs.append(_input_port(value, id))
        context.connect(value, made.id, id)
    else:
        made.parameters.append(_constant(value, id, context.storage))
    return id


def _argument(context: Context, value: Value, id: str) -> str:
    return id if value in context.ports or value.data is None else expression(id, value.data)


def _operator(context: Context, node: Node, id: str, form: Form) -> dict[str, Plain]:
    """What a node's function doesn't say of its operator."""
    domain, op_type, version = operator_of(form.function)
    if version is None:
        version = usual_version(node.op, context.setting.opsets, context.setting.calls)
    origin = (node.meta or {}).get(ORIGIN)
    return {
        "name": _renamed(node.name, id),
        "domain": _renamed(node.domain, domain),
        "operator": _renamed(node.op_type, op_type),
        "version": node.version if node.version != version else None,
        "was": origin.version if isinstance(origin, Origin) else None,
    }


def _wiring(node: Node, form: Form, used: Mapping[Value, str]) -> dict[str, Plain]:
    """Which arguments are inputs, what is captured, how many outputs there are."""
    formal, captures = node.formal_inputs, node.captures
    origin = (node.meta or {}).get(ORIGIN)
    last = max((index for index, value in enumerate(node.outputs) if value.name), default=-1)
    return {
        "inputs": [None if value is None else name for name, value in zip(form.arguments, formal, strict=True)] or None,
        "model_inputs": _ids(origin.inputs, used) if isinstance(origin, Origin) and origin.inputs is not None else None,
        "captures": [used[value] for value in captures if value is not None] or None,
        "outputs": len(node.outputs) if len(node.outputs) != last + 1 else None,
        "added": list(form.added) or None,
    }


def _ids(values: Sequence[Value | None], used: Mapping[Value, str]) -> list[str | None]:
    return [None if value is None else used[value] for value in values]


def operator_of(function: str) -> tuple[str, str, int | None]:
    """Domain, operator ("" where it is none) and (where it says one) version that a function's name tells."""
    domain, known, op_type = function.rpartition("::")
    if not known:
        return "", "", None
    if domain != "onnx":
        return domain, op_type, None
    name, _, version = op_type.rpartition("-")
    return ("", name, int(version)) if name and version.isdecimal() and len(version) < 9 else ("", op_type, None)


def usual_version(op: tuple[str, str], opsets: Mapping[str, int], calls: Set[tuple[str, str]]) -> int | None:
    """The version of an operator of which a function's name tells none."""
    domain, op_type = op
    if not domain:
        return since_version("", op_type, ENGINE_OPSET)
    found = None if op in calls else since_version(domain, op_type, opsets.get(domain, 0))
    return found or opsets.get(domain)
