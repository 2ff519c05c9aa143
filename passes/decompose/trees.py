"""ai.onnx.ml's tree ensembles, all trees of all rows going down at once."""

from __future__ import annotations

import numpy as np

from ..attributes import NodeAttributes
from ..build import expr
from ..graph import Node, Value
from ..ml_attributes import AGGREGATES, LEAF, MODES, TRANSFORMS, Forest, either, flat_forest, forest
from ..preconditions import dtype_of, required
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import ML, any_of, best_of, cast, named, numbers, transformed, working

_COMPARE = {
    "BRANCH_LEQ": "LessOrEqual",
    "BRANCH_LT": "Less",
    "BRANCH_GTE": "GreaterOrEqual",
    "BRANCH_GT": "Greater",
    "BRANCH_EQ": "Equal",
    "BRANCH_NEQ": "Equal",  # and not so
}


def _depth(trees: Forest) -> int:
    """How many steps the longest way to a leaf has."""
    level, steps = np.array(trees.roots), 0
    while level.size and (trees.modes[level] != LEAF).any():
        level = level[trees.modes[level] != LEAF]
        level = np.unique(np.concatenate([trees.when_true[level], trees.when_false[level]]))
        steps += 1
        if steps > len(trees.modes):
            break
    return steps


class _Walk:
    """The tables of a forest as constants; leaves lead to themselves."""

    def __init__(self, op: Builder, trees: Forest, dtype: DType) -> None:
        self.op, self.trees, self._dtype = op, trees, dtype
        here = np.arange(len(trees.modes))
        is_leaf = trees.modes == LEAF
        self._features = numbers(op, np.where(is_leaf, 0, trees.features), DType.INT32)
        self._splits = numbers(op, trees.splits, dtype)
        self._true = numbers(op, np.where(is_leaf, here, trees.when_true), DType.INT32)
        self._false = numbers(op, np.where(is_leaf, here, trees.when_false), DType.INT32)
        self._modes = sorted(set(trees.modes[~is_leaf].tolist()))

    def at(self, table: Value, position: Value) -> Value:
        return self.op.Gather(table, position, axis=0)

    def leaves(self, rows: Value) -> Value:
        """The leaf of each tree for each row, int32 [rows, trees]."""
        op = self.op
        start = numbers(op, np.array(self.trees.roots)[None, :], DType.INT32)
        position = op.Expand(start, op.Concat(op.Shape(rows, start=0, end=1), op.const([1]), axis=0))
        for _ in range(_depth(self.trees)):
            values = op.GatherElements(rows, self.at(self._features, position), axis=1)
            position = op.Where(
                self._holds(values, position), self.at(self._true, position), self.at(self._false, position)
            )
        return position

    def _holds(self, values: Value, position: Value) -> Value:
        """Whether each value fulfils its node's condition; what is missing (NaN) goes where the node says."""
        op, found = self.op, None
        for mode in self._modes:
            name = MODES[mode]
            if name not in _COMPARE:
                holds = self._member(values, position)
            else:
                holds = op.call(_COMPARE[name], values, self.at(self._splits, position))
                if name == "BRANCH_NEQ":
                    holds = op.Not(holds)
                if len(self._modes) > 1:
                    holds = op.And(holds, self.at(op.const(self.trees.modes == mode), position))
            found = holds if found is None else op.Or(found, holds)
        assert found is not None
        if self.trees.missing_true.any():
            tracked = self.at(op.const(self.trees.missing_true), position)
            found = op.Or(found, op.And(op.IsNaN(values), tracked))
        return found

    def _member(self, values: Value, position: Value) -> Value:
        op, members = self.op, self.trees.members
        table = np.full((len(self.trees.modes), max([1, *map(len, members.values())])), np.nan)
        for node, content in members.items():
            table[node, : len(content)] = content
        same = op.Equal(op.Unsqueeze(values, op.const([2])), self.at(numbers(op, table, self._dtype), position))
        return any_of(expr(op, same), 2).value()


