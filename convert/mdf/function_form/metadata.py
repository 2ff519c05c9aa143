"""Types of values as ports and metadata say them, and what has no place in MDF as the fields of ONNX's own messages.

A port's `type` is an element type's name, its `shape` the sizes; that is enough for a tensor all of whose sizes are
known. Any other type stands in the metadata as well, under "type":

    {dtype: float32, shape: [2, N, null, [1, 8]]}      sizes: known, called N, unknown, 1 to 8; no shape: unknown rank
    {sparse: {dtype, shape}}, {sequence: type}, {optional: type}, {map: {key: int64, value: type}}
    {opaque: {domain, name}}

and a port without `type` (and without that metadata) is of a value of which the model states no type.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Callable
from typing import TypeVar

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from ....passes.errors import InvalidModel
from ....passes.types import (
    Dim,
    DType,
    Interval,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)
from ..model import Plain
from ..model import Shape as PortShape
from ..plain_values import shown

_DEEPEST = 30
_MOST_ELEMENTS, _MOST_SIZES = 2**24, 32
"""Of a port's shape, as MDF's engine makes an array of it."""


def port_type(type: Type | None) -> tuple[PortShape, str, Plain]:
    """A port's shape and type, and the type for its metadata (None where the port says it)."""
    if type is None:
        return (), "", None
    if isinstance(type, TensorType) and type.dtype is not None:
        sizes = type.static_shape
        if sizes is not None and len(sizes) <= _MOST_SIZES and math.prod(sizes) <= _MOST_ELEMENTS:
            return sizes, type.dtype.value, None
        return (), type.dtype.value, plain_type(type)
    return (), "", plain_type(type)


def type_of_port(shape: PortShape, written: str, stated: Plain, where: str) -> Type | None:
    """The type that a port says with its metadata.

    Raises:
        InvalidModel: no such type, or the port contradicts its metadata.
    """
    if stated is None:
        if not written:
            return None
        if any(isinstance(size, str) for size in shape):
            raise InvalidModel(f"{where}: the shape {list(shape)} has sizes that aren't numbers")
        return TensorType(_dtype(written, where), _sizes(list(shape), where))
    made = type_of(stated, where)
    if written != (made.dtype.value if isinstance(made, TensorType) and made.dtype is not None else ""):
        raise InvalidModel(f"{where}: its type is {written!r}, its metadata says {made}")
    return made


def plain_type(type: Type | None) -> Plain:
    """A type as metadata has it."""
    match type:
        case TensorType():
            return _plain_tensor(type)
        case SparseTensorType():
            return {"sparse": _plain_tensor(type)}
        case SequenceType(element):
            return {"sequence": plain_type(element)}
        case OptionalType(element):
            return {"optional": plain_type(element)}
        case MapType(key, value):
            return {"map": {"key": key.value, "value": plain_type(value)}}
        case OpaqueType(domain, name):
            return {"opaque": {"domain": domain, "name": name}}
    return None


def _plain_tensor(type: TensorType | SparseTensorType) -> dict[str, Plain]:
    made: dict[str, Plain] = {"dtype": None if type.dtype is None else type.dtype.value}
    if type.shape is not None:
        made["shape"] = [[dim.lower, dim.upper] if isinstance(dim, Interval) else dim for dim in type.shape]
    return made


def type_of(plain: Plain, where: str, depth: int = 0) -> Type | None:
    """The type that metadata states.

    Raises:
        InvalidModel: it is none.
    """
    match plain:
        case None:
            return None
        case {"sequence": element, **rest} if not rest and depth < _DEEPEST:
            return SequenceType(type_of(element, where, depth + 1))
        case {"optional": element, **rest} if not rest and depth < _DEEPEST:
            return OptionalType(type_of(element, where, depth + 1))
        case {"map": {"key": str(key), "value": value}, **rest} if not rest and depth < _DEEPEST:
            return MapType(_dtype(key, where), type_of(value, where, depth + 1))
        case {"opaque": {"domain": str(domain), "name": str(name)}, **rest} if not rest:
            return OpaqueType(domain, name)
        case {"sparse": {"dtype": dtype, **rest}, **others} if not others:
            return SparseTensorType(*_tensor(dtype, rest, where))
        case {"dtype": dtype, **rest}:
            return TensorType(*_tensor(dtype, rest, where))
    raise InvalidModel(f"{where}: {shown(str(plain))} is no type")


def _tensor(dtype: Plain, rest: dict[str, Plain], where: str) -> tuple[DType | None, Shape | None]:
    if set(rest) - {"shape"}:
        raise InvalidModel(f"{where}: a type has no {min(set(rest) - {'shape'})!r}")
    found = None if dtype is None else _dtype(dtype, where)
    return found, _sizes(rest["shape"], where) if "shape" in rest else None


def _dtype(name: Plain, where: str) -> DType:
    try:
        return DType(name)
    except ValueError:
        raise InvalidModel(f"{where}: {shown(str(name))} is no element type") from None


def _sizes(sizes: Plain, where: str) -> Shape:
    if not isinstance(sizes, list):
        raise InvalidModel(f"{where}: a shape is a list")
    return tuple(_size(size, where) for size in sizes)


def _size(size: Plain, where: str) -> Dim:
    if size is None or (isinstance(size, str) and size) or _is_size(size):
        return size
    match size:
        case [lower, None] if _is_size(lower):
            return Interval(lower, None)
        case [lower, upper] if _is_size(lower) and _is_size(upper) and lower <= upper:
            return Interval(lower, upper)
    raise InvalidModel(f"{where}: {shown(str(size))} is no size")


def _is_size(size: Plain) -> bool:
    return type(size) is int and 0 <= size < 2**63


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
