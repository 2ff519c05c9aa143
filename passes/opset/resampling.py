"""Resize and Upsample as gathers: for each axis the input elements that each output element is made of, and weights.

Along an axis, an output element has a position between elements of the input (`_POSITIONS`, by the coordinate mode).
Nearest takes one element there, linear and cubic add up two and four (antialiasing: more), each under its weight. Where
sizes and scales are known all that is constant; otherwise it is computed, in float64, when the model runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..build import Expr, Operand, expr, size_of, where
from ..build.values import Array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..types import DType
from .build import StepBuilder
from .offsets import arange, certain, gathered
from .steps import as_type, attribute, chained, work_type

_F64, _I64 = DType.FLOAT64, DType.INT64
_MOST_TAPS = 1 << 11
"""How many elements around a position get operators of their own: antialiasing takes as many as an image shrinks."""
_EXACT = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.UINT32)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis: sizes before and after, what the coordinates use as scale, the region; float64 vectors of one."""

    index: int
    length: Expr
    output: Expr
    scale: Expr
    region: tuple[Expr, Expr]


@dataclass(frozen=True, slots=True)
class _Filter:
    """What is done along each axis."""

    mode: str
    coordinates: str
    rounding: str
    cubic_a: float
    antialias: bool
    exclude_outside: bool
    extrapolation: float


# positions --------------------------------------------------------------------------------------------


def _half_pixel(x: Expr, axis: _Axis) -> Expr:
    return (x + 0.5) / axis.scale - 0.5


def _half_pixel_symmetric(x: Expr, axis: _Axis) -> Expr:
    excess = axis.output / (axis.scale * axis.length)
    return axis.length / 2 * (1 - excess) + _half_pixel(x, axis)


def _pytorch_half_pixel(x: Expr, axis: _Axis) -> Expr:
    return where(axis.output > 1, _half_pixel(x, axis), x * 0)


def _align_corners(x: Expr, axis: _Axis) -> Expr:
    """The length that the scale gives may be a fraction; where it is 1, everything is at the first element."""
    last = axis.scale * axis.length - 1
    return where(last.abs() > 0, x * (axis.length - 1) / last, x * 0)


def _crop_and_resize(x: Expr, axis: _Axis) -> Expr:
    (start, end), last = axis.region, axis.length - 1
    many = start * last + x * (end - start) * last / (axis.output - 1)
    return where(axis.output > 1, many, (start + end) * 0.5 * last + x * 0)


_POSITIONS: dict[str, Callable[[Expr, _Axis], Expr]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": lambda x, axis: x / axis.scale,
    "tf_half_pixel_for_nn": lambda x, axis: (x + 0.5) / axis.scale,
    "tf_crop_and_resize": _crop_and_resize,
}
_ROUNDED: dict[str, Callable[[Expr, _Axis], Expr]] = {
    "round_prefer_floor": lambda x, _: (x - 0.5).ceil(),
    "round_prefer_ceil": lambda x, _: (x + 0.5).floor(),
    "floor": lambda x, _: x.floor(),
    "ceil": lambda x, _: x.ceil(),
    "by_direction": lambda x, axis: where(axis.scale < 1, x.ceil(), x.floor()),
}


# weights -------------------------------------------------------------------------------------------


def clamp(x: Expr, low: Operand, high: Operand) -> Expr:
    """Between two bounds; NaN, which is no element's position, at the lower one."""
    return where(x > low, x, low).minimum(high)


def linear_weight(distance: Expr) -> Expr:
    """For what is no further than 1 away."""
    return 1 - distance.abs()


def cubic_weight(distance: Expr, a: float) -> Expr:
    """Keys' cubic convolution kernel."""
    d = distance.abs()
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return where(d > 1, where(d < 2, far, d * 0), near)


def _reach(node: Node, axis: _Axis, how: _Filter) -> int:
    """How many elements on either side of a position may have a weight."""
    support = 2 if how.mode == "cubic" else 1
    if not how.antialias:
        return support
    if axis.scale.array is not None:
        scale = float(axis.scale.array[0])
        return math.ceil(support / min(scale, 1.0)) if scale > 0 else support  # of no elements
    if axis.output is axis.length:  # which no scale below 1 leaves
        return support
    if axis.length.array is None or axis.output.array is None:
        raise Unsupported(node, "antialias with neither scales nor sizes known can't be expressed before version 18")
    return math.ceil(support * max(float(axis.length.array[0]) / max(float(axis.output.array[0]), 1.0), 1.0))


