"""Letters in the other case, one character for one, as ONNX Runtime has them: by C's towlower and towupper.

Every locale has the mappings of Unicode's that are one character long, but for two: in C (POSIX) letters are those of
ASCII, and Turkish and Azerbaijani have an i of their own. That was measured over all characters below U+30000.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

Change = Callable[[str], str]
_ASCII = ("C", "POSIX")
_DOTTED = ("tr", "az")


def _lower(character: str) -> str:
    return character.lower()[0]  # of U+0130 the dot isn't kept


def _upper(character: str) -> str:
    """Where Unicode has several characters, its title case may have one."""
    return next((made for made in (character.upper(), character.title()) if len(made) == 1), character)


def _ascii_lower(character: str) -> str:
    return character.lower() if character.isascii() else character


def _ascii_upper(character: str) -> str:
    return character.upper() if character.isascii() else character


def _dotted_lower(character: str) -> str:
    return "ı" if character == "I" else _lower(character)


def _dotted_upper(character: str) -> str:
    return "İ" if character == "i" else _upper(character)


_CHANGES: dict[str, tuple[Change, Change, Change]] = {
    # of any locale, in C, in Turkish
    "LOWER": (_lower, _ascii_lower, _dotted_lower),
    "UPPER": (_upper, _ascii_upper, _dotted_upper),
}


def changing(action: str, locale: str) -> Change:
    """What becomes of one character.

    Args:
        action: LOWER or UPPER.
        locale: its name; "" is the one of the environment.
    """
    name = locale or next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "C")
    anywhere, in_ascii, dotted = _CHANGES[action]
    return in_ascii if name in _ASCII else dotted if re.split("[-_.@]", name)[0] in _DOTTED else anywhere
