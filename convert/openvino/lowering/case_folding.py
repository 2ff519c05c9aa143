"""Hub -> OpenVINO: StringNormalizer; letters in the other case by tables of them."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

from ....passes.attributes import text
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import flag, required
from ....passes.rewrite import Builder, collect, rule
from ....runtime.kernels.letters import Change, changing
from .text import letters, packed, table_of
from .tools import cut, i32, i64, reshape, shape_of, vector

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


def recased(op: Builder, strings: Value, change: Change) -> Value:
    """Strings with each character changed to another one, whatever stands beside it."""

    table = letters(op, op.Reshape(strings, i64(op, [-1])))
    width = op.Gather(op.ShapeOf(table), i64(op, [1]), i64(op, 0))
    longer = op.Pad(table, i64(op, [0, 0]), i64(op, [0, _LONGEST - 1]), i32(op, -1))
    parts = [cut(op, longer, index, op.Add(width, i64(op, [index])), axis=1) for index in range(_LONGEST)]
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
    place = op.Add(op.Multiply(row, i32(op, _PAGE)), op.Mod(code, i32(op, _PAGE)))
    new = op.Convert(op.Gather(op.const(content), place, i64(op, 0)), destination_type="i32")
    last = i64(op, [-1])
    stays = [op.Select(op.Less(i32(op, index), length), part, i32(op, -1)) for index, part in enumerate(parts)]
    old = op.Concat(*(op.Unsqueeze(part, last) for part in stays), axis=-1)
    new = op.Select(op.Equal(new, i32(op, _NOTHING)), i32(op, -1), new)
    nothing = op.Equal(op.Unsqueeze(length, last), i32(op, 0))
    found = op.Select(op.Equal(op.Unsqueeze(row, last), i32(op, 0)), old, new)
    found = op.Select(nothing, i32(op, -1), found)
    count = op.Gather(op.ShapeOf(table), i64(op, [0]), i64(op, 0))
    size = op.Multiply(width, i64(op, [_LONGEST]))
    made = packed(op, op.Reshape(found, op.Concat(count, size, axis=0)))
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
        raise Unsupported(node, "which letters there are is told by the locale of the machine that it runs on")
    lower = changing("LOWER", locale)
    words = words if exact else ["".join(map(lower, word)) for word in words]
    begins, ends, symbols = op.StringTensorUnpack(flat, _outputs=3)
    if words:
        width = table_of(words).shape[1] + 1
        seen = flat if exact else recased(op, flat, lower)
        alike = op.Equal(op.Unsqueeze(letters(op, seen, width), i64(op, [1])), op.const(table_of(words, width)))
        stopped = op.ReduceLogicalAnd(alike, i64(op, [2]), keep_dims=False)
        kept = op.LogicalNot(op.ReduceLogicalOr(stopped, i64(op, [1]), keep_dims=False))
        places = vector(op, op.NonZero(kept))
        # an empty string stands behind the others, and is taken where none of them is
        empty, count = op.const(np.zeros(1, np.int32)), shape_of(op, places)
        spare = op.Convert(op.Equal(count, i64(op, [0])), destination_type="i64")
        taken = op.Concat(places, op.Broadcast(shape_of(op, kept), spare), axis=0)
        begins, ends = (op.Gather(op.Concat(bound, empty, axis=0), taken, i64(op, 0)) for bound in (begins, ends))
    made = op.StringTensorPack(begins, ends, symbols)  # also unchanged: OpenVINO's CPU can't give an input's own text
    if action != "NONE":
        made = recased(op, made, changing(action, locale))
    return made if x.rank == 1 else op.Unsqueeze(made, i64(op, [0]))


RULES = collect(globals())
