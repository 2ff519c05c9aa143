"""ai.onnx.ml: tree ensembles, all rows of a batch walking down each tree together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, strings
from .ml import post_transform

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
LEAF = MODES.index("LEAF")
_MEMBER = MODES.index("BRANCH_MEMBER")
_COMPARE = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes by position; a leaf's votes are (target, weight) pairs."""

    features: Array
    modes: Array
    splits: Array
    when_true: Array
    when_false: Array
    missing_true: Array
    members: dict[int, Array]
    roots: list[int]
    votes: dict[int, list[tuple[int, float]]]

    def leaves(self, x: Array, root: int) -> Array:
        """The leaf that each row ends at."""
        place = np.full(len(x), root)
        rows = np.arange(len(x))
        for _ in range(len(self.modes)):
            walking = self.modes[place] != LEAF
            if not walking.any():
                return place
            taken = self._holds(x[rows, self.features[place]], place)
            down = np.where(taken, self.when_true[place], self.when_false[place])
            place = np.where(walking, down, place)
        raise ValueError("the nodes of a tree go round in a circle")

    def _holds(self, values: Array, place: Array) -> Array:
        """Whether each value fulfils its node's condition; what is missing (NaN) goes where the node says."""
        modes, splits = self.modes[place], self.splits[place]
        holds = np.zeros(len(values), bool)
        for mode, compare in enumerate(_COMPARE):
            holds |= (modes == mode) & compare(values, splits)
        for node, members in self.members.items():
            holds |= (place == node) & np.isin(values, members)
        return np.where(np.isnan(values), holds | self.missing_true[place], holds)

    def scores(self, x: Array, targets: int, aggregate: str) -> tuple[Array, Array]:
        """(rows, targets) in float64, and which targets got a vote at all."""
        start = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
        join: Any = {"MIN": np.minimum, "MAX": np.maximum}.get(aggregate, np.add)
        total = np.full((len(x), targets), start)
        voted = np.zeros(total.shape, bool)
        for root in self.roots:
            leaves = self.leaves(x, root)
            for leaf in np.unique(leaves).tolist():
                rows = np.flatnonzero(leaves == leaf)
                for target, weight in self.votes.get(leaf, ()):
                    total[rows, target] = join(total[rows, target], weight)
                    voted[rows, target] = True
        if aggregate == "AVERAGE":
            total = total / len(self.roots)
        return np.where(voted, total, 0.0), voted


def either(attrs: Attributes, name: str) -> Array | None:
    """A list of floats, or the tensor that may stand in its place."""
    if attrs.has(f"{name}_as_tensor"):
        return attrs.tensor(f"{name}_as_tensor")
    return np.array(attrs.floats(name), np.float32) if attrs.has(name) else None


def flat_forest(attrs: Attributes, prefix: str) -> Forest:
    """The older operators' nodes: numbered within each tree, the votes in lists of their own."""
    trees, numbers = attrs.ints("nodes_treeids"), attrs.ints("nodes_nodeids")
    place = {key: index for index, key in enumerate(zip(trees, numbers, strict=True))}
    modes = np.array([MODES.index(mode) for mode in attrs.strings("nodes_modes")])

    def children(name: str) -> list[int]:
        pairs = zip(trees, attrs.ints(name), modes, strict=True)
        return [index if mode == LEAF else place[tree, child] for index, (tree, child, mode) in enumerate(pairs)]

    when_true, when_false = children("nodes_truenodeids"), children("nodes_falsenodeids")
    inner = np.flatnonzero(modes != LEAF).tolist()
    below = {child for index in inner for child in (when_true[index], when_false[index])}
    votes: dict[int, list[tuple[int, float]]] = {}
    weights = either(attrs, f"{prefix}_weights")
    owners = zip(attrs.ints(f"{prefix}_treeids"), attrs.ints(f"{prefix}_nodeids"), strict=True)
    for owner, target, weight in zip(
        owners, attrs.ints(f"{prefix}_ids"), [] if weights is None else weights.tolist(), strict=True
    ):
        votes.setdefault(place[owner], []).append((target, weight))
    splits = either(attrs, "nodes_values")
    return Forest(
        np.array(attrs.ints("nodes_featureids")),
        modes,
        np.zeros(len(modes), np.float32) if splits is None else splits,
        np.array(when_true),
        np.array(when_false),
        np.array(attrs.ints("nodes_missing_value_tracks_true", [0] * len(modes)), bool),
        {},
        [index for index in range(len(modes)) if index not in below],
        votes,
    )


def forest(attrs: Attributes) -> Forest:
    """TreeEnsemble's nodes; its leaves are appended to them."""
    modes = attrs.tensor("nodes_modes").astype(np.int64)
    count, targets = len(modes), attrs.ints("leaf_targetids")
    weights = attrs.tensor("leaf_weights").astype(np.float64).tolist()
    leaves = len(targets)

    def child(side: str) -> Array:
        is_leaf = np.array(attrs.ints(f"nodes_{side}leafs"), bool)
        down = np.array(attrs.ints(f"nodes_{side}nodeids")) + np.where(is_leaf, count, 0)
        return np.concatenate([down, np.arange(count, count + leaves)])

    def extended(values: Sequence[Any] | Array, dtype: Any) -> Array:
        return np.concatenate([np.asarray(values, dtype), np.zeros(leaves, dtype)])

    members: dict[int, Array] = {}
    if attrs.has("membership_values"):
        values = attrs.tensor("membership_values")
        ends = np.flatnonzero(np.isnan(values))
        sets = np.split(values, ends)
        members = {
            int(node): part[~np.isnan(part)] for node, part in zip(np.flatnonzero(modes == _MEMBER), sets, strict=False)
        }
    return Forest(
        extended(attrs.ints("nodes_featureids"), np.int64),
        np.concatenate([modes, np.full(leaves, LEAF)]),
        extended(attrs.tensor("nodes_splits"), attrs.tensor("nodes_splits").dtype),
        child("true"),
        child("false"),
        extended(attrs.ints("nodes_missing_value_tracks_true", [0] * count), bool),
        members,
        attrs.ints("tree_roots"),
        {count + leaf: [(target, weights[leaf])] for leaf, target in enumerate(targets)},
    )


def _rows(x: Array) -> Array:
    """Rows of floats; integers as float32."""
    return x if x.dtype.kind == "f" else x.astype(np.float32)


def tree_ensemble(attrs: Attributes, x: Array) -> Array:
    trees, aggregate = forest(attrs), AGGREGATES[attrs.int("aggregate_function")]
    scores, _ = trees.scores(x, attrs.int("n_targets"), aggregate)
    return post_transform(scores, TRANSFORMS[attrs.int("post_transform")]).astype(x.dtype)


def tree_regressor(attrs: Attributes, x: Array) -> Array:
    trees = flat_forest(attrs, "target")
    scores, _ = trees.scores(_rows(x), attrs.int("n_targets", 1), attrs.string("aggregate_function", "SUM"))
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
    scores, heard = trees.scores(_rows(x), len(labels), "SUM")
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
    found = [labels[index] for index in best.tolist()]
    names = strings(found) if isinstance(labels[0], str) else np.array(found, np.int64)
    return names, post_transform(scores, kind).astype(attrs.single)


TABLE: dict[str, Kernel] = {
    "TreeEnsemble": tree_ensemble,
    "TreeEnsembleClassifier": tree_classifier,
    "TreeEnsembleRegressor": tree_regressor,
}
