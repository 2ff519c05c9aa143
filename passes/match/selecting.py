"""Equalities of single elements of an axis, `$select` of `layout`."""

from __future__ import annotations

import numpy as np

from .choice import IF
from .elementwise import scalar_data
from .layout import SELECT, SLICE, array_of, concat, expand, from_grid, grid_of, reshape, select, sliced, transpose
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size, as_atom, variable
from .terms import INTEGERS, Term


@rule("the element of an axis of size 1 is what the axis is taken off", SELECT)
def select_only(m: Maker, one: Application) -> Term | None:
    x, axis = one.operand(0), one.attribute("axis")
    if x.shape is None or x.shape[axis] != 1 or not _may_drop_index(m, one):
        return None
    return reshape(m, x, (*x.shape[:axis], *x.shape[axis + 1 :]))


def _may_drop_index(m: Maker, one: Application) -> bool:
    """Whether a `$select` may be taken for something that has a result for other indices, too: it is certain to have
    one, or need not be (see `Maker.is_strict`)."""
    if not m.is_strict:
        return True
    x, index = one.operand(0), _index_of(m, one)
    assert x.shape is not None
    size = x.shape[one.attribute("axis")]
    from_start = m.table.is_negative_never(index) and m.table.is_at_most(index + 1, size)
    return from_start or (m.table.is_negative_never(-1 - index) and m.table.is_negative_never(size + index))


def _index_of(m: Maker, one: Application) -> Size:
    """The index of a `$select`."""
    found = m.table.elements(one.operand(1))
    assert found is not None and len(found) == 1
    return found[0]


@rule(
    "an index Clip(Where(i < 0, i + n, i), 0, n - 1) of n elements is Clip(i, -n, n - 1), in any element type", SELECT
)
def select_bounded(m: Maker, one: Application) -> Term | None:
    """No i + n overflows where i < 0. Below -n both are the first element."""
    x, axis = one.operand(0), one.attribute("axis")
    index = as_atom(_index_of(m, one))
    wide = index.dtype if index is not None and index.op == "Cast" else None
    source = index.operands[0] if index is not None and wide is not None else index
    if source is None or source.dtype is None or x.shape is None or (wide is not None and not wide.holds(source.dtype)):
        return None
    found = _from_either_end(m, source, x.shape[axis]) or source
    return None if found is index else m.make(SELECT, x, m.table.scalar(variable(found)), axis=axis)


def _from_either_end(m: Maker, index: Term, size: Size) -> Term | None:
    """Clip(i, -n, n - 1), for an index that is counted from the end by hand."""
    if index.op != "Clip" or not isinstance(size, int) or index.dtype is None or not index.dtype.is_signed:
        return None
    counted, *bounds = index.operands
    if counted is None or [x and scalar_data(m, x) for x in bounds] != [0, size - 1]:
        return None
    i = counted.operands[-1] if counted.op in ("Where", IF) else None
    if i is None:
        return None
    zero, whole = (m.array(number, index.dtype) for number in (0, size))
    if m.make("Where", m.make("Less", i, zero), m.make("Add", i, whole), i) is not counted:
        return None
    return m.make("Clip", i, *(m.array(bound, index.dtype) for bound in (-size, size - 1)))


@rule("an element of a constant is one", SELECT)
def select_constant(m: Maker, one: Application) -> Term | None:
    x, axis, index = one.operand(0), one.attribute("axis"), _index_of(m, one)
    if not isinstance(index, int) or x.static_shape is None or not 0 <= index < x.static_shape[axis]:
        return None
    if x.op == INTEGERS and x.dtype is not None:
        grid = grid_of(x).take(index, axis)
        return m.table.integers(x.dtype, (), [grid]) if not isinstance(grid, np.ndarray) else from_grid(m, x, grid)
    array = array_of(m, x)
    return None if array is None else m.array(array.take(index, axis), x.dtype)


@rule("an element of small integers is one of their elements", SELECT)
def select_integers(m: Maker, one: Application) -> Term | None:
    x, index = one.operand(0), _index_of(m, one)
    elements = m.table.elements(x) if x.rank == 1 else None
    if elements is None or not isinstance(index, int) or not 0 <= index < len(elements) or x.dtype is None:
        return None
    return m.table.integers(x.dtype, (), [elements[index]])


