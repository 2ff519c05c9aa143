"""OpenVINO -> the hub: position-sensitive pooling, where every cell of a region looks at channels of its own."""

from __future__ import annotations

import numpy as np

from ....passes.build import Expr, arange
from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.preconditions import given, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from .sampling import Listed, Pixels, in_float32, listed, pixels, single
from .support import Results, choice, half_away, operand, required


def _image(op: Builder, node: Node, planes: int) -> Expr:
    """Input 0, an image of a number of channels."""
    x = given(node, 0)
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
    regions = listed(op, node)
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
    begin, finish = half_away(start) * scale, half_away(end + 1) * scale
    cell = (finish - begin).maximum(0.1) / cells
    low, high = ((cell * np.arange(first, first + cells) + begin)[:, :, None] for first in (0, 1))
    places = arange(start.op, extent).cast(start.dtype)
    return ((places >= low.floor()) & (places < high.ceil())).cast(start.dtype)


# samples -------------------------------------------------------------------------------------------


def _bilinear(op: Builder, node: Node, regions: Listed) -> Expr:
    """One sample for each cell and bin; the corners are shares of the image."""
    depth, group = _positive(node, "output_dim"), _positive(node, "group_size")
    bins = _positive(node, "spatial_bins_y"), _positive(node, "spatial_bins_x")
    table = pixels(_image(op, node, depth * bins[0] * bins[1]), bins[0] * bins[1])
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
    table, regions = single(_image(op, node, depth * group * group)), listed(op, node)
    classes = 1 if node.input(2) is None else (size_of_axis(given(node, 2), 1) or 0) // 2
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


def _on_image(table: Pixels, place: Expr, axis: int) -> Expr:
    """Whether places lie on a pixel, which reaches half its size around it."""
    return (place >= -0.5) & (place <= table.last(place, axis) + 0.5)


def _moved(op: Builder, node: Node, region: tuple[Expr, Expr, int], cut: tuple[int, int, float]) -> Expr:
    """The samples' places along the rows (axis 0) or columns (1).

    [regions, classes, 1, rows, columns, bins, 1], the bins of columns behind those of rows.
    """
    (start, end, axis), (bins, group, scale) = region, cut
    begin, finish = half_away(start) * scale - 0.5, (half_away(end) + 1) * scale - 0.5
    extent = (finish - begin).maximum(0.1)
    begin, extent = (one.unsqueeze(2, 3, 4, 5, 6) for one in (begin, extent))
    cell = extent / group
    place = cell * np.arange(group).reshape((group, 1, 1, 1) if axis == 0 else (group, 1, 1)) + begin
    if node.input(2) is not None:
        which = np.arange(group) * _positive(node, "part_size", 1) // group
        shifts = operand(op, node, 2).gather(which, axis=2).gather(which, axis=3)
        pairs = shifts.reshape(shifts.size(0), (size_of_axis(given(node, 2), 1) or 0) // 2, 2, group, group, 1)
        own = pairs[:, :, 1 - axis : 2 - axis, ..., None]  # columns come first
        place = place + own * float(node.attributes.get("trans_std", 1.0)) * extent
    return place + cell / bins * np.arange(bins).reshape((bins, 1) if axis == 0 else (bins,))


RULES = collect(globals())
