"""Down: elements by their indices. Expected values by NumPy's indexing or by hand; run by ONNX's reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.passes.errors import Unsupported

from .harness import checked, converted, down, f32, i64, operators, parse
from .lowered import lowered

Array = np.ndarray[Any, Any]
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


# GatherElements ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [10, 9, 8, 7])
@pytest.mark.parametrize("shape", ["2, 3, 4", "a, b, c"])
@pytest.mark.parametrize(
    ("axis", "indices"),
    [
        (0, [[[1, -1], [0, -2]]]),
        (1, [[[2, -3, 0, 1], [0, 0, -1, -2]]]),
        (-1, [[[-4, 3, 0, 0, -1]], [[1, 1, 1, 1, 2]]]),
    ],
)
def test_elements_by_places(target: int, shape: str, axis: int, indices: list[Any]) -> None:
    """The indices may be of fewer places than the data, along every axis but their own."""
    text = f"(float[{shape}] x, int64[p, q, r] i) => (float[s, t, u] y) {{ y = GatherElements <axis = {axis}> (x, i) }}"
    places = i64(*indices)
    part = X[tuple(slice(None) if a == axis % 3 else slice(n) for a, n in enumerate(places.shape))]
    expected = np.take_along_axis(part, places, axis)
    made = down(text, 11, target, X, places)[0]
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("kind", ["string", "bool", "double", "uint8"])
def test_elements_of_any_type(kind: str) -> None:
    text = f"({kind}[3] x, int32[4] i) => ({kind}[4] y) {{ y = GatherElements (x, i) }}"
    dtype = {"string": object, "double": np.float64}.get(kind, kind)
    x = np.array(["a", "b", "c"] if kind == "string" else [1, 0, 1]).astype(dtype)
    made = down(text, 13, 9, x, np.array([-1, 0, 1, -3], np.int32))[0]
    assert made.tolist() == [x[2], x[0], x[1], x[0]]


def test_no_elements() -> None:
    text = "(float[a, 3] x, int64[b, 3] i) => (float[b, 3] y) { y = GatherElements (x, i) }"
    made = down(text, 11, 9, np.zeros((2, 3), np.float32), np.zeros((0, 3), np.int64))[0]
    assert made.shape == (0, 3)


@pytest.mark.parametrize("target", [10, 8, 7])
@pytest.mark.parametrize(("operator", "opset"), [("Gather", 13), ("GatherElements", 13)])
@pytest.mark.parametrize(("rows", "indices"), [(0, []), (3, []), (3, [-1, 2, -3])])
def test_indices_of_an_axis_without_elements(
    target: int, operator: str, opset: int, rows: int, indices: list[int]
) -> None:
    """Indices that may count from the back need the axis' size, by which nothing may divide where it is 0."""
    text = f"(float[n] x, int64[k] i) => (float[k] y) {{ y = {operator} (x, i) }}"
    x = np.arange(rows, dtype=np.float32)
    (made,) = lowered(text, opset, target, x, np.array(indices, np.int64))
    np.testing.assert_array_equal(made, x[indices] if indices else np.zeros(0, np.float32))


def test_known_places_are_written_out() -> None:
    text = """(float[2, 2] x) => (float[2, 2] y) <int64[2, 2] i = {-1, 0, 1, -2}> {
        y = GatherElements <axis = 1> (x, i)
    }"""
    graph = converted(parse(text, 11), 9)
    assert [name for name, _ in operators(graph)] == ["Reshape", "Gather"]
    assert down(text, 11, 9, f32([1, 2], [3, 4]))[0].tolist() == [[2, 1], [4, 3]]


def test_elements_of_an_unknown_rank() -> None:
    text = "(float[2] x, int64[2] i) => (float[2] y) { y = GatherElements (x, i) }"
    graph = parse(text, 11)
    for value in (*graph.inputs, *graph.outputs):
        value.type = type(value.tensor)(value.tensor.dtype, None)
    with pytest.raises(Unsupported, match="the rank of 'x' isn't known"):
        converted(graph, 9)


# Gather, GatherND --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [10, 9, 8, 7])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", ["2, 3, 4", "a, b, c"])
def test_gather_from_the_back(target: int, axis: int, shape: str) -> None:
    text = f"(float[{shape}] x, int32[2] i) => (float[p, q, r] y) {{ y = Gather <axis = {axis}> (x, i) }}"
    made = down(text, 11, target, X, np.array([-2, 1], np.int32))[0]
    np.testing.assert_array_equal(made, np.take(X, [-2, 1], axis))


