"""Shapes changed, and parts of tensors at positions that the program states or computes."""

from __future__ import annotations

import numpy as np

from ....passes.build import cast, shape_vector, size_scalar
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.sizes import dims_of, largest, smallest
from ....passes.types import DType, Shape, TensorType
from ..dialect import DOMAIN
from ..infer_tools import axis as axis_of
from ..text.tree import PadDim, SliceDim
from .arrays import WIDE, Array, arange, cast_back, concat, full, moved_in_wide_types
from .index_computation import as_index, grid, within
from .support import Results, shape_of, uniform

_MOST_COUNTED = 4096  # elements of a constant that counts; longer ones are a Range


@rule(DOMAIN, "broadcast")
@moved_in_wide_types
def broadcast(op: Builder, node: Node) -> Results:
    """broadcast: dimension i of the operand becomes dimension `dimensions[i]` of the result."""
    x, result = Array(op, input_of(node, 0)), node.outputs[0].tensor.shape
    assert result is not None
    indices = tuple(node.attributes.get("dimensions", ()))
    x = x.transpose(*sorted(range(len(indices)), key=lambda axis: indices[axis]))
    known = [dim if isinstance(dim, int | str) else 1 for dim in result]  # a dynamic one is the operand's own
    target = list(dims_of(known) or ())
    if any(not isinstance(dim, int | str) and index not in indices for index, dim in enumerate(result)):
        raise Unsupported(node, "it spreads a value to a size that is only known when the model runs")
    one = uniform(x.value())
    if one is not None:
        return Array(op, one).reshape().broadcast_to(*target).value()
    first = min((index for index in indices if result[index] != 1), default=len(result))
    inner = tuple(result[index] if index in indices else 1 for index in range(first, len(result)))
    if target == [1] * first + list(inner):  # nothing is repeated
        return _in_shape(node, x, result).value()
    own = [1 if index in indices else dim for index, dim in enumerate(target)]  # nothing is repeated along its own
    return op.Expand(_in_shape(node, x, inner), shape_vector(op, own), _types=[node.outputs[0].type])


def _in_shape(node: Node, x: Array, shape: Shape) -> Array:
    """`x` in a shape that may have one size that isn't known."""
    whole = dims_of(shape)
    if dims_of(x.value().tensor.shape) is not None and whole is not None:
        return x.reshape(*whole)
    found = x.with_ones(shape)
    if found is not None:
        return found
    if sum(not isinstance(dim, int | str) for dim in shape) > 1 or 0 in shape:
        raise Unsupported(node, "several sizes of its result are only known when the model runs")
    return x.reshape(*(dim if isinstance(dim, int) else -1 for dim in shape))


@rule(DOMAIN, "reshape")
def reshape(op: Builder, node: Node) -> Results:
    """reshape."""
    return _in_shape(node, Array(op, input_of(node, 0)), node.outputs[0].tensor.shape or ()).value()


@rule(DOMAIN, "dynamic-reshape")
def dynamic_reshape(op: Builder, node: Node) -> Results:
    """dynamic-reshape: an operand for the size of each dimension of the result."""
    x, result = input_of(node, 0), node.outputs[0]
    if result.tensor.static_shape is not None:
        return _in_shape(node, Array(op, x), result.tensor.static_shape).value()
    sizes = [
        dim if isinstance(dim, int) else cast(op, input_of(node, 1 + axis), DType.INT64)
        for axis, dim in enumerate(result.tensor.shape or ())
    ]
    return op.Reshape(x, shape_vector(op, sizes), allowzero=1, _types=[result.type])


@rule(DOMAIN, "transpose")
def transpose(op: Builder, node: Node) -> Results:
    """transpose: dimension i of the result is dimension `dimensions[i]` of the operand."""
    return Array(op, input_of(node, 0)).transpose(*node.attributes.get("dimensions", ())).value()


@rule(DOMAIN, "reverse")
@moved_in_wide_types
def reverse(op: Builder, node: Node) -> Results:
    """reverse: a Slice with step -1."""
    x = input_of(node, 0)
    shape = x.tensor.shape or ()
    axes = [axis for axis in node.attributes.get("dimensions", ()) if shape[axis] not in (0, 1)]
    return x if not axes or uniform(x) is not None else Array(op, x).flip(axes).value()


@rule(DOMAIN, "concatenate")
@moved_in_wide_types
def concatenate(op: Builder, node: Node) -> Results:
    """concatenate: operands without elements contribute nothing."""
    (axis,) = node.attributes["dimensions"]
    operands = [input_of(node, index) for index in range(len(node.inputs))]
    full = [value for value in operands if (value.tensor.shape or ())[axis] != 0] or operands[:1]
    return full[0] if len(full) == 1 else op.Concat(*full, axis=axis, _types=[node.outputs[0].type])


