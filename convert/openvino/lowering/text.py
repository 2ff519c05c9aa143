"""Hub -> OpenVINO: text. OpenVINO's CPU moves strings; what looks into them goes by their bytes.

A tensor of strings is unpacked to a table of bytes, a row for each string with -1 behind its end, and packed again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.attributes import text
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .tools import i32, i64, range_of, shape_of, vector

MOVES_TEXT = frozenset(
    ["Identity", "Reshape", "Gather", "Concat", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Shape", "Size"]
)
"""Operators that OpenVINO's CPU runs on strings as on numbers."""
READS_TEXT = frozenset(
    [
        "CategoryMapper",
        "Equal",
        "LabelEncoder",
        "OneHotEncoder",
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
        "TfIdfVectorizer",
    ]
)
"""Operators that have a rule for strings."""
GIVES_TEXT = frozenset(["LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier"])
"""Operators that may give strings without taking any."""


def table_of(texts: Sequence[str], width: int = 0) -> np.ndarray:
    """int32 [strings, bytes], -1 behind the end of each; at least one column."""
    rows = [text.encode() for text in texts]
    table = np.full((len(rows), max([width, 1, *map(len, rows)])), -1, np.int32)
    for row, content in zip(table, rows, strict=True):
        row[: len(content)] = np.frombuffer(content, np.uint8)
    return table


def letters(op: Builder, value: Value, width: int | None = None) -> Value:
    """The bytes of strings as i32 [*shape, width], -1 behind the end; without a width that of the longest."""
    if value.data is not None:
        array = value.data.numpy()
        found = table_of([text(item) for item in array.reshape(-1)], width or 0)
        return op.const(found.reshape(*array.shape, found.shape[1]))
    begins, ends, symbols = op.StringTensorUnpack(value, _outputs=3)
    if width is None:
        lengths = op.Concat(vector(op, op.Subtract(ends, begins)), op.const(np.zeros(1, np.int32)), axis=0)
        count = op.Convert(op.ReduceMax(lengths, i64(op, [0]), keep_dims=True), destination_type="i64")
    else:
        count = i64(op, [width])
    steps = range_of(op, count)
    first, behind = (op.Unsqueeze(op.Convert(bound, destination_type="i64"), i64(op, [-1])) for bound in (begins, ends))
    bytes_ = op.Concat(op.Convert(symbols, destination_type="i32"), op.const(np.array([-1], np.int32)), axis=0)
    end = op.Subtract(shape_of(op, bytes_), i64(op, [1]))
    places = op.Add(first, steps)
    return op.Gather(bytes_, op.Select(op.Less(places, behind), places, end), i64(op, 0))


def packed(op: Builder, table: Value) -> Value:
    """Strings of i32 [*shape, bytes]; what is negative doesn't count."""
    inside = op.GreaterEqual(table, i32(op, 0))
    lengths = op.ReduceSum(op.Convert(inside, destination_type="i32"), i64(op, [-1]), keep_dims=False)
    flat = op.CumSum(vector(op, lengths), i64(op, 0))
    ends = op.Reshape(flat, shape_of(op, lengths))
    places = vector(op, op.NonZero(vector(op, inside)))
    symbols = op.Convert(op.Gather(vector(op, table), places, i64(op, 0)), destination_type="u8")
    return op.StringTensorPack(op.Subtract(ends, lengths), ends, symbols)


def chosen(op: Builder, node: Node, places: Value, texts: Sequence[str]) -> Value:
    """The strings at integer places of a list. The places aren't constant: OpenVINO's CPU holds no constant text."""
    if places.data is not None:
        raise Unsupported(node, "it gives constant text, which OpenVINO's CPU doesn't hold")
    return packed(op, op.Gather(op.const(table_of(texts)), places, i64(op, 0)))


def is_text(value: Value | None) -> bool:
    return value is not None and value.tensor.dtype is DType.STRING


@rule("", "Equal")
def equal(op: Builder, node: Node) -> Value | None:
    """All bytes are the same, and as many."""
    a, b = required(node, 0), required(node, 1)
    if not is_text(a):
        return None
    tables = [letters(op, value) for value in (a, b)]
    widths = [op.Gather(shape_of(op, table), i64(op, [-1]), i64(op, 0)) for table in tables]
    longest = op.Maximum(*widths)
    same = op.Equal(*(_widened(op, table, width, longest) for table, width in zip(tables, widths, strict=True)))
    return op.ReduceLogicalAnd(same, i64(op, [-1]), keep_dims=False)


def _widened(op: Builder, table: Value, width: Value, wanted: Value) -> Value:
    """A table filled up with -1 to a width."""
    rank = table.rank or 1
    more = op.Concat(i64(op, [0] * (rank - 1)), op.Subtract(wanted, width), axis=0)
    return op.Pad(table, i64(op, [0] * rank), more, i32(op, -1))


@rule("", "StringConcat")
def string_concat(op: Builder, node: Node) -> Value:
    """The bytes of the one behind those of the other."""
    tables = [letters(op, required(node, index)) for index in range(2)]
    shapes = [shape_of(op, required(node, index)) for index in range(2)]
    common = op.ShapeOf(op.Add(*(op.Broadcast(i64(op, 0), shape) for shape in shapes)))
    wide = []
    for table in tables:
        width = op.Gather(shape_of(op, table), i64(op, [-1]), i64(op, 0))
        wide.append(op.Broadcast(table, op.Concat(common, width, axis=0)))
    return packed(op, op.Concat(*wide, axis=-1))


RULES = collect(globals())