@pytest.mark.parametrize("target", [11, 10, 9, 8])
@pytest.mark.parametrize("shape", ["2, 3, 4", "a, b, c"])
@pytest.mark.parametrize(
    ("batch", "indices", "expected"),
    [
        (0, i64([1], [-2]), lambda x: x[[1, 0]]),
        (0, i64([1, -1], [-2, 0]), lambda x: x[[1, 0], [2, 0]]),
        (0, i64([[1, -1, 3]], [[0, 2, -4]]), lambda x: x[[[1], [0]], [[2], [2]], [[3], [0]]]),
        (0, i64(1, -1), lambda x: x[1, 2]),
        (1, i64([-1], [1]), lambda x: np.stack([x[0, 2], x[1, 1]])),
        (
            1,
            i64([[-1, 3], [0, 0]], [[1, -4], [2, 1]]),
            lambda x: np.stack([x[0, [2, 0], [3, 0]], x[1, [1, 2], [0, 1]]]),
        ),
        (
            2,
            i64([[0], [-1], [2]], [[1], [1], [-4]]),
            lambda x: np.array([[x[0, 0, 0], x[0, 1, 3], x[0, 2, 2]], [x[1, 0, 1], x[1, 1, 1], x[1, 2, 0]]]),
        ),
    ],
)
def test_gather_by_tuples(
    target: int, shape: str, batch: int, indices: Array, expected: Callable[[Array], Array]
) -> None:
    wanted = expected(X)
    result = f"float[{', '.join(str(size) for size in wanted.shape)}]"
    names = iter("nmk")
    sizes = ", ".join([*(next(names) for _ in indices.shape[:-1]), str(indices.shape[-1])])
    text = f"(float[{shape}] x, int64[{sizes}] i) => ({result} y) {{ y = GatherND <batch_dims = {batch}> (x, i) }}"
    np.testing.assert_array_equal(lowered(text, 12, target, X, indices)[0], wanted)


def test_tuples_of_unknown_length() -> None:
    text = "(float[2, 3] x, int64[2, n] i) => (float[2] y) { y = GatherND (x, i) }"
    with pytest.raises(Unsupported, match="the number of indices for each element"):
        converted(parse(text, 12), 9)


# ReverseSequence ---------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [9, 8])
@pytest.mark.parametrize("time", [0, 1])
@pytest.mark.parametrize("shape", ["3, 3", "a, b"])
@pytest.mark.parametrize("depth", [0, 2])
def test_reverse_sequences(target: int, time: int, shape: str, depth: int) -> None:
    """A sequence of length 0 or 1 stays as it is."""
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    expected = np.array([[0, 1, 2], [4, 3, 5], [8, 7, 6]], np.float32)
    lengths, inner = i64(1, 2, 3), ""
    if time == 0:
        x, expected = x.T.copy(), expected.T.copy()
    if depth:
        inner = f", {depth}"
        x, expected = np.stack([x, -x], -1), np.stack([expected, -expected], -1)
    attributes = f"time_axis = {time}, batch_axis = {1 - time}"
    text = f"""(float[{shape}{inner}] x, int64[3] n) => (float[p, q{inner}] y) {{
        y = ReverseSequence <{attributes}> (x, n)
    }}"""
    np.testing.assert_array_equal(lowered(text, 10, target, x, lengths)[0], expected)


@pytest.mark.parametrize("shape", [(3, 3, 2, 0), (3, 3, 0, 2), (3, 3, 0, 0), (3, 0, 0, 4), (3, 3, 2, 2)])
def test_sizes_that_turn_out_to_be_0(shape: tuple[int, ...]) -> None:
    """Before version 14 a Reshape takes a size of 0 for another axis's."""
    text = """(float[3, a, b, c] x, int64[n] l) => (float[3, p, q, r] y) {
        y = ReverseSequence <time_axis = 0, batch_axis = 1> (x, l) }"""
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = lowered(text, 10, 9, x, np.full(shape[1], 3))[0]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, x[::-1])


# OneHot, Compress, Where -------------------------------------------------------------------------


