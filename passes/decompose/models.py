"""ai.onnx.ml's linear models and support vector machines, with probabilities of classes out of those of pairs."""

from __future__ import annotations

import functools
import itertools
import operator

import numpy as np

from ..attributes import NodeAttributes
from ..build import Expr, concat, expr, where
from ..errors import InvalidModel, Unsupported
from ..graph import Graph, Node, Value
from ..loop import Captured, Carried, Condition
from ..ml_attributes import labels_of
from ..preconditions import required, size_of_axis
from ..rewrite import Builder, collect, rule
from ..types import DType, tensor
from .common import ML, as_floats, best_of, named, numbers, rows_of, transformed

_MOST_ROUNDS = 100


def coupled(op: Builder, pairs: Value, slopes: list[float], offsets: list[float], classes: int) -> Value:
    """[rows, classes] of the machines' scores [rows, pairs], f32; a loop that ends where all rows are near enough.

    The second method of Wu, Lin and Weng: the minimum of the sum of (r_ji p_i - r_ij p_j)^2 by coordinate steps, with
    r_ij the sigmoid of a machine's score.
    """
    table = _quadratic(op, pairs, slopes, offsets, classes).value()
    rows = op.Shape(table, start=0, end=1)
    shape = op.Concat(rows, op.const([1]), axis=0)
    first = op.Expand(op.const(np.full((1, classes), 1 / classes, np.float32)), shape)
    everywhere = op.Expand(op.const(np.ones((1, 1), bool)), shape)
    slots = [Carried(), Carried(), Captured(), Condition()]
    found, _ = op.loop(op.const(_MOST_ROUNDS), None, slots, [first, everywhere, table], _round(op, classes))
    return found


def _quadratic(op: Builder, pairs: Value, slopes: list[float], offsets: list[float], classes: int) -> Expr:
    """[rows, classes, classes]: of class t with itself the sum of r_jt^2, with class j -r_jt r_tj."""
    line = expr(op, pairs) * np.array(slopes) + np.array(offsets)
    chance = expr(op, op.Sigmoid(-line)).clip(1e-7, 1 - 1e-7)
    other = 1 - chance
    beats: dict[tuple[int, int], Expr] = {}
    for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        beats[i, j], beats[j, i] = chance.gather([number], 1), other.gather([number], 1)
    lines = []
    for t in range(classes):
        own = functools.reduce(operator.add, [beats[j, t] * beats[j, t] for j in range(classes) if j != t])
        row = [own if j == t else -(beats[j, t] * beats[t, j]) for j in range(classes)]
        lines.append(concat(op, row, 1).unsqueeze(1))
    return concat(op, lines, 1)


def _round(op: Builder, classes: int) -> Graph:
    """One round: (p, which rows still go on, the quadratic form) -> (p, which go on, whether any does)."""
    body = op.region("body")
    p = body.input("p", tensor(DType.FLOAT32, None, classes))
    active = body.input("active", tensor(DType.BOOL, None, 1))
    table = body.input("table", tensor(DType.FLOAT32, None, classes, classes))
    share, form = expr(body, p), expr(body, table)
    product = expr(body, body.MatMul(form, share.unsqueeze(2))).squeeze(2)
    level = (share * product).sum(1, keepdims=True)
    away = (product - level).abs().max(1, keepdims=True)
    going = expr(body, active) & (away >= np.float32(0.005 / classes))
    for t in range(classes):
        column = form.gather(t, 2)
        peak, here = column.gather([t], 1), product.gather([t], 1)
        step = where(going, (level - here) / peak, 0)
        grown = step + 1
        level = (level + step * (step * peak + (here + here))) / (grown * grown)
        product = (product + step * column) / grown
        share = (share + step * np.eye(classes)[t]) / grown
    more = going.cast(DType.INT32).max() > 0
    body.graph.outputs = [share.value(), going.value(), more.value()]
    return body.graph


