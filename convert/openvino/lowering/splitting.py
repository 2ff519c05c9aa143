"""Hub -> OpenVINO: StringSplit. Where pieces begin and end is found in the bytes; the pieces are packed out of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.attributes import text
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .text import letters
from .tools import cut, i32, i64, reduced, reshape, shape_of, vector

_FAR = 1 << 23  # bytes; OpenVINO's CPU selects integers in float32, too


class _Rows:
    """Strings as rows of bytes, i32 [rows, width], and what stands behind each byte."""

    def __init__(self, op: Builder, node: Node, strings: Value) -> None:
        self.op, self.node = op, node
        self.begins, self.ends, self.symbols = op.StringTensorUnpack(strings, _outputs=3)
        self.lengths = op.Unsqueeze(op.Subtract(self.ends, self.begins), i64(op, [1]))
        table = letters(op, strings)
        # one column behind the longest: every string ends within the table
        self.table = op.Pad(table, i64(op, [0, 0]), i64(op, [0, 1]), i32(op, -1))
        self.width = op.Gather(shape_of(op, self.table), i64(op, [1]), i64(op, 0))
        count = op.Squeeze(self.width, i64(op, [0]))
        self.places = op.Convert(op.Range(i64(op, 0), count, i64(op, 1), output_type="i64"), destination_type="i32")

    def moved(self, values: Value, by: int, filling: int) -> Value:
        """Each row moved to the left (or, by a negative number, to the right), filled up behind (before) it."""
        if not by:
            return values
        op, size = self.op, abs(by)
        before, behind = ([0, 0], [0, size]) if by > 0 else ([0, size], [0, 0])
        longer = op.Pad(values, i64(op, before), i64(op, behind), i32(op, filling))
        start = max(by, 0)
        return cut(op, longer, start, op.Add(self.width, i64(op, [start])), axis=1)

    def has(self, word: bytes) -> Value:
        """i32 [rows, width]: 1 where a word begins."""
        op, found = self.op, None
        for index, byte in enumerate(word):
            same = op.Equal(self.moved(self.table, index, -1), i32(op, byte))
            found = same if found is None else op.LogicalAnd(found, same)
        assert found is not None
        return op.Convert(found, destination_type="i32")

    def in_order(self, marks: Value) -> Value:
        """The places of the marks of each row, one after the other, then what lies far behind."""
        op = self.op
        places = op.Select(op.Greater(marks, i32(op, 0)), self.places, i32(op, _FAR))
        # a row more: OpenVINO's CPU sorts no tensor without any
        padded = op.Pad(places, i64(op, [0, 0]), i64(op, [1, 0]), i32(op, 0))
        ordered = op.TopK(
            padded,
            op.Squeeze(self.width, i64(op, [0])),
            axis=1,
            mode="min",
            index_element_type="i64",
            _outputs=2,
        )[0]
        return cut(op, ordered, 0, -1)


def _at_word(rows: _Rows, word: bytes, most: int | None) -> Sequence[Value]:
    """(first byte, byte behind, number) of the pieces between occurrences of a word."""
    op, marks = rows.op, rows.has(word)
    if most is not None:
        so_far = op.CumSum(marks, i64(op, 1))
        marks = op.Select(op.LessEqual(so_far, i32(op, most)), marks, i32(op, 0))
    cuts = rows.in_order(marks)
    behind = op.Add(op.Minimum(cuts, i32(op, _FAR - len(word))), i32(op, len(word)))
    filled = op.Convert(op.Greater(rows.lengths, i32(op, 0)), destination_type="i32")  # of "" there are no pieces
    number = op.Add(reduced(op, rows.node, "ReduceSum", marks, i64(op, [1]), True), filled)
    return rows.moved(behind, -1, 0), op.Minimum(cuts, rows.lengths), number


def _at_blanks(rows: _Rows, most: int | None) -> Sequence[Value]:
    """(first byte, byte behind, number) of the pieces between runs of blanks, which no piece begins or ends with."""
    op, blanks = rows.op, rows.has(b" ")
    ended = op.Convert(op.Less(rows.table, i32(op, 0)), destination_type="i32")
    outside = op.Maximum(blanks, ended)
    before = rows.moved(outside, -1, 1)
    starts = op.Subtract(before, op.Multiply(before, outside))
    ends = op.Subtract(outside, op.Multiply(before, outside))
    number = op.ReduceSum(starts, i64(op, [1]), keep_dims=True)
    firsts, lasts = rows.in_order(starts), op.Minimum(rows.in_order(ends), rows.lengths)
    if most is not None:
        rest = op.LogicalAnd(op.Equal(rows.places, i32(op, most)), op.Less(i32(op, most), number))
        behind = op.ReduceMax(op.Multiply(ends, rows.places), i64(op, [1]), keep_dims=True)
        lasts = op.Select(rest, behind, lasts)
        number = op.Minimum(number, i32(op, most + 1))
    return firsts, lasts, number


@rule("", "StringSplit")
def string_split(op: Builder, node: Node) -> Sequence[Value]:
    """The pieces of each string along a new last axis, empty ones behind them; and how many they are."""
    x, word = required(node, 0), text(node.attributes.get("delimiter") or "").encode()
    most = node.attributes.get("maxsplit")
    most = None if most is None or most < 0 else int(most)
    if any(word.startswith(word[-size:]) for size in range(1, len(word))):
        raise Unsupported(node, "a delimiter that may overlap itself")
    static = x.tensor.static_shape
    if static is not None and 0 in static:  # no string, of which there are no pieces
        return [reshape(op, x, [*static, 0]), op.const(np.zeros(static, np.int64))][: len(node.outputs)]
    shape = shape_of(op, x)
    flat = op.Reshape(x, i64(op, [-1]))
    count = shape_of(op, flat)
    if static is None:  # one string more: OpenVINO's CPU unpacks nothing of none
        nowhere = op.Convert(op.Minimum(count, i64(op, [0])), destination_type="i32")
        spare = op.StringTensorPack(nowhere, nowhere, op.const(np.zeros(1), DType.UINT8))
        flat = op.Concat(flat, spare, axis=0)
    rows = _Rows(op, node, flat)
    firsts, lasts, number = _at_word(rows, word, most) if word else _at_blanks(rows, most)
    counts = vector(op, op.Concat(number, op.const(np.zeros((1, 1), np.int32)), axis=0))
    pieces = op.Convert(op.ReduceMax(counts, i64(op, [0]), keep_dims=True), destination_type="i64")
    firsts, lasts, places = (
        cut(op, value, 0, pieces, axis=axis) for value, axis in ((firsts, 1), (lasts, 1), (rows.places, 0))
    )
    there = op.Less(places, number)
    # empty pieces stand at the end of their string: OpenVINO wants ascending bounds
    begins, ends = (
        op.Add(op.Select(there, bound, rows.lengths), op.Unsqueeze(rows.begins, i64(op, [1])))
        for bound in (firsts, lasts)
    )
    begins, ends, number = (cut(op, value, 0, count) for value in (begins, ends, number))
    bounds = [op.Reshape(bound, op.Concat(shape, pieces, axis=0)) for bound in (begins, ends)]
    made = op.StringTensorPack(*bounds, rows.symbols)
    counted = op.Reshape(op.Convert(number, destination_type="i64"), shape)
    return [made, counted][: len(node.outputs)]


RULES = collect(globals())
