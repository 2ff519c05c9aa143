"""Operators of ai.onnx.ml: three versions of LabelEncoder, TreeEnsemble as TreeEnsembleRegressor, tensors as lists.

A TreeEnsemble's node that asks whether a feature is among several values becomes a chain of nodes that ask for one
each, what is below it written out again for each of them. The older operator gives float32: float64 is decomposed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto

from ..attributes import NodeAttributes
from ..decompose.features import label_encoder
from ..decompose.trees import tree_ensemble
from ..errors import Unsupported
from ..graph import Node, Value
from ..ml_attributes import AGGREGATES, LEAF, MODES, TRANSFORMS, Forest, default_of, forest, keys_of
from ..preconditions import dtype_of, required
from ..protos import TypedList
from ..types import DType
from .build import StepBuilder
from .steps import Made, Step, as_type, attribute, changed, decomposed, required_attribute, same

_DOMAIN = "ai.onnx.ml"
_LISTS = {
    DType.STRING: ("strings", AttributeProto.STRINGS),
    DType.INT64: ("int64s", AttributeProto.INTS),
    DType.FLOAT32: ("floats", AttributeProto.FLOATS),
}
_SHORT = (DType.INT16, DType.INT32)


class _Table:
    """What a LabelEncoder from version 2 on says: keys, none twice, their values, and the value of all others."""

    def __init__(self, node: Node) -> None:
        attrs = NodeAttributes(node)
        for side in ("keys", "values"):
            if not any(name.startswith(f"{side}_") for name in node.attributes):
                raise Unsupported(node, f"it has no {side}")
        keys, values = keys_of(attrs, "keys"), keys_of(attrs, "values")
        self.key, self.value = DType.of(keys.dtype), DType.of(values.dtype)
        self.default = default_of(attrs, values.dtype)
        # NaN as one object, which is equal to itself in a dictionary
        own = (math.nan if key != key else key for key in keys.tolist())
        self.pairs: dict[Any, Any] = dict(zip(own, values.tolist(), strict=True))

    def looked_up(self, op: StepBuilder, indices: Value) -> Value:
        """The values at positions 0, 1 ..., the default behind them."""
        values = [*self.pairs.values(), self.default]
        return op.Gather(op.const(np.array(values, self.value.numpy), self.value), indices, axis=0)


def to_lists(op: StepBuilder, node: Node) -> Made:
    """Version 4 -> 2, which has no tensors of keys and values, and compares floats bit by bit.

    Short integers go through int64; values of float64 are looked up by their position. Keys of float64, zero and NaN
    are compared with the elements one by one.
    """
    table, x = _Table(node), required(node, 0)
    keys, values, default, kind = list(table.pairs), list(table.pairs.values()), table.default, table.value
    if table.key is DType.FLOAT64 or (table.key.is_float and any(key == 0 or key != key for key in keys)):
        return decomposed(label_encoder)(op, node)
    if not any(name.endswith("_tensor") for name in node.attributes):
        return None
    key_type = DType.INT64 if table.key in _SHORT else table.key
    if kind is DType.FLOAT64:
        values, default, kind = list(range(len(values))), len(values), DType.INT64
    elif kind in _SHORT:
        kind = DType.INT64
    if not keys:
        made = op.const(np.array(default, kind.numpy), kind)
    else:
        (own, key_list), (given, value_list) = _LISTS[key_type], _LISTS[kind]
        lists: dict[str, Any] = {
            f"keys_{own}": TypedList(key_list, keys),
            f"values_{given}": TypedList(value_list, values),
            f"default_{given.removesuffix('s')}": default,
        }
        made = op.call("LabelEncoder", as_type(op, x, key_type), _domain=_DOMAIN, **lists)
    return table.looked_up(op, made) if table.value is DType.FLOAT64 else as_type(op, made, table.value)


def to_positions(op: StepBuilder, node: Node) -> Made:
    """Version 2 -> 1, which knows strings and their positions; other values are looked up by the position.

    Numbers that are no positions are compared with each key.
    """
    table = _Table(node)
    keys, values = list(table.pairs), list(table.pairs.values())
    indices = list(range(len(keys)))
    plain = changed(
        node, without=[name for name in node.attributes if name.startswith(("keys_", "values_", "default_"))]
    )
    if table.key is not DType.STRING:
        if keys == indices and table.value is DType.STRING and table.key is DType.INT64:
            return changed(plain, classes_strings=values, default_string=table.default)
        return decomposed(label_encoder)(op, node)
    if values == indices and table.value is DType.INT64:
        return changed(plain, classes_strings=keys, default_int64=table.default)
    found = op.call("LabelEncoder", required(node, 0), _domain=_DOMAIN, classes_strings=keys, default_int64=len(keys))
    return table.looked_up(op, found)


def to_pairs(op: StepBuilder, node: Node) -> Made:
    """Version 1 -> 2: the position in a list of strings, or the string at a position, as keys and values."""
    words = list(required_attribute(node, "classes_strings"))
    positions = TypedList(AttributeProto.INTS, range(len(words)))
    kind = required(node, 0).tensor.dtype
    if kind is None:
        kind = DType.INT64 if "default_string" in node.attributes else DType.STRING
    plain = changed(node, without=("classes_strings",))
    if kind is DType.STRING:
        return changed(plain, without=("default_string",), keys_strings=words, values_int64s=positions)
    return changed(plain, without=("default_int64",), keys_int64s=positions, values_strings=words)


_EQUAL = MODES.index("BRANCH_EQ")
_MOST = 1_000_000  # nodes


# trees --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Row:
    """A node of the older form: what it asks of the feature of `position`, with two rows below it; or a leaf."""

    tree: int
    number: int
    index: int
    mode: int
    split: float
    below: tuple[int, int] = (0, 0)


def _tests(trees: Forest, index: int) -> Sequence[tuple[int, float]]:
    """What a node asks: one comparison, or one for each member, any of which may hold; of no members, for NaN."""
    if index in trees.members:
        return [(_EQUAL, float(value)) for value in (trees.members[index] if len(trees.members[index]) else [np.nan])]
    return [(int(trees.modes[index]), float(trees.splits[index]))]


def _rows(node: Node, trees: Forest) -> list[_Row]:
    rows: list[_Row] = []
    for tree, root in enumerate(trees.roots):
        start = len(rows)
        waiting: list[tuple[int, int, _Row | None, int]] = [(root, 0, None, 0)]
        while waiting:
            index, part, above, side = waiting.pop()
            if len(rows) == _MOST:
                raise Unsupported(node, f"more than {_MOST} nodes, what has several above it written out for each")
            tests = _tests(trees, index)
            row = _Row(tree, len(rows) - start, index, *tests[part])
            rows.append(row)
            if above is not None:
                above.below = (row.number, above.below[1]) if side == 0 else (above.below[0], row.number)
            if row.mode != LEAF:
                more = part + 1 < len(tests)
                waiting.append((index, part + 1, row, 1) if more else (int(trees.when_false[index]), 0, row, 1))
                waiting.append((int(trees.when_true[index]), 0, row, 0))
    return rows


def to_regressor(op: StepBuilder, node: Node) -> Made:
    """TreeEnsemble-5 -> TreeEnsembleRegressor-3."""
    x, attrs = required(node, 0), NodeAttributes(node)
    kind = dtype_of(node, x)
    if kind is DType.FLOAT64:
        return decomposed(tree_ensemble)(op, node)
    trees = forest(attrs)
    rows = _rows(node, trees)
    leaves = [row for row in rows if row.mode == LEAF]
    votes = [trees.votes[row.index][0] for row in leaves]

    def of(kind: int, values: Sequence[Any]) -> TypedList:
        return TypedList(kind, [value.item() if isinstance(value, np.generic) else value for value in values])

    ints, floats = AttributeProto.INTS, AttributeProto.FLOATS
    tracked = [bool(trees.missing_true[row.index]) and row.mode != LEAF for row in rows]
    made = op.call(
        "TreeEnsembleRegressor",
        as_type(op, x, DType.FLOAT32),
        _domain=node.domain,
        nodes_treeids=of(ints, [row.tree for row in rows]),
        nodes_nodeids=of(ints, [row.number for row in rows]),
        nodes_featureids=of(ints, [trees.features[row.index] for row in rows]),
        nodes_modes=of(AttributeProto.STRINGS, [MODES[row.mode] for row in rows]),
        nodes_values=of(floats, [row.split for row in rows]),
        nodes_truenodeids=of(ints, [row.below[0] for row in rows]),
        nodes_falsenodeids=of(ints, [row.below[1] for row in rows]),
        nodes_missing_value_tracks_true=of(ints, [int(tracks) for tracks in tracked]) if any(tracked) else None,
        target_treeids=of(ints, [row.tree for row in leaves]),
        target_nodeids=of(ints, [row.number for row in leaves]),
        target_ids=of(ints, [target for target, _ in votes]),
        target_weights=of(floats, [weight for _, weight in votes]),
        n_targets=int(attribute(node, "n_targets", 0)) or max(target for target, _ in votes) + 1,
        aggregate_function=AGGREGATES[attrs.int("aggregate_function")],
        post_transform=TRANSFORMS[attrs.int("post_transform")],
    )
    return as_type(op, made, kind)


def _no_tensors(*names: str) -> Step:
    """Attributes that hold a tensor came beside lists, for float64."""

    def down(op: StepBuilder, node: Node) -> Made:
        lists: dict[str, Any] = {}
        for name in names:
            if name not in node.attributes:
                continue
            array = node.attributes[name].numpy().reshape(-1)
            floats = array.astype(np.float32)
            if not np.array_equal(floats, array, equal_nan=True):
                raise Unsupported(
                    node, f"{name}, for values that aren't exact in float32, came with version {node.version}"
                )
            lists[name.removesuffix("_as_tensor")] = TypedList(AttributeProto.FLOATS, floats.tolist())
        return changed(node, without=names, **lists) if lists else None

    return Step(same, down)


_TREES = ("base_values_as_tensor", "nodes_hitrates_as_tensor", "nodes_values_as_tensor")
_DROPPED = Step(
    "version 5 of ai.onnx.ml dropped it; a leaf of TreeEnsemble has one vote, and no base value",
    "there is no version 5",
)


ROWS = {
    ("ai.onnx.ml.LabelEncoder", 2): Step(to_pairs, to_positions),
    ("ai.onnx.ml.LabelEncoder", 4): Step(same, to_lists),
    ("ai.onnx.ml.TreeEnsemble", 5): Step("TreeEnsemble came with version 5", to_regressor),
    ("ai.onnx.ml.TreeEnsembleClassifier", 3): _no_tensors(*_TREES, "class_weights_as_tensor"),
    ("ai.onnx.ml.TreeEnsembleRegressor", 3): _no_tensors(*_TREES, "target_weights_as_tensor"),
    ("ai.onnx.ml.TreeEnsembleClassifier", 5): _DROPPED,
    ("ai.onnx.ml.TreeEnsembleRegressor", 5): _DROPPED,
}
