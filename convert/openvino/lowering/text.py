"""Hub -> OpenVINO: text. OpenVINO's CPU moves strings; what looks into them goes by their bytes.

A tensor of strings is unpacked to a table of bytes, a row for each string with -1 behind its end, and packed again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache

import numpy as np

from ....passes.attributes import text
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import flag, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....runtime.kernels.letters import Change, changing
from .tools import i32, i64, range_of, reduced, reshape, shape_of, slice_axis, vector

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


def constant_byte_table(texts: Sequence[str], width: int = 0) -> np.ndarray:
    """int32 [strings, bytes], -1 behind the end of each; at least one column."""
    rows = [text.encode() for text in texts]
    table = np.full((len(rows), max([width, 1, *map(len, rows)])), -1, np.int32)
    for row, content in zip(table, rows, strict=True):
        row[: len(content)] = np.frombuffer(content, np.uint8)
    return table


def byte_table(op: Builder, value: Value, width: int | None = None) -> Value:
    """The bytes of strings as i32 [*shape, width], -1 behind the end; without a width that of the longest."""
    if value.data is not None:
        array = value.data.numpy()
        found = constant_byte_table([text(item) for item in array.reshape(-1)], width or 0)
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
    positions = op.Add(first, steps)
    return op.Gather(bytes_, op.Select(op.Less(positions, behind), positions, end), i64(op, 0))


def pack_strings(op: Builder, table: Value) -> Value:
    """Strings of i32 [*shape, bytes]; what is negative doesn't count."""
    inside = op.GreaterEqual(table, i32(op, 0))
    lengths = op.ReduceSum(op.Convert(inside, destination_type="i32"), i64(op, [-1]), keep_dims=False)
    flat = op.CumSum(vector(op, lengths), i64(op, 0))
    ends = op.Reshape(flat, shape_of(op, lengths))
    positions = vector(op, op.NonZero(vector(op, inside)))
    symbols = op.Convert(op.Gather(vector(op, table), positions, i64(op, 0)), destination_type="u8")
    return op.StringTensorPack(op.Subtract(ends, lengths), ends, symbols)


def gather_strings(op: Builder, node: Node, positions: Value, texts: Sequence[str]) -> Value:
    """The strings at integer indices of a list. The indices aren't constant: OpenVINO's CPU holds no constant text."""
    if positions.data is not None:
        raise Unsupported(node, "it returns a string constant, which isn't supported by OpenVINO's CPU")
    return pack_strings(op, op.Gather(op.const(constant_byte_table(texts)), positions, i64(op, 0)))


def is_text(value: Value | None) -> bool:
    return value is not None and value.tensor.dtype is DType.STRING


@rule("", "Equal")
def equal(op: Builder, node: Node) -> Value | None:
    """All bytes are the same, and as many."""
    a, b = required(node, 0), required(node, 1)
    if not is_text(a):
        return None
    tables = [byte_table(op, value) for value in (a, b)]
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
    tables = [byte_table(op, required(node, index)) for index in range(2)]
    shapes = [shape_of(op, required(node, index)) for index in range(2)]
    common = op.ShapeOf(op.Add(*(op.Broadcast(i64(op, 0), shape) for shape in shapes)))
    wide = []
    for table in tables:
        width = op.Gather(shape_of(op, table), i64(op, [-1]), i64(op, 0))
        wide.append(op.Broadcast(table, op.Concat(common, width, axis=0)))
    return pack_strings(op, op.Concat(*wide, axis=-1))


# letters in the other case, by tables of them ------------------------------------------------------


_PAGE = 256  # characters that one row of the table is about
_NOTHING = 255  # which no byte of UTF-8 is
_LONGEST = 4  # bytes of a character