@pytest.mark.parametrize("target", [10, 9, 8, 7])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_one_hot(target: int, axis: int) -> None:
    """-1 is the last of three. Below 9, where it is taken apart, values may be infinite, and 3 and -4 are nowhere.

    The reference counts on behind the last place, and adds and multiplies the values.
    """
    (off, on), nowhere = ((np.inf, np.nan), (3, -4)) if target < 9 else ((5, 7), (0, 0))
    text = (
        f"""(int64[5] i, float[2] v) => (float[p, q] y) <int64 n = {{3}}> {{ y = OneHot <axis = {axis}> (i, n, v) }}"""
    )
    expected = np.full((5, 3), off, np.float32)
    expected[[0, 1, 2], [0, 2, 1]] = on
    if target >= 9:
        expected[3:, 0] = on
    made = down(text, 11, target, i64(0, -1, 1, *nowhere), f32(off, on))[0]
    np.testing.assert_array_equal(made, expected.T if axis in (0, -2) else expected)


@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_one_hot_of_indices_out_of_range(target: int, kind: str) -> None:
    """Nothing is hot, though ONNX Runtime counts negative indices from the back in OneHot-9, too."""
    text = f"({kind}[4] i, int64 n, float[2] v) => (float[4, 3] y) {{ y = OneHot (i, n, v) }}"
    model = converted(parse(text, 11), target)
    session = onnxruntime.InferenceSession(checked(model).SerializeToString())
    indices = np.array([3, -4, -7, -3], kind)
    (made,) = session.run(None, {"i": indices, "n": np.array(3, np.int64), "v": f32(5, 7)})
    assert np.asarray(made).tolist() == [[5, 5, 5]] * 3 + [[7, 5, 5]]


@pytest.mark.parametrize("target", [10, 9])
def test_one_hot_of_constant_indices_out_of_range(target: int) -> None:
    """ONNX Runtime's inference refuses constant indices below 0 there."""
    text = "(float[2] v) => (float[4, 3] y) <int64[4] i = {3, -4, -7, -3}, int64 n = {3}> { y = OneHot (i, n, v) }"
    session = onnxruntime.InferenceSession(checked(converted(parse(text, 11), target)).SerializeToString())
    (made,) = session.run(None, {"v": f32(5, 7)})
    assert np.asarray(made).tolist() == [[5, 5, 5]] * 3 + [[7, 5, 5]]


def test_one_hot_of_floats_and_a_depth_given_at_run_time() -> None:
    text = "(float[2] i, float[1] n, int64[2] v) => (int64[2, q] y) { y = OneHot (i, n, v) }"
    made = down(text, 9, 8, f32(1, 0), f32(2), i64(-1, 7))[0]
    assert made.tolist() == [[-1, 7], [7, -1]]


@pytest.mark.parametrize(("axis", "expected"), [("", [1, 3, 4]), ("<axis = 1>", [[1, 3], [4, 6]])])
def test_compress_under_a_known_condition(axis: str, expected: list[Any]) -> None:
    text = f"(float[2, 3] x) => (float{[None, None, '[n]', '[2, n]'][len(np.shape(expected)) + 1]} y)"
    text += f" <bool[4] c = {{1, 0, 1, 1}}> {{ y = Compress {axis} (x, c) }}"
    if axis:
        text = text.replace("bool[4] c = {1, 0, 1, 1}", "bool[3] c = {1, 0, 1}")
    assert down(text, 9, 8, f32([1, 2, 3], [4, 5, 6]))[0].tolist() == expected


@pytest.mark.parametrize("target", [8, 7])
def test_where_before_version_9(target: int) -> None:
    """What isn't taken leaves no trace, be it NaN or infinite; the three are broadcast against each other."""
    text = "(bool[2, 1] c, float[3] x, float[2, 3] y) => (float[2, 3] z) { z = Where (c, x, y) }"
    c, x = np.array([[True], [False]]), f32(1, np.nan, -0.0)
    made = down(text, 9, target, c, x, f32([np.inf, np.nan, 0], [np.nan, -np.inf, 5]))[0]
    np.testing.assert_array_equal(made, f32([1, np.nan, 0], [np.nan, -np.inf, 5]))
    assert np.signbit(made[0, 2])


def test_where_of_strings_and_nothing() -> None:
    text = "(bool c, string[2] x, string y) => (string[2] z) { z = Where (c, x, y) }"
    x, y = np.array(["a", "b"], object), np.array("c", object)
    assert down(text, 9, 8, np.array(False), x, y)[0].tolist() == ["c", "c"]
    text = "(bool[0] c, float[1] x, float[1] y) => (float[0] z) { z = Where (c, x, y) }"
    assert down(text, 9, 8, np.zeros(0, bool), f32(1), f32(2))[0].shape == (0,)


