"""Functions of NumPy that put elements elsewhere: other shapes, other orders, parts side by side.

Where they go NumPy tells itself: its function is called with an array of the same shape that stands for the elements.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from .....passes.build import broadcast_to, reshape, squeeze, transpose, unsqueeze
from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Value
from .....passes.types import DType
from .arguments import Axes, Call, Function, Known, signature
from .operators import items_of
from .subscripts import subscript
from .values import (
    MOST_FOLDED,
    Array,
    Item,
    Number,
    OpenSize,
    cast,
    checked_shape,
    common_type,
    constant,
    known,
    of_sizes,
    scalar,
    size_number,
    stack_values,
)

_MOST_SPREAD = 4096
"""Elements of a constant that one number, or a few, are spread to."""


def reshape_number(call: Call, x: Number, shape: Sequence[int]) -> Number:
    return Number(reshape(call.op, x.value, shape))


def _in_a_row(call: Call, x: Number) -> Number:
    return reshape_number(call, x, (-1 if x.is_open else x.size,))


def flat_or_axis(call: Call, x: Number, axis: int | None) -> tuple[Number, int]:
    """The array and the axis counted from the front; all elements in a row where there is none, or no axes."""
    if axis is not None and x.rank:
        return x, call.axis(axis, x.rank)
    return _in_a_row(call, x), call.axis(axis or 0, 1)


# views -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _View:
    """A function that shows the elements of its first argument otherwise, the other arguments being known.

    Attributes:
        open: the same where a size of the argument isn't known.
    """

    __signature__: inspect.Signature
    function: Callable[..., Array]
    open: Callable[..., Number] | None

    def __call__(self, call: Call, x: Number, *known: Any) -> Item:
        if x.is_open and self.open is not None:
            return self.open(call, x, *known)
        steps = np.cumprod([1, *x.shape[:0:-1]])[::-1].tolist() if x.rank else []
        # only its shape and its steps are looked at, never an element
        base = call.run(np.lib.stride_tricks.as_strided, np.zeros((), np.int8), x.shape, steps)
        return _viewed(call, x, base, call.run(self.function, base, *known))


def _viewed(call: Call, x: Number, base: Array, view: Array) -> Number:
    if view.size != x.size:
        call.check_shape(view.shape)
        return expand(call, x, view.shape)
    if min(view.strides, default=0) < 0:
        whole, back = slice(None), slice(None, None, scalar(call.op, -1, call.where))
        indices = [back if step < 0 else whole for step in view.strides]
        return call.array(subscript(call.op, Number(x.value), indices, call.where))
    own, left = list(zip(view.shape, view.strides, strict=True)), list(zip(base.shape, base.strides, strict=True))
    if sorted(own) != sorted(left):
        return reshape_number(call, x, view.shape)
    order: list[int] = []
    for pair in own:
        order.append(next(axis for axis, other in enumerate(left) if other == pair and axis not in order))
    return Number(transpose(call.op, x.value, order))


def expand(call: Call, x: Number, shape: Sequence[int]) -> Number:
    """An array broadcast to a shape that it fits."""
    if x.value.data is not None and math.prod(shape) <= _MOST_SPREAD:
        return Number(call.op.const(np.broadcast_to(x.value.data.numpy(), shape).copy()))
    return Number(broadcast_to(call.op, x.value, shape))


def _open_reshaped(call: Call, x: Number, shape: Any) -> Number:
    sizes = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if not all(isinstance(size, int) and size >= -1 for size in sizes) or sizes.count(-1) > 1:
        raise InvalidModel(f"{call.where}: the shape {sizes}")
    if 0 in sizes and -1 in sizes:
        raise InvalidModel(f"{call.where}: the shape {sizes} leaves a size open beside a size of 0")
    call.check_shape([size for size in sizes if size > 0])
    made = call.op.Reshape(x.value, call.op.const(np.asarray(sizes, np.int64)), allowzero=1 if 0 in sizes else None)
    return of_sizes(made, tuple(None if size < 0 else size for size in sizes))


def _open_expanded(call: Call, x: Number, axis: Any) -> Number:
    axes = axis if isinstance(axis, list | tuple) else (axis,)
    found = call.run(normalize_axis_tuple, tuple(axes), x.rank + len(axes))
    return Number(unsqueeze(call.op, x.value, sorted(found)))


def _open_squeezed(call: Call, x: Number, axis: Any) -> Number:
    if axis is None:
        raise OpenSize("which axes have a size of 1 is known only at run time")
    axes = call.run(normalize_axis_tuple, tuple(axis) if isinstance(axis, list | tuple) else axis, x.rank)
    if any(x.sizes[index] not in (1, None) for index in axes):
        raise InvalidModel(f"{call.where}: an axis whose size isn't 1")
    return Number(squeeze(call.op, x.value, sorted(axes)))


def _open_transposed(function: Callable[..., Array]) -> Callable[..., Number]:
    def transposed(call: Call, x: Number, *known: Any) -> Number:
        """Where the axes go is told by an array whose axes have different sizes."""
        moved = call.run(function, np.zeros(tuple(range(2, 2 + x.rank)), np.bool_), *known)
        return Number(transpose(call.op, x.value, [size - 2 for size in moved.shape]))

    return transposed


def _open_flipped(call: Call, x: Number, axis: Any) -> Number:
    given = range(x.rank) if axis is None else axis
    axes = set(call.run(normalize_axis_tuple, tuple(given) if isinstance(given, list | range) else given, x.rank))
    back = slice(None, None, scalar(call.op, -1, call.where))
    indices = [back if index in axes else slice(None) for index in range(x.rank)]
    return call.array(subscript(call.op, Number(x.value), indices, call.where))


_OPEN: dict[str, Callable[..., Number]] = {
    "expand_dims": _open_expanded,
    "flip": _open_flipped,
    "ravel": _in_a_row,
    "reshape": _open_reshaped,
    "squeeze": _open_squeezed,
    **{name: _open_transposed(getattr(np, name)) for name in ("moveaxis", "permute_dims", "swapaxes", "transpose")},
}
_VIEWS = {
    "atleast_1d(a)": np.atleast_1d,
    "atleast_2d(a)": np.atleast_2d,
    "atleast_3d(a)": np.atleast_3d,
    "broadcast_to(array, shape)": np.broadcast_to,
    "expand_dims(a, axis)": np.expand_dims,
    "flip(m, axis=None)": np.flip,
    "fliplr(m)": np.fliplr,
    "flipud(m)": np.flipud,
    "moveaxis(a, source, destination)": np.moveaxis,
    "permute_dims(a, axes=None)": np.permute_dims,
    "ravel(a)": np.ravel,
    "reshape(a, shape)": np.reshape,
    "squeeze(a, axis=None)": np.squeeze,
    "swapaxes(a, axis1, axis2)": np.swapaxes,
    "transpose(a, axes=None)": np.transpose,
}
VIEWS: dict[str, Any] = {
    name: _View(signature(text, "Number", "Known"), function, _OPEN.get(name))
    for text, function in _VIEWS.items()
    if (name := text.partition("(")[0])
}


# elements by their positions ------------------------------------------------------------------------


def _positions(call: Call, x: Number) -> Array:
    """For each element its position in the flattened array."""
    call.check_shape(x.shape)
    return np.arange(x.size).reshape(x.shape)


def take_positions(call: Call, x: Number, positions: Array) -> Number:
    """The elements of these positions: taken along one axis where that is all."""
    base = _positions(call, x)
    for axis in range(x.rank if positions.ndim == x.rank and positions.size else 0):
        first = np.moveaxis(positions, axis, 0).reshape(positions.shape[axis], -1)[:, 0]
        indices = first // math.prod(x.shape[axis + 1 :]) % x.shape[axis]
        if np.array_equal(np.take(base, indices, axis), positions):
            return take_along(call, x, indices, axis)
    return take_along(call, reshape_number(call, x, (x.size,)), positions, 0)


def take_along(call: Call, x: Number, positions: int | Sequence[int] | Array, axis: int) -> Number:
    """Elements at known positions along an axis."""
    indices = np.asarray(positions, np.int64)
    if np.array_equal(indices, np.arange(x.shape[axis])):
        return Number(x.value)
    if x.value.data is not None and math.prod(_other_sizes(x, axis)) * indices.size <= MOST_FOLDED:
        return Number(call.op.const(np.take(x.value.data.numpy(), indices, axis)))
    return Number(call.op.Gather(x.value, call.op.const(indices), axis=axis))


def _other_sizes(x: Number, axis: int) -> tuple[int, ...]:
    return (*x.shape[:axis], *x.shape[axis + 1 :])


def roll(call: Call, a: Number, shift: Known, axis: Known = None) -> Item:
    return take_positions(call, a, call.run(np.roll, _positions(call, a), shift, axis))


def diagonal(call: Call, a: Number, offset: Known = 0) -> Item:
    """The diagonal of the first two axes, behind the others."""
    return take_positions(call, a, call.run(np.diagonal, _positions(call, a), offset))


def diag(call: Call, v: Number, k: int = 0) -> Item:
    """The diagonal of a matrix, or the matrix of a diagonal."""
    if v.rank == 2:
        return diagonal(call, v, k)
    call.check_shape([v.size + abs(k)] * 2)
    nothing = constant(call.op, np.zeros(1, v.dtype.numpy))
    indices = call.run(np.diag, np.arange(1, v.size + 1), k)  # 0 is the one zero put in front
    return take_along(call, _concatenated(call, [nothing, v], 0), indices, 0)


def repeat(call: Call, a: Number, repeats: Axes, axis: int | None = None) -> Item:
    x, axis = flat_or_axis(call, a, axis)
    call.check_shape([*_other_sizes(x, axis), max(repeats, default=0) * x.shape[axis]])
    return take_along(call, x, call.run(np.repeat, np.arange(x.shape[axis]), repeats), axis)


def take(call: Call, a: Number, indices: Item, axis: int | None = None) -> Item:
    number = call.array(indices)
    if number.dtype not in (DType.INT64, DType.INT32, DType.BOOL) and not call.operand(indices).is_weak:
        raise InvalidModel(f"{call.where}: indices that are {number.dtype.value}")
    x, axis = (a, call.axis(axis, a.rank)) if axis is not None else flat_or_axis(call, a, None)
    index = Number(cast(call.op, number, DType.INT64, call.where))
    return subscript(call.op, Number(x.value), [*[slice(None)] * axis, index], call.where)


def tile(call: Call, A: Number, reps: Item) -> Item:
    times = call.array(reps)
    if times.sizes == (A.rank,) and times.dtype.is_integer and (A.is_open or known(times) is None):
        return Number(call.op.Tile(A.value, cast(call.op, times, DType.INT64, call.where)))
    return _tiled(call, A, call.integers(reps))


def _tiled(call: Call, A: Number, reps: Axes) -> Item:
    rank = max(A.rank, len(reps))
    shape = (*(1,) * (rank - A.rank), *A.shape)
    times = (*(1,) * (rank - len(reps)), *reps)
    call.shape([size * count for size, count in zip(shape, times, strict=True)])
    x = reshape_number(call, A, shape)
    return x if set(times) <= {1} else Number(call.op.Tile(x.value, call.op.const(np.asarray(times, np.int64))))


def split(call: Call, ary: Number, indices_or_sections: Known, axis: int = 0) -> Item:
    """Equal parts, or those between given positions: a list."""
    axis = call.axis(axis, ary.rank)
    parts = call.run(np.split, np.arange(ary.shape[axis]), indices_or_sections)
    return [take_along(call, ary, part, axis) for part in parts]


def pad(
    call: Call, array: Number, pad_width: Item, mode: Item = "constant", *, constant_values: Number | None = None
) -> Item:
    """Something around an array: zeros, another number, or copies of its own elements."""
    widths = call.array(pad_width)
    if known(widths) is None and widths.sizes == (array.rank, 2) and widths.dtype.is_integer and mode == "constant":
        moved = transpose(call.op, cast(call.op, widths, DType.INT64, call.where), [1, 0])
        return _padded(call, array, reshape(call.op, moved, (2 * array.rank,)), constant_values)
    pairs = call.run(np.broadcast_to, call.known(pad_width), (array.rank, 2))
    if pairs.dtype.kind != "i" or pairs.min(initial=0) < 0:
        raise Unsupported(call.where, "a width that isn't a known number of elements")
    call.check_shape(
        [size + int(pair.sum()) for size, pair in zip(array.sizes, pairs, strict=True) if size is not None]
    )
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        return take_positions(call, array, call.run(np.pad, _positions(call, array), pairs, mode))
    if mode != "constant":
        raise Unsupported(call.where, f"the mode {mode!r:.40}")
    return _padded(call, array, call.op.const(pairs.T.ravel().astype(np.int64)), constant_values)


def _padded(call: Call, array: Number, pads: Value, constant_values: Number | None) -> Number:
    """One number around an array."""
    filling = constant_values or constant(call.op, 0)
    if filling.rank:
        raise Unsupported(call.where, "several numbers around an array")
    if pads.data is not None and not pads.data.numpy().any():
        return array
    return Number(call.op.Pad(array.value, pads, cast(call.op, filling, array.dtype, call.where)))


def _triangle(upper: int) -> Function:
    def triangle(call: Call, m: Number, k: Item = None) -> Item:
        if m.rank < 2:
            raise Unsupported(call.where, f"of an array of shape {m.shape}")
        diagonal = call.array(scalar(call.op, 0, call.where) if k is None else k)
        if known(diagonal) is not None:
            diagonal = constant(call.op, call.integer(k) if k is not None else 0)
        if diagonal.rank or not diagonal.dtype.is_integer:
            raise Unsupported(call.where, "a diagonal that is no integer")
        return Number(call.op.Trilu(m.value, cast(call.op, diagonal, DType.INT64, call.where), upper=upper))

    return triangle


# side by side ------------------------------------------------------------------------------------


def _arrays(call: Call, items: Item) -> list[Number]:
    """The arrays of a list, as one type."""
    numbers = [call.array(item) for item in items_of(call.op, items, call.where)]
    if not numbers:
        raise InvalidModel(f"{call.where}: of no arrays")
    dtype = common_type([number.dtype for number in numbers], call.where)
    return [Number(cast(call.op, number, dtype, call.where)) for number in numbers]


def concatenate(call: Call, arrays: Item, axis: int | None = 0) -> Item:
    numbers = _arrays(call, arrays)
    if axis is None:
        return _concatenated(call, [_in_a_row(call, number) for number in numbers], 0)
    return _concatenated(call, numbers, call.axis(axis, numbers[0].rank))


def _concatenated(call: Call, numbers: Sequence[Number], axis: int) -> Number:
    """Arrays of one type one after the other along an axis that they have."""
    first = numbers[0]
    for number in numbers:
        if number.rank != first.rank or not number.rank or not _go_together(number, first, axis):
            shapes = " and ".join(dict.fromkeys(str(number.sizes) for number in numbers))
            raise InvalidModel(f"{call.where}: arrays of shape {shapes} can't be concatenated along axis {axis}")
    if any(number.is_open for number in numbers):
        return Number(call.op.Concat(*(number.value for number in numbers), axis=axis))
    data = [number.value.data for number in numbers]
    whole = sum(number.size for number in numbers)
    checked_shape((whole,), call.where)
    if whole <= MOST_FOLDED and all(entry is not None for entry in data):
        return Number(call.op.const(np.concatenate([entry.numpy() for entry in data if entry is not None], axis)))
    return Number(call.op.Concat(*(number.value for number in numbers), axis=axis))


def _go_together(a: Number, b: Number, axis: int) -> bool:
    """Whether the sizes apart from an axis may be the same."""
    pairs = zip(a.sizes, b.sizes, strict=True)
    return all(one == other or None in (one, other) for at, (one, other) in enumerate(pairs) if at != axis)


def stack(call: Call, arrays: Item, axis: int = 0) -> Item:
    numbers = _arrays(call, arrays)
    if any(number.shape != numbers[0].shape for number in numbers):
        raise InvalidModel(f"{call.where}: arrays of different shapes")
    checked_shape((len(numbers), *numbers[0].shape), call.where)
    return Number(stack_values(call.op, [number.value for number in numbers], call.axis(axis, numbers[0].rank + 1)))


def _stacked(view: str, axis: Callable[[int], int]) -> Function:
    def stacked(call: Call, tup: Item) -> Item:
        """Each seen with so many axes, along one of them."""
        numbers = [VIEWS[view](call, number) for number in _arrays(call, tup)]
        return _concatenated(call, numbers, axis(numbers[0].rank))

    return stacked


def column_stack(call: Call, tup: Item) -> Item:
    """Vectors as columns."""
    numbers = _arrays(call, tup)
    columns = [reshape_number(call, number, (number.size, 1)) if number.rank < 2 else number for number in numbers]
    return _concatenated(call, columns, 1)


# sizes -------------------------------------------------------------------------------------------


def size(call: Call, a: Number, axis: int | None = None) -> Item:
    if axis is not None:
        return size_number(call.op, a, call.axis(axis, a.rank))
    if not a.is_open:
        return scalar(call.op, a.size, call.where)
    return Number(call.op.Size(a.value), python=True)


def ndim(call: Call, a: Number) -> Item:
    return scalar(call.op, a.rank, call.where)


def shape(call: Call, a: Number) -> Item:
    return tuple(size_number(call.op, a, axis) for axis in range(a.rank))


SHAPES: dict[str, Function] = {
    **VIEWS,
    "column_stack": column_stack,
    "concatenate": concatenate,
    "diag": diag,
    "diagonal": diagonal,
    "dstack": _stacked("atleast_3d", lambda rank: 2),
    "hstack": _stacked("atleast_1d", lambda rank: 0 if rank == 1 else 1),
    "ndim": ndim,
    "pad": pad,
    "repeat": repeat,
    "roll": roll,
    "shape": shape,
    "size": size,
    "split": split,
    "stack": stack,
    "take": take,
    "tile": tile,
    "tril": _triangle(0),
    "triu": _triangle(1),
    "vstack": _stacked("atleast_2d", lambda rank: 0),
}
