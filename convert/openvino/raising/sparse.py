"""Sparse tensors and segments."""

from __future__ import annotations

import numpy as np

from ....passes.build import Expr, concat, expr, where
from ....passes.build.values import pad
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .rows import argsort, places_where
from .support import Results, choice, limits, operand, vector, widened


@rule(DOMAIN, "SegmentMax")
def segment_max(op: Builder, node: Node) -> Results:
    """SegmentMax-16: rows of sorted segments; those of a segment that isn't asked for are left out."""
    x, segments, count = operand(op, node), operand(op, node, 1, DType.INT64), node.input(2)
    rank, wide = rank_of(node, given(node)), widened(x)
    lowest = choice(node, "fill_mode", "zero", {"zero": False, "lowest": True})
    if count is None:
        rows = wanted = concat(op, [np.array([-1]), segments]).gather([-1]) + 1  # -1 if there is none
    else:  # one row more, for the segments that aren't asked for
        wanted = vector(op, count)
        segments, rows = segments.minimum(wanted), wanted + 1
    start = wide.like(limits(x.dtype)[0]).broadcast_to(rows, x.sizes(1, rank))
    most = start.call("ScatterND", segments[..., None], wide, reduction="max")
    if not lowest:
        most = where(_unnamed(segments, rows).unsqueeze(*range(1, rank)), 0, most)
    if count is not None:
        most = most[:wanted]
    return most.cast(x.dtype).value()


def _unnamed(places: Expr, count: Expr) -> Expr:
    """Which of `count` places aren't named."""
    op = places.op
    every, named = expr(op, True).broadcast_to(count), expr(op, False).broadcast_to(places.size(0))
    return every.call("ScatterElements", places, named, axis=0)


@rule(DOMAIN, "SparseFillEmptyRows")
def fill_empty_rows(op: Builder, node: Node) -> Results:
    """SparseFillEmptyRows-16: the default at [row, 0] of each empty row, all in the order of rows and columns."""
    values, shape = operand(op, node), vector(op, given(node, 1))
    places, default = operand(op, node, 2, DType.INT64), operand(op, node, 3)
    empty = _unnamed(places[:, 0], shape[:1])
    missing = places_where(empty)
    entries = concat(op, [places, expr(op, pad(op, missing.value(), [0, 0], [0, 1]))])
    every = concat(op, [values, default.broadcast_to(missing.size(0))])
    order = argsort(entries[:, 0] * shape[1] + entries[:, 1], largest=False)
    found = entries.gather(order).cast(dtype_of(node, given(node, 2)))
    return found.value(), every.gather(order).value(), empty.value()


RULES = collect(globals())
