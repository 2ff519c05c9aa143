"""Words in a picture: how wide they are, what of a long name is shown, how types and small constants read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from functools import lru_cache
from typing import Any

import numpy as np

from ..graph import Node, Value
from ..tensor import TensorData
from ..types import Type

MOST_CHARACTERS = 26
_MOST_ELEMENTS = 6
_MOST_VALUE = 18
_ABOUT_CHARACTERS = 400
# Em widths of the widest of the usual fonts (DejaVu, Verdana): text never gets wider than we think.
_MONOSPACE = 0.605
_SANS = {
    **dict.fromkeys("ijl.,:;'|! ()[]", 0.46),
    **dict.fromkeys('frtI-"/\\', 0.54),
    **dict.fromkeys("#&+<=>^~OQ", 0.88),
    **dict.fromkeys("mwMW@%", 1.12),
}
_REGULAR = 0.9  # of the width of bold text
_UNSEEN = ("Cc", "Cf", "Cs", "Cn", "Zl", "Zp")


def width_of(text: str, size: float, monospace: bool = True, bold: bool = False) -> float:
    """Upper bound of the width of one line of text."""
    return size * sum(_em(character, monospace) for character in text) * (1.0 if monospace or bold else _REGULAR)


@lru_cache(maxsize=4096)
def _em(character: str, monospace: bool) -> float:
    if ord(character) > 0x2FF and unicodedata.east_asian_width(character) in "WF":
        return 1.3
    if monospace:
        return _MONOSPACE if ord(character) <= 0x2FF else 0.9
    return _SANS.get(character, 1.1 if ord(character) > 0x7E else 0.85 if character.isupper() else 0.73)


def clean(text: str) -> str:
    """The text with everything that isn't seen (controls, direction marks, half surrogates) spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character) in _UNSEEN else character
        for character in text
    )


def short(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text without its middle where it is too long."""
    if len(text) > 4 * most:  # cleaning a name of megabytes is work for nothing
        text = f"{text[: 2 * most]}{text[-2 * most :]}"
    text = clean(text)
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - most :]}"


def long(text: str) -> str:
    """What a tooltip holds of a text."""
    return short(text, _ABOUT_CHARACTERS)


def type_text(type: Type | None) -> str:
    return short(str(type or "?"), MOST_CHARACTERS + 2)


def is_small(value: Value) -> bool:
    """Whether a constant is better told by its value than by its name."""
    data = value.data
    return data is not None and data.size <= _MOST_ELEMENTS and len(array_text(data)) <= _MOST_VALUE


def array_text(data: TensorData) -> str:
    """A small constant's value, in one line."""
    text = np.array2string(data.numpy(), separator=", ", precision=5, max_line_width=10_000)
    if data.dtype.bits:  # no padding between numbers
        text = re.sub(r"\s+(?=[,\]])|(?<=\[)\s+", "", text)
    return short(" ".join(text.split()))


def title_of(node: Node) -> str:
    """The operator, with its domain where that isn't one of the hub's own."""
    domain = "" if node.domain in ("", "backedge") else f"{node.domain}."
    return short(f"{domain}{node.op_type}")


def attributes_text(node: Node, without: Container[str] = ()) -> str:
    """The attributes of a node, in one line."""
    found = node.attributes.items()
    return ", ".join(f"{name}={_attribute(value)}" for name, value in found if name != "slots" and name not in without)


def _attribute(value: Any) -> str:
    if isinstance(value, TensorData):
        return array_text(value) if value.size <= _MOST_ELEMENTS else repr(value)
    if isinstance(value, str | bytes):
        value = value[:_ABOUT_CHARACTERS]
    if isinstance(value, list | tuple) and len(value) > _ABOUT_CHARACTERS:
        value = [*value[:_ABOUT_CHARACTERS], ...]
    return str(value) if isinstance(value, int | float | str) else repr(value)


def tooltip(kind: str, name: str, type: Type | None = None) -> str:
    """A tooltip for one value."""
    return f"{kind} {long(name)}" + (f": {long(str(type))}" if type is not None else "")


def number(count: int) -> str:
    """20 000"""
    return f"{count:,}".replace(",", "\N{NO-BREAK SPACE}")


def counted(count: int, what: str) -> str:
    """1 operator, 20 000 operators"""
    return f"{number(count)} {what}{'' if count == 1 else 's'}"
