"""Embedding bags and segments: rows of a table, looked up and summed up by bag."""

from __future__ import annotations

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    INT64_MAX,
    Results,
    call,
    cast,
    choice,
    concatenated,
    constant,
    dimension,
    filled,
    number,
    reckoned,
    scalar,
    shape_part,
    vector,
    widened,
)


def _mean(node: Node, weights: Value | None) -> bool:
    """Whether the bags are averaged, which goes without weights only."""
    mean: bool = choice(node, "reduction", "sum", {"sum": False, "mean": True})
    if mean and weights is not None:
        raise InvalidModel(f"{node!r}: weights per sample in a mean")
    return mean


def _column(op: Builder, value: Value, first: int, rank: int) -> Value:
    """`value` with ones behind its dimensions, so that it stands beside rows of a table of `rank` dimensions."""
    return op.Unsqueeze(value, op.const(list(range(first, first + rank - 1)))) if rank > 1 else value


def _rows(op: Builder, node: Node, table: Value, indices: Value, weights: Value | None) -> Value:
    """The row of each index, times its weight; narrow numbers in wider types, whose low bits are theirs."""
    found = widened(op, op.Gather(table, cast(op, indices, DType.INT64), axis=0))
    if weights is None:
        return found
    beside = _column(op, widened(op, weights), rank_of(node, indices), rank_of(node, table))
    return op.Mul(found, beside)


@rule(DOMAIN, "EmbeddingBagPackedSum", "EmbeddingBagPacked")
def packed(op: Builder, node: Node) -> Results:
    """EmbeddingBagPackedSum-3, EmbeddingBagPacked-15: bags of one size, indices [batch, size]."""
    table, indices, weights = given(node, 0), given(node, 1), node.input(2)
    mean = _mean(node, weights)
    found = _rows(op, node, table, indices, weights)
    total = call(op, "ReduceMean" if mean else "ReduceSum", found, op.const([1]), keepdims=0)
    return cast(op, total, dtype_of(node, table))


@rule(DOMAIN, "EmbeddingBagOffsetsSum", "EmbeddingBagOffsets")
def offsets(op: Builder, node: Node) -> Results:
    """EmbeddingBagOffsetsSum-3, EmbeddingBagOffsets-15: where each bag begins; it ends where the next one begins."""
    table, indices, starts = (given(node, index) for index in range(3))
    default, weights = node.input(3), node.input(4)
    mean = _mean(node, weights)
    starts = cast(op, starts, DType.INT64)
    # a mark at each start; how many there are up to a place is its bag's number, counted from 1
    count = dimension(op, indices, 0)
    marks = filled(op, 0, [reckoned(op, "Add", count, op.const([1]))])
    marks = op.ScatterElements(marks, starts, filled(op, 1, [dimension(op, starts, 0)]), axis=0, reduction="add")
    bags = op.Slice(op.CumSum(marks, op.const(0)), op.const([0]), op.const([-1]))
    found = _rows(op, node, table, indices, weights)
    return _gathered(op, node, found, bags, dimension(op, starts, 0), default, mean)


@rule(DOMAIN, "EmbeddingSegmentsSum")
def segments(op: Builder, node: Node) -> Results:
    """EmbeddingSegmentsSum-3: the segment of each index."""
    table, indices, bags, count = (given(node, index) for index in range(4))
    default, weights = node.input(4), node.input(5)
    found = _rows(op, node, table, indices, weights)
    bags = op.Add(cast(op, bags, DType.INT64), op.const([1]))
    return _gathered(op, node, found, bags, vector(op, count), default, False)


def _gathered(
    op: Builder, node: Node, rows: Value, bags: Value, count: Value, default: Value | None, mean: bool
) -> Value:
    """Rows summed up by bag; an empty one is the default row of the table, or zeros.

    Bags count from 1: what stands before the first one goes to bag 0, which is thrown away.
    """
    table = given(node)
    rank = rank_of(node, table)
    more = reckoned(op, "Add", count, op.const([1]))
    one, places = op.const([1]), op.Unsqueeze(bags, op.const([-1]))
    shape = concatenated(op, [more, shape_part(op, table, 1, rank)])
    total = op.ScatterND(op.Expand(number(op, 0, rows), shape), places, rows, reduction="add")
    total = op.Slice(total, one, op.const([INT64_MAX]))
    known = constant(default)
    if mean or (default is not None and (known is None or int(known.reshape(-1)[0]) >= 0)):
        ones = filled(op, 1, [dimension(op, bags, 0)])
        hits = op.ScatterElements(filled(op, 0, [more]), bags, ones, axis=0, reduction="add")
        hits = _column(op, op.Slice(hits, one, op.const([INT64_MAX])), 1, rank)
        if mean:
            total = op.Div(total, cast(op, op.Max(hits, one), dtype_of(node, rows)))
        if default is not None:
            total = op.Where(op.Equal(hits, op.const(0)), _default_row(op, node, default, total), total)
    return cast(op, total, dtype_of(node, table))


def _default_row(op: Builder, node: Node, default: Value, like: Value) -> Value:
    """The row that empty bags get: zeros where its index is negative."""
    table = given(node)
    index = scalar(op, default, DType.INT64)
    row = op.Gather(table, op.Max(index, op.const(0)) if constant(index) is None else index, axis=0)
    row = cast(op, row, dtype_of(node, like))
    if constant(index) is not None:
        return row
    return op.Where(op.Less(index, op.const(0)), number(op, 0, like), row)


RULES = collect(globals())
