"""What the rules for suppression, proposals and detections share: corners, overlap, orders, rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from .support import cast, constant, dimension, integers, joined, number, vector

# overlap -------------------------------------------------------------------------------------------


def suppress(
    op: Builder,
    boxes: Value,
    scores: Value,
    overlap: float | Value,
    most: Value | None = None,
    least: float | Value | None = None,
    centred: bool = False,
) -> Value:
    """[batch, class, box] of the boxes that overlap none that is kept by more than `overlap`, best first.

    `boxes` [batches, boxes, 4], `scores` [batches, classes, boxes], both float32; `most` int64 [1] for each class
    (None: all), `least` the score to be exceeded (None: any, but -inf). ONNX wants an overlap from 0 to 1: below that,
    only the best box of each class is kept; nothing ever overlaps by more than 1.
    """
    if most is None:
        most = dimension(op, scores, 2)
    if isinstance(overlap, float):
        if overlap < 0:
            most = least_of(op, most, 1)
        overlap = op.const([min(max(overlap, 0.0), 1.0)])
    if least is None:
        least = float(np.finfo(np.float32).min)
    if isinstance(least, float):
        least = op.const([least])
    return op.NonMaxSuppression(boxes, scores, most, overlap, least, center_point_box=int(centred) or None)


def least_of(op: Builder, count: Value, bound: int | Value) -> Value:
    """The smaller of two sizes (int64 [1])."""
    other = op.const([bound], DType.INT64) if isinstance(bound, int) else bound
    known = [integers(count), integers(other)]
    if None not in known:
        return op.const([min(item[0] for item in known if item)], DType.INT64)
    return op.Min(count, other)


def shares(op: Builder, low: Value, high: Value, other_low: Value, other_high: Value) -> Value:
    """Intersection over union of boxes by their corners [..., 2], 0 where a box has no area; broadcast."""
    zero = number(op, 0, low)
    sides = op.Max(op.Sub(op.Min(high, other_high), op.Max(low, other_low)), zero)
    common = area(op, sides)
    mine, other = area(op, op.Sub(high, low)), area(op, op.Sub(other_high, other_low))
    share = op.Div(common, op.Sub(op.Add(mine, other), common))
    return op.Where(op.And(op.Greater(mine, zero), op.Greater(other, zero)), share, zero)


def area(op: Builder, sides: Value) -> Value:
    """The product of the sides [..., 2]."""
    return op.ReduceProd(sides, op.const([-1]), keepdims=0)


# orders --------------------------------------------------------------------------------------------


def order_of(op: Builder, keys: Value, largest: bool = True) -> Value:
    """The indices that sort a vector, equal keys staying in their order."""
    return op.TopK(keys, op.Shape(keys), axis=0, largest=None if largest else 0, _outputs=2)[1]


def reordered(op: Builder, order: Value, *rows: Value) -> list[Value]:
    return [op.Gather(one, order, axis=0) for one in rows]


def sort_rows(op: Builder, rows: Sequence[Value], keys: Sequence[tuple[int, bool]]) -> list[Value]:
    """Rows sorted by some of them, (which, largest first), the least important key first."""
    found = list(rows)
    for place, largest in keys:
        found = reordered(op, order_of(op, found[place], largest), *found)
    return found


def chosen(op: Builder, keep: Value, *rows: Value) -> list[Value]:
    """Those rows where `keep` (bool, a vector) is true."""
    return [op.Compress(one, keep, axis=0) for one in rows]


def column(op: Builder, table: Value, place: int) -> Value:
    """One column of a matrix as a vector."""
    return op.Gather(table, op.const(place), axis=1)


def first_of_group(op: Builder, groups: Value, count: Value, most: Value) -> Value:
    """For rows in order: whether a row is among the first `most` of its group; groups are 0 ... count - 1."""
    hot = cast(op, op.Equal(op.Unsqueeze(groups, op.const([1])), _counted(op, count)), DType.INT64)
    before = op.Sub(op.CumSum(hot, op.const(0)), hot)
    return op.Less(op.ReduceSum(op.Mul(before, hot), op.const([1]), keepdims=0), most)


def tally(op: Builder, groups: Value, count: Value) -> Value:
    """How many rows there are of each group, int64 [count]."""
    hot = op.Equal(op.Unsqueeze(groups, op.const([1])), _counted(op, count))
    return op.ReduceSum(cast(op, hot, DType.INT64), op.const([0]), keepdims=0)


def _counted(op: Builder, count: Value) -> Value:
    known = integers(count)
    if known is not None:
        return op.const(list(range(known[0])), DType.INT64)
    return op.Range(op.const(0), op.Squeeze(count), op.const(1))


# rows of a fixed number ----------------------------------------------------------------------------


def exactly(op: Builder, rows: Value, total: Value, fill: float = 0) -> Value:
    """The first `total` (int64 [1]) rows, followed by rows of `fill` if there aren't as many."""
    rank = rows.rank or 1
    zeros = op.const([0] * (2 * rank - 1 - (rank - 1)))
    after = [zeros, total] + ([op.const([0] * (rank - 1))] if rank > 1 else [])
    longer = op.Pad(rows, joined(op, after), number(op, fill, rows))
    known = integers(total)
    shape = rows.tensor.shape
    stated = TensorType(rows.tensor.dtype, (known[0], *shape[1:])) if known and shape is not None else None
    return op.Slice(longer, op.const([0]), total, op.const([0]), _types=[stated])


# thresholds ----------------------------------------------------------------------------------------


def just_below(op: Builder, overlap: Value | None, most: Value) -> tuple[Value, Value]:
    """(threshold, most) by which ONNX drops the boxes that OpenVINO's CPU runtime does: those that overlap by `overlap`
    or more. At 0 that is every box but the best."""
    known = np.zeros(1, np.float32) if overlap is None else constant(overlap)
    if known is not None:
        threshold = np.float32(known.reshape(-1)[0])
        if threshold <= 0:
            return op.const([0.0]), least_of(op, most, 1)
        below = np.nextafter(threshold, np.float32(-math.inf))
        return op.const(np.minimum(below, np.float32(1)).reshape(1)), most
    assert overlap is not None
    threshold = vector(op, overlap, DType.FLOAT32)
    below = op.Sub(threshold, op.Mul(threshold, op.const(np.float32(0.6 * 2**-23))))
    zero, one = op.const(np.float32(0)), op.const(np.float32(1))
    most = op.Where(op.Greater(threshold, zero), most, least_of(op, most, 1))
    return op.Clip(below, zero, one), most
