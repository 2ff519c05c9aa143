"""Plain values, which MDF's containers hold: what there may be of them, and how deep and how many."""

from __future__ import annotations

from collections.abc import Iterable

from ...passes.errors import InvalidModel, Unsupported
from .model import Plain

DEEPEST = 100
"""How deep lists and objects may stand inside each other."""

MOST_BYTES = 2**31
MOST_VALUES = 2**26
"""How large a file may be, and how many values it may hold."""

TOO_DEEP = f"lists and objects stand more than {DEEPEST} deep inside each other"
TOO_MANY = f"it holds more than {MOST_VALUES} values"
LONGEST_INTEGER = len(str(2**64))

_AS_THEY_ARE = frozenset([float, bool, type(None)])
_NAMES = {
    type(None): "nothing",
    bool: "a truth value",
    int: "a whole number",
    float: "a number",
    str: "text",
    bytes: "bytes",
    list: "a list",
    dict: "an object",
}


def kind_of(value: Plain) -> str:
    """What a value is, for messages."""
    return _NAMES.get(type(value)) or f"of type {type(value).__name__}"


def whole(text: str) -> int:
    """The number that decimal digits say, which are too many to be worth reading where 64 bits hold no such number.

    Raises:
        InvalidModel: 64 bits don't hold it.
    """
    if len(text) > LONGEST_INTEGER + 1:
        raise InvalidModel(f"a whole number of {len(text)} digits; 64 bits hold no such number")
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
            with the place.
        Unsupported: it holds bytes and may not, with the place.
    """
    if type(tree) is not dict:
        raise InvalidModel(f"it holds {kind_of(tree)}; a model is an object")
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
                    raise InvalidModel(f"{_place((*path, key))}: 64 bits don't hold a number as large as this")
                if type(value) is not int:
                    container[key] = int(value)  # type: ignore[index]
            elif type(value) is str:
                _check_text(value, (*path, key))
            elif type(value) is bytes:
                if not may_hold_bytes:
                    raise Unsupported(_place((*path, key)), "bytes, which only BSON holds")
            elif type(value) not in _AS_THEY_ARE:
                raise InvalidModel(f"{_place((*path, key))}: a model holds nothing {kind_of(value)}")
    return tree


def _check_keys(container: dict[str, Plain], path: tuple[str | int, ...]) -> None:
    for key in container:
        if type(key) is not str:
            raise InvalidModel(f"{_place(path)}: the key {shown(str(key))} isn't text")
        _check_text(key, path)


def _check_text(text: str, path: tuple[str | int, ...]) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidModel(f"{_place(path)}: {shown(text)} holds half of a character") from None


def _place(path: tuple[str | int, ...]) -> str:
    """Where a value stands; the first step is the model's id."""
    return " > ".join(shown(str(step)) if isinstance(step, str) else str(step) for step in path) or "the document"
