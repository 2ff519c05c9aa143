"""Embedding bags, segments and sparse tensors: rows looked up and put together by group."""

from __future__ import annotations

import numpy as np

from ....passes.build import Expr, cast, concat, expr, where
from ....passes.build.values import pad
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .boxes import argsort, indices_where
from .support import Results, call, choice, in_wider_type, operand, scalar, vector


def _mean(node: Node, weights: Value | None) -> bool:
    """Whether the bags are averaged, which goes without weights only."""
    mean: bool = choice(node, "reduction", "sum", {"sum": False, "mean": True})
    if mean and weights is not None:
        raise InvalidModel(f"{node!r}: weights per sample in a mean")
    return mean


def _rows(op: Builder, node: Node, weights: Value | None) -> Expr:
    """The row of each index, times its weight; narrow numbers in wider types, whose low bits are theirs."""
    table, indices = operand(op, node, 0), operand(op, node, 1, DType.INT64)
    found = in_wider_type(table.gather(indices))
    if weights is None:
        return found
    behind = range(
        rank_of(node, input_of(node, 1)), rank_of(node, input_of(node, 1)) + rank_of(node, input_of(node)) - 1
    )
    return found * in_wider_type(expr(op, weights)).unsqueeze(*behind)


@rule(DOMAIN, "EmbeddingBagPackedSum", "EmbeddingBagPacked")
def packed(op: Builder, node: Node) -> Results:
    """EmbeddingBagPackedSum-3, EmbeddingBagPacked-15: bags of one size, indices [batch, size]."""
    weights = node.input(2)
    reduction = "ReduceMean" if _mean(node, weights) else "ReduceSum"
    total = call(op, reduction, _rows(op, node, weights), op.const([1]), keepdims=0)
    return cast(op, total, dtype_of(node, input_of(node)))


@rule(DOMAIN, "EmbeddingBagOffsetsSum", "EmbeddingBagOffsets")
def offsets(op: Builder, node: Node) -> Results:
    """EmbeddingBagOffsetsSum-3, EmbeddingBagOffsets-15: where each bag begins; it ends where the next one begins."""
    starts, weights = operand(op, node, 2, DType.INT64), node.input(4)
    mean = _mean(node, weights)
    # a mark at each start; how many there are up to a position is its bag's number, counted from 1
    bags = _counts(starts, operand(op, node, 1).size(0) + 1).cumsum(0)[:-1]
    return _gathered(node, _rows(op, node, weights), bags, starts.size(0), node.input(3), mean)


@rule(DOMAIN, "EmbeddingSegmentsSum")
def segments(op: Builder, node: Node) -> Results:
    """EmbeddingSegmentsSum-3: the segment of each index."""
    bags, count = operand(op, node, 2, DType.INT64) + 1, vector(op, input_of(node, 3))
    return _gathered(node, _rows(op, node, node.input(5)), bags, count, node.input(4), False)


def _counts(indices: Expr, count: Expr) -> Expr:
    """How often each of `count` positions is named, int64."""
    ones, zeros = (expr(indices.op, item).broadcast_to(size) for item, size in ((1, indices.size(0)), (0, count)))
    return zeros.call("ScatterElements", indices, ones, axis=0, reduction="add")


def _gathered(node: Node, rows: Expr, bags: Expr, count: Expr, default: Value | None, mean: bool) -> Value:
    """Rows summed up by bag; an empty one is the default row of the table, or zeros.

    Bags count from 1: what stands before the first one goes to bag 0, which is thrown away.
    """
    op = rows.op
    table = operand(op, node)
    rank = rank_of(node, input_of(node))
    zeros = rows.like(0).broadcast_to(count + 1, table.sizes(1, rank))
    total = zeros.call("ScatterND", bags[..., None], rows, reduction="add")[1:]
    index = None if default is None else scalar(op, default, DType.INT64)
    constant = None if index is None else index.item()
    if mean or (index is not None and (constant is None or constant >= 0)):
        hits = _counts(bags, count + 1)[1:].unsqueeze(*range(1, rank))
        if mean:
            total = total / hits.maximum(1).cast(rows.dtype)
        if index is not None:
            row = table.gather(index if constant is not None else index.maximum(0)).cast(total.dtype)
            row = row if constant is not None else where(index < 0, 0, row)  # zeros where its index is negative
            total = where(hits.equals(0), row, total)
    return total.cast(table.dtype).value()


# sparse tensors and segments -----------------------------------------------------------------------


@rule(DOMAIN, "SegmentMax")
def segment_max(op: Builder, node: Node) -> Results:
    """SegmentMax-16: rows of sorted segments; those of a segment that isn't asked for are left out."""
    x, segments, count = operand(op, node), operand(op, node, 1, DType.INT64), node.input(2)
    rank, wide = rank_of(node, input_of(node)), in_wider_type(x)
    lowest = choice(node, "fill_mode", "zero", {"zero": False, "lowest": True})
    if count is None:
        rows = wanted = concat(op, [np.array([-1]), segments]).gather([-1]) + 1  # -1 if there is none
    else:  # one row more, for the segments that aren't asked for
        wanted = vector(op, count)
        segments, rows = segments.minimum(wanted), wanted + 1
    start = wide.like(x.dtype.finite_limits[0]).broadcast_to(rows, x.sizes(1, rank))
    most = start.call("ScatterND", segments[..., None], wide, reduction="max")
    if not lowest:
        most = where(_unnamed(segments, rows).unsqueeze(*range(1, rank)), 0, most)
    if count is not None:
        most = most[:wanted]
    return most.cast(x.dtype).value()


def _unnamed(indices: Expr, count: Expr) -> Expr:
    """Which of `count` positions aren't named."""
    op = indices.op
    every, named = expr(op, True).broadcast_to(count), expr(op, False).broadcast_to(indices.size(0))
    return every.call("ScatterElements", indices, named, axis=0)


@rule(DOMAIN, "SparseFillEmptyRows")
def fill_empty_rows(op: Builder, node: Node) -> Results:
    """SparseFillEmptyRows-16: the default at [row, 0] of each empty row, all in the order of rows and columns."""
    values, shape = operand(op, node), vector(op, input_of(node, 1))
    indices, default = operand(op, node, 2, DType.INT64), operand(op, node, 3)
    empty = _unnamed(indices[:, 0], shape[:1])
    missing = indices_where(empty)
    entries = concat(op, [indices, expr(op, pad(op, missing.value(), [0, 0], [0, 1]))])
    every = concat(op, [values, default.broadcast_to(missing.size(0))])
    order = argsort(entries[:, 0] * shape[1] + entries[:, 1], largest=False)
    found = entries.gather(order).cast(dtype_of(node, input_of(node, 2)))
    return found.value(), every.gather(order).value(), empty.value()


RULES = collect(globals())
