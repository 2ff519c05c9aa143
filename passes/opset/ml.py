"""Operators of ai.onnx.ml."""

from __future__ import annotations

from onnx import AttributeProto

from ..errors import Unsupported
from ..graph import Node
from ..protos import TypedList
from ..types import DType
from .build import StepBuilder
from .steps import Made, Step, changed, given, required, same


def _pairs(op: StepBuilder, node: Node) -> Made:
    """LabelEncoder-1: the position in a list of strings, or the string at a position, as keys and values."""
    words = list(given(node, "classes_strings"))
    positions = TypedList(AttributeProto.INTS, range(len(words)))
    kind = required(node, 0).tensor.dtype
    if kind is None:
        kind = DType.INT64 if "default_string" in node.attributes else DType.STRING
    plain = changed(node, without=("classes_strings",))
    if kind is DType.STRING:
        return changed(plain, without=("default_string",), keys_strings=words, values_int64s=positions)
    return changed(plain, without=("default_int64",), keys_int64s=positions, values_strings=words)


def _one_list(op: StepBuilder, node: Node) -> Made:
    attributes = node.attributes
    for numbers, words in (("keys_int64s", "values_strings"), ("values_int64s", "keys_strings")):
        if (
            numbers in attributes
            and words in attributes
            and list(attributes[numbers]) == list(range(len(attributes[words])))
        ):
            return changed(node, without=(numbers, words), classes_strings=list(attributes[words]))
    raise Unsupported(node, "version 1 knows only strings and their positions")


def _no_tensors(*names: str) -> Step:
    """Attributes that hold a tensor came in place of lists."""

    def down(op: StepBuilder, node: Node) -> Made:
        found = [name for name in names if name in node.attributes]
        if found:
            raise Unsupported(node, f"{found[0]} came with version {node.version}")
        return None

    return Step(same, down)


_TREES = ("base_values_as_tensor", "nodes_hitrates_as_tensor", "nodes_values_as_tensor")
_DROPPED = Step(
    "version 5 of ai.onnx.ml dropped it; a leaf of TreeEnsemble has one vote, and no base value",
    "there is no version 5",
)

ROWS = {
    ("ai.onnx.ml.LabelEncoder", 2): Step(_pairs, _one_list),
    ("ai.onnx.ml.LabelEncoder", 4): _no_tensors("keys_tensor", "values_tensor", "default_tensor"),
    ("ai.onnx.ml.TreeEnsembleClassifier", 3): _no_tensors(*_TREES, "class_weights_as_tensor"),
    ("ai.onnx.ml.TreeEnsembleRegressor", 3): _no_tensors(*_TREES, "target_weights_as_tensor"),
    ("ai.onnx.ml.TreeEnsembleClassifier", 5): _DROPPED,
    ("ai.onnx.ml.TreeEnsembleRegressor", 5): _DROPPED,
}
