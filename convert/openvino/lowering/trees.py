"""Hub -> OpenVINO: ai.onnx.ml's tree ensembles, all trees of all rows going down at once."""

from __future__ import annotations

import numpy as np

from ....passes.demands import dtype_of, required
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....runtime.kernels.base import Attributes
from ....runtime.kernels.trees import AGGREGATES, LEAF, MODES, TRANSFORMS, Forest, either, flat_forest, forest
from .ml import DOMAIN, as_floats, best_of, floats, named, transformed
from .tools import convert, i64

_COMPARE = {
    # mode: operator, whether the split stands before the value (of NaN, OpenVINO's CPU says that it is greater)
    "BRANCH_LEQ": ("LessEqual", False),
    "BRANCH_LT": ("Less", False),
    "BRANCH_GTE": ("LessEqual", True),
    "BRANCH_GT": ("Less", True),
    "BRANCH_EQ": ("Equal", False),
    "BRANCH_NEQ": ("NotEqual", False),
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

    def __init__(self, op: Builder, trees: Forest) -> None:
        self.op, self.trees = op, trees
        here = np.arange(len(trees.modes))
        is_leaf = trees.modes == LEAF
        self._features = op.const(np.where(is_leaf, 0, trees.features), DType.INT32)
        self._splits = op.const(trees.splits, DType.FLOAT32)
        self._true = op.const(np.where(is_leaf, here, trees.when_true), DType.INT32)
        self._false = op.const(np.where(is_leaf, here, trees.when_false), DType.INT32)
        self._modes = sorted(set(trees.modes[~is_leaf].tolist()))

    def at(self, table: Value, place: Value) -> Value:
        return self.op.Gather(table, place, i64(self.op, 0), batch_dims=0)

    def leaves(self, rows: Value) -> Value:
        """The leaf of each tree for each row, i32 [rows, trees]."""
        op = self.op
        start = op.const(np.array(self.trees.roots)[None, :], DType.INT32)
        shape = op.ShapeOf(rows, output_type="i64")
        count = op.Concat(op.Gather(shape, i64(op, [0]), i64(op, 0), batch_dims=0), i64(op, [1]), axis=0)
        place = op.Broadcast(start, count, mode="bidirectional")
        for _ in range(_depth(self.trees)):
            values = op.GatherElements(rows, self.at(self._features, place), axis=1)
            place = op.Select(self._holds(values, place), self.at(self._true, place), self.at(self._false, place))
        return place

    def _holds(self, values: Value, place: Value) -> Value:
        """Whether each value fulfils its node's condition; what is missing (NaN) goes where the node says."""
        op, found = self.op, None
        for mode in self._modes:
            holds = self._member(values, place) if MODES[mode] not in _COMPARE else None
            if holds is None:
                operator, swapped = _COMPARE[MODES[mode]]
                sides = values, self.at(self._splits, place)
                holds = op.call(operator, *(sides[::-1] if swapped else sides))
                if len(self._modes) > 1:
                    holds = op.LogicalAnd(holds, self.at(op.const(self.trees.modes == mode), place))
            found = holds if found is None else op.LogicalOr(found, holds)
        assert found is not None
        if self.trees.missing_true.any():
            tracked = self.at(op.const(self.trees.missing_true), place)
            found = op.LogicalOr(found, op.LogicalAnd(op.IsNaN(values), tracked))
        return found

    def _member(self, values: Value, place: Value) -> Value:
        op, members = self.op, self.trees.members
        table = np.full((len(self.trees.modes), max([1, *map(len, members.values())])), np.nan, np.float32)
        for node, content in members.items():
            table[node, : len(content)] = content
        same = op.Equal(op.Unsqueeze(values, i64(op, [2])), self.at(op.const(table), place))
        return op.ReduceLogicalOr(same, i64(op, [2]), keep_dims=False)


def _scores(op: Builder, rows: Value, trees: Forest, targets: int, aggregate: str) -> tuple[Value, Value | None]:
    """(f32 [rows, targets], which targets got a vote at all; None where all certainly did)."""
    start = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
    join = {"MIN": min, "MAX": max}.get(aggregate, lambda a, b: a + b)
    table, voted = np.full((len(trees.modes), targets), start), np.zeros((len(trees.modes), targets), bool)
    for leaf, votes in trees.votes.items():
        for target, weight in votes:
            table[leaf, target] = join(table[leaf, target], weight)
            voted[leaf, target] = True
    walk = _Walk(op, trees)
    place = walk.leaves(rows)
    votes = walk.at(op.const(table, DType.FLOAT32), place)  # [rows, trees, targets]
    reduction = {"MIN": "ReduceMin", "MAX": "ReduceMax"}.get(aggregate, "ReduceSum")
    scores = op.call(reduction, votes, i64(op, [1]), keep_dims=False)
    if aggregate == "AVERAGE":
        scores = op.Divide(scores, floats(op, len(trees.roots)))
    if voted[trees.modes == LEAF].all():
        return scores, None
    heard = op.ReduceLogicalOr(walk.at(op.const(voted), place), i64(op, [1]), keep_dims=False)
    return (op.Select(heard, scores, floats(op, 0)) if aggregate in ("MIN", "MAX") else scores), heard


@rule(DOMAIN, "TreeEnsemble")
def tree_ensemble(op: Builder, node: Node) -> Value:
    x, attrs = required(node, 0), Attributes(node)
    aggregate = AGGREGATES[attrs.int("aggregate_function")]
    scores, _ = _scores(op, as_floats(op, node, x), forest(attrs), attrs.int("n_targets"), aggregate)
    made = transformed(op, node, scores, TRANSFORMS[attrs.int("post_transform")])
    return convert(op, node, made, dtype_of(node, x))


@rule(DOMAIN, "TreeEnsembleRegressor")
def tree_regressor(op: Builder, node: Node) -> Value:
    rows, attrs = as_floats(op, node, required(node, 0)), Attributes(node)
    aggregate = attrs.string("aggregate_function", "SUM")
    scores, _ = _scores(op, rows, flat_forest(attrs, "target"), attrs.int("n_targets", 1), aggregate)
    base = either(attrs, "base_values")
    if base is not None:
        scores = op.Add(scores, floats(op, base))
    return transformed(op, node, scores, attrs.string("post_transform"))


@rule(DOMAIN, "TreeEnsembleClassifier")
def tree_classifier(op: Builder, node: Node) -> list[Value]:
    """The best class of each row (among those that got a vote) and the scores of all.

    Two classes of which only one gets votes: its score decides, above 0.5 where no weight is negative, else above 0.
    """
    rows, attrs = as_floats(op, node, required(node, 0)), Attributes(node)
    trees, kind = flat_forest(attrs, "class"), attrs.string("post_transform")
    labels = attrs.strings("classlabels_strings", ()) or attrs.ints("classlabels_int64s")
    scores, heard = _scores(op, rows, trees, len(labels), "SUM")
    base, voted = either(attrs, "base_values"), set(attrs.ints("class_ids"))
    if base is not None:
        scores = op.Add(scores, floats(op, np.pad(base, (0, len(labels) - len(base))) if len(labels) == 2 else base))
    if len(labels) == 2 and len(voted) == 1:
        positive = all(weight >= 0 for votes in trees.votes.values() for _, weight in votes)
        line = op.Gather(scores, i64(op, [next(iter(voted))]), i64(op, 1), batch_dims=0)
        above = op.Less(floats(op, 0.5 if positive else 0), op.Squeeze(line, i64(op, [1])))
        best = op.Convert(above, destination_type="i64")
        if voted == {0}:
            other = op.Subtract(floats(op, 1), line) if positive and kind == "NONE" else op.Negative(line)
            scores = op.Concat(other, line, axis=1)
    else:
        counted = scores if heard is None or base is not None else op.Select(heard, scores, floats(op, -np.inf))
        best = best_of(op, counted)
    return [named(op, node, best, labels), transformed(op, node, scores, kind)]


RULES = collect(globals())