def _taps(node: Node, positions: Expr, axis: _Axis, how: _Filter) -> list[tuple[Expr, Expr]]:
    """(element, weight) for each of the elements around the positions, float64."""
    reach = _reach(node, axis, how)
    if 2 * reach > _MOST_TAPS:
        raise Unsupported(node, f"each element of axis {axis.index} would be made of {2 * reach}, one by one")
    shrink = axis.scale.minimum(1) if how.antialias else None
    base = positions.floor()
    taps = []
    for step in range(-reach + 1, reach + 1):
        index = base + step
        distance = index - positions if shrink is None else (index - positions) * shrink
        weight = cubic_weight(distance, how.cubic_a) if how.mode == "cubic" else linear_weight(distance)
        if how.antialias and how.mode == "linear":
            weight = weight.maximum(0)
        if how.exclude_outside:
            weight = where((index < 0) | (index > axis.length - 1), weight * 0, weight)
        taps.append((index, weight))
    if how.exclude_outside or how.antialias:
        total = taps[0][1]
        for _, weight in taps[1:]:
            total = total + weight
        total = where(total.abs() > 0, total, total * 0 + 1)
        taps = [(index, weight / total) for index, weight in taps]
    return taps


def times(op: StepBuilder, elements: Value, weight: Expr) -> tuple[Value, Expr]:
    """Elements times weights, and these in the elements' type."""
    weight = weight.cast(DType.of(elements.tensor.dtype.numpy) if elements.tensor.dtype else weight.dtype)
    return op.Mul(elements, weight.value()), weight


def weighted(op: StepBuilder, elements: Value, weight: Expr) -> Value:
    """Elements times weights; whatever has no weight counts as nothing, infinite or not."""
    made, weight = times(op, elements, weight)
    if weight.array is not None and weight.array.all():
        return made
    nothing = op.const(np.zeros(1), weight.dtype)
    return op.Where(weight.cast(DType.BOOL).value(), made, nothing, _types=[made.type])


def _resampled(op: StepBuilder, node: Node, data: Value, axis: _Axis, how: _Filter) -> Value:
    count = size_of(op, data, axis.index) if axis.output is axis.length else axis.output.cast(_I64)
    positions = _POSITIONS[how.coordinates](arange(count).cast(_F64), axis)
    last, tail = axis.length - 1, [1] * (rank_of(node, data) - axis.index - 1)

    def taken(index: Expr) -> Value:
        return gathered(op, data, clamp(index, 0, last).cast(_I64), axis.index)

    if how.mode == "nearest":
        made = taken(_ROUNDED[how.rounding](positions, axis))
    else:
        # an infinite element without weight makes NaN in ONNX Runtime and OpenVINO
        taps = _taps(node, positions, axis, how)
        parts = [times(op, taken(index), weight.reshape(-1, *tail))[0] for index, weight in taps]
        made = chained(op, "Add", parts)
    if how.coordinates == "tf_crop_and_resize":
        outside = ((positions < 0) | (positions > last)).reshape(-1, *tail)
        if outside.array is None or outside.array.any():
            filling = _filling(node, how.extrapolation, dtype_of(node, data))
            made = op.Where(outside.value(), op.const(filling), made, _types=[made.type])
    return made


def _filling(node: Node, value: float, kind: DType) -> Array:
    """What stands outside, as a vector of one."""
    with np.errstate(all="ignore"):
        made = np.asarray([value]).astype(kind.numpy)
    if kind is DType.STRING or (not kind.is_float and made[0] != value):
        raise Unsupported(node, f"extrapolation_value={value} is no {kind.value}")
    return made


# sizes ---------------------------------------------------------------------------------------------


def _scaled(length: Expr, scale: Expr) -> Expr:
    """The new length is computed in float32, as shape inference does."""
    return (length.cast(DType.FLOAT32) * scale.cast(DType.FLOAT32)).floor().cast(_F64)


