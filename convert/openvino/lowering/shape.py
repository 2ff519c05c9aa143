"""Hub -> OpenVINO: shapes, and what moves elements about without looking at them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.constants import constant_node_data
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule, view
from ....passes.tensor import TensorData
from ....passes.types import HALVES, DType
from .functions import narrower
from .large_integers import chosen, is_rounded
from .tools import (
    concat,
    convert,
    element_type,
    gather_others,
    i32,
    i64,
    ints,
    number,
    range_of,
    scalar,
    shape_of,
    slice_axis,
    transpose,
)

_LAST = np.iinfo(np.int64).max


# shapes ------------------------------------------------------------------------------------------


@rule("", "Shape")
def shape(op: Builder, node: Node) -> Value:
    data = required(node, 0)
    start, end = node.attributes.get("start", 0), node.attributes.get("end", _LAST)
    static = data.tensor.static_shape
    if static is not None:
        return i64(op, list(static[start:end]))
    whole = op.ShapeOf(data)
    return whole if (start, end) == (0, _LAST) else slice_axis(op, whole, start, end)


@rule("", "Reshape")
def reshape(op: Builder, node: Node) -> Value:
    if ints(node.input(1)) == []:
        return _to_scalar(op, required(node, 0))
    return op.Reshape(required(node, 0), _sizes(node, 1), special_zero=not flag(node, "allowzero"))


def _sizes(node: Node, index: int) -> Value:
    """An input that has the sizes of the result; how many there are must be known, the CPU has no dynamic ranks."""
    sizes = required(node, index)
    if sizes.producer is None and size_of_axis(sizes, 0) is None:
        raise Unsupported(node, "how many axes it makes is known at run time only")
    return sizes


def _to_scalar(op: Builder, data: Value) -> Value:
    """In two steps: OpenVINO's CPU dies of a product that is reshaped to a scalar."""
    return data if data.rank == 0 else op.Squeeze(op.Reshape(data, i64(op, [1])), i64(op, [0]))


@rule("", "Squeeze")
def squeeze(op: Builder, node: Node) -> Value:
    """Without axes all of size 1 go: OpenVINO's CPU must know beforehand how many these are."""
    data, axes = required(node, 0), node.input(1)
    if axes is None:
        sizes = data.tensor.shape
        if sizes is None or not all(isinstance(size, int) for size in sizes):
            return _squeezed_to_rank(op, node, data)
        axes = i64(op, [axis for axis, size in enumerate(sizes) if size == 1])
    if axes is not None and ints(axes) == []:
        return data
    if axes is not None and axes.data is None:
        return op.Reshape(data, gather_others(op, node, shape_of(op, data), axes, rank_of(node, data)))
    return op.Squeeze(data, axes)


def _squeezed_to_rank(op: Builder, node: Node, data: Value) -> Value:
    """All open sizes are 1 by the rank of what is left; where they turn out to be others the run fails."""
    sizes = data.tensor.shape
    left = [size for size in sizes or () if isinstance(size, int) and size != 1]
    if sizes is None or node.output.rank != len(left) or 0 in left:
        raise Unsupported(node, f"which axes of {data.tensor} have size 1 is known at run time only")
    op.rewriter.notes.append(
        f"{node.output.name!r}: the open sizes of {data.tensor} are taken for 1, since {len(left)} axes are left by "
        "the ranks that the model declares; a run with others fails, which OpenVINO doesn't tell with one thread"
    )
    return op.Reshape(data, i64(op, left)) if left else _to_scalar(op, data)


@rule("", "Unsqueeze")
def unsqueeze(op: Builder, node: Node) -> Value | Sequence[Value]:
    """Of axes known at run time only it is the Reshape that opset 12 makes of it."""
    data, axes = required(node, 0), required(node, 1)
    if ints(axes) == []:
        return data
    if axes.data is not None:
        return op.Unsqueeze(data, axes)
    if size_of_axis(axes, 0) is None:
        raise Unsupported(node, "how many axes are new is known at run time only")
    return narrower(op, node, 12)


@rule("", "Transpose")
def transpose_(op: Builder, node: Node) -> Value:
    data = required(node, 0)
    order = node.attributes.get("perm")
    if order is None:
        order = range(rank_of(node, data))[::-1]
    return transpose(op, data, list(order))


@rule("", "Expand")
def expand(op: Builder, node: Node) -> Value:
    data, sizes = required(node, 0), _sizes(node, 1)
    if size_of_axis(sizes, 0) == 0:  # OpenVINO's CPU dies of a scalar broadcast to no axes
        return data
    return op.Broadcast(data, sizes, mode="bidirectional")


