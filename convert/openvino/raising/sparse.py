"""Sparse tensors and segments."""

from __future__ import annotations

from ....passes.graph import Node
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    Results,
    cast,
    choice,
    concatenated,
    dimension,
    filled,
    limits,
    number,
    reckoned,
    shape_part,
    vector,
    widened,
)


@rule(DOMAIN, "SegmentMax")
def segment_max(op: Builder, node: Node) -> Results:
    """SegmentMax-16: rows of sorted segments; those of a segment that isn't asked for are left out."""
    x, segments, count = given(node, 0), cast(op, given(node, 1), DType.INT64), node.input(2)
    dtype, rank = dtype_of(node, x), rank_of(node, x)
    lowest = choice(node, "fill_mode", "zero", {"zero": False, "lowest": True})
    wide = widened(op, x)
    if count is None:
        last = op.Gather(op.Concat(op.const([-1]), segments, axis=0), op.const([-1]))  # -1 if there is none
        rows = wanted = op.Add(last, op.const([1]))
    else:  # one row more, for the segments that aren't asked for
        wanted = vector(op, count)
        segments, rows = op.Min(segments, wanted), reckoned(op, "Add", wanted, op.const([1]))
    shape = concatenated(op, [rows, shape_part(op, x, 1, rank)])
    start = op.Expand(number(op, limits(dtype)[0], wide), shape)
    most = op.ScatterND(start, op.Unsqueeze(segments, op.const([-1])), wide, reduction="max")
    if not lowest:
        full = filled(op, False, [dimension(op, segments, 0)], DType.BOOL)
        empty = op.ScatterElements(filled(op, True, [rows], DType.BOOL), segments, full, axis=0)
        if rank > 1:
            empty = op.Unsqueeze(empty, op.const(list(range(1, rank))))
        most = op.Where(empty, number(op, 0, most), most)
    if count is not None:
        most = op.Slice(most, op.const([0]), wanted)
    return cast(op, most, dtype)


@rule(DOMAIN, "SparseFillEmptyRows")
def fill_empty_rows(op: Builder, node: Node) -> Results:
    """SparseFillEmptyRows-16: the default at [row, 0] of each empty row, all in the order of rows and columns."""
    values, shape, indices, default = (given(node, index) for index in range(4))
    shape, places = vector(op, shape), cast(op, indices, DType.INT64)
    lines = op.Gather(places, op.const(0), axis=1)
    full = filled(op, False, [dimension(op, lines, 0)], DType.BOOL)
    empty = filled(op, True, [op.Gather(shape, op.const([0]))], DType.BOOL)
    empty = op.ScatterElements(empty, lines, full, axis=0)
    missing = op.Transpose(op.NonZero(empty), perm=[1, 0])
    entries = op.Concat(places, op.Pad(missing, op.const([0, 0, 0, 1])), axis=0)
    every = op.Concat(values, op.Expand(default, dimension(op, missing, 0)), axis=0)
    line, column = (op.Gather(entries, op.const(axis), axis=1) for axis in range(2))
    flat = op.Add(op.Mul(line, op.Gather(shape, op.const(1))), column)
    _, order = op.TopK(flat, dimension(op, flat, 0), _outputs=2, axis=0, largest=0, sorted=1)
    return cast(op, op.Gather(entries, order), dtype_of(node, indices)), op.Gather(every, order), empty


RULES = collect(globals())
