"""ai.onnx.ml and text through OpenVINO, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from onnx import TensorProto, helper

from .runner import Runner
from .sweep import difference

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(7, 4)).astype(np.float32)
X[2, 1] = np.nan
ROWS = RANDOM.normal(size=(6, 3)).astype(np.float32)
WORDS = np.array(["cat", "", "dög", "horse", "cats", "cat"], object)
NUMBERS = np.array([[3, -1, 7], [0, 3, 5]], np.int64)
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
KINDS = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64, np.dtype(object): STRING}
KINDS |= {np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.int32): TensorProto.INT32}


def model(
    op_type: str, x: Any, outputs: int, version: int, *more: np.ndarray, domain: str, **attributes: Any
) -> onnx.ModelProto:
    names = [f"x{index}" for index in range(1 + len(more))]
    made = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op_type, names, made, domain=domain, **attributes)
    inputs = [
        helper.make_tensor_value_info(name, KINDS[array.dtype], [f"{name}_{axis}" for axis in range(array.ndim)])
        for name, array in zip(names, (x, *more), strict=True)
    ]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name=name) for name in made])
    opsets = [helper.make_opsetid(domain, version)]
    if domain:
        opsets.append(helper.make_opsetid("", 21))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def check(
    openvino: Runner,
    op_type: str,
    *inputs: Any,
    outputs: int = 1,
    version: int = 3,
    domain: str = "ai.onnx.ml",
    **attributes: Any,
) -> None:
    made = model(op_type, inputs[0], outputs, version, *inputs[1:], domain=domain, **attributes)
    feeds = {f"x{index}": array for index, array in enumerate(inputs)}
    wanted = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)
    (found,) = openvino.lowered(raise_graph(read_model(made)), [feeds])
    assert [difference(one, other, 1e-4, 1e-5) for one, other in zip(found, wanted, strict=True)] == [""] * outputs


def tree(depth: int, features: int, modes: list[str], classes: int = 0, tracks: bool = False) -> Any:
    """Two complete trees with splits at random; each leaf votes for a class (or target), the first for two."""
    rng = np.random.default_rng(depth)
    found: dict[str, list[Any]] = {}

    def put(**values: Any) -> None:
        for name, value in values.items():
            found.setdefault(name, []).append(value)

    votes = "class" if classes else "target"
    for number in range(2):
        for node in range(2 ** (depth + 1) - 1):
            leaf = node >= 2**depth - 1
            put(
                nodes_treeids=number,
                nodes_nodeids=node,
                nodes_featureids=0 if leaf else int(rng.integers(features)),
                nodes_modes="LEAF" if leaf else modes[int(rng.integers(len(modes)))],
                nodes_values=float(np.float32(rng.normal())),
                nodes_truenodeids=0 if leaf else 2 * node + 1,
                nodes_falsenodeids=0 if leaf else 2 * node + 2,
                nodes_missing_value_tracks_true=int(tracks and rng.integers(2)),
            )
            for vote in range((2 if node % 3 == 0 else 1) if leaf else 0):
                put(
                    **{
                        f"{votes}_treeids": number,
                        f"{votes}_nodeids": node,
                        f"{votes}_ids": (node + vote) % (classes or 2),
                        f"{votes}_weights": float(np.float32(rng.normal())),
                    }
                )
    return found


ONE_MODE, ALL_MODES = ["BRANCH_LEQ"], ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]

FEATURES = {
    "scaler": ("Scaler", ROWS, {"offset": [1.0, 2.0, -3.0], "scale": [0.5, 2.0, 1.0]}),
    "scaler of integers": ("Scaler", NUMBERS, {"offset": [1.0], "scale": [0.5]}),
    "normalizer max": ("Normalizer", np.abs(ROWS), {"norm": "MAX"}),
    "normalizer l1": ("Normalizer", ROWS, {"norm": "L1"}),
    "normalizer l2 of zeros": ("Normalizer", np.zeros((2, 3), np.float32), {"norm": "L2"}),
    "imputer nan": ("Imputer", X, {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")}),
    "imputer number": ("Imputer", NUMBERS, {"imputed_value_int64s": [9], "replaced_value_int64": 3}),
    "binarizer": ("Binarizer", ROWS, {"threshold": 0.25}),
    "one hot": ("OneHotEncoder", NUMBERS, {"cats_int64s": [3, 0, 5], "zeros": 1}),
    "one hot of words": ("OneHotEncoder", WORDS, {"cats_strings": ["cat", "dög", ""], "zeros": 1}),
    "labels of numbers": (
        "LabelEncoder",
        NUMBERS,
        {"keys_int64s": [3, 5], "values_floats": [0.5, -1.0], "default_float": 9.0},
    ),
    "labels of NaN": (
        "LabelEncoder",
        X,
        {"keys_floats": [float("nan"), float(X[0, 0])], "values_int64s": [5, 6], "default_int64": -7},
    ),
    "labels of words": ("LabelEncoder", WORDS, {"keys_strings": ["cat", ""], "values_int64s": [4, 2]}),
    "labels to words": ("LabelEncoder", NUMBERS, {"keys_int64s": [3, 5], "values_strings": ["drei", "ünf"]}),
    "words to words": (
        "LabelEncoder",
        WORDS,
        {"keys_strings": ["dög", "cats"], "values_strings": ["", "Katzen"], "default_string": "?"},
    ),
    "categories": (
        "CategoryMapper",
        WORDS,
        {"cats_strings": ["cat", "dög"], "cats_int64s": [7, 8], "default_int64": 3},
    ),
    "categories back": (
        "CategoryMapper",
        NUMBERS,
        {"cats_strings": ["cat", "dög"], "cats_int64s": [3, 7], "default_string": "none"},
    ),
}


@pytest.mark.parametrize("name", FEATURES)
def test_features(openvino: Runner, name: str) -> None:
    op_type, x, attributes = FEATURES[name]
    check(openvino, op_type, x, version=4 if name == "labels of NaN" else 3, **attributes)


def test_feature_vectorizer(openvino: Runner) -> None:
    check(openvino, "FeatureVectorizer", ROWS, np.abs(ROWS), inputdimensions=[2, 3], version=1)


LINEAR: Any = {"coefficients": [float(c) for c in RANDOM.normal(size=9)], "intercepts": [0.1, -0.2, 0.3]}
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_linear_models(openvino: Runner, kind: str) -> None:
    check(openvino, "LinearRegressor", ROWS, targets=3, post_transform=kind, version=1, **LINEAR)
    check(
        openvino,
        "LinearClassifier",
        ROWS,
        outputs=2,
        classlabels_ints=[4, 0, 9],
        post_transform=kind,
        version=1,
        **LINEAR,
    )


def test_words_for_classes(openvino: Runner) -> None:
    labels: Any = {"classlabels_strings": ["no", "yes"], "post_transform": "LOGISTIC"}
    weights: Any = {"coefficients": [1.0, -0.5, 2.0], "intercepts": [0.1]}
    check(openvino, "LinearClassifier", ROWS, outputs=2, version=1, **labels, **weights)


KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 1.0, 3.0], "RBF": [0.3, 0.0, 0.0], "SIGMOID": [0.2, 0.1, 0.0]}


@pytest.mark.parametrize("kernel", KERNELS)
def test_support_vectors(openvino: Runner, kernel: str) -> None:
    rng = np.random.default_rng(3)
    vectors = [float(v) for v in rng.normal(size=5 * 3).astype(np.float32)]
    given: Any = {"kernel_type": kernel, "kernel_params": KERNELS[kernel], "support_vectors": vectors, "version": 1}
    weights = [float(v) for v in rng.normal(size=10).astype(np.float32)]
    check(openvino, "SVMRegressor", ROWS, coefficients=weights[:5], rho=[0.25], n_supports=5, **given)
    check(openvino, "SVMRegressor", ROWS, coefficients=weights[:5], rho=[0.1], n_supports=5, one_class=1, **given)
    classes: Any = {"classlabels_ints": [3, 1, 2], "vectors_per_class": [2, 1, 2], "rho": [0.1, -0.2, 0.3]}
    check(openvino, "SVMClassifier", ROWS, outputs=2, coefficients=weights, **classes, **given)


@pytest.mark.parametrize("counts", [[3, 2], [2, 1, 2]], ids=["two", "three"])
def test_probabilities_of_support_vectors(openvino: Runner, counts: list[int]) -> None:
    rng = np.random.default_rng(5)
    pairs = len(counts) * (len(counts) - 1) // 2
    vectors, weights = ([float(v) for v in rng.normal(size=size).astype(np.float32)] for size in (15, 10))
    options: Any = {"kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "support_vectors": vectors, "version": 1}
    options |= {"coefficients": weights[: 5 * (len(counts) - 1)], "vectors_per_class": counts, "rho": [0.1] * pairs}
    chances: Any = {"prob_a": [-2.0, 1.5, -0.5][:pairs], "prob_b": [0.1, -0.3, 0.2][:pairs]}
    check(openvino, "SVMClassifier", ROWS, outputs=2, classlabels_ints=[4, 7, 9][: len(counts)], **options, **chances)


@pytest.mark.parametrize("modes", [ONE_MODE, ALL_MODES], ids=["one", "all"])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_tree_regressors(openvino: Runner, modes: list[str], aggregate: str) -> None:
    check(
        openvino,
        "TreeEnsembleRegressor",
        X,
        n_targets=2,
        aggregate_function=aggregate,
        **tree(3, 4, modes, tracks=True),
    )


@pytest.mark.parametrize("kind", TRANSFORMS)
@pytest.mark.parametrize("labels", [[7, 3, 5], ["a", "b", "ü"]], ids=["numbers", "words"])
def test_tree_classifiers(openvino: Runner, kind: str, labels: list[Any]) -> None:
    names = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    check(
        openvino,
        "TreeEnsembleClassifier",
        X,
        outputs=2,
        post_transform=kind,
        **{names: labels},
        **tree(2, 4, ONE_MODE, classes=3),
    )


@pytest.mark.parametrize("target", [0, 1])
def test_a_tree_that_votes_for_one_of_two(openvino: Runner, target: int) -> None:
    given = tree(2, 4, ONE_MODE, classes=2)
    given["class_ids"] = [target] * len(given["class_ids"])
    check(openvino, "TreeEnsembleClassifier", X, outputs=2, classlabels_int64s=[4, 6], **given)


def test_text(openvino: Runner) -> None:
    options: Any = {"domain": "", "version": 20}
    check(openvino, "StringConcat", WORDS, WORDS[::-1].copy(), **options)
    check(openvino, "Equal", WORDS, np.array([["cat"], ["dög"]], object), **options)
    stop: Any = {"stopwords": ["cat", "horse"], "is_case_sensitive": 1}
    check(openvino, "StringNormalizer", WORDS, **stop, **options)
    check(openvino, "StringNormalizer", np.array(["cat"], object), **stop, **options)
    check(openvino, "StringNormalizer", WORDS, is_case_sensitive=1, **options)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skip", [0, 2])
def test_n_grams(openvino: Runner, mode: str, skip: int) -> None:
    pool = {"ngram_counts": [0, 3], "ngram_indexes": [0, 3, 1, 4, 2], "weights": [0.5, 2.0, 3.0, 0.25, 1.5]}
    lengths = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": skip, "mode": mode}
    options: dict[str, Any] = {"domain": "", "version": 9, **pool, **lengths}
    numbers = np.array([[5, 6, 5, 7, 6], [7, 7, 7, 5, 5]], np.int64)
    check(openvino, "TfIdfVectorizer", numbers, pool_int64s=[5, 6, 7, 5, 6, 7, 7], **options)
    check(openvino, "TfIdfVectorizer", numbers[:, :1].copy(), pool_int64s=[5, 6, 7, 5, 6, 7, 7], **options)
    words = np.array(["a", "bc", "a", "dé", "bc", ""], object)
    check(openvino, "TfIdfVectorizer", words, pool_strings=["a", "dé", "", "a", "bc", "bc", "dé"], **options)


LETTERS = np.array(["Straße ŉ ﬃ", "ΣΑΣ Ωμέγα", "ÀÉÎ", "", "İı", "Ǆ Привет", "𐐨𐐀 漢字 😀", "plain ASCII 123"], object)


@pytest.mark.parametrize(("action", "change"), [("UPPER", str.upper), ("LOWER", str.lower)])
def test_letters(openvino: Runner, action: str, change: Callable[[str], str]) -> None:
    """Each character by itself, as Python has it."""
    options: Any = {"case_change_action": action, "is_case_sensitive": 1}
    made = model("StringNormalizer", LETTERS, 1, 10, domain="", **options)
    ((found,),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": LETTERS}])
    assert found.tolist() == ["".join(map(change, text)) for text in LETTERS]


def test_stopwords_in_any_case(openvino: Runner) -> None:
    words = np.array(["Der", "WÖRTER", "und", "wörter", "UND", "Ende"], object)
    options: Any = {"case_change_action": "UPPER", "is_case_sensitive": 0, "stopwords": ["und", "Wörter"]}
    made = model("StringNormalizer", words, 1, 10, domain="", **options)
    ((found,),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": words}])
    assert found.tolist() == ["DER", "ENDE"]


LINES = np.array(["a,b,,c", "", ",", "  x y  z ", "ünï,çode", " ", "a\u2003b\tc\n"], object)


@pytest.mark.parametrize("delimiter", [",", "", "ï,ç", ", "])
@pytest.mark.parametrize("most", [None, 0, 1, 5])
def test_splitting(openvino: Runner, delimiter: str, most: int | None) -> None:
    """As Python splits."""
    options: Any = {"delimiter": delimiter} | ({} if most is None else {"maxsplit": most})
    made = model("StringSplit", LINES, 2, 20, domain="", **options)
    ((found, counts),) = openvino.lowered(raise_graph(read_model(made)), [{"x0": LINES}])
    wanted = [line.split(delimiter or None, -1 if most is None else most) for line in LINES]
    width = max(map(len, wanted))
    assert found.tolist() == [pieces + [""] * (width - len(pieces)) for pieces in wanted]
    assert counts.tolist() == [len(pieces) for pieces in wanted]


def test_keys_beyond_int32() -> None:
    made = model("LabelEncoder", NUMBERS, 1, 3, domain="ai.onnx.ml", keys_int64s=[2**40], values_int64s=[1])
    with pytest.raises(Unsupported, match="int32"):
        lower_graph(raise_graph(read_model(made)))
