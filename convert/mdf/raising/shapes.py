"""Functions of NumPy that put elements elsewhere: other shapes, other orders, parts side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.types import DType
from .arguments import Call
from .numpy_values import (
    MOST_FOLDED,
    Item,
    Listing,
    Number,
    broadcast,
    cast,
    checked_shape,
    common_type,
    concatenated,
    known,
    reshaped,
    scalar,
)
from .operators import items_of
from .python_calls import Function
from .reductions import REDUCTIONS
from .subscripts import Part, subscript

_MOST_SPREAD = 4096
"""Elements of a constant that one number, or a few, are spread to."""


def shaped(call: Call, x: Number, shape: Sequence[int]) -> Number:
    return Number(reshaped(call.op, x.value, shape))


# other shapes ------------------------------------------------------------------------------------


def reshape(call: Call, a: Item, shape: Item) -> Item:
    """One size may be -1: what is left."""
    x, sizes = call.array(a), list(call.integers(shape))
    if sizes.count(-1) == 1:
        rest = math.prod(size for size in sizes if size != -1)
        if rest > 0 and x.size % rest == 0:
            sizes[sizes.index(-1)] = x.size // rest
    if min(sizes, default=0) < 0 or math.prod(sizes) != x.size:
        raise InvalidModel(f"{call.where}: {x.size} elements don't fill the shape {tuple(sizes)}")
    return shaped(call, x, sizes)


def ravel(call: Call, a: Item) -> Item:
    x = call.array(a)
    return shaped(call, x, (x.size,))


def squeeze(call: Call, a: Item, axis: Item = None) -> Item:
    x = call.array(a)
    axes = [place for place, size in enumerate(x.shape) if size == 1] if axis is None else call.axes(axis, x.rank)
    if any(x.shape[place] != 1 for place in axes):
        raise InvalidModel(f"{call.where}: axes {tuple(axes)} of an array of shape {x.shape} aren't of size 1")
    return shaped(call, x, [size for place, size in enumerate(x.shape) if place not in axes])


def expand_dims(call: Call, a: Item, axis: Item) -> Item:
    x = call.array(a)
    axes = call.axes(axis, x.rank + len(call.integers(axis)))
    sizes = iter(x.shape)
    return shaped(call, x, [1 if place in axes else next(sizes) for place in range(x.rank + len(axes))])


def _at_least(rank: int) -> Function:
    def at_least(call: Call, a: Item) -> Item:
        """New axes in front; a third one behind."""
        x = call.array(a)
        shape = x.shape
        if rank == 3 and x.rank in (1, 2):
            shape = (*(1,) * (2 - x.rank), *shape, 1)
        return shaped(call, x, (*(1,) * (rank - len(shape)), *shape))

    return at_least


def broadcast_to(call: Call, array: Item, shape: Item) -> Item:
    x, wanted = call.array(array), call.shape(shape)
    if broadcast([x.shape, wanted], call.where) != wanted:
        raise InvalidModel(f"{call.where}: an array of shape {x.shape} doesn't broadcast to {wanted}")
    return expanded(call, x, wanted)


def expanded(call: Call, x: Number, shape: Sequence[int]) -> Number:
    """An array broadcast to a shape that it fits."""
    if x.shape == tuple(shape):
        return Number(x.value)
    if x.value.data is not None and math.prod(shape) <= _MOST_SPREAD:
        return Number(call.op.const(np.broadcast_to(x.value.data.numpy(), shape).copy()))
    return Number(call.op.Expand(x.value, call.op.const(np.asarray(shape, np.int64))))


# other orders ------------------------------------------------------------------------------------


def transpose(call: Call, a: Item, axes: Item = None) -> Item:
    x = call.array(a)
    order = tuple(reversed(range(x.rank))) if axes is None else call.axes(axes, x.rank)
    if len(order) != x.rank:
        raise InvalidModel(f"{call.where}: {len(order)} axes for an array of {x.rank}")
    return ordered(call, x, order)


def ordered(call: Call, x: Number, order: Sequence[int]) -> Number:
    if list(order) == sorted(order):
        return Number(x.value)
    if x.value.data is not None:
        return Number(call.op.const(np.ascontiguousarray(x.value.data.numpy().transpose(order))))
    return Number(call.op.Transpose(x.value, perm=list(order)))


def swapaxes(call: Call, a: Item, axis1: Item, axis2: Item) -> Item:
    x = call.array(a)
    one, other = call.axis(axis1, x.rank), call.axis(axis2, x.rank)
    order = list(range(x.rank))
    order[one], order[other] = other, one
    return ordered(call, x, order)


def moveaxis(call: Call, a: Item, source: Item, destination: Item) -> Item:
    x = call.array(a)
    starts, ends = call.axes(source, x.rank), call.axes(destination, x.rank)
    if len(starts) != len(ends):
        raise InvalidModel(f"{call.where}: {len(starts)} axes to {len(ends)} places")
    order = [axis for axis in range(x.rank) if axis not in starts]
    for end, start in sorted(zip(ends, starts, strict=True)):
        order.insert(end, start)
    return ordered(call, x, order)


def flip(call: Call, m: Item, axis: Item = None) -> Item:
    x = call.array(m)
    axes = call.axes(axis, x.rank)
    back = Part(None, None, scalar(call.op, -1, call.where))
    whole = Part(None, None, None)
    if not axes:
        return x
    places = [back if place in axes else whole for place in range(x.rank)]
    return subscript(call.op, Number(x.value), places, False, call.where)


def _flipped(axis: int) -> Function:
    def flipped(call: Call, m: Item) -> Item:
        return flip(call, m, scalar(call.op, axis, call.where))

    return flipped


def roll(call: Call, a: Item, shift: Item, axis: Item = None) -> Item:
    x, shifts = call.array(a), call.integers(shift)
    if axis is None:
        flat = shaped(call, x, (x.size,))
        return shaped(call, _rolled(call, flat, sum(shifts), 0), x.shape)
    axes = call.integers(axis)
    if len(axes) != len(shifts) and 1 not in (len(axes), len(shifts)):
        raise InvalidModel(f"{call.where}: {len(shifts)} shifts for {len(axes)} axes")
    for place in range(max(len(axes), len(shifts))):
        along = call.axes(scalar(call.op, axes[place % len(axes)], call.where), x.rank)[0]
        x = _rolled(call, x, shifts[place % len(shifts)], along)
    return x


def _rolled(call: Call, x: Number, shift: int, axis: int) -> Number:
    size = x.shape[axis]
    if not size or not shift % size:
        return Number(x.value)
    places = np.roll(np.arange(size), shift)
    return taken(call, x, places, axis)


def taken(call: Call, x: Number, places: Sequence[int] | np.ndarray, axis: int) -> Number:
    """Elements at known places along an axis."""
    indices = np.asarray(places, np.int64)
    if x.value.data is not None and math.prod(_but(x, axis)) * indices.size <= MOST_FOLDED:
        return Number(call.op.const(np.take(x.value.data.numpy(), indices, axis)))
    return Number(call.op.Gather(x.value, call.op.const(indices), axis=axis))


def take(call: Call, a: Item, indices: Item, axis: Item = None) -> Item:
    x = call.array(a)
    number = call.array(indices)
    if number.dtype not in (DType.INT64, DType.INT32, DType.BOOL) and not call.operand(indices).is_weak:
        raise InvalidModel(f"{call.where}: indices that are {number.dtype.value}")
    if axis is None:
        x, along = shaped(call, x, (x.size,)), 0
    else:
        along = call.axis(axis, x.rank)
    whole = Part(None, None, None)
    index = Number(cast(call.op, number, DType.INT64, call.where))
    return subscript(call.op, Number(x.value), [*[whole] * along, index], call.safe, call.where)


def tile(call: Call, A: Item, reps: Item) -> Item:
    x, times = call.array(A), call.integers(reps)
    rank = max(x.rank, len(times))
    shape = (*(1,) * (rank - x.rank), *x.shape)
    times = (*(1,) * (rank - len(times)), *times)
    call.check_shape([size * count for size, count in zip(shape, times, strict=True)])
    x = shaped(call, x, shape)
    if all(count == 1 for count in times):
        return x
    return Number(call.op.Tile(x.value, call.op.const(np.asarray(times, np.int64))))


def repeat(call: Call, a: Item, repeats: Item, axis: Item = None) -> Item:
    x, counts = call.array(a), call.integers(repeats)
    if axis is None:
        x, along = shaped(call, x, (x.size,)), 0
    else:
        along = call.axis(axis, x.rank)
    if len(counts) not in (1, x.shape[along]) or min(counts, default=0) < 0:
        raise InvalidModel(f"{call.where}: {len(counts)} counts for {x.shape[along]} elements")
    call.check_shape([*x.shape[:along], max(counts, default=0) * x.shape[along], *x.shape[along + 1 :]])
    return taken(call, x, np.repeat(np.arange(x.shape[along]), counts), along)


# side by side ------------------------------------------------------------------------------------


def _arrays(call: Call, items: Item) -> list[Number]:
    """The arrays of a list, as one type."""
    numbers = [call.array(item) for item in items_of(call.op, items, call.where)]
    if not numbers:
        raise InvalidModel(f"{call.where}: of no arrays")
    dtype = common_type([number.dtype for number in numbers], call.where)
    return [Number(cast(call.op, number, dtype, call.where)) for number in numbers]


def concatenate(call: Call, arrays: Item, axis: Item | int = 0) -> Item:
    numbers = _arrays(call, arrays)
    if axis is None:
        return _beside(call, [shaped(call, number, (number.size,)) for number in numbers], 0)
    along = axis if isinstance(axis, int) else call.axis(axis, numbers[0].rank)
    return _beside(call, numbers, along)


def _beside(call: Call, numbers: Sequence[Number], axis: int) -> Number:
    """Arrays of one type one after the other along an axis that they have."""
    first = numbers[0]
    for number in numbers:
        if number.rank != first.rank or not number.rank or _but(number, axis) != _but(first, axis):
            shapes = " and ".join(dict.fromkeys(str(number.shape) for number in numbers))
            raise InvalidModel(f"{call.where}: arrays of shape {shapes} don't go side by side along axis {axis}")
    data = [number.value.data for number in numbers]
    whole = sum(number.size for number in numbers)
    checked_shape((whole,), call.where)
    if whole <= MOST_FOLDED and all(entry is not None for entry in data):
        return Number(call.op.const(np.concatenate([entry.numpy() for entry in data if entry is not None], axis)))
    return Number(call.op.Concat(*(number.value for number in numbers), axis=axis))


def _but(number: Number, axis: int) -> tuple[int, ...]:
    return (*number.shape[:axis], *number.shape[axis + 1 :])


def stack(call: Call, arrays: Item, axis: Item = None) -> Item:
    numbers = _arrays(call, arrays)
    if any(number.shape != numbers[0].shape for number in numbers):
        raise InvalidModel(f"{call.where}: arrays of different shapes")
    along = 0 if axis is None else call.axis(axis, numbers[0].rank + 1)
    checked_shape((len(numbers), *numbers[0].shape), call.where)
    return Number(concatenated(call.op, [number.value for number in numbers], along))


def _stacked(rank: int, axis: Callable[[int], int]) -> Function:
    def stacked_(call: Call, tup: Item) -> Item:
        """Of at least so many axes, along one of them."""
        numbers = [call.array(_at_least(rank)(call, number)) for number in _arrays(call, tup)]
        return _beside(call, numbers, axis(numbers[0].rank))

    return stacked_


def column_stack(call: Call, tup: Item) -> Item:
    """Vectors as columns."""
    numbers = _arrays(call, tup)
    columns = [shaped(call, number, (number.size, 1)) if number.rank < 2 else number for number in numbers]
    return _beside(call, columns, 1)


def append(call: Call, arr: Item, values: Item, axis: Item = None) -> Item:
    return concatenate(call, Listing((arr, values)), axis)


def split(call: Call, ary: Item, indices_or_sections: Item, axis: Item = None) -> Item:
    """Equal parts, or those between given places: a list."""
    x = call.array(ary)
    along = 0 if axis is None else call.axis(axis, x.rank)
    if not x.rank:
        raise InvalidModel(f"{call.where}: of one number")
    size = x.shape[along]
    places = call.integers(indices_or_sections)
    if not isinstance(indices_or_sections, Listing | tuple) and not call.array(indices_or_sections).rank:
        count = places[0]
        if count < 1 or size % count:
            raise InvalidModel(f"{call.where}: {size} elements in {count} equal parts")
        places = tuple(range(size // count, size, size // count)) if size else (0,) * (count - 1)
    bounds = [0, *places, None]
    parts = [range(size)[slice(start, end)] for start, end in pairwise(bounds)]
    return Listing(tuple(taken(call, x, part, along) for part in parts))


_COPYING = ("edge", "reflect", "symmetric", "wrap")


def pad(call: Call, array: Item, pad_width: Item, mode: Item = None, *, constant_values: Item = None) -> Item:
    """Something around an array: zeros, another number, or copies of its own elements."""
    x = call.array(array)
    widths = known(call.array(pad_width))
    if widths is None or widths.dtype.kind != "i" or (widths.size and widths.min() < 0):
        raise Unsupported(call.where, "a width that isn't a known number of elements")
    try:
        pairs = np.broadcast_to(widths, (x.rank, 2))
    except ValueError:
        raise InvalidModel(f"{call.where}: widths of shape {widths.shape} for {x.rank} axes") from None
    call.check_shape([size + int(pair.sum()) for size, pair in zip(x.shape, pairs, strict=True)])
    if mode in _COPYING:
        return _copied(call, x, pairs, mode)
    if mode not in (None, "constant"):
        raise Unsupported(call.where, f"the mode {mode!r:.40}")
    filling = call.array(scalar(call.op, 0, call.where) if constant_values is None else constant_values)
    if filling.rank:
        raise Unsupported(call.where, "several numbers around an array")
    value = cast(call.op, filling, x.dtype, call.where)
    bounds = [*pairs[:, 0].tolist(), *pairs[:, 1].tolist()]
    if not any(bounds):
        return x
    return Number(call.op.Pad(x.value, call.op.const(np.asarray(bounds, np.int64)), value))


def _copied(call: Call, x: Number, pairs: np.ndarray, mode: Any) -> Number:
    """Elements of the array itself around it: which ones, NumPy tells of their places."""
    for axis, pair in enumerate(pairs):
        if pair.any() and not x.shape[axis]:
            raise InvalidModel(f"{call.where}: nothing to copy along axis {axis}")
        if pair.any():
            x = taken(call, x, np.pad(np.arange(x.shape[axis]), tuple(pair), mode), axis)
    return x


# triangles and diagonals -------------------------------------------------------------------------


def _triangle(upper: int) -> Function:
    def triangle(call: Call, m: Item, k: Item = None) -> Item:
        x = call.array(m)
        if x.rank < 2:
            raise Unsupported(call.where, f"of an array of shape {x.shape}")
        offset = call.op.const(call.integer(k, 0))
        return Number(call.op.Trilu(x.value, offset, upper=upper))

    return triangle


def diagonal(call: Call, a: Item, offset: Item = None) -> Item:
    """The diagonal of the first two axes, behind the others."""
    x = call.array(a)
    if x.rank < 2:
        raise InvalidModel(f"{call.where}: of an array of shape {x.shape}")
    rows, columns = x.shape[:2]
    places = np.diagonal(np.arange(rows * columns).reshape(rows, columns), call.integer(offset, 0))
    flat = shaped(call, x, (rows * columns, *x.shape[2:]))
    found = taken(call, flat, places, 0)
    return ordered(call, found, [*range(1, found.rank), 0])


def diag(call: Call, v: Item, k: Item = None) -> Item:
    """The diagonal of a matrix, or the matrix of a diagonal."""
    x = call.array(v)
    if x.rank == 2:
        return diagonal(call, x, k)
    if x.rank != 1:
        raise InvalidModel(f"{call.where}: of an array of shape {x.shape}")
    offset = call.integer(k, 0)
    size = x.size + abs(offset)
    call.check_shape([size, size])
    places = np.diag(np.arange(1, x.size + 1), offset)  # 0 is the one zero put in front
    nothing = Number(call.op.const(np.zeros(1, x.dtype.numpy)))
    return taken(call, _beside(call, [nothing, x], 0), places, 0)


def trace(call: Call, a: Item) -> Item:
    found = call.array(diagonal(call, a))
    return REDUCTIONS["sum"](call, found, scalar(call.op, -1, call.where))


# sizes -------------------------------------------------------------------------------------------


def size(call: Call, a: Item, axis: Item = None) -> Item:
    x = call.array(a)
    return scalar(call.op, x.size if axis is None else x.shape[call.axis(axis, x.rank)], call.where)


def ndim(call: Call, a: Item) -> Item:
    return scalar(call.op, call.array(a).rank, call.where)


def shape(call: Call, a: Item) -> Item:
    return tuple(scalar(call.op, size, call.where) for size in call.array(a).shape)


SHAPES: dict[str, Function] = {
    "append": append,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
    "broadcast_to": broadcast_to,
    "column_stack": column_stack,
    "concat": concatenate,
    "concatenate": concatenate,
    "diag": diag,
    "diagonal": diagonal,
    "dstack": _stacked(3, lambda rank: 2),
    "expand_dims": expand_dims,
    "flip": flip,
    "fliplr": _flipped(1),
    "flipud": _flipped(0),
    "hstack": _stacked(1, lambda rank: 0 if rank == 1 else 1),
    "moveaxis": moveaxis,
    "ndim": ndim,
    "pad": pad,
    "permute_dims": transpose,
    "ravel": ravel,
    "repeat": repeat,
    "reshape": reshape,
    "roll": roll,
    "shape": shape,
    "size": size,
    "split": split,
    "squeeze": squeeze,
    "stack": stack,
    "swapaxes": swapaxes,
    "take": take,
    "tile": tile,
    "trace": trace,
    "transpose": transpose,
    "tril": _triangle(0),
    "triu": _triangle(1),
    "vstack": _stacked(2, lambda rank: 0),
}
