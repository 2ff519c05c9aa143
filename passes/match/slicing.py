"""Equalities of slices, Gather and Concat, in the resolved forms of `layout`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..types import DType
from .layout import (
    SELECT,
    SLICE,
    array_of,
    concat,
    count_of,
    expand,
    from_grid,
    grid_of,
    may_count,
    reshape,
    scalar_of,
    select,
    sliced,
    sliced_shape,
    static,
    transpose,
    unsqueeze,
)
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size
from .terms import CONSTANT, INTEGERS, Term

# $slice -------------------------------------------------------------------------------------------


@rule("a slice that takes the whole of an axis is none", SLICE)
def slice_whole(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    assert x.shape is not None
    axes, steps = one.attribute("axes"), one.attribute("steps")
    starts, sizes = one.operand(1).elements, one.operand(2).elements
    if not axes:
        return x
    kept = [
        index
        for index, axis in enumerate(axes)
        if not (starts[index] == 0 and sizes[index] == x.shape[axis] and steps[index] == 1)
    ]
    if len(kept) == len(axes):
        return None

    def only(values: Sequence) -> list:
        return [values[index] for index in kept]

    return sliced(m, x, only(axes), only(starts), only(sizes), only(steps))


@rule("a slice without elements is the constant that has none", SLICE)
def slice_empty(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x.shape is None or x.dtype in (None, DType.STRING):
        return None
    shape = static(sliced_shape(x.shape, one))
    if shape is None or 0 not in shape or math.prod(size for size in shape if size) > 1 << 16:
        return None
    return m.array(np.zeros(shape, x.dtype.numpy), x.dtype)


@rule("a slice of one element is that element", SLICE)
def slice_one(m: Maker, one: Application) -> Term | None:
    x, axes, sizes = one.operand(0), one.attribute("axes"), one.operand(2).elements
    at = next((index for index, size in enumerate(sizes) if size == 1), None)
    if at is None:
        return None
    starts, steps = one.operand(1).elements, one.attribute("steps")
    rest = [index for index in range(len(axes)) if index != at]
    picked = unsqueeze(m, select(m, x, axes[at], starts[at]), axes[at])
    return sliced(
        m,
        picked,
        [axes[index] for index in rest],
        [starts[index] for index in rest],
        [sizes[index] for index in rest],
        [steps[index] for index in rest],
    )


@rule("a slice of a slice is one slice", SLICE)
def slice_twice(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x.op != SLICE or x.operands[0] is None:
        return None
    inner_starts, inner_sizes = x.operands[1], x.operands[2]
    assert inner_starts is not None and inner_sizes is not None
    found = {
        axis: (start, size, step)
        for axis, start, size, step in zip(
            x.attribute("axes"), inner_starts.elements, inner_sizes.elements, x.attribute("steps"), strict=True
        )
    }
    for axis, start, size, step in zip(
        one.attribute("axes"), one.operand(1).elements, one.operand(2).elements, one.attribute("steps"), strict=True
    ):
        first, _, pace = found.get(axis, (0, 0, 1))
        found[axis] = (first + pace * start, size, pace * step)
    return sliced(
        m,
        x.operands[0],
        list(found),
        [start for start, _, _ in found.values()],
        [size for _, size, _ in found.values()],
        [step for _, _, step in found.values()],
    )


@rule("a slice of a constant is one", SLICE)
def slice_constant(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    starts, sizes = static(one.operand(1).elements), static(one.operand(2).elements)
    shape = x.static_shape
    if starts is None or sizes is None or shape is None or x.op not in (INTEGERS, CONSTANT):
        return None
    positions = [np.arange(size) for size in shape]
    for axis, start, size, step in zip(one.attribute("axes"), starts, sizes, one.attribute("steps"), strict=True):
        positions[axis] = start + step * np.arange(size)
        if size and not (positions[axis].min() >= 0 and positions[axis].max() < shape[axis]):
            return None
    if x.op == INTEGERS:
        return from_grid(m, x, grid_of(x)[np.ix_(*positions)])
    array = array_of(m, x)
    return None if array is None else m.array(array[np.ix_(*positions)], x.dtype)


@rule("a slice of equal elements repeats one of them", SLICE)
def slice_expanded(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    scalar = scalar_of(m, x) if x.op == "Expand" else None
    if scalar is None or x.shape is None:
        return None
    return expand(m, scalar, sliced_shape(x.shape, one))


@rule("a slice of a Transpose is a Transpose of a slice", SLICE)
def slice_transposed(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x.op != "Transpose" or x.operands[0] is None:
        return None
    perm = x.attribute("perm")
    axes = [perm[axis] for axis in one.attribute("axes")]
    inner = sliced(m, x.operands[0], axes, one.operand(1).elements, one.operand(2).elements, one.attribute("steps"))
    return transpose(m, inner, perm)


@rule("a slice of a Concat that lies in one part is a slice of that part", SLICE)
def slice_concat(m: Maker, one: Application) -> Term | None:
    x, axes, steps = one.operand(0), one.attribute("axes"), one.attribute("steps")
    if x.op != "Concat" or x.attribute("axis") not in axes:
        return None
    at = axes.index(x.attribute("axis"))
    starts, sizes = list(one.operand(1).elements), one.operand(2).elements
    if steps[at] != 1:
        return None
    first: Size = 0
    for part in x.operands:
        if part is None or part.shape is None:
            return None
        end = first + part.shape[axes[at]]
        if m.table.is_at_most(first, starts[at]) and m.table.is_at_most(starts[at] + sizes[at], end):
            starts[at] = starts[at] - first
            return sliced(m, part, axes, starts, sizes, steps)
        first = end
    return None


# Gather -------------------------------------------------------------------------------------------


@rule("Gather with a list of indices that are one apart is a slice", "Gather")
def gather_run(m: Maker, one: Application) -> Term | None:
    x, axis, indices = one.operand(0), one.attribute("axis"), one.operand(1)
    elements = m.table.elements(indices)
    if elements is None or indices.rank is None or x.shape is None or not elements:
        return None
    size = x.shape[axis]
    found = [
        size + index if isinstance(index, int) and index < 0 and may_count(m, size, index) else index
        for index in elements
    ]
    if len(found) > 1 and not all(map(m.table.is_negative_never, found)):
        return None
    if len(found) == 1:
        picked = m.make(SELECT, x, m.table.scalar(found[0]), axis=axis)
        assert indices.shape is not None
        return reshape(m, picked, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))
    gaps = {after - before for before, after in pairwise(found)}
    step = gaps.pop() if len(gaps) == 1 else None
    if indices.rank != 1 or not isinstance(step, int) or step == 0:
        return None
    return sliced(m, x, [axis], [found[0]], [len(found)], [step])


# Concat -------------------------------------------------------------------------------------------


@rule("Concat without parts that have no elements, and of one part, is the rest", "Concat")
def concat_flat(m: Maker, one: Application) -> Term | None:
    axis = one.attribute("axis")
    parts: list[Term] = []
    for part in one.operands:
        assert part is not None
        if part.op == "Concat" and part.attribute("axis") == axis:
            parts += [inner for inner in part.operands if inner is not None]
        elif part.shape is not None and part.shape[axis] == 0 and len(one.operands) > 1:
            continue
        else:
            parts.append(part)
    if not parts:
        return one.operand(0)
    if len(parts) == 1:
        return parts[0]
    return concat(m, parts, axis) if tuple(parts) != one.operands else None


@rule("Concat of small integers lists their elements", "Concat")
def concat_integers(m: Maker, one: Application) -> Term | None:
    grids: list[np.ndarray] = []
    for part in one.operands:
        elements = m.table.elements(part)
        if part is None or elements is None:
            return None
        grid = np.empty(len(elements), object)
        grid[:] = elements
        grids.append(grid.reshape(part.static_shape))
    joined = np.concatenate(grids, axis=one.attribute("axis"))
    return from_grid(m, one.operand(0), joined) if joined.size <= 64 else None


@rule("Reshape(Concat) = Concat(Reshape), of axis 0 with axes behind it that it takes in", "Reshape")
def reshape_concat(m: Maker, one: Application) -> Term | None:
    x, shape = one.operand(0), one.operand(1).elements
    if x.op != "Concat" or x.attribute("axis") != 0 or one.attribute("allowzero") != 1 or x.shape is None or not shape:
        return None
    tail = shape[1:]
    taken = x.shape[1 : len(x.shape) - len(tail)]
    if len(tail) > len(x.shape) - 1 or x.shape[len(x.shape) - len(tail) :] != tail or not taken:
        return None
    width = count_of(taken)
    if shape[0] != x.shape[0] * width:
        return None
    parts: list[Term] = []
    for part in x.operands:
        if part is None or part.shape is None or part.shape[1:] != x.shape[1:]:
            return None
        parts.append(reshape(m, part, (part.shape[0] * width, *tail)))
    return concat(m, parts, 0)


@rule("Concat of slices that follow each other is one slice", "Concat")
def concat_slices(m: Maker, one: Application) -> Term | None:
    axis = one.attribute("axis")
    for at in range(len(one.operands) - 1):
        left, right = _piece(one.operand(at), axis), _piece(one.operand(at + 1), axis)
        if left is None or right is None or left[0] is not right[0] or left[1] + left[2] != right[1]:
            continue
        whole = sliced(m, left[0], [axis], [left[1]], [left[2] + right[2]], [1])
        return concat(m, [*one.operands[:at], whole, *one.operands[at + 2 :]], axis)  # type: ignore[list-item]
    return None


def _piece(part: Term, axis: int) -> tuple[Term, Size, Size] | None:
    """(of what, start, size) of a part that is a slice along one axis only."""
    if part.op == SLICE and part.attribute("axes") == (axis,) and part.attribute("steps") == (1,):
        x, starts, sizes = part.operands
        assert x is not None and starts is not None and sizes is not None
        return x, starts.elements[0], sizes.elements[0]
    if part.op == "Reshape" and part.operands[0] is not None and part.operands[0].op == SELECT:
        picked = part.operands[0]
        x, index = picked.operands
        if x is None or index is None or x.shape is None or part.shape is None or picked.attribute("axis") != axis:
            return None
        if part.shape == (*x.shape[:axis], 1, *x.shape[axis + 1 :]) and index.op == INTEGERS:
            return x, index.elements[0], 1
    return None


RULES = rules_of(globals())
