"""Resize and Upsample: interpolation along one axis after the other."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from .base import Array, Attributes, Kernel, is_float, normal_axes, to_ints, widened

POSITION_UNITS = 4.0
"""Of rounding on the way to a position: a difference, a product and a quotient."""


@dataclass(frozen=True, slots=True)
class Axis:
    """How one axis is resized: `scale` is what the coordinates use, `output` the new size; `roi` in [0, 1]."""

    length: int
    output: int
    scale: float
    roi: tuple[float, float]

    @property
    def unchanged(self) -> bool:
        return self.length == self.output and math.isclose(self.scale, 1.0) and self.roi == (0.0, 1.0)


Round = Callable[[Array], Array]
"""Where a runtime rounds on the way to a position: gives the numbers back, or with the errors of a noisy run. Which
element is nearest, and what lies outside of a region, may turn by them."""


def _half_pixel(x: Array, axis: Axis, rounded: Round) -> Array:
    return rounded((x + 0.5) / axis.scale) - 0.5


def _half_pixel_symmetric(x: Array, axis: Axis, rounded: Round) -> Array:
    adjustment = axis.output / (axis.scale * axis.length)
    return axis.length / 2 * (1 - adjustment) + _half_pixel(x, axis, rounded)


def _pytorch_half_pixel(x: Array, axis: Axis, rounded: Round) -> Array:
    return _half_pixel(x, axis, rounded) if axis.output > 1 else np.zeros_like(x)


def _align_corners(x: Array, axis: Axis, rounded: Round) -> Array:
    """The resized length is the fractional one that the scale gives."""
    resized = axis.scale * axis.length
    return np.zeros_like(x) if resized == 1 else rounded(x * (axis.length - 1) / (resized - 1))


def _crop_and_resize(x: Array, axis: Axis, rounded: Round) -> Array:
    (start, end), last = axis.roi, axis.length - 1
    if axis.output == 1:
        return rounded(np.full_like(x, 0.5 * (start + end) * last))
    return rounded(np.full_like(x, start * last)) + rounded(x * (end - start) * last / (axis.output - 1))


_COORDINATES: dict[str, Callable[[Array, Axis, Round], Array]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": lambda x, axis, rounded: rounded(x / axis.scale),
    "tf_half_pixel_for_nn": lambda x, axis, rounded: rounded((x + 0.5) / axis.scale),
    "tf_crop_and_resize": _crop_and_resize,
}
_NEAREST: dict[str, Callable[[Array, Axis], Array]] = {
    "round_prefer_floor": lambda x, _: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x, _: np.floor(x + 0.5),
    "floor": lambda x, _: np.floor(x),
    "ceil": lambda x, _: np.ceil(x),
    "simple": lambda x, axis: np.ceil(x) if axis.scale < 1 else np.floor(x),
}


def triangle(distance: Array) -> Array:
    return np.maximum(1 - np.abs(distance), 0)


def cubic(distance: Array, a: float) -> Array:
    """Keys' cubic convolution kernel."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


@dataclass(frozen=True, slots=True)
class Filter:
    """What is done along each axis."""

    mode: str
    coordinates: str
    nearest: str
    cubic_a: float
    antialias: bool
    exclude_outside: bool
    extrapolation: float


def _resize_axis(attrs: Attributes, x: Array, number: int, axis: Axis, how: Filter) -> Array:
    places = _COORDINATES[how.coordinates](
        np.arange(axis.output, dtype=np.float64), axis, lambda places: attrs.computed(places, POSITION_UNITS)
    )
    last = axis.length - 1
    if how.mode == "nearest":
        index = np.clip(_NEAREST[how.nearest](places, axis), 0, last).astype(np.int64)
        result = np.take(x, index, axis=number)
    else:
        index, weights = _taps(places, axis, how)
        weights = attrs.weights(weights)
        tail = (1,) * (x.ndim - number - 1)
        parts = (
            np.take(x, index[:, tap], axis=number) * weights[:, tap].astype(x.dtype).reshape(-1, *tail)
            for tap in range(index.shape[1])
        )
        result = sum(parts, start=np.zeros((), x.dtype))
    if how.coordinates == "tf_crop_and_resize":
        outside = ((places < 0) | (places > last)).reshape((-1,) + (1,) * (x.ndim - number - 1))
        result = np.where(outside, np.asarray(how.extrapolation).astype(x.dtype), result)
    return result


