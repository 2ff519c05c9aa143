"""Types of what ai.onnx.ml's operators give, every version of each: ONNX's own inference has none for half of them.

A matrix has a row for each case and a column for each feature; a vector is one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .graph import Node
from .protos import AttributeRef
from .tensor import TensorData
from .types import Dim, DType, MapType, SequenceType, TensorType, Type

DOMAIN = "ai.onnx.ml"
TOKENIZER = ("com.microsoft", "Tokenizer")
"""What skl2onnx writes before a TfIdfVectorizer."""

_Infer = Callable[[Node], Sequence[Type | None]]


def infer_ml(node: Node) -> Sequence[Type | None]:
    """The types of the outputs of a node of ai.onnx.ml (or a Tokenizer), as far as its inputs and attributes tell."""
    rule = _tokenizer if node.op == TOKENIZER else _RULES.get(node.op_type)
    if rule is None or any(isinstance(value, AttributeRef) for value in node.attributes.values()):
        return [None] * len(node.outputs)
    found = list(rule(node))[: len(node.outputs)]
    return found + [None] * (len(node.outputs) - len(found))


def _x(node: Node) -> TensorType:
    first = node.input(0)
    return first.tensor if first is not None else TensorType()


def _has(node: Node, name: str) -> bool:
    return bool(node.attributes.get(name))


def _length(node: Node, *names: str) -> int | None:
    """The number of elements of the first of these attributes that is set."""
    for name in names:
        value = node.attributes.get(name)
        if isinstance(value, TensorData):
            return value.size
        if value:
            return len(value)
    return None


def _rows(x: TensorType) -> Dim:
    if x.shape is None:
        return None
    return x.shape[0] if len(x.shape) > 1 else 1


def _columns(x: TensorType) -> Dim:
    return x.shape[-1] if x.shape else None


# what the elements become ------------------------------------------------------------------------


def _same(node: Node) -> Sequence[Type | None]:
    return [_x(node)]


def _as_floats(node: Node) -> Sequence[Type | None]:
    return [TensorType(DType.FLOAT32, _x(node).shape)]


def _category_mapper(node: Node) -> Sequence[Type | None]:
    x = _x(node)
    other = {DType.STRING: DType.INT64, DType.INT64: DType.STRING}
    return [TensorType(None if x.dtype is None else other.get(x.dtype), x.shape)]


def _label_encoder(node: Node) -> Sequence[Type | None]:
    if node.version < 2:
        return _category_mapper(node)
    kinds = {"strings": DType.STRING, "int64s": DType.INT64, "floats": DType.FLOAT32}
    values = node.attributes.get("values_tensor")
    found = next((dtype for name, dtype in kinds.items() if _has(node, f"values_{name}")), None)
    return [TensorType(values.dtype if isinstance(values, TensorData) else found, _x(node).shape)]


def _array_feature_extractor(node: Node) -> Sequence[Type | None]:
    """The last axis has one element for each index, whatever the shape of the indices; of a vector it is one row."""
    x, indices = _x(node), node.input(1)
    listed = indices.tensor.static_shape if indices is not None else None
    count = None if listed is None else math.prod(listed)
    if x.shape is None:
        return [x]
    return [TensorType(x.dtype, (*(x.shape[:-1] if len(x.shape) > 1 else (1,)), count))]


def _one_hot_encoder(node: Node) -> Sequence[Type | None]:
    x = _x(node)
    count = _length(node, "cats_int64s", "cats_strings")
    return [TensorType(DType.FLOAT32, None if x.shape is None else (*x.shape, count))]


def _feature_vectorizer(node: Node) -> Sequence[Type | None]:
    widths = node.attributes.get("inputdimensions")
    if not widths:
        widths = [_columns(value.tensor) if value is not None else None for value in node.inputs]
    whole = [width for width in widths if isinstance(width, int)]
    return [TensorType(DType.FLOAT32, (_rows(_x(node)), sum(whole) if len(whole) == len(widths) else None))]


def _tokenizer(node: Node) -> Sequence[Type | None]:
    x = _x(node)
    return [TensorType(DType.STRING, None if x.shape is None else (*x.shape, None))]


# dictionaries ------------------------------------------------------------------------------------


def _map(node: Node) -> MapType | None:
    first = node.input(0)
    return first.type if first is not None and isinstance(first.type, MapType) else None


def _cast_map(node: Node) -> Sequence[Type | None]:
    kinds = {"TO_FLOAT": DType.FLOAT32, "TO_STRING": DType.STRING, "TO_INT64": DType.INT64}
    sparse = _text(node, "map_form", "DENSE") == "SPARSE"
    most: Dim = int(node.attributes.get("max_map", 1)) if sparse else None
    return [TensorType(kinds.get(_text(node, "cast_to", "TO_FLOAT")), (1, most))]


def _dict_vectorizer(node: Node) -> Sequence[Type | None]:
    given = _map(node)
    value = given.value if given is not None else None
    dtype = value.dtype if isinstance(value, TensorType) else None
    return [TensorType(dtype, (1, _length(node, "int64_vocabulary", "string_vocabulary")))]


def _zip_map(node: Node) -> Sequence[Type | None]:
    key = DType.STRING if _has(node, "classlabels_strings") else DType.INT64
    return [SequenceType(MapType(key, TensorType(DType.FLOAT32, ())))]


def _text(node: Node, name: str, default: str) -> str:
    value: Any = node.attributes.get(name, default)
    return value.decode() if isinstance(value, bytes) else str(value)


# models ------------------------------------------------------------------------------------------


def _label_kind(node: Node) -> DType:
    return DType.STRING if _has(node, "classlabels_strings") else DType.INT64


def _classified(node: Node, scores: int | None) -> Sequence[Type | None]:
    """The class of each row, and its scores."""
    rows = _rows(_x(node))
    return [TensorType(_label_kind(node), (rows,)), TensorType(DType.FLOAT32, (rows, scores))]


def _regressor(count: str = "", dtype: DType | None = DType.FLOAT32) -> _Infer:
    """Numbers for each row: as many as the attribute `count` says, one where there is none; None: of x's type."""

    def infer(node: Node) -> Sequence[Type | None]:
        targets = int(node.attributes.get(count, 1)) if count else 1
        return [TensorType(dtype or _x(node).dtype, (_rows(_x(node)), targets))]

    return infer


