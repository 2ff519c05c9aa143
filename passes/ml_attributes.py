"""Attributes of ai.onnx.ml operators: labels, keys and values, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .attributes import NodeAttributes, strings

Array = np.ndarray[Any, Any]

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
LEAF = MODES.index("LEAF")
_MEMBER = MODES.index("BRANCH_MEMBER")
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def labels_of(attrs: NodeAttributes, names: str, numbers: str) -> list[Any]:
    return attrs.strings(names) if attrs.has(names) else attrs.ints(numbers)


def keys_of(attrs: NodeAttributes, role: str) -> Array:
    if attrs.has(f"{role}_tensor"):
        return attrs.tensor(f"{role}_tensor").reshape(-1)
    if attrs.has(f"{role}_strings"):
        return strings(attrs.strings(f"{role}_strings"))
    if attrs.has(f"{role}_int64s"):
        return np.array(attrs.ints(f"{role}_int64s"), np.int64)
    return np.array(attrs.floats(f"{role}_floats"), np.float32)


def default_of(attrs: NodeAttributes, dtype: np.dtype[Any]) -> Any:
    if attrs.has("default_tensor"):
        return attrs.tensor("default_tensor").reshape(-1)[0]
    if dtype.kind == "O":
        return attrs.string("default_string", "_Unused")
    return attrs.int("default_int64", -1) if dtype.kind in "iu" else attrs.float("default_float", -0.0)


@dataclass(frozen=True, slots=True)
class Forest:
    """The nodes of an ensemble of trees, by position; a leaf's votes are (target, weight) pairs."""

    features: Array
    modes: Array
    splits: Array
    when_true: Array
    when_false: Array
    missing_true: Array
    members: dict[int, Array]
    roots: list[int]
    votes: dict[int, list[tuple[int, float]]]


def either(attrs: NodeAttributes, name: str) -> Array | None:
    """A list of floats, or the tensor that may stand in its place."""
    if attrs.has(f"{name}_as_tensor"):
        return attrs.tensor(f"{name}_as_tensor")
    return np.array(attrs.floats(name), np.float32) if attrs.has(name) else None


def flat_forest(attrs: NodeAttributes, prefix: str) -> Forest:
    """The older operators' nodes: numbered within each tree, the votes in lists of their own."""
    trees, numbers = attrs.ints("nodes_treeids"), attrs.ints("nodes_nodeids")
    position = {key: index for index, key in enumerate(zip(trees, numbers, strict=True))}
    modes = np.array([MODES.index(mode) for mode in attrs.strings("nodes_modes")])

    def children(name: str) -> list[int]:
        pairs = zip(trees, attrs.ints(name), modes, strict=True)
        return [index if mode == LEAF else position[tree, child] for index, (tree, child, mode) in enumerate(pairs)]

    when_true, when_false = children("nodes_truenodeids"), children("nodes_falsenodeids")
    inner = np.flatnonzero(modes != LEAF).tolist()
    below = {child for index in inner for child in (when_true[index], when_false[index])}
    votes: dict[int, list[tuple[int, float]]] = {}
    weights = either(attrs, f"{prefix}_weights")
    owners = zip(attrs.ints(f"{prefix}_treeids"), attrs.ints(f"{prefix}_nodeids"), strict=True)
    for owner, target, weight in zip(
        owners, attrs.ints(f"{prefix}_ids"), [] if weights is None else weights.tolist(), strict=True
    ):
        votes.setdefault(position[owner], []).append((target, weight))
    splits = either(attrs, "nodes_values")
    return Forest(
        np.array(attrs.ints("nodes_featureids")),
        modes,
        np.zeros(len(modes), np.float32) if splits is None else splits,
        np.array(when_true),
        np.array(when_false),
        np.array(attrs.ints("nodes_missing_value_tracks_true", ()) or [0] * len(modes), bool),
        {},
        [index for index in range(len(modes)) if index not in below],
        votes,
    )


def forest(attrs: NodeAttributes) -> Forest:
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
        extended(attrs.ints("nodes_missing_value_tracks_true", ()) or [0] * count, bool),
        members,
        attrs.ints("tree_roots"),
        {count + leaf: [(target, weights[leaf])] for leaf, target in enumerate(targets)},
    )
