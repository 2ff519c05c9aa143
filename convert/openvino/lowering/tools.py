"""What the lowering rules share: what is known of a value, and the shortest ways to say common things."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, rank_of, size_of_axis
from ....passes.rewrite import Builder
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType
from ..types import ELEMENT_TYPES


def element_type(node: Node, dtype: DType) -> str:
    """OpenVINO's name of an element type; Unsupported where it has none."""
    if dtype not in ELEMENT_TYPES:
        raise Unsupported(node, f"OpenVINO has no element type {dtype.value}")
    return ELEMENT_TYPES[dtype]


def ints(value: Value | None) -> list[int] | None:
    """The integers of a constant, in order; None where it isn't one."""
    array = None if value is None else value.array()
    return None if array is None else [int(item) for item in np.asarray(array).reshape(-1)]


def i64(op: Builder, values: Any) -> Value:
    """An i64 constant: `i64(op, 0)` is a scalar, `i64(op, [0])` has one dimension."""
    return op.const(np.asarray(values, np.int64))


def i32(op: Builder, value: int) -> Value:
    """An i32 scalar."""
    return op.const(value, DType.INT32)


def number(op: Builder, node: Node, value: float, like: Value) -> Value:
    """A scalar constant of the element type of `like`."""
    return op.const(value, dtype_of(node, like))


def convert(op: Builder, node: Node, value: Value, dtype: DType) -> Value:
    """`value` as another element type: itself where it has it already."""
    if value.tensor.dtype is dtype:
        return value
    data = value.data
    if data is not None and data.size <= 64 and DType.STRING not in (dtype, data.dtype):
        return op.const(data.numpy(), dtype)
    return op.Convert(value, destination_type=element_type(node, dtype))


def shape_of(op: Builder, value: Value) -> Value:
    """The shape as i64 [rank]: a constant where it is known."""
    static = value.tensor.static_shape
    return op.ShapeOf(value) if static is None else i64(op, list(static))


def size_of(op: Builder, node: Node, value: Value, axis: int) -> Value:
    """The size of one axis as i64 [1]."""
    size = size_of_axis(value, axis)
    if size is not None:
        return i64(op, [size])
    if axis < 0:
        axis = axis_of(node, axis, rank_of(node, value))
    return op.Gather(op.ShapeOf(value), i64(op, [axis]), i64(op, 0))


def rank_value(op: Builder, value: Value) -> Value:
    """The rank as i64 [1]."""
    if value.rank is not None:
        return i64(op, [value.rank])
    return op.ShapeOf(op.ShapeOf(value))


