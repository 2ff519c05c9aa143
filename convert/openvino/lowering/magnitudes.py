"""How large the integers of a value can be, from what makes it: whether float32 certainly holds them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .context import Context, context_of

HELD = (1 << 24) - 1
"""Up to here float32 holds every integer, and rounds no other one to it."""
_MOST_DATA = 1 << 20  # elements of a constant that is looked at
_DEPTH = 64  # operators that are looked through
_MOVED = {
    **dict.fromkeys(["Broadcast", "Gather", "GatherElements", "GatherND", "ReduceMax", "ReduceMin", "Reshape"], (0,)),
    **dict.fromkeys(["Slice", "Split", "Squeeze", "Tile", "TopK", "Transpose", "Unsqueeze", "VariadicSplit"], (0,)),
    **{"FloorMod": (1,), "Maximum": (0, 1), "Minimum": (0, 1), "Mod": (1,), "Range": (0, 1), "Select": (1, 2)},
}
"""Operators whose results are elements of some of their inputs, or smaller ones."""
_COMPUTED = frozenset(
    [*("Abs", "Add", "Divide", "Multiply", "Negative", "Sign", "Subtract"), *("CumSum", "ReduceProd", "ReduceSum")]
)


@dataclass(frozen=True, slots=True)
class Magnitude:
    """`most` is the largest absolute value, infinite where nothing is known; `counts`: made of sizes and constants."""

    most: float
    counts: bool = False


_UNKNOWN = Magnitude(inf)
_COUNT = Magnitude(HELD, True)
"""Sizes, positions and numbers of passes: what is as large doesn't fit into memory, or never ends."""


def is_small(op: Builder, value: Value, times: float = 1) -> bool:
    """Whether float32 holds the integers of a value, and sums of so many of them."""
    found = _magnitude(context_of(op), value, _DEPTH)
    return found.counts or found.most * times <= HELD


def most(op: Builder, value: Value) -> float:
    """The largest absolute value that an integer of a value can have; infinity where nothing is known."""
    return _magnitude(context_of(op), value, _DEPTH).most


def _magnitude(context: Context, value: Value, depth: int) -> Magnitude:
    known = context.magnitudes.get(value)
    if known is None:
        known = context.magnitudes[value] = _found(context, value, depth) if depth else _UNKNOWN
    return known


def _found(context: Context, value: Value, depth: int) -> Magnitude:
    dtype = value.tensor.dtype
    if value.data is not None and value.data.size <= _MOST_DATA and dtype is not None and dtype.is_integer:
        limits = [abs(int(limit(value.data.numpy(), initial=0))) for limit in (np.min, np.max)]
        return Magnitude(max(limits), max(limits) <= HELD)
    if dtype is DType.BOOL:
        return Magnitude(1)
    if dtype is None or not dtype.is_integer:
        return _UNKNOWN
    if dtype.bits <= 16:
        return Magnitude(max(map(abs, dtype.integer_limits)))
    if value.producer is not None:
        return _made(context, value.producer, value.index, depth - 1)
    sources = context.sources(value)
    if sources is None or None in sources:
        return _UNKNOWN
    return _largest([_magnitude(context, one, depth - 1) for one in sources if one is not None]) if sources else _COUNT


def _made(context: Context, node: Node, index: int, depth: int) -> Magnitude:
    kind = node.op_type
    if kind in ("NonZero", "ShapeOf") or (kind == "TopK" and index == 1):
        return _COUNT

    def operand(position: int) -> Magnitude:
        value = node.inputs[position]
        return _UNKNOWN if value is None else _magnitude(context, value, depth)

    if kind in _MOVED:
        return _largest([operand(position) for position in _MOVED[kind]])
    if kind == "Concat":
        return _largest([operand(position) for position in range(len(node.inputs))])
    if kind == "Convert":
        return operand(0)
    if kind in _COMPUTED:
        operands = [operand(position) for position in range(len(node.inputs))]
        if all(one.counts for one in operands):
            return _COUNT
        if kind in ("Abs", "Negative"):
            return operands[0]
        if kind == "Sign":
            return Magnitude(1)
        if kind in ("Add", "Subtract"):
            return Magnitude(operands[0].most + operands[1].most)
        if kind == "Multiply" and inf not in (operands[0].most, operands[1].most):
            return Magnitude(operands[0].most * operands[1].most)
    return _UNKNOWN


def _largest(found: list[Magnitude]) -> Magnitude:
    return Magnitude(max(one.most for one in found), all(one.counts for one in found))
