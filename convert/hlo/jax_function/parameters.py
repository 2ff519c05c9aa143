"""Which constants of a model are weights."""

from __future__ import annotations

from ....passes.graph import Graph, Node, Value
from ....passes.types import DType

_TRAINED = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)
_SIZED_BY_FLOATS = {"Range": 0, "Resize": 1, "Upsample": 1}
"""Operators the sizes of whose results floats decide -> the first input that does."""


def parameters_of(graph: Graph, named: frozenset[str]) -> dict[str, Value]:
    """The constants of floats among those of these names, in order, without those that decide a size, and without whole
    exponents: of x ** 2 the derivative by 2 is defined for positive numbers only."""
    deciding = _deciding(graph)
    found = [value for value in (*graph.constants, *graph.inputs) if value.data is not None and value not in deciding]
    return {value.name: value for value in found if value.tensor.dtype in _TRAINED and value.name in named}


def _deciding(graph: Graph) -> set[Value]:
    """The constants of floats that sizes or indices are computed of before anything runs, and whole exponents.

    Integers that are cast from what is known before anything runs are nearly always sizes, or indices.
    """
    known: dict[Value, frozenset[Value]] = {
        value: frozenset([value] if value.tensor.dtype in _TRAINED else []) for value in _constants(graph)
    }
    found: set[Value] = set()
    for node in graph.topological():
        given = [value for value in node.inputs if value is not None]
        for at, value in enumerate(node.inputs):
            if value in known and _decides(node, at, value):
                found |= known[value]
        if node.op in (("", "Shape"), ("", "Size")):
            known |= dict.fromkeys(node.outputs, frozenset())
        elif given and not node.regions and all(value in known for value in given):
            sources = frozenset().union(*(known[value] for value in given))
            known |= dict.fromkeys(node.outputs, sources)
    return found


def _constants(graph: Graph) -> list[Value]:
    return [value for value in (*graph.constants, *graph.inputs) if value.data is not None]


def _decides(node: Node, index: int, value: Value) -> bool:
    """Whether an input of an operator is a size, an index or a whole exponent."""
    first = _SIZED_BY_FLOATS.get(node.op_type) if not node.domain else None
    if node.op == ("", "Pow") and index == 1 and value.data is not None and value.data.size == 1:
        return float(value.data.numpy().reshape(()).item()).is_integer()
    return value.tensor.dtype in (DType.INT32, DType.INT64) or (first is not None and index >= first)