def reshape(op: Builder, value: Value, shape: Sequence[int]) -> Value:
    """Reshape to sizes, -1 for one that follows from the others, 0 for none; a constant is only seen differently."""
    data = value.data
    if data is not None:
        rest = math.prod(size for size in shape if size != -1)
        full = tuple(size if size != -1 else data.size // max(rest, 1) for size in shape)
        if math.prod(full) == data.size:
            return op.const(TensorData(data.dtype, full, load=lambda: data.numpy().reshape(full)), name=value.name)
    return op.Reshape(value, i64(op, list(shape)))


def scalar(op: Builder, value: Value) -> Value:
    """A value with one element as a scalar."""
    return value if value.rank == 0 else reshape(op, value, [])


def vector(op: Builder, value: Value) -> Value:
    """A value as one dimension."""
    return value if value.rank == 1 else reshape(op, value, [-1])


def nought_of(op: Builder, values: Value) -> Value:
    """0, i64 [], made of a vector that isn't text: OpenVINO doesn't know it before the run."""
    dtype = values.tensor.dtype
    if dtype is not None and dtype.is_float and dtype.bits < 16:  # the CPU compares none of 8 bits
        values = op.Convert(values, destination_type="f32")
    same = op.Convert(op.Equal(values, values), destination_type="i64")  # nothing where there is no element
    return op.Minimum(op.ReduceSum(same, i64(op, [0]), keep_dims=False), i64(op, 0))


def along(op: Builder, values: Value, rank: int, axis: int) -> Value:
    """A vector as a tensor of a rank that lies along one axis, ready to broadcast."""
    return reshape(op, values, [-1 if index == axis else 1 for index in range(rank)])


def with_size(op: Builder, value: Value, axis: int, size: int) -> Value:
    """`value` with the size of an axis told, which it has whatever the model says."""
    if value.rank is None or size_of_axis(value, axis) == size:
        return value
    sizes = [size if index == axis else 0 for index in range(value.rank)]
    return op.Reshape(value, i64(op, sizes), special_zero=True)


def transpose(op: Builder, value: Value, order: Sequence[int]) -> Value:
    return value if list(order) == list(range(len(order))) else op.Transpose(value, i64(op, list(order)))


def swap_with_first(op: Builder, axis: Value, rank: int) -> Value:
    """The order of axes, i64 [rank], in which the first one and `axis` (i64 [1], from the front) change places."""
    ends = op.Concat(i64(op, [0]), axis, axis=0), op.Concat(axis, i64(op, [0]), axis=0)
    order = i64(op, list(range(rank)))
    return op.ScatterElementsUpdate(order, *ends, i64(op, 0))


def slice_axis(op: Builder, value: Value, start: Any, stop: Any, step: int = 1, axis: int = 0) -> Value:
    """`value[start:stop:step]` on one axis; start and stop are ints or i64 [1] values. Where the value's sizes and the
    bounds are known, so are its own."""
    start, stop = (bound if isinstance(bound, Value) else i64(op, [bound]) for bound in (start, stop))
    made = op.Slice(value, start, stop, i64(op, [step]), i64(op, [axis]))
    shape, (first, last) = value.tensor.static_shape, (ints(bound) for bound in (start, stop))
    if shape is not None and first and last and -len(shape) <= axis < len(shape):
        sizes = list(shape)
        sizes[axis] = len(range(sizes[axis])[first[0] : last[0] : step])
        made.type = TensorType(value.tensor.dtype, tuple(sizes))
    return made


def concat(op: Builder, values: Sequence[Value], axis: int = 0) -> Value:
    return values[0] if len(values) == 1 else op.Concat(*values, axis=axis)


def reduced(op: Builder, node: Node, target: str, data: Value, axes: Value, keep: bool) -> Value:
    """A reduction, such that OpenVINO's CPU gives what it says whatever follows.

    It joins a sum or product with a constant to the reduction before it, and then is wrong in two cases: where the last
    of three axes goes, the columns get each other's constants; where the first axis stays, processors with AVX-512
    take some integers for floats. So something stands between the two that it doesn't join: Squeeze, Maximum.
    """
    dtype, rank, known = dtype_of(node, data), data.rank, ints(axes)
    indices = None if rank is None or known is None else {axis % rank for axis in known if -rank <= axis < rank}
    if dtype.is_integer:
        made = op.call(target, data, axes, keep_dims=keep)
        if indices is not None and 0 in indices:
            return made
        return op.Maximum(made, op.const(dtype.integer_limits[0], dtype))
    if keep or rank not in (None, 3) or (indices is not None and indices != {2}):
        return op.call(target, data, axes, keep_dims=keep)
    return op.Squeeze(op.call(target, data, axes, keep_dims=True), axes)


def range_of(op: Builder, count: Value) -> Value:
    """0, 1, 2 ... as i64 [count]; `count` is i64 with one element."""
    known = ints(count)
    if known is not None and known[0] <= 1024:
        return i64(op, list(range(known[0])))
    return op.Range(i64(op, 0), scalar(op, count), i64(op, 1), output_type="i64")


def gather_others(op: Builder, node: Node, values: Value, axes: Value, rank: int) -> Value:
    """The entries of `values` (i64 [rank]) whose positions aren't among `axes`, known at run time; their number is."""
    count = size_of_axis(axes, 0)
    if count is None:
        raise Unsupported(node, "how many axes there are is known at run time only")
    gone = axes_mask(op, node, axes, rank)
    left = op.NonZero(op.Equal(gone, i64(op, 0)))
    return op.Gather(values, reshape(op, left, [rank - count]), i64(op, 0))


def axes_mask(op: Builder, node: Node, axes: Value, rank: int) -> Value:
    """1 at the positions that are among `axes`, 0 elsewhere, as i64 [rank]."""
    indices = op.FloorMod(vector(op, convert(op, node, axes, DType.INT64)), i64(op, rank))
    ones = op.Broadcast(i64(op, 1), shape_of(op, indices))
    return op.ScatterElementsUpdate(i64(op, [0] * rank), indices, ones, i64(op, 0))


def saturated(op: Builder, value: Value, most: float) -> Value:
    """A float within [-most, most]; NaN stays NaN."""
    return op.Select(op.IsNaN(value), value, op.Clamp(value, min=-most, max=most))


LARGEST = {DType.FLOAT8E4M3FN: 448.0, DType.FLOAT8E5M2: 57344.0}
"""The largest numbers of the types to which OpenVINO converts without saturation."""
