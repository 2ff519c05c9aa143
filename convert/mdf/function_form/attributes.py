"""Attributes of operators as parameters: a value and metadata that says what kind it is of.

    kind          value
    int, float    a number                       ints, floats     a list
    string        [text]                         strings          a list
    tensor        as in `arrays`                 tensors          none, `items` in metadata
    type_proto    none, `type` in metadata       type_protos      none, `items` in metadata
    sparse_tensor none, `proto` in metadata      sparse_tensors   none, `items` in metadata

Floats are float32, as in ONNX. What the value can't express (text that isn't UTF-8, a NaN's payload) stands as the
attribute's message in `proto`, and `value` is left out. In a function's body, {kind: reference, to: name, type: kind}
is the value of the function's own attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import AttributeProto, SparseTensorProto, TensorProto

from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.protos import (
    AttributeRef,
    TypedList,
    attribute_from_proto,
    attribute_to_proto,
    sparse_from_proto,
    tensor_from_proto,
    type_from_proto,
)
from ....passes.tensor import TensorData
from ..model import Plain
from ..plain import shown
from .arrays import Metadata, Storage, array_of, plain_array
from .messages import message_of, plain_message
from .types import plain_type, type_of

_KINDS: dict[str, int] = {name.lower(): number for name, number in AttributeProto.AttributeType.items() if number}
_NAMES = {number: name for name, number in _KINDS.items()}


def plain_attribute(name: str, value: Any, node: Node, storage: Storage) -> tuple[Plain, Metadata]:
    """(value, metadata) of an attribute.

    Raises:
        Unsupported: an element type that ONNX doesn't have.
    """
    proto = attribute_to_proto(name, value, node)
    kind = _NAMES[proto.type]
    if isinstance(value, AttributeRef):
        return None, {"kind": "reference", "to": value.name, "type": kind}
    plain, metadata = _PLAIN[kind](proto, storage)
    return plain, {"kind": kind, **metadata}


def attribute_of(name: str, value: Plain, metadata: Metadata, where: str) -> Any:
    """The attribute that `plain_attribute` was given.

    Raises:
        InvalidModel: value and metadata aren't those of an attribute.
    """
    kind = metadata.get("kind")
    if kind == "reference":
        to, type = metadata.get("to"), metadata.get("type")
        if not isinstance(to, str) or not isinstance(type, str) or type not in _KINDS:
            raise InvalidModel(f"{where}: a reference to no attribute")
        return AttributeRef(to, _KINDS[type])
    if not isinstance(kind, str) or kind not in _READ:
        raise InvalidModel(f"{where}: {shown(str(kind))} is no kind of attribute")
    if "proto" in metadata and kind not in ("tensor", "sparse_tensor"):
        proto = message_of(AttributeProto, metadata["proto"], where)
        if value is not None or proto.type != _KINDS[kind] or proto.ref_attr_name:
            raise InvalidModel(f"{where}: its message contradicts its value or its kind")
        return attribute_from_proto(proto, where)
    return _READ[kind](value, metadata, where)


# writing -----------------------------------------------------------------------------------------


def _told(proto: AttributeProto, storage: Storage) -> tuple[Plain, Metadata]:
    """The attribute as its own message."""
    bare = AttributeProto()
    bare.CopyFrom(proto)
    bare.ClearField("name")
    return None, {"proto": plain_message(bare, storage.pack)}


def _plain_float(number: float) -> float:
    return float(str(np.float32(number)))


def _payload(numbers: list[float]) -> bool:
    """Whether a NaN holds more than that it is one."""
    array = np.array(numbers, np.float32)
    strange = np.isnan(array) & (array.view(np.uint32) != 0x7FC00000)
    return bool(strange.any())


def _float(proto: AttributeProto, storage: Storage) -> tuple[Plain, Metadata]:
    return _told(proto, storage) if _payload([proto.f]) else (_plain_float(proto.f), {})


def _floats(proto: AttributeProto, storage: Storage) -> tuple[Plain, Metadata]:
    numbers = list(proto.floats)
    return _told(proto, storage) if _payload(numbers) else ([_plain_float(number) for number in numbers], {})


def _strings(proto: AttributeProto, storage: Storage) -> tuple[Plain, Metadata]:
    try:
        return [item.decode() for item in proto.strings or [proto.s][: proto.type == AttributeProto.STRING]], {}
    except UnicodeDecodeError:
        return _told(proto, storage)


def _array(proto: TensorProto, storage: Storage) -> tuple[Plain, Metadata]:
    return plain_array(tensor_from_proto(proto), storage)


def _arrays(proto: AttributeProto, storage: Storage) -> tuple[Plain, Metadata]:
    made = [_array(tensor, storage) for tensor in proto.tensors]
    return None, {"items": [{"value": value, **metadata} for value, metadata in made]}


_PLAIN: dict[str, Callable[[AttributeProto, Storage], tuple[Plain, Metadata]]] = {
    "int": lambda proto, storage: (proto.i, {}),
    "ints": lambda proto, storage: (list(proto.ints), {}),
    "float": _float,
    "floats": _floats,
    "string": _strings,
    "strings": _strings,
    "tensor": lambda proto, storage: _array(proto.t, storage),
    "tensors": _arrays,
    "sparse_tensor": lambda proto, storage: (None, {"proto": plain_message(proto.sparse_tensor, storage.pack)}),
    "sparse_tensors": lambda proto, storage: (
        None,
        {"items": [plain_message(item, storage.pack) for item in proto.sparse_tensors]},
    ),
    "type_proto": lambda proto, storage: (None, {"type": plain_type(type_from_proto(proto.tp))}),
    "type_protos": lambda proto, storage: (
        None,
        {"items": [plain_type(type_from_proto(item)) for item in proto.type_protos]},
    ),
}


# reading -----------------------------------------------------------------------------------------

_Read = Callable[[Plain, Metadata, str], Any]


def _number(value: Plain, where: str) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise InvalidModel(f"{where}: {shown(str(value))} is no whole number of 64 bits")
    return value


def _real(value: Plain, where: str) -> float:
    if type(value) not in (int, float):
        raise InvalidModel(f"{where}: {shown(str(value))} is no number")
    if math.isnan(value):
        return math.nan  # PyYAML's have a sign
    with np.errstate(all="ignore"):
        made = float(np.float32(value))
    if math.isinf(made) and not math.isinf(value):
        raise InvalidModel(f"{where}: {value} is no float32")
    return made


def _text(value: Plain, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidModel(f"{where}: {shown(str(value))} is no text")
    return value


def _one_text(value: Plain, metadata: Metadata, where: str) -> str:
    if not isinstance(value, list) or len(value) != 1:
        raise InvalidModel(f"{where}: text stands in a list of one")
    return _text(value[0], where)


def _list(kind: str, item: Callable[[Plain, str], Any]) -> _Read:
    def read(value: Plain, metadata: Metadata, where: str) -> Any:
        if not isinstance(value, list):
            raise InvalidModel(f"{where}: {shown(str(value))} is no list")
        made = [item(one, where) for one in value]
        return made or TypedList(_KINDS[kind])

    return read


def _items(kind: str, item: Callable[[Plain, str], Any]) -> _Read:
    read = _list(kind, item)
    return lambda value, metadata, where: read(metadata.get("items"), metadata, where)


def _array_item(item: Plain, where: str) -> TensorData:
    return array_of(item.get("value") if isinstance(item, dict) else None, item, where)


def _sparse(item: Plain, where: str) -> Any:
    return sparse_from_proto(message_of(SparseTensorProto, item, where), where)


def _types(value: Plain, metadata: Metadata, where: str) -> TypedList:
    return TypedList(_KINDS["type_protos"], _items("type_protos", type_of)(value, metadata, where))


_READ: dict[str, _Read] = {
    "int": lambda value, metadata, where: _number(value, where),
    "ints": _list("ints", _number),
    "float": lambda value, metadata, where: _real(value, where),
    "floats": _list("floats", _real),
    "string": _one_text,
    "strings": _list("strings", _text),
    "tensor": lambda value, metadata, where: array_of(value, metadata, where),
    "tensors": _items("tensors", _array_item),
    "sparse_tensor": lambda value, metadata, where: _sparse(metadata.get("proto"), where),
    "sparse_tensors": _items("sparse_tensors", _sparse),
    "type_proto": lambda value, metadata, where: type_of(metadata.get("type"), where),
    "type_protos": _types,
}
