"""ai.onnx.ml: keys compared with every element, what prepares features; TfIdfVectorizer's n-grams."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..attributes import NodeAttributes
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..ml_attributes import default_of, keys_of, labels_of
from ..preconditions import dtype_of, rank_of, required, size_of_axis
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import ML, as_floats, cast, is_text, listed, numbers, rows_of


def _is_key(op: Builder, node: Node, x: Value, keys: Sequence[Any]) -> Value:
    """[*shape, keys]: whether an element is a key; NaN is none."""
    if not is_text(x) and any(isinstance(key, str | bytes) for key in keys):
        raise InvalidModel(f"{node!r}: its keys are text, and {x.name!r} is {x.type}")
    return op.Equal(op.Unsqueeze(x, op.const([-1])), listed(op, keys, dtype_of(node, x)))


def key_index(op: Builder, node: Node, x: Value, keys: Sequence[Any]) -> Value:
    """Which key an element is, int32; behind the last where it is none. NaN is NaN."""
    count = len(keys)

    def at(position: Any) -> Value:
        return numbers(op, position, DType.INT32)

    found = op.Where(_is_key(op, node, x, keys), at(np.arange(count)), at(count))
    position = op.ReduceMin(found, op.const([-1]), keepdims=0)
    for index, key in enumerate(keys):
        if key != key:
            position = op.Where(op.IsNaN(x), at(index), position)
    return position


def _looked_up(op: Builder, node: Node, pairs: dict[Any, Any], default: Any, dtype: DType) -> Value:
    """The value of each element's key, the default's where it is no key."""
    if not pairs:
        raise Unsupported(node, "it has no keys")
    indices = key_index(op, node, required(node, 0), list(pairs))
    return op.Gather(listed(op, [*pairs.values(), default], dtype), indices)


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
        op.rewriter.notes.append(f"{node!r}: a value that is no category gives a row of zeros, where ONNX fails")
    if not is_text(x):
        if dtype_of(node, x).is_float:  # which integer NaN becomes is a runtime's choice: a category for XLA
            none = next(number for number in itertools.count() if number not in categories)
            x = op.Where(op.IsNaN(x), numbers(op, none, dtype_of(node, x)), x)
        x = cast(op, node, x, DType.INT64)
    return cast(op, node, _is_key(op, node, x, categories), DType.FLOAT32)


@rule(ML, "ArrayFeatureExtractor")
def array_feature_extractor(op: Builder, node: Node) -> Value:
    """ArrayFeatureExtractor-1: columns by their positions; a vector is one row."""
    data, indices = required(node, 0), required(node, 1)
    return op.Gather(rows_of(op, node, data), op.Reshape(indices, op.const([-1])), axis=max(rank_of(node, data) - 1, 1))


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
    if len(widths) != len(values):
        raise InvalidModel(f"{node!r}: inputdimensions has {len(widths)} entries for {len(values)} inputs")
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
    is_missing = op.Equal(x, numbers(op, attrs.int("replaced_value_int64"), dtype))
    return op.Where(is_missing, numbers(op, attrs.ints("imputed_value_int64s"), dtype), x)


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
    """Scaler-1: (x - offset) * scale; of float64 rounded at the end."""
    x, attrs = required(node, 0), NodeAttributes(node)
    kind = DType.FLOAT64 if dtype_of(node, x) is DType.FLOAT64 else DType.FLOAT32
    offset, scale = (numbers(op, np.array(attrs.floats(name), np.float32), kind) for name in ("offset", "scale"))
    return as_floats(op, node, op.Mul(op.Sub(cast(op, node, x, kind), offset), scale))


def _pool(attrs: NodeAttributes) -> dict[int, list[tuple[Any, ...]]]:
    """The n-grams of the pool by their length, in order."""
    pool = attrs.strings("pool_strings") if attrs.has("pool_strings") else attrs.ints("pool_int64s")
    starts = [*attrs.ints("ngram_counts"), len(pool)]
    return {
        length: [tuple(pool[start : start + length]) for start in range(first, last, length)]
        for length, (first, last) in enumerate(itertools.pairwise(starts), start=1)
    }


_MOST_WINDOWS = 1 << 16
"""Lengths and distances of n-grams that are gone through."""


def _ngram_windows(attrs: NodeAttributes) -> Iterator[tuple[int, int]]:
    """(length, distance) of the elements of the n-grams that are counted.

    Raises:
        Unsupported: there are very many.
    """
    lengths = attrs.int("max_gram_length") + 1 - attrs.int("min_gram_length")
    if lengths * (attrs.int("max_skip_count") + 1) > _MOST_WINDOWS:
        raise Unsupported(attrs.node, f"n-grams of more than {_MOST_WINDOWS} lengths and distances")
    for length in range(attrs.int("min_gram_length"), attrs.int("max_gram_length") + 1):
        for distance in range(1, attrs.int("max_skip_count") + 2 if length > 1 else 2):
            yield length, distance


@rule("", "TfIdfVectorizer")
def tf_idf_vectorizer(op: Builder, node: Node) -> Value:
    """TfIdfVectorizer-9: counts of the n-grams of the pool in each row, weighted by the mode.

    Elements become their indices in the pool's vocabulary; an n-gram is there where each of its indices stands at its
    distance.
    """
    attrs, x = NodeAttributes(node), required(node, 0)
    grams, columns = _pool(attrs), attrs.ints("ngram_indexes")
    order = {gram: number for number, gram in enumerate(gram for some in grams.values() for gram in some)}
    count = sum(len(some) for some in grams.values())
    for name in ("ngram_indexes", "weights"):
        if attrs.has(name) and len(node.attributes[name]) < count:
            raise InvalidModel(f"{node!r}: {name} has {len(node.attributes[name])} entries for {count} n-grams")
    words = list(dict.fromkeys(word for gram in order for word in gram))
    if not words:
        raise Unsupported(node, "it has an empty pool")
    rank = rank_of(node, x)
    rows = x if rank == 2 else op.Reshape(x, op.const([1, -1]))
    if not is_text(x):
        rows = cast(op, node, rows, DType.INT64)
    indices = key_index(op, node, rows, words)
    reach = max([(length - 1) * distance for length, distance in _ngram_windows(attrs)], default=0)
    padded = indices
    if reach:
        padded = op.Pad(indices, op.const([0, 0, 0, reach]), numbers(op, len(words), DType.INT32))
    found: list[tuple[Value, list[int]]] = []
    for length, some in grams.items():
        distances = [distance for other, distance in _ngram_windows(attrs) if other == length] if some else []
        if not distances:
            continue
        wanted = [np.array([words.index(gram[index]) for gram in some], np.int32) for index in range(length)]
        counts = None
        for distance in distances:
            here = cast(op, node, _ngram_matches(op, padded, reach, wanted, distance), DType.FLOAT32)
            count = op.ReduceSum(here, op.const([1]), keepdims=0)
            counts = count if counts is None else op.Add(counts, count)
        assert counts is not None
        found.append((counts, [order[gram] for gram in some]))
    if not found:
        raise Unsupported(node, "it has no n-grams of the lengths that it counts")
    made = _weighted(op, attrs, columns, found)
    return made if rank == 2 else op.Squeeze(made, op.const([0]))


def _weighted(op: Builder, attrs: NodeAttributes, columns: list[int], found: list[tuple[Value, list[int]]]) -> Value:
    """Counts of n-grams (and their numbers in the pool) in their columns, by the mode."""
    mode, weights = attrs.string("mode"), attrs.floats("weights", [1.0] * len(columns))
    chosen = [number for _, some in found for number in some]
    table = np.zeros((len(chosen), max(columns) + 1), np.float32)
    factors = np.ones(max(columns) + 1, np.float32)
    for row, number in zip(table, chosen, strict=True):
        row[columns[number]] = 1
        factors[columns[number]] = weights[number]
    counted = [counts for counts, _ in found]
    made = op.MatMul(counted[0] if len(counted) == 1 else op.Concat(*counted, axis=1), op.const(table))
    if mode == "TF":
        return made
    return op.Mul(op.Min(made, numbers(op, 1)) if mode == "IDF" else made, numbers(op, factors))


def _ngram_matches(op: Builder, padded: Value, reach: int, wanted: list[np.ndarray], distance: int) -> Value:
    """[rows, elements, n-grams]: whether an n-gram begins at an element; `reach` elements are behind the last one."""
    found = None
    for index, indices in enumerate(wanted):
        start, left = index * distance, reach - index * distance
        shifted = padded
        if reach:
            end = -left if left else np.iinfo(np.int64).max
            shifted = op.Slice(padded, op.const([start]), op.const([end]), op.const([1]))
        same = op.Equal(op.Unsqueeze(shifted, op.const([2])), op.const(indices))
        found = same if found is None else op.And(found, same)
    assert found is not None
    return found


RULES = collect(globals())
