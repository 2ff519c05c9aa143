"""YAML <-> plain values, as PyYAML's safe loader reads it: YAML 1.1, where 1e-05 is text and `on` a truth value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from ...passes.errors import InvalidModel
from ...passes.limits import allow_calls
from .json_text import entries, holds_object
from .model import Plain
from .plain_values import DEEPEST, MOST_VALUES, TOO_DEEP, TOO_MANY, shown

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_MOST_REPEATED = 1_000_000
"""How many values aliases may repeat in all: each alias is a copy here."""

_LONGEST_NUMBER = 400
_MOST_DIRECTIVES = 1000
"""The parser compares each %TAG directive with all before it."""

_TAG = "tag:yaml.org,2002:"
_FOREIGN = {
    "timestamp": "a date",
    "merge": "a merge of objects",
    "value": "a default value",
    "binary": "bytes, which only BSON supports",
}
_DEEPER = "exceeded maximum nesting depth"  # a limit of newer libyaml's own, beyond ours
_USUAL_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]{0,17}))|-?[0-9]+\.[0-9]*(?:e[-+][0-9]+)?")


def read(data: bytes) -> Plain:
    """What UTF-8 text of YAML holds.

    Raises:
        InvalidModel: it isn't YAML or several documents, has a key twice in one object or one that isn't text, a tag
            or a type that no model has, or is deeper or larger than the limits.
    """
    allow_calls(DEEPEST // 10)
    if data.count(b"%TAG") > _MOST_DIRECTIVES:
        raise InvalidModel(f"it has more than {_MOST_DIRECTIVES} %TAG directives")
    try:
        loader = _LOADER(data.decode("utf-8-sig"))
        try:
            return _Reader(loader).document()
        finally:
            loader.dispose()
    except UnicodeDecodeError:
        raise InvalidModel("its text isn't UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.problem == _DEEPER:
            raise InvalidModel(TOO_DEEP) from None
        raise InvalidModel(f"it isn't YAML, {_line(mark)}: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InvalidModel(f"it isn't YAML: {getattr(error, 'reason', error)}") from None


def _line(mark: Any) -> str:
    return f"line {mark.line + 1}" if mark else "somewhere"


def _refused(event: Any, reason: str) -> InvalidModel:
    return InvalidModel(f"{_line(event.start_mark)}: {reason}")


class _Reader:
    """Builds the values out of the parser's events: the parser keeps its own stack, composing nodes would use C's."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._next = loader.get_event
        self._anchored: dict[str, Plain] = {}
        self._left = MOST_VALUES
        self._repeats_left = _MOST_REPEATED

    def document(self) -> Plain:
        """The only document of the stream."""
        self._next()  # the stream's start
        if type(self._next()) is yaml.StreamEndEvent:
            raise InvalidModel("it is empty; a model is an object")
        made = self._value(self._next(), 0)
        self._next()  # the document's end
        event = self._next()
        if type(event) is not yaml.StreamEndEvent:
            raise _refused(event, "a second document; a model is one")
        return made

    def _value(self, event: Any, depth: int) -> Plain:
        self._left -= 1
        if self._left < 0:
            raise InvalidModel(TOO_MANY)
        kind = type(event)
        if kind is yaml.AliasEvent:
            if event.anchor not in self._anchored:
                raise InvalidModel(
                    f"{_line(event.start_mark)}: the alias {shown(event.anchor)} has no anchor before it"
                )
            return self._copy(self._anchored[event.anchor], depth)
        if kind is yaml.ScalarEvent:
            made = self._scalar(event)
        else:
            if depth >= DEEPEST:
                raise InvalidModel(TOO_DEEP)
            made = self._list(event, depth) if kind is yaml.SequenceStartEvent else self._object(event, depth)
        if event.anchor is not None:
            if event.anchor in self._anchored:
                raise _refused(event, f"the anchor {shown(event.anchor)} is defined twice")
            self._anchored[event.anchor] = made
        return made

    def _list(self, start: Any, depth: int) -> list[Plain]:
        self._check_tag(start, "seq")
        made: list[Plain] = []
        while type(event := self._next()) is not yaml.SequenceEndEvent:
            made.append(self._value(event, depth + 1))
        return made

    def _object(self, start: Any, depth: int) -> dict[str, Plain]:
        self._check_tag(start, "map")
        made: dict[str, Plain] = {}
        while type(event := self._next()) is not yaml.MappingEndEvent:
            key = self._key(event)
            if key in made:
                raise _refused(event, f"an object has the key {shown(key)} twice")
            made[key] = self._value(self._next(), depth + 1)
        return made

    def _key(self, event: Any) -> str:
        if type(event) is not yaml.ScalarEvent:
            raise _refused(event, "a key that isn't text, but an alias, a list or an object")
        key = self._value(event, 0)
        if type(key) is not str:
            raise _refused(event, f"YAML reads the key {shown(event.value)} as {key!r}; put it in quotes")
        return key

    def _check_tag(self, event: Any, kind: str) -> None:
        if event.tag not in (None, "!", _TAG + kind):
            raise InvalidModel(
                f"{_line(event.start_mark)}: the tag {shown(event.tag)}; a model has only YAML's plain ones"
            )

    def _scalar(self, event: Any) -> Plain:
        text, tag = event.value, event.tag
        if tag is None and event.implicit[0] and (usual := _USUAL_NUMBER.fullmatch(text)):
            return int(text) if usual[1] else float(text)
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, text, event.implicit)
        kind = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
        if kind == "str":
            return text
        if kind not in ("null", "bool", "int", "float"):
            if kind in _FOREIGN:
                raise _refused(event, f"YAML reads {shown(text)} as {_FOREIGN[kind]}; text must be in quotes")
            self._check_tag(event, "str")
        if len(text) > _LONGEST_NUMBER:
            raise _refused(event, f"a number of {len(text)} characters")
        try:
            return getattr(self._loader, f"construct_yaml_{kind}")(yaml.ScalarNode(tag, text))
        except (ValueError, LookupError, ArithmeticError):
            raise _refused(event, f"{shown(text)} isn't of YAML's type {kind!r}") from None

    def _copy(self, value: Plain, depth: int) -> Plain:
        self._repeats_left -= 1
        if self._repeats_left < 0:
            raise InvalidModel(f"its aliases repeat more than {_MOST_REPEATED} values")
        if not isinstance(value, (list, dict)):
            return value
        if depth >= DEEPEST:
            raise InvalidModel(TOO_DEEP)
        if isinstance(value, list):
            return [self._copy(item, depth + 1) for item in value]
        return {key: self._copy(item, depth + 1) for key, item in value.items()}


