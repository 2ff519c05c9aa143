"""Down: TopK, Unique, NonMaxSuppression. Expected values by hand, or by NumPy's stable sort and its unique."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.passes.errors import Unsupported

from .harness import checked, converted, down, f32, i64, operators, parse
from .lowered import lowered

Array = np.ndarray[Any, Any]


# TopK --------------------------------------------------------------------------------------------


def ordered(x: Array, k: int, axis: int, largest: int) -> tuple[Array, Array]:
    """Equal elements stay in the order in which they stand."""
    wide = x.astype(object) if x.dtype.kind in "iu" else x
    indices = np.argsort(-wide if largest else wide, axis=axis, kind="stable").take(range(k), axis)
    return np.take_along_axis(x, indices, axis), indices


ROWS = np.array([[3, 1, 3, 2], [0, 0, 1, 0]])
EXTREMES = np.array([[-(2**63), 2**63 - 1, 2**63 - 2, -(2**63)]])


@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("shape", ["2, 4", "a, b"])
@pytest.mark.parametrize("largest", [1, 0])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("kind", ["float", "int64", "uint8"])
def test_top_of_equals(target: int, known: bool, shape: str, largest: int, axis: int, kind: str) -> None:
    x = ROWS.astype({"float": np.float32, "double": np.float64}.get(kind, kind))
    given, constant = ("", "<int64[1] k = {2}>") if known else (", int64[1] k", "")
    text = f"""({kind}[{shape}] x{given}) => ({kind}[p, q] v, int64[p, q] i) {constant} {{
        v, i = TopK <axis = {axis}, largest = {largest}> (x, k)
    }}"""
    values, indices = lowered(text, 11, target, x, *([] if known else [i64(2)]))
    expected = ordered(x, 2, axis, largest)
    assert (values.dtype, indices.dtype) == (x.dtype, np.int64)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("largest", [1, 0])
@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_top_of_numbers_that_no_float_holds(largest: int, kind: str) -> None:
    x = EXTREMES.astype(kind) if kind == "int64" else (EXTREMES.astype(np.uint64) + np.uint64(2**63))
    text = f"""({kind}[1, 4] x, int64[1] k) => ({kind}[1, q] v, int64[1, q] i) {{
        v, i = TopK <largest = {largest}> (x, k)
    }}"""
    values, indices = lowered(text, 11, 9, x, i64(4))
    assert indices.tolist() == [[1, 2, 0, 3] if largest else [0, 3, 2, 1]]
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices, 1))


def test_top_of_infinities() -> None:
    text = """(float[4] x) => (float[3] v, int64[3] i) <int64[1] k = {3}> {
        v, i = TopK <largest = 0, sorted = 0> (x, k)
    }"""
    values, indices = lowered(text, 11, 10, f32(np.inf, 0, -np.inf, -0.0))
    assert (values.tolist(), indices.tolist()) == ([-np.inf, 0, 0], [2, 1, 3])


def test_a_known_number_of_the_largest_is_one_operator() -> None:
    text = "(float[3] x) => (float[2] v, int64[2] i) <int64[1] k = {2}> { v, i = TopK (x, k) }"
    assert operators(converted(parse(text, 24), 9)) == [("TopK", 1)]


@pytest.mark.parametrize("target", [9, 8, 7])
def test_none_of_the_largest(target: int) -> None:
    """TopK-1 takes no 0. Of two rows, of none, and of rows of none."""
    text = "(float[n, 3] x) => (float[n, 0] v, int64[n, 0] i) <int64[1] k = {0}> { v, i = TopK (x, k) }"
    for rows in (2, 0):
        values, indices = down(text, 24, target, np.ones((rows, 3), np.float32))
        assert (values.shape, indices.shape, values.dtype, indices.dtype) == (
            (rows, 0),
            (rows, 0),
            np.float32,
            np.int64,
        )
    text = "(float[n, 0] x, int64[1] k) => (float[n, m] v, int64[n, m] i) { v, i = TopK (x, k) }"
    values, indices = down(text, 24, target, np.ones((2, 0), np.float32), i64(0))
    assert values.shape == indices.shape == (2, 0)


# Unique ------------------------------------------------------------------------------------------

UNIQUE = """({kind}[{shape}] x) => ({kind}[{result}] y, int64[p] i, int64[q] j, int64[r] c) {{
    y, i, j, c = Unique <sorted = {sort}{axis}> (x)
}}"""


def unique(x: Array, sort: bool, axis: int | None) -> list[Array]:
    values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    if sort:
        return [values, first, inverse.reshape(-1), counts]
    order = np.argsort(first)
    ranks = np.argsort(order)
    return [values.take(order, axis or 0), first[order], ranks[inverse.reshape(-1)], counts[order]]


CASES = {
    "flat": (np.array([[2, 1, 1], [3, -4, 3]]), None),
    "one": (np.array([7]), None),
    "equal": (np.array([5, 5, 5]), 0),
    "rows": (np.array([[1, 0, 0], [0, 9, 9], [1, 0, 0], [1, 0, -1]]), 0),
    "columns": (np.array([[1, 0, 1, 1], [2, 5, 2, 1]]), -1),
    "matrices": (np.array([[[1, 1], [0, 1], [2, 1], [0, 1]], [[1, 1], [0, 1], [2, 1], [0, 1]]]), 1),
}


@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("kind", ["float", "uint8"])
@pytest.mark.parametrize("case", list(CASES))
def test_unique(target: int, static: bool, sort: bool, kind: str, case: str) -> None:
    array, axis = CASES[case]
    x = (array + 4 if kind == "uint8" else array).astype({"float": np.float32}.get(kind, kind))
    shape = ", ".join(str(size) if static else f"d{place}" for place, size in enumerate(x.shape))
    expected = unique(x, sort, axis)
    result = ", ".join(f"e{place}" for place in range(expected[0].ndim))
    said = "" if axis is None else f", axis = {axis}"
    made = lowered(UNIQUE.format(kind=kind, shape=shape, result=result, sort=int(sort), axis=said), 11, target, x)
    assert made[0].dtype == x.dtype
    for part, wanted in zip(made, expected, strict=True):
        np.testing.assert_array_equal(part, wanted)


@pytest.mark.parametrize("shape", ["0, 5", "n, m"])
@pytest.mark.parametrize("sort", [True, False])
def test_unique_of_parts_without_elements(shape: str, sort: bool) -> None:
    """All of them are equal, as for ONNX Runtime."""
    text = UNIQUE.format(kind="float", shape=shape, result="k, l", sort=int(sort), axis=", axis = 1")
    x = np.zeros((0, 5), np.float32)
    model = checked(parse(text, 13))
    expected = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    assert [part.shape for part in expected] == [(0, 1), (1,), (5,), (1,)]
    for part, wanted in zip(lowered(text, 13, 10, x), expected, strict=True):
        np.testing.assert_array_equal(part, wanted)


def test_unique_of_bools_and_of_what_is_no_number() -> None:
    text = UNIQUE.format(kind="bool", shape="3", result="n", sort=1, axis="")
    assert [part.tolist() for part in lowered(text, 11, 9, np.array([True, False, True]))] == [
        [False, True],
        [1, 0],
        [1, 0, 1],
        [1, 2],
    ]
    text = UNIQUE.format(kind="float", shape="6", result="n", sort=1, axis="")
    x = f32(np.nan, np.inf, -0.0, np.nan, 0.0, -np.inf)
    values, first, inverse, counts = lowered(text, 11, 9, x)
    np.testing.assert_array_equal(values, f32(-np.inf, 0, np.inf, np.nan))
    assert first.tolist() == [5, 2, 1, 0]
    assert inverse.tolist() == [3, 2, 1, 3, 1, 0]
    assert counts.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("sort", [0, 1])
def test_unique_of_nothing(sort: int) -> None:
    text = UNIQUE.format(kind="float", shape="a", result="n", sort=sort, axis="")
    assert [part.tolist() for part in lowered(text, 11, 9, np.zeros(0, np.float32))] == [[], [], [], []]


def test_unique_that_is_refused() -> None:
    text = UNIQUE.format(kind="string", shape="3", result="n", sort=0, axis="")
    with pytest.raises(Unsupported, match="strings can't be sorted"):
        converted(parse(text, 11), 10)
    text = UNIQUE.format(kind="float", shape="20000", result="n", sort=1, axis="")
    with pytest.raises(Unsupported, match="20000 elements are too many"):
        converted(parse(text, 11), 10)


# NonMaxSuppression -------------------------------------------------------------------------------

BOXES = f32([0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1], [0, 100, 1, 101])
SCORES = f32(0.9, 0.75, 0.6, 0.95, 0.5, 0.3)
SUPPRESS = """(float[{b}, {n}, 4] x, float[{b}, {c}, {n}] s, int64[1] m, float[1] o, float[1] t) => (int64[k, 3] y) {{
    y = NonMaxSuppression <center_point_box = {center}> (x, s, m, o{t})
}}"""


def suppressed(boxes: Array, scores: Array, most: int, over: float, least: float | None, **options: Any) -> list[Any]:
    """The chosen boxes at opset 9; runs sizes that are known, then sizes that aren't."""
    made: list[list[Any]] = []
    for sizes in ({"b": boxes.shape[0], "n": boxes.shape[1], "c": scores.shape[1]}, {"b": "b", "n": "n", "c": "c"}):
        text = SUPPRESS.format(center=options.get("center", 0), t="" if least is None else ", t", **sizes)
        inputs = boxes, scores, i64(most), f32(over), f32(least or 0)
        made.append(lowered(text, 10, 9, *inputs)[0].tolist())
    assert made[0] == made[1]
    return made[0]


