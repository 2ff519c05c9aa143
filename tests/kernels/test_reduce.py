"""Reductions over nothing, over no axes, and in narrow types."""

from __future__ import annotations

import math

import numpy as np
import pytest
from backedge.runtime.executor import ExecutionError

from kernels.one import f32, i64, run_op, same

EMPTY = np.zeros((0, 2), np.float32)


@pytest.mark.parametrize(
    "op_type, expected",
    [
        ("ReduceSum", 0),
        ("ReduceProd", 1),
        ("ReduceMax", -math.inf),
        ("ReduceMin", math.inf),
        ("ReduceL1", 0),
        ("ReduceL2", 0),
        ("ReduceLogSum", -math.inf),
        ("ReduceLogSumExp", -math.inf),
        ("ReduceSumSquare", 0),
    ],
)
def test_nothing_to_reduce(op_type: str, expected: float) -> None:
    same(run_op(op_type, EMPTY, i64([0])), np.full((1, 2), expected, np.float32))


def test_limits_of_integers_and_bools() -> None:
    same(run_op("ReduceMax", np.zeros((0,), np.int8), keepdims=0), np.array(-128, np.int8))
    same(run_op("ReduceMin", np.zeros((0,), np.uint8), keepdims=0), np.array(255, np.uint8))
    same(run_op("ReduceMax", np.array([False, True])), np.array([True]))
    same(run_op("ReduceMin", np.array([False, True])), np.array([False]))


def test_no_axes_mean_all_or_none() -> None:
    x = f32([[1, -2], [3, 4]])
    same(run_op("ReduceSum", x, i64([]), keepdims=0), f32(6))
    same(run_op("ReduceSum", x, i64([]), noop_with_empty_axes=1), x)
    same(run_op("ReduceSumSquare", x, noop_with_empty_axes=1), x * x)
    same(run_op("ReduceL1", x, noop_with_empty_axes=1), np.abs(x))


def test_axes_from_the_attribute() -> None:
    same(run_op("ReduceMean", f32([[1, 3], [5, 7]]), version=13, axes=[-1]), f32([[2], [6]]))


def test_sums_wrap_and_means_truncate() -> None:
    same(run_op("ReduceSum", np.array([100, 100], np.int8)), np.array([-56], np.int8))
    same(run_op("ReduceMean", i64(-1, -2), keepdims=0), i64(-1))


def test_half_sums_are_rounded_at_the_end() -> None:
    x = np.full(4096, 1, np.float16)
    same(run_op("ReduceSum", x, keepdims=0), np.array(4096, np.float16))


def test_log_sum_exp_of_large_and_of_nothing_but_minus_infinity() -> None:
    assert run_op("ReduceLogSumExp", f32(1000, 1000), keepdims=0) == pytest.approx(1000 + math.log(2))
    same(run_op("ReduceLogSumExp", f32(-math.inf, -math.inf), keepdims=0), f32(-math.inf))
    same(run_op("ReduceLogSumExp", f32(math.inf, 1), keepdims=0), f32(math.inf))


def test_same_axis_twice() -> None:
    with pytest.raises(ExecutionError, match="twice"):
        run_op("ReduceSum", f32([[1]]), i64(0, -2))
    with pytest.raises(ExecutionError, match="out of range"):
        run_op("ReduceSum", f32([[1]]), i64([2]))


def test_arg_max_first_or_last() -> None:
    x = f32([[2, 2, 1]])
    same(run_op("ArgMax", x, axis=1, keepdims=0), i64([0]))
    same(run_op("ArgMax", x, axis=-1, keepdims=0, select_last_index=1), i64([1]))
    same(run_op("ArgMin", f32(3, math.nan, 1)), i64([1]))


def test_cumulative_exclusive_reversed() -> None:
    same(run_op("CumSum", f32(1, 2, 3), i64(0), exclusive=1, reverse=1), f32(5, 3, 0))
    same(run_op("CumProd", i64(1, 2, 3), i64(-1), exclusive=1), i64(1, 1, 2))
    same(run_op("CumSum", np.zeros((2, 0), np.float32), i64(1), exclusive=1), np.zeros((2, 0), np.float32))
