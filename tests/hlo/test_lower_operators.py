"""Hub operators as HLO: what XLA makes of them at the edges. Expected values are NumPy's, or written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.hlo.write import to_text
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph, Value
from backedge.passes.protos import enum_of
from backedge.passes.rewrite import Builder
from backedge.passes.types import DType, TensorType
from onnx import parser
from openvino_lowering.hub import Model

from .lowered import Xla

pytest.importorskip("jaxlib")

NAN, INF = np.nan, np.inf
MOST = float(np.finfo(np.float32).max)
Make = Callable[..., Value | tuple[Value, ...]]


@pytest.fixture(scope="module")
def xla() -> Iterator[Xla]:
    runner = Xla()
    yield runner
    runner.close()


def f32(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def i32(*values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def i64(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def built(make: Make, *arrays: np.ndarray) -> tuple[Graph, dict[str, np.ndarray]]:
    """A graph of what `make` makes of inputs like the arrays, and the arrays as feeds."""
    m = Model()
    inputs = [m.input(f"x{at}", DType.of(array.dtype), *array.shape) for at, array in enumerate(arrays)]
    made = make(m.op, *inputs)
    m.output(*(made if isinstance(made, tuple) else (made,)))
    return m.graph, {value.name: array for value, array in zip(inputs, arrays, strict=True)}


def ints(op: Builder, *values: int) -> Value:
    return op.const(np.array(values, np.int64))


def to(dtype: DType) -> int:
    return enum_of(dtype, "test")


_X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
_CASES: dict[str, tuple[Make, tuple[np.ndarray, ...], Any]] = {
    "division of integers truncates": (
        lambda op, a, b: op.Div(a, b),
        (i32(7, -7, 7, -7), i32(2, 2, -2, -2)),
        i32(3, -3, -3, 3),
    ),
    "sizes and signs of unsigned integers": (
        lambda op, a, b: (op.Abs(a), op.Sign(a), op.Abs(b), op.Sign(b)),
        (np.array([0, 1, 200], np.uint8), np.array([0, 2**63, 2**64 - 1], np.uint64)),
        [
            np.array([0, 1, 200], np.uint8),
            np.array([0, 1, 1], np.uint8),
            np.array([0, 2**63, 2**64 - 1], np.uint64),
            np.array([0, 1, 1], np.uint64),
        ],
    ),
    "the remainder has the divisor's sign": (
        lambda op, a, b: op.Mod(a, b),
        (i32(7, -7, 7, -7, 6), i32(3, 3, -3, -3, 3)),
        i32(1, 2, -2, -1, 0),
    ),
    "with fmod the dividend's": (
        lambda op, a, b: op.Mod(a, b, fmod=1),
        (f32(7, -7, 7, -7), f32(3, 3, -3, -3)),
        f32(1, -1, 1, -1),
    ),
    "a power has the base's type": (lambda op, a, b: op.Pow(a, b), (i32(2, 3, 9), f32(3, 2, 0.5)), i32(8, 9, 3)),
    "a power that no integer holds": (
        lambda op, a, b: op.Pow(a, b),
        (i64(0, -2, 10, 3), np.array([-1, 0.5, 30, 2], np.float32)),
        np.array([-(2**63), -(2**63), -(2**63), 9], np.int64),
    ),
    "a float by an integer power": (lambda op, a, b: op.Pow(a, b), (f32(2, -2), i64(-1, 3)), f32(0.5, -8)),
    "shifts by the width and more": (
        lambda op, a, b: op.BitShift(a, b, direction="RIGHT"),
        (np.array([255, 255, 255], np.uint8), np.array([1, 8, 200], np.uint8)),
        np.array([127, 0, 0], np.uint8),
    ),
    "shifts to the left lose what leaves": (
        lambda op, a, b: op.BitShift(a, b, direction="LEFT"),
        (np.array([255, 3, 3], np.uint8), np.array([4, 9, 0], np.uint8)),
        np.array([240, 0, 3], np.uint8),
    ),
    "the one axis of a scalar, as ONNX Runtime has it": (
        lambda op, x: (
            *(op.call(name, x, axis=axis) for name in ("ArgMax", "ArgMin") for axis in (0, -1)),
            *(
                op.call(name, x, ints(op, axis))
                for name in ("ReduceSum", "ReduceMax", "ReduceProd", "ReduceMean", "ReduceL2", "ReduceLogSumExp")
                for axis in (0, -1)
            ),
        ),
        (np.array(2.5, np.float32),),
        [np.array(0)] * 4 + [np.array(2.5, np.float32)] * 12,
    ),
    "bounds that cross": (lambda op, x: op.Clip(x, op.const(3.0), op.const(1.0)), (f32(0, 2, 5),), f32(1, 1, 1)),
    "NaN between bounds": (
        lambda op, x: op.Clip(x, op.const(0.0), op.const(1.0)),
        (f32(NAN, -INF, INF),),
        f32(NAN, 0, 1),
    ),
    "infinity where a bound is left out": (
        lambda op, x, h: (op.Clip(x), op.Clip(x, op.const(0.0)), op.Clip(x, None, op.const(0.0)), op.Clip(h)),
        (f32(INF, -INF, NAN, 1), np.array([INF, -INF], np.float16)),
        [f32(MOST, -MOST, NAN, 1), f32(MOST, 0, NAN, 1), f32(0, -MOST, NAN, 0), np.array([65504, -65504], np.float16)],
    ),
    "the larger of NaN": (lambda op, a, b: op.Max(a, b), (f32(NAN, 1, -0.0), f32(1, NAN, -1)), f32(NAN, NAN, -0.0)),
    "three to one shape": (
        lambda op, a, b, c: op.Max(a, b, c),
        (f32(1, 5), f32([[2], [6]]), f32(3)),
        f32([[3, 5], [6, 6]]),
    ),
    "halves go to the even": (
        lambda op, x: op.Round(x),
        (f32(0.5, 1.5, -0.5, -2.5, NAN, INF),),
        f32(0, 2, -0.0, -2, NAN, INF),
    ),
    "either infinity": (
        lambda op, x: (op.IsInf(x), op.IsInf(x, detect_negative=0), op.IsInf(x, detect_positive=0)),
        (f32(INF, -INF, NAN, 1),),
        [np.array([1, 1, 0, 0], bool), np.array([1, 0, 0, 0], bool), np.array([0, 1, 0, 0], bool)],
    ),
    "no infinity": (
        lambda op, x: op.IsInf(x, detect_positive=0, detect_negative=0),
        (f32(INF, -INF),),
        np.array([False, False]),
    ),
    **{
        f"infinities among floats of 8 bits, {dtype}": (
            lambda op, x: (op.IsInf(x), op.IsInf(x, detect_positive=0)),
            (np.array([1, -2, np.inf, -np.inf]).astype(dtype),),
            [np.array([0, 0, has, has], bool), np.array([0, 0, 0, has], bool)],
        )
        for dtype, has in ((ml_dtypes.float8_e5m2, True), (ml_dtypes.float8_e4m3fn, False))
    },
    "signs of zeros": (lambda op, x: (op.Neg(x), op.Abs(x)), (f32(0.0, -0.0),), [f32(-0.0, 0.0), f32(0.0, 0.0)]),
    "bytes wrap": (
        lambda op, a, b: op.Add(a, b),
        (np.array([250, 1], np.uint8), np.array([10, 1], np.uint8)),
        np.array([4, 2], np.uint8),
    ),
    "to bool": (lambda op, x: op.Cast(x, to=to(DType.BOOL)), (f32(0, -0.0, 0.5, -3),), np.array([0, 0, 1, 1], bool)),
    "from bool": (lambda op, x: op.Cast(x, to=to(DType.FLOAT32)), (np.array([True, False]),), f32(1, 0)),
    "integers are cut": (
        lambda op, x: op.Cast(x, to=to(DType.INT8)),
        (i32(127, 128, -129, 256),),
        np.array([127, -128, 127, 0], np.int8),
    ),
    "floats become bytes as integers do": (
        lambda op, x: op.Cast(x, to=to(DType.UINT8)),
        (f32(-1, 256.5, 255, 2),),
        np.array([255, 0, 255, 2], np.uint8),
    ),
    "floats are cut": (lambda op, x: op.Cast(x, to=to(DType.INT32)), (f32(1.9, -1.9, 0.5),), i32(1, -1, 0)),
    "float8 stops at its largest": (
        lambda op, x: op.Cast(x, to=to(DType.FLOAT8E4M3FN)),
        (f32(1000, -INF, NAN, 1.1),),
        np.array([448, -448, NAN, 1.125], ml_dtypes.float8_e4m3fn),
    ),
    "float8 without saturation": (
        lambda op, x: op.Cast(x, to=to(DType.FLOAT8E5M2), saturate=0),
        (f32(1e6, -INF, NAN, 1.1),),
        np.array([INF, -INF, NAN, 1.0], ml_dtypes.float8_e5m2),
    ),
    "choices are spread": (
        lambda op, c, a, b: op.Where(c, a, b),
        (np.array([[True], [False]]), f32(1, 2), f32([[5, 6], [7, 8]])),
        f32([[1, 2], [7, 8]]),
    ),
    "inverse functions at their ends": (
        lambda op, x: (op.Asin(x), op.Acos(x), op.Atanh(x)),
        (f32(-1, 0, 1, 2),),
        [np.arcsin(f32(-1, 0, 1, NAN)), np.arccos(f32(-1, 0, 1, NAN)), f32(-INF, 0, INF, NAN)],
    ),
    "hyperbolic functions, small and large": (
        lambda op, x: (op.Sinh(x), op.Cosh(x), op.Asinh(x)),
        (f32(1e-5, -88.9, 0.5, -0.0),),
        [
            np.sinh(f32(1e-5, -88.9, 0.5, -0.0)),
            np.cosh(f32(1e-5, -88.9, 0.5, -0.0)),
            np.arcsinh(f32(1e-5, -88.9, 0.5, -0.0)),
        ],
    ),
    "of large numbers": (
        lambda op, x: (op.Asinh(x), op.Acosh(x)),
        (f32(3e38, 1e20),),
        [np.arcsinh(f32(3e38, 1e20)), np.arccosh(f32(3e38, 1e20))],
    ),
    # shapes
    "a size of 0 is the old one, -1 the rest": (lambda op, x: op.Reshape(x, ints(op, 0, -1)), (_X,), _X.reshape(2, 12)),
    "backwards slices": (
        lambda op, x: op.Slice(x, ints(op, -1, 3), ints(op, -100, 0), ints(op, 1, 2), ints(op, -1, -2)),
        (_X,),
        _X[:, ::-1, 3:0:-2],
    ),
    "slices beyond the end": (
        lambda op, x: op.Slice(x, ints(op, 1, 5), ints(op, 100, 9), ints(op, 0, 2)),
        (_X,),
        _X[1:, :, 5:],
    ),
    "pads that take away": (
        lambda op, x: op.Pad(x, ints(op, 0, -1, 2, 0, 1, -1), op.const(7.0)),
        (_X,),
        np.pad(_X[:, 1:, :3], ((0, 0), (0, 1), (2, 0)), constant_values=7),
    ),
    **{
        f"pads of mode {mode}": (
            lambda op, x, mode=mode: op.Pad(x, ints(op, 3, 2), None, ints(op, 1), mode=mode),
            (_X,),
            np.pad(_X, ((0, 0), (3, 2), (0, 0)), mode=mode),
        )
        for mode in ("reflect", "edge", "wrap")
    },
    "tiles": (lambda op, x: op.Tile(x, ints(op, 2, 1, 3)), (_X,), np.tile(_X, (2, 1, 3))),
    "expansion both ways": (
        lambda op, x: op.Expand(x, ints(op, 2, 1, 4)),
        (f32([[1], [2], [3]]),),
        np.broadcast_to(f32([[1], [2], [3]]), (2, 3, 4)),
    ),
    "an uneven split": (
        lambda op, x: op.Split(x, axis=-1, num_outputs=3, _outputs=3),
        (f32(1, 2, 3, 4, 5, 6, 7),),
        [f32(1, 2, 3), f32(4, 5, 6), f32(7)],
    ),
    "upper triangles": (lambda op, x: op.Trilu(x, op.const(np.int64(-1))), (_X,), np.triu(_X, -1)),
    "no upper triangle": (lambda op, x: op.Trilu(x, op.const(np.int64(2**63 - 1))), (_X,), np.zeros_like(_X)),
    "no lower triangle, moved when it runs": (
        lambda op, x, k: op.Trilu(x, k, upper=0),
        (_X, np.array(-(2**63), np.int64)),
        np.zeros_like(_X),
    ),
    "lower triangles, moved when it runs": (
        lambda op, x, k: op.Trilu(x, k, upper=0),
        (_X, np.int64(1) * np.ones((), np.int64)),
        np.tril(_X, 1),
    ),
    "no elements": (
        lambda op, x: op.Concat(x, x, axis=1),
        (np.zeros((2, 0, 3), np.float32),),
        np.zeros((2, 0, 3), np.float32),
    ),
    # indices
    "indices from the end": (
        lambda op, x, i: op.Gather(x, i, axis=1),
        (_X, i64([0, -1], [-3, 2])),
        np.take(_X, [[0, -1], [-3, 2]], 1),
    ),
    "one index when it runs": (lambda op, x, i: op.Gather(x, i, axis=2), (_X, np.array(-2, np.int64)), _X[:, :, 2]),
    "known indices": (
        lambda op, x: op.Gather(x, op.const(np.array([3, 1, -4, 0], np.int64)), axis=-1),
        (_X,),
        _X[..., [3, 1, 0, 0]],
    ),
    "elements along an axis, fewer than there are": (
        lambda op, x, i: op.GatherElements(x, i, axis=1),
        (_X, i64([[-1, 0], [1, 1]])),
        np.take_along_axis(_X[:1, :, :2], i64([[2, 0], [1, 1]]), 1),
    ),
    "points in batches": (
        lambda op, x, i: op.GatherND(x, i, batch_dims=1),
        (_X, i64([[-1, 0]], [[0, -2]])),
        f32([8], [14]),
    ),
    "none along an axis of nothing": (
        lambda op, x, i: (op.GatherElements(x, i, axis=1), op.Gather(x, i, axis=1)),
        (np.zeros((2, 0), np.float32), np.zeros((2, 0), np.int64)),
        [np.zeros((2, 0), np.float32), np.zeros((2, 2, 0), np.float32)],
    ),
    "elements that are added to": (
        lambda op, x, i, u: op.ScatterElements(x, i, u, axis=0, reduction="add"),
        (f32([1, 2], [3, 4]), i64([0, -1], [0, 0]), f32([10, 20], [30, 40])),
        f32([41, 42], [3, 24]),
    ),
    "elements on a part of the other axes": (
        lambda op, x, i, u: op.ScatterElements(x, i, u, axis=1),
        (np.zeros((2, 3), np.float32), i64([2, 0]), f32([5, 6])),
        f32([6, 0, 5], [0, 0, 0]),
    ),
    "points that are multiplied": (
        lambda op, x, i, u: op.ScatterND(x, i, u, reduction="mul"),
        (f32(1, 2, 3), i64([-1], [-1], [0]), f32(2, 5, 7)),
        f32(7, 2, 30),
    ),
    "positions beyond the depth are nowhere": (
        lambda op, i: op.OneHot(i, op.const(np.int64(3)), op.const(np.array([0.0, 1.0], np.float32))),
        (i64(0, -1, 3, -4),),
        f32([1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]),
    ),
    "sequences turned round": (
        lambda op, x, n: op.ReverseSequence(x, n, time_axis=1, batch_axis=0),
        (f32([1, 2, 3], [4, 5, 6]), i64(2, 3)),
        f32([2, 1, 3], [6, 5, 4]),
    ),
    # reductions
    "nothing to reduce over": (lambda op, x: op.ReduceSum(x, None, noop_with_empty_axes=1), (f32(1, 2),), f32(1, 2)),
    "the largest of nothing": (
        lambda op, x: op.ReduceMax(x, ints(op, 1), keepdims=0),
        (np.zeros((2, 0), np.float32),),
        f32(-INF, -INF),
    ),
    "the largest with NaN": (lambda op, x: op.ReduceMax(x, keepdims=0), (f32(1, NAN, 3),), np.float32(NAN)),
    "the smallest of bytes": (
        lambda op, x: op.ReduceMin(x, ints(op, 0), keepdims=1),
        (np.array([3, -128, 5], np.int8),),
        np.array([-128], np.int8),
    ),
    "a mean of integers truncates": (
        lambda op, x: op.ReduceMean(x, ints(op, 1), keepdims=0),
        (i32([1, 2], [-1, -2]),),
        i32(1, -1),
    ),
    "a mean of integers whose sum their type doesn't hold": (
        lambda op, x: op.ReduceMean(x, ints(op, 1), keepdims=0),
        (i32([2**31 - 1, 2**31 - 3], [-(2**31), -(2**31) + 5]),),
        i32(2**31 - 2, -(2**31) + 3),
    ),
    "a product of halves that float16 doesn't hold before it is scaled": (
        lambda op, x, y: op.Gemm(x, y, y, alpha=0.5),
        (np.array([[300]], np.float16), np.array([[300]], np.float16)),
        np.array([[45312]], np.float16),
    ),
    "the integers' mean of nothing, as in ONNX Runtime": (
        lambda op, x: op.ReduceMean(x, ints(op, 1), keepdims=0),
        (np.zeros((2, 0), np.int32),),
        i32(0, 0),
    ),
    "a sum of halves that float16 can't count": (
        lambda op, x: op.ReduceSum(x, keepdims=0),
        (np.ones(4096, np.float16),),
        np.float16(4096),
    ),
    "logarithms of sums of what overflows": (
        lambda op, x: op.ReduceLogSumExp(x, ints(op, 1), keepdims=0),
        (f32([1000, 1000], [-INF, -INF]),),
        f32(1000 + np.log(2), -INF),
    ),
    "ties to the first and to the last": (
        lambda op, x: (
            op.ArgMax(x, axis=1, keepdims=0),
            op.ArgMax(x, axis=1, keepdims=0, select_last_index=1),
            op.ArgMin(x, axis=1, keepdims=0),
        ),
        (f32([2, 7, 7, 1], [-INF, -INF, -INF, -INF]),),
        [i64(1, 0), i64(2, 3), i64(3, 0)],
    ),
    "the two largest, ties by place": (
        lambda op, x: op.TopK(x, ints(op, 3), axis=0, _outputs=2),
        (f32(0.0, 5, -0.0, 5, -1),),
        [f32(5, 5, 0.0), i64(1, 3, 0)],
    ),
    "the smallest": (
        lambda op, x: op.TopK(x, ints(op, 2), axis=0, largest=0, _outputs=2),
        (i32(3, -1, -1, 2),),
        [i32(-1, -1), i64(1, 2)],
    ),
    "running sums from the end, without themselves": (
        lambda op, x: op.CumSum(x, op.const(np.int64(0)), exclusive=1, reverse=1),
        (i32(1, 2, 3, 4),),
        i32(9, 7, 4, 0),
    ),
    "running sums": (
        lambda op, x: op.CumSum(x, op.const(np.int64(-1))),
        (f32([1, 2, 3], [4, 5, 6]),),
        f32([1, 3, 6], [4, 9, 15]),
    ),
    # products
    "a vector by matrices": (
        lambda op, a, b: op.MatMul(a, b),
        (f32(1, 2, 3), _X.transpose(0, 1, 2)),
        np.matmul(f32(1, 2, 3), _X),
    ),
    "batches that are spread": (
        lambda op, a, b: op.MatMul(a, b),
        (_X[:, None], _X.transpose(0, 2, 1)),
        np.matmul(_X[:, None], _X.transpose(0, 2, 1)),
    ),
    "a matrix by matrices": (
        lambda op, a, b: op.MatMul(a, b),
        (f32([1, 2, 3], [4, 5, 6]), _X),
        np.matmul(f32([1, 2, 3], [4, 5, 6]), _X),
    ),
    "Gemm": (
        lambda op, a, b, c: op.Gemm(a, b, c, alpha=2.0, beta=0.5, transA=1, transB=1),
        (f32([1, 2], [3, 4]), f32([1, 0], [2, 1]), f32(10, 20)),
        2 * f32([1, 2], [3, 4]).T @ f32([1, 0], [2, 1]).T + f32(5, 10),
    ),
    **{
        f"a slice that starts at {start}, as data says": (
            lambda op, x, a: op.Slice(
                x, a, op.Add(a, ints(op, 2)), ints(op, -2), _types=[TensorType(DType.FLOAT32, (2, 2, 4))]
            ),
            (_X, i64(start)),
            _X[:, first : first + 2],
        )
        for start, first in ((0, 0), (1, 1), (-3, 0))
    },
    "MatMulInteger": (
        lambda op, *values: op.MatMulInteger(*values),
        (np.uint8([[255, 1], [2, 3]]), np.int8([[-128, 4], [5, 6]]), np.uint8([1, 128]), np.int8([-1, 2])),
        i32([254 * -127 + 0 * 6, 254 * 2 + 0 * 4], [-126 * -127 + -125 * 6, -126 * 2 + -125 * 4]),
    ),
    "MatMulInteger without zero points": (
        lambda op, *values: op.MatMulInteger(*values),
        (np.uint8([[255, 1], [2, 3]]), np.uint8([[200, 4], [5, 6]])),
        i32([51005, 1026], [415, 26]),
    ),
    **{
        f"the sum {equation}": (
            lambda op, *values, equation=equation: op.Einsum(*values, equation=equation),
            arrays,
            np.einsum(equation, *arrays),
        )
        for equation, arrays in {
            "ii->i": (np.arange(9, dtype=np.float32).reshape(3, 3),),
            "bij,bjk->kbi": (_X, _X.transpose(0, 2, 1)),
            "...ij,...j->...": (_X, _X[..., :4]),
            "i,j,ij->": (f32(1, 2), f32(1, 2, 3), f32([1, 2, 3], [4, 5, 6])),
            "ij,jk,kl": (f32([1, 2]), f32([1, 2], [3, 4]), f32([1], [2])),
            "ij,jk->ik": (f32([1], [2]), f32([1, 2], [3, 4], [5, 6])),
            "ij,j->ij": (f32([1], [2]), f32(1, 2, 3)),
        }.items()
        if "...j->" not in equation
    },
}


@pytest.mark.parametrize("name", _CASES)
def test_operators_at_their_edges(xla: Xla, name: str) -> None:
    make, arrays, wanted = _CASES[name]
    graph, feeds = built(make, *arrays)
    (found,) = xla.lowered(graph, feeds)
    expected = wanted if isinstance(wanted, list) else [wanted]
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        other = np.asarray(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if other.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other)
        else:
            one, other = one.astype(np.float64), other.astype(np.float64)
            np.testing.assert_allclose(one, other, 2e-6)
            np.testing.assert_array_equal(np.signbit(one[one == 0]), np.signbit(other[one == 0]))


# what is refused ----------------------------------------------------------------------------------

_REFUSED: dict[str, tuple[Make, tuple[np.ndarray, ...], str]] = {
    "sizes": (lambda op, x, n: op.Reshape(x, n), (_X, i64(2, 12)), "its sizes must be known before the model runs"),
    "axes": (lambda op, x, a: op.ReduceSum(x, a), (_X, i64(1)), "its axes must be known"),
    "starts": (lambda op, x, a: op.Slice(x, a, ints(op, 2)), (_X, i64(1)), "the shape of 'slice' is known only"),
    "places": (lambda op, x: op.NonZero(x), (_X,), "NonZero.*known only when the model runs"),
    "groups": (lambda op, x: op.Unique(x), (_X,), "Unique.*known only when the model runs"),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_what_depends_on_data_is_refused_by_name(name: str) -> None:
    make, arrays, reason = _REFUSED[name]
    graph, _ = built(make, *arrays)
    with pytest.raises(Unsupported, match=reason):
        lower_graph(graph)


def test_open_inputs_are_refused_with_a_hint() -> None:
    m = Model()
    m.output(m.op.Neg(m.input("x", "float32", "N", 3)))
    with pytest.raises(Unsupported, match=r"'x'.*--shape"):
        lower_graph(m.graph)


def test_text_is_refused() -> None:
    m = Model()
    m.output(m.op.Identity(m.input("x", "string", 2)))
    with pytest.raises(Unsupported, match="no element type string"):
        lower_graph(m.graph)


def test_contradictions_are_no_crash() -> None:
    for make in (
        lambda op, x: op.Reshape(x, ints(op, 5, 5)),
        lambda op, x: op.Squeeze(x, ints(op, 0)),
        lambda op, x: op.Split(x, ints(op, 1, 7), axis=1, _outputs=2),
        lambda op, x: op.Slice(x, ints(op, 0), ints(op, 1), ints(op, 0), ints(op, 0)),
    ):
        graph, _ = built(make, _X)
        with pytest.raises((InvalidModel, Unsupported)):
            lower_graph(graph)


# what it looks like -------------------------------------------------------------------------------


def lines(make: Make, *arrays: np.ndarray) -> list[str]:
    """The instructions of the entry computation, without parameters."""
    graph, _ = built(make, *arrays)
    entry = to_text(lower_graph(graph)).partition("ENTRY")[2].splitlines()[1:-1]
    return [line.strip() for line in entry if line.strip() not in ("", "}") and "parameter(" not in line]


def test_one_operator_is_one_instruction() -> None:
    assert lines(lambda op, a, b: op.Add(a, b), _X, _X) == ["ROOT add = f32[2,3,4] add(x0, x1)"]
    (only,) = lines(lambda op, a, b: op.MatMul(a, b), _X, f32([1, 2, 3, 4]).T)
    assert "dot(x0, x1), lhs_contracting_dims={2}, rhs_contracting_dims={0}" in only
    (only,) = lines(lambda op, x: op.Slice(x, ints(op, 1), ints(op, 3), ints(op, 1)), _X)
    assert "slice={[0:2], [1:3], [0:4]}" in only


def test_reshapes_come_together_and_shapes_are_no_instructions() -> None:
    def make(op: Builder, x: Value) -> Value:
        rows = op.Gather(op.Shape(x), op.const(np.int64(0)))
        shape = op.Concat(op.Unsqueeze(rows, ints(op, 0)), ints(op, -1), axis=0)
        return op.Unsqueeze(op.Reshape(op.Unsqueeze(x, ints(op, 0)), shape), ints(op, 1))

    (only,) = lines(make, _X)
    assert only.partition(", metadata=")[0].endswith("f32[2,1,12] reshape(x0)")


def test_a_softmax_reads_as_one() -> None:
    opcodes = [line.partition(" = ")[2].split("(")[0].split()[-1] for line in lines(lambda op, x: op.Softmax(x), _X)]
    assert [opcode for opcode in opcodes if opcode != "constant"] == [
        "reduce", "broadcast", "subtract", "exponential", "reduce", "broadcast", "divide",
    ]  # fmt: skip


def test_inputs_and_outputs_keep_their_names_even_where_they_are_the_same(xla: Xla) -> None:
    m = Model()
    x = m.input("x", "float32", 2)
    m.output(m.op.Identity(x), m.op.Identity(x), m.op.const(np.float32(3)))
    for value, name in zip(m.graph.outputs, ("a", "b", "c"), strict=True):
        value.name = name
    lowered = lower_graph(m.graph)
    assert [value.name for value in (*lowered.inputs, *lowered.outputs)] == ["x", "a", "b", "c"]
    ((a, b, c),) = xla.run(to_text(lowered), {"x": f32(1, 2)})
    assert a.tolist() == b.tolist() == [1, 2] and c == 3


@pytest.mark.parametrize("base", [np.float16, np.float32])
@pytest.mark.parametrize("exponent", [np.float32, np.float64, np.int32, np.int64])
def test_powers_whose_exponents_the_base_has_no_numbers_for(xla: Xla, base: Any, exponent: Any) -> None:
    """As ONNX Runtime has them: -1 to an odd number, 2 to 2.0000001 in float64, 0.999 to less than float16 has."""
    x = np.array([-1, 1.001, 2, 3, 0.5, 0.999], base)
    p = np.array([2**24 + 1, 3, -1, 2.0000001, 1e-7, 70_000]).astype(exponent)
    graph, feeds = built(lambda op, x, p: op.Pow(x, p), x, p)
    ((found,),) = xla.lowered(graph, feeds)
    np.testing.assert_array_equal(found, np.power(x.astype(np.float64), p.astype(np.float64)).astype(base))


_POWERS = [
    *[(-1, -2, 1), (-1, -3, -1), (1, -5, 1), (2, -1, 0), (-2, -1, 0), (-1, -128, 1)],
    *[(0, 64, 0), (0, 127, 0), (1, 64, 1), (-1, 64, 1), (-1, 65, -1), (0, 0, 1), (-3, 3, -27), (2, 30, 2**30)],
]


@pytest.mark.parametrize("base", ["int32", "int64"])
@pytest.mark.parametrize("exponent", ["int8", "int32", "int64"])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("looped", [False, True])
def test_powers_of_integers(xla: Xla, base: str, exponent: str, known: bool, looped: bool) -> None:
    """As ONNX Runtime has them: XLA looks at six bits of the exponent, and in a While it has 0 for 1 over -1."""
    count = len(_POWERS)
    x, k, expected = (np.array(column) for column in zip(*_POWERS, strict=True))
    constant = f"{exponent}[{count}] k = {{{', '.join(map(str, k))}}}"
    text = "y = Pow (x, k)"
    if looped:
        text = f"""y = Loop (n, "", x) <body = b (int64 i, bool go, {base}[{count}] v) => (bool o, {base}[{count}] p) {{
            o = Identity (go) p = Pow (v, k) }}>"""
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> g ({base}[{count}] x{"" if known else f", {exponent}[{count}] k"})
        => ({base}[{count}] y) <int64 n = {{1}}{f", {constant}" if known else ""}> {{ {text} }}"""
    )
    feeds = {"x": x.astype(base)} | ({} if known else {"k": k.astype(exponent)})
    ((found,),) = xla.lowered(to_hub(read_model(model)), feeds)
    np.testing.assert_array_equal(found, expected.astype(base), strict=True)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("largest", [1, 0])