def _linear_classifier(node: Node) -> Sequence[Type | None]:
    """A score for each linear model; two of the only one where it tells two classes apart."""
    labels, models = _length(node, "classlabels_strings", "classlabels_ints"), _length(node, "intercepts")
    weights, columns = _length(node, "coefficients"), _columns(_x(node))
    if models is None and weights is not None and isinstance(columns, int) and columns:
        models = weights // columns
    return _classified(node, 2 if models == 1 and labels == 2 else models)


def _svm_classifier(node: Node) -> Sequence[Type | None]:
    """Probabilities of the classes; else the scores of each pair of them, two of the only one. Without support vectors
    a score for each class."""
    classes = _length(node, "vectors_per_class")
    if classes is None:
        return _classified(node, _length(node, "classlabels_strings", "classlabels_ints"))
    pairs = max(2, classes * (classes - 1) // 2)
    return _classified(node, classes if _has(node, "prob_a") else pairs)


def _tree_classifier(node: Node) -> Sequence[Type | None]:
    return _classified(node, _length(node, "classlabels_strings", "classlabels_int64s"))


_RULES: dict[str, _Infer] = {
    "ArrayFeatureExtractor": _array_feature_extractor,
    "Binarizer": _same,
    "CastMap": _cast_map,
    "CategoryMapper": _category_mapper,
    "DictVectorizer": _dict_vectorizer,
    "FeatureVectorizer": _feature_vectorizer,
    "Imputer": _same,
    "LabelEncoder": _label_encoder,
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _regressor("targets"),
    "Normalizer": _as_floats,
    "OneHotEncoder": _one_hot_encoder,
    "SVMClassifier": _svm_classifier,
    "SVMRegressor": _regressor(),
    "Scaler": _as_floats,
    "TreeEnsemble": _regressor("n_targets", dtype=None),
    "TreeEnsembleClassifier": _tree_classifier,
    "TreeEnsembleRegressor": _regressor("n_targets"),
    "ZipMap": _zip_map,
}