def _product(op: Builder, rows: Value, weights: np.ndarray) -> Value:
    """rows [n, features] times weights [models, features] -> [n, models]"""
    return op.MatMul(rows, numbers(op, weights.T))


def _features(node: Node, rows: Value) -> int:
    width = size_of_axis(rows, 1)
    if width is None:
        raise Unsupported(node, "how many features there are is known at run time only")
    return width


def _linear(op: Builder, node: Node, attrs: NodeAttributes, models: int = -1) -> tuple[Value, int]:
    """The scores [rows, models], and how many models there are."""
    rows = as_floats(op, node, rows_of(op, node, required(node, 0)))
    weights = np.array(attrs.floats("coefficients"), np.float32)
    offsets = attrs.floats("intercepts", ())
    models = models if models > 0 else len(offsets) or len(weights) // max(_features(node, rows), 1)
    if not models or len(weights) % models:
        raise InvalidModel(f"{node!r}: {len(weights)} coefficients are none of {models} models")
    scores = _product(op, rows, weights.reshape(models, -1))
    return op.Add(scores, numbers(op, offsets)) if offsets else scores, models


@rule(ML, "LinearRegressor")
def linear_regressor(op: Builder, node: Node) -> Value:
    """LinearRegressor-1."""
    attrs = NodeAttributes(node)
    scores, _ = _linear(op, node, attrs, attrs.int("targets"))
    return transformed(op, node, scores, attrs.string("post_transform"))


@rule(ML, "LinearClassifier")
def linear_classifier(op: Builder, node: Node) -> list[Value]:
    """LinearClassifier-1: the best class of each row and all scores. One model for two classes scores the second."""
    attrs = NodeAttributes(node)
    labels, kind = labels_of(attrs, "classlabels_strings", "classlabels_ints"), attrs.string("post_transform")
    scores, models = _linear(op, node, attrs)
    if models == 1 and len(labels) == 2:
        second = expr(op, scores)
        best = (second.squeeze(1) > 0).cast(DType.INT64).value()
        scores = concat(op, [1 - second if kind == "NONE" else -second, second], 1).value()
    else:
        best = best_of(op, scores)
    return [named(op, best, labels), transformed(op, node, scores, kind)]


# support vectors -----------------------------------------------------------------------------------


def _similarity(op: Builder, node: Node, attrs: NodeAttributes, rows: Value, vectors: np.ndarray) -> Value:
    """The kernel function of each row with each vector."""
    gamma, offset, degree = attrs.floats("kernel_params", (0.0, 0.0, 3.0))
    kind = attrs.string("kernel_type")
    if kind == "RBF":
        apart = expr(op, rows).unsqueeze(1) - vectors
        return ((apart * apart).sum(2) * -gamma).exp().value()
    product = _product(op, rows, vectors)
    if kind == "LINEAR":
        return product
    if kind not in ("POLY", "SIGMOID"):
        raise Unsupported(node, f"kernel_type={kind!r} isn't known")
    scaled = expr(op, product) * gamma + offset
    return (scaled**degree).value() if kind == "POLY" else op.Tanh(scaled)


def _matrix(node: Node, name: str, rows: int) -> np.ndarray:
    """A list as so many rows."""
    numbers = NodeAttributes(node).floats(name, ())
    if rows < 1 or not numbers or len(numbers) % rows:
        raise InvalidModel(f"{node!r}: {name} has {len(numbers)} entries, for {rows} rows")
    return np.array(numbers).reshape(rows, -1)


def _one_each(node: Node, name: str, count: int) -> list[float]:
    """A list, of which so many entries are used."""
    numbers = NodeAttributes(node).floats(name, ())
    if len(numbers) < count:
        raise InvalidModel(f"{node!r}: {name} has {len(numbers)} entries; {count} are needed")
    return numbers[:count]


