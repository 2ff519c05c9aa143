"""Reductions over axes given at run time and over no axis, channels in the other order, dropout of nothing; down."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import Unsupported

from .harness import converted, down, f32, i64, parse

NUMBERS = np.array([[7, 2, 4], [1, 5, 9]])
FORMULAS: dict[str, Any] = {
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "ReduceL2": lambda x, axes: np.sqrt((x * x).sum(axes, keepdims=True)),
    "ReduceLogSum": lambda x, axes: np.log(x.sum(axes, keepdims=True)),
    "ReduceLogSumExp": lambda x, axes: np.log(np.exp(x).sum(axes, keepdims=True)),
    "ReduceMean": lambda x, axes: x.mean(axes, keepdims=True),
    "ReduceSumSquare": lambda x, axes: (x * x).sum(axes, keepdims=True),
}


@pytest.mark.parametrize("target", [17, 9])
@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("int32", np.int32)])
@pytest.mark.parametrize("op_type", list(FORMULAS))
def test_axes_given_at_run_time(op_type: str, kind: str, dtype: type, target: int) -> None:
    """What isn't whole is cut off integers once, at the end, however many axes there are."""
    text = f"({kind}[m, n] x, int64[k] a) => ({kind}[p, q] y) {{ y = {op_type} (x, a) }}"
    for axes in ([0], [-1], [0, 1], []):
        expected = FORMULAS[op_type](NUMBERS.astype(np.float64), tuple(axes) or None).astype(dtype)
        (made,) = down(text, 18, target, NUMBERS.astype(dtype), i64(*axes))
        np.testing.assert_allclose(made, expected, rtol=1e-6 if dtype is np.float32 else 0, strict=True)


NO_AXIS = [("ReduceL1", [3, 2]), ("ReduceL2", [3, 2]), ("ReduceSumSquare", [9, 4]), ("ReduceLogSumExp", [-3, 2])]


@pytest.mark.parametrize("target", [17, 9])
@pytest.mark.parametrize(("op_type", "expected"), [*NO_AXIS, ("ReduceMax", [-3, 2])])
def test_no_axis_leaves_what_is_done_to_each_element(op_type: str, expected: list[float], target: int) -> None:
    text = f"(float[2] x) => (float[2] y) {{ y = {op_type} <noop_with_empty_axes = 1> (x) }}"
    np.testing.assert_allclose(down(text, 18, target, f32(-3, 2))[0], expected, rtol=1e-6)


@pytest.mark.parametrize("target", [17, 9])
def test_the_logarithm_of_an_exponential_is_never_negative_zero(target: int) -> None:
    text = "(float[3] x) => (float[3] y) { y = ReduceLogSumExp <noop_with_empty_axes = 1> (x) }"
    (made,) = down(text, 18, target, f32(-0.0, np.nan, -np.inf))
    np.testing.assert_array_equal(made, f32(0, np.nan, -np.inf))
    assert not np.signbit(made[0])


@pytest.mark.parametrize(("kind", "dtype", "expected"), [("float", np.float32, np.log(5)), ("int32", np.int32, 1)])
def test_no_axis_leaves_the_logarithm(kind: str, dtype: type, expected: float) -> None:
    text = f"({kind}[1] x) => ({kind}[1] y) {{ y = ReduceLogSum <noop_with_empty_axes = 1> (x) }}"
    np.testing.assert_allclose(down(text, 18, 17, np.array([5], dtype))[0], [expected], rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_mean_of_no_integers_is_no_division_by_nothing(shape: tuple[int, int]) -> None:
    text = "(int32[m, n] x, int64[k] a) => (int32[p, q] y) { y = ReduceMean (x, a) }"
    assert down(text, 18, 9, np.zeros(shape, np.int32), i64(1))[0].shape == (shape[0], 1)


@pytest.mark.parametrize("shape", ["1, 8, 1, 2", "b, c, h, w"])
@pytest.mark.parametrize("target", [10, 9, 7])
def test_channels_before_blocks(target: int, shape: str) -> None:
    """Channel 4 * c + 2 * row + column goes to that place in each block of channel c."""
    x = np.arange(16, dtype=np.float32).reshape(1, 8, 1, 2)
    expected = np.zeros((1, 2, 2, 4), np.float32)
    for channel, row, column, block in np.ndindex(2, 2, 2, 2):
        expected[0, channel, row, 2 * block + column] = x[0, 4 * channel + 2 * row + column, 0, block]
    text = f'(float[{shape}] x) => (float[p, q, r, s] y) {{ y = DepthToSpace <blocksize = 2, mode = "CRD"> (x) }}'
    if target > 8 or shape[0] == "1":  # the reference's Loop stacks single numbers as vectors of one
        np.testing.assert_array_equal(down(text, 11, target, x)[0], expected, strict=True)


DROPOUT = """(float[n] x) => (float[n] y, bool[n] m) {{
    r = Constant <value_float = {ratio}> ()
    t = Constant <value = bool {{1}}> ()
    y, m = Dropout (x, r, t)
}}"""


@pytest.mark.parametrize("target", [11, 9, 8])
def test_training_that_drops_nothing(target: int) -> None:
    y, mask = down(DROPOUT.format(ratio="0.0"), 13, target, f32(1, 2, 3))
    assert (y.tolist(), mask.tolist()) == ([1, 2, 3], [True] * 3)


def test_training_that_drops_at_random() -> None:
    with pytest.raises(Unsupported, match="training_mode can't be expressed before version 12"):
        converted(parse(DROPOUT.format(ratio="0.5"), 13), 11)
