"""TreeEnsemble of ai.onnx.ml 5 as the TreeEnsembleRegressor that it took the place of.

A node that asks whether a feature is among several values becomes a chain of nodes that ask for one each, what is
below it written out again for each of them. The older operator gives float32: float64 is decomposed instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import AttributeProto

from ..attributes import NodeAttributes
from ..decompose.trees import tree_ensemble
from ..errors import Unsupported
from ..graph import Node
from ..ml_attributes import AGGREGATES, LEAF, MODES, TRANSFORMS, Forest, forest
from ..preconditions import required
from ..protos import TypedList
from ..types import DType
from .build import StepBuilder
from .steps import Made, as_type, attribute, decomposed, dtype

_EQUAL = MODES.index("BRANCH_EQ")
_MOST = 1_000_000  # nodes


@dataclass(slots=True)
class _Row:
    """A node of the older form: what it asks of the feature of `place`, with two rows below it; or a leaf."""

    tree: int
    number: int
    place: int
    mode: int
    split: float
    below: tuple[int, int] = (0, 0)


def _tests(trees: Forest, place: int) -> Sequence[tuple[int, float]]:
    """What a node asks: one comparison, or one for each member, any of which may hold; of no members, for NaN."""
    if place in trees.members:
        return [(_EQUAL, float(value)) for value in (trees.members[place] if len(trees.members[place]) else [np.nan])]
    return [(int(trees.modes[place]), float(trees.splits[place]))]


def _rows(node: Node, trees: Forest) -> list[_Row]:
    rows: list[_Row] = []
    for tree, root in enumerate(trees.roots):
        start = len(rows)
        waiting: list[tuple[int, int, _Row | None, int]] = [(root, 0, None, 0)]
        while waiting:
            place, part, above, side = waiting.pop()
            if len(rows) == _MOST:
                raise Unsupported(node, f"more than {_MOST} nodes, what has several above it written out for each")
            tests = _tests(trees, place)
            row = _Row(tree, len(rows) - start, place, *tests[part])
            rows.append(row)
            if above is not None:
                above.below = (row.number, above.below[1]) if side == 0 else (above.below[0], row.number)
            if row.mode != LEAF:
                more = part + 1 < len(tests)
                waiting.append((place, part + 1, row, 1) if more else (int(trees.when_false[place]), 0, row, 1))
                waiting.append((int(trees.when_true[place]), 0, row, 0))
    return rows


def to_regressor(op: StepBuilder, node: Node) -> Made:
    """TreeEnsemble-5 -> TreeEnsembleRegressor-3."""
    x, attrs = required(node, 0), NodeAttributes(node)
    kind = dtype(node, x)
    if kind is DType.FLOAT64:
        return decomposed(tree_ensemble)(op, node)
    trees = forest(attrs)
    rows = _rows(node, trees)
    leaves = [row for row in rows if row.mode == LEAF]
    votes = [trees.votes[row.place][0] for row in leaves]

    def of(kind: int, values: Sequence[Any]) -> TypedList:
        return TypedList(kind, [value.item() if isinstance(value, np.generic) else value for value in values])

    ints, floats = AttributeProto.INTS, AttributeProto.FLOATS
    tracked = [bool(trees.missing_true[row.place]) and row.mode != LEAF for row in rows]
    made = op.call(
        "TreeEnsembleRegressor",
        as_type(op, x, DType.FLOAT32),
        _domain=node.domain,
        nodes_treeids=of(ints, [row.tree for row in rows]),
        nodes_nodeids=of(ints, [row.number for row in rows]),
        nodes_featureids=of(ints, [trees.features[row.place] for row in rows]),
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
