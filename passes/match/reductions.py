"""The types of reductions whose ranks follow from little."""

from __future__ import annotations

from .maker import Application, Maker
from .terms import Typed

REDUCTIONS = (
    "ReduceSum",
    "ReduceProd",
    "ReduceMax",
    "ReduceMin",
    "ReduceMean",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)


def types(m: Maker, one: Application) -> Typed | None:
    """The type of a reduction of all axes, and of one along a single axis that isn't known; None of others."""
    x = one.operand(0)
    axes = one.operands[1] if len(one.operands) > 1 else None
    if axes is None:
        is_whole = one.attribute("keepdims") == 0 and one.attribute("noop_with_empty_axes") == 0
        return Typed(x.dtype, ()) if is_whole else None
    if axes.static_shape != (1,) or m.data(axes) is not None or not x.shape:
        return None
    return Typed(x.dtype, [None] * (len(x.shape) - (one.attribute("keepdims") == 0)))
