"""LabelEncoder of ai.onnx.ml: a dictionary of elements, in three versions of saying it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..protos import TypedList
from ..tensor import TensorData
from ..types import DType
from .build import StepBuilder
from .steps import Made, as_type, attribute, changed, given, rank

_DOMAIN = "ai.onnx.ml"
_LISTS = {"strings": DType.STRING, "int64s": DType.INT64, "floats": DType.FLOAT32}
_DEFAULTS = {DType.STRING: "_Unused", DType.FLOAT32: -0.0, DType.FLOAT64: -0.0}  # integers: -1
_KINDS = {
    DType.STRING: AttributeProto.STRINGS,
    DType.INT64: AttributeProto.INTS,
    DType.FLOAT32: AttributeProto.FLOATS,
}
_NAN = float("nan")
_SHORT = (DType.INT16, DType.INT32)


@dataclass(frozen=True, slots=True)
class _Table:
    """What a LabelEncoder from version 2 on says: keys, none twice, their values, and the value of all others."""

    key: DType
    value: DType
    pairs: dict[Any, Any]
    default: Any


def _text(items: list[Any]) -> list[Any]:
    return [item.decode() if isinstance(item, bytes) else item for item in items]


def _side(node: Node, side: str) -> tuple[DType, list[Any]]:
    """The element type of the keys or the values, and what they are."""
    held = node.attributes.get(f"{side}_tensor")
    if isinstance(held, TensorData):
        return held.dtype, _text(held.numpy().reshape(-1).tolist())
    for name, kind in _LISTS.items():
        if f"{side}_{name}" in node.attributes:
            items = _text(list(attribute(node, f"{side}_{name}")))
            return kind, [float(np.float32(item)) for item in items] if kind is DType.FLOAT32 else items
    raise Unsupported(node, f"it has no {side}")


def _table(node: Node) -> _Table:
    key, keys = _side(node, "keys")
    value, values = _side(node, "values")
    held = node.attributes.get("default_tensor")
    if isinstance(held, TensorData):
        (default,) = _text(held.numpy().reshape(-1).tolist())
    else:
        name = {DType.STRING: "default_string", DType.INT64: "default_int64", DType.FLOAT32: "default_float"}
        default = attribute(node, name.get(value, ""), _DEFAULTS.get(value, -1))
    keys = [_NAN if item != item else item for item in keys]  # one object, which is equal to itself in a dictionary
    return _Table(key, value, dict(zip(keys, values, strict=True)), default)


def _looked_up(op: StepBuilder, table: _Table, places: Value) -> Value:
    """The values at places 0, 1 ..., the default behind them."""
    values = [*table.pairs.values(), table.default]
    return op.Gather(op.const(np.array(values, table.value.numpy), table.value), places, axis=0)


def to_lists(op: StepBuilder, node: Node) -> Made:
    """Version 4 -> 2, which has no tensors of keys and values, and compares floats bit by bit.

    Short integers go through int64; values of float64 are looked up by their place.
    """
    table = _table(node)
    x = required(node, 0)
    keys = list(table.pairs)
    unusual = table.key.is_float and any(key == 0 or key != key for key in keys)
    tensors = any(name.endswith("_tensor") for name in node.attributes)
    if not unusual and not tensors:
        return None
    if table.key is DType.FLOAT64:
        raise Unsupported(node, "keys of float64 came with version 4")
    if table.key in _SHORT:
        x = as_type(op, x, DType.INT64)
    values, default, kind = list(table.pairs.values()), table.default, table.value
    if kind is DType.FLOAT64:
        values, default, kind = list(range(len(values))), len(values), DType.INT64
    elif kind in _SHORT:
        kind = DType.INT64
    if 0.0 in keys and table.key.is_float:  # a zero of either sign
        values.append(values[keys.index(0.0)])
        keys.append(-keys[keys.index(0.0)])
    missing = None
    for place, key in enumerate(keys):
        if key != key:  # every NaN, whatever its bits
            missing = op.const(np.array(values.pop(place), kind.numpy), kind)
            del keys[place]
            break
    held = DType.INT64 if table.key in _SHORT else table.key
    spelled = {kind: name for name, kind in _LISTS.items()}
    said: dict[str, Any] = {
        f"keys_{spelled[held]}": TypedList(_KINDS[held], keys),
        f"values_{spelled[kind]}": TypedList(_KINDS[kind], values),
        f"default_{spelled[kind].removesuffix('s')}": default,
    }
    if keys:
        made = op.call("LabelEncoder", x, _domain=_DOMAIN, **said)
    else:
        made = op.const(np.array(default, kind.numpy), kind)
    if missing is not None:
        made = op.Where(op.IsNaN(x), missing, made)
    if table.value is DType.FLOAT64:
        return _looked_up(op, table, made)
    return as_type(op, made, table.value) if table.value in _SHORT else made


def to_positions(op: StepBuilder, node: Node) -> Made:
    """Version 2 -> 1, which knows strings and their positions; other values are looked up by the position.

    Whole numbers that are no positions are compared with each key.
    """
    table = _table(node)
    keys, values = list(table.pairs), list(table.pairs.values())
    places = list(range(len(keys)))
    plain = changed(
        node, without=[name for name in node.attributes if name.startswith(("keys_", "values_", "default_"))]
    )
    if table.key is DType.STRING:
        if values == places and table.value is DType.INT64:
            return changed(plain, classes_strings=keys, default_int64=table.default)
        found = op.call(
            "LabelEncoder", required(node, 0), _domain=_DOMAIN, classes_strings=keys, default_int64=len(keys)
        )
        return _looked_up(op, table, found)
    if table.key is DType.FLOAT32:
        raise Unsupported(node, "keys of float32 came with version 2")
    if keys == places and table.value is DType.STRING:
        return changed(plain, classes_strings=values, default_string=table.default)
    x = required(node, 0)
    axis = rank(node, x)
    old = op.at(7)
    equal = old.Equal(old.Unsqueeze(x, axes=[axis]), op.const(np.array(keys, np.int64)))
    counted = old.Mul(as_type(op, equal, DType.INT64), op.const(np.arange(len(keys)) - len(keys)))
    place = old.Add(old.ReduceSum(counted, axes=[axis], keepdims=0), op.const(len(keys), DType.INT64))
    return _looked_up(op, table, place)


def to_pairs(op: StepBuilder, node: Node) -> Made:
    """Version 1 -> 2: the position in a list of strings, or the string at a position, as keys and values."""
    words = list(given(node, "classes_strings"))
    positions = TypedList(AttributeProto.INTS, range(len(words)))
    kind = required(node, 0).tensor.dtype
    if kind is None:
        kind = DType.INT64 if "default_string" in node.attributes else DType.STRING
    plain = changed(node, without=("classes_strings",))
    if kind is DType.STRING:
        return changed(plain, without=("default_string",), keys_strings=words, values_int64s=positions)
    return changed(plain, without=("default_int64",), keys_int64s=positions, values_strings=words)