@rule("", "Tile")
def tile(op: Builder, node: Node) -> Value | Sequence[Value] | None:
    """None, so that Expand does it, where OpenVINO's Tile is wrong: by repeats that are computed it writes beside its
    memory, and images of one channel of which another size is open it repeats in a layout that they don't have."""
    data, repeats = required(node, 0), required(node, 1)
    rank = rank_of(node, data)
    if not rank:  # a number for each of no axes
        return data
    if size_of_axis(repeats, 0) is None:
        return op.apply(view(node, [data, op.Reshape(repeats, i64(op, [rank]), special_zero=False)]))
    has_one_channel = rank in (4, 5) and size_of_axis(data, 1) == 1 and data.tensor.static_shape is None
    return None if repeats.data is None or has_one_channel else op.Tile(data, repeats)


@rule("", "Constant")
def constant(op: Builder, node: Node) -> Value:
    data = constant_node_data(node)
    if data is None:
        raise Unsupported(node, "a constant that isn't a dense tensor")
    return op.const(data)


@rule("", "ConstantOfShape")
def constant_of_shape(op: Builder, node: Node) -> Value:
    target = _sizes(node, 0)
    value = node.attributes.get("value")
    if value is None:
        value = TensorData.of(np.zeros(1, np.float32))
    fill = op.const(TensorData(value.dtype, (), np.asarray(value.numpy()).reshape(())))
    known = ints(target)
    if known is not None and math.prod(known) <= 64:
        filled = np.full(known, fill.data.numpy() if fill.data else 0, value.dtype.numpy)
        return op.const(TensorData(value.dtype, tuple(known), filled))
    return op.Broadcast(fill, target)


@rule("", "Range")
def range_(op: Builder, node: Node) -> Value:
    start, limit, step = (scalar(op, required(node, index)) for index in range(3))
    dtype = dtype_of(node, start)
    if dtype in HALVES:
        start, limit, step = (convert(op, node, value, DType.FLOAT32) for value in (start, limit, step))
        made = op.Range(start, _ahead(op, start, limit, step), step, output_type="f32")
        return convert(op, node, made, dtype)
    return op.Range(start, _ahead(op, start, limit, step), step, output_type=element_type(node, dtype))


def _ahead(op: Builder, start: Value, limit: Value, step: Value) -> Value:
    """The limit, or the start where the step leads away from the limit: OpenVINO's CPU counts as if it led there."""
    if step.data is None:
        forwards = op.Greater(step, op.ConvertLike(i64(op, 0), step))
        return op.Select(forwards, op.Maximum(start, limit), op.Minimum(start, limit))
    ahead = step.data.numpy() > 0
    if start.data is None or limit.data is None:
        return op.Maximum(start, limit) if ahead else op.Minimum(start, limit)
    return limit if (limit.data.numpy() > start.data.numpy()) == ahead else start


@rule("", "NonZero")
def non_zero(op: Builder, node: Node) -> Value:
    """[rank, N]; of a scalar [0, N], of which OpenVINO makes [1, N]."""
    x = required(node, 0)
    return op.NonZero(x) if x.rank != 0 else slice_axis(op, op.NonZero(op.Reshape(x, i64(op, [1]))), 0, 0)


# putting together and taking apart ---------------------------------------------------------------


@rule("", "Concat")
def concat_(op: Builder, node: Node) -> Value:
    values = [value for value in node.inputs if value is not None]
    return concat(op, values, node.attributes["axis"])


