"""Linear quantization."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ...passes.quantization import dequantizes_by_zero_point, quantizes_by_zero_point
from ...passes.types import DType
from .base import Array, Attributes, Kernel, expect_shape, is_float, normal_axis, single_or_wider
from .cast import convert


def saturate(values: Array, dtype: np.dtype[Any]) -> Array:
    """Whole numbers held as floats, clipped to the range of an integer type."""
    info = ml_dtypes.iinfo(dtype)
    return np.clip(values, float(info.min), float(info.max)).astype(dtype)


def quantized(attrs: Attributes, ratio: Array, zero: Array | None, dtype: np.dtype[Any]) -> Array:
    """Numbers in steps as an integer type: rounded to whole ones, moved by the zero point, saturated."""
    info = ml_dtypes.iinfo(dtype)
    offset = np.zeros((), np.float64) if zero is None else zero.astype(np.float64)
    whole = attrs.whole(ratio, zero=offset, low=float(info.min) - offset, high=float(info.max) - offset)
    return saturate((whole + offset).astype(np.float64), dtype)


def broadcast_scale(value: Array, shape: tuple[int, ...], axis: int, block: int) -> Array:
    """A scale or zero point ready to broadcast: one for all, one per place on `axis`, or per block of it."""
    if value.size == 1:
        return value.reshape(())
    axis = 0 if len(shape) == 1 else normal_axis(axis, len(shape))
    if value.ndim == 1 and not block:
        expect_shape("a scale or zero point", value, (shape[axis],))
        return value.reshape((-1,) + (1,) * (len(shape) - axis - 1))
    if not block:
        block = -(-shape[axis] // value.shape[axis])
    blocks = -(-shape[axis] // block)
    expect_shape(f"a scale or zero point in blocks of {block}", value, (*shape[:axis], blocks, *shape[axis + 1 :]))
    return np.repeat(value, block, axis=axis)[(slice(None),) * axis + (slice(shape[axis]),)]


def _expect_alike(scale: Array, zero: Array | None) -> None:
    """Refuse a zero point that isn't one for each scale, which one alone isn't for many either."""
    if zero is not None and not zero.size == scale.size == 1:
        expect_shape("a zero point", zero, scale.shape)


def quantize(attrs: Attributes, x: Array, scale: Array, zero: Array | None = None) -> Array:
    """round(x / scale) + zero, saturated. The division is done in `precision`, by default the scale's type."""
    to = DType.of(zero.dtype) if zero is not None else attrs.dtype("output_dtype", DType.UINT8)
    axis, block = attrs.int("axis", 1), attrs.int("block_size", 0)
    _expect_alike(scale, zero)
    work = attrs.precision("precision", scale.dtype)
    work = work if is_float(work) and work.itemsize > 1 else np.dtype(np.float32)
    steps = broadcast_scale(scale.astype(work), x.shape, axis, block)
    ratio = attrs.computed(x.astype(work) / steps, 2.0, steps)
    offset = None if zero is None or not quantizes_by_zero_point(to) else broadcast_scale(zero, x.shape, axis, block)
    if to.is_float:
        moved = ratio if offset is None else ratio + offset.astype(ratio.dtype)
        return convert(moved.astype(np.float64), to, attrs.int("saturate", 1) != 0)
    return quantized(attrs, ratio, offset, to.numpy)


def dequantize(attrs: Attributes, x: Array, scale: Array, zero: Array | None = None) -> Array:
    """(x - zero) * scale in float32, rounded to `output_dtype`, by default the scale's type."""
    axis, block = attrs.int("axis", 1), attrs.int("block_size", 0)
    _expect_alike(scale, zero)
    to = attrs.precision("output_dtype", scale.dtype)
    kind = DType.of(x.dtype)
    if zero is None or not dequantizes_by_zero_point(kind):
        if zero is not None and kind.bits == 8 and zero.astype(np.float32).any():
            raise ValueError("a zero point of 8-bit floats that isn't 0")
        moved = x.astype(attrs.single)
    else:
        moved = x.astype(np.int64) - broadcast_scale(zero, x.shape, axis, block).astype(np.int64)
        moved = moved.astype(attrs.single)
    work = single_or_wider(to)
    return (moved.astype(work) * broadcast_scale(scale, x.shape, axis, block).astype(work)).astype(to)


def dynamic_quantize(attrs: Attributes, x: Array) -> tuple[Array, Array, Array]:
    """uint8 over the range of `x` widened to include 0: values, scale, zero point; of zeros the scale is 1."""
    single = attrs.single.type
    low, high = single(np.min(x, initial=0)), single(np.max(x, initial=0))
    scale = attrs.computed(np.asarray(single(1) if high == low else (high - low) / single(255)), 2.0)
    zero = attrs.whole(attrs.computed(np.asarray(np.clip(-low / scale, 0, 255)), 2.0), part=" zero point")
    values = quantized(attrs, attrs.computed(x / scale, 2.0, scale), zero, np.dtype(np.uint8))
    return values, np.asarray(scale), np.asarray(zero, np.uint8)


TABLE: dict[str, Kernel] = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic_quantize,
}
