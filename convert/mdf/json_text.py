"""JSON <-> plain values, as Python's json reads and writes it: NaN and Infinity are numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np

from ...passes.errors import InvalidModel
from .model import Plain
from .plain_values import DEEPEST, MOST_VALUES, TOO_DEEP, TOO_MANY, parse_integer, without_repeats

_MARKS = b'[]{},"'
_NO_MARKS = bytes(byte for byte in range(256) if byte not in _MARKS)
_DEEPER = np.zeros(256, np.int8)
_DEEPER[list(b"[{")] = 1
_DEEPER[list(b"]}")] = -1


def read(data: bytes) -> Plain:
    """What UTF-8 text of JSON holds.

    Raises:
        InvalidModel: it isn't JSON, has a key twice in one object, or is deeper or larger than the limits.
    """
    _scan(data)
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=without_repeats, parse_int=parse_integer)
    except UnicodeDecodeError:
        raise InvalidModel("its text isn't UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidModel(f"it isn't JSON, line {error.lineno}: {error.msg}") from None


def _scan(data: bytes) -> None:
    """Look for depth and size before a parser that recurses does: its stack is the process's.

    What remains of the text is the brackets and commas that stand outside of strings.
    """
    if b"\\" in data:
        data = re.sub(rb"\\.", b"", data, flags=re.DOTALL)
    marks = re.sub(rb'"[^"]*"?', b"", data.translate(None, _NO_MARKS))
    if marks.count(b",") + marks.count(b"[") + marks.count(b"{") > MOST_VALUES:
        raise InvalidModel(TOO_MANY)
    brackets = np.frombuffer(marks.translate(None, b","), np.uint8)
    depths = np.cumsum(_DEEPER[brackets], dtype=np.int32)
    if depths.max(initial=0) > DEEPEST:
        raise InvalidModel(TOO_DEEP)


def lines(value: Plain) -> Iterator[str]:
    """The text of a value in pieces: objects indented, what holds no object on one line.

    Each step of the stack is one object or list that is open: generators in each other would hand on each piece as
    often as it is deep.
    """
    if not holds_object(value):
        yield json.dumps(value)
        return
    opening, closing = _brackets(value)
    stack = [(entries(value), closing)]
    indent, before = "", opening
    while stack:
        items, closing = stack[-1]
        for key, item in items:
            head = f"{before}\n{indent}  " + ("" if key is None else f"{json.dumps(key)}: ")
            before = ","
            if holds_object(item):
                yield head
                before, inner = _brackets(item)
                stack.append((entries(item), inner))
                indent += "  "
                break
            yield head + json.dumps(item)
        else:
            yield f"\n{indent}{closing}"
            stack.pop()
            indent, before = indent[2:], ","


def _brackets(value: Plain) -> tuple[str, str]:
    return ("{", "}") if isinstance(value, dict) else ("[", "]")


def entries(value: Plain) -> Iterator[tuple[str | None, Plain]]:
    """What stands in an object, with its key, or in a list, with None."""
    if isinstance(value, dict):
        return iter(value.items())
    assert isinstance(value, list)
    return ((None, item) for item in value)


def holds_object(value: Plain) -> bool:
    """Whether an object with something in it is the value or stands in its lists."""
    if isinstance(value, dict):
        return bool(value)
    if not isinstance(value, list):
        return False
    kinds = set(map(type, value))
    return (list in kinds or dict in kinds) and any(map(holds_object, value))