@rule(DOMAIN, "iota")
def iota(op: Builder, node: Node) -> Results:
    """iota: 0, 1 ... along one dimension, the same along all others."""
    result = node.outputs[0]
    shape, dtype = shape_of(node, result), dtype_of(node, result)
    axis = node.attributes.get("iota_dimension", 0)
    if 0 in shape:
        return full(op, 0, dtype, shape).value()
    size, wide = shape[axis], WIDE.get(dtype, dtype)
    if isinstance(size, int) and (size <= _MOST_COUNTED or wide is not dtype):
        # float types that end before the count does overflow as a conversion of the integers does
        numbers = np.arange(size).astype(np.float32 if dtype.is_float else np.int64)
        with np.errstate(over="ignore"):
            counts = Array(op, op.const(numbers.astype(dtype.numpy).astype(wide.numpy), wide))
    else:
        counts = arange(op, size)
        counts = (counts.cast(DType.FLOAT32) if dtype.is_float and dtype.bits < 32 else counts).cast(wide)
    counts = counts.along(axis, len(shape)).broadcast_to(*shape)
    return cast_back(op, counts.value(), dtype)


@rule(DOMAIN, "slice")
@moved_in_wide_types
def slice_(op: Builder, node: Node) -> Results:
    """slice: [start:limit:stride] for each dimension."""
    x = Array(op, input_of(node, 0))
    parts: tuple[SliceDim, ...] = node.attributes.get("slice", ())
    steps = [1 if _is_short(part) else part.stride for part in parts]
    return x.slice([part.start for part in parts], [part.limit for part in parts], steps).value()


def _is_short(part: SliceDim) -> bool:
    """Whether a slice certainly takes one element at most, for which a step says nothing."""
    return isinstance(part.start, int) and isinstance(part.limit, int) and part.limit - part.start <= 1


@rule(DOMAIN, "pad")
@moved_in_wide_types
def pad(op: Builder, node: Node) -> Results:
    """pad: elements between the operand's, then before and behind them, of which a negative number is taken away."""
    x, value = Array(op, input_of(node, 0)), Array.of(op, input_of(node, 1))
    shape = shape_of(node, input_of(node, 0))
    parts: tuple[PadDim, ...] = node.attributes.get("padding", ())
    gaps = [part.interior if size not in (0, 1) else 0 for part, size in zip(parts, shape, strict=True)]
    wide = [size + largest(size - 1, 0) * gap if gap else size for size, gap in zip(shape, gaps, strict=True)]
    # in the positions of the widened operand the result is what lies from -low to its size + high
    low = [-part.low for part in parts]
    high = [size + part.high for part, size in zip(parts, wide, strict=True)]
    have = [size * (gap + 1) for size, gap in zip(shape, gaps, strict=True)]  # with a gap behind the last one, too
    starts = [largest(start, 0) for start in low]
    stops = [largest(smallest(end, size), 0) for end, size in zip(high, have, strict=True)]
    fixed = [pair for pair in zip(starts, stops, strict=True) if all(isinstance(end, int) for end in pair)]
    if any(start >= stop for start, stop in fixed) or _same(x, value):
        return value.broadcast_to(*(end - start for start, end in zip(low, high, strict=True))).value()
    # an open size may leave nothing of the operand: then all is before it or behind it
    before = [largest(smallest(end, 0) - start, 0) for start, end in zip(low, high, strict=True)]
    behind = [largest(end - largest(size, start), 0) for start, end, size in zip(low, high, have, strict=True)]
    return x.dilate([gap + 1 for gap in gaps], value).slice(starts, stops).pad(before, behind, value).value()


def _same(x: Array, number: Array) -> bool:
    """Whether all elements of `x` are what it is padded with, to the bit."""
    one = uniform(x.value())
    if one is None or one.data is None or number.array is None:
        return False
    return one.data.numpy().tobytes() == number.array.tobytes()


# at positions that the program computes -----------------------------------------------------------------


def _starts(op: Builder, node: Node, first: int, rank: int) -> list[Value]:
    """The start in each dimension: an operand each, or (as it once was) one vector of all."""
    operands = [input_of(node, index) for index in range(first, len(node.inputs))]
    if len(operands) == 1 and operands[0].rank == 1:
        vector = as_index(op, operands[0])
        return [vector.slice([axis], [axis + 1]).reshape().value() for axis in range(rank)]
    return operands


