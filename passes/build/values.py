"""Values of the hub made of values: cast, reshaped, transposed, broadcast, sliced, padded.

What changes nothing isn't built, and small constants are changed at once. Sizes are given as `Dim`s: numbers where they
are known, int64 scalars or vectors of the graph (or array expressions) where only a run tells them. An open size
(`OpenSize`) stands for a number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Protocol

import numpy as np

from ..constants import constant_array
from ..errors import InvalidModel
from ..graph import Node, Value
from ..preconditions import default_bounds, dtype_of, input_of, size_of_axis
from ..protos import enum_of
from ..rewrite import Builder
from ..sizes import OpenSize
from ..tensor import TensorData
from ..types import Dim as Size
from ..types import DType, TensorType
from .open_sizes import size_value

Array = np.ndarray[Any, Any]

MOST_FOLDED = 64
"""Elements of a constant that is cast at once: longer ones stay as the model stores them."""
MOST_MOVED = 4096
"""Elements of a constant that is transposed, sliced or computed with at once."""
_MOST_FILLED = 1 << 28
INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)


class Expression(Protocol):
    """An array expression (`Expr`), as far as this module needs to know it."""

    @property
    def array(self) -> Array | None: ...

    def value(self) -> Value: ...


Dim = int | Value | Expression


# constants -----------------------------------------------------------------------------------------


def constant_like(op: Builder, number: Any, like: Value, shape: Sequence[int] = ()) -> Value:
    """A constant filled with one number, of the element type of `like` (float32 where that isn't known).

    Raises:
        InvalidModel: it would have more than 2^28 elements.
    """
    if math.prod(shape) > _MOST_FILLED:
        raise InvalidModel(f"a constant of {list(shape)} would have to be written for {like.name!r}")
    dtype = like.tensor.dtype or DType.FLOAT32
    with np.errstate(invalid="ignore"):  # of an operator for floats that a file feeds with integers
        return op.const(np.full(tuple(shape), number).astype(dtype.numpy), dtype)


def clip_bounds(op: Builder, node: Node) -> list[Value | None]:
    """The lower and the upper bound of a Clip (version 11 on), with those that `default_bounds` knows as constants.

    Raises:
        Unsupported: the element type isn't known.
    """
    dtype = dtype_of(node, input_of(node))
    return [
        op.const(default, dtype) if bound is None and default is not None else bound
        for bound, default in zip((node.input(1), node.input(2)), default_bounds(dtype), strict=True)
    ]


def limited(op: Builder, x: Value, low: Value | None, high: Value | None) -> Value:
    """min(max(x, low), high), without the bounds that are None."""
    made = x if low is None else op.Max(x, low)
    return made if high is None else op.Min(made, high)


def _changed(op: Builder, data: TensorData, change: Callable[[Array], Array]) -> Value:
    """A small constant changed at once."""
    return op.const(TensorData.of(np.asarray(change(data.numpy()), order="C"), data.dtype))


def cast(op: Builder, value: Value, dtype: DType, where: object = None) -> Value:
    """`value` with another element type, itself where it has that.

    Small constants are cast at once, but for floats of 8 bits and less, of which Cast is told how.

    Raises:
        Unsupported: ONNX has no such type (`where` is told, else the value).
    """
    if value.tensor.dtype is dtype:
        return value
    data = value.data
    plain = dtype.bits > 8 or not dtype.is_float
    if data is not None and data.size <= MOST_FOLDED and plain and DType.STRING not in (data.dtype, dtype):
        with np.errstate(invalid="ignore", over="ignore"):  # what doesn't fit becomes what it becomes at run time
            return op.const(data.numpy().astype(dtype.numpy), dtype)
    return op.Cast(value, to=enum_of(dtype, where or value), _types=[TensorType(dtype, value.tensor.shape)])


def where_values(op: Builder, condition: Value, then: Value, otherwise: Value) -> Value:
    """Where; of booleans by And and Or, as ONNX Runtime has no kernel for these."""
    if then.tensor.dtype is not DType.BOOL:
        return op.Where(condition, then, otherwise)
    return op.Or(op.And(condition, then), op.And(op.Not(condition), otherwise))


# shapes --------------------------------------------------------------------------------------------


def _known_dims(dim: Dim) -> list[int] | None:
    """The sizes that a `Dim` stands for; None where only a run tells them."""
    if isinstance(dim, int | str):  # a text is an open size
        return [dim] if isinstance(dim, int) else None
    array = constant_array(dim) if isinstance(dim, Value) else dim.array
    return None if array is None else [int(size) for size in array.reshape(-1)]


def static_shape_of(dims: Sequence[Dim]) -> list[int] | None:
    """All the sizes as numbers; None where only a run tells one."""
    found = [_known_dims(dim) for dim in dims]
    return None if any(sizes is None for sizes in found) else [size for sizes in found if sizes for size in sizes]


def shape_vector(op: Builder, dims: Sequence[Dim]) -> Value:
    """Sizes one after the other as an int64 vector; a constant where all are known.

    Args:
        dims: numbers, open sizes, and int64 scalars or vectors.
    """
    parts: list[Value] = []
    for known, run in groupby(dims, lambda dim: _known_dims(dim) is not None):
        if known:
            parts.append(op.const(static_shape_of(list(run)), DType.INT64))
            continue
        for dim in run:
            assert not isinstance(dim, int)
            if isinstance(dim, str):
                parts.append(size_value(op, dim))
                continue
            size = cast(op, dim if isinstance(dim, Value) else dim.value(), DType.INT64)
            parts.append(unsqueeze(op, size, [0]) if size.rank == 0 else size)
    if not parts:
        return op.const([], DType.INT64)
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def _open_shape(dims: Sequence[Dim | None]) -> tuple[int, ...] | None:
    """Sizes of which some are open; None where all are numbers, or one is a value of the graph."""
    found = tuple(dim for dim in dims if isinstance(dim, int | str))
    return found if len(found) == len(dims) and any(isinstance(dim, str) for dim in found) else None


def reshape(op: Builder, value: Value, dims: Sequence[Dim | None]) -> Value:
    """`value` in another shape; a constant is only seen differently.

    Args:
        dims: sizes, one of which may be -1 (what is left, of the other axes where the first ones are None: that is a
            size of no images, too). None: the size that the value has at that place, which stands behind numbers and
            single sizes only. 0 is a size like any other.

    Raises:
        InvalidModel: a constant hasn't as many elements.
    """
    shape = _open_shape(dims)
    if shape is not None:
        return _reshape_open(op, value, shape)
    dims = _with_rest(op, value, dims)
    given = [size_of_axis(value, axis) if dim is None else dim for axis, dim in enumerate(dims)]
    sizes = static_shape_of([0 if dim is None else dim for dim in given])
    if sizes is not None and None not in given:
        return _reshape_known(op, value, sizes)
    copied = [dim is None or size_of_axis(value, axis) == 0 for axis, dim in enumerate(given)]
    if sizes is not None and len(sizes) == len(given) and all(map(operator.or_, map(bool, sizes), copied)):
        return op.Reshape(value, op.const(sizes, DType.INT64))  # where 0 copies a size
    whole = [op.Shape(value, start=axis, end=axis + 1) if dim is None else dim for axis, dim in enumerate(given)]
    return op.Reshape(value, shape_vector(op, whole), allowzero=1)


def _with_rest(op: Builder, value: Value, dims: Sequence[Dim | None]) -> Sequence[Dim | None]:
    """The sizes, with what is left said where sizes before it are kept that may be 0: it doesn't follow from these."""
    first = next((place for place, dim in enumerate(dims) if dim is not None), len(dims))
    rest = next((place for place, dim in enumerate(dims) if isinstance(dim, int) and dim == -1), None)
    if rest is None or all(size_of_axis(value, axis) for axis in range(first)):
        return dims
    shape, others = value.tensor.shape, [dim for dim in (*dims[first:rest], *dims[rest + 1 :]) if dim is not None]
    own, known = (shape or (None,))[first:], static_shape_of(others)
    divisor = None if known is None else math.prod(known)
    if divisor == 0 or len(others) < len(dims) - first - 1:
        return dims
    sizes = [size for size in own if isinstance(size, int)]
    left: Dim
    if shape is not None and len(sizes) == len(own) and divisor is not None:
        left = math.prod(sizes) // divisor
    else:
        left = op.ReduceProd(op.Shape(value, start=first), op.const([0]))
        if divisor is None:
            left = op.Div(left, op.Max(op.ReduceProd(shape_vector(op, others), op.const([0])), op.const([1])))
        elif divisor != 1:
            left = op.Div(left, op.const([divisor]))
    return [*dims[:rest], left, *dims[rest + 1 :]]


def _reshape_known(op: Builder, value: Value, sizes: list[int]) -> Value:
    data = value.data
    if data is not None:
        known = math.prod(size for size in sizes if size >= 0)
        full = tuple(size if size >= 0 else data.size // max(known, 1) for size in sizes)
        if math.prod(full) != data.size:
            raise InvalidModel(f"{value.name!r} has the shape {list(data.shape)}, not {sizes}")
        return op.const(TensorData(data.dtype, full, load=lambda: data.numpy().reshape(full)))
    if value.tensor.shape == tuple(sizes) or (sizes == [-1] and value.rank == 1):
        return value
    stated = TensorType(value.tensor.dtype, tuple(sizes)) if -1 not in sizes else None
    return op.Reshape(value, op.const(sizes, DType.INT64), allowzero=1 if 0 in sizes else None, _types=[stated])


def _reshape_open(op: Builder, value: Value, shape: tuple[int, ...]) -> Value:
    """ONNX's Reshape copies a size from the same place (0) and finds one out (-1)."""
    have, type = value.tensor.shape or (), TensorType(value.tensor.dtype, shape)
    if have == shape:
        return value
    listed = [0 if place < len(have) and have[place] == dim else dim for place, dim in enumerate(shape)]
    open_ = [place for place, dim in enumerate(listed) if isinstance(dim, str)]
    if len(open_) == 1 and 0 not in (*shape, *have):
        listed[open_[0]] = -1
        open_ = []
    if open_ or 0 in shape:
        return op.Reshape(value, shape_vector(op, shape), allowzero=1, _types=[type])
    return op.Reshape(value, op.const(listed, DType.INT64), _types=[type])


def unsqueeze(op: Builder, value: Value, axes: Sequence[int]) -> Value:
    """`value` with axes of size 1 inserted, counted in the result."""
    if not axes:
        return value
    data = value.data
    if data is not None and data.size <= MOST_MOVED:
        return _changed(op, data, lambda array: np.expand_dims(array, tuple(axes)))
    return op.Unsqueeze(value, op.const(list(axes), DType.INT64))


def squeeze(op: Builder, value: Value, axes: Sequence[int]) -> Value:
    """`value` without some axes of size 1."""
    if not axes:
        return value
    data = value.data
    if data is not None and data.size <= MOST_MOVED:
        return _changed(op, data, lambda array: np.squeeze(array, tuple(axes)))
    return op.Squeeze(value, op.const(list(axes), DType.INT64))


def transpose(op: Builder, value: Value, perm: Sequence[int]) -> Value:
    """`value` with its axes in another order, itself where nothing moves."""
    if list(perm) == list(range(len(perm))):
        return value
    data = value.data
    if data is not None and data.size <= MOST_MOVED:
        return _changed(op, data, lambda array: array.transpose(perm))
    return op.Transpose(value, perm=list(perm))


def taken(op: Builder, data: Value, indices: Value, axis: int, **options: Any) -> Value:
    """Gather, for an adapter or a lowering to ONNX; of text along the last axis: of a slice of several strings ONNX
    Runtime's copies the first one only.

    Args:
        axis: one of the data's, negative ones from the back.
        options: for the Gather.
    """
    size, count = data.rank, indices.rank
    if data.tensor.dtype is not DType.STRING or size is None or count is None or axis % size == size - 1:
        return op.Gather(data, indices, axis=axis, **options)
    axis %= size
    others = [other for other in range(size) if other != axis]
    made = op.Gather(transpose(op, data, [*others, axis]), indices, axis=size - 1, **options)
    order = [*range(axis), *range(size - 1, size - 1 + count), *range(axis, size - 1)]
    return transpose(op, made, order)


def broadcast_to(op: Builder, value: Value, dims: Sequence[Dim]) -> Value:
    """`value` broadcast with a shape by ONNX's rules; itself where it has that shape."""
    known = static_shape_of(dims)
    if known is not None and value.tensor.shape == tuple(known):
        return value
    shape, have = _open_shape(dims), value.tensor.shape
    if shape is None or have is None:
        return op.Expand(value, shape_vector(op, dims))
    if have == shape:
        return value
    spreads = len(have) <= len(shape) and all(
        one in (1, other) for one, other in zip(reversed(have), reversed(shape), strict=False)
    )
    return op.Expand(
        value, shape_vector(op, shape), _types=[TensorType(value.tensor.dtype, shape) if spreads else None]
    )


# parts ---------------------------------------------------------------------------------------------


def stack(op: Builder, values: Iterable[Value], axis: int) -> Value:
    """Values of one shape along a new axis, as NumPy's stack does."""
    axes = op.const([axis])
    return op.Concat(*(op.Unsqueeze(value, axes) for value in values), axis=axis)


def _check_axes(value: Value, axes: Sequence[int]) -> None:
    """
    Raises:
        InvalidModel: the value has no such axes.
    """
    rank = value.rank
    if rank is not None and any(not -rank <= axis < rank for axis in axes):
        raise InvalidModel(f"{value.name!r} of rank {rank} has no axes {list(axes)}")


def slice_axes(
    op: Builder,
    value: Value,
    axes: Sequence[int],
    starts: Sequence[Dim],
    ends: Sequence[Dim],
    steps: Sequence[int] = (),
) -> Value:
    """`value[start:end:step, ...]` along some axes; positions below 0 count from the end.

    Args:
        starts: one for each axis, as `ends`.
        steps: 1 where it is empty.
    """
    if not axes:
        return value
    _check_axes(value, axes)
    data, first, last = value.data, static_shape_of(starts), static_shape_of(ends)
    steps = steps or [1] * len(axes)
    if data is not None and data.size <= MOST_MOVED and first is not None and last is not None:
        part = [slice(None)] * len(data.shape)
        for axis, start, end, step in zip(axes, first, last, steps, strict=True):
            part[axis] = slice(start, end, step)
        return _changed(op, data, lambda array: array[tuple(part)])
    step = None if set(steps) == {1} else shape_vector(op, steps)
    where = op.const(list(axes), DType.INT64)
    shape = value.tensor.shape
    if shape is not None:
        starts, ends = (
            [from_end(*one) for one in zip(places, (shape[axis] for axis in axes), strict=True)]
            for places in (starts, ends)
        )
    return op.Slice(value, shape_vector(op, starts), shape_vector(op, ends), where, step)


def from_end(place: Dim, size: Size) -> Dim:
    """A place along an axis as a number, counted from the axis's end, where it is so far from that whatever its size.

    A Slice needs nothing computed then.
    """
    if not isinstance(place, OpenSize) or not isinstance(size, str):
        return place
    distance = OpenSize(place) - size
    return place if not isinstance(distance, int) or distance > 0 else distance or INT64_MAX


def pad(
    op: Builder,
    value: Value,
    before: Sequence[Dim],
    behind: Sequence[Dim],
    number: Any = None,
    axes: Sequence[int] | None = None,
) -> Value:
    """`value` with elements before and behind it: 0, or `number`, along all axes or some."""
    if not any(static_shape_of([*before, *behind]) or [1]):
        return value
    fill = None if number is None else constant_like(op, number, value)
    if axes is None or value.rank is None:
        where = None if axes is None else op.const(list(axes), DType.INT64)
        return op.Pad(value, shape_vector(op, [*before, *behind]), fill, where)
    full: list[Dim] = [0] * (2 * value.rank)
    _check_axes(value, axes)
    for axis, first, last in zip(axes, before, behind, strict=True):
        full[axis % value.rank], full[axis % value.rank + value.rank] = first, last
    return op.Pad(value, shape_vector(op, full), fill)