@cache
def _tables(change: Change) -> tuple[np.ndarray, np.ndarray]:
    """The row of each page of characters (0: it stays as it is), and of each character of a row its bytes, u8."""
    changed: dict[int, bytes] = {}
    for code in range(sys.maxunicode + 1):
        if not 0xD800 <= code < 0xE000 and change(chr(code)) != chr(code):
            changed[code] = change(chr(code)).encode()
    pages = sorted({code // _PAGE for code in changed})
    rows = np.zeros(sys.maxunicode // _PAGE + 1, np.int32)
    rows[pages] = np.arange(1, len(pages) + 1)
    content = np.full(((len(pages) + 1) * _PAGE, _LONGEST), _NOTHING, np.uint8)
    for number, page in enumerate(pages, start=1):
        for low in range(_PAGE):
            code = page * _PAGE + low
            text = changed.get(code, b"" if 0xD800 <= code < 0xE000 else chr(code).encode())
            content[number * _PAGE + low, : len(text)] = np.frombuffer(text, np.uint8)
    return rows, content


def change_case(op: Builder, strings: Value, change: Change) -> Value:
    """Strings with each character changed to another one, whatever stands beside it."""

    table = byte_table(op, op.Reshape(strings, i64(op, [-1])))
    width = op.Gather(op.ShapeOf(table), i64(op, [1]), i64(op, 0))
    longer = op.Pad(table, i64(op, [0, 0]), i64(op, [0, _LONGEST - 1]), i32(op, -1))
    parts = [slice_axis(op, longer, index, op.Add(width, i64(op, [index])), axis=1) for index in range(_LONGEST)]
    first, rest = parts[0], [op.Subtract(part, i32(op, 0x80)) for part in parts[1:]]
    # a character of 1, 2, 3, 4 bytes: the least first byte, and what that counts from
    code, length = first, op.ConvertLike(op.GreaterEqual(first, i32(op, 0)), first)
    for more, least in enumerate((0xC0, 0xE0, 0xF0), start=1):
        found = op.Subtract(first, i32(op, least))
        for part in rest[:more]:
            found = op.Add(op.Multiply(found, i32(op, 64)), part)
        longer_ = op.GreaterEqual(first, i32(op, least))
        code, length = op.Select(longer_, found, code), op.Select(longer_, i32(op, more + 1), length)
    inside = op.LogicalAnd(op.GreaterEqual(first, i32(op, 0x80)), op.Less(first, i32(op, 0xC0)))  # of a character
    length = op.Select(inside, i32(op, 0), length)
    rows, content = _tables(change)
    code = op.Maximum(op.Minimum(code, i32(op, sys.maxunicode)), i32(op, 0))
    row = op.Gather(op.const(rows), op.Divide(code, i32(op, _PAGE), m_pythondiv=False), i64(op, 0))
    position = op.Add(op.Multiply(row, i32(op, _PAGE)), op.Mod(code, i32(op, _PAGE)))
    new = op.Convert(op.Gather(op.const(content), position, i64(op, 0)), destination_type="i32")
    last = i64(op, [-1])
    stays = [op.Select(op.Less(i32(op, index), length), part, i32(op, -1)) for index, part in enumerate(parts)]
    old = op.Concat(*(op.Unsqueeze(part, last) for part in stays), axis=-1)
    new = op.Select(op.Equal(new, i32(op, _NOTHING)), i32(op, -1), new)
    nothing = op.Equal(op.Unsqueeze(length, last), i32(op, 0))
    found = op.Select(op.Equal(op.Unsqueeze(row, last), i32(op, 0)), old, new)
    found = op.Select(nothing, i32(op, -1), found)
    count = op.Gather(op.ShapeOf(table), i64(op, [0]), i64(op, 0))
    size = op.Multiply(width, i64(op, [_LONGEST]))
    made = pack_strings(op, op.Reshape(found, op.Concat(count, size, axis=0)))
    return made if strings.rank == 1 else op.Reshape(made, op.ShapeOf(strings))


@rule("", "StringNormalizer")
def string_normalizer(op: Builder, node: Node) -> Value:
    """Without the stopwords, in one case; one empty string where nothing is left."""
    action = node.attributes.get("case_change_action", "NONE")
    if action not in ("NONE", "LOWER", "UPPER"):
        raise Unsupported(node, f"case_change_action={action!r} isn't known")
    x, exact, locale = required(node, 0), flag(node, "is_case_sensitive"), text(node.attributes.get("locale", "en_US"))
    flat = reshape(op, x, [-1])
    words = [text(word) for word in node.attributes.get("stopwords") or ()]
    if not locale and (action != "NONE" or (words and not exact)):
        raise Unsupported(node, "which characters are letters depends on the locale of the machine it runs on")
    lower = changing("LOWER", locale)
    words = words if exact else ["".join(map(lower, word)) for word in words]
    begins, ends, symbols = op.StringTensorUnpack(flat, _outputs=3)
    if words:
        width = constant_byte_table(words).shape[1] + 1
        seen = flat if exact else change_case(op, flat, lower)
        alike = op.Equal(
            op.Unsqueeze(byte_table(op, seen, width), i64(op, [1])), op.const(constant_byte_table(words, width))
        )
        stopped = op.ReduceLogicalAnd(alike, i64(op, [2]), keep_dims=False)
        kept = op.LogicalNot(op.ReduceLogicalOr(stopped, i64(op, [1]), keep_dims=False))
        positions = vector(op, op.NonZero(kept))
        # an empty string stands behind the others, and is taken where none of them is
        empty, count = op.const(np.zeros(1, np.int32)), shape_of(op, positions)
        spare = op.Convert(op.Equal(count, i64(op, [0])), destination_type="i64")
        taken = op.Concat(positions, op.Broadcast(shape_of(op, kept), spare), axis=0)
        begins, ends = (op.Gather(op.Concat(bound, empty, axis=0), taken, i64(op, 0)) for bound in (begins, ends))
    made = op.StringTensorPack(begins, ends, symbols)  # also unchanged: OpenVINO's CPU can't give an input's own text
    if action != "NONE":
        made = change_case(op, made, changing(action, locale))
    return made if x.rank == 1 else op.Unsqueeze(made, i64(op, [0]))


# StringSplit: where pieces begin and end is found in the bytes; the pieces are packed out of them


_FAR = 1 << 23  # bytes; OpenVINO's CPU selects integers in float32, too


class _Rows:
    """Strings as rows of bytes, i32 [rows, width], and what stands behind each byte."""

    def __init__(self, op: Builder, node: Node, strings: Value) -> None:
        self.op, self.node = op, node
        self.begins, self.ends, self.symbols = op.StringTensorUnpack(strings, _outputs=3)
        self.lengths = op.Unsqueeze(op.Subtract(self.ends, self.begins), i64(op, [1]))
        table = byte_table(op, strings)
        # one column behind the longest: every string ends within the table
        self.table = op.Pad(table, i64(op, [0, 0]), i64(op, [0, 1]), i32(op, -1))
        self.width = op.Gather(shape_of(op, self.table), i64(op, [1]), i64(op, 0))
        count = op.Squeeze(self.width, i64(op, [0]))
        self.positions = op.Convert(op.Range(i64(op, 0), count, i64(op, 1), output_type="i64"), destination_type="i32")

    def moved(self, values: Value, by: int, filling: int) -> Value:
        """Each row moved to the left (or, by a negative number, to the right), filled up behind (before) it."""
        if not by:
            return values
        op, size = self.op, abs(by)
        before, behind = ([0, 0], [0, size]) if by > 0 else ([0, size], [0, 0])
        longer = op.Pad(values, i64(op, before), i64(op, behind), i32(op, filling))
        start = max(by, 0)
        return slice_axis(op, longer, start, op.Add(self.width, i64(op, [start])), axis=1)

    def has(self, word: bytes) -> Value:
        """i32 [rows, width]: 1 where a word begins."""
        op, found = self.op, None
        for index, byte in enumerate(word):
            same = op.Equal(self.moved(self.table, index, -1), i32(op, byte))
            found = same if found is None else op.LogicalAnd(found, same)
        assert found is not None
        return op.Convert(found, destination_type="i32")

    def in_order(self, marks: Value) -> Value:
        """The positions of the marks of each row, one after the other, then what lies far behind."""
        op = self.op
        positions = op.Select(op.Greater(marks, i32(op, 0)), self.positions, i32(op, _FAR))
        # a row more: OpenVINO's CPU sorts no tensor without any
        padded = op.Pad(positions, i64(op, [0, 0]), i64(op, [1, 0]), i32(op, 0))
        ordered = op.TopK(
            padded, op.Squeeze(self.width, i64(op, [0])), axis=1, mode="min", index_element_type="i64", _outputs=2
        )[0]
        return slice_axis(op, ordered, 0, -1)


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
        rest = op.LogicalAnd(op.Equal(rows.positions, i32(op, most)), op.Less(i32(op, most), number))
        behind = op.ReduceMax(op.Multiply(ends, rows.positions), i64(op, [1]), keep_dims=True)
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
    firsts, lasts, positions = (
        slice_axis(op, value, 0, pieces, axis=axis) for value, axis in ((firsts, 1), (lasts, 1), (rows.positions, 0))
    )
    there = op.Less(positions, number)
    # empty pieces stand at the end of their string: OpenVINO wants ascending bounds
    begins, ends = (
        op.Add(op.Select(there, bound, rows.lengths), op.Unsqueeze(rows.begins, i64(op, [1])))
        for bound in (firsts, lasts)
    )
    begins, ends, number = (slice_axis(op, value, 0, count) for value in (begins, ends, number))
    bounds = [op.Reshape(bound, op.Concat(shape, pieces, axis=0)) for bound in (begins, ends)]
    made = op.StringTensorPack(*bounds, rows.symbols)
    counted = op.Reshape(op.Convert(number, destination_type="i64"), shape)
    return [made, counted][: len(node.outputs)]


RULES = collect(globals())
