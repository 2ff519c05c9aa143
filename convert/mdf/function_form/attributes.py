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
from dataclasses import dataclass
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
from ..plain_values import shown
from .arrays import Metadata, Storage, array_of, plain_array
from .metadata import message_of, plain_message, plain_type, type_of

_KINDS: dict[str, int] = {name.lower(): number for name, number in AttributeProto.AttributeType.items() if number}
_NAMES = {number: name for name, number in _KINDS.items()}
_IN_VALUE = ("int", "float", "string")
"""What stands in the value; everything else stands in metadata, but for one tensor."""


class _NotPlain(ValueError):
    """Something that only the attribute's message holds."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One attribute, or one of a list.

    Attributes:
        field: of AttributeProto, where it stands alone.
        write: what stands for it in a document.
        read: the attribute of that.
    """

    field: str
    write: Callable[[Any, Storage], Any]
    read: Callable[[Plain, str], Any]


def _element(kind: str) -> tuple[str, bool]:
    """The kind of one, and whether it is a list of those."""
    return (kind, False) if kind in _ITEMS else (kind.removesuffix("s"), True)


def plain_attribute(name: str, value: Any, node: Node, storage: Storage) -> tuple[Plain, Metadata]:
    """(value, metadata) of an attribute.

    Raises:
        Unsupported: an element type that ONNX doesn't have.
    """
    proto = attribute_to_proto(name, value, node)
    kind = _NAMES[proto.type]
    if isinstance(value, AttributeRef):
        return None, {"kind": "reference", "to": value.name, "type": kind}
    element, is_list = _element(kind)
    item = _ITEMS[element]
    try:
        items = [
            item.write(one, storage) for one in (getattr(proto, kind) if is_list else [getattr(proto, item.field)])
        ]
    except (UnicodeDecodeError, _NotPlain):
        bare = AttributeProto()
        bare.CopyFrom(proto)
        bare.ClearField("name")
        return None, {"kind": kind, "proto": plain_message(bare, storage.pack)}
    if element in _IN_VALUE:
        return (items if is_list or element == "string" else items[0]), {"kind": kind}
    if is_list:
        return None, {"kind": kind, "items": items}
    if element == "tensor":
        return items[0].pop("value"), {"kind": kind, **items[0]}
    return None, {"kind": kind, _ALONE[element]: items[0]}


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
    if not isinstance(kind, str) or kind not in _KINDS or _element(kind)[0] not in _ITEMS:
        raise InvalidModel(f"{where}: {shown(str(kind))} is no kind of attribute")
    if "proto" in metadata and kind not in ("tensor", "sparse_tensor"):
        proto = message_of(AttributeProto, metadata["proto"], where)
        if value is not None or proto.type != _KINDS[kind] or proto.ref_attr_name:
            raise InvalidModel(f"{where}: its message contradicts its value or its kind")
        return attribute_from_proto(proto, where)
    element, is_list = _element(kind)
    if element == "tensor" and not is_list:
        return array_of(value, metadata, where)
    items = value if element in _IN_VALUE else metadata.get("items" if is_list else _ALONE[element])
    if not is_list and element != "string":
        items = [items]
    elif not isinstance(items, list):
        raise InvalidModel(f"{where}: {shown(str(items))} is no list")
    elif not is_list and len(items) != 1:
        raise InvalidModel(f"{where}: text must be in a list of one element")
    made = [_ITEMS[element].read(item, where) for item in items]
    if not is_list:
        return made[0]
    return made if made and kind != "type_protos" else TypedList(_KINDS[kind], made)


# one of each kind --------------------------------------------------------------------------------


def _plain_float(number: float, storage: Storage) -> float:
    """A short decimal.

    Raises:
        _NotPlain: a NaN holds more than that it is one.
    """
    single = np.float32(number)
    if np.isnan(single) and single.view(np.uint32) != 0x7FC00000:
        raise _NotPlain
    return float(str(single))


def _number(value: Plain, where: str) -> int:
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise InvalidModel(f"{where}: {shown(str(value))} isn't a 64-bit integer")
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
        raise InvalidModel(f"{where}: {shown(str(value))} isn't text")
    return value


def _plain_array(proto: TensorProto, storage: Storage) -> dict[str, Plain]:
    value, metadata = plain_array(tensor_from_proto(proto), storage)
    return {"value": value, **metadata}


def _array(item: Plain, where: str) -> TensorData:
    return array_of(item.get("value") if isinstance(item, dict) else None, item, where)


def _sparse(item: Plain, where: str) -> Any:
    return sparse_from_proto(message_of(SparseTensorProto, item, where), where)


_ITEMS = {
    "int": _Item("i", lambda number, _: number, _number),
    "float": _Item("f", _plain_float, _real),
    "string": _Item("s", lambda text, _: text.decode(), _text),
    "tensor": _Item("t", _plain_array, _array),
    "sparse_tensor": _Item("sparse_tensor", lambda proto, storage: plain_message(proto, storage.pack), _sparse),
    "type_proto": _Item("tp", lambda proto, _: plain_type(type_from_proto(proto)), type_of),
}
_ALONE = {"sparse_tensor": "proto", "type_proto": "type"}
"""Where in metadata one stands."""
