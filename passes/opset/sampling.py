"""Sampling between elements as gathers: GridSample, RoiAlign, DeformConv; and the grid of an affine map.

The images of (channels, images, *spatial) become rows of elements, out of which whole indices take theirs; each sampled
point is a sum of such elements under products of weights, one for each axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ..build import Expr, concat, expr, product, reshape, shape_vector, size_of, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..types import DType
from .build import StepBuilder
from .offsets import arange, certain, flattened, gathered, largest, remainder, unravelled
from .resampling import clamp, cubic_weight, linear_weight, weighted
from .steps import Made, Step, as_type, attribute, chained, changed, numbers, work_type

_I64 = DType.INT64
Taps = Sequence[tuple[Expr, Expr]]
"""For one axis: (element, weight) of each element that makes up a point. Elements lie inside, int64."""


def _rows(op: StepBuilder, images: Value, order: Sequence[int]) -> Value:
    """(images, channels, *spatial), its axes put in an order that starts with the channels, as (channels, all else)."""
    return op.Flatten(op.Transpose(images, perm=list(order)), axis=1)


def _corners(lengths: Sequence[Expr], taps: Sequence[Taps], first: Expr) -> list[tuple[Expr, Expr]]:
    """(index into the rows, weight) of each combination of taps; `first` is where each point's image begins."""
    found: list[tuple[Expr, Expr]] = []
    for combination in itertools.product(*taps):
        index, weight = (
            flattened([position for position, _ in combination], lengths),
            product([w for _, w in combination]),
        )
        found.append((index if first.array is not None and not first.array.any() else index + first, weight))
    return found


# GridSample ----------------------------------------------------------------------------------------


def _reflected(x: Expr, low: float, high: Expr) -> Expr:
    """Thrown back at the borders until it lies between them."""
    span = high - low
    position = (x - low) - ((x - low) / (span * 2)).floor() * (span * 2)
    return where(span > 0, where(position > span, span * 2 - position, position), x * 0) + low


def _grid_taps(points: Expr, length: Expr, mode: str, padding: str, align: bool) -> Taps:
    """Points in [-1, 1] along an axis. With a border the elements of a cubic are held inside one by one."""
    last = length - 1
    positions = (points + 1) / 2 * last if align else ((points + 1) * length - 1) / 2
    if mode == "nearest":
        positions = positions.rint()
    low, high = (0.0, last) if align else (-0.5, length - 0.5)
    if padding == "border" and mode != "cubic":
        positions = clamp(positions, 0, last)
    elif padding == "reflection":
        positions = where((positions < low) | (positions > high), _reflected(positions, low, high), positions)
    base, taps = positions.floor(), []
    for step in {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]:
        index = base + step if step else base
        distance = index - positions
        weight = cubic_weight(distance, -0.75) if mode == "cubic" else linear_weight(distance)
        if mode == "nearest":
            weight = expr(index.op, [1], index.dtype)
        if padding == "zeros":
            weight = where((index < 0) | (index > last), weight * 0, weight)
        elif padding == "reflection":
            outside = (index < low) | (index > high)
            # between its borders integers are what is left of a fraction cut off
            index = where(outside, _reflected(index, low, high).maximum(0).floor(), index)
        taps.append((clamp(index, 0, last).cast(_I64), weight))
    return taps


