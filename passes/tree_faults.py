"""Faults of the lists that make up a tree ensemble or a table of labels, of which ONNX's schema says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .graph import Node
from .ml_attributes import AGGREGATES, TRANSFORMS
from .tensor import TensorData

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF")
_UNREAD = ("nodes_hitrates", "nodes_hitrates_as_tensor")
_MAYBE_EMPTY = "nodes_missing_value_tracks_true"  # which is as if it weren't there
_NODES = ("treeids", "nodeids", "modes", "featureids", "truenodeids", "falsenodeids")
_OWNERS = ("treeids", "nodeids", "ids")
_VOTES = {"TreeEnsembleRegressor": "target", "TreeEnsembleClassifier": "class"}


def tree_fault(node: Node) -> str:
    """The first fault of such an operator, to be read behind its name; "" where there is none."""
    if node.domain != "ai.onnx.ml":
        return ""
    if node.op_type == "LabelEncoder":
        return _labels(node.attributes)
    if node.op_type == "TreeEnsemble":
        return _ensemble(node.attributes)
    prefix = _VOTES.get(node.op_type)
    return "" if prefix is None else _older(node.attributes, prefix)


def _labels(attributes: Mapping[str, Any]) -> str:
    """LabelEncoder: a value for each key, and one for all others."""
    default = attributes.get("default_tensor")
    if isinstance(default, TensorData) and default.size != 1:
        return f": default_tensor has {default.size} entries"
    return _uneven(attributes, ("keys_", "values_"))


def _older(attributes: Mapping[str, Any], prefix: str) -> str:
    """The operators of ai.onnx.ml 1 and 3: nodes by the numbers of their tree and in it."""
    uneven = _uneven(attributes, "nodes_", _NODES) or _uneven(attributes, f"{prefix}_", _OWNERS)
    if uneven:
        return uneven
    modes = [
        mode.decode(errors="replace") if isinstance(mode, bytes) else mode for mode in _list(attributes, "nodes_modes")
    ]
    trees = _list(attributes, "nodes_treeids")
    known = set(zip(trees, _list(attributes, "nodes_nodeids"), strict=True))
    for mode in modes:
        if mode not in MODES:
            return f": no node of a tree has the mode {mode!r:.40}"
    for side in ("nodes_truenodeids", "nodes_falsenodeids"):
        for tree, mode, child in zip(trees, modes, _list(attributes, side), strict=True):
            if mode != "LEAF" and (tree, child) not in known:
                return f": {side} names node {child} of tree {tree}, which isn't there"
    for owner in zip(_list(attributes, f"{prefix}_treeids"), _list(attributes, f"{prefix}_nodeids"), strict=True):
        if owner not in known:
            return f": {prefix}_nodeids names node {owner[1]} of tree {owner[0]}, which isn't there"
    classes = _list(attributes, "classlabels_strings") or _list(attributes, "classlabels_int64s")
    count = attributes.get("n_targets", 1) if prefix == "target" else len(classes)
    return _outside(attributes, f"{prefix}_ids", count)


def _ensemble(attributes: Mapping[str, Any]) -> str:
    """TreeEnsemble-5: nodes and leaves by their positions, kinds by numbers."""
    for name, kinds in (("aggregate_function", AGGREGATES), ("post_transform", TRANSFORMS)):
        if not 0 <= (number := attributes.get(name, 0)) < len(kinds):
            return f": attribute {name} is {number}, not one of 0 to {len(kinds) - 1}"
    uneven = _uneven(attributes, "nodes_") or _uneven(attributes, "leaf_")
    if uneven:
        return uneven
    nodes, leaves = (_length(attributes.get(name)) or 0 for name in ("nodes_modes", "leaf_targetids"))
    for side in ("true", "false"):
        are_leaves = _list(attributes, f"nodes_{side}leafs")
        for is_leaf, child in zip(are_leaves, _list(attributes, f"nodes_{side}nodeids"), strict=True):
            if not 0 <= child < (leaves if is_leaf else nodes):
                return f": nodes_{side}nodeids names {'leaf' if is_leaf else 'node'} {child}, which isn't there"
    return _outside(attributes, "tree_roots", nodes) or _outside(
        attributes, "leaf_targetids", attributes.get("n_targets", 1)
    )


def _uneven(attributes: Mapping[str, Any], prefix: str | tuple[str, ...], needed: Sequence[str] = ()) -> str:
    """Lists of one table that are of several lengths; of those that are `needed`, by their names behind the prefix,
    one that isn't given has no entries."""
    table: dict[str, Any] = {f"{prefix}{name}": 0 for name in needed}
    table |= {name: _length(value) for name, value in attributes.items() if name.startswith(prefix)}
    lengths = {name: length for name, length in table.items() if length is not None and name not in _UNREAD}
    if lengths.get(_MAYBE_EMPTY) == 0:
        del lengths[_MAYBE_EMPTY]
    if len(set(lengths.values())) < 2:
        return ""
    shortest, longest = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
    return f": {shortest} has {lengths[shortest]} entries, {longest} {lengths[longest]}"


def _outside(attributes: Mapping[str, Any], name: str, count: int) -> str:
    wrong = next((entry for entry in _list(attributes, name) if not 0 <= entry < count), None)
    return "" if wrong is None else f": {name} names {wrong} of {count}"


def _list(attributes: Mapping[str, Any], name: str) -> list[Any]:
    value = attributes.get(name, ())
    return list(value) if isinstance(value, list | tuple) else []


def _length(value: Any) -> Any:
    if isinstance(value, TensorData):
        return value.size
    return len(value) if isinstance(value, list | tuple) else None
