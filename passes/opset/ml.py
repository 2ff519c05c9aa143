"""Operators of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import AttributeProto

from ..errors import Unsupported
from ..graph import Node
from ..protos import TypedList
from .build import StepBuilder
from .labels import to_lists, to_pairs, to_positions
from .steps import Made, Step, changed, same
from .trees import to_regressor


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
                raise Unsupported(node, f"{name}, of what float32 doesn't hold, came with version {node.version}")
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
