"""BSON <-> plain values: doubles, integers of 32 and 64 bits, text, truth values, null, bytes, lists and objects."""

from __future__ import annotations

import re

from ...passes.errors import InvalidModel, Unsupported
from ...passes.libraries import needed
from .model import Plain
from .plain_values import DEEPEST, MOST_VALUES, TOO_DEEP, TOO_MANY, shown

_OBJECT, _ARRAY = 0x03, 0x04
_TEXT, _BYTES = 0x02, 0x05
_FOREIGN = {
    0x06: "undefined",
    0x07: "an object id",
    0x09: "a date",
    0x0B: "a regular expression",
    0x0C: "a reference to a database",
    0x0D: "a program",
    0x0E: "a symbol",
    0x0F: "a program",
    0x11: "a time stamp",
    0x13: "a decimal number",
    0x7F: "the largest key",
    0xFF: "the smallest key",
}
_SCALAR = rb"[\x01\x12][^\0]*\0.{8}|\x10[^\0]*\0.{4}|\x08[^\0]*\0[\0\1]|\x0a[^\0]*\0"
_SCALARS = re.compile(rb"(?>(?:%s)*)" % _SCALAR, re.DOTALL)
_ONE_SCALAR = re.compile(_SCALAR, re.DOTALL)


def is_bson(data: bytes) -> bool:
    """Whether the first four bytes say the length of all."""
    return len(data) >= 5 and int.from_bytes(data[:4], "little") == len(data) and data[-1] == 0


def read(data: bytes) -> Plain:
    """What a BSON document holds.

    Raises:
        InvalidModel: it isn't BSON, is truncated, has a key twice in one object or a type that no model has, or is
            deeper or larger than the limits; or pymongo isn't installed.
    """
    _scan(data)
    with needed("pymongo", "BSON"):
        import bson
        from bson.errors import BSONError
    try:
        return bson.decode(data)
    except (BSONError, ValueError) as error:
        raise InvalidModel(f"it isn't BSON: {str(error).splitlines()[0]}") from None


class _Open:
    """A list or object whose end isn't reached yet."""

    __slots__ = ("end", "keys")

    def __init__(self, end: int, is_object: bool) -> None:
        self.end = end
        self.keys: set[bytes] | None = set() if is_object else None


def _scan(data: bytes) -> None:
    """Go over all elements once, before a decoder does that recurses and takes the last of equal keys."""
    if not is_bson(data):
        raise InvalidModel("it isn't BSON, or is truncated: its length doesn't match its first four bytes")
    opened = [_Open(len(data), True)]
    position, containers = 4, 0
    while opened:
        top = opened[-1]
        if top.keys is None and (run := _SCALARS.match(data, position)):
            position = run.end()
        kind = data[position] if position < top.end else -1
        if kind == 0:
            position += 1
            if position != top.end:
                raise _wrong(position)
            opened.pop()
            continue
        start = data.find(0, position) + 1
        if start == 0 or kind == -1:
            raise _wrong(position)
        if top.keys is not None:
            key = data[position + 1 : start - 1]
            if key in top.keys:
                raise InvalidModel(f"an object has the key {shown(key.decode(errors='replace'))} twice")
            top.keys.add(key)
        size = int.from_bytes(data[start : start + 4], "little")
        if kind in (_OBJECT, _ARRAY):
            if start + size > top.end or size < 5:
                raise _wrong(start)
            containers += 1
            if len(opened) >= DEEPEST:
                raise InvalidModel(TOO_DEEP)
            if containers > MOST_VALUES:
                raise InvalidModel(TOO_MANY)
            opened.append(_Open(start + size, kind == _OBJECT))
            position = start + 4
        elif kind == _TEXT:
            position = start + 4 + size
        elif kind == _BYTES:
            if data[start + 4 : start + 5] != b"\0":
                raise InvalidModel(f"byte {start}: bytes of a subtype, which a model can't contain")
            position = start + 5 + size
        elif scalar := _ONE_SCALAR.match(data, position):
            position = scalar.end()
        elif kind in _FOREIGN:
            raise InvalidModel(f"byte {position}: {_FOREIGN[kind]}, which a model can't contain")
        else:
            raise _wrong(position)


def _wrong(position: int) -> InvalidModel:
    return InvalidModel(f"it isn't BSON: there is no valid element at byte {position}")


def write(tree: dict[str, Plain]) -> bytes:
    """The BSON document of a tree.

    Raises:
        InvalidModel: pymongo isn't installed.
        Unsupported: a number beyond 64 bits signed, a key that BSON doesn't have, or more than its 2 GiB.
    """
    with needed("pymongo", "BSON"):
        import bson
        from bson.errors import BSONError
    try:
        data = bson.encode(tree)
    except OverflowError:
        raise Unsupported("BSON", "it has no integers above 2**63 - 1, and the model contains one") from None
    except (BSONError, ValueError) as error:
        raise Unsupported("BSON", str(error).splitlines()[0]) from None
    if b"\2$ref\0" in data and b"$id\0" in data:
        raise Unsupported("BSON", "its readers take an object with the keys '$ref' and '$id' for a reference")
    return data
