"""Hub -> OpenVINO: ai.onnx.ml, what prepares features, and what names classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.demands import dtype_of, rank_of, required, size_of_axis
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....runtime.kernels.base import Attributes
from ....runtime.kernels.ml import default_of, keys_of, labels_of
from .text import chosen, is_text, letters, table_of
from .tools import convert, cut, flag, i64, number, vector

DOMAIN = "ai.onnx.ml"
_LARGEST = 2**31


def as_floats(op: Builder, node: Node, value: Value) -> Value:
    return convert(op, node, value, DType.FLOAT32)


def floats(op: Builder, values: Any) -> Value:
    return op.const(np.asarray(values, np.float32))


def rows_of(op: Builder, node: Node, value: Value) -> Value:
    """A vector as one row."""
    return op.Unsqueeze(value, i64(op, [0])) if rank_of(node, value) == 1 else value


@rule(DOMAIN, "ArrayFeatureExtractor")
def array_feature_extractor(op: Builder, node: Node) -> Value:
    data, places = required(node, 0), required(node, 1)
    found = op.Gather(data, vector(op, places), i64(op, -1), batch_dims=0)
    return found if data.rank != 1 else op.Unsqueeze(found, i64(op, [0]))


@rule(DOMAIN, "Binarizer")
def binarizer(op: Builder, node: Node) -> Value:
    data = required(node, 0)
    above = op.Less(number(op, node, node.attributes.get("threshold", 0.0), data), data)  # not of NaN
    return op.Select(above, number(op, node, 1, data), number(op, node, 0, data))


@rule(DOMAIN, "FeatureVectorizer")
def feature_vectorizer(op: Builder, node: Node) -> Value:
    """Side by side, each cut or filled up with zeros to its declared width."""
    values = [rows_of(op, node, required(node, index)) for index in range(len(node.inputs))]
    widths: Sequence[int | None] = node.attributes.get("inputdimensions") or [None] * len(values)
    parts = []
    for value, width in zip(values, widths, strict=True):
        part = as_floats(op, node, value)
        found = size_of_axis(part, 1)
        if width is not None and found != width:
            if found is None:
                ends = op.const(np.array([0, width], np.int64))
                part = op.Pad(part, i64(op, [0, 0]), ends, floats(op, 0), pad_mode="constant")
            elif found < width:
                part = op.Pad(part, i64(op, [0, 0]), i64(op, [0, width - found]), floats(op, 0), pad_mode="constant")
            part = cut(op, part, 0, width, axis=1)
        parts.append(part)
    return op.Concat(*parts, axis=1)


@rule(DOMAIN, "Imputer")
def imputer(op: Builder, node: Node) -> Value:
    """Other values in place of what is missing."""
    x, attrs = required(node, 0), Attributes(node)
    if attrs.has("imputed_value_floats"):
        new, old = attrs.floats("imputed_value_floats"), attrs.float("replaced_value_float")
        missing = op.IsNaN(x) if math.isnan(old) else op.Equal(x, number(op, node, old, x))
    else:
        new, old = attrs.ints("imputed_value_int64s"), attrs.int("replaced_value_int64")
        _within(node, [*new, old])
        missing = op.Equal(x, number(op, node, old, x))
    return op.Select(missing, op.const(np.array(new), dtype_of(node, x)), x)


@rule(DOMAIN, "Normalizer")
def normalizer(op: Builder, node: Node) -> Value:
    """Each row over its largest element, its sum of absolute values, or its length; a zero divisor leaves it."""
    x, norm = as_floats(op, node, required(node, 0)), node.attributes.get("norm", "MAX")
    target = {"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}.get(norm)
    if target is None:
        raise Unsupported(node, f"norm={norm!r} isn't known")
    divisor = op.call(target, x, i64(op, [-1]), keep_dims=True)
    return op.Divide(x, op.Select(op.Equal(divisor, floats(op, 0)), floats(op, 1), divisor))


@rule(DOMAIN, "Scaler")
def scaler(op: Builder, node: Node) -> Value:
    x, attrs = as_floats(op, node, required(node, 0)), Attributes(node)
    shifted = op.Subtract(x, floats(op, attrs.floats("offset")))
    return op.Multiply(shifted, floats(op, attrs.floats("scale")))


# keys ----------------------------------------------------------------------------------------------


def _within(node: Node, keys: Sequence[Any]) -> None:
    if any(isinstance(key, int) and not -_LARGEST <= key < _LARGEST for key in keys):
        raise Unsupported(node, "integers that int32 doesn't hold, in which OpenVINO's CPU computes")


def _is_key(op: Builder, node: Node, x: Value, keys: Sequence[Any]) -> Value:
    """[*shape, keys]: whether an element is a key; NaN is none."""
    last = i64(op, [-1])
    if is_text(x):
        width = table_of([str(key) for key in keys]).shape[1] + 1
        table = op.const(table_of([str(key) for key in keys], width))
        same = op.Equal(op.Unsqueeze(letters(op, x, width), i64(op, [-2])), table)
        return op.ReduceLogicalAnd(same, last, keep_dims=False)
    _within(node, keys)
    return op.Equal(op.Unsqueeze(x, last), op.const(np.array(keys), dtype_of(node, x)))


def place_of(op: Builder, node: Node, x: Value, keys: Sequence[Any]) -> Value:
    """Which key an element is, i32; behind the last where it is none. NaN is NaN."""
    count = len(keys)
    found = op.Select(_is_key(op, node, x, keys), op.const(np.arange(count), DType.INT32), op.const(count, DType.INT32))
    place = op.ReduceMin(found, i64(op, [-1]), keep_dims=False)
    for index, key in enumerate(keys):
        if key != key:
            place = op.Select(op.IsNaN(x), op.const(index, DType.INT32), place)
    return place


def _at(op: Builder, node: Node, places: Value, values: Sequence[Any], dtype: DType) -> Value:
    if dtype is DType.STRING:
        return chosen(op, node, places, [str(value) for value in values])
    _within(node, values)
    return op.Gather(op.const(np.array(values), dtype), places, i64(op, 0), batch_dims=0)


def _looked_up(op: Builder, node: Node, x: Value, pairs: dict[Any, Any], default: Any, dtype: DType) -> Value:
    """The value of each element's key, the default's where it is no key."""
    if not pairs:
        raise Unsupported(node, "it has no keys")
    return _at(op, node, place_of(op, node, x, list(pairs)), [*pairs.values(), default], dtype)


@rule(DOMAIN, "LabelEncoder")
def label_encoder(op: Builder, node: Node) -> Value:
    attrs = Attributes(node)
    keys, values = keys_of(attrs, "keys"), keys_of(attrs, "values")
    nan = math.nan  # one object, which is equal to itself as a key
    pairs = {nan if key != key else key: value for key, value in zip(keys.tolist(), values.tolist(), strict=True)}
    default = default_of(attrs, values.dtype)
    return _looked_up(op, node, required(node, 0), pairs, default, DType.of(values.dtype))


@rule(DOMAIN, "CategoryMapper")
def category_mapper(op: Builder, node: Node) -> Value:
    """Strings to integers or the other way round."""
    x, attrs = required(node, 0), Attributes(node)
    names, numbers = attrs.strings("cats_strings"), attrs.ints("cats_int64s")
    if is_text(x):
        pairs = dict(zip(names, numbers, strict=True))
        return _looked_up(op, node, x, pairs, attrs.int("default_int64"), DType.INT64)
    pairs = dict(zip(numbers, names, strict=True))
    return _looked_up(op, node, x, pairs, attrs.string("default_string"), DType.STRING)


@rule(DOMAIN, "OneHotEncoder")
def one_hot_encoder(op: Builder, node: Node) -> Value:
    """A row for each element, 1 at its category."""
    x, categories = required(node, 0), labels_of(Attributes(node), "cats_strings", "cats_int64s")
    if not flag(node, "zeros", 1):
        op.rewriter.notes.append(f"{node!r}: what is no category gives a row of zeros, where ONNX fails")
    if not is_text(x):
        x = convert(op, node, x, DType.INT64)
    return op.Convert(_is_key(op, node, x, categories), destination_type="f32")


# classes -------------------------------------------------------------------------------------------


def named(op: Builder, node: Node, places: Value, labels: Sequence[Any]) -> Value:
    """The labels at integer places."""
    dtype = DType.STRING if isinstance(labels[0], str) else DType.INT64
    return _at(op, node, places, labels, dtype)


def best_of(op: Builder, scores: Value) -> Value:
    """The place of the first largest score of each row, i64 [rows]."""
    found = op.TopK(
        scores, i64(op, 1), axis=1, mode="max", sort="value", index_element_type="i64", stable=True, _outputs=2
    )[1]
    return op.Squeeze(found, i64(op, [1]))


def transformed(op: Builder, node: Node, scores: Value, kind: str) -> Value:
    """What a model does to its scores [rows, classes] at the end."""
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return op.Sigmoid(scores)
    if kind == "SOFTMAX":
        return op.SoftMax(scores, axis=1)
    if kind == "SOFTMAX_ZERO":
        highest = op.ReduceMax(scores, i64(op, [1]), keep_dims=True)
        none = op.LessEqual(op.Abs(scores), floats(op, 1e-7))
        weights = op.Select(none, floats(op, 0), op.Exp(op.Subtract(scores, highest)))
        total = op.ReduceSum(weights, i64(op, [1]), keep_dims=True)
        return op.Divide(weights, op.Select(op.Equal(total, floats(op, 0)), floats(op, 1), total))
    if kind == "PROBIT":
        return _probit(op, scores)
    raise Unsupported(node, f"post_transform={kind!r} isn't known")


def _probit(op: Builder, chance: Value) -> Value:
    """The inverse of the normal distribution's function; NaN outside of (0, 1)."""
    one = floats(op, 1)
    central = op.Subtract(op.Multiply(chance, floats(op, 2)), one)
    inside = op.Less(op.Abs(central), one)
    return op.Select(inside, op.Multiply(op.ErfInv(central), floats(op, math.sqrt(2))), floats(op, math.nan))


RULES = collect(globals())