@rule(DOMAIN, "dynamic-slice")
@moved_in_wide_types
def dynamic_slice(op: Builder, node: Node) -> Results:
    """dynamic-slice: the starts are clamped so that the part lies inside.

    One element of a dimension is a Gather with a scalar, whose dimension is put back; a reshape behind it takes
    it away again.
    """
    x, size = Array(op, input_of(node, 0)), dims_of(node.attributes.get("dynamic_slice_sizes", ())) or ()
    shape = shape_of(node, input_of(node, 0))
    if uniform(x.value()) is not None:
        return x.broadcast_to(*size).value()
    fixed, moving = [0] * len(shape), dict[int, Array]()
    for axis, value in enumerate(_starts(op, node, 1, len(shape))):
        if size[axis] != shape[axis]:
            start = within(op, value, [shape[axis] - size[axis]])
            if start.array is not None:
                fixed[axis] = start.item()
            else:
                moving[axis] = start
    stops = [extent if axis in moving else fixed[axis] + size[axis] for axis, extent in enumerate(shape)]
    x = x.slice(fixed, stops)
    single = [axis for axis in moving if size[axis] == 1]
    rest = [axis for axis in moving if size[axis] != 1]
    for axis in reversed(single):
        x = x.call("Gather", moving[axis], axis=axis)
    if rest:
        axes = [axis - sum(one < axis for one in single) for axis in rest]
        first = concat([moving[axis].reshape(1) for axis in rest], 0)
        kept = tuple(part for axis, part in enumerate(size) if axis not in single)
        last = first.call("Add", shape_vector(op, [size[axis] for axis in rest]))
        x = x.make(op.Slice(x, first, last, op.const(axes), _types=[TensorType(x.dtype, kept)]))
    return x.reshape(*size).value()


@rule(DOMAIN, "dynamic-update-slice")
@moved_in_wide_types
def dynamic_update_slice(op: Builder, node: Node) -> Results:
    """dynamic-update-slice: the starts are clamped so that the update lies inside.

    One dimension behind others is a ScatterElements, leading ones a ScatterND over the indices of their elements.
    """
    x, update = input_of(node, 0), input_of(node, 1)
    shape, size = shape_of(node, x), shape_of(node, update)
    starts = _starts(op, node, 2, len(shape))
    if size == shape or 0 in size:
        return x if 0 in size else update
    axes = [axis for axis, part in enumerate(size) if part != shape[axis]]
    first = {axis: within(op, starts[axis], [shape[axis] - size[axis]]) for axis in axes}
    axis = axes[0]
    if len(axes) == 1 and first[axis].array is not None:
        return _replaced(op, Array(op, x), update, axis, first[axis].item())
    if len(axes) == 1 and axis:
        index = _counted_from(first[axis], size[axis]).along(axis, len(shape)).broadcast_to(*size)
        return op.ScatterElements(x, index, update, axis=axis)
    indices = range(axes[-1] + 1)
    vectors = [_counted_from(first[at], size[at]) if at in first else arange(op, size[at]) for at in indices]
    return op.ScatterND(x, grid(vectors), update)


def _counted_from(start: Array, count: int) -> Array:
    """start, start + 1 ... as a vector."""
    return start.reshape(1) if count == 1 else start + arange(start.op, count)


def _replaced(op: Builder, x: Array, update: Value, axis: int, start: int) -> Value:
    """`x` with `update` at a known position of one dimension."""
    shape, count = x.sizes_known, Array(op, update).sizes_known
    zeros, end = [0] * len(shape), start + count[axis]
    before = x.slice(zeros, [*shape[:axis], start, *shape[axis + 1 :]])
    behind = x.slice([*zeros[:axis], end, *zeros[axis + 1 :]], shape)
    parts = [part for part, size in ((before, start), (update, 1), (behind, shape[axis] - end)) if size != 0]
    return op.Concat(*parts, axis=axis)


# sizes that the program computes ---------------------------------------------------------------------


@rule(DOMAIN, "size")
def size(op: Builder, node: Node) -> Value:
    """size: a scalar that is a function of the inputs' sizes."""
    return cast(op, size_scalar(op, node.attributes["size"]), dtype_of(node, node.output))


@rule(DOMAIN, "get-dimension-size")
def get_dimension_size(op: Builder, node: Node) -> Results:
    """get-dimension-size: s32, the size that a bounded dimension really has."""
    x, dtype = input_of(node, 0), dtype_of(node, node.outputs[0])
    axis = axis_of(node, x.rank or 0)
    size = (x.tensor.shape or ())[axis]
    if isinstance(size, int):
        return op.const(size, dtype)
    return cast(op, op.Squeeze(op.Shape(x, start=axis, end=axis + 1), op.const([0])), dtype)


@rule(DOMAIN, "set-dimension-size")
@moved_in_wide_types
def set_dimension_size(op: Builder, node: Node) -> Results:
    """set-dimension-size: the first `size` elements of a dimension are its elements from here on."""
    x, size = input_of(node, 0), as_index(op, input_of(node, 1))
    axis = axis_of(node, x.rank or 0)
    if size.array is not None and (x.tensor.shape or ())[axis] == size.item():
        return x
    return op.Slice(x, op.const([0]), size.reshape(1), op.const([axis]), _types=[node.outputs[0].type])


RULES = collect(globals())
