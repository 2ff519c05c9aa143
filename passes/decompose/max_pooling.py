"""Where something is largest: Hardmax, and the maxima of the cells of regions."""

from __future__ import annotations

import numpy as np

from ..attributes import NodeAttributes
from ..build import Expr, arange, expr, pad, size_of, where
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required, size_of_axis
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import any_of, numbers


def _indices(op: Builder, value: Value, axis: int) -> Expr:
    """0, 1, 2 ... as many as the axis is long, int64."""
    return arange(op, size_of(op, value, axis))


@rule("", "Hardmax")
def hardmax(op: Builder, node: Node) -> Value:
    """Hardmax-13: 1 at the first largest element along the axis, else 0."""
    x = required(node, 0)
    dtype, rank = dtype_of(node, x), rank_of(node, x)
    if rank == 0:
        return numbers(op, 1, dtype)
    axis = node.attributes.get("axis", -1) % rank
    size = size_of_axis(x, axis)
    if size == 0:  # nothing has no largest element
        return op.Identity(x)
    some = x  # where there may be none, one more stands behind, which is never the first of the largest
    if size is None:
        some = pad(op, x, [0], [1], -np.inf, axes=[axis])
    first = _indices(op, x, axis).reshape(-1, *[1] * (rank - 1 - axis)).equals(op.ArgMax(some, axis=axis))
    return op.Where(first, numbers(op, 1, dtype), numbers(op, 0, dtype))


def _cells(op: Builder, x: Value, axis: int, first: Expr, last: Expr, count: int) -> Expr:
    """[regions, cells, size of the axis]: whether an element lies in a cell of a region from `first` to `last`.

    The bounds of the cells are computed in integers, so that none is shifted by rounding.
    """
    length = (last - first + 1).maximum(1)
    low, high = length * np.arange(count) // count, (length * np.arange(1, count + 1) + (count - 1)) // count
    begin, end = ((bound + first).unsqueeze(2) for bound in (low, high))
    indices = _indices(op, x, axis)
    return (indices >= begin) & (indices < end)


@rule("", "MaxRoiPool")
def max_roi_pool(op: Builder, node: Node) -> Value:
    """MaxRoiPool-22: the maximum over each cell of a grid laid over each region (batch, x1, y1, x2, y2); 0 for an empty
    cell. First over rows, then over columns."""
    x, attrs = required(node, 0), NodeAttributes(node)
    dtype_of(node, x)
    height, width = attrs.ints("pooled_shape")
    rois = expr(op, required(node, 1), DType.FLOAT32)
    corners = (rois * attrs.float("spatial_scale") + 0.5).floor().cast(DType.INT64)
    left, top, right, bottom = (corners.gather([index], 1) for index in range(1, 5))
    rows, columns = _cells(op, x, 2, top, bottom, height), _cells(op, x, 3, left, right, width)
    images = expr(op, x).gather(rois.cast(DType.INT64)[:, 0])
    across = images.transpose(0, 1, 3, 2)  # [regions, channels, width, height]
    tall = where(rows.unsqueeze(1, 3), across.unsqueeze(2), -np.inf).max(-1)
    found = where(columns.unsqueeze(1, 2), tall.unsqueeze(3), -np.inf).max(-1)
    seen = any_of(rows, 2).unsqueeze(1, 3) & any_of(columns, 2).unsqueeze(1, 2)
    return where(seen, found, 0).value()


RULES = collect(globals())
