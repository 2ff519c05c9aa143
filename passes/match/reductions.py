"""Reductions: their types where ranks follow from little, and equalities of those that are guarded where they have
nothing to reduce, or nothing but their neutral element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..types import DType
from .choice import IF
from .elementwise import result_shape, scalar_data
from .layout import count_of
from .maker import Application, Maker, rule, rules_of
from .terms import Term, Typed

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
_NEUTRAL: dict[str, Callable[[DType], Any]] = {
    "ReduceMax": lambda dtype: dtype.limits[0],
    "ReduceMin": lambda dtype: dtype.limits[1],
    "ReduceSum": lambda dtype: 0,
    "ReduceProd": lambda dtype: 1,
}


@rule("a reduction of nothing gives its neutral element, which need not be chosen", IF)
def guarded_reduction(m: Maker, one: Application) -> Term | None:
    condition, nothing, result = one.operand(0), one.operand(1), one.operand(2)
    reduced = _reduced(result)
    x = reduced.operands[0] if reduced.op in _NEUTRAL else None
    axes = m.table.elements(reduced.operands[1]) if x is not None and len(reduced.operands) > 1 else None
    if condition.op != "Equal" or x is None or x.shape is None or axes is None or x.dtype is None:
        return None
    if result.shape is None or nothing.shape != result.shape:
        return None
    count = count_of([x.shape[axis] for axis in axes if isinstance(axis, int)])
    sides = [m.table.elements(operand) for operand in condition.operands]
    value = scalar_data(m, nothing)
    if value is None or sorted(sides, key=repr) != sorted([(count,), (0,)], key=repr):
        return None
    return result if value == _NEUTRAL[reduced.op](x.dtype) and not _is_negative_zero(value) else None


def _is_negative_zero(value: Any) -> bool:
    return value == 0 and bool(np.signbit(np.float64(value)))


def _reduced(x: Term) -> Term:
    """What is reshaped, as a reduction is that keeps its axes."""
    return x.operands[0] if x.op == "Reshape" and x.operands[0] is not None else x


@rule("the largest of elements that all are -inf is -inf, and the smallest of those that are inf", "Where")
def guarded_extreme(m: Maker, one: Application) -> Term | None:
    """Where(all of x are -inf, -inf, ReduceMax(x)): of no elements, too."""
    condition, result = one.operand(0), one.operand(2)
    every, reduced = _reduced(condition), _reduced(result)
    if every.op != "ReduceMin" or reduced.op not in ("ReduceMax", "ReduceMin"):
        return None
    x, test = reduced.operands[0], every.operands[0]
    if x is None or x.dtype is None or not x.dtype.is_float or test is None or test.op != "Equal":
        return None
    if every.operands[1:] != reduced.operands[1:] or every.attributes != reduced.attributes:
        return None
    if condition.shape is None or condition.shape != result.shape or result_shape(m, one) != result.shape:
        return None
    others = [other for other in test.operands if other is not x]
    if len(others) != 1 or others[0] is None or test.shape != x.shape:
        return None
    neutral = _NEUTRAL[reduced.op](x.dtype)
    return result if scalar_data(m, others[0]) == neutral == scalar_data(m, one.operand(1)) else None


@rule("the number of bools that are true, which is never negative", "ReduceSum")
def counted(m: Maker, one: Application) -> Term | None:
    """The same term, of which that is known from then on."""
    x = one.operand(0)
    inner = x.operands[0] if x.op == "Cast" else None
    if inner is None or inner.dtype is not DType.BOOL or x.dtype is not DType.INT64:
        return None
    count = m.plain(one.op, one.operands, one.attributes)
    if count.shape == ():
        m.table.bound(count, 0)
    return count


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


RULES = rules_of(globals())
