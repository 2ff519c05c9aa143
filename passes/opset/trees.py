"""TreeEnsemble of ai.onnx.ml 5 as the TreeEnsembleRegressor that it took the place of.

A node that asks whether a feature is among several values becomes a chain of nodes that ask for one each, what is
below it written out again for each of them. The older operator gives float32: of float64 it only finds the leaf of
each tree, told by the comparisons, which are made before it; the leaves' weights are looked up behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto

from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..protos import TypedList
from ..tensor import TensorData
from ..types import DType
from .build import StepBuilder
from .steps import Made, as_type, attribute, chained, dtype, given

_DOMAIN = "ai.onnx.ml"
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_LEQ, _LT, _GTE, _GT, _EQ, _NEQ, _MEMBER = range(7)
_NAMES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_MOST = 1_000_000  # nodes


@dataclass(frozen=True, slots=True)
class _Test:
    """What a node asks of a feature, and whether NaN takes its true branch."""

    feature: int
    mode: int
    split: float
    missing: bool


@dataclass(slots=True)
class _Row:
    """A node of the older form: a test with two rows below it, or a leaf."""

    tree: int
    number: int
    test: _Test | None
    leaf: int = 0
    below: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class _Forest:
    rows: Sequence[_Row]
    trees: int
    targets: int
    leaf_targets: Sequence[int]
    leaf_weights: np.ndarray[Any, Any]

    @property
    def leaves(self) -> list[_Row]:
        return [row for row in self.rows if row.test is None]


def _array(node: Node, name: str) -> np.ndarray[Any, Any]:
    value = given(node, name)
    if not isinstance(value, TensorData):
        raise InvalidModel(f"{node!r}: attribute {name} is no tensor")
    return value.numpy()


def _tests(node: Node) -> list[list[_Test]]:
    """What each node asks: one test, or one for each member, any of which may hold."""
    modes, splits = _array(node, "nodes_modes").tolist(), _array(node, "nodes_splits").tolist()
    missing = attribute(node, "nodes_missing_value_tracks_true") or [0] * len(modes)
    members: list[list[float]] = [[]]
    if "membership_values" in node.attributes:
        for value in _array(node, "membership_values").tolist():
            members[-1].append(value)
            if np.isnan(value):
                members.append([])
    sets = iter(members)
    found: list[list[_Test]] = []
    for feature, mode, split, tracks in zip(given(node, "nodes_featureids"), modes, splits, missing, strict=True):
        # the NaN at the end of a set equals nothing, so that an empty one is a test, too
        asked = [(_EQ, value) for value in next(sets, [])] if mode == _MEMBER else [(mode, split)]
        found.append([_Test(int(feature), *pair, bool(tracks)) for pair in asked])
    return found


def _forest(node: Node) -> _Forest:
    tests = _tests(node)
    downs = [
        [(int(index), bool(leaf)) for index, leaf in zip(given(node, ids), given(node, leafs), strict=True)]
        for ids, leafs in (("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs"))
    ]
    roots = given(node, "tree_roots")
    rows: list[_Row] = []
    for tree, root in enumerate(roots):
        start = len(rows)
        waiting: list[tuple[int, bool, int, _Row | None, int]] = [(int(root), False, 0, None, 0)]
        while waiting:
            index, is_leaf, part, above, side = waiting.pop()
            if len(rows) == _MOST:
                raise Unsupported(node, f"more than {_MOST} nodes, what has several above it written out for each")
            row = _Row(tree, len(rows) - start, None if is_leaf else tests[index][part], index)
            rows.append(row)
            if above is not None:
                above.below = (row.number, above.below[1]) if side == 0 else (above.below[0], row.number)
            if not is_leaf:
                more = part + 1 < len(tests[index])
                waiting.append((index, False, part + 1, row, 1) if more else (*downs[1][index], 0, row, 1))
                waiting.append((*downs[0][index], 0, row, 0))
    targets = int(attribute(node, "n_targets", 0)) or max(given(node, "leaf_targetids")) + 1
    return _Forest(rows, len(roots), targets, given(node, "leaf_targetids"), _array(node, "leaf_weights"))


def _floats(values: Sequence[float]) -> TypedList:
    return TypedList(AttributeProto.FLOATS, [float(value) for value in values])


def _ints(values: Sequence[int]) -> TypedList:
    return TypedList(AttributeProto.INTS, [int(value) for value in values])


def _structure(forest: _Forest, tests: Sequence[_Test | None]) -> dict[str, Any]:
    """The attributes that say the trees; `tests` stand in place of the rows' own."""
    rows = forest.rows
    found: dict[str, Any] = {
        "nodes_treeids": _ints([row.tree for row in rows]),
        "nodes_nodeids": _ints([row.number for row in rows]),
        "nodes_featureids": _ints([test.feature if test else 0 for test in tests]),
        "nodes_modes": TypedList(AttributeProto.STRINGS, [_NAMES[test.mode] if test else "LEAF" for test in tests]),
        "nodes_values": _floats([test.split if test else 0 for test in tests]),
        "nodes_truenodeids": _ints([row.below[0] for row in rows]),
        "nodes_falsenodeids": _ints([row.below[1] for row in rows]),
        "target_treeids": _ints([row.tree for row in forest.leaves]),
        "target_nodeids": _ints([row.number for row in forest.leaves]),
    }
    if any(test is not None and test.missing for test in tests):
        found["nodes_missing_value_tracks_true"] = _ints([test is not None and test.missing for test in tests])
    return found


