"""ai.onnx.ml: feature preparation and linear models. Maps are dictionaries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from ...passes.attributes import strings
from ...passes.ml_attributes import default_of, keys_of, labels_of
from .activation import sigmoid, softmax
from .base import Array, Attributes, Kernel


def binarizer(attrs: Attributes, x: Array) -> Array:
    return (x > attrs.float("threshold")).astype(x.dtype)


def cast_map(attrs: Attributes, values: dict[int, Any]) -> Array:
    """(1, n) in the order of the keys; sparse: each value at its key, the rest empty."""
    kind = attrs.string("cast_to")
    change = {"TO_FLOAT": float, "TO_INT64": int, "TO_STRING": str}[kind]
    empty: Any = "" if kind == "TO_STRING" else 0
    keys = sorted(values)
    if attrs.string("map_form") == "SPARSE":
        keys = list(range(attrs.int("max_map")))
        if any(not 0 <= key < len(keys) for key in values):
            raise ValueError(f"a key outside the {len(keys)} places of the result")
    row = [change(values[key]) if key in values else empty for key in keys]
    if kind == "TO_STRING":
        return strings(row, (1, len(row)))
    return np.array([row], np.float32 if kind == "TO_FLOAT" else np.int64)


def category_mapper(attrs: Attributes, x: Array) -> Array:
    """Strings to integers or the other way round."""
    names, numbers = attrs.strings("cats_strings"), attrs.ints("cats_int64s")
    if x.dtype == object:
        to_number = dict(zip(names, numbers, strict=True))
        found = [to_number.get(item, attrs.int("default_int64")) for item in x.reshape(-1)]
        return np.array(found, np.int64).reshape(x.shape)
    to_name = dict(zip(numbers, names, strict=True))
    return strings((to_name.get(item, attrs.string("default_string")) for item in x.reshape(-1).tolist()), x.shape)


def dict_vectorizer(attrs: Attributes, values: dict[Any, Any]) -> Array:
    """(1, n): the value of each word of the vocabulary, zero where the map lacks it."""
    words = labels_of(attrs, "string_vocabulary", "int64_vocabulary")
    if any(key not in words for key in values):
        raise ValueError("a key isn't in the vocabulary")
    sample = next(iter(values.values()), 0.0)
    if isinstance(sample, str):
        return strings((values.get(word, "") for word in words), (1, len(words)))
    row = [values.get(word, 0) for word in words]
    return np.array([row], np.asarray(sample).dtype if isinstance(sample, np.generic | np.ndarray) else None)


def feature_vectorizer(attrs: Attributes, *inputs: Array) -> Array:
    """Side by side, each cut or filled up with zeros to its declared width; vectors are one row."""
    rows = [x.reshape(1, -1) if x.ndim == 1 else x for x in inputs]
    widths = attrs.ints("inputdimensions", [x.shape[1] for x in rows])
    fitted = [
        np.pad(x[:, :width], [(0, 0), (0, max(width - x.shape[1], 0))]) for x, width in zip(rows, widths, strict=True)
    ]
    return np.concatenate(fitted, axis=1).astype(attrs.single)


def imputer(attrs: Attributes, x: Array) -> Array:
    floats = attrs.has("imputed_value_floats")
    new = attrs.floats("imputed_value_floats") if floats else attrs.ints("imputed_value_int64s")
    old = attrs.float("replaced_value_float") if floats else attrs.int("replaced_value_int64")
    missing = np.isnan(x) if isinstance(old, float) and math.isnan(old) else x == np.asarray(old, x.dtype)
    return np.where(missing, _of_features(np.asarray(new, x.dtype), x), x)


def _of_features(values: Array, x: Array) -> Array:
    """One value for each feature (the last axis), or one for all.

    Raises:
        ValueError: there are others, which NumPy may broadcast to more features.
    """
    if values.shape not in ((1,), x.shape[-1:]):
        raise ValueError(f"{values.size} values for the features of the shape {list(x.shape)}")
    return values


def label_encoder(attrs: Attributes, x: Array) -> Array:
    """Each element's value by its key; NaN matches NaN. Version 1 numbers its classes, or names their numbers."""
    if attrs.version < 2:
        names = strings(attrs.strings("classes_strings"))
        numbers = np.arange(len(names))
        keys, values = (names, numbers) if x.dtype == object else (numbers, names)
    else:
        keys, values = keys_of(attrs, "keys"), keys_of(attrs, "values")
    table: dict[Any, Any] = dict(zip(map(_key, keys.tolist()), values, strict=True))
    missing = default_of(attrs, values.dtype)
    found = [table.get(_key(item), missing) for item in x.reshape(-1).tolist()]
    if values.dtype == object:
        return strings(found, x.shape)
    return np.array(found, values.dtype).reshape(x.shape)


def _key(item: Any) -> Any:
    return "NaN of any bits" if isinstance(item, float) and math.isnan(item) else item


