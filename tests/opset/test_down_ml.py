"""ai.onnx.ml at older versions: what a dictionary and a tree give, by hand, run by ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.verify import verify
from onnx import TensorProto, helper
from onnxruntime import InferenceSession

from .harness import f32, i64

DOMAIN = "ai.onnx.ml"
NAN = float("nan")


def model(
    op_type: str, ml: int, x: int, y: int, shapes: tuple[list[Any], list[Any]], **attributes: Any
) -> onnx.ModelProto:
    """One operator x -> y between tensors of these element types and shapes."""
    node = helper.make_node(op_type, ["x"], ["y"], domain=DOMAIN, **attributes)
    given = helper.make_tensor_value_info("x", x, shapes[0])
    made = helper.make_tensor_value_info("y", y, shapes[1])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, ml)]
    return helper.make_model(helper.make_graph([node], "g", [given], [made]), opset_imports=imports, ir_version=10)


def lowered(proto: onnx.ModelProto, target: int) -> Graph:
    return verify(change_opset(read_model(proto), target))


def outputs(proto: onnx.ModelProto, target: int, x: Any) -> Any:
    made = to_model(lowered(proto, target))
    onnx.checker.check_model(made, full_check=True)
    return InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def _tensor(kind: int, *values: Any) -> TensorProto:
    return helper.make_tensor("t", kind, [len(values)], [v.encode() if isinstance(v, str) else v for v in values])


STRINGS = np.array([["b", "a"], ["nobody", ""]], object)
WHOLE = i64([20, -3], [7, 0])
ENCODED = [
    # strings -> short integers, and float64, which no list holds
    (TensorProto.STRING, TensorProto.INT16, STRINGS,
     {"keys_strings": ["a", "b", ""], "values_tensor": _tensor(TensorProto.INT16, 7, -8, 9),
      "default_tensor": _tensor(TensorProto.INT16, 42)}, [[-8, 7], [42, 9]]),
    (TensorProto.STRING, TensorProto.DOUBLE, STRINGS,
     {"keys_tensor": _tensor(TensorProto.STRING, "a", "b"), "values_tensor": _tensor(TensorProto.DOUBLE, 0.1, 1e300),
      "default_tensor": _tensor(TensorProto.DOUBLE, -0.3)}, [[1e300, 0.1], [-0.3, -0.3]]),
    (TensorProto.STRING, TensorProto.STRING, STRINGS,
     {"keys_strings": ["a", "b"], "values_strings": ["A", "B"]}, [["B", "A"], ["_Unused", "_Unused"]]),
    # strings -> positions, which is all that version 1 knows
    (TensorProto.STRING, TensorProto.INT64, STRINGS,
     {"keys_strings": ["a", "b"], "values_int64s": [0, 1]}, [[1, 0], [-1, -1]]),
    # whole numbers that are no positions, and short ones
    (TensorProto.INT64, TensorProto.STRING, WHOLE,
     {"keys_int64s": [-3, 7, 20], "values_strings": ["x", "y", "z"], "default_string": "?"}, [["z", "x"], ["y", "?"]]),
    (TensorProto.INT32, TensorProto.FLOAT, WHOLE.astype(np.int32),
     {"keys_tensor": _tensor(TensorProto.INT32, -3, 20), "values_floats": [0.5, 1.5], "default_float": 9.0},
     [[1.5, 0.5], [9, 9]]),
    (TensorProto.INT64, TensorProto.INT64, WHOLE,
     {"keys_int64s": [20, 0], "values_int64s": [-5, 2**40], "default_int64": 3}, [[-5, 3], [3, 2**40]]),
]  # fmt: skip


@pytest.mark.parametrize("target", [18, 9, 7])
@pytest.mark.parametrize(("given", "made", "x", "attributes", "expected"), ENCODED)
def test_label_encoder(given: int, made: int, x: Any, attributes: dict[str, Any], expected: Any, target: int) -> None:
    proto = model("LabelEncoder", 4, given, made, ([2, 2], [2, 2]), **attributes)
    y = outputs(proto, target, x)
    assert y.dtype == helper.tensor_dtype_to_np_dtype(made)
    assert y.tolist() == expected


def test_cast_spelled_its_target_before_version_6() -> None:
    """ONNX Runtime begins with opset 7."""
    lists = {"keys_strings": ["a", "b"], "values_tensor": _tensor(TensorProto.INT16, 0, 1)}
    lists["default_tensor"] = _tensor(TensorProto.INT16, -1)
    proto = model("LabelEncoder", 4, TensorProto.STRING, TensorProto.INT16, ([2, 2], [2, 2]), **lists)
    made = to_model(lowered(proto, 5))
    onnx.checker.check_model(made, full_check=True)
    (cast,) = [node for node in made.graph.node if node.op_type == "Cast"]
    assert cast.attribute[0].s == b"INT16"


def test_one_key_for_every_nan_and_for_both_zeros() -> None:
    """Version 2 compares bits."""
    odd = np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    x = np.concatenate([odd, f32(0.0, -0.0, 2.0)])
    attributes = {"keys_floats": [NAN, 0.0], "values_int64s": [5, 6], "default_int64": 7}
    proto = model("LabelEncoder", 4, TensorProto.FLOAT, TensorProto.INT64, ([5], [5]), **attributes)
    assert outputs(proto, 18, x).tolist() == [5, 5, 6, 6, 7]
    assert outputs(proto, 9, x).tolist() == [5, 5, 6, 6, 7]


@pytest.mark.parametrize("key", [NAN, 1.0])
def test_a_key_stated_twice(key: float) -> None:
    attributes = {"keys_floats": [key, key], "values_tensor": _tensor(TensorProto.DOUBLE, 0.2, 0.1)}
    proto = model("LabelEncoder", 4, TensorProto.FLOAT, TensorProto.DOUBLE, ([3], [3]), **attributes)
    assert outputs(proto, 18, f32(NAN, 1, 2)).tolist() == ([0.1, 0, 0] if key != key else [0, 0.1, 0])


def test_the_last_of_two_equal_keys_counts() -> None:
    attributes = {"keys_tensor": _tensor(TensorProto.INT64, 1, 2, 1), "values_int64s": [5, 6, 7]}
    proto = model("LabelEncoder", 4, TensorProto.INT64, TensorProto.INT64, ([3], [3]), **attributes)
    assert outputs(proto, 18, i64(1, 2, 3)).tolist() == [7, 6, -1]


@pytest.mark.parametrize("target", [18, 9, 7])
@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (TensorProto.DOUBLE, {"keys_tensor": _tensor(TensorProto.DOUBLE, 0.1)}),
        (TensorProto.FLOAT, {"keys_floats": [0.1]}),
    ],
)
def test_keys_that_no_older_encoder_has(kind: int, keys: dict[str, Any], target: int) -> None:
    proto = model("LabelEncoder", 4, kind, TensorProto.INT64, ([3], [3]), **keys, values_int64s=[7])
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    x = np.array([0.1, np.nextafter(dtype.type(0.1), dtype.type(1)), NAN], dtype)
    assert outputs(proto, target, x).tolist() == [7, -1, -1]


# trees: x[0] <= 1 ? (x[1] is one of 3, 5 ? leaf 0 : leaf 1) : leaf 2, and a tree that is a leaf
FOREST = {
    "tree_roots": [0, 2],
    "nodes_featureids": [0, 1, 0],
    "nodes_truenodeids": [1, 0, 3],
    "nodes_trueleafs": [0, 1, 1],
    "nodes_falsenodeids": [2, 1, 3],
    "nodes_falseleafs": [1, 1, 1],
    "leaf_targetids": [0, 1, 0, 1],
    "n_targets": 2,
}
ROWS = [[0, 3], [1, 5], [0, 4], [2, 3], [NAN, 3], [1, NAN]]
# the leaves that the first tree gives these rows; where NaN takes the true branch, the last two end elsewhere
LEAVES = {False: [0, 0, 1, 2, 2, 1], True: [0, 0, 1, 2, 0, 0]}
WEIGHTS = [1.1, 20.0, 300.0, 0.25]


def forest(kind: int, missing: bool = False, **attributes: Any) -> onnx.ModelProto:
    said = {
        **FOREST,
        "nodes_modes": _tensor(TensorProto.UINT8, 0, 6, 0),
        "nodes_splits": _tensor(kind, 1.0, 0.0, 0.0),
        "membership_values": _tensor(kind, 3.0, 5.0, NAN),
        "leaf_weights": _tensor(kind, *WEIGHTS),
        "nodes_missing_value_tracks_true": [int(missing)] * 3,
        **attributes,
    }
    return model("TreeEnsemble", 5, kind, kind, (["n", 2], ["n", 2]), **said)


def _summed(missing: bool, dtype: Any) -> np.ndarray[Any, Any]:
    made = np.zeros((6, 2))
    for row, leaf in enumerate(LEAVES[missing]):
        made[row, FOREST["leaf_targetids"][leaf]] += WEIGHTS[leaf]
        made[row, 1] += WEIGHTS[3]
    return made.astype(dtype)


@pytest.mark.parametrize("target", [18, 9, 7])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_forest(kind: int, missing: bool, target: int) -> None:
    """1.1 as float64 comes out as that, though the older operator gives float32."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    y = outputs(forest(kind, missing), target, np.array(ROWS, dtype))
    np.testing.assert_allclose(y, _summed(missing, dtype), rtol=1e-15 if dtype == np.float64 else 1e-6, strict=True)


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_forest_of_means_and_logistic(kind: int) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    y = outputs(forest(kind, aggregate_function=0, post_transform=2), 18, np.array(ROWS[:4], dtype))
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-_summed(False, np.float64)[:4] / 2)), rtol=1e-6)


