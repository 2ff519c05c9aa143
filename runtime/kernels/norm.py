"""Normalisations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, expect_broadcast, normal_axes, normal_axis, per_channel, widened


def batch_normalization(attrs: Attributes, x: Array, scale: Array, bias: Array, mean: Array, var: Array) -> Any:
    """Training is asked for by `training_mode` (14), by more than one output (7), by `is_test` 0 (1).

    In training Y uses the batch's own statistics (population variance), and the running ones follow,
    twice before version 14 (mean, var, saved_mean, saved_var). With `spatial` 0 (before version 9) there
    are statistics for each feature rather than each channel.
    """
    if attrs.version >= 14:
        training = attrs.flag("training_mode")
    elif attrs.version >= 7:
        training = attrs.outputs > 1
    else:
        training = not attrs.flag("is_test")
    spatial = attrs.int("spatial", 1) != 0
    wide = widened(x)
    work = wide.dtype

    def shaped(values: Array) -> Array:
        return per_channel(values, x).astype(work) if spatial else values.astype(work)

    def affine(mean: Array, var: Array) -> tuple[Array, Array, Array]:
        """What is taken off, what multiplies, and what is added."""
        return shaped(mean), shaped(scale) / np.sqrt(shaped(var) + work.type(attrs.float("epsilon"))), shaped(bias)

    extra: tuple[Array, ...] = ()
    if training:
        axes = tuple(axis for axis in range(x.ndim) if axis != 1) if spatial else (0,)
        current_mean, current_var = attrs.rounded(np.mean(wide, axis=axes)), np.var(wide, axis=axes)
        kept = attrs.float("momentum")
        running = [
            (old.astype(work) * kept + new.reshape(old.shape) * (1 - kept)).astype(old.dtype)
            for old, new in ((mean, current_mean), (var, current_var))
        ]
        saved = [current_mean.astype(mean.dtype), current_var.astype(var.dtype)] if attrs.version < 14 else []
        extra = (*running, *saved)
        less, factor, more = affine(current_mean, current_var)
    else:
        less, factor, more = attrs.prepared((1, 2, 3, 4), lambda: affine(mean, var), f"{x.shape[1:2]} of rank {x.ndim}")
    y = np.asarray(wide - less)
    y *= factor
    y = attrs.between(y)
    y += more
    return (y.astype(x.dtype, copy=False), *extra) if training else y.astype(x.dtype, copy=False)


def _standardized(attrs: Attributes, x: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """(x - mean) / deviation, the mean and 1 / deviation, over `axes`, which are kept."""
    mean = attrs.rounded(np.mean(x, axis=axes, keepdims=True))
    centred = x - mean
    epsilon = x.dtype.type(attrs.float("epsilon"))
    inverse = 1 / np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + epsilon)
    return centred * inverse, mean, inverse


def _stash(attrs: Attributes) -> np.dtype[Any]:
    return attrs.precision("stash_type", np.dtype(np.float32))


def _wide(attrs: Attributes, x: Array) -> Array:
    """x in the stash type, float64 as it is: what ONNX Runtime and onnx's reference do, whatever ONNX's text says."""
    return x if x.dtype.itemsize >= 8 else x.astype(_stash(attrs))


def layer_normalization(
    attrs: Attributes, x: Array, scale: Array, bias: Array | None = None
) -> tuple[Array, Array, Array]:
    axes = tuple(range(normal_axis(attrs.int("axis"), x.ndim), x.ndim))
    for what, values in (("scale", scale), ("bias", bias)):
        if values is not None:
            expect_broadcast(what, values, x.shape)
    normal, mean, inverse = _standardized(attrs, _wide(attrs, x), axes)
    y = attrs.between(normal.astype(x.dtype)) * scale
    if bias is not None:
        y = attrs.between(y) + bias
    stash = _stash(attrs)
    return y.astype(x.dtype, copy=False), mean.astype(stash, copy=False), inverse.astype(stash, copy=False)


def rms_normalization(attrs: Attributes, x: Array, scale: Array) -> Array:
    axes = tuple(range(normal_axis(attrs.int("axis"), x.ndim), x.ndim))
    expect_broadcast("scale", scale, x.shape)
    wide = _wide(attrs, x)
    square = np.mean(wide * wide, axis=axes, keepdims=True)
    normal = wide / np.sqrt(square + wide.dtype.type(attrs.float("epsilon")))
    return (normal.astype(x.dtype) * scale).astype(scale.dtype, copy=False)


def group_normalization(attrs: Attributes, x: Array, scale: Array, bias: Array) -> Array:
    """Scale and bias per channel; per group in version 18."""
    groups = attrs.int("num_groups")
    if x.shape[1] % groups:
        raise ValueError(f"{x.shape[1]} channels are no {groups} groups")
    grouped = x.astype(_stash(attrs)).reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    normal, _, _ = _standardized(attrs, grouped, (2,))
    if attrs.version < 21:
        scale, bias = (np.repeat(values, x.shape[1] // groups) for values in (scale, bias))
    y = attrs.between(normal.reshape(x.shape).astype(x.dtype)) * per_channel(scale, x)
    y = attrs.between(y) + per_channel(bias, x)
    return y.astype(x.dtype, copy=False)


def instance_normalization(attrs: Attributes, x: Array, scale: Array, bias: Array) -> Array:
    normal, _, _ = _standardized(attrs, widened(x), tuple(range(2, x.ndim)))
    y = attrs.between(attrs.between(normal) * widened(per_channel(scale, x)))
    y = y + widened(per_channel(bias, x))
    return y.astype(x.dtype, copy=False)


def mean_variance_normalization(attrs: Attributes, x: Array) -> Array:
    axes = normal_axes(attrs.ints("axes", (0, 2, 3)), x.ndim)
    wide = widened(x)
    centred = wide - attrs.rounded(np.mean(wide, axis=axes, keepdims=True))
    deviation = np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True))
    return (centred / (deviation + wide.dtype.type(1e-9))).astype(x.dtype, copy=False)


def lp_normalization(attrs: Attributes, x: Array) -> Array:
    """Zero where the norm is zero."""
    p, axis = attrs.int("p"), normal_axis(attrs.int("axis"), x.ndim)
    if p not in (1, 2):
        raise ValueError(f"p is {p}, not 1 or 2")
    wide = widened(x)
    norm = np.sum(np.abs(wide), axis=axis, keepdims=True)
    if p == 2:
        norm = np.sqrt(np.sum(wide * wide, axis=axis, keepdims=True))
    return np.where(norm == 0, wide.dtype.type(0), wide / norm).astype(x.dtype, copy=False)


def local_response(attrs: Attributes, x: Array) -> Array:
    """Each element over a power of the sum of squares of its neighbours along the channels."""
    size = attrs.int("size")
    wide = widened(x)
    squares = wide * wide
    total = np.zeros_like(squares)
    for channel in range(x.shape[1]):
        first, last = max(0, channel - (size - 1) // 2), channel + size // 2 + 1
        total[:, channel] = squares[:, first:last].sum(axis=1)
    factor = attrs.float("alpha", 1e-4) / size
    base = attrs.float("bias", 1.0) + factor * total
    return (wide / np.power(base, attrs.float("beta", 0.75))).astype(x.dtype, copy=False)


TABLE: dict[str, Kernel] = {
    "BatchNormalization": batch_normalization,
    "LayerNormalization": layer_normalization,
    "RMSNormalization": rms_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "LpNormalization": lp_normalization,
    "LRN": local_response,
}
