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


def lines(value: Plain, indent: str = "") -> Iterator[str]:
    """The text of a value in pieces: objects indented, what holds no object on one line."""
    if not holds_object(value):
        yield json.dumps(value)
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    deeper = indent + "  "
    yield opening
    for position, item in enumerate(value):
        yield f"{',' if position else ''}\n{deeper}"
        if isinstance(value, dict):
            yield f"{json.dumps(item)}: "
            item = value[item]
        yield from lines(item, deeper)
    yield f"\n{indent}{closing}"


def holds_object(value: Plain) -> bool:
    """Whether an object with something in it is the value or stands in its lists."""
    if isinstance(value, dict):
        return bool(value)
    if not isinstance(value, list):
        return False
    kinds = set(map(type, value))
    return (list in kinds or dict in kinds) and any(map(holds_object, value))