def _axes(op: StepBuilder, node: Node, data: Value, scales: Value | None, sizes: Value | None) -> list[_Axis]:
    """The axes that are resized at all; nothing is built for the others."""
    count = rank_of(node, data)
    positions = [axis % count for axis in attribute(node, "axes") or range(count)]
    policy = attribute(node, "keep_aspect_ratio_policy", "stretch") if sizes is not None else "stretch"
    before, after = data.tensor.shape or (), node.output.tensor.shape
    given = sizes if sizes is not None else scales
    if given is None:
        raise Unsupported(node, "neither scales nor sizes are given")
    wanted = certain(op, given)

    def declared(index: int) -> int | None:
        length = None if after is None else after[positions[index]]
        return length if isinstance(length, int) else None

    @cache
    def length(index: int) -> Expr:
        return size_of(op, data, positions[index]).cast(_F64)

    @cache
    def goal(index: int) -> Expr:
        size = declared(index)
        if size is not None and (policy == "stretch" or sizes is None):
            return expr(op, [size], DType.FLOAT64)
        return wanted.gather([index]).cast(_F64)

    @cache
    def scale(index: int) -> Expr:
        return wanted.gather([index]).cast(_F64) if sizes is None else goal(index) / length(index)

    if policy != "stretch":
        common = scale(0)
        for index in range(1, len(positions)):
            common = common.minimum(scale(index)) if policy == "not_larger" else common.maximum(scale(index))
    else:
        common = None
    found = []
    for index, position in enumerate(positions):
        factor, size = scale(index) if common is None else common, declared(index)
        region = _region(op, node, index, len(positions))
        same = after is not None and before[position] == after[position] is not None
        by_size = (sizes is not None and common is None) or before[position] == 1
        if _is_kept(factor, region, same, by_size):
            continue
        if size is not None:
            output = expr(op, [size], DType.FLOAT64)
        elif same:
            output = length(index)
        elif common is not None:
            output = (common * length(index) + 0.5).floor()
        else:
            output = _scaled(length(index), factor) if sizes is None else goal(index)
        found.append(_Axis(position, length(index), output, factor, region))
    return found


def _region(op: StepBuilder, node: Node, index: int, count: int) -> tuple[Expr, Expr]:
    """Where a region begins and ends along an axis, of the axis' length."""
    roi = node.input(1) if node.version > 10 else None
    if roi is None or attribute(node, "coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize":
        return expr(op, [0], DType.FLOAT64), expr(op, [1], DType.FLOAT64)
    bounds = certain(op, roi)
    return bounds.gather([index]).cast(_F64), bounds.gather([index + count]).cast(_F64)


def _is_kept(scale: Expr, region: tuple[Expr, Expr], same: bool, by_size: bool) -> bool:
    """Whether nothing happens along an axis, whatever the model is given.

    Args:
        same: it has as many elements afterwards, which its type says.
        by_size: nothing but these numbers tells what happens, as the scale is their quotient, or there is one element.
    """
    start, end = (bound.array for bound in region)
    if start is None or end is None or (start[0], end[0]) != (0, 1):
        return False
    if scale.array is not None and scale.array[0] == 1:
        return True
    return same and (by_size or (scale.array is not None and math.isclose(scale.array[0], 1)))


def _filter(node: Node) -> _Filter:
    if node.version < 11:
        mode = attribute(node, "mode", "nearest").replace("bilinear", "linear")
        return _Filter(mode, "asymmetric", "by_direction", -0.75, False, False, 0.0)
    how = _Filter(
        attribute(node, "mode", "nearest"),
        attribute(node, "coordinate_transformation_mode", "half_pixel"),
        attribute(node, "nearest_mode", "round_prefer_floor"),
        attribute(node, "cubic_coeff_a", -0.75),
        bool(attribute(node, "antialias", 0)),
        bool(attribute(node, "exclude_outside", 0)),
        attribute(node, "extrapolation_value", 0.0),
    )
    if how.coordinates not in _POSITIONS or how.rounding not in _ROUNDED:
        raise Unsupported(node, f"what {how.coordinates}, {how.rounding} means isn't known")
    return how


def by_gathers(op: StepBuilder, node: Node, reason: str) -> Value:
    """A Resize (of any version) or an Upsample-9 in terms of Gather.

    Args:
        reason: why it can't be expressed otherwise.

    Raises:
        Unsupported: integers of 64 bits or no numbers are to be interpolated; antialiasing with sizes not known.
    """
    op, how, data = op.newest, _filter(node), required(node, 0)
    scales, sizes = (node.input(1), None) if node.version < 11 else (node.input(2), node.input(3))
    if sizes is not None:
        scales = None
    axes = _axes(op, node, data, scales, sizes)
    kind = dtype_of(node, data)
    if how.mode not in ("nearest", "linear", "cubic"):
        raise Unsupported(node, f"mode={how.mode} isn't known")
    if how.mode == "nearest":
        return _along(op, node, data, axes, how)
    if not kind.is_float and kind not in _EXACT:
        raise Unsupported(node, f"{reason}; {kind.value} can't be interpolated by other operators")
    work = work_type(kind) if kind.is_float else _F64
    made = _along(op, node, as_type(op, data, work), axes, how)
    if not kind.is_float:
        made = clamp(expr(op, made).rint(), *kind.integer_limits).value()
    return as_type(op, made, kind)


def _along(op: StepBuilder, node: Node, data: Value, axes: Sequence[_Axis], how: _Filter) -> Value:
    for axis in axes:
        data = _resampled(op, node, data, axis, how)
    return data if axes else op.Identity(data)
