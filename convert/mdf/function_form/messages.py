"""What of a model has no place in MDF (doc strings, properties, annotations), as the fields of ONNX's own messages."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Callable
from typing import TypeVar

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from ....passes.errors import InvalidModel
from ..model import Plain

_Message = TypeVar("_Message", bound=Message)


Pack = Callable[[bytes], Plain]
"""How bytes stand in a container: as they are, or as `base64`."""


def base64(data: bytes) -> str:
    return b64encode(data).decode()


def plain_message(message: Message, pack: Pack) -> Plain:
    """A message's fields by name; its bytes where that would lose something (text that isn't UTF-8, bits of a NaN)."""
    raw = message.SerializeToString(deterministic=True)
    try:
        fields = json_format.MessageToDict(message, preserving_proto_field_name=True)
        again = json_format.ParseDict(fields, type(message)())
    except (json_format.Error, UnicodeError, TypeError, ValueError, AttributeError):
        return pack(raw)
    return fields if again.SerializeToString(deterministic=True) == raw else pack(raw)


def message_of(kind: type[_Message], plain: Plain, where: str) -> _Message:
    """The message that `plain_message` was given.

    Raises:
        InvalidModel: it is no such message.
    """
    made = kind()
    try:
        if isinstance(plain, dict):
            json_format.ParseDict(plain, made)
        else:
            made.ParseFromString(bytes_of(plain, where))
    except (json_format.Error, DecodeError, ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        raise InvalidModel(f"{where}: no {kind.DESCRIPTOR.name}: {_line(error)}") from None
    except (RuntimeError, TypeError, ValueError) as error:
        raise InvalidModel(f"{where}: no {kind.DESCRIPTOR.name}: {_line(error)}") from None
    return made


def _line(error: Exception) -> str:
    return f"{' '.join(str(error).split()):.200}"


def bytes_of(plain: Plain, where: str) -> bytes:
    """Bytes, which containers without bytes hold as base64.

    Raises:
        InvalidModel: it is neither.
    """
    if isinstance(plain, bytes):
        return plain
    if not isinstance(plain, str):
        raise InvalidModel(f"{where}: bytes are missing")
    try:
        return b64decode(plain, validate=True)
    except (BadBase64, ValueError):
        raise InvalidModel(f"{where}: its bytes are no base64") from None
