"""LabelEncoder of ai.onnx.ml: a dictionary of elements, in three versions of saying it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import AttributeProto

from ..attributes import NodeAttributes
from ..decompose.encoders import label_encoder
from ..errors import Unsupported
from ..graph import Node, Value
from ..ml_attributes import default_of, keys_of
from ..preconditions import required
from ..protos import TypedList
from ..types import DType
from .build import StepBuilder
from .steps import Made, as_type, changed, decomposed, given

_DOMAIN = "ai.onnx.ml"
_LISTS = {
    DType.STRING: ("strings", AttributeProto.STRINGS),
    DType.INT64: ("int64s", AttributeProto.INTS),
    DType.FLOAT32: ("floats", AttributeProto.FLOATS),
}
_SHORT = (DType.INT16, DType.INT32)


class _Table:
    """What a LabelEncoder from version 2 on says: keys, none twice, their values, and the value of all others."""

    def __init__(self, node: Node) -> None:
        attrs = NodeAttributes(node)
        for side in ("keys", "values"):
            if not any(name.startswith(f"{side}_") for name in node.attributes):
                raise Unsupported(node, f"it has no {side}")
        keys, values = keys_of(attrs, "keys"), keys_of(attrs, "values")
        self.key, self.value = DType.of(keys.dtype), DType.of(values.dtype)
        self.default = default_of(attrs, values.dtype)
        # NaN as one object, which is equal to itself in a dictionary
        own = (math.nan if key != key else key for key in keys.tolist())
        self.pairs: dict[Any, Any] = dict(zip(own, values.tolist(), strict=True))

    def looked_up(self, op: StepBuilder, places: Value) -> Value:
        """The values at places 0, 1 ..., the default behind them."""
        values = [*self.pairs.values(), self.default]
        return op.Gather(op.const(np.array(values, self.value.numpy), self.value), places, axis=0)


def to_lists(op: StepBuilder, node: Node) -> Made:
    """Version 4 -> 2, which has no tensors of keys and values, and compares floats bit by bit.

    Short integers go through int64; values of float64 are looked up by their place. Keys of float64, zero and NaN
    are compared with the elements one by one.
    """
    table, x = _Table(node), required(node, 0)
    keys, values, default, kind = list(table.pairs), list(table.pairs.values()), table.default, table.value
    if table.key is DType.FLOAT64 or (table.key.is_float and any(key == 0 or key != key for key in keys)):
        return decomposed(label_encoder)(op, node)
    if not any(name.endswith("_tensor") for name in node.attributes):
        return None
    held = DType.INT64 if table.key in _SHORT else table.key
    if kind is DType.FLOAT64:
        values, default, kind = list(range(len(values))), len(values), DType.INT64
    elif kind in _SHORT:
        kind = DType.INT64
    if not keys:
        made = op.const(np.array(default, kind.numpy), kind)
    else:
        (own, key_list), (given, value_list) = _LISTS[held], _LISTS[kind]
        said: dict[str, Any] = {
            f"keys_{own}": TypedList(key_list, keys),
            f"values_{given}": TypedList(value_list, values),
            f"default_{given.removesuffix('s')}": default,
        }
        made = op.call("LabelEncoder", as_type(op, x, held), _domain=_DOMAIN, **said)
    return table.looked_up(op, made) if table.value is DType.FLOAT64 else as_type(op, made, table.value)


def to_positions(op: StepBuilder, node: Node) -> Made:
    """Version 2 -> 1, which knows strings and their positions; other values are looked up by the position.

    Numbers that are no positions are compared with each key.
    """
    table = _Table(node)
    keys, values = list(table.pairs), list(table.pairs.values())
    places = list(range(len(keys)))
    plain = changed(
        node, without=[name for name in node.attributes if name.startswith(("keys_", "values_", "default_"))]
    )
    if table.key is not DType.STRING:
        if keys == places and table.value is DType.STRING and table.key is DType.INT64:
            return changed(plain, classes_strings=values, default_string=table.default)
        return decomposed(label_encoder)(op, node)
    if values == places and table.value is DType.INT64:
        return changed(plain, classes_strings=keys, default_int64=table.default)
    found = op.call("LabelEncoder", required(node, 0), _domain=_DOMAIN, classes_strings=keys, default_int64=len(keys))
    return table.looked_up(op, found)


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
