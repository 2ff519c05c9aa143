"""Tree ensembles whose rows may end without a vote for one of several targets, which runtimes don't expect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

TREES = ("TreeEnsembleRegressor", "TreeEnsemble")
DOMAIN = "ai.onnx.ml"
_EXTREME = (b"MIN", b"MAX", 2, 3)
"""As the older operator and TreeEnsemble-5 name these aggregates."""


def reference_fault(node: Any) -> str:
    """What onnx's reference evaluator makes of a node of tree ensembles, "" for what is right."""
    given = attributes_of(node)
    if given.get("aggregate_function") in _EXTREME and _may_lack_votes(node, given):
        return f"gives the largest number for a target of {node.op_type} without a vote"
    return ""


def onnxruntime_fault(node: Any) -> str:
    """What ONNX Runtime makes of it."""
    given = attributes_of(node)
    base = [*given.get("base_values", ())] or "base_values_as_tensor" in given
    if base and given.get("n_targets", 1) > 1 and _may_lack_votes(node, given):
        return f"leaves out the base value of a target of {node.op_type} without a vote"
    return ""


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes that a node has, by name."""
    from onnx.helper import get_attribute_value

    return {attribute.name: get_attribute_value(attribute) for attribute in node.attribute}


def _may_lack_votes(node: Any, given: dict[str, Any]) -> bool:
    """Whether there is a target that each tree has a leaf without a vote for."""
    trees = list(_older(given) if node.op_type == TREES[0] else _newer(given))
    targets = range(given.get("n_targets", 1))
    return any(all(any(target not in leaf for leaf in tree) for tree in trees) for target in targets)


def _older(given: dict[str, Any]) -> Iterable[Iterable[set[int]]]:
    """For each tree the targets of each of its leaves: nodes by the numbers of their tree and in it."""
    trees: dict[int, dict[int, set[int]]] = {}
    names = ("nodes_treeids", "nodes_nodeids", "nodes_modes")
    for tree, number, mode in zip(*(given.get(name, ()) for name in names), strict=False):
        if mode == b"LEAF":
            trees.setdefault(tree, {})[number] = set()
    names = ("target_treeids", "target_nodeids", "target_ids")
    for tree, number, target in zip(*(given.get(name, ()) for name in names), strict=False):
        trees.get(tree, {}).get(number, set()).add(target)
    return (leaves.values() for leaves in trees.values())


def _newer(given: dict[str, Any]) -> Iterable[Iterable[set[int]]]:
    """The same by the positions of nodes; each leaf has one vote."""
    sides = [
        list(zip(given.get(f"nodes_{side}nodeids", ()), given.get(f"nodes_{side}leafs", ()), strict=False))
        for side in ("true", "false")
    ]
    for root in given.get("tree_roots", ()):
        leaves: list[set[int]] = []
        seen, left = {root}, [root]
        while left:
            place = left.pop()
            for children in sides:
                child, is_leaf = children[place]
                if is_leaf:
                    leaves.append({given["leaf_targetids"][child]})
                elif child not in seen:
                    seen.add(child)
                    left.append(child)
        yield leaves