def test_nan_of_either_sign_is_sorted_alike(xla: Xla, kind: Any, largest: int) -> None:
    """Processors make NaN whose sign is set of 0 / 0, which the total order has below all numbers."""
    x = np.array([1, np.nan, 3, -np.nan, -np.inf, 0, -0.0, np.inf], kind)
    assert np.signbit(x).tolist() == [False, False, False, True, True, False, True, False]
    graph, feeds = built(lambda op, x: op.TopK(x, ints(op, 8), largest=largest, _outputs=2), x)
    ((_, places),) = xla.lowered(graph, feeds)
    assert places.tolist() == ([1, 3, 7, 2, 0, 5, 6, 4] if largest else [4, 5, 6, 0, 2, 7, 1, 3])


@pytest.mark.parametrize(("number", "bits"), [(2, 8), (4, 16), (12, 32), (13, 64)])
def test_floats_below_0_as_unsigned_integers(xla: Xla, number: int, bits: int) -> None:
    """Their lowest bits, as in ONNX Runtime and NumPy; ONNX leaves it open."""
    graph, feeds = built(lambda op, x: op.Cast(x, to=number), f32(-1, -2.5, -0.5, 3.7, 100))
    ((found,),) = xla.lowered(graph, feeds)
    assert found.dtype == np.dtype(f"uint{bits}")
    assert found.tolist() == [2**bits - 1, 2**bits - 2, 0, 3, 100]


