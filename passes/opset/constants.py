"""Constants of integer types that came later than an opset, in a wider type that it has."""

from __future__ import annotations

from ..graph import Graph, Node, Value
from ..tensor import TensorData
from ..types import DType, TensorType

_LATER = {DType.INT4: 21, DType.UINT4: 21, DType.INT2: 25, DType.UINT2: 25}
_WIDER = {DType.INT4: DType.INT8, DType.UINT4: DType.UINT8, DType.INT2: DType.INT8, DType.UINT2: DType.UINT8}
_TOLERANT = frozenset([("", "Cast"), ("", "DequantizeLinear")])


def with_wider_constants(graph: Graph, opset: int) -> Graph:
    """The graph with such constants widened where only Cast and DequantizeLinear read them, to whom it is the same.

    A copy if there are any; the graph itself stays as it was.
    """
    if not any(_candidates(inner, opset) for inner in graph.graphs()):
        return graph
    graph = graph.copy()
    for inner in graph.graphs():
        for value in _candidates(inner, opset):
            data = value.data
            assert data is not None
            wide = _WIDER[data.dtype]
            value.data = TensorData(wide, data.shape, load=lambda data=data, wide=wide: data.numpy().astype(wide.numpy))
            value.type = TensorType(wide, data.shape)
    return graph


def _candidates(graph: Graph, opset: int) -> set[Value]:
    """The constants of a graph that can be widened: zero points together with what they belong to."""
    named = {*graph.inputs, *graph.outputs}
    found = {
        value
        for value in graph.constants
        if value.data is not None and _LATER.get(value.data.dtype, 0) > opset and value not in named
    }
    found = {value for value in found if all(node.op in _TOLERANT for node, _ in graph.uses(value))}
    while True:
        lonely = {value for value in found if any(not _together(node, found) for node, _ in graph.uses(value))}
        if not lonely:
            return found
        found -= lonely


def _together(node: Node, found: set[Value]) -> bool:
    """Whether data and zero point of a node are both among those found."""
    if node.op_type != "DequantizeLinear":
        return True
    return all(part is None or part in found for part in (node.input(0), node.input(2)))
