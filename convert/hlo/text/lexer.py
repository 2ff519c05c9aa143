"""A position in HLO text, and the tokens that may stand there.

What a run of characters is depends on what is expected (`1_2` is a pad or part of labels, `b01f` a name or labels),
so nothing is tokenized ahead: every token is a regular expression, tried where it is expected.
"""

from __future__ import annotations

import re
from typing import NoReturn

from ....passes.errors import InvalidModel
from ....runtime.oracles.hlo_names import unescape
from .dtypes import WORDS

COMMENT = r"/\*(?s:.*?)\*/|//[^\n]*+"
BLANK = rf"(?>(?:\s++|{COMMENT})*)"
"""Atomic groups, since Python before 3.11.5 doesn't match all that `(?:...)*+` does."""

NAME = r"[A-Za-z_][\w.\-]*+"
DEEPEST = 50
"""Tuples in tuples, instructions in operands and computations in instructions go no deeper."""

_NESTED = re.compile(r"[^{}()\[\]\"'/]*+")
_FLAT = re.compile(r"[^\s,{}()\[\]\"'/]*+")
_CLOSING = {"{": "}", "(": ")", "[": "]"}


def token(pattern: str) -> re.Pattern[str]:
    """A token: the pattern, after blanks and comments."""
    return re.compile(BLANK + pattern, re.ASCII)


_SKIP = token("")
_FOUND = token(r"(\"[^\"\n]{0,20}\"?|[\w.%\-]{1,30}|.)")
_INT = token(r"(-?\d+)(?![\w.])")
_NAME = token(f"%?({NAME})")
_STRING = token(r"(\"(?>(?:[^\"\\]++|\\.)*)\"|'(?>(?:[^'\\]++|\\.)*)')")
_WHOLE_NAME = re.compile(NAME, re.ASCII)


class Scanner:
    """`text`, and `at`, where reading goes on."""

    __slots__ = ("_counted", "_line", "_line_start", "at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._counted = self._line_start = 0
        self._line = 1

    def position(self, at: int) -> tuple[int, int]:
        """The line and the column, from 1. Cheap as long as `at` goes forward."""
        if at < self._counted:
            self._counted = self._line_start = 0
            self._line = 1
        self._line += self.text.count("\n", self._counted, at)
        newline = self.text.rfind("\n", self._counted, at)
        if newline >= 0:
            self._line_start = newline + 1
        self._counted = at
        return self._line, at - self._line_start + 1

    def skip(self) -> int:
        """Pass blanks and comments; where that ends."""
        match = _SKIP.match(self.text, self.at)
        assert match
        self.at = match.end()
        return self.at

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """Raise InvalidModel at `at`, or at the next token."""
        line, column = self.position(self.skip() if at is None else at)
        raise InvalidModel(f"line {line}, column {column}: {reason}")

    def expected(self, what: str) -> NoReturn:
        """Raise InvalidModel: something else stands here."""
        start = self.skip()
        found = _FOUND.match(self.text, start)
        self.fail(f"{what} expected, {ascii(found[1]) if found else 'the end of the text'} found", start)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Pass a token if it stands here."""
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def ahead(self, symbol: str) -> bool:
        """Whether the symbol is next."""
        return self.text.startswith(symbol, self.at) or self.text.startswith(symbol, self.skip())

    def accept(self, symbol: str) -> bool:
        """Pass the symbol if it is next."""
        if not self.ahead(symbol):
            return False
        self.at += len(symbol)
        return True

    def expect(self, symbol: str) -> None:
        """Pass the symbol; InvalidModel if something else is next."""
        if not self.accept(symbol):
            self.expected(f"'{symbol}'")

    def integer(self, what: str = "an integer") -> int:
        """An integer of 64 bits."""
        match = self.match(_INT)
        if not match:
            self.expected(what)
        if len(match[1]) > 20 or not -(1 << 63) <= (value := int(match[1])) < 1 << 63:
            self.fail(f"{what} that fits 64 bits expected, {len(match[1].lstrip('-'))} digits found", match.start(1))
        return value

    def name(self, what: str = "a name") -> str:
        """A name, without its `%`."""
        match = self.match(_NAME)
        if not match:
            self.expected(what)
        return match[1]

    def string(self) -> str:
        """A string in quotes, unescaped."""
        match = self.match(_STRING)
        if not match:
            self.expected("a string")
        return unescape(match[1][1:-1])

    def raw(self) -> str:
        """Any value, as it stands: to the next comma, blank or closing bracket outside brackets and strings."""
        start = self.skip()
        text, open_at = self.text, []
        while True:
            match = (_NESTED if open_at else _FLAT).match(text, self.at)
            assert match
            self.at = match.end()
            symbol = text[self.at : self.at + 1]
            if symbol in _CLOSING:
                open_at.append(self.at)
                self.at += 1
            elif symbol and symbol in "\"'":
                self.string()
            elif symbol == "/":
                at = self.at
                if self.skip() == at:
                    if text.startswith("/*", at):
                        self.fail("this comment is never closed", at)
                    self.at += 1
            elif open_at and symbol:
                if symbol != _CLOSING[text[open_at[-1]]]:
                    self.fail(f"'{_CLOSING[text[open_at[-1]]]}' expected, '{symbol}' found")
                open_at.pop()
                self.at += 1
            elif open_at:
                self.fail(f"'{text[open_at[-1]]}' is never closed", open_at[-1])
            else:
                return text[start : self.at]


def spelled(name: str) -> str:
    """A name as HLO text writes it: what is reserved after a `%`.

    Raises:
        InvalidModel: there is no way to write it.
    """
    if not _WHOLE_NAME.fullmatch(name):
        raise InvalidModel(f"{name[:60]!a} can't be a name in HLO text")
    return f"%{name}" if name in WORDS else name


_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """A string as HLO text writes it: control characters, too, are escaped, since readers take a file with others for
    none of text."""
    return '"' + "".join(_ESCAPES.get(one) or (f"\\{ord(one):03o}" if one < " " else one) for one in text) + '"'
