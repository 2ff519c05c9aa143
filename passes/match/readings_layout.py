"""How operators are read that change shapes: sizes resolved, so that they are all one of a few forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..attributes import attributes_of
from ..tensor import TensorData
from ..types import DType
from .layout import count_of, expand, reshape, transpose
from .maker import Maker
from .polynomials import Size, quotient
from .reading import Reading, axis_of, ints_of, readings_of, reads
from .terms import Contradiction, Term


@reads("Shape")
def _shape(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    end = r.attributes.get("end")
    sizes = x.shape[slice(r.attributes.int("start", 0), end)]
    return r.m.table.integers(DType.INT64, (len(sizes),), sizes)


@reads("Size")
def _size(r: Reading) -> Term | None:
    x = r.operand(0)
    return None if x is None or x.shape is None else r.m.table.scalar(count_of(x.shape))


@reads("Reshape")
def _reshape(r: Reading) -> Term | None:
    x, sizes = r.operand(0), r.sizes(1)
    if x is None or sizes is None:
        return None
    allowzero = r.attributes.flag("allowzero")
    found: list[Size | None] = []
    for axis, size in enumerate(sizes):
        if size == -1:
            found.append(None)
        elif size == 0 and not allowzero:
            if x.shape is None or axis >= len(x.shape):
                return None
            found.append(x.shape[axis])
        elif isinstance(size, int) or allowzero or _copies_nothing(r.m, x, axis, size) or _is_rest(r.m, x, sizes, axis):
            found.append(size)
        else:
            return None
    _refuse_negative([size for size in found if size is not None])
    if None not in found:
        total = count_of([size for size in found if size is not None])
        if x.shape is not None and isinstance(total - count_of(x.shape), int) and total != count_of(x.shape):
            raise Contradiction
        return reshape(r.m, x, [size for size in found if size is not None])
    if x.shape is None:
        return None
    rest = _rest(x.shape, [size for size in found if size is not None])
    if rest is None:
        return None
    return reshape(r.m, x, [rest if size is None else size for size in found])


def _refuse_negative(sizes: Sequence[Size]) -> None:
    if any(isinstance(size, int) and size < 0 for size in sizes):
        raise Contradiction


def _copies_nothing(m: Maker, x: Term, axis: int, size: Size) -> bool:
    """Whether a size in a list that reads 0 as "copy" means itself: it isn't 0, or copying gives the same."""
    return (m.table.least(size) or 0) >= 1 or (x.shape is not None and axis < len(x.shape) and x.shape[axis] == size)


def _is_rest(m: Maker, x: Term, sizes: Sequence[Size], axis: int) -> bool:
    """Whether a size in a list that reads 0 as "copy" is all that there is besides others, of which none is 0: copied,
    there would be another number of elements, and no result."""
    others = (size for at, size in enumerate(sizes) if at != axis)
    is_alone = not m.is_strict and all((m.table.least(size) or 0) >= 1 for size in others)
    return is_alone and x.shape is not None and count_of(x.shape) == count_of(sizes)


def _rest(shape: Sequence[Size], others: Sequence[Size]) -> Size | None:
    """What -1 stands for: sizes that stand on both sides cancel, as none of them is 0 where -1 has a meaning."""
    left, right = list(shape), list(others)
    for size in others:
        if size in left:
            left.remove(size)
            right.remove(size)
    return quotient(count_of(left), count_of(right))


@reads("Flatten")
def _flatten(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    axis = r.attributes.int("axis", 1)
    axis = axis if axis == len(x.shape) else axis_of(axis, len(x.shape))
    return reshape(r.m, x, (count_of(x.shape[:axis]), count_of(x.shape[axis:])))


@reads("Squeeze")
def _squeeze(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    if r.operand(1) is None:
        if any(not isinstance(size, int) for size in x.shape):
            return None
        axes = [axis for axis, size in enumerate(x.shape) if size == 1]
    else:
        axes = ints_of(r.sizes(1))
        if axes is None:
            return None
    gone = {axis_of(axis, len(x.shape)) for axis in axes}
    if len(gone) < len(axes):
        raise Contradiction
    return reshape(r.m, x, [size for axis, size in enumerate(x.shape) if axis not in gone])


@reads("Unsqueeze")
def _unsqueeze(r: Reading) -> Term | None:
    x, axes = r.operand(0), ints_of(r.sizes(1))
    if x is None or x.shape is None or axes is None:
        return None
    rank = len(x.shape) + len(axes)
    new = {axis_of(axis, rank) for axis in axes}
    if len(new) < len(axes):
        raise Contradiction
    sizes = iter(x.shape)
    return reshape(r.m, x, [1 if axis in new else next(sizes) for axis in range(rank)])


@reads("Transpose")
def _transpose(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None:
        return None
    if x.rank is None:  # as it stands: without a rank there may be no order, and equalities ask for it
        return r.m.plain("Transpose", r.operands, attributes_of(r.node))
    perm = r.attributes.ints("perm", list(range(x.rank))[::-1])
    if sorted(axis % max(1, x.rank) for axis in perm) != list(range(x.rank)):
        raise Contradiction
    return transpose(r.m, x, [axis_of(axis, x.rank) for axis in perm])


@reads("Expand")
def _expand(r: Reading) -> Term | None:
    x, sizes = r.operand(0), r.sizes(1)
    if x is None or x.shape is None or sizes is None:
        return None
    _refuse_negative(sizes)
    shape = r.m.broadcast([x.shape, sizes])
    return None if shape is None else expand(r.m, x, shape)


@reads("Tile")
def _tile(r: Reading) -> Term | None:
    """Copies along new axes, which become one with those behind them."""
    x, repeats = r.operand(0), ints_of(r.sizes(1))
    if x is None or x.shape is None or repeats is None:
        return None
    if len(repeats) != len(x.shape):
        raise Contradiction
    _refuse_negative(repeats)
    narrow: list[Size] = []
    wide: list[Size] = []
    for times, size in zip(repeats, x.shape, strict=True):
        narrow += [size] if 1 in (times, size) else [1, size]
        wide += [times * size] if 1 in (times, size) else [times, size]
    spread = expand(r.m, reshape(r.m, x, narrow), wide)
    return reshape(r.m, spread, [times * size for times, size in zip(repeats, x.shape, strict=True)])


@reads("ConstantOfShape")
def _constant_of_shape(r: Reading) -> Term | None:
    sizes = r.sizes(0)
    if sizes is None:
        return None
    _refuse_negative(sizes)
    value = r.node.attributes.get("value")
    scalar = r.m.table.constant(value) if isinstance(value, TensorData) else r.m.array(np.float32(0))
    return expand(r.m, reshape(r.m, scalar, ()), sizes)


READINGS = readings_of(globals())
