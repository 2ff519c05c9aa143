"""Operators that move, join, cut and repeat elements without looking at them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...passes.slices import python_start
from .base import Array, Attributes, Kernel, element, filled, normal_axes, normal_axis, scalar, to_ints


def target_shape(x: Array, wanted: list[int], allow_zero: bool) -> list[int]:
    """Reshape's shape with its 0 (copy, unless `allow_zero`) and -1 (infer) put in numbers."""
    shape = list(wanted)
    if any(size < -1 for size in shape) or shape.count(-1) > 1 or (allow_zero and 0 in shape and -1 in shape):
        raise ValueError(f"shape {wanted} isn't allowed")
    for axis, size in enumerate(shape):
        if size == 0 and not allow_zero:
            if axis >= x.ndim:
                raise ValueError(f"shape {wanted} copies dimension {axis} of a tensor of rank {x.ndim}")
            shape[axis] = x.shape[axis]
    if -1 in shape:
        rest = math.prod(size for size in shape if size != -1)
        shape[shape.index(-1)] = x.size // rest if rest else 0
    if math.prod(shape) != x.size:
        raise ValueError(f"{list(x.shape)} can't be reshaped to {wanted}")
    return shape


def reshape(attrs: Attributes, x: Array, shape: Array | None = None) -> Array:
    """The shape is the second input (an attribute before version 5)."""
    wanted = attrs.ints("shape") if shape is None else to_ints(shape)
    return x.reshape(target_shape(x, wanted, attrs.flag("allowzero")))


def flatten(attrs: Attributes, x: Array) -> Array:
    axis = attrs.int("axis")
    axis = axis if axis == x.ndim else normal_axis(axis, x.ndim)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def _axes(attrs: Attributes, axes: Array | None) -> list[int] | None:
    """Axes from the input or, in older versions, the attribute."""
    if axes is not None:
        return to_ints(axes)
    return attrs.ints("axes") if attrs.has("axes") else None


def squeeze(attrs: Attributes, x: Array, axes: Array | None = None) -> Array:
    """Without axes every dimension of size 1 goes."""
    chosen = _axes(attrs, axes)
    return np.squeeze(x) if chosen is None else np.squeeze(x, normal_axes(chosen, x.ndim))


def unsqueeze(attrs: Attributes, x: Array, axes: Array | None = None) -> Array:
    """Axes count in the result."""
    chosen = _axes(attrs, axes) or []
    return np.expand_dims(x, normal_axes(chosen, x.ndim + len(chosen)))


def transpose(attrs: Attributes, x: Array) -> Array:
    return np.transpose(x, attrs.ints("perm") if attrs.has("perm") else None)


def concat(attrs: Attributes, *inputs: Array) -> Array:
    return np.concatenate(inputs, axis=normal_axis(attrs.int("axis", 1), inputs[0].ndim))


def cut(x: Array, sizes: list[int], axis: int) -> list[Array]:
    """Consecutive parts of the given sizes along an axis, which they must fill."""
    if any(size < 0 for size in sizes) or sum(sizes) != x.shape[axis]:
        raise ValueError(f"parts {sizes} don't fill an axis of {x.shape[axis]}")
    ends = np.cumsum(sizes).tolist()
    before = (slice(None),) * axis
    return [x[(*before, slice(end - size, end))] for size, end in zip(sizes, ends, strict=True)]


