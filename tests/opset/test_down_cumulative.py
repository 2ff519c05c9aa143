"""CumSum and CumProd, down, run by the executor: the reference's Scan knows one direction only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.files import to_hub
from backedge.runtime.executor import Executor

from .harness import checked, converted, f32, i64, operators, parse

Array = np.ndarray[Any, Any]

CUBE = np.array([[[1, -2, 3], [4, 0.5, -6]], [[-1, 5, 2], [7, -8, 0.25]]], np.float32)


def run(text: str, opset: int, target: int, *inputs: Any) -> list[Any]:
    graph = converted(parse(text, opset), target)
    checked(graph)
    feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return list(Executor(to_hub(graph)).run(feeds).values())


def accumulated(x: Array, axis: int, operator: str, exclusive: int, reverse: int) -> Array:
    """One element after the other."""
    x = np.moveaxis(x, axis, 0)
    made = np.empty_like(x)
    total = np.full(x.shape[1:], operator == "CumProd", x.dtype)
    for index in range(len(x))[:: -1 if reverse else 1]:
        after = total * x[index] if operator == "CumProd" else total + x[index]
        made[index], total = (total if exclusive else after), after
    return np.moveaxis(made, 0, axis)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("operator", ["CumSum", "CumProd"])
@pytest.mark.parametrize("shape", ["2, 2, 3", "a, b, c"])
def test_axis_given_at_run_time(shape: str, operator: str, exclusive: int, reverse: int) -> None:
    text = f"""(float[{shape}] x, int64 a) => (float[{shape}] y) {{
        y = {operator} <exclusive = {exclusive}, reverse = {reverse}> (x, a)
    }}"""
    for axis in (0, 1, 2, -1, -3):
        (made,) = run(text, 26, 9, CUBE, np.array(axis))
        np.testing.assert_allclose(made, accumulated(CUBE, axis, operator, exclusive, reverse), rtol=1e-6)


@pytest.mark.parametrize("target", [25, 18, 10, 9, 8, 7])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("operator", ["CumSum", "CumProd"])
def test_known_axis(operator: str, exclusive: int, target: int) -> None:
    text = f"""(int64[n] x) => (int64[n] y) {{
        a = Constant <value = int32 {{-1}}> ()
        y = {operator} <exclusive = {exclusive}> (x, a)
    }}"""
    x = i64(3, -2, 5)
    assert run(text, 26, target, x)[0].tolist() == accumulated(x, 0, operator, exclusive, 0).tolist()


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("shape", ["0, 3", "m, n", "0, n"])
def test_sum_of_nothing(shape: str, exclusive: int, reverse: int) -> None:
    text = f"""(float[{shape}] x) => (float[{shape}] y) {{
        a = Constant <value_int = 0> ()
        y = CumSum <exclusive = {exclusive}, reverse = {reverse}> (x, a)
    }}"""
    assert run(text, 14, 9, np.zeros((0, 3), np.float32))[0].shape == (0, 3)


def test_what_is_not_a_number_does_not_go_back() -> None:
    text = "(float[n] x) => (float[n] y) { a = Constant <value_int = 0> () y = CumSum (x, a) }"
    made = run(text, 14, 9, f32(-0.0, 1, np.inf, 2, -np.inf, 3))[0]
    np.testing.assert_array_equal(made, f32(-0.0, 1, np.inf, np.inf, np.nan, np.nan))
    assert np.signbit(made[0])


def test_sums_wrap_round_and_round_in_order() -> None:
    text = """(int32[4] x, float[4] z) => (int32[4] y, float[4] w) {
        a = Constant <value_int = 0> ()
        y = CumSum (x, a)
        w = CumSum (z, a)
    }"""
    y, w = run(text, 14, 9, np.array([(1 << 31) - 1, 1, 1, -1], np.int32), f32(1 << 24, 1, 1, -(1 << 24)))
    assert y.tolist() == [(1 << 31) - 1, -(1 << 31), 1 - (1 << 31), -(1 << 31)]
    assert w.tolist() == [1 << 24, 1 << 24, 1 << 24, 0]


def test_half_precision() -> None:
    text = "(float16[3] x) => (float16[3] y) { a = Constant <value_int = 0> () y = CumSum (x, a) }"
    (made,) = run(text, 14, 9, np.array([1, 2, 3], np.float16))
    assert (made.tolist(), made.dtype) == ([1, 3, 6], np.dtype(np.float16))


def test_it_is_a_single_scan() -> None:
    text = "(float[2, 3] x) => (float[2, 3] y) { a = Constant <value_int = 1> () y = CumSum <reverse = 1> (x, a) }"
    found = [name for name, _ in operators(converted(parse(text, 14), 9))]
    assert found.count("Scan") == 1 and "Loop" not in found
