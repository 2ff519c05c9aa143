"""OpenVINO -> the hub: position-sensitive pooling, where every cell of a region looks at channels of its own."""

from __future__ import annotations

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import given, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .sampling import Listed, Pixels, in_float32, listed, pixels, single
from .support import Results, cast, choice, dimension, half_away, number, reckoned, required, shaped, steps


def _image(node: Node, planes: int) -> Value:
    """Input 0, an image of a number of channels."""
    x = given(node, 0)
    if rank_of(node, x) != 4 or size_of_axis(x, 1) not in (None, planes):
        raise InvalidModel(f"{node!r}: it needs an image of {planes} channels")
    return x


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
    regions = listed(op, node, given(node, 1))
    found = (_average if average else _bilinear)(op, node, regions)
    return regions.live(op, found)


# means of pixels -----------------------------------------------------------------------------------


def _average(op: Builder, node: Node, regions: Listed) -> Value:
    """Sums over the rows of every cell as one matrix product, then over the columns.

    [cells, regions, images * height] @ [cells, images * height, channels * cells * width]
    """
    depth, group = _positive(node, "output_dim"), _positive(node, "group_size")
    x = _image(node, depth * group * group)
    batch, _, height, width = (dimension(op, x, axis) for axis in range(4))
    scale = float(node.attributes.get("spatial_scale", 1.0))
    left, top, right, bottom = regions.corners
    rows = _covered(op, top, bottom, height, group, scale)  # [regions, cells, height]
    columns = _covered(op, left, right, width, group, scale)
    cells, channels = op.const([group]), op.const([depth])
    own = op.Equal(regions.batch, steps(op, batch))  # [regions, images]
    own = op.Unsqueeze(cast(op, own, rows.tensor.dtype or DType.FLOAT32), op.const([0, 3]))
    spread = op.Mul(own, op.Unsqueeze(op.Transpose(rows, perm=[1, 0, 2]), op.const([2])))
    stacked = reckoned(op, "Mul", batch, height)
    count = dimension(op, rows, 0)
    split = shaped(op, x, [batch, channels, cells, cells, height, width])
    turned = op.Transpose(split, perm=[2, 0, 4, 1, 3, 5])
    line = reckoned(op, "Mul", width, op.const([depth * group]))
    sums = op.MatMul(shaped(op, spread, [cells, count, stacked]), shaped(op, turned, [cells, stacked, line]))
    each = op.Mul(shaped(op, sums, [cells, count, channels, cells, width]), op.Unsqueeze(columns, op.const([0, 2])))
    total = op.Transpose(op.ReduceSum(each, op.const([4]), keepdims=0), perm=[1, 2, 0, 3])
    tall, wide = (op.ReduceSum(one, op.const([2]), keepdims=0) for one in (rows, columns))
    area = op.Mul(op.Unsqueeze(tall, op.const([1, 3])), op.Unsqueeze(wide, op.const([1, 2])))
    return op.Div(total, op.Max(area, number(op, 1, area)))


def _covered(op: Builder, start: Value, end: Value, extent: Value, cells: int, scale: float) -> Value:
    """1 for each pixel that a cell covers along an axis, else 0: [regions, cells, extent]."""
    factor = number(op, scale, start)
    begin = op.Mul(half_away(op, start), factor)
    finish = op.Mul(half_away(op, op.Add(end, number(op, 1, end))), factor)
    cell = op.Div(op.Max(op.Sub(finish, begin), number(op, 0.1, begin)), number(op, cells, begin))
    index = np.arange(cells + 1)
    edges = [op.Mul(cell, op.const(part, cell.tensor.dtype or DType.FLOAT32)) for part in (index[:-1], index[1:])]
    low, high = (op.Unsqueeze(op.Add(edge, begin), op.const([2])) for edge in edges)
    places = cast(op, steps(op, extent), low.tensor.dtype or DType.FLOAT32)
    covered = op.And(op.GreaterOrEqual(places, op.Floor(low)), op.Less(places, op.Ceil(high)))
    return cast(op, covered, low.tensor.dtype or DType.FLOAT32)


# samples -------------------------------------------------------------------------------------------


def _bilinear(op: Builder, node: Node, regions: Listed) -> Value:
    """One sample for each cell and bin; the corners are shares of the image."""
    depth, group = _positive(node, "output_dim"), _positive(node, "group_size")
    bins = _positive(node, "spatial_bins_y"), _positive(node, "spatial_bins_x")
    table = pixels(op, _image(node, depth * bins[0] * bins[1]), [bins[0] * bins[1]])
    scale = float(node.attributes.get("spatial_scale", 1.0))
    left, top, right, bottom = (op.Mul(corner, number(op, scale, corner)) for corner in regions.corners)
    y = _through(op, top, bottom, bins[0], group, table.last(op, top, 0))  # [regions, bins, cells]
    x_ = _through(op, left, right, bins[1], group, table.last(op, top, 1))
    y, x_ = op.Unsqueeze(y, op.const([2, 4])), op.Unsqueeze(x_, op.const([1, 3]))
    number_of = np.arange(bins[0] * bins[1]).reshape(*bins, 1, 1)
    images = op.Mul(regions.batch, op.const([bins[0] * bins[1]]))
    plane = op.Add(op.Unsqueeze(images, op.const([2, 3, 4])), op.const(number_of, DType.INT64))
    valid = op.And(table.holds(op, y, 0), table.holds(op, x_, 1))
    found = table.between(op, plane, table.held(op, y, 0), table.held(op, x_, 1))
    found = op.Where(op.Unsqueeze(valid, op.const([-1])), found, number(op, 0, found))
    return op.Transpose(op.ReduceMean(found, op.const([1, 2]), keepdims=0), perm=[0, 3, 1, 2])