# Writing -----------------------------------------------------------------------------------------------------

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_TEXT = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_NOT_SHOWN = re.compile(r'["\\]|[^ -~]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_LONGEST_KEY = 900
"""A longer key stands behind a question mark: YAML looks no further than 1024 characters for a key's colon."""


def lines(value: Plain) -> Iterator[str]:
    """The text of a value in pieces: objects in block style, what holds no object in flow style on one line."""
    if not holds_object(value):
        yield _flow(value) + "\n"
        return
    stack = [entries(value)]
    while stack:
        indent = "  " * (len(stack) - 1)
        for key, item in stack[-1]:
            head = f"{indent}-" if key is None else _key(_text(key), indent)
            if holds_object(item):
                yield f"{head}\n"
                stack.append(entries(item))
                break
            yield f"{head} {_flow(item)}\n"
        else:
            stack.pop()


def _key(text: str, indent: str) -> str:
    return f"{indent}{text}:" if len(text) <= _LONGEST_KEY else f"{indent}? {text}\n{indent}:"


def _flow(value: Plain) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list) and not _only_numbers(value):
        return f"[{', '.join(map(_flow, value))}]"
    text = json.dumps(value)
    text = re.sub(r"(?<![.0-9])([0-9]+)e", r"\1.0e", text)  # without a point it's text to YAML 1.1
    return text.replace("NaN", ".nan").replace("Infinity", ".inf")


def _only_numbers(values: list[Plain]) -> bool:
    kinds = set(map(type, values))
    return str not in kinds and (list not in kinds or all(_only_numbers(v) for v in values if isinstance(v, list)))


def _text(text: str) -> str:
    if _WORD.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return f'"{_NOT_SHOWN.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\U{ord(found[0]):08x}"
