"""Operators that only move elements, with every size resolved: how their terms are made, and the equalities they obey.

Resolved forms, sizes being polynomials:

- `Reshape(x, shape)`: `shape` lists the sizes of the result, none of them 0 for "copy" nor -1 (allowzero = 1).
- `Transpose(x)`, attribute `perm`.
- `Expand(x, shape)`: `shape` is that of the result.
- `$slice(x, starts, sizes)`, attributes `axes`, `steps`: `sizes[k]` elements of axis `axes[k]`, the first of them
  `starts[k]`, each `steps[k]` after the one before; all of them are inside.
- `$select(x, index)`, attribute `axis`: one element of an axis, the axis taken away; a negative index counts from the
  end, and is left only where the sign isn't known.
- `Concat(...)`, attribute `axis` >= 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..types import DType
from .maker import Application, Maker, rule, rules_of
from .polynomials import Size
from .terms import CONSTANT, INTEGERS, Contradiction, Shape, Term, Typed

SLICE = "$slice"
SELECT = "$select"
_LARGEST = 1 << 24  # elements of a constant that is moved here


# making -------------------------------------------------------------------------------------------


def count_of(shape: Sequence[Size]) -> Size:
    total: Size = 1
    for size in shape:
        total = total * size
    return total


def reshape(m: Maker, x: Term, shape: Sequence[Size]) -> Term:
    return m.make("Reshape", x, m.table.listed(shape), allowzero=1)


def transpose(m: Maker, x: Term, perm: Sequence[int]) -> Term:
    return m.make("Transpose", x, perm=tuple(perm))


def expand(m: Maker, x: Term, shape: Sequence[Size]) -> Term:
    return m.make("Expand", x, m.table.listed(shape))


def sliced(
    m: Maker, x: Term, axes: Sequence[int], starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[int]
) -> Term:
    order = sorted(range(len(axes)), key=lambda index: axes[index])
    return m.make(
        SLICE,
        x,
        m.table.listed([starts[index] for index in order]),
        m.table.listed([sizes[index] for index in order]),
        axes=tuple(axes[index] for index in order),
        steps=tuple(steps[index] for index in order),
    )


def select(m: Maker, x: Term, axis: int, index: Size) -> Term:
    """One element of an axis; a negative index that is known to be one is counted from the start."""
    assert x.shape is not None
    if m.table.is_negative_never(-1 - index) and may_count(m, x.shape[axis], index):
        index = x.shape[axis] + index
    return m.make(SELECT, x, m.table.scalar(index), axis=axis)


def may_count(m: Maker, size: Size, index: Size) -> bool:
    """Whether a negative index may be counted from the start: `size + index` is no negative index of its own.

    With -1 it would be one only where the axis has no element, and nothing can be selected.
    """
    return m.table.is_negative_never(size + index + 1)


def concat(m: Maker, parts: Sequence[Term], axis: int) -> Term:
    return m.make("Concat", *parts, axis=axis)


def unsqueeze(m: Maker, x: Term, axis: int) -> Term:
    assert x.shape is not None
    return reshape(m, x, (*x.shape[:axis], 1, *x.shape[axis:]))


def scalar_of(m: Maker, x: Term) -> Term | None:
    """The scalar that all elements of a term are copies of, None where it isn't known to be one."""
    if x.op == "Expand":
        return scalar_of(m, x.operands[0]) if x.operands[0] is not None else None
    if x.shape is not None and all(size == 1 for size in x.shape):
        return reshape(m, x, ())
    data = m.data(x)
    if data is None or not 0 < data.size <= _LARGEST or data.dtype is DType.STRING:
        return None
    array = data.numpy().reshape(-1)
    if array.tobytes() != array[:1].tobytes() * array.size:
        return None
    return m.array(array[0], data.dtype)


def array_of(m: Maker, x: Term) -> np.ndarray | None:
    data = m.data(x) if x.op == CONSTANT else None
    return None if data is None or data.size > _LARGEST else data.numpy()


def grid_of(x: Term) -> np.ndarray:
    """The elements of a small integer tensor as an array of polynomials."""
    found = np.empty(len(x.elements), object)
    found[:] = x.elements
    return found.reshape(x.static_shape)


def from_grid(m: Maker, x: Term, grid: np.ndarray) -> Term:
    assert x.dtype is not None
    return m.table.integers(x.dtype, grid.shape, list(grid.reshape(-1)))


def static(sizes: Sequence[Size]) -> tuple[int, ...] | None:
    found = tuple(size for size in sizes if isinstance(size, int))
    return found if len(found) == len(sizes) else None