def split(attrs: Attributes, x: Array, sizes: Array | None = None) -> tuple[Array, ...]:
    """Sizes are the second input or an attribute; without them equal parts, the last one smaller since version 18."""
    axis = normal_axis(attrs.int("axis", 0), x.ndim)
    if sizes is not None:
        parts = to_ints(sizes)
        if len(parts) != attrs.outputs:
            raise ValueError(f"{len(parts)} parts for {attrs.outputs} outputs")
    elif attrs.has("split"):
        parts = attrs.ints("split")
    else:
        count, length = attrs.int("num_outputs", attrs.outputs), x.shape[axis]
        if attrs.version < 18 and length % count:
            raise ValueError(f"an axis of {length} has no {count} equal parts")
        size = -(-length // count)
        parts = [min(size, max(length - index * size, 0)) for index in range(count)]
    return tuple(cut(x, parts, axis))


def slice_(
    attrs: Attributes,
    x: Array,
    starts: Array | None = None,
    ends: Array | None = None,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    """Python's slices, but for early starts. Before version 10 starts, ends and axes are attributes."""
    first = attrs.ints("starts") if starts is None else to_ints(starts)
    last = attrs.ints("ends") if ends is None else to_ints(ends)
    chosen = normal_axes(_axes(attrs, axes) or range(len(first)), x.ndim)
    stride = [1] * len(first) if steps is None else to_ints(steps)
    index: list[Any] = [slice(None)] * x.ndim
    for axis, begin, end, step in zip(chosen, first, last, stride, strict=True):
        index[axis] = slice(python_start(begin, step, x.shape[axis]), end, step)
    return x[tuple(index)]


def padded(x: Array, pads: list[tuple[int, int]], mode: str, value: Any = None) -> Array:
    """`x` with (before, after) elements more along each axis; negative numbers take away.

    In mode "constant" more may be taken away than there is, if as much is added at the other end: `value` stands on
    both sides as far as one likes. In other modes that is an error.
    """
    if mode == "constant":
        shape = [a + size + b for (a, b), size in zip(pads, x.shape, strict=True)]
        if min(shape, default=0) < 0:
            raise ValueError(f"sizes {list(x.shape)} can't be padded by {pads}")
        result = filled(shape, x.dtype, value)
        ranges = [(max(-a, 0), size - max(-b, 0)) for (a, b), size in zip(pads, x.shape, strict=True)]
        if all(first < end for first, end in ranges):
            places = tuple(slice(a + first, a + end) for (a, _), (first, end) in zip(pads, ranges, strict=True))
            result[places] = x[tuple(slice(*each) for each in ranges)]
        return result
    x = x[tuple(slice(max(-a, 0), size - max(-b, 0)) for (a, b), size in zip(pads, x.shape, strict=True))]
    pads = [(max(a, 0), max(b, 0)) for a, b in pads]
    for axis, (before, after) in enumerate(pads):
        if before or after:
            x = np.take(x, _sources(x.shape[axis], before, after, mode), axis=axis)
    return x


def _sources(size: int, before: int, after: int, mode: str) -> Array:
    """Which element stands at each place of a padded axis."""
    if size == 0:
        raise ValueError(f"an empty axis can't be padded in mode {mode!r}")
    places = np.arange(-before, size + after)
    if mode == "edge":
        return np.clip(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    if mode != "reflect":
        raise ValueError(f"unknown mode {mode!r}")
    turn = max(2 * size - 2, 1)
    places = places % turn
    return np.minimum(places, turn - places) if size > 1 else np.zeros_like(places)


def pad(
    attrs: Attributes, x: Array, pads: Array | None = None, value: Array | None = None, axes: Array | None = None
) -> Array:
    """Before version 11 pads (`paddings` in version 1) and value are attributes."""
    if pads is None:
        amounts = attrs.ints("pads" if attrs.has("pads") else "paddings")
        fill = attrs.float("value")
    else:
        amounts = to_ints(pads)
        fill = None if value is None or value.size == 0 else element(value)
    chosen = normal_axes(range(x.ndim) if axes is None else to_ints(axes), x.ndim)
    if len(amounts) != 2 * len(chosen):
        raise ValueError(f"{len(amounts)} pads for {len(chosen)} axes")
    pairs = [(0, 0)] * x.ndim
    for index, axis in enumerate(chosen):
        pairs[axis] = (amounts[index], amounts[index + len(chosen)])
    return padded(x, pairs, attrs.string("mode"), fill)


def center_crop_pad(attrs: Attributes, x: Array, shape: Array) -> Array:
    wanted = to_ints(shape)
    axes = normal_axes(attrs.ints("axes", range(x.ndim)), x.ndim)
    pairs = [(0, 0)] * x.ndim
    for axis, size in zip(axes, wanted, strict=True):
        missing = max(size, 0) - x.shape[axis]  # less than nothing is nothing, as in ONNX Runtime
        before = missing // 2 if missing > 0 else -(-missing // 2)
        pairs[axis] = (before, missing - before)
    return padded(x, pairs, "constant")


def expand(_: Attributes, x: Array, shape: Array) -> Array:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(to_ints(shape))))


def tile(attrs: Attributes, x: Array, repeats: Array, axis: Array | None = None) -> Array:
    """Version 1 repeats along one axis, which is its third input."""
    counts = to_ints(repeats)
    if attrs.version < 6 and axis is not None:
        along = normal_axis(int(scalar(axis)), x.ndim)
        counts = [int(scalar(repeats)) if index == along else 1 for index in range(x.ndim)]
    if len(counts) != x.ndim:
        raise ValueError(f"{len(counts)} repeats for rank {x.ndim}")
    return np.tile(x, counts)


def shape_of(attrs: Attributes, x: Array) -> Array:
    """The dimensions from `start` on, before `end`, both clamped."""
    end = attrs.int("end") if attrs.has("end") else None
    return np.array(x.shape[attrs.int("start", 0) : end], np.int64)


def size_of(_: Attributes, x: Array) -> Array:
    return np.array(x.size, np.int64)


_TO_SPACE = {"DCR": ((1, 2, 0), (0, 3, 4, 1, 5, 2)), "CRD": ((0, 1, 2), (0, 1, 4, 2, 5, 3))}
_TO_DEPTH = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}