def normalizer(attrs: Attributes, x: Array) -> Array:
    """Each row over its largest element, its sum of absolute values, or its length; a zero divisor leaves it."""
    wide = x.astype(attrs.single)
    norm = attrs.string("norm")
    if norm == "MAX":
        divisor = wide.max(axis=-1, keepdims=True)
    elif norm == "L1":
        divisor = np.abs(wide).sum(axis=-1, keepdims=True)
    elif norm == "L2":
        divisor = np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    else:
        raise ValueError(f"unknown norm {norm!r}")
    return np.where(divisor == 0, wide, wide / divisor)


def one_hot_encoder(attrs: Attributes, x: Array) -> Array:
    categories = labels_of(attrs, "cats_strings", "cats_int64s")
    items = x.reshape(-1).tolist() if x.dtype == object else x.astype(np.int64).reshape(-1).tolist()
    place = {category: index for index, category in enumerate(categories)}
    result = np.zeros((len(items), len(categories)), np.float32)
    for row, item in zip(result, items, strict=True):
        if item in place:
            row[place[item]] = 1
        elif not attrs.flag("zeros"):
            raise ValueError(f"{item!r} is no category")
    return result.reshape(*x.shape, len(categories))


def scaler(attrs: Attributes, x: Array) -> Array:
    offset, scale = np.array(attrs.floats("offset"), np.float32), np.array(attrs.floats("scale"), np.float32)
    wide = np.result_type(x, attrs.single) if x.dtype.kind == "f" else attrs.single  # float64 is rounded at the end
    return ((x.astype(wide) - _of_features(offset, x)) * _of_features(scale, x)).astype(attrs.single)


def zip_map(attrs: Attributes, x: Array) -> list[dict[Any, Any]]:
    labels = labels_of(attrs, "classlabels_strings", "classlabels_int64s")
    return [dict(zip(labels, row, strict=True)) for row in np.atleast_2d(x)]


def _probit(values: Array) -> Array:
    inverse = NormalDist().inv_cdf
    return np.array([inverse(value) if 0 < value < 1 else math.nan for value in values.reshape(-1).tolist()]).reshape(
        values.shape
    )


def post_transform(scores: Array, kind: str) -> Array:
    """What a model does to its scores at the end, row by row."""
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return sigmoid(scores)
    if kind == "SOFTMAX":
        return softmax(scores, -1)
    if kind == "SOFTMAX_ZERO":
        zero = np.abs(scores) <= 1e-7
        weights = np.where(zero, 0, np.exp(scores - scores.max(axis=-1, keepdims=True)))
        total = weights.sum(axis=-1, keepdims=True)
        return weights / np.where(total == 0, 1, total)
    if kind == "PROBIT":
        return _probit(scores)
    raise ValueError(f"unknown post transform {kind!r}")


def _linear(attrs: Attributes, x: Array, count: int = 0) -> Array:
    """The scores of so many models, or of as many as there are intercepts, or of as many as there are coefficients for.

    Raises:
        ValueError: the rows don't have as many elements as a model has coefficients.
    """
    rows = np.atleast_2d(x).astype(attrs.single)
    offsets = np.array(attrs.floats("intercepts", []), np.float32)
    weights = np.array(attrs.floats("coefficients"), np.float32).reshape(count or len(offsets) or -1, rows.shape[1])
    return rows @ weights.T + offsets if len(offsets) else rows @ weights.T


def linear_regressor(attrs: Attributes, x: Array) -> Array:
    scores = _linear(attrs, x, attrs.int("targets"))
    return post_transform(scores, attrs.string("post_transform")).astype(attrs.single)


def linear_classifier(attrs: Attributes, x: Array) -> tuple[Array, Array]:
    """The best class of each row and all scores.

    One model for two classes scores the second; the first one's score is one minus that, or the negative
    where a post transform follows.
    """
    labels, kind = labels_of(attrs, "classlabels_strings", "classlabels_ints"), attrs.string("post_transform")
    scores = _linear(attrs, x)
    if scores.shape[1] == 1 and len(labels) == 2:
        best = (scores[:, 0] > 0).astype(np.int64)
        scores = np.concatenate([1 - scores if kind == "NONE" else -scores, scores], axis=1)
    else:
        best = np.argmax(scores, axis=1)
    return named(labels, best), post_transform(scores, kind).astype(attrs.single)


def named(labels: Sequence[Any], chosen: Array) -> Array:
    """The labels of the chosen classes."""
    found = [labels[index] for index in chosen.tolist()]
    return strings(found) if labels and isinstance(labels[0], str) else np.array(found, np.int64)


TABLE: dict[str, Kernel] = {
    "Binarizer": binarizer,
    "CastMap": cast_map,
    "CategoryMapper": category_mapper,
    "DictVectorizer": dict_vectorizer,
    "FeatureVectorizer": feature_vectorizer,
    "Imputer": imputer,
    "LabelEncoder": label_encoder,
    "LinearClassifier": linear_classifier,
    "LinearRegressor": linear_regressor,
    "Normalizer": normalizer,
    "OneHotEncoder": one_hot_encoder,
    "Scaler": scaler,
    "ZipMap": zip_map,
}