def _grid_sample(op: StepBuilder, node: Node) -> Made:
    """GridSample-16, and 20 of any number of axes."""
    op, data, grid = op.newest, required(node, 0), required(node, 1)
    axes, kind = rank_of(node, data) - 2, dtype_of(node, data)
    mode = _SAMPLED.get(attribute(node, "mode", "linear"), attribute(node, "mode", "linear"))
    padding, align = attribute(node, "padding_mode", "zeros"), bool(attribute(node, "align_corners", 0))
    if mode not in ("nearest", "linear", "cubic") or padding not in ("zeros", "border", "reflection"):
        raise Unsupported(node, f"mode={mode} with padding_mode={padding} isn't known")
    if kind is DType.STRING and padding == "zeros":
        raise Unsupported(node, "strings have no zero around them")
    if mode != "nearest" and not kind.is_float:
        raise Unsupported(node, f"{kind.value} can't be interpolated by other operators")
    work = work_type(kind) if mode != "nearest" else kind
    points = as_type(op, grid, work_type(dtype_of(node, grid)))
    points = reshape(op, points, [None, -1, axes])
    lengths = [size_of(op, data, 2 + axis) for axis in range(axes)]
    taps = [
        _grid_taps(
            expr(op, op.Gather(points, op.const(axes - 1 - axis), axis=2)),
            length.cast(work_type(dtype_of(node, grid))),
            mode,
            padding,
            align,
        )
        for axis, length in enumerate(lengths)
    ]
    first = arange(size_of(op, data, 0)).reshape(-1, 1) * product(lengths)
    rows = _rows(op, as_type(op, data, work), [1, 0, *range(2, axes + 2)])
    parts = []
    for index, weight in _corners(lengths, taps, first):
        seen = gathered(op, rows, index, 1)
        if mode != "nearest":
            seen = weighted(op, seen, weight)
        elif padding == "zeros":
            nothing = op.const(np.zeros(1, kind.numpy), kind)
            seen = op.Where(weight.cast(DType.BOOL).value(), seen, nothing, _types=[seen.type])
        parts.append(seen)
    made = op.Transpose(chained(op, "Add", parts), perm=[1, 0, 2])
    shape = [None, None, *(size_of(op, grid, 1 + axis) for axis in range(axes))]
    return as_type(op, reshape(op, made, shape), kind)


_SAMPLED = {"bilinear": "linear", "bicubic": "cubic"}
_SAMPLED_BEFORE = {"linear": "bilinear", "cubic": "bicubic"}


def _sampling(op: StepBuilder, node: Node) -> Made:
    mode = attribute(node, "mode", "bilinear")
    return changed(node, mode=_SAMPLED.get(mode, mode))


def _sampling_images(op: StepBuilder, node: Node) -> Made:
    """GridSample-16 is for images only."""
    if rank_of(node, required(node, 0)) != 4:
        return _grid_sample(op, node)
    mode = attribute(node, "mode", "linear")
    return changed(node, mode=_SAMPLED_BEFORE.get(mode, mode))


# RoiAlign ------------------------------------------------------------------------------------------

_ALONG = ((None, -1, 1), (None, 1, -1))  # how lines down and across the regions meet


