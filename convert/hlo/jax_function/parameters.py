"""Which constants of a model are weights."""

from __future__ import annotations

from ....passes.graph import Graph, Node, Value
from ....passes.loop import Captured, Loop, is_loop
from ....passes.types import DType

_TRAINED = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)
_SIZED_BY_FLOATS = {"Range": 0, "Resize": 1, "Upsample": 1}
"""Operators the sizes of whose results floats decide -> the first input that does."""


def parameters_of(graph: Graph, named: frozenset[str]) -> dict[str, Value]:
    """The constants of floats among those of these names, in order, without those that decide a size, and without whole
    exponents: of x ** 2 the derivative by 2 is defined for positive numbers only."""
    deciding = _deciding(graph, {value: _source(value) for value in _constants(graph)})
    found = [value for value in (*graph.constants, *graph.inputs) if value.data is not None and value not in deciding]
    return {value.name: value for value in found if value.tensor.dtype in _TRAINED and value.name in named}


Known = dict[Value, frozenset[Value]]
"""What is known before anything runs -> the constants of floats of the root graph that it is computed of."""


def _source(value: Value) -> frozenset[Value]:
    return frozenset([value] if value.tensor.dtype in _TRAINED else [])


def _deciding(graph: Graph, known: Known) -> set[Value]:
    """The constants of floats that sizes or indices are computed of before anything runs, and whole exponents.

    Integers that are cast from what is known before anything runs are nearly always sizes, or indices.
    """
    found: set[Value] = set()
    for node in graph.topological():
        given = [value for value in node.inputs if value is not None]
        for at, value in enumerate(node.inputs):
            if value in known and _decides(node, at, value, known[value]):
                found |= known[value]
        for region, pairs in _regions(node):
            inside: Known = {value: frozenset() for value in region.constants}
            inside |= {inner: known[outer] for inner, outer in pairs if outer in known}
            found |= _deciding(region, inside)
        if node.op in (("", "Shape"), ("", "Size")):
            known |= dict.fromkeys(node.outputs, frozenset())
        elif given and not node.regions and all(value in known for value in given):
            sources = frozenset().union(*(known[value] for value in given))
            known |= dict.fromkeys(node.outputs, sources)
    return found


def _regions(node: Node) -> list[tuple[Graph, list[tuple[Value, Value]]]]:
    """The regions of a node, and what they see of what it captures."""
    if is_loop(node):
        entries = Loop(node).of(Captured)
        pairs = [(entry.body_input, entry.operand) for entry in entries]
        return [(node.regions["body"], [(a, b) for a, b in pairs if a is not None and b is not None])]
    return [
        (region, [(a, b) for a, b in zip(region.inputs, node.captures, strict=False) if b is not None])
        for region in node.regions.values()
    ]


def _constants(graph: Graph) -> list[Value]:
    return [value for value in (*graph.constants, *graph.inputs) if value.data is not None]


def _decides(node: Node, index: int, value: Value, sources: frozenset[Value]) -> bool:
    """Whether an input of an operator is a size, an index or a whole exponent."""
    first = _SIZED_BY_FLOATS.get(node.op_type) if not node.domain else None
    if node.op == ("", "Pow") and index == 1:
        return all(map(_is_whole, sources))
    return value.tensor.dtype in (DType.INT32, DType.INT64) or (first is not None and index >= first)


def _is_whole(value: Value) -> bool:
    data = value.data
    return data is not None and data.size == 1 and float(data.numpy().reshape(()).item()).is_integer()
