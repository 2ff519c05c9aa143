"""Pooling over windows, over everything, over regions; and MaxUnpool."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ...passes.windows import Windows
from .base import Array, Attributes, Kernel, is_float, to_ints, widened
from .shape import padded
from .windows import coverage, largest, patches


def _kernel_axes(view: Windows) -> tuple[int, ...]:
    return tuple(range(-len(view.kernel), 0))


def _least(dtype: np.dtype[Any]) -> Any:
    return -np.inf if is_float(dtype) else ml_dtypes.iinfo(dtype).min


def max_pool(attrs: Attributes, x: Array) -> Any:
    """The largest element each window sees and, if wanted, where the first such one stands in the whole of `x`."""
    view = attrs.windows(x.shape[2:], tuple(attrs.ints("kernel_shape")))
    top = largest(x, view, _least(x.dtype))
    if attrs.outputs < 2:
        return top
    return top, _max_indices(patches(x, view, _least(x.dtype)), top, view, attrs.flag("storage_order"))


def _max_indices(seen: Array, top: Array, view: Windows, column_major: bool) -> Array:
    rank = len(view.kernel)
    goal = top.reshape(top.shape + (1,) * rank)
    hit = ((seen == goal) | ((seen != seen) & (goal != goal))) & coverage(view, padding=False)
    inside = np.unravel_index(np.argmax(hit.reshape(*top.shape, math.prod(view.kernel)), axis=-1), view.kernel)
    index = np.zeros(top.shape, np.int64)
    order = range(rank - 1, -1, -1) if column_major else range(rank)
    for axis in order:
        start = np.arange(view.output[axis]) * view.strides[axis] - view.before[axis]
        start = start.reshape((-1,) + (1,) * (rank - axis - 1))
        index = index * view.spatial[axis] + start + inside[axis] * view.dilations[axis]
    planes = np.arange(top.shape[0] * top.shape[1]).reshape(*top.shape[:2], *(1,) * rank)
    return index + planes * math.prod(view.spatial)


def average_pool(attrs: Attributes, x: Array) -> Array:
    """The mean of what each window sees; the padding counts (as zero) with `count_include_pad` only."""
    view = attrs.windows(x.shape[2:], tuple(attrs.ints("kernel_shape")))
    axes = _kernel_axes(view)
    wide = widened(x)
    total = np.sum(patches(wide, view), axis=axes)
    count = np.sum(coverage(view, padding=attrs.flag("count_include_pad")), axis=axes)
    return (total / count.astype(wide.dtype)).astype(x.dtype, copy=False)


def _norm(x: Array, p: float, axes: tuple[int, ...], keep: bool = False) -> Array:
    return np.power(np.sum(np.power(np.abs(x), p), axis=axes, keepdims=keep), 1.0 / p)


def lp_pool(attrs: Attributes, x: Array) -> Array:
    view = attrs.windows(x.shape[2:], tuple(attrs.ints("kernel_shape")))
    return _norm(patches(widened(x), view), attrs.float("p"), _kernel_axes(view)).astype(x.dtype, copy=False)


def _spatial(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def global_average_pool(_: Attributes, x: Array) -> Array:
    return np.mean(widened(x), axis=_spatial(x), keepdims=True).astype(x.dtype, copy=False)


def global_max_pool(_: Attributes, x: Array) -> Array:
    return np.max(x, axis=_spatial(x), keepdims=True)


def global_lp_pool(attrs: Attributes, x: Array) -> Array:
    return _norm(widened(x), attrs.float("p"), _spatial(x), keep=True).astype(x.dtype, copy=False)


def max_unpool(attrs: Attributes, x: Array, indices: Array, output_shape: Array | None = None) -> Array:
    """Elements back at their indices in the shape that the attributes give; `output_shape` adds zeros to that."""
    kernel = attrs.ints("kernel_shape")
    rank = len(kernel)
    strides, pads = attrs.ints("strides", (1,) * rank), attrs.ints("pads", (0,) * (2 * rank))
    spatial = [
        (size - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + rank]
        for axis, size in enumerate(x.shape[2:])
    ]
    result = np.zeros((*x.shape[:2], *spatial), x.dtype)
    if ((indices < 0) | (indices >= result.size)).any():
        raise ValueError(f"an index outside of 0 to {result.size - 1}")
    result.reshape(-1)[indices.reshape(-1)] = x.reshape(-1)
    if output_shape is None:
        return result
    wanted = to_ints(output_shape)
    if len(wanted) != result.ndim or any(size < have for size, have in zip(wanted, result.shape, strict=False)):
        raise ValueError(f"output_shape {list(wanted)} holds no {list(result.shape)}")
    return padded(result, [(0, size - have) for size, have in zip(wanted, result.shape, strict=True)], "constant")


def max_roi_pool(attrs: Attributes, x: Array, rois: Array) -> Array:
    """The maximum over each cell of a grid laid over each region (batch, x1, y1, x2, y2); 0 for an empty cell."""
    height, width = attrs.ints("pooled_shape")
    result = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    for number, roi in enumerate(widened(rois)):
        corners = np.floor(roi[1:] * attrs.float("spatial_scale") + 0.5).astype(np.int64)
        left, top, right, bottom = corners.tolist()
        rows = _cells(top, max(bottom - top + 1, 1), height, x.shape[2])
        columns = _cells(left, max(right - left + 1, 1), width, x.shape[3])
        for i, (r0, r1) in enumerate(rows):
            for j, (c0, c1) in enumerate(columns):
                if r1 > r0 and c1 > c0:
                    result[number, :, i, j] = x[int(roi[0]), :, r0:r1, c0:c1].max(axis=(1, 2))
    return result


def _cells(start: int, length: int, count: int, limit: int) -> list[tuple[int, int]]:
    size = length / count
    return [
        (
            min(max(math.floor(cell * size) + start, 0), limit),
            min(max(math.ceil((cell + 1) * size) + start, 0), limit),
        )
        for cell in range(count)
    ]


TABLE: dict[str, Kernel] = {
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "LpPool": lp_pool,
    "GlobalMaxPool": global_max_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalLpPool": global_lp_pool,
    "MaxUnpool": max_unpool,
    "MaxRoiPool": max_roi_pool,
}