@pytest.mark.parametrize("mode", range(6))
def test_every_comparison_in_float64(mode: int) -> None:
    """A threshold that float32 doesn't hold, the number below it, it, the one above, and what has no order."""
    split = 0.1
    x = np.array([[np.nextafter(split, 0)], [split], [np.nextafter(split, 1)], [NAN], [np.inf], [-np.inf]])
    compare = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal][mode]
    proto = model(
        "TreeEnsemble", 5, TensorProto.DOUBLE, TensorProto.DOUBLE, (["n", 1], ["n", 1]),
        tree_roots=[0], nodes_featureids=[0], nodes_truenodeids=[0], nodes_trueleafs=[1], nodes_falsenodeids=[1],
        nodes_falseleafs=[1], leaf_targetids=[0, 0], n_targets=1, nodes_modes=_tensor(TensorProto.UINT8, mode),
        nodes_splits=_tensor(TensorProto.DOUBLE, split), leaf_weights=_tensor(TensorProto.DOUBLE, 1.0, 0.0),
    )  # fmt: skip
    np.testing.assert_array_equal(outputs(proto, 9, x), compare(x, split).astype(np.float64))


@pytest.mark.parametrize("target", [18, 9])
def test_forest_of_softmax_in_float64(target: int) -> None:
    y = outputs(forest(TensorProto.DOUBLE, post_transform=1), target, np.array(ROWS))
    weights = np.exp(_summed(False, np.float64) - _summed(False, np.float64).max(1, keepdims=True))
    np.testing.assert_allclose(y, weights / weights.sum(1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("target", [18, 9])
def test_forest_of_minima_in_float64(target: int) -> None:
    """Target 0 gets no vote where the first tree's leaf is another target's: 0, then."""
    y = outputs(forest(TensorProto.DOUBLE, aggregate_function=2), target, np.array(ROWS))
    expected = [[WEIGHTS[leaf] if FOREST["leaf_targetids"][leaf] == 0 else 0, 0.25] for leaf in LEAVES[False]]
    np.testing.assert_array_equal(y, np.array(expected))


def _regressor(split: float) -> onnx.ModelProto:
    """x <= split ? 1.5 : -2, its numbers in tensors of float64."""
    return model(
        "TreeEnsembleRegressor", 3, TensorProto.DOUBLE, TensorProto.FLOAT, (["n", 1], ["n", 1]), n_targets=1,
        nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2], nodes_featureids=[0] * 3, nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], target_treeids=[0, 0],
        target_nodeids=[1, 2], target_ids=[0, 0], target_weights_as_tensor=_tensor(TensorProto.DOUBLE, 1.5, -2.0),
        nodes_values_as_tensor=_tensor(TensorProto.DOUBLE, split, 0.0, 0.0),
    )  # fmt: skip


def test_tensors_of_what_float32_holds_become_lists() -> None:
    x = np.array([[0.5], [np.nextafter(0.5, 1)], [-1.0]])
    np.testing.assert_array_equal(outputs(_regressor(0.5), 9, x), f32([1.5], [-2], [1.5]), strict=True)
    with pytest.raises(
        Unsupported, match="nodes_values_as_tensor, for values that aren't exact in float32, came with version 3"
    ):
        lowered(_regressor(0.1), 9)
