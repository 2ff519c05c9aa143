"""Where something is largest: Hardmax, and the maxima of the cells of regions."""

from __future__ import annotations

import numpy as np

from ..attributes import NodeAttributes
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required, size_of_axis
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import any_of, cast, numbers


def _places(op: Builder, value: Value, axis: int) -> Value:
    """0, 1, 2 ... as many as the axis is long, int64."""
    size = size_of_axis(value, axis)
    if size is not None:
        return op.const(np.arange(size))
    count = op.Reshape(op.Shape(value, start=axis, end=axis + 1), op.const([], DType.INT64))
    return op.Range(op.const(0), count, op.const(1))


@rule("", "Hardmax")
def hardmax(op: Builder, node: Node) -> Value:
    """Hardmax-13: 1 at the first largest element along the axis, else 0."""
    x = required(node, 0)
    dtype, rank = dtype_of(node, x), rank_of(node, x)
    if rank == 0:
        return numbers(op, 1, dtype)
    axis = node.attributes.get("axis", -1) % rank
    places = op.Reshape(_places(op, x, axis), op.const([-1] + [1] * (rank - 1 - axis)))
    first = op.Equal(places, op.ArgMax(x, axis=axis))
    return op.Where(first, numbers(op, 1, dtype), numbers(op, 0, dtype))


def _cells(op: Builder, x: Value, axis: int, first: Value, last: Value, count: int) -> Value:
    """[regions, cells, size of the axis]: whether an element lies in a cell of a region from `first` to `last`.

    The bounds of the cells are reckoned in integers, so that none is shifted by rounding.
    """
    length = op.Max(op.Add(op.Sub(last, first), op.const([1])), op.const([1]))
    low = op.Div(op.Mul(length, op.const(np.arange(count))), op.const(count))
    high = op.Div(op.Add(op.Mul(length, op.const(np.arange(1, count + 1))), op.const(count - 1)), op.const(count))
    begin, end = (op.Unsqueeze(op.Add(bound, first), op.const([2])) for bound in (low, high))
    places = _places(op, x, axis)
    return op.And(op.GreaterOrEqual(places, begin), op.Less(places, end))


@rule("", "MaxRoiPool")
def max_roi_pool(op: Builder, node: Node) -> Value:
    """MaxRoiPool-22: the maximum over each cell of a grid laid over each region (batch, x1, y1, x2, y2); 0 for an empty
    cell. First over rows, then over columns."""
    x, attrs = required(node, 0), NodeAttributes(node)
    dtype = dtype_of(node, x)
    height, width = attrs.ints("pooled_shape")
    rois = cast(op, node, required(node, 1), DType.FLOAT32)
    scaled = op.Mul(rois, numbers(op, attrs.float("spatial_scale")))
    corners = cast(op, node, op.Floor(op.Add(scaled, numbers(op, 0.5))), DType.INT64)
    left, top, right, bottom = (op.Gather(corners, op.const([place]), axis=1) for place in range(1, 5))
    rows, columns = _cells(op, x, 2, top, bottom, height), _cells(op, x, 3, left, right, width)
    batch = op.Gather(cast(op, node, rois, DType.INT64), op.const(0), axis=1)
    nothing, last = numbers(op, -np.inf, dtype), op.const([-1])

    def largest(values: Value, cells: Value) -> Value:
        return op.ReduceMax(op.Where(cells, values, nothing), last, keepdims=0)

    across = op.Transpose(op.Gather(x, batch, axis=0), perm=[0, 1, 3, 2])  # [regions, channels, width, height]
    tall = largest(op.Unsqueeze(across, op.const([2])), op.Unsqueeze(rows, op.const([1, 3])))
    found = largest(op.Unsqueeze(tall, op.const([3])), op.Unsqueeze(columns, op.const([1, 2])))
    seen = op.And(
        op.Unsqueeze(any_of(op, rows, 2), op.const([1, 3])), op.Unsqueeze(any_of(op, columns, 2), op.const([1, 2]))
    )
    return op.Where(seen, found, numbers(op, 0, dtype))


RULES = collect(globals())
