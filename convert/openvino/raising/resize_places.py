"""Where the pixels of a resized image lie in the old one: reckoned here for sizes that are known, else by the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .support import cast, dimension, steps, vector

Floats = np.ndarray[Any, np.dtype[Any]]

FOR_NEAREST = "tf_half_pixel_for_nn"
EPSILON = np.float32(1e-6)  # what OpenVINO adds to a scale before it reckons a size


@dataclass(frozen=True, slots=True)
class Wish:
    """What an Interpolate of any version asks for."""

    mode: str  # nearest, linear, cubic
    coordinates: str
    nearest: str
    antialias: bool
    cubic: float
    by_scales: bool
    pillow: bool = False


class Axis(NamedTuple):
    """One axis to be resized, as far as its sizes are known."""

    axis: int
    extent: int
    target: int
    scale: np.float32


_MOST_PLACES = 1 << 24

# sizes that are known ------------------------------------------------------------------------------


def places(wish: Wish, axis: Axis, dtype: Any) -> Floats:
    """Where in the input each place of the output lies."""
    if axis.target > _MOST_PLACES:
        raise InvalidModel(f"an image of {axis.target} places along dimension {axis.axis}")
    place, scale, half = np.arange(axis.target).astype(dtype), dtype(axis.scale), dtype(0.5)
    if wish.coordinates == "align_corners":
        return place * dtype(axis.extent - 1) / dtype(max(axis.target - 1, 1))
    if wish.coordinates == "asymmetric":
        return place / scale
    if wish.coordinates == FOR_NEAREST:
        return (place + half) / scale
    found = (place + half) / scale - half
    return np.zeros_like(found) if wish.coordinates == "pytorch_half_pixel" and axis.target == 1 else found


def indices(wish: Wish, axis: Axis, dtype: Any) -> Floats:
    """Which pixel is the nearest to each place of the output."""
    place = places(wish, axis, dtype)
    half = dtype(0.5)
    rounded: dict[str, Callable[[], Floats]] = {
        "round_prefer_floor": lambda: np.ceil(place - half),
        "round_prefer_ceil": lambda: np.floor(place + half),
        "floor": lambda: np.floor(place),
        "ceil": lambda: np.ceil(place),
        "simple": lambda: np.ceil(place) if axis.scale < 1 else np.trunc(place),
    }
    return np.clip(rounded[wish.nearest](), 0, axis.extent - 1).astype(np.int64)


def weights(wish: Wish, axis: Axis, smooth: bool) -> Floats:
    """How much of each pixel goes into each place of the output: [target, extent]."""
    place = places(wish, axis, np.float32)[:, None]
    pixels = np.arange(axis.extent)
    if wish.mode == "linear":
        factor = axis.scale if smooth else np.float32(1)
        reach = 2 if axis.scale > 1 else math.ceil(2 / factor)
        near = np.abs(pixels - np.trunc(place + np.copysign(np.float32(0.5), place))) <= reach
        found = np.where(near, np.maximum(0, 1 - np.abs(factor * (place - pixels))), 0)
        total = found.sum(axis=1, keepdims=True)
        return np.where(total == 0, 0, found / np.where(total == 0, 1, total)).astype(np.float32)
    first = np.floor(place)
    found = np.zeros((axis.target, axis.extent), np.float32)
    rows = np.arange(axis.target)
    for offset in range(-1, 3):
        distance = np.abs(place - (first + offset))
        column = np.clip(first + offset, 0, axis.extent - 1).astype(np.int64)
        np.add.at(found, (rows, column[:, 0]), _cubic(distance, np.float32(wish.cubic))[:, 0])
    return found


def _cubic(distance: Floats, a: np.float32) -> Floats:
    """Keys' kernel."""
    inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    outer = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, inner, np.where(distance < 2, outer, 0))


# sizes that the model computes --------------------------------------------------------------------


def targets(op: Builder, x: Value, axes: Sequence[int], scales: Value) -> Value:
    """The sizes that scales give, as int64."""
    extents = op.Concat(*(dimension(op, x, axis) for axis in axes), axis=0)
    factors = op.Add(vector(op, scales, DType.FLOAT32), op.const(EPSILON))
    return cast(op, op.Floor(op.Mul(cast(op, extents, DType.FLOAT32), factors)), DType.INT64)