@rule(ML, "SVMRegressor")
def svm_regressor(op: Builder, node: Node) -> Value:
    """SVMRegressor-1: without support vectors the coefficients are the one vector; `one_class` gives the sign alone."""
    attrs, rows = NodeAttributes(node), as_floats(op, node, rows_of(op, node, required(node, 0)))
    weights = np.array(attrs.floats("coefficients"))[None, :]
    count = attrs.int("n_supports", 0)
    if count > 0:
        vectors = _matrix(node, "support_vectors", count)
        scores = _product(op, _similarity(op, node, attrs, rows, vectors), weights)
    else:
        scores = _similarity(op, node, attrs, rows, weights)
    scores = op.Add(scores, numbers(op, _one_each(node, "rho", 1)[0]))
    if attrs.flag("one_class"):
        scores = op.Where(op.Greater(scores, numbers(op, 0)), numbers(op, 1), numbers(op, -1))
    return transformed(op, node, scores, attrs.string("post_transform"))


@rule(ML, "SVMClassifier")
def svm_classifier(op: Builder, node: Node) -> list[Value]:
    """SVMClassifier-1: the class with most votes of the pairwise machines, and the classes' probabilities or the
    machines' scores.

    Two classes without probabilities: the negative score and the score. Without support vectors there is one vector
    for each class.
    """
    attrs, rows = NodeAttributes(node), as_floats(op, node, rows_of(op, node, required(node, 0)))
    labels = attrs.strings("classlabels_strings", ()) or attrs.ints("classlabels_ints", ())
    counts = attrs.ints("vectors_per_class", ())
    slopes = attrs.floats("prob_a", ())
    if not counts:
        vectors = _matrix(node, "coefficients", len(labels))
        scores = op.Add(_similarity(op, node, attrs, rows, vectors), numbers(op, _one_each(node, "rho", 1)[0]))
        best = best_of(op, scores)
    else:
        pairs = _pairwise(op, node, attrs, rows, counts)
        best = best_of(op, _votes(op, pairs, len(counts)))
        if slopes:
            machines = len(counts) * (len(counts) - 1) // 2
            offsets = _one_each(node, "prob_b", machines)
            scores = coupled(op, pairs, _one_each(node, "prob_a", machines), offsets, len(counts))
        else:
            scores = op.Concat(op.Neg(pairs), pairs, axis=1) if len(counts) == 2 else pairs
    return [named(op, best, labels), transformed(op, node, scores, attrs.string("post_transform"))]


def _pairwise(op: Builder, node: Node, attrs: NodeAttributes, rows: Value, counts: list[int]) -> Value:
    """[rows, pairs of classes]: positive speaks for the first of the pair."""
    ends = np.cumsum([0, *counts])
    vectors = _matrix(node, "support_vectors", int(ends[-1]))
    weights = _matrix(node, "coefficients", len(counts) - 1)
    if min(counts) < 0 or weights.shape[1] != len(vectors):
        raise InvalidModel(f"{node!r}: {weights.size} coefficients of vectors in {counts}")
    machines = list(itertools.combinations(range(len(counts)), 2))
    table = np.zeros((len(machines), len(vectors)))
    for row, (i, j) in zip(table, machines, strict=True):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        row[first], row[second] = weights[j - 1, first], weights[i, second]
    similar = _similarity(op, node, attrs, rows, vectors)
    return op.Add(_product(op, similar, table), numbers(op, _one_each(node, "rho", len(machines))))


def _votes(op: Builder, pairs: Value, classes: int) -> Value:
    """[rows, classes]: how many machines spoke for each class."""
    machines = list(itertools.combinations(range(classes), 2))
    first, second = np.zeros((classes, len(machines))), np.zeros((classes, len(machines)))
    for number, (i, j) in enumerate(machines):
        first[i, number] = second[j, number] = 1
    won = (expr(op, pairs) > 0).cast(DType.FLOAT32)
    return op.Add(_product(op, won.value(), first), _product(op, (1 - won).value(), second))


RULES = collect(globals())