def _scores(op: Builder, node: Node, trees: Forest, targets: int, aggregate: str) -> tuple[Value, Value | None]:
    """([rows, targets], which targets got a vote at all; None where all certainly did)."""
    dtype = working(node, required(node, 0))
    rows = cast(op, node, required(node, 0), dtype)
    start = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
    join = {"MIN": min, "MAX": max}.get(aggregate, lambda a, b: a + b)
    table, voted = np.full((len(trees.modes), targets), start), np.zeros((len(trees.modes), targets), bool)
    for leaf, votes in trees.votes.items():
        for target, weight in votes:
            table[leaf, target] = join(table[leaf, target], weight)
            voted[leaf, target] = True
    walk = _Walk(op, trees, dtype)
    position = walk.leaves(rows)
    votes = walk.at(numbers(op, table, dtype), position)  # [rows, trees, targets]
    reduction = {"MIN": "ReduceMin", "MAX": "ReduceMax"}.get(aggregate, "ReduceSum")
    scores = op.call(reduction, votes, op.const([1]), keepdims=0)
    if aggregate == "AVERAGE":
        scores = op.Div(scores, numbers(op, len(trees.roots), dtype))
    if voted[trees.modes == LEAF].all():
        return scores, None
    heard = any_of(expr(op, walk.at(op.const(voted), position)), 1).value()
    return (op.Where(heard, scores, numbers(op, 0, dtype)) if aggregate in ("MIN", "MAX") else scores), heard


@rule(ML, "TreeEnsemble")
def tree_ensemble(op: Builder, node: Node) -> Value:
    """TreeEnsemble-5."""
    attrs = NodeAttributes(node)
    aggregate = AGGREGATES[attrs.int("aggregate_function")]
    scores, _ = _scores(op, node, forest(attrs), attrs.int("n_targets"), aggregate)
    made = transformed(op, node, scores, TRANSFORMS[attrs.int("post_transform")])
    return cast(op, node, made, dtype_of(node, required(node, 0)))


@rule(ML, "TreeEnsembleRegressor")
def tree_regressor(op: Builder, node: Node) -> Value:
    """TreeEnsembleRegressor-3."""
    attrs = NodeAttributes(node)
    aggregate = attrs.string("aggregate_function", "SUM")
    scores, _ = _scores(op, node, flat_forest(attrs, "target"), attrs.int("n_targets", 1), aggregate)
    base = either(attrs, "base_values")
    if base is not None:
        scores = op.Add(scores, numbers(op, base, dtype_of(node, scores)))
    return cast(op, node, transformed(op, node, scores, attrs.string("post_transform")), DType.FLOAT32)


@rule(ML, "TreeEnsembleClassifier")
def tree_classifier(op: Builder, node: Node) -> list[Value]:
    """TreeEnsembleClassifier-3: the best class of each row (among those that got a vote) and the scores of all.

    Two classes of which only one gets votes: its score decides, above 0.5 where no weight is negative, else above 0.
    """
    attrs = NodeAttributes(node)
    trees, kind = flat_forest(attrs, "class"), attrs.string("post_transform")
    labels = attrs.strings("classlabels_strings", ()) or attrs.ints("classlabels_int64s")
    scores, heard = _scores(op, node, trees, len(labels), "SUM")
    dtype = dtype_of(node, scores)
    base, voted = either(attrs, "base_values"), set(attrs.ints("class_ids"))
    if base is not None:
        base = np.pad(base, (0, len(labels) - len(base))) if len(labels) == 2 else base
        scores = op.Add(scores, numbers(op, base, dtype))
    if len(labels) == 2 and len(voted) == 1:
        positive = all(weight >= 0 for votes in trees.votes.values() for _, weight in votes)
        line = op.Gather(scores, op.const([next(iter(voted))]), axis=1)
        above = op.Greater(op.Squeeze(line, op.const([1])), numbers(op, 0.5 if positive else 0, dtype))
        best = cast(op, node, above, DType.INT64)
        if voted == {0}:
            other = op.Sub(numbers(op, 1, dtype), line) if positive and kind == "NONE" else op.Neg(line)
            scores = op.Concat(other, line, axis=1)
    else:
        counted = scores if heard is None or base is not None else op.Where(heard, scores, numbers(op, -np.inf, dtype))
        best = best_of(op, counted)
    return [named(op, best, labels), cast(op, node, transformed(op, node, scores, kind), DType.FLOAT32)]


RULES = collect(globals())