def _taps(places: Array, axis: Axis, how: Filter) -> tuple[Array, Array]:
    """For each output element the input elements it is made of, and their weights: (output, taps) both."""
    shrink = min(axis.scale, 1.0) if how.antialias else 1.0
    reach = math.ceil((2 if how.mode == "cubic" else 1) / shrink)
    index = np.floor(places)[:, None] + np.arange(-reach + 1, reach + 1)
    distance = (index - places[:, None]) * shrink
    weights = cubic(distance, how.cubic_a) if how.mode == "cubic" else triangle(distance)
    if how.exclude_outside:
        weights = np.where((index < 0) | (index >= axis.length), 0, weights)
    if how.exclude_outside or how.antialias:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1, total)
    return np.clip(index, 0, axis.length - 1).astype(np.int64), weights


def _resized(attrs: Attributes, x: Array, axes: dict[int, Axis], how: Filter) -> Array:
    if how.mode not in ("nearest", "linear", "cubic") or (how.antialias and how.mode == "nearest"):
        raise ValueError(f"mode {how.mode!r} isn't possible{' with antialias' if how.antialias else ''}")
    work = widened(x) if is_float(x.dtype) else x
    if how.mode != "nearest" and not is_float(x.dtype):
        work = x.astype(np.float64)
    for number, axis in axes.items():
        if not axis.unchanged:
            work = _resize_axis(attrs, work, number, axis, how)
    if work.dtype != x.dtype and not is_float(x.dtype):
        info = ml_dtypes.iinfo(x.dtype)
        return np.clip(np.rint(work), info.min, info.max).astype(x.dtype)
    return work.astype(x.dtype, copy=False)


def _scaled(length: int, scale: float) -> Axis:
    """The new length is computed in float32, as shape inference does."""
    output = math.floor(np.float32(length) * np.float32(scale))
    return Axis(length, output, float(np.float32(scale)), (0.0, 1.0))


def resize(
    attrs: Attributes, x: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None
) -> Array:
    """Either `scales` or `sizes`, for all axes or those that `axes` names. Version 10 has scales as second input."""
    if attrs.version < 11:
        return _resize_10(attrs, x, np.asarray(roi))
    axes = normal_axes(attrs.ints("axes", range(x.ndim)), x.ndim)
    how = Filter(
        attrs.string("mode"),
        attrs.string("coordinate_transformation_mode"),
        attrs.string("nearest_mode"),
        attrs.float("cubic_coeff_a"),
        attrs.flag("antialias"),
        attrs.flag("exclude_outside"),
        attrs.float("extrapolation_value"),
    )
    regions = [(0.0, 1.0)] * len(axes)
    if how.coordinates == "tf_crop_and_resize" and roi is not None and roi.size:
        bounds = roi.astype(np.float64).tolist()
        regions = list(zip(bounds[: len(axes)], bounds[len(axes) :], strict=True))
    if scales is not None and scales.size:
        plan = [_scaled(x.shape[axis], scale) for axis, scale in zip(axes, scales.tolist(), strict=True)]
    elif sizes is not None:
        plan = _sized(
            [x.shape[axis] for axis in axes], to_ints(sizes), attrs.string("keep_aspect_ratio_policy", "stretch")
        )
    else:
        raise ValueError("neither scales nor sizes are given")
    placed = [Axis(axis.length, axis.output, axis.scale, region) for axis, region in zip(plan, regions, strict=True)]
    return _resized(attrs, x, dict(zip(axes, placed, strict=True)), how)


def _sized(lengths: list[int], sizes: list[int], policy: str) -> list[Axis]:
    ratios = [size / length for size, length in zip(sizes, lengths, strict=True)]
    if policy == "stretch":
        return [Axis(n, size, ratio, (0.0, 1.0)) for n, size, ratio in zip(lengths, sizes, ratios, strict=True)]
    if policy not in ("not_larger", "not_smaller"):
        raise ValueError(f"unknown policy {policy!r}")
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [Axis(n, math.floor(ratio * n + 0.5), ratio, (0.0, 1.0)) for n in lengths]


def _resize_10(attrs: Attributes, x: Array, scales: Array) -> Array:
    mode = attrs.string("mode").replace("bilinear", "linear")
    how = Filter(mode, "asymmetric", "simple", -0.75, False, False, 0.0)
    axes = {axis: _scaled(x.shape[axis], scale) for axis, scale in enumerate(scales.tolist())}
    return _resized(attrs, x, axes, how)


def upsample(attrs: Attributes, x: Array, scales: Array | None = None) -> Array:
    """Scales are the second input, an attribute in version 7, two attributes in version 1."""
    if scales is None and attrs.has("scales"):
        scales = np.array(attrs.floats("scales"))
    if scales is None:
        scales = np.array([1.0, 1.0, attrs.float("height_scale"), attrs.float("width_scale")])
    return _resize_10(attrs, x, scales)


TABLE: dict[str, Kernel] = {"Resize": resize, "Upsample": upsample}
