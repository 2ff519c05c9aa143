"""ai.onnx.ml: tree ensembles, all rows of a batch walking down each tree together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...passes.ml_attributes import AGGREGATES, LEAF, TRANSFORMS, Forest, either, flat_forest, forest
from .base import Array, Attributes, Kernel
from .ml import named, post_transform

_COMPARE = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)


def _leaves(trees: Forest, x: Array, root: int) -> Array:
    """The leaf that each row ends at."""
    place = np.full(len(x), root)
    rows = np.arange(len(x))
    for _ in range(len(trees.modes)):
        walking = trees.modes[place] != LEAF
        if not walking.any():
            return place
        taken = _holds(trees, x[rows, trees.features[place]], place)
        down = np.where(taken, trees.when_true[place], trees.when_false[place])
        place = np.where(walking, down, place)
    raise ValueError("the nodes of a tree go round in a circle")


def _holds(trees: Forest, values: Array, place: Array) -> Array:
    """Whether each value fulfils its node's condition; what is missing (NaN) goes where the node says."""
    modes, splits = trees.modes[place], trees.splits[place]
    holds = np.zeros(len(values), bool)
    for mode, compare in enumerate(_COMPARE):
        holds |= (modes == mode) & compare(values, splits)
    for node, members in trees.members.items():
        holds |= (place == node) & np.isin(values, members)
    return np.where(np.isnan(values), holds | trees.missing_true[place], holds)


def _scores(trees: Forest, x: Array, targets: int, aggregate: str) -> tuple[Array, Array]:
    """(rows, targets) in float64, and which targets got a vote at all."""
    start = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
    join: Any = {"MIN": np.minimum, "MAX": np.maximum}.get(aggregate, np.add)
    total = np.full((len(x), targets), start)
    voted = np.zeros(total.shape, bool)
    for root in trees.roots:
        leaves = _leaves(trees, x, root)
        for leaf in np.unique(leaves).tolist():
            rows = np.flatnonzero(leaves == leaf)
            for target, weight in trees.votes.get(leaf, ()):
                total[rows, target] = join(total[rows, target], weight)
                voted[rows, target] = True
    if aggregate == "AVERAGE":
        total = total / len(trees.roots)
    return np.where(voted, total, 0.0), voted


def _rows(x: Array) -> Array:
    """Rows of floats; integers as float32."""
    return x if x.dtype.kind == "f" else x.astype(np.float32)


def tree_ensemble(attrs: Attributes, x: Array) -> Array:
    trees, aggregate = forest(attrs), AGGREGATES[attrs.int("aggregate_function")]
    scores, _ = _scores(trees, x, attrs.int("n_targets"), aggregate)
    return post_transform(scores, TRANSFORMS[attrs.int("post_transform")]).astype(x.dtype)


def tree_regressor(attrs: Attributes, x: Array) -> Array:
    trees = flat_forest(attrs, "target")
    scores, _ = _scores(trees, _rows(x), attrs.int("n_targets", 1), attrs.string("aggregate_function", "SUM"))
    base = either(attrs, "base_values")
    if base is not None:
        scores = scores + base
    return post_transform(scores, attrs.string("post_transform")).astype(attrs.single)


def tree_classifier(attrs: Attributes, x: Array) -> tuple[Array, Array]:
    """The best class of each row (among those that got a vote) and the scores of all.

    Two classes of which only one gets votes: its score decides (above 0.5 where no weight is negative, else
    above 0). If that is the first of the list it stands for the second, and the other one's score is one
    minus it, or the negative where weights are negative or a post transform follows.
    """
    trees, kind = flat_forest(attrs, "class"), attrs.string("post_transform")
    labels = attrs.strings("classlabels_strings", ()) or attrs.ints("classlabels_int64s")
    scores, heard = _scores(trees, _rows(x), len(labels), "SUM")
    base = either(attrs, "base_values")
    voted = set(attrs.ints("class_ids"))
    if base is not None:
        scores = scores + (np.pad(base, (0, len(labels) - len(base))) if len(labels) == 2 else base)
    if len(labels) == 2 and len(voted) == 1:
        positive = all(weight >= 0 for votes in trees.votes.values() for _, weight in votes)
        line = scores[:, next(iter(voted))]
        best = (line > (0.5 if positive else 0)).astype(np.int64)
        if voted == {0}:
            other = 1 - line if positive and kind == "NONE" else -line
            scores = np.stack([other, line], axis=1)
    else:
        best = np.argmax(np.where(heard, scores, -np.inf) if base is None else scores, axis=1)
    return named(labels, best), post_transform(scores, kind).astype(attrs.single)


TABLE: dict[str, Kernel] = {
    "TreeEnsemble": tree_ensemble,
    "TreeEnsembleClassifier": tree_classifier,
    "TreeEnsembleRegressor": tree_regressor,
}
