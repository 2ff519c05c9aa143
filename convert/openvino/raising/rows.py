"""Rows chosen, ordered, counted and brought to a fixed number: what lists of detections need."""

from __future__ import annotations

import math

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from .support import cast, concatenated, integers, number, reckoned, steps


def least_of(op: Builder, count: Value, bound: int | Value) -> Value:
    """The smaller of two sizes (int64 [1])."""
    return reckoned(op, "Min", count, op.const([bound], DType.INT64) if isinstance(bound, int) else bound)


# orders --------------------------------------------------------------------------------------------


def order_of(op: Builder, keys: Value, largest: bool = True) -> Value:
    """The indices that sort a vector, equal keys staying in their order."""
    return op.TopK(keys, op.Shape(keys), axis=0, largest=None if largest else 0, _outputs=2)[1]


def reordered(op: Builder, order: Value, *rows: Value) -> list[Value]:
    return [op.Gather(one, order, axis=0) for one in rows]


def by_score(op: Builder, scores: Value, ties: Value) -> Value:
    """The indices that sort by score, the highest first, equal ones by `ties`, the lowest first."""
    first = order_of(op, ties, largest=False)
    return reordered(op, order_of(op, reordered(op, first, scores)[0]), first)[0]


def again(op: Builder, order: Value, keys: Value) -> Value:
    """An order sorted again by keys, the lowest first, equal keys staying in their order."""
    (ordered,) = reordered(op, order, keys)
    return reordered(op, order_of(op, ordered, largest=False), order)[0]


def highest(op: Builder, scores: Value, length: Value, most: int) -> Value:
    """The `most` highest of the last dimension, which has `length`, equal ones by place; -inf elsewhere."""
    known = integers(length)
    if most < 0 or (known is not None and known[0] <= most):
        return scores
    values, places = op.TopK(scores, least_of(op, length, most), axis=-1, _outputs=2)
    none = op.Expand(number(op, -math.inf, scores), op.Shape(scores))
    return op.ScatterElements(none, places, values, axis=-1, _types=[scores.type])


def chosen(op: Builder, keep: Value, *rows: Value) -> list[Value]:
    """Those rows where `keep` (bool, a vector) is true."""
    return [op.Compress(one, keep, axis=0) for one in rows]


def column(op: Builder, table: Value, place: int) -> Value:
    """One column of a matrix as a vector."""
    return op.Gather(table, op.const(place), axis=1)


def stacked(op: Builder, *columns: Value) -> Value:
    """Vectors as the columns of a matrix."""
    return op.Concat(*(op.Unsqueeze(one, op.const([1])) for one in columns), axis=1)


def first_of_group(op: Builder, groups: Value, count: Value, most: Value) -> Value:
    """For rows in order: whether a row is among the first `most` of its group; groups are 0 ... count - 1."""
    hot = cast(op, op.Equal(op.Unsqueeze(groups, op.const([1])), steps(op, count)), DType.INT64)
    before = op.Sub(op.CumSum(hot, op.const(0)), hot)
    return op.Less(op.ReduceSum(op.Mul(before, hot), op.const([1]), keepdims=0), most)


def tally(op: Builder, groups: Value, count: Value) -> Value:
    """How many rows there are of each group, int64 [count]."""
    hot = op.Equal(op.Unsqueeze(groups, op.const([1])), steps(op, count))
    return op.ReduceSum(cast(op, hot, DType.INT64), op.const([0]), keepdims=0)


# rows of a fixed number ----------------------------------------------------------------------------


def exactly(op: Builder, rows: Value, total: Value, fill: float = 0) -> Value:
    """The first `total` (int64 [1]) rows, followed by rows of `fill` if there aren't as many."""
    rank = rows.rank or 1
    zeros = op.const([0] * (2 * rank - 1 - (rank - 1)))
    after = [zeros, total] + ([op.const([0] * (rank - 1))] if rank > 1 else [])
    longer = op.Pad(rows, concatenated(op, after), number(op, fill, rows))
    known = integers(total)
    shape = rows.tensor.shape
    stated = TensorType(rows.tensor.dtype, (known[0], *shape[1:])) if known and shape is not None else None
    return op.Slice(longer, op.const([0]), total, op.const([0]), _types=[stated])


def lists(
    op: Builder, groups: Value, count: Value, rows: Value, length: int, last: Value | None = None, fill: float = 0
) -> Value:
    """The rows [rows, ...] of each group, one group after the other, as [count, length, ...]: after a group's own rows
    `last` [1, ...] once, then rows of `fill`."""
    if integers(count) == [1]:
        ended = rows if last is None else op.Concat(rows, last, axis=0)
        return op.Unsqueeze(exactly(op, ended, op.const([length]), fill), op.const([0]))
    sizes = tally(op, groups, count)
    starts, sizes = (op.Unsqueeze(one, op.const([1])) for one in (op.CumSum(sizes, op.const(0), exclusive=1), sizes))
    places, total = op.const(list(range(length)), DType.INT64), op.Shape(rows, end=1)
    rest = total
    if last is not None:
        rows = op.Concat(rows, last, axis=0)
        rest = op.Add(total, cast(op, op.Greater(places, sizes), DType.INT64))
    ended = exactly(op, rows, op.Add(op.Shape(rows, end=1), op.const([1])), fill)
    return op.Gather(ended, op.Where(op.Less(places, sizes), op.Add(starts, places), rest), axis=0)
