"""An ONNX graph for MDF, whose onnx:: functions are the operators of opset 15.

Each operator is brought to its version there by itself, where that leaves one node of the same operator, and where the
way back, which reading goes, leads to the same node again; else it stays as it is. What the model had is kept in
`Node.meta[ORIGIN]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....passes.errors import BackedgeError, Unsupported
from ....passes.graph import Graph, Node, Value, bulk
from ....passes.infer import infer
from ....passes.opset import convert_opset
from ....passes.opset.walk import Walk
from ....passes.protos import attribute_to_proto
from ....passes.schemas import since_version
from ....passes.tensor import TensorData
from ....passes.types import Type
from ...onnx.opset import change_opset

OPSET = 15
"""The opset of MDF's onnx:: functions."""

ORIGIN = "mdf.origin"
"""Key in the `meta` of a node that was brought to another version: an `Origin`."""

MADE = "mdf.made"
"""Key in the `meta` of a constant that stands for an attribute of the model's own version of an operator."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What the model had.

    Attributes:
        version: of the operator.
        adapted: more than the version changed, and the way back is that of the version adapters.
    """

    version: int
    adapted: bool = False


def prepared(graph: Graph, opset: int | None = None) -> Graph:
    """The graph as it is written; the given one stays as it was.

    Args:
        opset: None: every operator of ai.onnx by itself, as above; the opset imports stay as they are. Otherwise the
            whole graph is brought to this opset.

    Raises:
        Unsupported: an operator, type or attribute has no form at `opset`.
        InvalidModel: there is no such opset.
    """
    if opset is not None:
        return change_opset(graph, opset) if opset != graph.opsets.get("") else graph.copy()
    with bulk():
        made, typed = graph.copy(), graph.copy()
        infer(typed)
        walk = Walk({"": OPSET})
        for inner, known in zip(list(made.graphs()), list(typed.graphs()), strict=True):
            for node, twin in zip(inner.nodes, known.nodes, strict=True):
                if not node.domain and not node.regions and not _is_function(graph, node):
                    _bring(inner, node, twin, walk)
    return made


def _is_function(graph: Graph, node: Node) -> bool:
    return any(node.op == key[:2] for key in graph.functions)


def _bring(graph: Graph, node: Node, typed: Node, walk: Walk) -> None:
    """Bring a node to its version at opset 15, if that is possible; `typed` is it with all types known."""
    version = since_version("", node.op_type, OPSET)
    if version in (None, node.version):
        return
    try:
        if walk.stamp(typed) is not None:
            origin = Origin(node.version)
        else:
            origin = Origin(node.version, adapted=True)
            forth = walked(node, OPSET, [None if value is None else value.type for value in typed.inputs])
            if forth is None:
                return
            back = walked(forth, node.version)
            if back is None or not _alike(node, back):
                return
            _become(graph, node, forth)
    except BackedgeError:
        return
    node.version = version or 0
    node.meta = {**(node.meta or {}), ORIGIN: origin}


def restored(graph: Graph, node: Node) -> None:
    """Bring a node back to what `Node.meta[ORIGIN]` says that the model had.

    Raises:
        Unsupported, InvalidModel: as it stands in the file, the operator can't be said there.
    """
    meta = dict(node.meta or {})
    origin = meta.pop(ORIGIN)
    if origin.adapted:
        back = walked(node, origin.version)
        if back is None:
            raise Unsupported(node, f"as the file has it, it is no {node.op_type}-{origin.version}")
        _become(graph, node, back)
    node.version = origin.version
    node.meta = meta or None


def walked(node: Node, opset: int, types: Sequence[Type | None] | None = None) -> Node | None:
    """A node at another opset, using the same values and new constants; None where it doesn't stay one node.

    Args:
        types: of the inputs, where more is known than the values say.

    Raises:
        Unsupported, InvalidModel: as the version adapters do.
    """
    alone = Graph("onnx")
    alone.opsets = {"": opset}
    values: dict[Value, Value] = {}
    for index, value in enumerate(node.inputs):
        if value is None or value in values:
            continue
        if value.data is not None:
            values[value] = alone.add_constant(value.data, f"in_{index}")
        else:
            values[value] = alone.add_input(f"in_{index}", value.type if types is None else types[index])
    outputs = [(f"out_{index}" if value.name else "", value.type) for index, value in enumerate(node.outputs)]
    inputs = [None if value is None else values[value] for value in node.inputs]
    twin = alone.add_node(node.op_type, inputs, outputs, node.attributes, version=node.version)
    alone.outputs = [value for value in twin.outputs if value.name]
    new = convert_opset(alone, {"": opset})
    made = new.nodes
    if len(made) != 1 or made[0].op != node.op or new.outputs != [value for value in made[0].outputs if value.name]:
        return None
    if [value.index for value in new.outputs] != [value.index for value in alone.outputs]:
        return None
    own = {value.name: value for value in values.values()}
    old = {twin.name: value for value, twin in values.items()}
    found = Node("", node.op_type, made[0].version, node.name)
    found.attributes = made[0].attributes
    found.outputs = node.outputs
    for value in made[0].inputs:
        if value is None or value.name not in own:
            found.inputs.append(value)
        else:
            found.inputs.append(old[value.name])
    return found


def _become(graph: Graph, node: Node, other: Node) -> None:
    """Give a node what another has, with its new constants; those that it alone used and doesn't any more go."""
    before = {value for value in node.inputs if value is not None}
    for number, value in enumerate(other.inputs):
        if value is not None and value.data is not None and value not in before:
            constant = graph.add_constant(value.data, f"{node.outputs[0].name}_{number}")
            constant.meta = {MADE: True}
            other.inputs[number] = constant
    node.attributes = dict(other.attributes)
    graph.set_inputs(node, other.inputs)
    gone = {value for value in before if (value.meta or {}).get(MADE) and not graph.uses(value)}
    if gone:
        graph.constants = [value for value in graph.constants if value not in gone]


def _alike(node: Node, other: Node) -> bool:
    """Whether two nodes have the same attributes and use the same values."""
    return node.inputs == other.inputs and dict(_spelled(node)) == dict(_spelled(other))


def _spelled(node: Node) -> Iterator[tuple[str, object]]:
    for name, value in node.attributes.items():
        if isinstance(value, TensorData):
            yield name, (value.dtype, value.shape, value.numpy().tolist())
        else:
            yield name, attribute_to_proto(name, value, node).SerializeToString(deterministic=True)