def _through(op: Builder, start: Value, end: Value, bins: int, cells: int, last: Value) -> Value:
    """Where the cells of each bin look, as shares of the way to the last pixel: [regions, bins, cells]."""
    dtype = start.tensor.dtype or DType.FLOAT32
    part = op.Div(op.Sub(end, start), number(op, bins, start))
    low, high = (
        op.Unsqueeze(op.Add(start, op.Mul(op.const(index, dtype), part)), op.const([2]))
        for index in (np.arange(bins), np.arange(1, bins + 1))
    )
    if cells == 1:
        return op.Mul(op.Mul(op.Add(low, high), number(op, 0.5, low)), last)
    pace = op.Div(op.Mul(op.Sub(high, low), last), number(op, cells - 1, low))
    return op.Add(op.Mul(op.const(np.arange(cells), dtype), pace), op.Mul(low, last))


@rule(DOMAIN, "DeformablePSROIPooling")
@in_float32
def deformable_psroi_pooling(op: Builder, node: Node) -> Results:
    """DeformablePSROIPooling-1: the mean of the samples on the image, in cells that offsets may move (input 2)."""
    choice(node, "mode", "bilinear_deformable", {"bilinear_deformable": True})
    depth, group = _positive(node, "output_dim"), _positive(node, "group_size", 1)
    bins = _positive(node, "spatial_bins_y", 1), _positive(node, "spatial_bins_x", 1)
    image = _image(node, depth * group * group)
    table, regions = single(op, image), listed(op, node, given(node, 1))
    classes = 1 if node.input(2) is None else (size_of_axis(given(node, 2), 1) or 0) // 2
    if not classes or depth % classes:
        raise InvalidModel(f"{node!r}: offsets of {classes} classes for {depth} channels")
    scale = float(node.attributes.get("spatial_scale", 1.0))
    left, top, right, bottom = regions.corners
    y, x_ = (
        _moved(op, node, (start, end, axis), (bins[axis], group, scale))
        for axis, (start, end) in enumerate(((top, bottom), (left, right)))
    )
    channel = np.arange(depth * group * group).reshape(classes, depth // classes, group, group, 1, 1)
    images = op.Unsqueeze(op.Mul(regions.batch, op.const([channel.size])), op.const([2, 3, 4, 5, 6]))
    plane = op.Add(images, op.const(channel, DType.INT64))
    valid = op.And(*(_on_image(op, table, place, axis) for axis, place in enumerate((y, x_))))
    found = table.between(op, plane, table.held(op, y, 0), table.held(op, x_, 1))
    over = op.const([5, 6])
    total = op.ReduceSum(op.Where(valid, found, number(op, 0, found)), over, keepdims=0)
    count = op.ReduceSum(cast(op, valid, found.tensor.dtype or DType.FLOAT32), over, keepdims=0)
    mean = op.Div(total, op.Max(count, number(op, 1, count)))
    shape = [dimension(op, regions.batch, 0), op.const([depth, group, group])]
    return regions.live(op, shaped(op, mean, shape))


def _on_image(op: Builder, table: Pixels, place: Value, axis: int) -> Value:
    """Whether places lie on a pixel, which reaches half its size around it."""
    most = op.Add(table.last(op, place, axis), number(op, 0.5, place))
    return op.And(op.GreaterOrEqual(place, number(op, -0.5, place)), op.LessOrEqual(place, most))


def _moved(op: Builder, node: Node, region: tuple[Value, Value, int], cut: tuple[int, int, float]) -> Value:
    """The samples' places along the rows (axis 0) or columns (1).

    [regions, classes, 1, rows, columns, bins, 1], the bins of columns behind those of rows.
    """
    (start, end, axis), (bins, group, scale) = region, cut
    dtype, half = start.tensor.dtype or DType.FLOAT32, number(op, 0.5, start)
    factor, one = number(op, scale, start), number(op, 1, start)
    begin = op.Sub(op.Mul(half_away(op, start), factor), half)
    finish = op.Sub(op.Mul(op.Add(half_away(op, end), one), factor), half)
    extent = op.Max(op.Sub(finish, begin), number(op, 0.1, start))
    cell = op.Div(extent, number(op, group, extent))
    spread = op.const([2, 3, 4, 5, 6])
    begin, extent, cell = (op.Unsqueeze(value, spread) for value in (begin, extent, cell))
    index = np.arange(group).reshape((group, 1, 1, 1) if axis == 0 else (group, 1, 1))
    place = op.Add(op.Mul(op.const(index, dtype), cell), begin)
    if node.input(2) is not None:
        part = _positive(node, "part_size", 1)
        which = np.arange(group) * part // group
        shifts = op.Gather(op.Gather(given(node, 2), op.const(which), axis=2), op.const(which), axis=3)
        count = dimension(op, shifts, 0)
        classes = op.const([(size_of_axis(shifts, 1) or 0) // 2])
        pairs = shaped(op, shifts, [count, classes, op.const([2, group, group, 1])])
        own = op.Slice(pairs, op.const([1 - axis]), op.const([2 - axis]), op.const([2]))  # columns come first
        own = op.Unsqueeze(own, op.const([6]))
        moved = op.Mul(own, number(op, float(node.attributes.get("trans_std", 1.0)), own))
        place = op.Add(place, op.Mul(moved, extent))
    shape = (bins, 1) if axis == 0 else (bins,)
    within = op.Mul(op.const(np.arange(bins).reshape(shape), dtype), op.Div(cell, number(op, bins, cell)))
    return op.Add(place, within)


RULES = collect(globals())
