"""Plain values, which MDF's containers hold: what there may be of them, how deep and how many; objects of a document
with their locations, which messages name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...passes.errors import InvalidModel, Unsupported
from .model import Plain

DEEPEST = 500
"""How deep lists and objects may stand inside each other."""

MOST_BYTES = 2**31
MOST_VALUES = 2**26
"""How large a file may be, and how many values it may hold."""

TOO_DEEP = f"lists and objects are nested more than {DEEPEST} deep"
TOO_MANY = f"it contains more than {MOST_VALUES} values"
LONGEST_INTEGER = len(str(2**64))

_AS_THEY_ARE = frozenset([float, bool, type(None)])
_NAMES = {
    type(None): "nothing",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "text",
    bytes: "bytes",
    list: "a list",
    dict: "an object",
}


def kind_of(value: Plain) -> str:
    """What a value is, for messages."""
    return _NAMES.get(type(value)) or f"of type {type(value).__name__}"


def parse_integer(text: str) -> int:
    """The number that decimal digits say, which are too many to be worth reading where 64 bits hold no such number.

    Raises:
        InvalidModel: 64 bits don't hold it.
    """
    if len(text) > LONGEST_INTEGER + 1:
        raise InvalidModel(f"an integer of {len(text)} digits, which doesn't fit in 64 bits")
    return int(text)


def without_repeats(pairs: list[tuple[str, Plain]]) -> dict[str, Plain]:
    """An object of these keys and values.

    Raises:
        InvalidModel: a key stands twice.
    """
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise InvalidModel(f"an object has the key {shown(twice)} twice")
    return made


def shown(text: str) -> str:
    """Text of a document in a message: quoted, on one line, not long."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def check(tree: Plain, may_hold_bytes: bool) -> dict[str, Plain]:
    """The tree itself, every list and object of which was looked at; subclasses of int in it become plain ones.

    Raises:
        InvalidModel: it's no object, or holds something that isn't plain, is too deep, too many or beyond 64 bits,
            with the location.
        Unsupported: it holds bytes and may not, with the location.
    """
    if type(tree) is not dict:
        raise InvalidModel(f"it contains {kind_of(tree)}; a model is an object")
    left = MOST_VALUES
    waiting: list[tuple[list[Plain] | dict[str, Plain], tuple[str | int, ...]]] = [(tree, ())]
    while waiting:
        container, path = waiting.pop()
        if len(path) >= DEEPEST:
            raise InvalidModel(TOO_DEEP)
        left -= len(container)
        if left < 0:
            raise InvalidModel(TOO_MANY)
        if isinstance(container, dict):
            _check_keys(container, path)
        values: Iterable[Plain] = container.values() if isinstance(container, dict) else container
        if set(map(type, values)) <= _AS_THEY_ARE:
            continue  # long lists of numbers end here
        for key, value in container.items() if isinstance(container, dict) else enumerate(container):
            if type(value) in (list, dict):
                waiting.append((value, (*path, key)))
            elif isinstance(value, int) and not isinstance(value, bool):
                if not -(2**63) <= value < 2**64:
                    raise InvalidModel(f"{_location((*path, key))}: a number this large doesn't fit in 64 bits")
                if type(value) is not int:
                    container[key] = int(value)  # type: ignore[index]
            elif type(value) is str:
                _check_text(value, (*path, key))
            elif type(value) is bytes:
                if not may_hold_bytes:
                    raise Unsupported(_location((*path, key)), "bytes, which only BSON supports")
            elif type(value) not in _AS_THEY_ARE:
                raise InvalidModel(f"{_location((*path, key))}: a model can't contain a value {kind_of(value)}")
    return tree


def _check_keys(container: dict[str, Plain], path: tuple[str | int, ...]) -> None:
    for key in container:
        if type(key) is not str:
            raise InvalidModel(f"{_location(path)}: the key {shown(str(key))} isn't text")
        _check_text(key, path)


def _check_text(text: str, path: tuple[str | int, ...]) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidModel(f"{_location(path)}: {shown(text)} contains half of a surrogate pair") from None


def _location(path: tuple[str | int, ...]) -> str:
    """Where a value stands; the first step is the model's id."""
    return " > ".join(shown(str(step)) if isinstance(step, str) else str(step) for step in path) or "the document"


ANYWHERE = ("id", "metadata", "notes", "name")
"""`notes` and `name` say something to people and are ignored, as by MDF's engine."""


class Object:
    """An object of the document at its location, which every message names.

    Args:
        known: the fields that it may have besides those of `ANYWHERE`.

    Raises:
        InvalidModel: it is none, or has a field that MDF doesn't know.
    """

    __slots__ = ("fields", "where")

    def __init__(self, tree: Plain, where: str, known: Sequence[str]) -> None:
        self.where = where
        if not isinstance(tree, dict):
            some = f"{known[0]!r} and {known[-1]!r}"
            raise self.refused(f"an object is expected here, with fields such as {some}, not {kind_of(tree)}")
        self.fields: dict[str, Plain] = tree
        for name in tree:
            if name not in known and name not in ANYWHERE:
                raise self.refused(f"MDF has no field {shown(str(name))} here")

    def refused(self, reason: str) -> InvalidModel:
        return InvalidModel(f"{self.where}: {reason}")

    def text(self, name: str) -> str:
        """A field's text, "" where there is none."""
        value = self.fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str):
            hint = "; in YAML it needs quotes" if isinstance(value, int | float) else ""
            raise self.refused(f"{name!r} must be text, not {kind_of(value)}{hint}")
        return value

    def needed(self, name: str) -> str:
        """A field's text, which must be there."""
        if self.fields.get(name) is None:
            raise self.refused(f"it has no {name!r}")
        return self.text(name)

    def label(self, name: str) -> str:
        """A field's text, or the number that stands there as text; "" where there is none."""
        value = self.fields.get(name)
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else self.text(name)

    def mapping(self, name: str) -> dict[str, Plain] | None:
        """A field's object, None where there is none."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.refused(f"{name!r} must be an object, not {kind_of(value)}")
        return value

    @property
    def metadata(self) -> dict[str, Plain]:
        return self.mapping("metadata") or {}

    def children(self, name: str, kind: str, known: Sequence[str]) -> Iterator[tuple[str, Object]]:
        """The objects in a field, with their ids: by their ids in an object, or in a list with an `id` in each."""
        value = self.fields.get(name, {})
        prefix = "" if kind == "graph" else f"{self.where}, "
        if isinstance(value, list):
            seen: set[str] = set()
            for position, tree in enumerate(value):
                named = tree.get("id") if isinstance(tree, dict) else None
                if not isinstance(named, str):
                    reason = "in a list, each must be an object with an 'id' that is text"
                    raise InvalidModel(f"{prefix}{kind} {position} of {name!r}: {reason}")
                if named in seen:
                    raise self.refused(f"two of its {name!r} have the id {shown(named)}")
                seen.add(named)
                yield named, Object(tree, f"{prefix}{kind} {shown(named)}", known)
        elif isinstance(value, dict):
            for key, tree in value.items():
                child = Object(tree, f"{prefix}{kind} {shown(key)}", known)
                if tree.get("id", key) != key:
                    raise child.refused(f"its 'id' is {shown(str(tree['id']))}, but it is stored under another")
                yield key, child
        else:
            raise self.refused(f"{name!r} must be an object or a list, not {kind_of(value)}")