@pytest.mark.parametrize("source", [DType.BOOL, DType.INT8, DType.UINT8, DType.FLOAT8E5M2])
@pytest.mark.parametrize("target", [DType.BOOL, DType.INT8, DType.UINT8, DType.FLOAT8E5M2])
def test_bits_of_bytes(xla: Xla, source: DType, target: DType) -> None:
    """A bool is a byte that is 0 or 1; XLA takes no bits of its own for it."""
    data = np.array([0, 1, 1, 0], np.uint8)
    graph, feeds = built(lambda op, x: op.BitCast(x, to=to(target)), data.view(source.numpy))
    ((found,),) = xla.lowered(graph, feeds)
    assert found.dtype == target.numpy
    np.testing.assert_array_equal(found.view(np.uint8), data)


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("Atanh", [0.41266913868945476, -0.4080299731703759, 0.4034958231482597, 0.00934303, -1e-9, 0.99, -0.99]),
        ("Acosh", [1.0002690457796768, 1.0000000001, 1.0060868289188676, 1.5, 30, 1e200, 1e308]),
    ],
)
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_inverse_functions_where_they_are_small(xla: Xla, name: str, x: list[float], kind: str) -> None:
    """By NumPy in longdouble: XLA's log1p of float64 is 100 units off near -0.41, and 1 + x has few digits of x."""
    given = np.minimum(np.array(x), 3e38).astype(kind)
    graph, feeds = built(lambda op, value: getattr(op, name)(value), given)
    ((found,),) = xla.lowered(graph, feeds)
    function = np.arctanh if name == "Atanh" else np.arccosh
    exact = function(given.astype(np.longdouble))
    assert found.dtype == given.dtype
    assert (np.abs(found - exact) <= 4 * np.spacing(np.abs(found))).all()