def depth_to_space(attrs: Attributes, x: Array) -> Array:
    n, c, h, w = x.shape
    block = attrs.int("blocksize")
    order, permutation = _TO_SPACE[attrs.string("mode", "DCR")]
    sizes = (c // (block * block), block, block)
    blocks = x.reshape(n, *(sizes[index] for index in order), h, w)
    return blocks.transpose(permutation).reshape(n, sizes[0], h * block, w * block)


def space_to_depth(attrs: Attributes, x: Array) -> Array:
    n, c, h, w = x.shape
    block = attrs.int("blocksize")
    blocks = x.reshape(n, c, h // block, block, w // block, block).transpose(_TO_DEPTH[attrs.string("mode", "DCR")])
    return blocks.reshape(n, c * block * block, h // block, w // block)


def triangle(attrs: Attributes, x: Array, k: Array | None = None) -> Array:
    if x.ndim < 2:
        raise ValueError("needs at least two axes")
    diagonal = 0 if k is None else int(scalar(k))
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    kept = columns - rows >= diagonal if attrs.flag("upper") else columns - rows <= diagonal
    return np.where(kept, x, filled((), x.dtype))


def reverse_sequence(attrs: Attributes, x: Array, lengths: Array) -> Array:
    """Along `time_axis`, the first `lengths[b]` elements of each batch entry turned round."""
    batch, time = attrs.int("batch_axis"), attrs.int("time_axis")
    batch, time = normal_axis(batch, x.ndim), normal_axis(time, x.ndim)
    if lengths.size and not 0 <= lengths.min() <= lengths.max() <= x.shape[time]:
        raise ValueError(f"lengths of {lengths.min()} to {lengths.max()} for {x.shape[time]} steps")
    steps = np.arange(x.shape[time])
    sources = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)
    index = sources if batch < time else sources.T
    shape = [1] * x.ndim
    shape[batch], shape[time] = x.shape[batch], x.shape[time]
    return np.take_along_axis(x, index.reshape(shape), axis=time)


TABLE: dict[str, Kernel] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Pad": pad,
    "CenterCropPad": center_crop_pad,
    "Expand": expand,
    "Tile": tile,
    "Shape": shape_of,
    "Size": size_of,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Trilu": triangle,
    "ReverseSequence": reverse_sequence,
}