def to_regressor(op: StepBuilder, node: Node) -> Made:
    """TreeEnsemble-5 -> TreeEnsembleRegressor-3."""
    x, forest = required(node, 0), _forest(node)
    kind = dtype(node, x)
    aggregate = _AGGREGATES[int(attribute(node, "aggregate_function", 1))]
    transform = _TRANSFORMS[int(attribute(node, "post_transform", 0))]
    if kind is DType.FLOAT64:
        return _by_leaves(op, node, forest, aggregate, transform)
    made = op.call(
        "TreeEnsembleRegressor",
        as_type(op, x, DType.FLOAT32),
        _domain=_DOMAIN,
        **_structure(forest, [row.test for row in forest.rows]),
        target_ids=_ints([forest.leaf_targets[row.leaf] for row in forest.leaves]),
        target_weights=_floats([forest.leaf_weights[row.leaf] for row in forest.leaves]),
        n_targets=forest.targets,
        aggregate_function=aggregate,
        post_transform=transform,
    )
    return as_type(op, made, kind)


def _by_leaves(op: StepBuilder, node: Node, forest: _Forest, aggregate: str, transform: str) -> Made:
    """In float64: what each test says -> the leaf of each tree -> its weight."""
    if transform not in ("NONE", "LOGISTIC"):
        raise Unsupported(node, f"post_transform {transform} in float64 came with version 5")
    tests = list(dict.fromkeys(row.test for row in forest.rows if row.test is not None))
    columns = {test: _Test(index, _GT, 0.5, False) for index, test in enumerate(tests)}
    leaves = op.call(
        "TreeEnsembleRegressor",
        as_type(op, _held(op, required(node, 0), tests), DType.FLOAT32),
        _domain=_DOMAIN,
        **_structure(forest, [columns[row.test] if row.test else None for row in forest.rows]),
        target_ids=_ints([row.tree for row in forest.leaves]),
        target_weights=_floats([row.leaf for row in forest.leaves]),
        n_targets=forest.trees,
    )
    least = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
    table = np.full((len(forest.leaf_targets), forest.targets), least)
    table[np.arange(len(table)), list(forest.leaf_targets)] = forest.leaf_weights
    votes = op.Gather(op.const(table), as_type(op, leaves, DType.INT64), axis=0)  # [rows, trees, targets]
    if aggregate in ("MIN", "MAX"):
        votes_of = {(row.tree, forest.leaf_targets[row.leaf]) for row in forest.leaves}
        if len(votes_of) > forest.trees or len({target for _, target in votes_of}) < forest.targets:
            raise Unsupported(node, f"{aggregate} in float64 of targets that may get no vote came with version 5")
        reduce = "ReduceMin" if aggregate == "MIN" else "ReduceMax"
        made = op.at(13).call(reduce, votes, axes=[1], keepdims=0)
    else:
        made = op.at(13).ReduceSum(votes, op.const([1]), keepdims=0)
    if aggregate == "AVERAGE":
        made = op.Div(made, op.const(np.array(float(forest.trees))))
    return op.Sigmoid(made) if transform == "LOGISTIC" else made


def _held(op: StepBuilder, x: Value, tests: Sequence[_Test]) -> Value:
    """Which tests hold in each row, bool [rows, tests]."""
    features = op.const([test.feature for test in tests])
    splits = np.array([test.split for test in tests])
    values = op.Gather(x, features, axis=1)
    limits = op.const(splits)
    less, more = op.Less(values, limits), op.Greater(values, limits)
    number = op.Or(op.Less(values, op.const(np.array(1.0))), op.Greater(values, op.const(np.array(0.0))))
    equal = op.And(number, op.Not(op.Or(less, more)))
    modes, unordered = np.array([test.mode for test in tests]), np.isnan(splits)

    def where(condition: Value, *taken: int, also: np.ndarray[Any, Any] | None = None) -> Value:
        """The condition in the columns of these modes."""
        mask = np.isin(modes, taken) if also is None else also
        return op.And(condition, op.const(mask))

    unequal = (modes == _NEQ) & unordered  # a number is unlike NaN
    parts = [
        where(less, _LEQ, _LT, _NEQ),
        where(more, _GTE, _GT, _NEQ),
        where(equal, also=(np.isin(modes, (_LEQ, _GTE, _EQ)) & ~unordered) | unequal),
        where(op.Not(number), also=np.array([test.missing or test.mode == _NEQ for test in tests])),
    ]
    return chained(op, "Or", parts)
