"""Where the pixels of a resized image lie in the old one: computed here for sizes that are known, else by the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....passes.build import Expr, arange, concat, expr, size_of, where
from ....passes.errors import InvalidModel
from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from ..scaled_sizes import EPSILON
from .support import vector

Floats = np.ndarray[Any, np.dtype[Any]]

FOR_NEAREST = "tf_half_pixel_for_nn"


@dataclass(frozen=True, slots=True)
class Request:
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


_MOST_POSITIONS = 1 << 24

# sizes that are known ------------------------------------------------------------------------------


def _positions(op: Builder, request: Request, axis: Axis, dtype: DType) -> tuple[Expr, Expr, Expr]:
    """Where in the input each position of the output lies, known; the scale and the old size."""
    if axis.target > _MOST_POSITIONS:
        raise InvalidModel(f"an image of size {axis.target} along dimension {axis.axis}")
    index = expr(op, np.arange(axis.target), dtype)
    scale, goal, extent = (expr(op, [number], dtype) for number in (axis.scale, axis.target, axis.extent))
    return _position(request, index, scale, (goal, extent)).broadcast_to(axis.target), scale, extent


def indices(op: Builder, request: Request, axis: Axis, dtype: DType) -> Floats:
    """Which pixel is the nearest to each position of the output."""
    position, scale, extent = _positions(op, request, axis, dtype)
    return _pixel(_rounded(request, position, scale), extent).known


def weights(op: Builder, request: Request, axis: Axis) -> Floats:
    """How much of each pixel goes into each position of the output of a linear filter that is as wide as the image
    shrinks: [target, extent]."""
    position, pixels = _positions(op, request, axis, DType.FLOAT32)[0].known[:, None], np.arange(axis.extent)
    factor = axis.scale
    reach = 2 if factor > 1 else math.ceil(2 / factor)
    near = np.abs(pixels - np.trunc(position + np.copysign(np.float32(0.5), position))) <= reach
    found = np.where(near, np.maximum(0, 1 - np.abs(factor * (position - pixels))), 0)
    total = found.sum(axis=1, keepdims=True)
    return np.where(total == 0, 0, found / np.where(total == 0, 1, total)).astype(np.float32)


# sizes that the model computes --------------------------------------------------------------------


def targets(op: Builder, x: Value, axes: Sequence[int], scales: Value) -> Expr:
    """The sizes that scales give, as int64."""
    extents = concat(op, [size_of(op, x, axis) for axis in axes]).cast(DType.FLOAT32)
    return (extents * (vector(op, scales, DType.FLOAT32) + float(EPSILON))).floor().cast(DType.INT64)


def by_formula(op: Builder, x: Value, axes: Sequence[int], wanted: Value, request: Request) -> Value:
    """Pixels gathered by indices that the model computes, along one axis after the other."""
    goals = targets(op, x, axes, wanted) if request.by_scales else vector(op, wanted)
    resized = expr(op, x)
    for order, axis in enumerate(axes):
        count = goals[order : order + 1]
        if count.item() is not None and count.item() == resized.size(axis).item():
            continue
        extent, goal = resized.size(axis).cast(DType.FLOAT32), count.cast(DType.FLOAT32)
        scale = vector(op, wanted, DType.FLOAT32)[order : order + 1] if request.by_scales else goal / extent
        index = arange(op, count).cast(DType.FLOAT32)
        position = where(goal.equals(extent), index, _position(request, index, scale, (goal, extent)))
        if request.mode == "nearest":
            resized = resized.gather(_pixel(_rounded(request, position, scale), extent), axis)
            continue
        behind = range(1, (x.rank or 0) - axis)
        parts = [
            resized.gather(_pixel(pixel, extent), axis) * weight.cast(resized.dtype).unsqueeze(*behind)
            for pixel, weight in _taps(request, position, extent)
        ]
        resized = expr(op, op.Sum(*parts))
    return resized.value()


def _position(request: Request, index: Expr, scale: Expr, sizes: tuple[Expr, Expr]) -> Expr:
    """Where in the input each position of the output lies; `sizes` is the new one and the old one."""
    goal, extent = sizes
    if request.coordinates == "align_corners":
        return index * (extent - 1) / (goal - 1).maximum(1)
    if request.coordinates == "asymmetric":
        return index / scale
    position = (index + 0.5) / scale
    if request.coordinates == FOR_NEAREST:
        return position
    return where(goal > 1, position - 0.5, 0) if "pytorch" in request.coordinates else position - 0.5


def _rounded(request: Request, position: Expr, scale: Expr) -> Expr:
    if request.nearest == "simple":  # the next pixel where the image shrinks, else the one towards the first
        return where(scale < 1, position.ceil(), position.maximum(0).floor())
    rounded: dict[str, Callable[[], Expr]] = {
        "round_prefer_floor": lambda: (position - 0.5).ceil(),
        "round_prefer_ceil": lambda: (position + 0.5).floor(),
        "floor": lambda: position.floor(),
        "ceil": lambda: position.ceil(),
    }
    return rounded[request.nearest]()


def _pixel(position: Expr, extent: Expr) -> Expr:
    """A whole position as the index of a pixel of the image."""
    return position.clip(0, extent - 1).cast(DType.INT64)


def _taps(request: Request, position: Expr, extent: Expr) -> list[tuple[Expr, Expr]]:
    """The pixels that go into each position of the output, and how much of each."""
    if request.mode == "linear":
        position = position.clip(0, extent - 1)
    first = position.floor()
    share, a = position - first, request.cubic
    if request.mode == "linear":
        return [(first, 1 - share), (first + 1, share)]
    found: list[tuple[Expr, Expr]] = []
    for offset in range(-1, 3):
        distance = (share - offset).abs()
        inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        outer = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        found.append((first + offset, inner if offset in (0, 1) else outer))
    return found