@pytest.mark.parametrize("target", [8, 7])
def test_where_of_shapes_known_at_run_time(target: int) -> None:
    text = "(bool[a, 1] c, float[b] x, float[d, e] y) => (float[f, g] z) { z = Where (c, x, y) }"
    made = lowered(text, 9, target, np.array([[True], [False]]), f32(1, np.nan), f32([np.inf, 2]))[0]
    np.testing.assert_array_equal(made, f32([1, np.nan], [np.inf, 2]))


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "bool"])
def test_where_of_integers(kind: str) -> None:
    text = f"(bool[a] c, {kind}[a] x, {kind} y) => ({kind}[a] z) {{ z = Where (c, x, y) }}"
    x = np.array([-(2**31), 7]).astype(kind)
    made = lowered(text, 9, 8, np.array([True, False]), x, np.array(1).astype(kind))[0]
    assert (made.dtype, made.tolist()) == (x.dtype, [x[0], 1])


@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize("shape", ["2, 3, 2", "a, b, c"])
@pytest.mark.parametrize("kind", ["float", "int64", "bool"])
def test_places_that_are_not_zero(target: int, shape: str, kind: str) -> None:
    x = np.array([[[0, 1], [0, 0], [2, 0]], [[3, 4], [0, 0], [0, 5]]]).astype({"float": np.float32}.get(kind, kind))
    if kind == "float":
        x[0, 0] = -0.0, np.nan
    text = f"({kind}[{shape}] x) => (int64[3, n] y) {{ y = NonZero (x) }}"
    expected = [[0, 0, 1, 1, 1], [0, 2, 0, 0, 2], [1, 0, 0, 1, 1]]
    assert lowered(text, 9, target, x)[0].tolist() == expected


@pytest.mark.parametrize("size", ["3", "n"])
def test_no_place_that_is_not_zero(size: str) -> None:
    text = f"(float[{size}] x) => (int64[1, m] y) {{ y = NonZero (x) }}"
    assert lowered(text, 9, 8, np.zeros(3, np.float32))[0].shape == (1, 0)


@pytest.mark.parametrize(("axis", "expected"), [("", [2, 3]), ("<axis = 1>", [[2, 3], [5, 6]])])
def test_compress_under_a_condition_given_at_run_time(axis: str, expected: list[Any]) -> None:
    text = f"(float[2, 3] x, bool[3] c) => (float{'[2, n]' if axis else '[n]'} y) {{ y = Compress {axis} (x, c) }}"
    x, condition = f32([1, 2, 3], [4, 5, 6]), np.array([False, True, True])
    assert lowered(text, 9, 8, x, condition)[0].tolist() == expected


@pytest.mark.parametrize(
    "given", ["(float[2, n] x, bool[c] c)", "(float[2, n] x, bool[4] c)", "(float[2, 3] x, bool[c] c)"]
)
@pytest.mark.parametrize("condition", [[], [True], [False, True, True, False], [True, False, True, True]])
def test_compress_under_a_condition_of_another_length(given: str, condition: list[bool]) -> None:
    """ONNX Runtime, which is asked about the model itself, leaves out what the condition has more."""
    if "bool[4]" in given and len(condition) != 4:
        condition = [*condition, *[False] * (4 - len(condition))]
    text = f"{given} => (float[2, k] y, float[q] z) {{ y = Compress <axis = 1> (x, c)  z = Compress (x, c) }}"
    x = f32([1, 2, 3], [4, 5, 6])
    chosen = [at for at, is_kept in enumerate(condition) if is_kept]
    inside = [at for at in chosen if at < 3]
    made = lowered(text, 9, 8, x, np.array(condition, bool))
    assert made[0].tolist() == x[:, inside].tolist()
    assert made[1].tolist() == x.ravel()[chosen].tolist()


def test_compress_under_a_known_condition_longer_than_an_open_axis() -> None:
    text = "(float[2, n] x) => (float[2, k] y) <bool[4] c = {1, 0, 1, 1}> { y = Compress <axis = 1> (x, c) }"
    assert lowered(text, 9, 8, f32([1, 2, 3], [4, 5, 6]))[0].tolist() == [[1, 3], [4, 6]]
