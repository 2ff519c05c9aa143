"""ai.onnx.ml: keys, each compared with every element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..attributes import NodeAttributes
from ..errors import Unsupported
from ..graph import Node, Value
from ..ml_attributes import default_of, keys_of, labels_of
from ..preconditions import dtype_of, required
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import ML, cast, is_text, listed, numbers


def _is_key(op: Builder, node: Node, x: Value, keys: Sequence[Any]) -> Value:
    """[*shape, keys]: whether an element is a key; NaN is none."""
    return op.Equal(op.Unsqueeze(x, op.const([-1])), listed(op, keys, dtype_of(node, x)))


def place_of(op: Builder, node: Node, x: Value, keys: Sequence[Any]) -> Value:
    """Which key an element is, int32; behind the last where it is none. NaN is NaN."""
    count = len(keys)

    def at(place: Any) -> Value:
        return numbers(op, place, DType.INT32)

    found = op.Where(_is_key(op, node, x, keys), at(np.arange(count)), at(count))
    place = op.ReduceMin(found, op.const([-1]), keepdims=0)
    for index, key in enumerate(keys):
        if key != key:
            place = op.Where(op.IsNaN(x), at(index), place)
    return place


def _looked_up(op: Builder, node: Node, pairs: dict[Any, Any], default: Any, dtype: DType) -> Value:
    """The value of each element's key, the default's where it is no key."""
    if not pairs:
        raise Unsupported(node, "it has no keys")
    places = place_of(op, node, required(node, 0), list(pairs))
    return op.Gather(listed(op, [*pairs.values(), default], dtype), places)


@rule(ML, "LabelEncoder")
def label_encoder(op: Builder, node: Node) -> Value:
    """LabelEncoder-4: each element's value by its key."""
    attrs = NodeAttributes(node)
    keys, values = keys_of(attrs, "keys"), keys_of(attrs, "values")
    nan = math.nan  # one object, which is equal to itself as a key
    pairs = {nan if key != key else key: value for key, value in zip(keys.tolist(), values.tolist(), strict=True)}
    return _looked_up(op, node, pairs, default_of(attrs, values.dtype), DType.of(values.dtype))


@rule(ML, "CategoryMapper")
def category_mapper(op: Builder, node: Node) -> Value:
    """CategoryMapper-1: strings to integers or the other way round."""
    attrs = NodeAttributes(node)
    names, whole = attrs.strings("cats_strings"), attrs.ints("cats_int64s")
    if is_text(required(node, 0)):
        return _looked_up(op, node, dict(zip(names, whole, strict=True)), attrs.int("default_int64"), DType.INT64)
    return _looked_up(op, node, dict(zip(whole, names, strict=True)), attrs.string("default_string"), DType.STRING)


@rule(ML, "OneHotEncoder")
def one_hot_encoder(op: Builder, node: Node) -> Value:
    """OneHotEncoder-1: a row for each element, 1 at its category."""
    x, attrs = required(node, 0), NodeAttributes(node)
    categories = labels_of(attrs, "cats_strings", "cats_int64s")
    if not attrs.flag("zeros"):
        op.rewriter.notes.append(f"{node!r}: what is no category gives a row of zeros, where ONNX fails")
    if not is_text(x):
        x = cast(op, node, x, DType.INT64)
    return cast(op, node, _is_key(op, node, x, categories), DType.FLOAT32)


RULES = collect(globals())
