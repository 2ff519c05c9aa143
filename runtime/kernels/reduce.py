"""Reductions over axes, ArgMax and ArgMin, cumulative sums and products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from .base import (
    Array,
    Attributes,
    Kernel,
    is_float,
    is_small_float,
    normal_axes,
    normal_axis,
    scalar,
    to_ints,
    widened,
)

Reduction = Callable[[Array, tuple[int, ...], bool], Any]


def reduction(function: Reduction, wide: bool = True) -> Kernel:
    """A kernel from `function(x, axes, keepdims)`; `wide`: 16-bit floats in float32, rounded once at the end.

    Axes are an attribute or the second input, whichever the version has; none given means all of
    them, or none of them when `noop_with_empty_axes` is set.
    """

    def kernel(attrs: Attributes, x: Array, axes: Array | None = None) -> Array:
        chosen = to_ints(axes) if axes is not None else attrs.ints("axes", ())
        if chosen:
            over = normal_axes(chosen, x.ndim)
        else:
            over = () if attrs.flag("noop_with_empty_axes") else tuple(range(x.ndim))
        keep = attrs.int("keepdims", 1) != 0
        result = function(widened(x) if wide else x, over, keep)
        return result.astype(x.dtype, copy=False)

    return kernel


def total(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    """The sum; of integers in their own width, so that it wraps."""
    return np.sum(x, axis=axes, keepdims=keep, dtype=x.dtype)


def product(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.prod(x, axis=axes, keepdims=keep, dtype=x.dtype)


def average(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    """The mean; of integers truncated toward zero."""
    count = math.prod(x.shape[axis] for axis in axes)
    if is_float(x.dtype):
        return np.sum(x, axis=axes, keepdims=keep) / x.dtype.type(count)
    added = np.sum(x, axis=axes, keepdims=keep, dtype=np.uint64 if x.dtype.kind == "u" else np.int64)
    return (added - np.fmod(added, count)) // max(count, 1)


def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return False
    return -np.inf if is_float(dtype) else ml_dtypes.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return True
    return np.inf if is_float(dtype) else ml_dtypes.iinfo(dtype).max


def largest(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.max(x, axis=axes, keepdims=keep, initial=_lowest(x.dtype))


def smallest(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.min(x, axis=axes, keepdims=keep, initial=_highest(x.dtype))


def norm1(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return total(np.abs(x), axes, keep)


def sum_of_squares(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return total(x * x, axes, keep)


def norm2(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.sqrt(sum_of_squares(x if is_float(x.dtype) else x.astype(np.float64), axes, keep))


def log_sum(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    return np.log(total(x if is_float(x.dtype) else x.astype(np.float64), axes, keep))


def log_sum_exp(x: Array, axes: tuple[int, ...], keep: bool) -> Any:
    """log(sum(exp(x))) relative to the largest element, so that nothing overflows."""
    real = x if is_float(x.dtype) else x.astype(np.float64)
    top = np.max(real, axis=axes, keepdims=True, initial=-np.inf)
    base = np.where(np.isfinite(top), top, real.dtype.type(0))
    result = np.log(np.sum(np.exp(real - base), axis=axes, keepdims=True)) + base
    return result if keep else result.reshape([size for axis, size in enumerate(result.shape) if axis not in axes])


def arg(find: Callable[..., Any]) -> Kernel:
    """ArgMax or ArgMin: int64 index of the first (or last) extreme along `axis`."""

    def kernel(attrs: Attributes, x: Array) -> Array:
        axis = normal_axis(attrs.int("axis"), x.ndim) if x.ndim else 0
        if x.ndim == 0:
            return np.zeros((), np.int64)
        if attrs.flag("select_last_index"):
            index = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis)
        else:
            index = find(x, axis=axis)
        index = np.asarray(index, np.int64)
        return np.expand_dims(index, axis) if attrs.int("keepdims") else index

    return kernel


def cumulative(accumulate: Callable[..., Array], neutral: int) -> Kernel:
    """Running sums or products along the axis that the second input names."""

    def kernel(attrs: Attributes, x: Array, axis: Array) -> Array:
        along = normal_axis(int(scalar(axis)), x.ndim)
        wide = widened(x)
        if attrs.flag("reverse"):
            wide = np.flip(wide, along)
        result = accumulate(wide, axis=along, dtype=wide.dtype)
        if attrs.flag("exclusive"):
            shape = (*x.shape[:along], min(1, x.shape[along]), *x.shape[along + 1 :])
            kept = result[(slice(None),) * along + (slice(0, -1),)]
            result = np.concatenate([np.full(shape, neutral, wide.dtype), kept], axis=along)
        if attrs.flag("reverse"):
            result = np.flip(result, along)
        return result.astype(x.dtype) if is_small_float(x.dtype) else result

    return kernel


TABLE: dict[str, Kernel] = {
    "ReduceSum": reduction(total),
    "ReduceProd": reduction(product),
    "ReduceMean": reduction(average),
    "ReduceMax": reduction(largest, wide=False),
    "ReduceMin": reduction(smallest, wide=False),
    "ReduceL1": reduction(norm1),
    "ReduceL2": reduction(norm2),
    "ReduceSumSquare": reduction(sum_of_squares),
    "ReduceLogSum": reduction(log_sum),
    "ReduceLogSumExp": reduction(log_sum_exp),
    "ArgMax": arg(np.argmax),
    "ArgMin": arg(np.argmin),
    "CumSum": cumulative(np.cumsum, 0),
    "CumProd": cumulative(np.cumprod, 1),
}
