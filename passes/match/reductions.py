"""Reductions: their types where ranks follow from little; equalities of those that don't depend on the order of
elements, and of those that are guarded where they have nothing to reduce, or nothing but their neutral element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..types import DType
from .choice import IF
from .elementwise import result_shape, scalar_data
from .layout import count_of, reshape, static, transpose
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size
from .terms import Shape, Term, Typed

_NEUTRAL: dict[str, Callable[[DType], Any]] = {
    "ReduceMax": lambda dtype: dtype.limits[0],
    "ReduceMin": lambda dtype: dtype.limits[1],
    "ReduceSum": lambda dtype: 0,
    "ReduceProd": lambda dtype: 1,
}


_ORDERLESS = ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd")
"""Reductions of which the order of elements makes no difference: sums and products where they are integers."""


def _operand(m: Maker, one: Application) -> tuple[Term, list[int]] | None:
    """What is reduced, and along which axes, where these are known and the order of elements makes no difference."""
    x = one.operand(0)
    is_listed = len(one.operands) == 2 and one.attribute("keepdims") == 0 == one.attribute("noop_with_empty_axes")
    if not is_listed or x.shape is None or x.dtype is None:
        return None
    axes = [*(static(m.table.elements(one.operand(1)) or ()) or ())]
    if not axes or sorted({*axes}) != axes or not 0 <= axes[0] <= axes[-1] < len(x.shape):
        return None
    return (x, axes) if one.op in ("ReduceMax", "ReduceMin") or x.dtype.is_integer else None


def _moved(m: Maker, one: Application, op: str) -> tuple[Term, list[int], Term] | None:
    """The same where a Transpose or Reshape gives what is reduced, and what that is of, whose shape is known."""
    found = _operand(m, one)
    inner = found[0].operands[0] if found is not None and found[0].op == op else None
    return None if found is None or inner is None or inner.shape is None else (*found, inner)


def _over(m: Maker, op: str, x: Term, axes: Sequence[int]) -> Term:
    return m.make(op, x, m.table.listed(sorted(axes)), keepdims=0, noop_with_empty_axes=0) if axes else x


@rule("Reduce(x) over an axis of size 1 takes that axis away, where the order of elements makes none", *_ORDERLESS)
def reduce_ones(m: Maker, one: Application) -> Term | None:
    found = _operand(m, one)
    x, axes = found if found is not None else (one.operand(0), [])
    ones = [axis for axis in axes if x.shape is not None and x.shape[axis] == 1]
    if not ones or x.shape is None:
        return None
    left = [axis for axis in range(len(x.shape)) if axis not in ones]
    bare = reshape(m, x, [x.shape[axis] for axis in left])
    return _over(m, one.op, bare, [left.index(axis) for axis in axes if axis not in ones])


@rule("Reduce(Transpose(x)) = Transpose(Reduce(x)) along the same axes, where no order of elements counts", *_ORDERLESS)
def reduce_transposed(m: Maker, one: Application) -> Term | None:
    found = _moved(m, one, "Transpose")
    if found is None:
        return None
    x, axes, inner = found
    perm = x.attribute("perm")
    kept = [perm[axis] for axis in range(len(perm)) if axis not in axes]
    reduced = _over(m, one.op, inner, [perm[axis] for axis in axes])
    return transpose(m, reduced, [sorted(kept).index(axis) for axis in kept])


@rule("Reduce(Reshape(x)) = Reshape(Reduce(x)) along axes that are together others, where no order counts", *_ORDERLESS)
def reduce_reshaped(m: Maker, one: Application) -> Term | None:
    found = _moved(m, one, "Reshape")
    if found is None:
        return None
    x, axes, inner = found
    assert x.shape is not None and inner.shape is not None
    before: list[int] = []
    rest = {*axes}
    for old, new in _groups(inner.shape, x.shape):
        if rest.issuperset(new):
            before += old
            rest -= {*new}
    if rest:
        return None
    return reshape(m, _over(m, one.op, inner, before), [size for at, size in enumerate(x.shape) if at not in axes])


def _groups(before: Shape, after: Shape) -> list[tuple[list[int], list[int]]]:
    """Axes of a Reshape's operand and those of its result that are as many elements together, those of size 1 aside.

    Polynomials that are factors of equal ones, by equal others, are equal themselves; nothing is said where one is 0.
    """
    old, new = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (before, after))
    counts, others = _counts([before[axis] for axis in old]), _counts([after[axis] for axis in new])
    if counts[-1] != others[-1] or counts[-1] == 0:
        return []
    cuts = [(at, others.index(count)) for at, count in enumerate(counts) if count in others]
    return [(old[start:end], new[first:last]) for (start, first), (end, last) in pairwise(cuts)]


def _counts(sizes: Sequence[Size]) -> list[Size]:
    """The numbers of elements of the leading axes: of none, of the first, of the first two."""
    return [count_of(sizes[:end]) for end in range(len(sizes) + 1)]


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
    for index in range(len(m.table.elements(count) or ())):
        m.table.bound(m.table.element(count, index), 0)
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