@rule("an element of a slice is one of what is sliced", SELECT)
def select_sliced(m: Maker, one: Application) -> Term | None:
    x, axis, index = one.operand(0), one.attribute("axis"), _index_of(m, one)
    if x.op != SLICE or x.operands[0] is None or not m.table.is_negative_never(index) or not _may_drop_index(m, one):
        return None
    starts, sizes, axes = x.operands[1], x.operands[2], x.attribute("axes")
    assert starts is not None and sizes is not None
    found = list(zip(axes, starts.elements, sizes.elements, x.attribute("steps"), strict=True))
    start, step = next(((start, step) for at, start, _, step in found if at == axis), (0, 1))
    inner = m.make(SELECT, x.operands[0], m.table.scalar(start + step * index), axis=axis)
    rest = [one for one in found if one[0] != axis]
    return sliced(
        m,
        inner,
        [at - (at > axis) for at, _, _, _ in rest],
        [start for _, start, _, _ in rest],
        [size for _, _, size, _ in rest],
        [step for _, _, _, step in rest],
    )


@rule("an element of a Concat along its axis is one of the part that it lies in", SELECT)
def select_concat(m: Maker, one: Application) -> Term | None:
    x, axis, index = one.operand(0), one.attribute("axis"), _index_of(m, one)
    if x.op != "Concat":
        return None
    if x.attribute("axis") != axis:
        if not m.table.is_negative_never(index):
            return None
        parts = [m.make(SELECT, part, one.operand(1), axis=axis) for part in x.operands if part is not None]
        return concat(m, parts, x.attribute("axis") - (axis < x.attribute("axis")))
    first: Size = 0
    for part in x.operands:
        if part is None or part.shape is None:
            return None
        end = first + part.shape[axis]
        if m.table.is_at_most(first, index) and m.table.is_at_most(index + 1, end):
            return select(m, part, axis, index - first)
        if not m.table.is_at_most(end, index):
            return None
        first = end
    return None


@rule("an element of a Transpose is a Transpose of an element", SELECT)
def select_transposed(m: Maker, one: Application) -> Term | None:
    x, axis = one.operand(0), one.attribute("axis")
    if x.op != "Transpose" or x.operands[0] is None:
        return None
    perm = x.attribute("perm")
    inner = m.make(SELECT, x.operands[0], one.operand(1), axis=perm[axis])
    return transpose(m, inner, [old - (old > perm[axis]) for at, old in enumerate(perm) if at != axis])


@rule("an element of a Reshape that keeps the axis and all before it is a Reshape of an element", SELECT)
def select_reshaped(m: Maker, one: Application) -> Term | None:
    x, axis = one.operand(0), one.attribute("axis")
    inner = x.operands[0] if x.op == "Reshape" and x.attribute("allowzero") == 1 else None
    if inner is None or inner.shape is None or x.shape is None:
        return None
    before = [size for size in x.shape[:axis] if size != 1]
    at = 0
    for size in before:
        while at < len(inner.shape) and inner.shape[at] == 1:
            at += 1
        if at == len(inner.shape) or inner.shape[at] != size:
            return None
        at += 1
    while at < len(inner.shape) and inner.shape[at] == 1:
        at += 1
    if at == len(inner.shape) or inner.shape[at] != x.shape[axis]:
        return None
    return reshape(m, m.make(SELECT, inner, one.operand(1), axis=at), (*x.shape[:axis], *x.shape[axis + 1 :]))


@rule("an element of an Expand along an axis it repeats is an Expand of the rest", SELECT)
def select_expanded(m: Maker, one: Application) -> Term | None:
    x, axis = one.operand(0), one.attribute("axis")
    inner = x.operands[0] if x.op == "Expand" else None
    if inner is None or inner.shape is None or x.shape is None:
        return None
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    at = axis - (len(x.shape) - len(inner.shape))
    if (at < 0 or inner.shape[at] == 1) and not _may_drop_index(m, one):
        return None
    if at < 0:
        return expand(m, inner, rest)
    if inner.shape[at] == 1:
        return expand(m, reshape(m, inner, (*inner.shape[:at], *inner.shape[at + 1 :])), rest)
    if inner.shape[at] == x.shape[axis]:
        return expand(m, m.make(SELECT, inner, one.operand(1), axis=at), rest)
    return None


RULES = rules_of(globals())
