"""Pad, down: what NumPy pads, after negative amounts have taken away."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel
from onnx.reference import ReferenceEvaluator

from .harness import checked, converted, down, f32, i64, operators, parse
from .lowered import lowered

MODES = ["constant", "edge", "reflect", "wrap"]
GRID = np.arange(1, 13, dtype=np.float32).reshape(3, 4)


def padded(x: np.ndarray[Any, Any], pairs: list[tuple[int, int]], mode: str, value: Any = 0) -> np.ndarray[Any, Any]:
    x = x[tuple(slice(max(-a, 0), size - max(-b, 0)) for (a, b), size in zip(pairs, x.shape, strict=True))]
    pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    given = {"constant_values": value} if mode == "constant" else {}
    return np.pad(x, pairs, mode=mode, **given)  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", [10, 9])
def test_pads_and_value_given_at_run_time(target: int, mode: str) -> None:
    text = f'(float[m, n] x, int64[4] p, float v) => (float[r, s] y) {{ y = Pad <mode = "{mode}"> (x, p, v) }}'
    model = ReferenceEvaluator(checked(converted(parse(text, 19), target)))
    for amounts in product((0, 2, 7, -1), (0, 3), (0, -1), (0, -2)):
        pairs = [(amounts[0], amounts[2]), (amounts[1], amounts[3])]
        (made,) = model.run(None, {"x": GRID, "p": i64(*amounts), "v": np.float32(7)})
        np.testing.assert_array_equal(made, padded(GRID, pairs, mode, 7), str(amounts), strict=True)


@pytest.mark.parametrize("target", [17, 9])
@pytest.mark.parametrize("mode", ["constant", "edge", "wrap"])
@pytest.mark.parametrize("axes", [[0], [-1], [-2, 1], [1, 0]])
def test_axes_given_at_run_time(axes: list[int], mode: str, target: int) -> None:
    text = f"""(float[m, n] x, int64[p] p, int64[a] a) => (float[r, s] y) {{ y = Pad <mode = "{mode}"> (x, p, , a) }}"""
    pairs, amounts = [(0, 0), (0, 0)], list(range(1, 2 * len(axes) + 1))
    for index, axis in enumerate(axes):
        pairs[axis] = (amounts[index], amounts[index + len(axes)])
    (made,) = down(text, 21, target, GRID, i64(*amounts), i64(*axes))
    np.testing.assert_array_equal(made, padded(GRID, pairs, mode), strict=True)


@pytest.mark.parametrize("shape", ["3, 4", "m, n"])
@pytest.mark.parametrize("target", [18, 13, 9])
def test_wrapping_round_by_known_amounts(target: int, shape: str) -> None:
    text = f"""(float[{shape}] x) => (float[r, s] y) {{
        p = Constant <value = int64[4] {{4, -1, 0, 6}}> ()
        y = Pad <mode = "wrap"> (x, p)
    }}"""
    np.testing.assert_array_equal(down(text, 19, target, GRID)[0], padded(GRID, [(4, 0), (-1, 6)], "wrap"))


def test_wrapping_round_by_known_amounts_of_a_known_axis_needs_one_gather() -> None:
    text = """(float[3] x) => (float[6] y) {
        p = Constant <value = int64[2] {1, 2}> ()
        y = Pad <mode = "wrap"> (x, p)
    }"""
    assert [name for name, _ in operators(converted(parse(text, 19), 18)) if name != "Constant"] == ["Gather"]
    assert down(text, 19, 18, f32(1, 2, 3))[0].tolist() == [3, 1, 2, 3, 1, 2]


CASES = [
    ("bool", np.bool_, True),
    ("int8", np.int8, -128),
    ("uint16", np.uint16, 65535),
    ("int32", np.int32, -(1 << 31)),
    ("int32", np.int32, (1 << 24) + 1),
    ("uint32", np.uint32, (1 << 32) - 1),
    ("int64", np.int64, (1 << 63) - 1),
    ("uint64", np.uint64, (1 << 64) - 1),
    ("double", np.float64, 0.1),
    ("float", np.float32, np.inf),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("kind", "dtype", "value"), CASES)
def test_other_element_types(kind: str, dtype: type, value: Any, known: bool) -> None:
    """`value` is among the elements, too."""
    x = np.array([[value, 1]], dtype)
    pads = "int64[4] p = {0, 1, 1, 0}" if known else ""
    inputs = "" if known else ", int64[4] p"
    given = f"<{pads}>" if known else ""
    text = f"({kind}[1, 2] x, {kind} v{inputs}) => ({kind}[2, 3] y) {given} {{ y = Pad (x, p, v) }}"
    feeds = [x, dtype(value)] + ([] if known else [i64(0, 1, 1, 0)])
    (made,) = down(text, 13, 9, *feeds)
    np.testing.assert_array_equal(made, np.array([[value, value, 1], [value, value, value]], dtype), strict=True)


@pytest.mark.parametrize(("kind", "dtype"), [("bool", np.bool_), ("int8", np.int8), ("int32", np.int32)])
def test_short_types_go_through_floats_that_hold_them(kind: str, dtype: type) -> None:
    text = f"({kind}[2] x) => ({kind}[4] y) <int64[2] p = {{1, 1}}> {{ y = Pad (x, p) }}"
    assert operators(converted(parse(text, 13), 9)) == [("Cast", 9), ("Pad", 2), ("Cast", 9)]
    assert down(text, 13, 9, np.ones(2, dtype))[0].tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("amounts", [(0, 0), (0, 2), (2, 1)])
def test_nothing_padded(amounts: tuple[int, int]) -> None:
    text = "(float[n, 2] x, int64[4] p) => (float[r, s] y) { y = Pad (x, p) }"
    (made,) = down(text, 13, 9, np.zeros((0, 2), np.float32), i64(amounts[0], 0, amounts[1], 0))
    np.testing.assert_array_equal(made, np.zeros((sum(amounts), 2), np.float32), strict=True)


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_a_single_element_is_everywhere(mode: str) -> None:
    text = f'(int64[n] x, int64[2] p) => (int64[r] y) {{ y = Pad <mode = "{mode}"> (x, p) }}'
    assert down(text, 19, 9, i64(5), i64(2, 3))[0].tolist() == [5] * 6


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_an_empty_axis_that_is_not_padded(mode: str) -> None:
    text = f'(float[m, n] x, int64[4] p) => (float[r, s] y) {{ y = Pad <mode = "{mode}"> (x, p) }}'
    assert down(text, 19, 9, np.zeros((0, 2), np.float32), i64(0, 1, 0, 0))[0].shape == (0, 3)


def test_padding_of_a_string_without_a_value() -> None:
    text = "(string[n] x, int64[2] p) => (string[m] y) { y = Pad (x, p) }"
    assert down(text, 19, 9, np.array(["a"], object), i64(1, 0))[0].tolist() == ["", "a"]


def test_an_axis_that_is_not_there() -> None:
    text = '(float x) => (float[m] y) <int64[2] p = {1, 1}> { y = Pad <mode = "wrap"> (x, p) }'
    with pytest.raises(InvalidModel, match="2 amounts for 0 axes"):
        converted(parse(text, 19), 18)


@pytest.mark.parametrize("target", [10, 8])
@pytest.mark.parametrize(
    ("size", "before", "after"), [(2, 2, -3), (2, -3, 2), (3, -4, 5), (2, -3, 1), (0, 2, -1), (2, -1, 0), (2, 3, -1)]
)
def test_amounts_that_take_more_than_there_is(target: int, size: int, before: int, after: int) -> None:
    """Of the constant, too: the result is as long as all amounts say."""
    text = "(float[n] x, int64[2] p, float v) => (float[m] y) { y = Pad (x, p, v) }"
    x = np.arange(size, dtype=np.float32)
    expected = [float(place) if 0 <= place < size else 7.0 for place in np.arange(size + before + after) - before]
    assert lowered(text, 13, target, x, i64(before, after), f32(7).reshape(()))[0].tolist() == expected
