"""ai.onnx.ml's operators and n-grams as compositions, against ONNX Runtime on every target that is lowered to."""

from __future__ import annotations

import importlib.util
from statistics import NormalDist
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.runtime.executor import Executor

from .cases import NUMBERS, WORDS, Target, check, model
from .targets import OnXla

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(7, 4)).astype(np.float32)
X[2, 1] = np.nan
ROWS = RANDOM.normal(size=(6, 3)).astype(np.float32)


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
    "scaler of float64": ("Scaler", ROWS.astype(np.float64), {"offset": [1.0, 2.0, -3.0], "scale": [0.5, 2.0, 1.0]}),
    "scaler of integers": ("Scaler", NUMBERS, {"offset": [1.0], "scale": [0.5]}),
    "normalizer max": ("Normalizer", np.abs(ROWS), {"norm": "MAX"}),
    "normalizer l1": ("Normalizer", ROWS, {"norm": "L1"}),
    "normalizer l2 of zeros": ("Normalizer", np.zeros((2, 3), np.float32), {"norm": "L2"}),
    "imputer nan": ("Imputer", X, {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")}),
    "imputer number": ("Imputer", NUMBERS, {"imputed_value_int64s": [9], "replaced_value_int64": 3}),
    "binarizer": ("Binarizer", ROWS, {"threshold": 0.25}),
    "one hot": ("OneHotEncoder", NUMBERS, {"cats_int64s": [3, 0, 5], "zeros": 1}),
    "one hot of floats": (
        "OneHotEncoder",
        np.float32([[0.5, -0.75, 1.0, -1.0, np.nan, 7.5]]),
        {"cats_int64s": [1, 0, -1], "zeros": 1},
    ),
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
def test_features(target: Target, name: str) -> None:
    op_type, x, attributes = FEATURES[name]
    check(target, op_type, x, version=4 if name == "labels of NaN" else 3, **attributes)


def test_a_scaler_of_float64_rounds_at_the_end(target: Target) -> None:
    """Where the offset nearly cancels, float32 has few digits; OpenVINO's CPU computes in float32 all the same."""
    x, options = np.array([[0.1 + 1e-9, 0.1 + 2e-9]]), {"offset": [0.1], "scale": [3.0]}
    made = model("Scaler", x, 1, 3, domain="ai.onnx.ml", open_sizes=target.open_sizes, **options)
    (wanted,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, {"x0": x})
    graph = raise_graph(read_model(made))
    found = [Executor(graph).run({"x0": x})["y0"]]
    if target.exact:
        found += target.run(graph, {"x0": x})
    for one in found:
        assert one.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(one, wanted, rtol=2e-7)


def test_feature_vectorizer(target: Target) -> None:
    check(target, "FeatureVectorizer", ROWS, np.abs(ROWS), inputdimensions=[2, 3], version=1)


def test_columns(target: Target) -> None:
    places = np.array([[2, 0, 2]], np.int64)
    check(target, "ArrayFeatureExtractor", ROWS, places, version=1)
    check(target, "ArrayFeatureExtractor", ROWS[0].copy(), places, version=1)


def test_quantiles_of_the_normal_distribution(target: Target) -> None:
    """ONNX Runtime has them to three digits."""
    chances = np.array([[1e-6, 0.01, 0.07499, 0.0751, 0.3, 0.5, 0.7, 0.99, 0.9999, 0.0, 1.0, -0.5, 1.5]], np.float32).T
    wanted = [NormalDist().inv_cdf(float(chance)) if 0 < chance < 1 else np.nan for chance in chances[:, 0]]
    options: Any = {"coefficients": [1.0], "targets": 1, "post_transform": "PROBIT", "open_sizes": target.open_sizes}
    made = model("LinearRegressor", chances, 1, 1, domain="ai.onnx.ml", **options)
    (found,) = target.run(raise_graph(read_model(made)), {"x0": chances})
    np.testing.assert_allclose(found[:, 0], np.array(wanted, np.float32), rtol=3e-6, atol=1e-6)


def test_trees_of_doubles() -> None:
    """A split between two doubles that are one float."""
    if importlib.util.find_spec("jaxlib") is None:
        pytest.skip("OpenVINO has float32 only")
    x = np.array([[1 + 2.0**-40], [1.0]], np.float64)
    target = OnXla()
    try:
        kind: Any = {"nodes_modes": np.array([0], np.uint8), "nodes_splits": np.array([1.0])}
        leaves: Any = {"leaf_weights": np.array([1.0, 2.0])}
        tensors = {name: onnx.numpy_helper.from_array(array) for name, array in (kind | leaves).items()}
        options: Any = {"n_targets": 1, "tree_roots": [0], "nodes_featureids": [0], "leaf_targetids": [0, 0]}
        sides: Any = {"nodes_truenodeids": [0], "nodes_trueleafs": [1], "nodes_falsenodeids": [1]}
        options |= sides | {"nodes_falseleafs": [1], "aggregate_function": 1, "post_transform": 0}
        check(target, "TreeEnsemble", x, version=5, **tensors, **options)
    finally:
        target.runner.close()


LINEAR: Any = {"coefficients": [float(c) for c in RANDOM.normal(size=9)], "intercepts": [0.1, -0.2, 0.3]}
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_linear_models(target: Target, kind: str) -> None:
    check(target, "LinearRegressor", ROWS, targets=3, post_transform=kind, version=1, **LINEAR)
    check(
        target,
        "LinearClassifier",
        ROWS,
        outputs=2,
        classlabels_ints=[4, 0, 9],
        post_transform=kind,
        version=1,
        **LINEAR,
    )


def test_words_for_classes(target: Target) -> None:
    labels: Any = {"classlabels_strings": ["no", "yes"], "post_transform": "LOGISTIC"}
    weights: Any = {"coefficients": [1.0, -0.5, 2.0], "intercepts": [0.1]}
    check(target, "LinearClassifier", ROWS, outputs=2, version=1, **labels, **weights)


KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 1.0, 3.0], "RBF": [0.3, 0.0, 0.0], "SIGMOID": [0.2, 0.1, 0.0]}