def _cells(start: Expr, extent: Expr, cells: int, ratio: int) -> tuple[Expr, Expr, Expr, Expr]:
    """The sample points of all cells along an axis, regions (R, 1).

    Returns:
        the points (R, cells * samples); which of them there are; how many each region has in a cell (R, 1); and how
        many there are at most (1).
    """
    op, kind = start.op, start.dtype
    cell = extent / float(cells)
    if ratio > 0:
        counts, most = expr(op, [[ratio]], kind), expr(op, [ratio], _I64)
    else:
        counts = where(cell > 0, cell.ceil(), 0)
        most = largest(counts.reshape(-1), 1).cast(_I64)
    position = arange(most * cells)
    sample = remainder(position, most).cast(kind)
    points = start + (position // most).cast(kind) * cell + (sample + 0.5) * cell / counts.maximum(1)
    return points, sample < counts, counts, most


def _roi_taps(points: Expr, there: Expr, length: Expr) -> Taps:
    """Linear between two elements; nothing further than one outside."""
    last = length - 1
    valid = ~((points < -1) | (points > length)) & there
    points = where(points > 0, points, 0)
    low = points.floor().minimum(last)
    share = where(low < last, points - low, points * 0)
    return [
        (index.cast(_I64), where(valid, weight, weight * 0))
        for index, weight in ((low, 1 - share), ((low + 1).minimum(last), share))
    ]


def _roi_align(op: StepBuilder, node: Node) -> Made:
    """RoiAlign of both versions. Mode max is of single weighted elements, as the recorded models have it."""
    op, data, batch = op.newest, required(node, 0), required(node, 2)
    kind, mode = dtype_of(node, data), attribute(node, "mode", "avg").lower()
    if mode not in ("avg", "max"):
        raise Unsupported(node, f"mode={mode} isn't known")
    work = work_type(kind)
    half = node.version > 10 and attribute(node, "coordinate_transformation_mode", "half_pixel") == "half_pixel"
    scale, ratio = attribute(node, "spatial_scale", 1.0), attribute(node, "sampling_ratio", 0)
    cells = [attribute(node, "output_height", 1), attribute(node, "output_width", 1)]
    regions = as_type(op, required(node, 1), work)
    x1, y1, x2, y2 = (
        expr(op, op.Gather(regions, numbers(op, side), axis=1)) * scale - (0.5 if half else 0.0) for side in range(4)
    )
    lengths = [size_of(op, data, axis) for axis in (2, 3)]
    lines, taps = [], []
    for axis, (start, end) in enumerate(((y1, y2), (x1, x2))):
        extent = end - start if half else (end - start).maximum(1)
        line = _cells(start, extent, cells[axis], ratio)
        along = _ALONG[axis]
        lines.append(line)
        pairs = _roi_taps(line[0], line[1], lengths[axis].cast(work))
        taps.append([(index.reshape(*along), weight.reshape(*along)) for index, weight in pairs])
    first = (certain(op, as_type(op, batch, _I64)) * product(lengths)).reshape(-1, 1, 1)
    rows = _rows(op, as_type(op, data, work), [1, 0, 2, 3])
    parts = [weighted(op, gathered(op, rows, index, 1), weight) for index, weight in _corners(lengths, taps, first)]
    (_, _, tall, rows_most), (_, _, wide, columns_most) = lines
    shape = [0, 0, cells[0], rows_most, cells[1], columns_most]
    count = (tall * wide).reshape(-1, 1, 1)
    if mode == "avg":
        made = op.ReduceSum(
            op.Reshape(chained(op, "Add", parts), shape_vector(op, shape)), numbers(op, [3, 5]), keepdims=0
        )
        made = op.Div(made, count.maximum(1).value())
    else:
        there = lines[0][1].reshape(*_ALONG[0]) & lines[1][1].reshape(*_ALONG[1])
        made = op.Where(there.value(), op.Max(*parts), op.const(np.full(1, -np.inf), work), _types=[parts[0].type])
        made = op.ReduceMax(op.Reshape(made, shape_vector(op, shape)), numbers(op, [3, 5]), keepdims=0)
        made = where(count > 0, expr(op, made), expr(op, [0], work)).value()
    return as_type(op, op.Transpose(made, perm=[1, 0, 2, 3]), kind)


def _unshifted(op: StepBuilder, node: Node) -> Made:
    """RoiAlign-10 didn't shift by half a pixel, and made every region at least one pixel long."""
    if attribute(node, "coordinate_transformation_mode", "half_pixel") != "output_half_pixel":
        return _roi_align(op, node)
    return changed(node, without=("coordinate_transformation_mode",))


# DeformConv ----------------------------------------------------------------------------------------


def _between(position: Expr, length: Expr) -> Taps:
    """Linear between two elements, with zeros around."""
    low = position.floor()
    taps = []
    for index in (low, low + 1):
        weight = linear_weight(index - position)
        outside = (index < 0) | (index > length - 1)
        taps.append((clamp(index, 0, length - 1).cast(_I64), where(outside, weight * 0, weight)))
    return taps


def _deform_conv(op: StepBuilder, node: Node) -> Made:
    """Every kernel position is sampled where its offset points; then the kernel is a matrix."""
    op, data, weights, offset = op.newest, required(node, 0), required(node, 1), required(node, 2)
    axes, kind = rank_of(node, data) - 2, dtype_of(node, data)
    sizes = attribute(node, "kernel_shape") or (weights.tensor.shape or ())[2:]
    work, window = work_type(kind), [length for length in sizes if isinstance(length, int)]
    if len(window) != axes:
        raise Unsupported(node, "DeformConv with a kernel whose shape isn't known came with version 19")
    groups, regions = attribute(node, "group", 1), attribute(node, "offset_group", 1)
    strides, dilations = (attribute(node, name) or [1] * axes for name in ("strides", "dilations"))
    pads, positions = attribute(node, "pads") or [0] * 2 * axes, math.prod(window)
    lengths = [size_of(op, data, 2 + axis) for axis in range(axes)]
    goals = [size_of(op, offset, 2 + axis) for axis in range(axes)]
    shifts = reshape(op, as_type(op, offset, work), [None, regions, positions, axes, -1])
    inside = np.stack(np.unravel_index(np.arange(positions), window))
    outside = unravelled(arange(product(goals)), goals)
    taps = []
    for axis, length in enumerate(lengths):
        start = expr(op, inside[axis] * dilations[axis] - pads[axis], work).reshape(-1, 1)
        shift = expr(op, op.Gather(shifts, op.const(axis), axis=3))
        position = start + outside[axis].cast(work) * strides[axis] + shift
        taps.append(_between(position, length.cast(work)))
    first = arange(size_of(op, data, 0)).reshape(-1, 1, 1, 1) * regions + np.arange(regions).reshape(-1, 1, 1)
    split = reshape(op, as_type(op, data, work), [None, regions, size_of(op, data, 1) // regions, *lengths])
    rows = _rows(op, split, [2, 0, 1, *range(3, axes + 3)])
    parts = [
        weighted(op, gathered(op, rows, index, 1), weight)
        for index, weight in _corners(lengths, taps, first * product(lengths))
    ]
    columns = chained(op, "Add", parts)  # channels of a region, images, regions, positions of the kernel, output
    mask, bias = node.input(4), node.input(3)
    if mask is not None:
        columns = op.Mul(columns, reshape(op, as_type(op, mask, work), [None, regions, positions, -1]))
    columns = op.Transpose(columns, perm=[1, 2, 0, 3, 4])
    outer, inner = size_of(op, weights, 0), size_of(op, weights, 1) * positions
    columns = reshape(op, columns, [None, groups, inner, product(goals)])
    matrix = op.Reshape(as_type(op, weights, work), shape_vector(op, [groups, -1, inner]))
    made = reshape(op, op.MatMul(matrix, columns), [None, outer, *goals])
    if bias is not None:
        made = op.Add(made, op.Reshape(as_type(op, bias, work), numbers(op, [-1, *[1] * axes])))
    return as_type(op, made, kind)


# AffineGrid ----------------------------------------------------------------------------------------


def _affine_grid(op: StepBuilder, node: Node) -> Made:
    """The points of an even grid in [-1, 1], innermost axis first, and a one: times each matrix."""
    op, theta, sizes = op.newest, required(node, 0), required(node, 1)
    kind, shape, count = dtype_of(node, theta), theta.tensor.shape, sizes.tensor.shape
    told = [shape[1] if shape else None, node.output.rank, count[0] if count else None]
    found = (length - extra for length, extra in zip(told, (0, 2, 2), strict=True) if isinstance(length, int))
    axes = next(found, None)
    if axes is None:
        raise Unsupported(node, "AffineGrid with an unknown number of axes came with version 20")
    wanted, work = certain(op, sizes), work_type(kind)
    lengths = [wanted.gather([2 + axis]) for axis in range(axes)]
    columns = []
    for index, length in zip(unravelled(arange(product(lengths)), lengths), lengths, strict=True):
        position, steps = index.cast(DType.FLOAT64), length.cast(DType.FLOAT64)
        if attribute(node, "align_corners", 0):
            line = where(steps > 1, position * 2 / (steps - 1) - 1, position * 0)
        else:
            line = (position * 2 + 1) / steps - 1
        columns.insert(0, line.cast(work).reshape(-1, 1))
    columns.append(columns[0] * 0 + 1)
    made = op.MatMul(concat(op, columns, 1), op.Transpose(as_type(op, theta, work), perm=[0, 2, 1]))
    return as_type(op, reshape(op, made, [None, *lengths, axes]), kind)


ROWS = {
    ("GridSample", 16): Step("GridSample came with version 16", _grid_sample),
    ("GridSample", 20): Step(_sampling, _sampling_images),
    ("RoiAlign", 10): Step("RoiAlign came with version 10", _roi_align),
    ("RoiAlign", 16): Step(
        lambda op, node: changed(node, coordinate_transformation_mode="output_half_pixel"), _unshifted
    ),
    ("DeformConv", 19): Step("DeformConv came with version 19", _deform_conv),
    ("AffineGrid", 20): Step("AffineGrid came with version 20", _affine_grid),
}