def by_formula(op: Builder, x: Value, axes: Sequence[int], wanted: Value, wish: Wish) -> Value:
    """Pixels gathered by indices that the model reckons, along one axis after the other."""
    goals = targets(op, x, axes, wanted) if wish.by_scales else vector(op, wanted)
    for order, axis in enumerate(axes):
        part = op.const([order])
        count = op.Gather(goals, part)
        extent, goal = (cast(op, value, DType.FLOAT32) for value in (dimension(op, x, axis), count))
        scale = op.Gather(vector(op, wanted, DType.FLOAT32), part) if wish.by_scales else op.Div(goal, extent)
        index = cast(op, steps(op, count), DType.FLOAT32)
        place = op.Where(op.Equal(goal, extent), index, _computed(op, wish, index, scale, (goal, extent)))
        last = op.Sub(extent, op.const(np.float32(1)))
        if wish.mode == "nearest":
            x = op.Gather(x, _pixel(op, _rounded(op, wish, place, scale), last), axis=axis)
        else:
            behind = list(range(1, (x.rank or 0) - axis))
            parts = []
            for pixel, weight in _taps(op, wish, place, last):
                weight = cast(op, weight, x.tensor.dtype or DType.FLOAT32)
                weight = op.Unsqueeze(weight, op.const(behind)) if behind else weight
                parts.append(op.Mul(op.Gather(x, _pixel(op, pixel, last), axis=axis), weight))
            x = op.Sum(*parts)
    return x


def _computed(op: Builder, wish: Wish, index: Value, scale: Value, sizes: tuple[Value, Value]) -> Value:
    """Where in the input each place of the output lies; `sizes` is the new one and the old one."""
    goal, extent = sizes
    half, one = op.const(np.float32(0.5)), op.const(np.float32(1))
    if wish.coordinates == "align_corners":
        return op.Div(op.Mul(index, op.Sub(extent, one)), op.Max(op.Sub(goal, one), one))
    if wish.coordinates == "asymmetric":
        return op.Div(index, scale)
    place = op.Div(op.Add(index, half), scale)
    if wish.coordinates == FOR_NEAREST:
        return place
    place = op.Sub(place, half)
    return op.Where(op.Greater(goal, one), place, op.const(np.float32(0))) if "pytorch" in wish.coordinates else place


def _rounded(op: Builder, wish: Wish, place: Value, scale: Value) -> Value:
    half = op.const(np.float32(0.5))
    if wish.nearest == "simple":  # the next pixel where the image shrinks, else the one towards the first
        shrinks = op.Less(scale, op.const(np.float32(1)))
        return op.Where(shrinks, op.Ceil(place), op.Floor(op.Max(place, op.const(np.float32(0)))))
    rounded: dict[str, Callable[[], Value]] = {
        "round_prefer_floor": lambda: op.Ceil(op.Sub(place, half)),
        "round_prefer_ceil": lambda: op.Floor(op.Add(place, half)),
        "floor": lambda: op.Floor(place),
        "ceil": lambda: op.Ceil(place),
    }
    return rounded[wish.nearest]()


def _pixel(op: Builder, place: Value, last: Value) -> Value:
    """A whole place as the index of a pixel of the image."""
    return cast(op, op.Min(op.Max(place, op.const(np.float32(0))), last), DType.INT64)


def _taps(op: Builder, wish: Wish, place: Value, last: Value) -> list[tuple[Value, Value]]:
    """The pixels that go into each place of the output, and how much of each."""
    one = op.const(np.float32(1))
    if wish.mode == "linear":
        place = op.Min(op.Max(place, op.const(np.float32(0))), last)
        first = op.Floor(place)
        share = op.Sub(place, first)
        return [(first, op.Sub(one, share)), (op.Add(first, one), share)]
    first = op.Floor(place)
    share, a = op.Sub(place, first), wish.cubic
    found = []
    for offset in range(-1, 3):
        distance = op.Abs(op.Sub(share, op.const(np.float32(offset))))
        factors = (a + 2, -(a + 3), 0, 1) if offset in (0, 1) else (a, -5 * a, 8 * a, -4 * a)
        weight = op.const(np.float32(factors[0]))
        for factor in factors[1:]:
            weight = op.Add(op.Mul(weight, distance), op.const(np.float32(factor)))
        found.append((op.Add(first, op.const(np.float32(offset))), weight))
    return found
