"""Hub -> OpenVINO: ai.onnx.ml's linear models and support vector machines."""

from __future__ import annotations

import itertools

import numpy as np

from ....passes.demands import required, size_of_axis
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....runtime.kernels.base import Attributes
from ....runtime.kernels.ml import labels_of
from .coupling import coupled
from .ml import DOMAIN, as_floats, best_of, floats, named, rows_of, transformed
from .tools import i64


def _product(op: Builder, rows: Value, weights: np.ndarray) -> Value:
    """rows [n, features] times weights [models, features] -> [n, models]"""
    return op.MatMul(rows, floats(op, weights), transpose_a=False, transpose_b=True)


def _features(node: Node, rows: Value) -> int:
    width = size_of_axis(rows, 1)
    if width is None:
        raise Unsupported(node, "how many features there are is known at run time only")
    return width


def _linear(op: Builder, node: Node, attrs: Attributes, models: int = -1) -> tuple[Value, int]:
    """The scores [rows, models], and how many models there are."""
    rows = as_floats(op, node, rows_of(op, node, required(node, 0)))
    weights = np.array(attrs.floats("coefficients"), np.float32)
    offsets = attrs.floats("intercepts", ())
    models = models if models > 0 else len(offsets) or len(weights) // _features(node, rows)
    scores = _product(op, rows, weights.reshape(models, -1))
    return op.Add(scores, floats(op, offsets)) if offsets else scores, models


@rule(DOMAIN, "LinearRegressor")
def linear_regressor(op: Builder, node: Node) -> Value:
    attrs = Attributes(node)
    scores, _ = _linear(op, node, attrs, attrs.int("targets"))
    return transformed(op, node, scores, attrs.string("post_transform"))


@rule(DOMAIN, "LinearClassifier")
def linear_classifier(op: Builder, node: Node) -> list[Value]:
    """The best class of each row and all scores. One model for two classes scores the second."""
    attrs = Attributes(node)
    labels, kind = labels_of(attrs, "classlabels_strings", "classlabels_ints"), attrs.string("post_transform")
    scores, models = _linear(op, node, attrs)
    if models == 1 and len(labels) == 2:
        above = op.Less(floats(op, 0), op.Squeeze(scores, i64(op, [1])))
        best = op.Convert(above, destination_type="i64")
        other = op.Subtract(floats(op, 1), scores) if kind == "NONE" else op.Negative(scores)
        scores = op.Concat(other, scores, axis=1)
    else:
        best = best_of(op, scores)
    return [named(op, node, best, labels), transformed(op, node, scores, kind)]


# support vectors -----------------------------------------------------------------------------------


def _similarity(op: Builder, node: Node, attrs: Attributes, rows: Value, vectors: np.ndarray) -> Value:
    """The kernel function of each row with each vector."""
    gamma, offset, degree = attrs.floats("kernel_params", (0.0, 0.0, 3.0))
    kind = attrs.string("kernel_type")
    if kind == "RBF":
        apart = op.Subtract(op.Unsqueeze(rows, i64(op, [1])), floats(op, vectors))
        squares = op.ReduceSum(op.Multiply(apart, apart), i64(op, [2]), keep_dims=False)
        return op.Exp(op.Multiply(squares, floats(op, -gamma)))
    product = _product(op, rows, vectors)
    if kind == "LINEAR":
        return product
    if kind not in ("POLY", "SIGMOID"):
        raise Unsupported(node, f"kernel_type={kind!r} isn't known")
    scaled = op.Add(op.Multiply(product, floats(op, gamma)), floats(op, offset))
    return op.Power(scaled, floats(op, degree)) if kind == "POLY" else op.Tanh(scaled)


def _matrix(attrs: Attributes, name: str, columns: int) -> np.ndarray:
    return np.array(attrs.floats(name, ())).reshape(-1, columns)


@rule(DOMAIN, "SVMRegressor")
def svm_regressor(op: Builder, node: Node) -> Value:
    """Without support vectors the coefficients are the one vector; `one_class` gives the sign alone."""
    attrs, rows = Attributes(node), as_floats(op, node, required(node, 0))
    if attrs.int("n_supports", 0) > 0:
        vectors = _matrix(attrs, "support_vectors", len(attrs.floats("support_vectors")) // attrs.int("n_supports"))
        weights = np.array(attrs.floats("coefficients"))[None, :]
        scores = _product(op, _similarity(op, node, attrs, rows, vectors), weights)
    else:
        scores = _similarity(op, node, attrs, rows, np.array(attrs.floats("coefficients"))[None, :])
    scores = op.Add(scores, floats(op, attrs.floats("rho")[0]))
    if attrs.flag("one_class"):
        scores = op.Select(op.Less(floats(op, 0), scores), floats(op, 1), floats(op, -1))
    return transformed(op, node, scores, attrs.string("post_transform"))


@rule(DOMAIN, "SVMClassifier")
def svm_classifier(op: Builder, node: Node) -> list[Value]:
    """The class with most votes of the pairwise machines, and the classes' probabilities or the machines' scores.

    Two classes without probabilities: the negative score and the score. Without support vectors there is one vector
    for each class.
    """
    attrs, rows = Attributes(node), as_floats(op, node, required(node, 0))
    labels = attrs.strings("classlabels_strings", ()) or attrs.ints("classlabels_ints", ())
    counts = attrs.ints("vectors_per_class", ())
    slopes = attrs.floats("prob_a", ())
    if not counts:
        vectors = _matrix(attrs, "coefficients", len(attrs.floats("coefficients")) // len(labels))
        scores = op.Add(_similarity(op, node, attrs, rows, vectors), floats(op, attrs.floats("rho")[0]))
        best = best_of(op, scores)
    else:
        pairs = _pairwise(op, node, attrs, rows, counts)
        best = best_of(op, _votes(op, pairs, len(counts)))
        if slopes:
            scores = coupled(op, pairs, slopes, attrs.floats("prob_b"), len(counts))
        else:
            scores = op.Concat(op.Negative(pairs), pairs, axis=1) if len(counts) == 2 else pairs
    return [named(op, node, best, labels), transformed(op, node, scores, attrs.string("post_transform"))]


def _pairwise(op: Builder, node: Node, attrs: Attributes, rows: Value, counts: list[int]) -> Value:
    """[rows, pairs of classes]: positive speaks for the first of the pair."""
    ends = np.cumsum([0, *counts])
    vectors = _matrix(attrs, "support_vectors", len(attrs.floats("support_vectors")) // int(ends[-1]))
    weights = _matrix(attrs, "coefficients", len(vectors))
    machines = list(itertools.combinations(range(len(counts)), 2))
    table = np.zeros((len(machines), len(vectors)))
    for row, (i, j) in zip(table, machines, strict=True):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        row[first], row[second] = weights[j - 1, first], weights[i, second]
    similar = _similarity(op, node, attrs, rows, vectors)
    return op.Add(_product(op, similar, table), floats(op, attrs.floats("rho")[: len(machines)]))


def _votes(op: Builder, pairs: Value, classes: int) -> Value:
    """[rows, classes]: how many machines spoke for each class."""
    machines = list(itertools.combinations(range(classes), 2))
    first, second = np.zeros((classes, len(machines))), np.zeros((classes, len(machines)))
    for number, (i, j) in enumerate(machines):
        first[i, number] = second[j, number] = 1
    won = op.Convert(op.Less(floats(op, 0), pairs), destination_type="f32")
    return op.Add(_product(op, won, first), _product(op, op.Subtract(floats(op, 1), won), second))


RULES = collect(globals())
