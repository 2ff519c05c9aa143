"""ai.onnx.ml: support vector machines, as libsvm defines them."""

from __future__ import annotations

import itertools

import numpy as np

from .base import Array, Attributes, Kernel
from .ml import named, post_transform


def _similarity(attrs: Attributes, a: Array, b: Array) -> Array:
    """The kernel function of every row of `a` with every row of `b`."""
    gamma, offset, degree = attrs.floats("kernel_params", (0.0, 0.0, 3.0))
    kind, product = attrs.string("kernel_type"), a @ b.T
    if kind == "LINEAR":
        return product
    if kind == "POLY":
        return (gamma * product + offset) ** degree
    if kind == "SIGMOID":
        return np.tanh(gamma * product + offset)
    if kind == "RBF":
        squares = (a * a).sum(axis=1)[:, None] - 2 * product + (b * b).sum(axis=1)
        return np.exp(-gamma * squares)
    raise ValueError(f"unknown kernel type {kind!r}")


def _matrix(attrs: Attributes, name: str, columns: int) -> Array:
    return np.array(attrs.floats(name, ())).reshape(-1, columns)


def regressor(attrs: Attributes, x: Array) -> Array:
    """Without support vectors the coefficients are the one vector; `one_class` gives the sign alone."""
    rows, rho = np.atleast_2d(x).astype(np.float64), attrs.floats("rho")[0]
    if attrs.int("n_supports", 0) > 0:
        vectors = _matrix(attrs, "support_vectors", rows.shape[1])
        scores = _similarity(attrs, rows, vectors) @ np.array(attrs.floats("coefficients"))[:, None] + rho
    else:
        scores = _similarity(attrs, rows, _matrix(attrs, "coefficients", rows.shape[1])) + rho
    if attrs.flag("one_class"):
        scores = np.where(scores > 0, 1.0, -1.0)
    return post_transform(scores, attrs.string("post_transform")).astype(attrs.single)


def classifier(attrs: Attributes, x: Array) -> tuple[Array, Array]:
    """The class with most votes of the pairwise machines, and the classes' probabilities or the machines' scores.

    Two classes without probabilities: the negative score and the score. Without support vectors there is
    one vector for each class, and the best score decides.
    """
    labels = attrs.strings("classlabels_strings", ()) or attrs.ints("classlabels_ints", ())
    counts, rows = attrs.ints("vectors_per_class", ()), np.atleast_2d(x).astype(np.float64)
    if not counts:
        vectors = _matrix(attrs, "coefficients", rows.shape[1])
        scores = _similarity(attrs, rows, vectors) + attrs.floats("rho")[0]
        best = np.argmax(scores, axis=1)
    else:
        pairs = _pairwise(attrs, rows, counts)
        best = np.argmax(_votes(pairs, len(counts)), axis=1)
        if attrs.floats("prob_a", ()):
            scores = _probabilities(attrs, pairs, len(counts))
        else:
            scores = np.concatenate([-pairs, pairs], axis=1) if len(counts) == 2 else pairs
    return named(labels, best), post_transform(scores, attrs.string("post_transform")).astype(attrs.single)


def _pairwise(attrs: Attributes, rows: Array, counts: list[int]) -> Array:
    """(rows, pairs of classes): positive speaks for the first of the pair."""
    ends = np.cumsum([0, *counts])
    vectors = _matrix(attrs, "support_vectors", rows.shape[1])
    weights, rho = _matrix(attrs, "coefficients", len(vectors)), attrs.floats("rho")
    similar = _similarity(attrs, rows, vectors)
    columns = []
    for number, (i, j) in enumerate(itertools.combinations(range(len(counts)), 2)):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        total = similar[:, first] @ weights[j - 1, first] + similar[:, second] @ weights[i, second]
        columns.append(total + rho[number])
    return np.stack(columns, axis=1)


def _votes(pairs: Array, classes: int) -> Array:
    votes = np.zeros((len(pairs), classes), np.int64)
    for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        votes[:, i] += pairs[:, number] > 0
        votes[:, j] += pairs[:, number] <= 0
    return votes


def _probabilities(attrs: Attributes, pairs: Array, classes: int) -> Array:
    """Pairwise sigmoids coupled into one probability for each class."""
    slopes, offsets = attrs.floats("prob_a"), attrs.floats("prob_b")
    beats = np.zeros((len(pairs), classes, classes))
    for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        chance = 1 / (1 + np.exp(pairs[:, number] * slopes[number] + offsets[number]))
        beats[:, i, j] = np.clip(chance, 1e-7, 1 - 1e-7)
        beats[:, j, i] = 1 - beats[:, i, j]
    return np.array([_coupled(table) for table in beats])


def _coupled(beats: Array) -> Array:
    """Wu, Lin and Weng's second method: the minimum of sum (r_ji p_i - r_ij p_j)^2, by coordinate steps."""
    classes = len(beats)
    q = -beats.T * beats
    np.fill_diagonal(q, (beats * beats).sum(axis=0))
    p = np.full(classes, 1 / classes)
    for _ in range(max(100, classes)):
        product = q @ p
        level = p @ product
        if np.abs(product - level).max() < 0.005 / classes:
            break
        for t in range(classes):
            step = (level - product[t]) / q[t, t]
            p[t] += step
            level = (level + step * (step * q[t, t] + 2 * product[t])) / (1 + step) ** 2
            product = (product + step * q[t]) / (1 + step)
            p /= 1 + step
    return p


TABLE: dict[str, Kernel] = {"SVMClassifier": classifier, "SVMRegressor": regressor}