@pytest.mark.parametrize("kernel", KERNELS)
def test_support_vectors(target: Target, kernel: str) -> None:
    rng = np.random.default_rng(3)
    vectors = [float(v) for v in rng.normal(size=5 * 3).astype(np.float32)]
    given: Any = {"kernel_type": kernel, "kernel_params": KERNELS[kernel], "support_vectors": vectors, "version": 1}
    weights = [float(v) for v in rng.normal(size=10).astype(np.float32)]
    check(target, "SVMRegressor", ROWS, coefficients=weights[:5], rho=[0.25], n_supports=5, **given)
    check(target, "SVMRegressor", ROWS, coefficients=weights[:5], rho=[0.1], n_supports=5, one_class=1, **given)
    classes: Any = {"classlabels_ints": [3, 1, 2], "vectors_per_class": [2, 1, 2], "rho": [0.1, -0.2, 0.3]}
    check(target, "SVMClassifier", ROWS, outputs=2, coefficients=weights, **classes, **given)


@pytest.mark.parametrize("counts", [[3, 2], [2, 1, 2]], ids=["two", "three"])
def test_probabilities_of_support_vectors(target: Target, counts: list[int]) -> None:
    rng = np.random.default_rng(5)
    pairs = len(counts) * (len(counts) - 1) // 2
    vectors, weights = ([float(v) for v in rng.normal(size=size).astype(np.float32)] for size in (15, 10))
    options: Any = {"kernel_type": "RBF", "kernel_params": [0.3, 0.0, 0.0], "support_vectors": vectors, "version": 1}
    options |= {"coefficients": weights[: 5 * (len(counts) - 1)], "vectors_per_class": counts, "rho": [0.1] * pairs}
    chances: Any = {"prob_a": [-2.0, 1.5, -0.5][:pairs], "prob_b": [0.1, -0.3, 0.2][:pairs]}
    check(target, "SVMClassifier", ROWS, outputs=2, classlabels_ints=[4, 7, 9][: len(counts)], **options, **chances)


@pytest.mark.parametrize("modes", [ONE_MODE, ALL_MODES], ids=["one", "all"])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_tree_regressors(target: Target, modes: list[str], aggregate: str) -> None:
    check(
        target,
        "TreeEnsembleRegressor",
        X,
        n_targets=2,
        aggregate_function=aggregate,
        **tree(3, 4, modes, tracks=True),
    )


@pytest.mark.parametrize(
    ("kind", "labels"),
    [*((kind, [7, 3, 5]) for kind in TRANSFORMS), ("NONE", ["a", "b", "ü"])],
)
def test_tree_classifiers(target: Target, kind: str, labels: list[Any]) -> None:
    names = "classlabels_strings" if isinstance(labels[0], str) else "classlabels_int64s"
    check(
        target,
        "TreeEnsembleClassifier",
        X,
        outputs=2,
        post_transform=kind,
        **{names: labels},
        **tree(2, 4, ONE_MODE, classes=3),
    )


@pytest.mark.parametrize("vote", [0, 1])
def test_a_tree_that_votes_for_one_of_two(target: Target, vote: int) -> None:
    given = tree(2, 4, ONE_MODE, classes=2)
    given["class_ids"] = [vote] * len(given["class_ids"])
    check(target, "TreeEnsembleClassifier", X, outputs=2, classlabels_int64s=[4, 6], **given)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skip", [0, 2])
def test_n_grams(target: Target, mode: str, skip: int) -> None:
    pool = {"ngram_counts": [0, 3], "ngram_indexes": [0, 3, 1, 4, 2], "weights": [0.5, 2.0, 3.0, 0.25, 1.5]}
    lengths = {"min_gram_length": 1, "max_gram_length": 2, "max_skip_count": skip, "mode": mode}
    options: dict[str, Any] = {"domain": "", "version": 9, **pool, **lengths}
    numbers = np.array([[5, 6, 5, 7, 6], [7, 7, 7, 5, 5]], np.int64)
    check(target, "TfIdfVectorizer", numbers, pool_int64s=[5, 6, 7, 5, 6, 7, 7], **options)
    check(target, "TfIdfVectorizer", numbers[:, :1].copy(), pool_int64s=[5, 6, 7, 5, 6, 7, 7], **options)
    words = np.array(["a", "bc", "a", "dé", "bc", ""], object)
    check(target, "TfIdfVectorizer", words, pool_strings=["a", "dé", "", "a", "bc", "bc", "dé"], **options)