def test_overlapping_boxes_are_left_out() -> None:
    assert suppressed(BOXES[None], SCORES[None, None], 3, 0.5, 0.0) == [[0, 0, 3], [0, 0, 0], [0, 0, 5]]


def test_scores_below_the_least() -> None:
    assert suppressed(BOXES[None], SCORES[None, None], 3, 0.5, 0.4) == [[0, 0, 3], [0, 0, 0]]
    assert suppressed(BOXES[None], SCORES[None, None], 3, 0.5, 0.95) == []


@pytest.mark.parametrize("most", [0, 1, 100])
def test_no_more_than_wanted(most: int) -> None:
    assert len(suppressed(BOXES[None], SCORES[None, None], most, 0.5, None)) == min(most, 3)


def test_batches_and_classes_in_order() -> None:
    boxes = np.stack([BOXES, BOXES[::-1]])
    scores = np.stack([np.stack([SCORES, -SCORES]), np.stack([SCORES, SCORES * 0])])
    made = suppressed(boxes, scores, 2, 0.5, None)
    assert made[:4] == [[0, 0, 3], [0, 0, 0], [0, 1, 5], [0, 1, 4]]
    assert made[4:] == [[1, 0, 3], [1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_equal_scores_come_in_order_and_the_lowest_are_boxes_too() -> None:
    apart = f32([0, 0, 1, 1], [0, 2, 1, 3], [0, 4, 1, 5])
    assert suppressed(apart[None], f32([[1, 1, 1]]), 3, 0.5, None) == [[0, 0, 0], [0, 0, 1], [0, 0, 2]]
    assert suppressed(apart[None], f32([[-np.inf, 0, -np.inf]]), 3, 0.5, None) == [[0, 0, 1], [0, 0, 0], [0, 0, 2]]


def test_an_overlap_of_just_the_threshold_is_kept() -> None:
    """Halves of each other: the part in common is half of both together."""
    boxes = f32([0, 0, 1, 2], [0, 0, 1, 1])
    assert suppressed(boxes[None], f32([[2, 1]]), 2, 0.5, None) == [[0, 0, 0], [0, 0, 1]]
    assert suppressed(boxes[None], f32([[2, 1]]), 2, 0.49, None) == [[0, 0, 0]]


def test_boxes_given_by_their_centers() -> None:
    boxes = f32([0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [0.5, 10.5, 1, 1])
    assert suppressed(boxes[None], f32([[1, 2, 0]]), 3, 0.5, None, center=1) == [[0, 0, 1], [0, 0, 2]]


def test_boxes_without_area_overlap_nothing() -> None:
    boxes = f32([0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 1])
    assert suppressed(boxes[None], f32([[3, 2, 1]]), 3, 0.0, None) == [[0, 0, 0], [0, 0, 1], [0, 0, 2]]


def test_no_boxes() -> None:
    assert suppressed(np.zeros((1, 0, 4), np.float32), np.zeros((1, 2, 0), np.float32), 3, 0.5, None) == []


def test_no_number_of_boxes_is_none() -> None:
    text = "(float[1, 2, 4] x, float[1, 1, 2] s) => (int64[n, 3] y) { y = NonMaxSuppression (x, s) }"
    made = lowered(text, 11, 9, np.zeros((1, 2, 4), np.float32), np.zeros((1, 1, 2), np.float32))[0]
    assert made.shape == (0, 3)
