"""ai.onnx.ml: what prepares features."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..attributes import NodeAttributes
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required, size_of_axis
from ..rewrite import Builder, collect, rule
from .common import ML, as_floats, numbers, rows_of


@rule(ML, "ArrayFeatureExtractor")
def array_feature_extractor(op: Builder, node: Node) -> Value:
    """ArrayFeatureExtractor-1: columns by their places; a vector is one row."""
    data, places = required(node, 0), required(node, 1)
    return op.Gather(rows_of(op, node, data), op.Reshape(places, op.const([-1])), axis=max(rank_of(node, data) - 1, 1))


@rule(ML, "Binarizer")
def binarizer(op: Builder, node: Node) -> Value:
    """Binarizer-1: 1 above the threshold, else 0; 0 of NaN."""
    data = required(node, 0)
    dtype = dtype_of(node, data)
    above = op.Greater(data, numbers(op, NodeAttributes(node).float("threshold"), dtype))
    return op.Where(above, numbers(op, 1, dtype), numbers(op, 0, dtype))


@rule(ML, "FeatureVectorizer")
def feature_vectorizer(op: Builder, node: Node) -> Value:
    """FeatureVectorizer-1: side by side, each cut or filled up with zeros to its declared width."""
    values = [rows_of(op, node, required(node, index)) for index in range(len(node.inputs))]
    widths: Sequence[int | None] = node.attributes.get("inputdimensions") or [None] * len(values)
    parts = []
    for value, width in zip(values, widths, strict=True):
        part = as_floats(op, node, value)
        found = size_of_axis(part, 1)
        if width is not None and found != width:
            if found is None or found < width:
                part = op.Pad(part, op.const([0, 0, 0, width if found is None else width - found]))
            part = op.Slice(part, op.const([0]), op.const([width]), op.const([1]))
        parts.append(part)
    return op.Concat(*parts, axis=1)


@rule(ML, "Imputer")
def imputer(op: Builder, node: Node) -> Value:
    """Imputer-1: other values in place of what is missing."""
    x, attrs = required(node, 0), NodeAttributes(node)
    dtype = dtype_of(node, x)
    if attrs.has("imputed_value_floats"):
        new, old = attrs.floats("imputed_value_floats"), attrs.float("replaced_value_float")
        missing = op.IsNaN(x) if math.isnan(old) else op.Equal(x, numbers(op, old, dtype))
        return op.Where(missing, numbers(op, new, dtype), x)
    places = op.Equal(x, numbers(op, attrs.int("replaced_value_int64"), dtype))
    return op.Where(places, numbers(op, attrs.ints("imputed_value_int64s"), dtype), x)


_NORMS = {"MAX": "ReduceMax", "L1": "ReduceL1", "L2": "ReduceL2"}


@rule(ML, "Normalizer")
def normalizer(op: Builder, node: Node) -> Value:
    """Normalizer-1: each row over its largest element, its sum of absolute values, or its length; a zero divisor
    leaves it."""
    x, norm = as_floats(op, node, required(node, 0)), NodeAttributes(node).string("norm")
    if norm not in _NORMS:
        raise Unsupported(node, f"norm={norm!r} isn't known")
    divisor = op.call(_NORMS[norm], x, op.const([-1]))
    return op.Div(x, op.Where(op.Equal(divisor, numbers(op, 0)), numbers(op, 1), divisor))


@rule(ML, "Scaler")
def scaler(op: Builder, node: Node) -> Value:
    """Scaler-1: (x - offset) * scale."""
    x, attrs = as_floats(op, node, required(node, 0)), NodeAttributes(node)
    shifted = op.Sub(x, numbers(op, attrs.floats("offset")))
    return op.Mul(shifted, numbers(op, attrs.floats("scale")))


RULES = collect(globals())