def sliced_shape(shape: Shape, one: Application) -> list[Size]:
    found = list(shape)
    for axis, size in zip(one.attribute("axes"), one.operand(2).elements, strict=True):
        found[axis] = size
    return found


# Reshape ------------------------------------------------------------------------------------------


@rule("Reshape(x, shape of x) = x", "Reshape")
def reshape_to_itself(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    return x if _resolved(one) and x.shape == one.operand(1).elements else None


def _resolved(one: Application) -> bool:
    """Whether a Reshape lists the sizes of its result."""
    return one.attribute("allowzero") == 1 and len(one.operands) == 2 and one.operand(1).op == INTEGERS


@rule("Reshape(Reshape(x, s), t) = Reshape(x, t)", "Reshape")
def reshape_twice(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if _resolved(one) and x.op == "Reshape" and x.attribute("allowzero") == 1 and x.operands[0] is not None:
        return reshape(m, x.operands[0], one.operand(1).elements)
    return None


@rule("Reshape of a constant is one", "Reshape")
def reshape_constant(m: Maker, one: Application) -> Term | None:
    x, shape = one.operand(0), static(one.operand(1).elements) if _resolved(one) else None
    if shape is None or x.static_shape is None or math.prod(shape) != math.prod(x.static_shape):
        return None
    if x.op == INTEGERS:
        return from_grid(m, x, grid_of(x).reshape(shape))
    array = array_of(m, x)
    return None if array is None else m.array(array.reshape(shape), x.dtype)


@rule("Reshape(small integers) lists their elements", "Reshape")
def reshape_integers(m: Maker, one: Application) -> Term | None:
    x, shape = one.operand(0), static(one.operand(1).elements) if _resolved(one) else None
    elements = m.table.elements(x)
    if shape is None or elements is None or x.dtype is None or math.prod(shape) != len(elements):
        return None
    return m.table.integers(x.dtype, shape, elements)


@rule("Reshape(Expand(x)) = Expand(Reshape(x)), where x has one element", "Reshape")
def reshape_expanded(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if not _resolved(one) or x.op != "Expand":
        return None
    scalar = scalar_of(m, x)
    return None if scalar is None else expand(m, scalar, one.operand(1).elements)


# Transpose ----------------------------------------------------------------------------------------


@rule("Transpose in the order there is = x", "Transpose")
def transpose_nothing(m: Maker, one: Application) -> Term | None:
    perm = one.attribute("perm")
    return one.operand(0) if perm == tuple(range(len(perm))) else None


@rule("Transpose(Transpose(x, p), q) = Transpose(x, p after q)", "Transpose")
def transpose_twice(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    if x.op != "Transpose" or x.operands[0] is None:
        return None
    inner = x.attribute("perm")
    return transpose(m, x.operands[0], [inner[axis] for axis in one.attribute("perm")])


@rule("Transpose that moves axes of size 1 only = Reshape", "Transpose")
def transpose_ones(m: Maker, one: Application) -> Term | None:
    x, perm = one.operand(0), one.attribute("perm")
    if x.shape is None:
        return None
    moved = [axis for axis in perm if x.shape[axis] != 1]
    return reshape(m, x, [x.shape[axis] for axis in perm]) if moved == sorted(moved) else None


@rule("Transpose(Reshape(x)) = Reshape(Transpose(x)), where only axes of size 1 come or go", "Transpose")
def transpose_viewed(m: Maker, one: Application) -> Term | None:
    x, perm = one.operand(0), one.attribute("perm")
    inner = x.operands[0] if x.op == "Reshape" else None
    if inner is None or inner.shape is None or x.shape is None:
        return None
    old, new = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (inner.shape, x.shape))
    if [inner.shape[axis] for axis in old] != [x.shape[axis] for axis in new]:
        return None
    moved = iter([old[new.index(axis)] for axis in perm if axis in new])
    order = [next(moved) if axis in old else axis for axis in range(len(inner.shape))]
    return reshape(m, transpose(m, inner, order), [x.shape[axis] for axis in perm])


@rule("Transpose of a constant is one", "Transpose")
def transpose_constant(m: Maker, one: Application) -> Term | None:
    x, perm = one.operand(0), one.attribute("perm")
    if x.op == INTEGERS:
        return from_grid(m, x, grid_of(x).transpose(perm))
    array = array_of(m, x)
    return None if array is None else m.array(np.ascontiguousarray(array.transpose(perm)), x.dtype)


@rule("Transpose(Expand(x)) = Expand(x), where x has one element", "Transpose")
def transpose_expanded(m: Maker, one: Application) -> Term | None:
    x = one.operand(0)
    scalar = scalar_of(m, x) if x.op == "Expand" else None
    if scalar is None or x.shape is None:
        return None
    return expand(m, scalar, [x.shape[axis] for axis in one.attribute("perm")])


# Expand -------------------------------------------------------------------------------------------


@rule("Expand(x, shape of x) = x", "Expand")
def expand_to_itself(m: Maker, one: Application) -> Term | None:
    x, shape = one.operand(0), one.operand(1)
    return x if shape.op == INTEGERS and x.shape == shape.elements else None


@rule("Expand(Expand(x, s), t) = Expand(x, t)", "Expand")
def expand_twice(m: Maker, one: Application) -> Term | None:
    x, shape = one.operand(0), one.operand(1)
    if x.op == "Expand" and shape.op == INTEGERS and x.operands[0] is not None:
        return expand(m, x.operands[0], shape.elements)
    return None


@rule("Expand(x) = Expand(x without leading axes of size 1)", "Expand")
def expand_leading(m: Maker, one: Application) -> Term | None:
    x, shape = one.operand(0), one.operand(1)
    if shape.op != INTEGERS or x.shape is None or not x.shape or x.shape[0] != 1:
        return None
    rest = list(x.shape)
    while rest and rest[0] == 1:
        rest.pop(0)
    return expand(m, reshape(m, x, rest), shape.elements)


@rule("Expand of equal elements = Expand of one of them", "Expand")
def expand_uniform(m: Maker, one: Application) -> Term | None:
    x, shape = one.operand(0), one.operand(1)
    if x.shape == () or shape.op != INTEGERS or x.op not in (CONSTANT, INTEGERS):
        return None
    scalar = scalar_of(m, x)
    return None if scalar is None else expand(m, scalar, shape.elements)


@rule("Expand(small integers) lists their elements", "Expand")
def expand_integers(m: Maker, one: Application) -> Term | None:
    x, target = one.operand(0), one.operand(1)
    shape = static(target.elements) if target.op == INTEGERS else None
    elements = m.table.elements(x)
    if shape is None or elements is None or x.dtype is None or x.static_shape is None or math.prod(shape) > 64:
        return None
    grid = np.empty(len(elements), object)
    grid[:] = elements
    spread = np.broadcast_to(grid.reshape(x.static_shape), shape)
    return m.table.integers(x.dtype, shape, list(spread.reshape(-1)))


# Pad ----------------------------------------------------------------------------------------------


@rule("Pad by nothing = x", "Pad")
def pad_nothing(m: Maker, one: Application) -> Term | None:
    x, sizes = one.operand(0), m.table.elements(one.operand(1)) if len(one.operands) > 1 else None
    is_whole = len(one.operands) < 4 or one.operands[3] is None
    if x.rank is None or sizes is None or not is_whole or len(sizes) != 2 * x.rank:
        return None
    return x if all(size == 0 for size in sizes) else None


def types(m: Maker, one: Application) -> Typed | None:
    """The type of a resolved form; None for others."""
    x = one.operands[0] if one.operands else None
    if x is None:
        return None
    if (one.op == "Reshape" and _resolved(one)) or (one.op == "Expand" and one.operand(1).op == INTEGERS):
        return Typed(x.dtype, one.operand(1).elements)
    if x.shape is None:
        return None
    if one.op == SLICE:
        return Typed(x.dtype, tuple(sliced_shape(x.shape, one)))
    if one.op == SELECT:
        axis = one.attribute("axis")
        return Typed(x.dtype, (*x.shape[:axis], *x.shape[axis + 1 :]))
    if one.op == "Transpose":
        return Typed(x.dtype, tuple(x.shape[axis] for axis in one.attribute("perm")))
    if one.op == "Gather" and one.operand(1).shape is not None:
        axis = one.attribute("axis")
        return Typed(x.dtype, (*x.shape[:axis], *(one.operand(1).shape or ()), *x.shape[axis + 1 :]))
    if one.op == "Concat" and all(part is not None and part.rank == x.rank for part in one.operands):
        if any(part is not None and part.dtype is not x.dtype for part in one.operands):
            raise Contradiction
        axis, total, sizes = one.attribute("axis"), 0, list(x.shape)
        for part in one.operands:
            assert part is not None and part.shape is not None
            total = total + part.shape[axis]
            sizes = [old if isinstance(old, int) else new for old, new in zip(sizes, part.shape, strict=True)]
        sizes[axis] = total
        return Typed(x.dtype, tuple(sizes))
    return None


RULES = rules_of(globals())
