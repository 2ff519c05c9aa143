"""Strings, and the classical models of ai.onnx.ml."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.runtime.executor import ExecutionError
from stumps import STUMP

from kernels.one import f32, i64, run_op, same

ML = "ai.onnx.ml"


def words(*values: str) -> np.ndarray:
    return np.array(values, object)


def test_join_broadcasts() -> None:
    got = run_op("StringConcat", words("a", "b").reshape(2, 1), words("x", "yz"))
    assert got.tolist() == [["ax", "ayz"], ["bx", "byz"]]


def test_split_fills_up() -> None:
    """Of "" there are no parts, only blanks are spaces, and the last part ends before those: as ONNX Runtime."""
    parts, counts = run_op("StringSplit", words("a,b,c", "", "d"), outputs=2, delimiter=",")
    assert parts.tolist() == [["a", "b", "c"], ["", "", ""], ["d", "", ""]]
    same(counts, i64(3, 0, 1))
    parts, counts = run_op("StringSplit", words(" a  b ", "", " ", "a\tb \n c "), outputs=2, maxsplit=1)
    assert parts.tolist() == [["a", "b"], ["", ""], ["", ""], ["a\tb", "\n c"]]
    same(counts, i64(2, 0, 0, 2))
    parts, counts = run_op("StringSplit", words(""), outputs=2, delimiter="x", maxsplit=0)
    assert parts.shape == (1, 0)
    same(counts, np.zeros(1, np.int64))


def test_stop_words_are_whole_elements() -> None:
    got = run_op("StringNormalizer", words("Mon", "mon day", "tue"), stopwords=["MON"], case_change_action="UPPER")
    assert got.tolist() == ["MON DAY", "TUE"]
    assert run_op("StringNormalizer", words("x").reshape(1, 1), stopwords=["x"]).tolist() == [[""]]


@pytest.mark.parametrize(
    ("locale", "lower", "upper", "left"),
    [  # ONNX Runtime's with glibc's locales, and LC_ALL=POSIX for ""
        ("en_US", "σασ ß iı ǆ éi", "ΣΑΣ ß İI Ǆ ÉI", [""]),
        ("C", "ΣΑσ ß İı ǅ Éi", "ΣΑσ ß İı ǅ ÉI", ["É", "É"]),
        ("", "ΣΑσ ß İı ǅ Éi", "ΣΑσ ß İı ǅ ÉI", ["É", "É"]),
        ("tr_TR.UTF-8", "σασ ß iı ǆ éı", "ΣΑΣ ß İI Ǆ ÉI", [""]),
    ],
)
def test_letters_of_a_locale(
    locale: str, lower: str, upper: str, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "POSIX")
    for action, expected in (("LOWER", lower), ("UPPER", upper)):
        options = {"case_change_action": action, "is_case_sensitive": 1, "locale": locale}
        assert run_op("StringNormalizer", words("ΣΑσ ß İı ǅ ÉI"), **options).tolist() == [expected]
    kept = run_op("StringNormalizer", words("É", "E", "é", "É"), stopwords=["é", "e"], locale=locale)
    assert kept.tolist() == left


def test_pattern_matches_the_whole() -> None:
    same(run_op("RegexFullMatch", words("ab1", "ab1\n", "²"), pattern=r"\w+"), np.array([True, False, False]))


def test_counted_pairs_of_words() -> None:
    attributes = {"mode": "TF", "min_gram_length": 2, "max_gram_length": 2, "max_skip_count": 1}
    pool = {"ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2, 3], "pool_int64s": [7, 8, 7, 8, 8, 9]}
    got = run_op("TfIdfVectorizer", i64(7, 8, 8, 9), **attributes, **pool)
    same(got, f32(0, 0, 2, 2))


def test_labels_with_nan_and_default() -> None:
    got = run_op(
        "LabelEncoder",
        f32(np.nan, 1, 5),
        domain=ML,
        keys_floats=[1.0, float("nan")],
        values_strings=["one", "none"],
        default_string="?",
    )
    assert got.tolist() == ["none", "one", "?"]


def test_maps_to_rows() -> None:
    values = {3: 0.5, 1: 2.0}
    same(run_op("CastMap", values, domain=ML), f32([[2.0, 0.5]]))
    same(run_op("CastMap", values, domain=ML, map_form="SPARSE", max_map=4), f32([[0, 2.0, 0, 0.5]]))
    same(run_op("DictVectorizer", {"b": 2.5}, domain=ML, string_vocabulary=["a", "b"]), np.array([[0, 2.5]]))
    with pytest.raises(ExecutionError, match="vocabulary"):
        run_op("DictVectorizer", {"z": 1.0}, domain=ML, string_vocabulary=["a"])


def test_rows_to_maps() -> None:
    got = run_op("ZipMap", f32([[0.25, 0.75]]), domain=ML, classlabels_strings=["no", "yes"])
    assert got == [{"no": np.float32(0.25), "yes": np.float32(0.75)}]


def test_normalizer_leaves_zero_rows() -> None:
    same(run_op("Normalizer", f32([[0, 0], [-3, 4]]), domain=ML, norm="L2"), f32([[0, 0], [-0.6, 0.8]]))


LEAVES = {"treeids": [0, 0], "nodeids": [1, 2], "ids": [0, 0]}


def test_tree_regression_with_a_missing_value() -> None:
    leaves = {f"target_{name}": value for name, value in LEAVES.items()}
    given = {**STUMP, **leaves, "target_weights": [10.0, 20.0], "n_targets": 1, "base_values": [1.0]}
    x = f32([[0.5], [0.6], [np.nan]])
    same(run_op("TreeEnsembleRegressor", x, domain=ML, **given), f32([[11], [21], [21]]))
    got = run_op("TreeEnsembleRegressor", x, domain=ML, nodes_missing_value_tracks_true=[1, 0, 0], **given)
    same(got, f32([[11], [21], [11]]))


def test_two_classes_from_one_score() -> None:
    leaves = {f"class_{name}": value for name, value in LEAVES.items()}
    given = {**STUMP, **leaves, "classlabels_int64s": [4, 5]}
    x = f32([[0], [1]])
    labels, scores = run_op("TreeEnsembleClassifier", x, outputs=2, domain=ML, class_weights=[0.2, 0.9], **given)
    same(labels, i64(4, 5))
    np.testing.assert_allclose(scores, [[0.8, 0.2], [0.1, 0.9]], rtol=1e-6)
    labels, scores = run_op("TreeEnsembleClassifier", x, outputs=2, domain=ML, class_weights=[-0.5, 0.25], **given)
    same(labels, i64(4, 5))
    same(scores, f32([[0.5, -0.5], [-0.25, 0.25]]))


def test_pairwise_machines_vote() -> None:
    """Three vectors on a line, one for each class; the pairwise scores are written out."""
    labels, scores = run_op(
        "SVMClassifier",
        f32([[1]]),
        outputs=2,
        domain=ML,
        kernel_type="LINEAR",
        kernel_params=[1.0, 0.0, 1.0],
        support_vectors=[1.0, -1.0, 2.0],
        coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        rho=[0.5, -20.0, 0.0],
        vectors_per_class=[1, 1, 1],
        classlabels_strings=["a", "b", "c"],
    )
    ab, ac, bc = 1 * 1 + 2 * -1 + 0.5, 4 * 1 + 3 * 2 - 20.0, 5 * -1 + 6 * 2
    same(scores, f32([[ab, ac, bc]]))
    assert labels.tolist() == ["b"]


def test_nesterov_looks_ahead() -> None:
    attributes = {"alpha": 0.5, "beta": 1.0, "norm_coefficient": 0.0}
    given = (f32(0.1), i64(1), f32([1]), f32([2]), f32([4]))
    domain = "ai.onnx.preview.training"
    x, v = run_op("Momentum", *given, outputs=2, domain=domain, mode="nesterov", **attributes)
    np.testing.assert_allclose([x[0], v[0]], [1 - 0.1 * (2 + 0.5 * 4), 4], rtol=1e-6)


def test_the_names_of_the_classes_of_no_rows_are_strings() -> None:
    settings = {"coefficients": [1.0, -1.0], "intercepts": [0.0, 0.0], "classlabels_strings": ["a", "b"]}
    best, scores = run_op("LinearClassifier", f32([[1.0]])[:0], outputs=2, domain="ai.onnx.ml", **settings)
    assert (best.dtype, best.shape, scores.shape) == (np.dtype(object), (0,), (0, 2))


def test_a_linear_classifier_takes_no_rows_of_other_widths() -> None:
    settings = {"coefficients": [1.0, -1.0, 2.0, 3.0], "intercepts": [0.5, -0.5], "classlabels_ints": [0, 1]}
    scores = run_op("LinearClassifier", f32([[1, 2]]), outputs=2, domain="ai.onnx.ml", **settings)[1]
    same(scores, f32([[-0.5, 7.5]]))
    for width in (1, 4):
        with pytest.raises(ExecutionError, match="reshape"):
            run_op("LinearClassifier", f32([[1] * width]), outputs=2, domain="ai.onnx.ml", **settings)


@pytest.mark.parametrize("shape", [(2, 1), (2, 2), (1,)])
def test_values_are_those_of_the_features_or_one_for_all(shape: tuple[int, ...]) -> None:
    """ONNX Runtime refuses such a Scaler and takes one number for all of such an Imputer; NumPy makes more features."""
    x, three = np.ones(shape, np.float32), {"offset": [1.0, 2.0, 3.0], "scale": [1.0] * 3}
    some = {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": 1.0}
    for op_type, attributes in (("Scaler", three), ("Imputer", some)):
        with pytest.raises(ExecutionError, match="3 values for the features"):
            run_op(op_type, x, domain="ai.onnx.ml", **attributes)
    for values in ([5.0], [5.0] * shape[-1]):
        given = {"imputed_value_floats": values, "replaced_value_float": 1.0}
        same(run_op("Imputer", x, domain="ai.onnx.ml", **given), np.full(shape, 5, np.float32))
