"""OpenVINO -> the hub: regions of interest of an image, each pooled to the same number of cells.

All regions are done at once: the indices to look at are computed for every region and cell, and their pixels gathered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....passes.build import Expr, arange, concat, expr
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .sampling import Listed, Pixels, channel_planes, in_float32, pixel_table, regions_of_rows
from .support import Results, call, choice, operand, required, round_half_away

_ALIGNED = {"asymmetric": "output_half_pixel", "half_pixel_for_nn": "half_pixel", "half_pixel": "half_pixel"}


def _cells(node: Node) -> tuple[int, int]:
    """(rows, columns) of cells in a region; ROIPooling may have them as a list, too."""
    both = node.attributes.get("output_roi") or node.attributes.get("output_size")
    if "pooled_h" not in node.attributes and isinstance(both, list) and len(both) == 2:
        rows, columns = (int(item) for item in both)
    else:
        rows, columns = int(required(node, "pooled_h")), int(required(node, "pooled_w"))
    if rows < 1 or columns < 1:
        raise InvalidModel(f"{node!r}: {rows} x {columns} cells")
    return rows, columns


# regions with corners ------------------------------------------------------------------------------


@rule(DOMAIN, "ROIAlign")
@in_float32
def roi_align(op: Builder, node: Node) -> Results:
    """ROIAlign-3, -9 (`aligned_mode`; "half_pixel" also moves the boxes by half a pixel of the image).

    "max" is the greatest of the sampled values and 0, while ONNX's compares what each corner contributes: so the
    samples are taken singly, as bins of one sample each, and pooled.
    """
    x, boxes, batches = (operand(op, node, index) for index in range(3))
    batches = batches.cast(DType.INT64)
    mode = choice(node, "aligned_mode", "asymmetric", _ALIGNED)
    if str(node.attributes.get("aligned_mode", "")).lower() == "half_pixel":
        boxes = boxes + 0.5
    height, width = _cells(node)
    samples, scale = int(node.attributes.get("sampling_ratio", 0)), float(node.attributes.get("spatial_scale", 1.0))
    greatest = choice(node, "mode", "avg", {"avg": False, "max": True})
    if greatest and not samples:
        return _greatest_of_any(x, boxes, batches, (height, width), scale, mode == "half_pixel")
    fine = samples if greatest else 1
    pooled = call(
        op,
        "RoiAlign",
        x,
        boxes,
        batches,
        mode="avg",
        output_height=height * fine,
        output_width=width * fine,
        sampling_ratio=1 if greatest else samples,
        spatial_scale=scale,
        coordinate_transformation_mode=mode,
    )
    if not greatest:
        return pooled
    return expr(op, op.MaxPool(pooled, kernel_shape=[fine, fine], strides=[fine, fine])).maximum(0).value()


def _greatest_of_any(x: Expr, boxes: Expr, batches: Expr, cells: tuple[int, int], scale: float, aligned: bool) -> Value:
    """The greatest of as many samples as each box needs."""
    left, top, right, bottom = (boxes * scale - (0.5 if aligned else 0)).split(4, 1)
    lines = []
    for start, end, count in ((top, bottom, cells[0]), (left, right, cells[1])):
        extent = end - start if aligned else (end - start).maximum(1)
        lines.append(_samples(start, extent, count, 0))
    y, x_ = _across(*lines)
    samples = _sampled(x, batches, y, x_, _inside(*lines))
    return _channels_second(samples.max(2, 4))


@rule(DOMAIN, "ROIAlignRotated")
@in_float32
def roi_align_rotated(op: Builder, node: Node) -> Results:
    """ROIAlignRotated-15: boxes by centre, sizes and angle (counted clockwise with `clockwise_mode`)."""
    x, boxes = operand(op, node, 0), operand(op, node, 1)
    batches = operand(op, node, 2, DType.INT64)
    samples = int(node.attributes.get("sampling_ratio", 0))
    sizes, angle = boxes.split([4, 1], 1)
    centre_x, centre_y, width, height = (sizes * float(node.attributes.get("spatial_scale", 1.0))).split(4, 1)
    count = _cells(node)
    rows, columns = (
        _samples(extent * -0.5, extent, cells, samples) for extent, cells in ((height, count[0]), (width, count[1]))
    )
    y, x_ = _across(rows, columns)
    sine, cosine, centre_x, centre_y = (
        one.unsqueeze(2, 3, 4) for one in (angle.sin(), angle.cos(), centre_x - 0.5, centre_y - 0.5)
    )
    if node.attributes.get("clockwise_mode", False):
        sine = -sine
    turned_y = y * cosine - x_ * sine + centre_y
    turned_x = y * sine + x_ * cosine + centre_x
    sampled = _sampled(x, batches, turned_y, turned_x, _inside(rows, columns))
    if rows.number is None or columns.number is None:
        return _channels_second(sampled.mean(2, 4))
    return _channels_second(sampled.sum(2, 4) / (rows.number * columns.number)[:, :, None, None])


class _Samples(NamedTuple):
    """Where the samples of each cell lie along one axis of the regions: [regions, cells, samples].

    `inside` tells which of them a region has, [regions, samples], and `number` how many, [regions, 1]; None where it
    is the same for all.
    """

    positions: Expr
    inside: Expr | None = None
    number: Expr | None = None


def _samples(start: Expr, extent: Expr, cells: int, samples: int) -> _Samples:
    """Evenly spaced samples in each cell of regions that begin at `start`; with 0 `samples` one for each pixel."""
    cell = extent / cells
    inside = count = None
    if samples:
        distance, index = cell / samples, cell.like(np.arange(samples))
    else:
        count = cell.ceil().maximum(1)
        most = concat(cell.op, [count.cast(DType.INT64), np.array([[1]])]).max()
        distance, index = cell / count, arange(cell.op, most).cast(cell.dtype)
        inside = index < count
    within = (distance * (index + 0.5))[:, None]
    begin = start + cell * np.arange(cells)
    return _Samples(begin[:, :, None] + within, inside, count)


def _across(rows: _Samples, columns: _Samples) -> tuple[Expr, Expr]:
    """Positions along the rows and the columns so that they meet: [regions, rows, samples, columns, samples]."""
    return rows.positions[:, :, :, None, None], columns.positions[:, None, None]


def _inside(rows: _Samples, columns: _Samples) -> Expr | None:
    if rows.inside is None or columns.inside is None:
        return None
    return rows.inside[:, None, :, None, None] & columns.inside[:, None, None, None]


def _sampled(x: Expr, batches: Expr, y: Expr, x_: Expr, inside: Expr | None) -> Expr:
    """The image at samples [regions, rows, samples, columns, samples], with the channels behind; 0 beyond its edges."""
    table = pixel_table(x)
    valid = inside
    for position, extent in zip((y, x_), table.extents, strict=True):
        within = (position >= -1) & (position <= extent.cast(position.dtype))
        valid = within if valid is None else valid & within
    assert valid is not None
    return table.where(valid, table.between(batches.unsqueeze(1, 2, 3, 4), y, x_))


def _channels_second(found: Expr) -> Value:
    """[regions, rows, columns, channels] as [regions, channels, rows, columns]."""
    return found.transpose(0, 3, 1, 2).value()


# regions of rows (batch, x1, y1, x2, y2) ------------------------------------------------------------


@rule(DOMAIN, "ROIPooling")
@in_float32
def roi_pooling(op: Builder, node: Node) -> Results:
    """ROIPooling-2: "max" over cells of whole pixels; "bilinear" takes one sample for each cell, the corners being
    shares of the image. Regions from the first of a batch below 0 on are 0."""
    x, cells = operand(op, node), _cells(node)
    greatest = choice(node, "method", "max", {"max": True, "bilinear": False})
    regions = regions_of_rows(op, node)
    if greatest:
        known = concat(op, [regions.batch.cast(regions.corners[0].dtype), *regions.corners], 1)
        scale = float(node.attributes.get("spatial_scale", 1.0))
        made = call(op, "MaxRoiPool", x, known, pooled_shape=list(cells), spatial_scale=scale)
        return regions.live(expr(op, made))
    table = pixel_table(x)
    left, top, right, bottom = regions.corners
    y, x_ = _along(top, bottom, cells[0], table.last(top, 0)), _along(left, right, cells[1], table.last(left, 1))
    y, x_ = y[:, :, None], x_[:, None]
    found = table.where(table.holds(y, 0) & table.holds(x_, 1), table.between(regions.batch[:, :, None], y, x_))
    return regions.live(found.transpose(0, 3, 1, 2))


def _along(start: Expr, end: Expr, count: int, last: Expr) -> Expr:
    """The positions from `start` to `end` of the way to the last pixel, or the one between them: [regions, count]."""
    if count == 1:
        return (start + end) * 0.5 * last
    pace = (end - start) * last / (count - 1)
    return concat(start.op, [pace * np.arange(count - 1) + start * last, end * last], 1)


# position-sensitive pooling, where every cell of a region looks at channels of its own -------------


def _image(op: Builder, node: Node, planes: int) -> Expr:
    """Input 0, an image of a number of channels."""
    x = input_of(node, 0)
    if rank_of(node, x) != 4 or size_of_axis(x, 1) not in (None, planes):
        raise InvalidModel(f"{node!r}: it needs an image of {planes} channels")
    return operand(op, node)


def _positive(node: Node, name: str, default: int | None = None) -> int:
    found = int(required(node, name) if default is None else node.attributes.get(name, default))
    if found < 1:
        raise InvalidModel(f"{node!r}: {name} is {found}")
    return found


@rule(DOMAIN, "PSROIPooling")
@in_float32
def psroi_pooling(op: Builder, node: Node) -> Results:
    """PSROIPooling-1: the mean of a cell's pixels ("average"), or of one sample for each bin of a region ("bilinear").

    Regions from the first of a batch below 0 on are 0.
    """
    average = choice(node, "mode", "average", {"average": True, "bilinear": False})
    regions = regions_of_rows(op, node)
    found = (_average if average else _bilinear)(op, node, regions)
    return regions.live(found)


# means of pixels -----------------------------------------------------------------------------------


def _average(op: Builder, node: Node, regions: Listed) -> Expr:
    """Sums over the rows of every cell as one matrix product, then over the columns.

    [cells, regions, images * height] @ [cells, images * height, channels * cells * width]
    """
    depth, group = _positive(node, "output_dim"), _positive(node, "group_size")
    x = _image(op, node, depth * group * group)
    batch, _, height, width = (x.size(axis) for axis in range(4))
    scale = float(node.attributes.get("spatial_scale", 1.0))
    left, top, right, bottom = regions.corners
    rows = _covered(top, bottom, height, group, scale)  # [regions, cells, height]
    columns = _covered(left, right, width, group, scale)
    own = regions.batch.equals(arange(op, batch)).cast(rows.dtype)  # [regions, images]
    stacked, line, count = batch * height, width * (depth * group), rows.size(0)
    lines = (own[None, :, :, None] * rows.transpose(1, 0, 2)[:, :, None]).reshape(group, count, stacked)
    split = x.reshape(batch, depth, group, group, height, width).transpose(2, 0, 4, 1, 3, 5)
    sums = lines.call("MatMul", split.reshape(group, stacked, line)).reshape(group, count, depth, group, width)
    total = (sums * columns[None, :, None]).sum(4).transpose(1, 2, 0, 3)
    area = rows.sum(2)[:, None, :, None] * columns.sum(2)[:, None, None]
    return total / area.maximum(1)


def _covered(start: Expr, end: Expr, extent: Expr, cells: int, scale: float) -> Expr:
    """1 for each pixel that a cell covers along an axis, else 0: [regions, cells, extent]."""
    begin, finish = round_half_away(start) * scale, round_half_away(end + 1) * scale
    cell = (finish - begin).maximum(0.1) / cells
    low, high = ((cell * np.arange(first, first + cells) + begin)[:, :, None] for first in (0, 1))
    positions = arange(start.op, extent).cast(start.dtype)
    return ((positions >= low.floor()) & (positions < high.ceil())).cast(start.dtype)


# samples -------------------------------------------------------------------------------------------


def _bilinear(op: Builder, node: Node, regions: Listed) -> Expr:
    """One sample for each cell and bin; the corners are shares of the image."""
    depth, group = _positive(node, "output_dim"), _positive(node, "group_size")
    bins = _positive(node, "spatial_bins_y"), _positive(node, "spatial_bins_x")
    table = pixel_table(_image(op, node, depth * bins[0] * bins[1]), bins[0] * bins[1])
    scale = float(node.attributes.get("spatial_scale", 1.0))
    left, top, right, bottom = (corner * scale for corner in regions.corners)
    y = _through(top, bottom, bins[0], group, table.last(top, 0))  # [regions, bins, cells]
    x_ = _through(left, right, bins[1], group, table.last(top, 1))
    y, x_ = y[:, :, None, :, None], x_[:, None, :, None]
    number_of = np.arange(bins[0] * bins[1]).reshape(*bins, 1, 1)
    plane = (regions.batch * number_of.size)[:, :, None, None, None] + number_of
    found = table.where(table.holds(y, 0) & table.holds(x_, 1), table.between(plane, y, x_))
    return found.mean(1, 2).transpose(0, 3, 1, 2)


def _through(start: Expr, end: Expr, bins: int, cells: int, last: Expr) -> Expr:
    """Where the cells of each bin look, as shares of the way to the last pixel: [regions, bins, cells]."""
    part = (end - start) / bins
    low, high = ((start + part * np.arange(first, first + bins))[:, :, None] for first in (0, 1))
    if cells == 1:
        return (low + high) * 0.5 * last
    return (high - low) * last / (cells - 1) * np.arange(cells) + low * last


@rule(DOMAIN, "DeformablePSROIPooling")
@in_float32
def deformable_psroi_pooling(op: Builder, node: Node) -> Results:
    """DeformablePSROIPooling-1: the mean of the samples on the image, in cells that offsets may move (input 2)."""
    choice(node, "mode", "bilinear_deformable", {"bilinear_deformable": True})
    depth, group = _positive(node, "output_dim"), _positive(node, "group_size", 1)
    bins = _positive(node, "spatial_bins_y", 1), _positive(node, "spatial_bins_x", 1)
    table, regions = channel_planes(_image(op, node, depth * group * group)), regions_of_rows(op, node)
    classes = 1 if node.input(2) is None else (size_of_axis(input_of(node, 2), 1) or 0) // 2
    if not classes or depth % classes:
        raise InvalidModel(f"{node!r}: offsets of {classes} classes for {depth} channels")
    scale = float(node.attributes.get("spatial_scale", 1.0))
    left, top, right, bottom = regions.corners
    y = _moved(op, node, (top, bottom, 0), (bins[0], group, scale))
    x_ = _moved(op, node, (left, right, 1), (bins[1], group, scale))
    channel = np.arange(depth * group * group).reshape(classes, depth // classes, group, group, 1, 1)
    plane = (regions.batch * channel.size).unsqueeze(2, 3, 4, 5, 6) + channel
    valid = _on_image(table, y, 0) & _on_image(table, x_, 1)
    total = table.where(valid, table.between(plane, y, x_)).sum(5, 6)
    mean = total / valid.cast(total.dtype).sum(5, 6).maximum(1)
    return regions.live(mean.reshape(regions.batch.size(0), depth, group, group))


def _on_image(table: Pixels, position: Expr, axis: int) -> Expr:
    """Whether positions lie on a pixel, which reaches half its size around it."""
    return (position >= -0.5) & (position <= table.last(position, axis) + 0.5)


def _moved(op: Builder, node: Node, region: tuple[Expr, Expr, int], cut: tuple[int, int, float]) -> Expr:
    """The samples' positions along the rows (axis 0) or columns (1).

    [regions, classes, 1, rows, columns, bins, 1], the bins of columns behind those of rows.
    """
    (start, end, axis), (bins, group, scale) = region, cut
    begin, finish = round_half_away(start) * scale - 0.5, (round_half_away(end) + 1) * scale - 0.5
    extent = (finish - begin).maximum(0.1)
    begin, extent = (one.unsqueeze(2, 3, 4, 5, 6) for one in (begin, extent))
    cell = extent / group
    position = cell * np.arange(group).reshape((group, 1, 1, 1) if axis == 0 else (group, 1, 1)) + begin
    if node.input(2) is not None:
        which = np.arange(group) * _positive(node, "part_size", 1) // group
        shifts = operand(op, node, 2).gather(which, axis=2).gather(which, axis=3)
        pairs = shifts.reshape(shifts.size(0), (size_of_axis(input_of(node, 2), 1) or 0) // 2, 2, group, group, 1)
        own = pairs[:, :, 1 - axis : 2 - axis, ..., None]  # columns come first
        position = position + own * float(node.attributes.get("trans_std", 1.0)) * extent
    return position + cell / bins * np.arange(bins).reshape((bins, 1) if axis == 0 else (bins,))


RULES = collect(globals())
