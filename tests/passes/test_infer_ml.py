"""Types of what ai.onnx.ml's operators give: written down by hand, and what ONNX Runtime's arrays have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.read import read_model
from backedge.passes.infer import infer
from backedge.passes.infer_ml import _RULES
from backedge.passes.types import TensorType
from onnx import TensorProto, helper
from stumps import STUMP

KINDS = {"float": (TensorProto.FLOAT, np.float32), "double": (TensorProto.DOUBLE, np.float64)}
KINDS |= {"int64": (TensorProto.INT64, np.int64), "int32": (TensorProto.INT32, np.int32)}
KINDS |= {"string": (TensorProto.STRING, object)}


@dataclass(frozen=True)
class Row:
    """An operator on a matrix [n, 3] (or `rows` x `columns`), and the types of its outputs."""

    op_type: str
    expected: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    kind: str = "float"
    version: int = 3
    shape: tuple[int, ...] = (2, 3)
    more: np.ndarray | None = None


VOTES = {"class_treeids": [0, 0], "class_nodeids": [1, 2], "class_weights": [1.0, 1.0]}
TARGETS = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 1], "target_weights": [1.0, 2.0]}
SVM = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 3.0]}


def svm(classes: int, **more: Any) -> dict[str, Any]:
    pairs = classes * (classes - 1) // 2
    return {
        **SVM,
        "classlabels_ints": list(range(classes)),
        "vectors_per_class": [1] * classes,
        "support_vectors": [float(item) for item in range(3 * classes)],
        "coefficients": [1.0] * (classes * (classes - 1)),
        "rho": [0.0] * pairs,
        **{name: [value] * pairs for name, value in more.items()},
    }


ROWS = [
    Row("ArrayFeatureExtractor", ["float32[n, 2]"], more=np.array([2, 0])),
    Row("ArrayFeatureExtractor", ["float32[n, 2]"], more=np.array([[2, 0]])),
    Row("ArrayFeatureExtractor", ["string[1, 1]"], kind="string", shape=(3,), more=np.array([1])),
    Row("Binarizer", ["float32[n, 3]"], {"threshold": 0.5}),
    Row("CategoryMapper", ["int64[n, 3]"], {"cats_strings": ["a"], "cats_int64s": [4]}, "string"),
    Row("CategoryMapper", ["string[n, 3]"], {"cats_strings": ["a"], "cats_int64s": [4]}, "int64"),
    Row("FeatureVectorizer", ["float32[n, 5]"], {"inputdimensions": [5]}),
    Row("Imputer", ["int64[n, 3]"], {"imputed_value_int64s": [1], "replaced_value_int64": 0}, "int64"),
    Row("LabelEncoder", ["string[n, 3]"], {"keys_int64s": [1], "values_strings": ["a"]}, "int64"),
    Row("LabelEncoder", ["float32[n, 3]"], {"keys_strings": ["a"], "values_floats": [1.0]}, "string"),
    Row("LabelEncoder", ["int64[n, 3]"], {"classes_strings": ["a"]}, "string", version=1),
    Row(
        "LabelEncoder",
        ["float64[n, 3]"],
        {
            "keys_tensor": helper.make_tensor("k", TensorProto.DOUBLE, [1], [1.0]),
            "values_tensor": helper.make_tensor("v", TensorProto.DOUBLE, [1], [2.0]),
            "default_tensor": helper.make_tensor("d", TensorProto.DOUBLE, [1], [0.0]),
        },
        "double",
        version=4,
    ),
    Row("LinearRegressor", ["float32[n, 2]"], {"coefficients": [1.0] * 6, "targets": 2}),
    Row(
        "LinearClassifier",
        ["int64[n]", "float32[n, 2]"],
        {"coefficients": [1.0] * 3, "intercepts": [0.0], "classlabels_ints": [0, 1]},
    ),
    Row(
        "LinearClassifier",
        ["string[n]", "float32[n, 3]"],
        {"coefficients": [1.0] * 9, "intercepts": [0.0] * 3, "classlabels_strings": ["a", "b", "c"]},
    ),
    Row("Normalizer", ["float32[n, 3]"], {"norm": "L2"}, "double"),
    Row("OneHotEncoder", ["float32[n, 3, 2]"], {"cats_int64s": [0, 1]}, "int64"),
    Row("Scaler", ["float32[n, 3]"], {"offset": [0.0], "scale": [2.0]}, "int64"),
    Row("SVMClassifier", ["int64[n]", "float32[n, 2]"], svm(2)),
    Row("SVMClassifier", ["int64[n]", "float32[n, 6]"], svm(4)),
    Row("SVMClassifier", ["int64[n]", "float32[n, 4]"], svm(4, prob_a=-1.0, prob_b=0.0)),
    Row(
        "SVMRegressor",
        ["float32[n, 1]"],
        {**SVM, "coefficients": [1.0], "support_vectors": [1.0] * 3, "n_supports": 1, "rho": [0.0]},
    ),
    Row(
        "TreeEnsembleClassifier",
        ["string[n]", "float32[n, 2]"],
        {**STUMP, **VOTES, "class_ids": [0, 1], "classlabels_strings": ["a", "b"]},
        version=1,
    ),
    Row(
        "TreeEnsembleClassifier",
        ["int64[n]", "float32[n, 3]"],
        {**STUMP, **VOTES, "class_ids": [0, 2], "classlabels_int64s": [5, 6, 7]},
        "double",
    ),
    Row("TreeEnsembleRegressor", ["float32[n, 2]"], {**STUMP, **TARGETS, "n_targets": 2}),
    Row("TreeEnsembleRegressor", ["float32[n, 2]"], {**STUMP, **TARGETS, "n_targets": 2}, version=1),
    Row(
        "TreeEnsemble",
        ["float64[n, 1]"],
        {
            "n_targets": 1,
            "tree_roots": [0],
            "nodes_featureids": [0],
            "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [1], [0]),
            "nodes_splits": helper.make_tensor("s", TensorProto.DOUBLE, [1], [0.5]),
            "nodes_truenodeids": [0],
            "nodes_trueleafs": [1],
            "nodes_falsenodeids": [1],
            "nodes_falseleafs": [1],
            "leaf_targetids": [0, 0],
            "leaf_weights": helper.make_tensor("w", TensorProto.DOUBLE, [2], [1.0, 2.0]),
        },
        "double",
        version=5,
    ),
    Row("ZipMap", ["seq(map(string, float32[]))"], {"classlabels_strings": ["a", "b", "c"]}),
    Row("ZipMap", ["seq(map(int64, float32[]))"], {"classlabels_int64s": [1, 2, 3]}),
]


def model(row: Row) -> onnx.ModelProto:
    names = ["x"] if row.more is None else ["x", "more"]
    outputs = [f"y{index}" for index in range(len(row.expected))]
    sizes = ["n", *row.shape[1:]] if len(row.shape) > 1 else list(row.shape)
    given = helper.make_tensor_value_info("x", KINDS[row.kind][0], sizes)
    node = helper.make_node(row.op_type, names, outputs, domain="ai.onnx.ml", **row.attributes)
    constants = [] if row.more is None else [onnx.numpy_helper.from_array(row.more, "more")]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph([node], "g", [given], results, constants)
    opsets = [helper.make_opsetid("ai.onnx.ml", row.version), helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.op_type}-{row.version} {row.kind} {row.expected[-1]}")
def test_types(row: Row) -> None:
    made = model(row)
    graph = read_model(made)
    infer(graph)
    assert [str(value.type) for value in graph.outputs] == row.expected
    x = np.full(row.shape, "a", object) if row.kind == "string" else np.zeros(row.shape, KINDS[row.kind][1])
    for value, found in zip(
        graph.outputs, onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x": x}), strict=True
    ):
        if isinstance(value.type, TensorType):
            shape = tuple(row.shape[0] if size == "n" else size for size in value.type.shape or ())
            assert (found.dtype, found.shape) == (value.tensor.dtype and value.tensor.dtype.numpy, shape)


def test_every_operator_has_a_rule() -> None:
    named = {entry.name for entry in onnx.defs.get_all_schemas_with_history() if entry.domain == "ai.onnx.ml"}
    assert named == set(_RULES)


def test_dictionaries() -> None:
    """CastMap and DictVectorizer take what only ZipMap and a model's inputs give."""
    numbers = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    nodes = [
        helper.make_node("CastMap", ["x"], ["dense"], domain="ai.onnx.ml", cast_to="TO_STRING"),
        helper.make_node("CastMap", ["x"], ["sparse"], domain="ai.onnx.ml", map_form="SPARSE", max_map=4),
        helper.make_node("DictVectorizer", ["x"], ["row"], domain="ai.onnx.ml", int64_vocabulary=[3, 1]),
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in ("dense", "sparse", "row")]
    graph = helper.make_graph(nodes, "g", [helper.make_value_info("x", numbers)], outputs)
    found = read_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=10))
    infer(found)
    assert [str(value.type) for value in found.outputs] == ["string[1, ?]", "float32[1, 4]", "float32[1, 2]"]


