"""An ONNX graph for MDF, whose onnx:: functions are the operators of opset 15.

Each operator is brought to its version there by itself, where that leaves one node of the same operator; else it stays
as it is. What the model has is kept in `Node.meta[ORIGIN]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....passes.constant_analysis import static_array
from ....passes.errors import BackedgeError
from ....passes.faults import blaming
from ....passes.garbage import bulk
from ....passes.graph import Graph, Node, Value
from ....passes.infer import infer
from ....passes.opset.convert import OpsetDialect
from ....passes.opset.version_walk import Walk
from ....passes.protos import attribute_to_proto
from ....passes.rewrite import Builder, Rewriter, view
from ....passes.schemas import since_version
from ....passes.tensor import TensorData
from ....passes.types import Type
from ...onnx.opset import at_opset
from ..model import ENGINE_OPSET

ORIGIN = "mdf.origin"
"""Key in the `meta` of a node that was brought to another version: an `Origin`."""

MADE = "mdf.made"
"""Key in the `meta` of a constant that the model doesn't have."""

TYPES = "mdf.types"
"""Key in the `meta` of a graph: the types that inference finds, by value."""

_MOST_KNOWN = 1024


@dataclass(frozen=True, slots=True)
class Origin:
    """What the model has in the place of a node.

    Attributes:
        version: of the operator.
        inputs, attributes: None where only the version differs.
    """

    version: int
    inputs: Sequence[Value | None] | None = None
    attributes: dict[str, Any] | None = None


def prepared(graph: Graph, opset: int | None = None) -> Graph:
    """The graph as it is written; the given one stays as it was.

    Args:
        opset: None: every operator of ai.onnx by itself, as above; the opset imports stay as they are. Otherwise the
            whole graph is brought to this opset.

    Raises:
        Unsupported: an operator, type or attribute isn't supported at `opset`.
        InvalidModel: there is no such opset.
    """
    if opset is not None:
        brought = at_opset(graph, opset)
        return graph.copy() if brought is graph else brought
    calls = {key[:2] for key in graph.functions}
    with bulk():
        made, typed = graph.copy(), graph.copy()
        infer(typed)
        walk = Walk({"": ENGINE_OPSET})
        for inner, known in zip(list(made.graphs()), list(typed.graphs()), strict=True):
            types = inner.meta[TYPES] = dict[Value, Type | None]()
            for node, twin in zip(inner.nodes, known.nodes, strict=True):
                for value, told in zip(node.outputs, twin.outputs, strict=True):
                    types[value] = told.type
                if not node.domain and not node.regions and node.op not in calls:
                    _bring(inner, node, twin, walk)
    return made


def _bring(graph: Graph, node: Node, typed: Node, walk: Walk) -> None:
    """Bring a node to its version at opset 15, if that is possible; `typed` is it with all types known."""
    version = since_version("", node.op_type, ENGINE_OPSET)
    if version is None or version == node.version:
        return
    origin = Origin(node.version)
    try:
        if walk.stamp(typed) is None:
            here = here_of(typed)
            if here is None:
                return
            origin = Origin(node.version, list(node.inputs), dict(node.attributes))
            _become(graph, node, typed, here)
    except BackedgeError:
        return
    node.version = version
    node.meta = {**(node.meta or {}), ORIGIN: origin}


def _become(graph: Graph, node: Node, typed: Node, here: Node) -> None:
    """Give a node what its typed twin has become at opset 15."""
    own = {twin: value for twin, value in zip(typed.inputs, node.inputs, strict=True) if twin is not None}
    inputs: list[Value | None] = []
    for number, value in enumerate(here.inputs):
        if value is not None and value not in own:
            assert value.data is not None
            constant = own[value] = graph.add_constant(value.data, f"{node.op_type}_{number}")
            constant.meta = {MADE: True}
        inputs.append(None if value is None else own[value])
    node.attributes = dict(here.attributes)
    graph.set_inputs(node, inputs)


def here_of(node: Node) -> Node | None:
    """A node's operator at opset 15, which uses the same values and new constants; None where it isn't one node.

    Raises:
        Unsupported, InvalidModel: as the version adapters do.
    """
    op = Builder(Rewriter(OpsetDialect("onnx", {"": ENGINE_OPSET}), {}), Graph("onnx"))
    inputs: list[Value | None] = []
    own: dict[Value, Value] = {}
    for value in node.inputs:
        data = None if value is None else value.data or _known(value)
        used = value if data is None else op.const(data)
        inputs.append(used)
        if value is not None and used is not None:
            own[used] = value
    with blaming(node):
        results = Walk({"": ENGINE_OPSET})(op, view(node, inputs))
    made = op.graph.nodes[0] if len(op.graph.nodes) == 1 else None
    named = [(value, index) for index, value in enumerate(results) if node.outputs[index].name]
    if made is None or made.op != node.op or any((value.producer, value.index) != (made, at) for value, at in named):
        return None
    found = Node("", node.op_type, made.version, node.name)
    found.attributes, found.outputs = made.attributes, node.outputs
    found.inputs = [None if value is None else own.get(value, value) for value in made.inputs]
    return found


def _known(value: Value) -> TensorData | None:
    """The data of a small value that is certain, such as axes are."""
    array = static_array(value)
    return None if array is None or array.size > _MOST_KNOWN else value.holding(array)


def contradicts(node: Node, here: Node) -> bool:
    """Whether what the model has for certain isn't what stands for it at opset 15.

    Args:
        node: as the model has it.
        here: as it stands in the file.
    """
    try:
        expected = here_of(node)
    except BackedgeError:  # less is known than when the file was written
        return False
    if expected is None:
        return False
    if _spelled(expected) != _spelled(here) or len(expected.inputs) != len(here.inputs):
        return True
    return any(not _same(one, other) for one, other in zip(expected.inputs, here.inputs, strict=True))


def _same(one: Value | None, other: Value | None) -> bool:
    if one is other or one is None or other is None or one.data is None or other.data is None:
        return one is other
    return _data(one.data) == _data(other.data)


def _spelled(node: Node) -> dict[str, object]:
    return {name: _spelled_attribute(name, value, node) for name, value in node.attributes.items()}


def _spelled_attribute(name: str, value: Any, node: Node) -> object:
    if isinstance(value, TensorData):
        return _data(value)
    return attribute_to_proto(name, value, node).SerializeToString(deterministic=True)


def _data(data: TensorData) -> object:
    array = data.numpy()
    return data.dtype, data.shape, array.tolist() if array.dtype.kind == "O" else array.tobytes()


def same_attribute(name: str, value: Any, other: Any, node: Node) -> bool:
    """Whether two values of a node's attribute are the same."""
    return _spelled_attribute(name, value, node) == _spelled_attribute(name, other, node)
