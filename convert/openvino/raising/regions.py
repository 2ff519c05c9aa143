"""OpenVINO -> the hub: regions of interest of an image, each pooled to the same number of cells.

All regions are done at once: the places to look at are reckoned for every region and cell, and their pixels gathered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import given
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from . import position_sensitive
from .sampling import in_float32, listed, pixels
from .support import Results, call, cast, choice, number, required, steps

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
    x, boxes, batches = given(node, 0), given(node, 1), cast(op, given(node, 2), DType.INT64)
    mode = choice(node, "aligned_mode", "asymmetric", _ALIGNED)
    if str(node.attributes.get("aligned_mode", "")).lower() == "half_pixel":
        boxes = op.Add(boxes, number(op, 0.5, boxes))
    height, width = _cells(node)
    samples, scale = int(node.attributes.get("sampling_ratio", 0)), float(node.attributes.get("spatial_scale", 1.0))
    greatest = choice(node, "mode", "avg", {"avg": False, "max": True})
    if greatest and not samples:
        return _greatest_of_any(op, x, boxes, batches, (height, width), scale, mode == "half_pixel")
    fine = samples if greatest else 1
    found = call(
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
        return found
    pooled = op.MaxPool(found, kernel_shape=[fine, fine], strides=[fine, fine])
    return op.Max(pooled, number(op, 0, pooled))


def _greatest_of_any(
    op: Builder, x: Value, boxes: Value, batches: Value, cells: tuple[int, int], scale: float, aligned: bool
) -> Value:
    """The greatest of as many samples as each box needs."""
    corners = op.Mul(boxes, number(op, scale, boxes))
    if aligned:
        corners = op.Sub(corners, number(op, 0.5, boxes))
    left, top, right, bottom = op.Split(corners, axis=1, num_outputs=4, _outputs=4)
    lines = []
    for start, end, count in ((top, bottom, cells[0]), (left, right, cells[1])):
        extent = op.Sub(end, start)
        if not aligned:
            extent = op.Max(extent, number(op, 1, extent))
        lines.append(_samples(op, start, extent, count, 0))
    rows, columns = lines
    y, x_ = op.Unsqueeze(rows.places, op.const([3, 4])), op.Unsqueeze(columns.places, op.const([1, 2]))
    found = _sampled(op, x, batches, y, x_, _inside(op, rows, columns))
    return _channels_second(op, op.ReduceMax(found, op.const([2, 4]), keepdims=0))


@rule(DOMAIN, "ROIAlignRotated")
@in_float32
def roi_align_rotated(op: Builder, node: Node) -> Results:
    """ROIAlignRotated-15: boxes by centre, sizes and angle (counted clockwise with `clockwise_mode`)."""
    x, boxes, batches = given(node, 0), given(node, 1), cast(op, given(node, 2), DType.INT64)
    samples = int(node.attributes.get("sampling_ratio", 0))
    scale = number(op, float(node.attributes.get("spatial_scale", 1.0)), boxes)
    sizes, angle = op.Split(boxes, op.const([4, 1]), axis=1, _outputs=2)
    centre_x, centre_y, width, height = op.Split(op.Mul(sizes, scale), axis=1, num_outputs=4, _outputs=4)
    half = number(op, 0.5, boxes)
    count = _cells(node)
    rows, columns = (
        _samples(op, op.Mul(extent, number(op, -0.5, boxes)), extent, number_of, samples)
        for extent, number_of in ((height, count[0]), (width, count[1]))
    )
    y, x_ = op.Unsqueeze(rows.places, op.const([3, 4])), op.Unsqueeze(columns.places, op.const([1, 2]))
    over = op.const([2, 3, 4])
    sine, cosine = (op.Unsqueeze(one, over) for one in (op.Sin(angle), op.Cos(angle)))
    if node.attributes.get("clockwise_mode", False):
        sine = op.Neg(sine)
    centre_x, centre_y = (op.Unsqueeze(op.Sub(one, half), over) for one in (centre_x, centre_y))
    turned_y = op.Add(op.Sub(op.Mul(y, cosine), op.Mul(x_, sine)), centre_y)
    turned_x = op.Add(op.Add(op.Mul(y, sine), op.Mul(x_, cosine)), centre_x)
    found = _sampled(op, x, batches, turned_y, turned_x, _inside(op, rows, columns))
    if samples:
        return _channels_second(op, op.ReduceMean(found, op.const([2, 4]), keepdims=0))
    total = op.ReduceSum(found, op.const([2, 4]), keepdims=0)
    return _channels_second(op, op.Div(total, op.Unsqueeze(op.Mul(rows.number, columns.number), op.const([2, 3]))))


class _Samples(NamedTuple):
    """Where the samples of each cell lie along one axis of the regions: [regions, cells, samples].

    `inside` tells which of them a region has, [regions, samples], and `number` how many, [regions, 1]; None where it
    is the same for all.
    """

    places: Value
    inside: Value | None
    number: Value | None


def _samples(op: Builder, start: Value, extent: Value, cells: int, samples: int) -> _Samples:
    """Evenly spaced samples in each cell of regions that begin at `start`; with 0 `samples` one for each pixel."""
    cell = op.Div(extent, number(op, cells, extent))
    inside = count = None
    if samples:
        distance = op.Div(cell, number(op, samples, cell))
        index = op.const(np.arange(samples))
    else:
        count = op.Max(op.Ceil(cell), number(op, 1, cell))
        distance = op.Div(cell, count)
        index = steps(op, op.ReduceMax(op.Concat(cast(op, count, DType.INT64), op.const([[1]]), axis=0), keepdims=0))
        inside = op.Less(cast(op, index, count.tensor.dtype or DType.FLOAT32), count)
    centre = op.Add(cast(op, index, cell.tensor.dtype or DType.FLOAT32), number(op, 0.5, cell))
    within = op.Unsqueeze(op.Mul(distance, centre), op.const([1]))
    begin = op.Add(start, op.Mul(cell, op.const(np.arange(cells), cell.tensor.dtype)))
    return _Samples(op.Add(op.Unsqueeze(begin, op.const([2])), within), inside, count)


def _inside(op: Builder, rows: _Samples, columns: _Samples) -> Value | None:
    if rows.inside is None or columns.inside is None:
        return None
    return op.And(op.Unsqueeze(rows.inside, op.const([1, 3, 4])), op.Unsqueeze(columns.inside, op.const([1, 2, 3])))


def _sampled(op: Builder, x: Value, batches: Value, y: Value, x_: Value, inside: Value | None) -> Value:
    """The image at samples [regions, rows, samples, columns, samples], with the channels behind; 0 beyond its edges."""
    table = pixels(op, x)
    plane = op.Unsqueeze(batches, op.const([1, 2, 3, 4]))
    valid = inside
    for place, extent in ((y, table.height), (x_, table.width)):
        least = op.GreaterOrEqual(place, number(op, -1, place))
        within = op.And(least, op.LessOrEqual(place, cast(op, extent, place.tensor.dtype or DType.FLOAT32)))
        valid = within if valid is None else op.And(valid, within)
    found = table.between(op, plane, table.held(op, y, 0), table.held(op, x_, 1))
    assert valid is not None
    return op.Where(op.Unsqueeze(valid, op.const([-1])), found, number(op, 0, found))


def _channels_second(op: Builder, value: Value) -> Value:
    """[regions, rows, columns, channels] as [regions, channels, rows, columns]."""
    return op.Transpose(value, perm=[0, 3, 1, 2])


# regions of rows (batch, x1, y1, x2, y2) ------------------------------------------------------------


@rule(DOMAIN, "ROIPooling")
@in_float32
def roi_pooling(op: Builder, node: Node) -> Results:
    """ROIPooling-2: "max" over cells of whole pixels; "bilinear" takes one sample for each cell, the corners being
    shares of the image. Regions from the first of a batch below 0 on are 0."""
    x, boxes = given(node, 0), given(node, 1)
    cells = _cells(node)
    greatest = choice(node, "method", "max", {"max": True, "bilinear": False})
    rows = listed(op, node, boxes)
    if greatest:
        known = op.Concat(cast(op, rows.batch, rows.corners[0].tensor.dtype or DType.FLOAT32), *rows.corners, axis=1)
        scale = float(node.attributes.get("spatial_scale", 1.0))
        return rows.live(op, call(op, "MaxRoiPool", x, known, pooled_shape=list(cells), spatial_scale=scale))
    table = pixels(op, x)
    left, top, right, bottom = rows.corners
    y, x_ = (
        op.Unsqueeze(_along(op, start, end, count, table.last(op, start, axis)), op.const([2 - axis]))
        for axis, (start, end, count) in enumerate(((top, bottom, cells[0]), (left, right, cells[1])))
    )
    valid = op.And(*(table.holds(op, place, axis) for axis, place in enumerate((y, x_))))
    plane = op.Unsqueeze(rows.batch, op.const([2]))
    found = table.between(op, plane, table.held(op, y, 0), table.held(op, x_, 1))
    found = op.Where(op.Unsqueeze(valid, op.const([-1])), found, number(op, 0, found))
    return rows.live(op, _channels_second(op, found))


def _along(op: Builder, start: Value, end: Value, count: int, last: Value) -> Value:
    """The places from `start` to `end` of the way to the last pixel, or the one between them: [regions, count]."""
    if count == 1:
        return op.Mul(op.Mul(op.Add(start, end), number(op, 0.5, start)), last)
    pace = op.Div(op.Mul(op.Sub(end, start), last), number(op, count - 1, start))
    index = op.const(np.arange(count - 1), start.tensor.dtype or DType.FLOAT32)
    return op.Concat(op.Add(op.Mul(index, pace), op.Mul(start, last)), op.Mul(end, last), axis=1)


RULES = combine(collect(globals()), position_sensitive.RULES)
