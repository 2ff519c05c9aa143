"""Slice, Split, Range and filling, down. Expected values by NumPy's own slicing, or by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from backedge.convert.files import to_hub
from backedge.passes.errors import InvalidModel
from backedge.runtime.executor import Executor
from onnx.reference import ReferenceEvaluator

from .harness import checked, converted, down, f32, i64, operators, parse

MOST, LEAST = (1 << 63) - 1, -(1 << 63)
GRID = np.arange(30, dtype=np.float32).reshape(5, 6)
TEXT = """(
    float[{shape}] x, int64[{count}] s, int64[{count}] e, int64[{count}] a, int64[{count}] t
) => (float[p, q] y) {{
    y = Slice (x, s, e, a, t)
}}"""


def cut(x: np.ndarray[Any, Any], axis: int, start: int, end: int, step: int) -> np.ndarray[Any, Any]:
    """What the specification says: negative places count from the end, all are clamped to the axis."""
    size = x.shape[axis]
    start, end = (place + size if place < 0 else place for place in (start, end))
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
    else:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    return x.take(list(range(start, end, step)), axis)


@pytest.fixture(scope="module", params=["5, 6", "m, n"])
def sliced(request: pytest.FixtureRequest) -> ReferenceEvaluator:
    """One conversion for many runs."""
    return ReferenceEvaluator(checked(converted(parse(TEXT.format(shape=request.param, count=1), 13), 9)))


@pytest.mark.parametrize("step", [1, 2, MOST, -1, -3, LEAST])
def test_slice_that_is_known_at_run_time_only(sliced: ReferenceEvaluator, step: int) -> None:
    for start, end in product((0, 1, 5, 9, -1, -5, -9, MOST, LEAST), (0, 3, 5, -4, MOST, LEAST)):
        feeds = {"x": GRID, "s": i64(start), "e": i64(end), "a": i64(-2), "t": i64(step)}
        (made,) = sliced.run(None, feeds)
        np.testing.assert_array_equal(made, cut(GRID, 0, start, end, step), f"{start}:{end}:{step}", strict=True)


@pytest.mark.parametrize("axes", [[0, 1], [1, 0], [-1, 0], [1, -2]])
def test_slice_of_two_axes_given_at_run_time(axes: list[int]) -> None:
    made = down(TEXT.format(shape="m, n", count=2), 13, 9, GRID, i64(1, -1), i64(4, 0), i64(*axes), i64(2, -2))[0]
    np.testing.assert_array_equal(made, cut(cut(GRID, axes[0], 1, 4, 2), axes[1], -1, 0, -2))


@pytest.mark.parametrize("target", [10, 9])
def test_slice_over_no_axis_given_at_run_time(target: int) -> None:
    none = np.zeros(0, np.int64)
    np.testing.assert_array_equal(down(TEXT.format(shape="m, n", count=0), 13, target, GRID, *[none] * 4)[0], GRID)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_slice_without_axes_and_steps(kind: str) -> None:
    text = f"(float[m, n] x, {kind}[2] s, {kind}[2] e) => (float[p, q] y) {{ y = Slice (x, s, e) }}"
    places = [np.array(values, kind) for values in ([1, -3], [-1, 100])]
    assert down(text, 10, 9, GRID, *places)[0].tolist() == GRID[1:-1, -3:].tolist()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_slice_without_axes_of_as_many_as_there_turn_out_to_be(count: int) -> None:
    text = "(float[m, n] x, int64[k] s, int64[k] e) => (float[p, q] y) { y = Slice (x, s, e) }"
    made = down(text, 13, 9, GRID, np.array([1, -2], np.int64)[:count], np.array([3, MOST], np.int64)[:count])[0]
    np.testing.assert_array_equal(made, GRID[(slice(1, 3), slice(-2, None))[:count]])


def test_slice_of_strings_and_of_nothing() -> None:
    text = "(string[n] x, int64[1] s, int64[1] e) => (string[m] y) { y = Slice (x, s, e) }"
    words = np.array(["a", "b", "c"], object)
    assert down(text, 13, 9, words, i64(-2), i64(9))[0].tolist() == ["b", "c"]
    assert down(text, 13, 9, words[:0], i64(-2), i64(9))[0].tolist() == []


@pytest.mark.parametrize(("step", "expected"), [(2, [1, 3]), (-1, [4, 3, 2]), (-2, [4, 2]), (-9, [4])])
def test_slice_with_known_steps_needs_one_gather(step: int, expected: list[int]) -> None:
    start, end = (1, 4) if step > 0 else (-1, 1)
    text = f"""(float[5] x) => (float[n] y) {{
        s = Constant <value = int64[1] {{{start}}}> ()
        e = Constant <value = int64[1] {{{end}}}> ()
        a = Constant <value = int64[1] {{0}}> ()
        t = Constant <value = int64[1] {{{step}}}> ()
        y = Slice (x, s, e, a, t)
    }}"""
    assert down(text, 13, 9, f32(0, 1, 2, 3, 4))[0].tolist() == expected
    assert [name for name, _ in operators(converted(parse(text, 13), 9)) if name != "Constant"] == ["Gather"]


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize("step", [2, -1, -2])
@pytest.mark.parametrize(("start", "end"), [(LEAST, MOST), (MOST, LEAST), (LEAST, LEAST), (MOST, MOST), (-1, LEAST)])
def test_slice_with_known_places_of_an_unknown_axis(start: int, end: int, step: int, size: int) -> None:
    text = f"""(float[n] x) => (float[m] y)
        <int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{0}}, int64[1] t = {{{step}}}>
    {{ y = Slice (x, s, e, a, t) }}"""
    x = np.arange(size, dtype=np.float32)
    np.testing.assert_array_equal(down(text, 13, 9, x)[0], cut(x, 0, start, end, step), strict=True)


def test_slice_that_is_known_stays_one() -> None:
    text = """(float[m, n] x) => (float[p, q] y) {
        s = Constant <value = int64[1] {-2}> ()
        e = Constant <value = int64[1] {9223372036854775807}> ()
        a = Constant <value = int64[1] {-1}> ()
        y = Slice (x, s, e, a)
    }"""
    assert ("Slice", 1) in operators(converted(parse(text, 13), 9))
    assert down(text, 13, 9, GRID)[0].tolist() == GRID[:, -2:].tolist()


# Split -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [12, 10, 9])
@pytest.mark.parametrize("lengths", [(1, 3, 2), (0, 6, 0), (4, 0, 2)])
def test_split_in_lengths_given_at_run_time(lengths: Sequence[int], target: int) -> None:
    text = """(float[m, n] x, int64[3] l) => (float[m, p] a, float[m, q] b, float[m, r] c) {
        a, b, c = Split <axis = -1> (x, l)
    }"""
    parts = down(text, 13, target, GRID, i64(*lengths))
    first, second = lengths[0], lengths[0] + lengths[1]
    for part, expected in zip(parts, (GRID[:, :first], GRID[:, first:second], GRID[:, second:]), strict=True):
        assert part.tolist() == expected.tolist()


@pytest.mark.parametrize("shape", ["5", "n"])
@pytest.mark.parametrize("target", [17, 12, 9])
def test_split_in_a_number_of_parts(target: int, shape: str) -> None:
    text = f"(float[{shape}] x) => (float[p] a, float[q] b) {{ a, b = Split <num_outputs = 2> (x) }}"
    assert [part.tolist() for part in down(text, 18, target, f32(1, 2, 3, 4, 5))] == [[1, 2, 3], [4, 5]]


# Range -------------------------------------------------------------------------------------------

INTEGERS = [(0, 5, 1), (5, 0, 1), (2, 2, 1), (1, 10, 3), (1, 11, 3), (10, 0, -3), (0, 10, -3), (-5, -1, 2), (3, 4, 100)]


@pytest.mark.parametrize("kind", ["int16", "int32", "int64"])
@pytest.mark.parametrize("target", [10, 9])
@pytest.mark.parametrize("numbers", INTEGERS)
def test_range_of_integers(numbers: tuple[int, int, int], target: int, kind: str) -> None:
    text = f"({kind} s, {kind} e, {kind} d) => ({kind}[n] y) {{ y = Range (s, e, d) }}"
    (made,) = down(text, 11, target, *(np.array(number, kind) for number in numbers))
    assert (made.tolist(), made.dtype) == (list(range(*numbers)), np.dtype(kind))


def test_range_with_a_known_step() -> None:
    text = """(int64 e) => (int64[n] y) {
        s = Constant <value_int = 7> ()
        d = Constant <value_int = -2> ()
        y = Range (s, e, d)
    }"""
    assert down(text, 13, 9, np.array(2))[0].tolist() == [7, 5, 3]
    assert down(text, 13, 9, np.array(7))[0].tolist() == []


@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_range_of_floats(kind: str, dtype: type) -> None:
    text = f"({kind} s, {kind} e, {kind} d) => ({kind}[n] y) {{ y = Range (s, e, d) }}"
    for start, end, step, expected in [
        (0, 1, 0.25, [0, 0.25, 0.5, 0.75]),
        (1, 0, -0.5, [1, 0.5]),
        (0, 1.125, 0.5, [0, 0.5, 1]),
        (0, -1, 1, []),
        (2, 2, 1, []),
    ]:
        (made,) = down(text, 11, 9, dtype(start), dtype(end), dtype(step))
        assert (made.tolist(), made.dtype) == (expected, np.dtype(dtype))


# before version 9 --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize("k", [0, 1, -1, 5])
def test_eye(k: int, target: int) -> None:
    text = f"(float[2, 3] x) => (int32[2, 3] y) {{ y = EyeLike <k = {k}, dtype = 6> (x) }}"
    (made,) = down(text, 9, target, np.zeros((2, 3), np.float32))
    assert (made.tolist(), made.dtype) == (np.eye(2, 3, k).tolist(), np.dtype(np.int32))


@pytest.mark.parametrize("target", [8, 7])
def test_constant_of_a_shape(target: int) -> None:
    text = "(int64[2] s) => (int64[p, q] y) { y = ConstantOfShape <value = int64[1] {7}> (s) }"
    assert down(text, 9, target, i64(1, 2))[0].tolist() == [[7, 7]]
    assert down(text, 9, target, i64(0, 2))[0].shape == (0, 2)


@pytest.mark.parametrize(
    ("shape", "wanted"), [((3, 1), (2, 1, 4)), ((3, 4), (1, 1)), ((3, 1), (4,)), ((), (2, 2)), ((0, 1), (0, 3))]
)
def test_expand_by_tiles(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    rank = max(len(shape), len(wanted))
    given, made = (
        ", ".join(f"{name}{index}" for index in range(size)) for name, size in (("d", len(shape)), ("r", rank))
    )
    given = f"float[{given}]" if given else "float"
    text = f"({given} x, int64[{len(wanted)}] s) => (float[{made}] y) {{ y = Expand (x, s) }}"
    (y,) = down(text, 8, 7, x, i64(*wanted))
    np.testing.assert_array_equal(y, np.broadcast_to(x, np.broadcast_shapes(shape, wanted)), strict=True)


@pytest.mark.parametrize("target", [8, 7])
def test_slice_before_there_was_a_choice(target: int) -> None:
    """Run by the executor: the reference's Loop stacks single numbers as vectors of one."""
    text = TEXT.format(shape="m, n", count=1)
    graph = converted(parse(text, 13), target)
    checked(graph)
    run = Executor(to_hub(graph)).run
    for start, end, step in [(1, 4, 1), (-2, MOST, 1), (0, -1, 3), (-1, LEAST, -2), (4, 1, 1)]:
        feeds = {"x": GRID, "s": i64(start), "e": i64(end), "a": i64(-1), "t": i64(step)}
        np.testing.assert_array_equal(run(feeds)["y"], cut(GRID, 1, start, end, step), strict=True)


def test_an_axis_that_is_not_there() -> None:
    text = "(float x, int64[1] s, int64[1] e) => (float[m] y) { y = Slice (x, s, e) }"
    with pytest.raises(InvalidModel, match="rank 0"):
        converted(parse(text, 13), 9)