@rule("", "Split")
def split(op: Builder, node: Node) -> list[Value] | None:
    """VariadicSplit where the sizes are constant; None otherwise, where it is a Slice for each part."""
    data, sizes = required(node, 0), node.input(1)
    count = len(node.outputs)
    axis = axis_of(node, node.attributes.get("axis", 0), rank_of(node, data))
    length = size_of_axis(data, axis)
    known = ints(sizes)
    if sizes is None and length is not None and length % count == 0 and length:
        made = op.Split(data, i64(op, axis), num_splits=count, _outputs=count)
        return [made] if count == 1 else list(made)
    if sizes is None and length is not None:
        part = -(-length // count)
        known = [max(min(part, length - part * index), 0) for index in range(count)]
    if known is not None:
        made = op.VariadicSplit(data, i64(op, axis), i64(op, known), _outputs=count)
        return [made] if count == 1 else list(made)
    return None


@rule("", "Slice")
def slice_(op: Builder, node: Node) -> Value:
    data, starts, ends, axes, steps = (node.input(index) for index in range(5))
    assert data is not None and starts is not None and ends is not None
    starts, ends = convert(op, node, starts, DType.INT64), convert(op, node, ends, DType.INT64)
    if axes is None:
        count = size_of_axis(starts, 0)
        axes = range_of(op, shape_of(op, starts)) if count is None else i64(op, list(range(count)))
    if steps is None:
        steps = op.Broadcast(i64(op, 1), shape_of(op, starts))
        count = size_of_axis(starts, 0)
        steps = steps if count is None else i64(op, [1] * count)
    steps, axes = convert(op, node, steps, DType.INT64), convert(op, node, axes, DType.INT64)
    known = ints(steps)
    if known is not None:  # OpenVINO's CPU dies of one below those of int32, or reads beyond the data
        steps = i64(op, np.clip(known, 1 - 2**31, 2**31 - 1).tolist())
    if axes.data is None:  # OpenVINO's CPU dies of computed axes of a known shape: each axis has its bounds
        rank = rank_of(node, data)
        every = [i64(op, [value] * rank) for value in (0, 2**31 - 1, 1)]
        starts, ends, steps = (
            op.ScatterElementsUpdate(whole, axes, given, i64(op, 0))
            for whole, given in zip(every, (starts, ends, steps), strict=True)
        )
        axes = i64(op, list(range(rank)))
    return op.Slice(data, starts, ends, steps, axes)


@rule("", "Pad")
def pad(op: Builder, node: Node) -> Value | Sequence[Value]:
    """Of all axes, not wrapping round, as under opset 17."""
    data, pads, fill, axes = (node.input(index) for index in range(4))
    assert data is not None and pads is not None
    mode = node.attributes.get("mode", "constant")
    if axes is not None or mode == "wrap":
        return narrower(op, node, 17)
    if mode not in ("constant", "reflect", "edge"):
        raise Unsupported(node, f"mode={mode!r} isn't supported by OpenVINO")
    pads, rank = convert(op, node, pads, DType.INT64), rank_of(node, data)
    known = ints(pads)
    begins, ends = (
        slice_axis(op, pads, start, start + rank) if known is None else i64(op, known[start : start + rank])
        for start in (0, rank)
    )
    if mode != "constant":
        return op.Pad(data, begins, ends, None, pad_mode=mode)
    if known is not None and _leaves_enough(data, known):
        return _surrounded(op, node, data, begins, ends, fill)
    zero, ones = i64(op, 0), i64(op, [1] * rank)
    before, after = op.Maximum(begins, zero), op.Maximum(ends, zero)
    starts = op.Maximum(op.Subtract(zero, begins), zero)
    stops = op.Add(op.Add(shape_of(op, data), before), ends)
    return op.Slice(_surrounded(op, node, data, before, after, fill), starts, stops, ones, i64(op, list(range(rank))))


def _leaves_enough(data: Value, pads: list[int]) -> bool:
    """Whether no axis loses more elements than it has: OpenVINO's CPU plugin then writes beyond its memory."""
    rank = len(pads) // 2
    shape = data.tensor.shape or (0,) * rank
    pairs = zip(shape, pads[:rank], pads[rank:], strict=True)
    return all(
        min(before, after) >= 0 or (isinstance(size, int) and size + min(before, 0) + min(after, 0) >= 0)
        for size, before, after in pairs
    )


def _surrounded(op: Builder, node: Node, data: Value, begins: Value, ends: Value, fill: Value | None) -> Value:
    """With a number around it."""
    if fill is not None and (fill.array() is None or is_rounded(op, fill)):
        return _filled(op, node, data, begins, ends, scalar(op, fill))
    value = number(op, node, 0, data) if fill is None else scalar(op, fill)
    return op.Pad(data, begins, ends, value, pad_mode="constant")


def _filled(op: Builder, node: Node, data: Value, begins: Value, ends: Value, fill: Value) -> Value:
    """Padded with what is computed, for which OpenVINO's CPU plugin puts 0, or with a large integer, for which it puts
    the float32: chosen where no element is."""
    one, zero = i32(op, 1), i32(op, 0)
    inside = op.Pad(op.Broadcast(one, shape_of(op, data)), begins, ends, zero)
    padded = op.Pad(data, begins, ends, number(op, node, 0, data))
    return chosen(op, convert(op, node, inside, DType.BOOL), padded, fill)


RULES = collect(globals())