@pytest.mark.parametrize(
    ("version", "text", "expected"),
    [
        (9, "g (float[a, 2] x, bool[2] c) => (y) { y = Compress <axis = 1> (x, c) }", "float32[?, ?]"),
        (6, "g (double[a, 2] x, double[2] b) => (y) { y = Add <broadcast = 1> (x, b) }", "float64[a, 2]"),
        (18, "g (float16[a, 2, 3] x, float16[2] b) => (y) { y = GroupNormalization <num_groups = 1> (x, b, b) }",
         "float16[a, 2, 3]"),
        (13, "g (float[1, 2, 3, b] x) => (y) { y = MeanVarianceNormalization (x) }", "float32[1, 2, 3, b]"),
        (1, "g (double[a, 2] x) => (y) { y = Reshape <shape = [2, 2]> (x) }", "float64[...]"),
        (12, "g (int64[a] x) => (y) { y = GreaterOrEqual (x, x) }", "bool[a]"),
    ],
)  # fmt: skip
def test_where_onnx_has_no_inference(version: int, text: str, expected: str) -> None:
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {version}]> {text.replace("(y)", "(float y)")}')
    made.graph.output[0].ClearField("type")
    graph = read_model(made)
    infer(graph)
    assert str(graph.outputs[0].type) == expected
