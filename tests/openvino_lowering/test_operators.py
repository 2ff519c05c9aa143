"""Operators that need more than another name in OpenVINO, and where its CPU differs from ONNX.

Expected values are NumPy's or counted by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.raising import raise_graph as openvino_hub
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.types import DType
from backedge.runtime.executor import Executor
from onnx import TensorProto, helper, parser

from .hub import boolean, f32, i64
from .runner import Runner
from .sweep import difference

NAN, INF = np.nan, np.inf
MOST = np.finfo(np.float32).max


def graph_of(text: str, opset: int = 28) -> Graph:
    header = f'<ir_version: 14, opset_import: ["": {opset}]>\n'
    return raise_graph(read_model(parser.parse_model(header + text)))


@dataclass(frozen=True)
class Row:
    """A graph in ONNX's text form, its inputs in order, what it must give."""

    name: str
    text: str
    inputs: Sequence[Any]
    expected: Sequence[Any]


def u8(value: Any) -> np.ndarray:
    return np.array(value, np.uint8)


def i8(value: Any) -> np.ndarray:
    return np.array(value, np.int8)


def i32(value: Any) -> np.ndarray:
    return np.array(value, np.int32)


GRID = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
STACK = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
SOME = f32([[-2.5, -0.5, 0], [0.5, 1.5, 2.5]])

WIDE = [[2147483647, 16777217, -16777219], [123456789, -2147483647, 2147483645]]
ROWS = [
    # 64 bits, which OpenVINO's CPU shifts as 32
    Row(
        "shifts by 32 and more",
        'g (uint64[4] x, uint64[4] n) => (uint64[4] y) { y = BitShift <direction = "RIGHT"> (x, n) }',
        [np.array([6, 6, 6, 6], np.uint64), np.array([1, 32, 63, 64], np.uint64)],
        [np.array([3, 0, 0, 0], np.uint64)],
    ),
    # the scale of nothing but zeros is 1 in ONNX Runtime; 0 / 0 by the function body
    Row(
        "a quantizer of zeros",
        "g (float[3] x) => (uint8[3] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }",
        [f32([0, 0, 0])],
        [u8([0, 0, 0]), f32(1), u8(0)],
    ),
    # the angle of the only element is 0 / 0, in ONNX Runtime, too
    Row(
        "windows of one element, of a size that is known",
        "g (float[1] x) => (float[1] y, float[1] z) <int64 n = {1}> "
        "{ v = HannWindow <periodic = 0> (n) y = Add (x, v) w = HannWindow <periodic = 1> (n) z = Add (x, w) }",
        [f32([2])],
        [f32([NAN]), f32([2])],
    ),
    *[
        Row(
            f"the logarithm of sums over axes {axes}",
            "g (float[m, n] x, int64[k] a) => (float[p, q] y) "
            "{ y = ReduceLogSumExp <noop_with_empty_axes = 1> (x, a) }",
            [f32([[0, 0], [0, 0]]), i64(axes)],
            [np.full(shape, np.log(np.float32(4 / np.prod(shape))), np.float32)],
        )
        for axes, shape in (([], (2, 2)), ([1], (2, 1)), ([0, -1], (1, 1)))
    ],
    Row(
        "the logarithm of exp(-0)",
        "g (float x, float[1] u, int32[1] n) => (float y, float[1] z, int32[1] k) "
        "{ l = ReduceLogSumExp <keepdims = 0> (x) m = ReduceLogSumExp <noop_with_empty_axes = 1> (u) "
        "y = Reciprocal (l) z = Reciprocal (m) k = ReduceLogSumExp <noop_with_empty_axes = 1> (n) }",
        [f32(-0.0), f32([-0.0]), i32([-7])],
        [f32(INF), f32([INF]), i32([-7])],
    ),
    # OpenVINO's CPU takes one at least
    *[
        Row(
            f"the {k} largest",
            "g (float[2, 3] x, int64[1] k) => (float[2, m] y, int64[2, m] i, float[0, 3] z) <int64[1] none = {0}> "
            "{ y, i = TopK (x, k) z, j = TopK <axis = 0> (x, none) }",
            [GRID, i64([k])],
            [GRID[:, ::-1][:, :k], i64([[2, 1, 0]] * 2)[:, :k], np.zeros((0, 3), np.float32)],
        )
        for k in (0, 1, 3)
    ],
    *[
        Row(
            f"the {k} largest of {declared}, which are {size}",
            f"g ({kind}[2, {declared}] x, int64[1] k) => ({kind}[2, m] y, int64[2, m] i) {{ y, i = TopK (x, k) }}",
            [GRID.astype(dtype)[:, :size], i64([k])],
            [GRID.astype(dtype)[:, :size][:, ::-1][:, :k], i64([list(range(size))[::-1]] * 2)[:, :k]],
        )
        for declared, size, k in (("0", 0, 0), ("n", 0, 0), ("n", 3, 2), ("n", 3, 0))
        for kind, dtype in (("float16", np.float16), ("int64", np.int64))
    ],
    # OpenVINO makes constants of columns a part of the product, which it then doesn't compile
    *[
        Row(
            f"{kind} by columns of which the number is open",
            f"g (float[m, k] x, float[k, n] w) => (float[m, n] y) <float[1, 2] c = {{2, -4}}> {{ {text} }}",
            [f32([[1, 2], [3, -4]]), f32([[1, 0], [0, -1]])],
            [f32(right)],
        )
        for kind, text, right in (
            ("a bias", "p = MatMul (x, w) y = Add (p, c)", [[3, -6], [5, 0]]),
            ("a scaled bias", "y = Gemm <alpha = 2.0, beta = 0.5> (x, w, c)", [[3, -6], [7, 6]]),
            ("a bias of a transposed product", "y = Gemm <transB = 1> (x, w, c)", [[3, -6], [5, 0]]),
            ("factors behind what is alone", "p = MatMul (x, w) r = Relu (p) y = Mul (c, r)", [[2, 0], [6, -16]]),
            ("slopes", "p = MatMul (x, w) n = Neg (p) s = Neg (c) y = PRelu (n, s)", [[2, 2], [6, -16]]),
            ("differences", "p = MatMul (x, w) y = Sub (c, p)", [[1, -2], [-1, -8]]),
            ("a bias of a sum", 'p = Einsum <equation = "ij,kj->ik"> (x, w) y = Add (p, c)', [[3, -6], [5, 0]]),
        )
    ],
    *[
        Row(
            f"{name} of one number and a row",
            f"g (float[m, k] x, float[k, n] w) => (float[m, n] y) <float[2] c = {{2, 2}}> "
            f"{{ p = {text} y = Add (p, c) }}",
            [f32([[1]]), f32([[1, 0]])],
            [f32([[3, 2]])],
        )
        for name, text in (("a product", "MatMul (x, w)"), ("a sum", 'Einsum <equation = "ij,jk->ik"> (x, w)'))
    ],
    Row(
        "a bias from outside by columns of which the number is open",
        """g (int64 t, float[m, k] x, float[k, n] w) => (float[m, n] y, float[t, m, n] z) <float[2] c = {2, -4}> {
            y, z = Loop <body = b (int64 i, bool go, float[?, ?] v) => (bool on, float[?, ?] u, float[?, ?] part) {
                on = Identity (go) p = MatMul (v, w) u = Add (p, c) part = Mul (p, c) }> (t, , x) }""",
        [np.array(2), f32([[1, 2], [3, -4]]), f32([[1, 0], [0, -1]])],
        [f32([[5, 2], [7, -4]]), f32([[[2, 8], [6, -16]], [[6, -24], [10, 0]]])],
    ),
    # OpenVINO loads no Einsum of nothing
    *[
        Row(
            f"an Einsum of {kind} over an axis without elements",
            f"g ({kind}[3, 0, 2] x) => ({kind}[3, 2, 2] y, {kind}[3, 2, 2] z) <{kind}[3, 2, 0] none = {{}}> "
            '{ y = Einsum <equation = "...ij,...jk->...ik"> (none, x) z = MatMul (none, x) }',
            [np.zeros((3, 0, 2), dtype)],
            [np.zeros((3, 2, 2), dtype)] * 2,
        )
        for kind, dtype in (("int64", np.int64), ("float", np.float32), ("float16", np.float16))
    ],
    # OpenVINO's Select of bools isn't loaded where the condition is chosen, too
    *[
        Row(
            f"a choice of {then} or {otherwise}",
            "g (float x, bool[2] b) => (bool[2] y) <float zero = {0}> "
            f"{{ c = Less (x, zero) d = Less (x, zero) y = Where (c, {then}, {otherwise}) }}",
            [np.float32(x), np.array([True, False])],
            [np.where(x < 0, *({"b": [True, False]}.get(one, x < 0) for one in (then, otherwise)))],
        )
        for then, otherwise in (("c", "b"), ("b", "c"), ("d", "b"), ("b", "b"))
        for x in (-1, 1)
    ],
    # OpenVINO's CPU rounds quotients of 8 bits to the nearest
    Row(
        "quotients of small integers",
        "g (int8[4] x, int8[4] y, uint8[3] u, uint8[3] v) => (int8[4] q, uint8[3] w) { q = Div (x, y) w = Div (u, v) }",
        [i8([-128, 127, -127, 8]), i8([3, -4, -128, 3]), u8([255, 3, 249]), u8([2, 2, 253])],
        [i8([-42, -31, 0, 2]), u8([127, 1, 0])],
    ),
    # of windows that end behind the padding it counts all that they span, ONNX none that lies behind it: 5 / 2
    Row(
        "averages of windows that end behind the padding",
        "g (float[1, 1, 6] x, float[1, 1, n] u) => (float[1, 1, 4] y, float[1, 1, m] v, float[1, 1, 3] z) { "
        "y = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1, count_include_pad = 1> (x) "
        "v = AveragePool <kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1, count_include_pad = 1> (u) "
        "w = Concat <axis = 2> (x, x) z = AveragePool <kernel_shape = [2],"
        " strides = [5], pads = [0, 1], ceil_mode = 1, count_include_pad = 1> (w) }",
        [f32([[[0, 1, 2, 3, 4, 5]]]), f32([[[6, 12]]])],
        [f32([[[1 / 3, 2, 4, 2.5]]]), f32([[[6, 6]]]), f32([[[0.5, 2.5, 4.5]]])],
    ),
    Row(
        "wrapping what is left after negative pads",
        "g (float[2, 3] x, int64[4] p) => (float[m, n] y, float[1, 4] z) <int64[4] k = {-1, -1, 0, 2}> "
        '{ y = Pad <mode = "wrap"> (x, p) z = Pad <mode = "wrap"> (x, k) }',
        [GRID, i64([1, 1, -1, -1])],
        [f32([[1, 0, 1], [1, 0, 1]]), f32([[4, 5, 4, 5]])],
    ),
    Row(  # OpenVINO's Pad writes beyond its memory then
        "padding: amounts that take more than there is, of the number around it, too",
        "g (float[2, 3] x, int64[4] p) => (float[m, n] y, float[3, 1] z) <int64[4] k = {2, 4, -1, -6}, float v = {7}> "
        "{ y = Pad (x, p, v) z = Pad (x, k, v) }",
        [GRID, i64([-3, 2, 4, -4])],
        [f32([[7]] * 3), f32([[7]] * 3)],
    ),
    Row(
        "regions without an area",
        "g (float[1, 1, 2, 2] x, float[3, 4] r, int64[3] b) => (float[3, 1, 1, 1] y) { y = RoiAlign (x, r, b) }",
        [f32([[[[4, 4], [4, 4]]]]), f32([[0, 0, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1]]), i64([0, 0, 0])],
        [f32([4, 0, 0]).reshape(3, 1, 1, 1)],
    ),
    # what ONNX Runtime refuses is written nowhere, not beside the result
    Row(
        "unpooling to places outside",
        "g (float[1, 1, 2, 2] x, int64[1, 1, 2, 2] i) => (float[1, 1, 4, 4] y, float[1, 1, 4, 5] z) "
        "<int64[4] s = {1, 1, 4, 5}> { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i) "
        "z = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }",
        [f32([[[[1, 2], [3, 4]]]]), i64([[[[-17, 5], [1 << 20, 16]]]])],
        [
            f32([[[[0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]]]),
            f32([[[[0, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]]]),
        ],
    ),
    # reductions and what OpenVINO's CPU joins to them
    Row(
        "sums of the last of three axes, and a constant for each column",
        "g (float[n, 3, 4] x) => (float[n, 3] a, float[n, 3] b, float[n, 3] c, float[n, 3] d) "
        "<float[1, 3] k = {10, 20, 30}, int64[1] at = {2}, int64[1] last = {-1}> "
        "{ s = ReduceSum <keepdims = 0> (x, at) "
        "a = Sub (k, s) t = ReduceMax <keepdims = 0> (x, last) u = Relu (t) b = Mul (u, k) "
        "m = ReduceMean <keepdims = 0> (x, at) c = Add (m, k) "
        "q = ReduceSumSquare <keepdims = 0> (x, at) d = Div (q, k) }",
        [CUBE],
        [
            f32([[4, -2, -8], [-44, -50, -56]]),  # sums 6, 22, 38, 54, 70, 86
            f32([[30, 140, 330], [150, 380, 690]]),  # largest 3, 7, 11, 15, 19, 23
            f32([[11.5, 25.5, 39.5], [23.5, 37.5, 51.5]]),
            f32([[1.4, 6.3, 12.2], [73.4, 61.5, 61.8]]),  # squares 14, 126, 366, 734, 1230, 1854
        ],
    ),
    Row(
        "sums of integers, and a constant: every one of them",
        "g (int32[7, 4, 2] x, int64[9, 5, 3] y) => (int32[7, 4] a, int64[9, 3] b, int32[7, 4, 1] c) "
        "<int32 two = {2}, int64 three = {3}, int64[1] last = {2}, int64[1] middle = {1}> "
        "{ s = ReduceSum <keepdims = 0> (x, last) a = Add (s, two) "
        "t = ReduceSum <keepdims = 0> (y, middle) b = Mul (t, three) u = ReduceMax (x, last) c = Neg (u) }",
        [np.ones((7, 4, 2), np.int32), np.ones((9, 5, 3), np.int64)],
        [np.full((7, 4), 4, np.int32), np.full((9, 3), 15, np.int64), np.full((7, 4, 1), -1, np.int32)],
    ),
    # OpenVINO's CPU reads what lies behind the half of a spectrum, if it is shorter: (1 + 2 cos(pi k / 2)) / 4
    Row(
        "a signal longer than its spectrum says, of a length that is known or isn't",
        "g (float[1, 2, 2] x, int64 m) => (float[1, 4, 1] y, float[1, k, 1] z) <int64 n = {4}, int64 a = {1}> "
        "{ y = DFT <inverse = 1, onesided = 1> (x, n, a) z = DFT <inverse = 1, onesided = 1> (x, m, a) }",
        [f32([[[1, 0], [1, 0]]]), np.array(4, np.int64)],
        [f32([0.75, 0.25, -0.25, 0.25]).reshape(1, 4, 1)] * 2,
    ),
    Row(
        "transforms of float64, of which OpenVINO has none: of 3 and 1 they are 4 and 2",
        "g (double[1, 2, 1] x) => (double[1, 2, 2] y, double[1, 1, 2, 2] z) <int64 n = {2}> "
        '{ y = DFT (x) z = STFT (x, n, "", n) }',
        [np.array([[[3.0], [1.0]]])],
        [np.array([[[4.0, 0], [2, 0]]]), np.array([[[[4.0, 0], [2, 0]]]])],
    ),
    # elementwise
    Row(
        "bounds of shape [1] are scalars, as ONNX Runtime has them, the wrong way round, too",
        "g (float[n] x, float s, float[1] lo, int32[3] k) => (float[n] a, float b, float c, int32[3] d, float[n] e) "
        "<float[1] one = {1}, float[1] two = {2}, int32[1] five = {5}> { a = Clip (x, one, two) b = Clip (s, lo) "
        'c = Clip (s, "", one) d = Clip (k, five) e = Clip (x, two, one) }',
        [f32([0, 1.5, 9]), f32(-3), f32([-1]), i32([4, 5, 6])],
        [f32([1, 1.5, 2]), f32(-1), f32(-3), i32([5, 5, 6]), f32([1, 1, 1])],
    ),
    Row(
        "integer division truncates",
        "g (int64[6] x, int64[6] y) => (int64[6] z) { z = Div (x, y) }",
        [i64([7, -7, 7, -7, 6, 0]), i64([2, 2, -2, -2, 3, 5])],
        [i64([3, -3, -3, 3, 2, 0])],
    ),
    Row(
        "integer modulo has the divisor's sign",
        "g (int64[4] x, int64[4] y) => (int64[4] z, int64[4] w) { z = Mod (x, y) w = Mod <fmod = 1> (x, y) }",
        [i64([7, -7, 7, -7]), i64([3, 3, -3, -3])],
        [i64([1, 2, -2, -1]), i64([1, -1, 1, -1])],
    ),
    Row(
        "modulo of infinity",
        "g (float[4] x, float[4] y) => (float[4] z) { z = Mod (x, y) }",
        [f32([3, -1, 3, 0]), f32([INF, INF, -INF, INF])],
        [f32([3, INF, -INF, 0])],
    ),
    Row(
        "8-bit integers wrap",
        "g (uint8[3] x, int8[3] y) => (uint8[3] a, uint8[3] b, uint8[3] c, int8[3] d, int8[3] e) "
        "{ a = Add (x, x) b = Mul (x, x) c = Sub (a, x) d = Add (y, y) e = Neg (y) }",
        [u8([200, 20, 1]), i8([100, -100, -128])],
        [u8([144, 40, 2]), u8([64, 144, 1]), u8([200, 20, 1]), i8([-56, 56, 0]), i8([-100, 100, -128])],
    ),
    Row(
        "fewer positions than elements",
        "g (float[n, 3] x, int64[m, 2] i) => (float[m, 2] y) { y = GatherElements <axis = 1> (x, i) }",
        [f32([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), i64([[2, 0], [-1, 1]])],
        [f32([[3, 1], [6, 5]])],
    ),
    Row(
        "power of mixed types",
        "g (float[3] x, int64[3] n, int32[3] k) => (float[3] a, int32[3] b, int32[3] c) "
        "{ a = Pow (x, n) b = Pow (k, n) c = Pow (k, x) }",
        [f32([2, 3, 0.5]), i64([3, 2, 2]), i32([2, -3, 4])],
        [f32([8, 9, 0.25]), i32([8, 9, 16]), i32([4, -27, 2])],
    ),
    Row(
        "shifts past the width",
        "g (int32[4] x, int32[4] n) => (int32[4] a, int32[4] b) "
        '{ a = BitShift <direction = "LEFT"> (x, n) b = BitShift <direction = "RIGHT"> (x, n) }',
        [i32([5, -5, 5, -5]), i32([1, 1, 32, 40])],
        [i32([10, -10, 0, 0]), i32([2, -3, 0, -1])],
    ),
    Row(
        "to bool anything but 0 is true",
        "g (float[4] x, bool[2] p) => (bool[4] y, float[2] z) { y = Cast <to = 9> (x) z = Cast <to = 1> (p) }",
        [f32([0.5, 0, -0.1, NAN]), boolean([True, False])],
        [boolean([True, False, True, True]), f32([1, 0])],
    ),
    Row(
        "to float8 it saturates, or not",
        "g (float[3] x) => (float[3] a, float[3] b, float[3] c) { p = Cast <to = 17> (x) a = Cast <to = 1> (p) "
        "q = Cast <to = 17, saturate = 0> (x) b = Cast <to = 1> (q) r = Cast <to = 19> (x) c = Cast <to = 1> (r) }",
        [f32([1e6, 1.5, -INF])],
        [f32([448, 1.5, -448]), f32([NAN, 1.5, NAN]), f32([57344, 1.5, -57344])],
    ),
    Row(
        "clip by constants, by values, by one bound, the wrong way round",
        "g (float[4] x, float lo) => (float[4] a, float[4] b, float[4] c) <float one = {1}, float two = {2}> "
        '{ a = Clip (x, lo, one) b = Clip (x, "", two) c = Clip (x, two, one) }',
        [f32([-1, 0.5, 1.5, 9]), f32(0)],
        [f32([0, 0.5, 1, 1]), f32([-1, 0.5, 1.5, 2]), f32([1, 1, 1, 1])],
    ),
    Row(
        "infinity is cut off where a bound is left out",
        "g (float[3] x, float lo) => (float[3] a, float[3] b, float[3] c, float[3] d) <float zero = {0}> "
        '{ a = Clip (x) b = Clip (x, zero) c = Clip (x, "", zero) d = Clip (x, lo) }',
        [f32([INF, -INF, 2]), f32(-1)],
        [f32([MOST, -MOST, 2]), f32([MOST, 0, 2]), f32([0, -MOST, 0]), f32([MOST, -1, 2])],
    ),
    Row(
        "slopes broadcast as in NumPy",
        "g (float[2, 3] x, float[3] s) => (float[2, 3] a, float[2, 3] b) <float half = {0.5}> "
        "{ a = PRelu (x, s) b = PRelu (x, half) }",
        [SOME, f32([1, 2, 3])],
        [f32([[-2.5, -1, 0], [0.5, 1.5, 2.5]]), f32([[-1.25, -0.25, 0], [0.5, 1.5, 2.5]])],
    ),
    Row(
        "activations",
        "g (float[2, 3] x) => (float[2, 3] a, float[2, 3] b, float[2, 3] c, float[2, 3] d, float[2, 3] e) { "
        "a = ThresholdedRelu <alpha = 1.0> (x) b = Shrink <bias = 0.5, lambd = 1.0> (x) "
        "c = LeakyRelu <alpha = 0.1> (x) d = HardSigmoid <alpha = 0.5, beta = 0.5> (x) e = Celu <alpha = 2.0> (x) }",
        [SOME],
        [
            f32([[0, 0, 0], [0, 1.5, 2.5]]),
            f32([[-2, 0, 0], [0, 1, 2]]),
            f32([[-0.25, -0.05, 0], [0.5, 1.5, 2.5]]),
            f32([[0, 0.25, 0.5], [0.75, 1, 1]]),
            np.where(SOME > 0, SOME, 2 * np.expm1(SOME / 2)),
        ],
    ),
    Row(
        "products of integers times fractions are truncated at the end",
        "g (int32[1, 2] x, int32[2, 2] w, int32[2] c) => (int32[1, 2] a, int32[1, 2] b, int32[1, 2] d) { "
        "a = Gemm <alpha = 0.5> (x, w) b = Gemm <alpha = 0.5, beta = 0.5> (x, w, c) d = Gemm <alpha = 2.0> (x, w, c) }",
        [i32([[1, 2]]), i32([[3, -3], [2, -2]]), i32([2, 5])],
        [i32([[3, -3]]), i32([[4, -1]]), i32([[16, -9]])],
    ),
    Row(
        "a product reshaped to a scalar",
        "g (float[1, 2] x, float[n, 2] u) => (float y, float z) <float[2, 1] w = {3, 4}, int64[0] none = {}> "
        "{ p = MatMul (x, w) y = Reshape (p, none) q = MatMul (u, w) z = Reshape (q, none) }",
        [f32([[1, 2]]), f32([[2, 5]])],
        [f32(11), f32(26)],
    ),
    # reductions
    Row(
        "reductions without axes",
        "g (float[2, 3] x) => (float a, float[1, 1] b, float[2, 3] c, float[2, 3] d, float[2, 3] e) "
        "<int64[0] none = {}> { a = ReduceSum <keepdims = 0> (x) b = ReduceMax (x) "
        "c = ReduceMean <noop_with_empty_axes = 1> (x) d = ReduceSumSquare <noop_with_empty_axes = 1> (x, none) "
        "e = ReduceL2 <noop_with_empty_axes = 1> (x) }",
        [SOME],
        [f32(SOME.sum()), f32([[2.5]]), SOME, SOME * SOME, np.abs(SOME)],
    ),
    Row(
        "integers whose squares take more than 32 bits",
        "g (int32[3, 2] x, int64[1] axes) => (int32[3] a, int32[3, 1] b) <int64[1] one = {1}> "
        "{ a = ReduceL2 <keepdims = 0> (x, one) b = ReduceL2 (x, axes) }",
        [i32([[50000, 0], [-30000, 40000], [2, -2]]), i64([1])],
        [i32([50000, 50000, 2]), i32([[50000], [50000], [2]])],
    ),
    Row(
        "axes known at run time",
        "g (float[2, 3, 4] x, int64[2] axes) => (float[3] a, float[1, 3, 1] b, float[3] c, float[2, 1, 3, 1, 4] d) "
        "<int64[1] one = {1}> { a = ReduceSum <keepdims = 0> (x, axes) b = ReduceSum (x, axes) c = Squeeze (b, axes) "
        "n = Add (axes, one) d = Unsqueeze (x, n) }",
        [CUBE, i64([0, 2])],
        [CUBE.sum((0, 2)), CUBE.sum((0, 2), keepdims=True), CUBE.sum((0, 2)), CUBE[:, None, :, None]],
    ),
    Row(
        "of bools, and of nothing",
        "g (bool[2, 2] p, float[2, N] x) => (bool[2] a, bool[2] b, float[2] c) <int64[1] k = {1}> { "
        "a = ReduceMax <keepdims = 0> (p, k) b = ReduceMin <keepdims = 0> (p, k) c = ReduceSum <keepdims = 0> (x, k) }",
        [boolean([[True, False], [True, True]]), np.zeros((2, 0), np.float32)],
        [boolean([True, True]), boolean([False, True]), f32([0, 0])],
    ),
    Row(
        "the largest of -inf",
        "g (float[2, 2] x) => (float[2] a, float[2] b) <float zero = {0}, int64[1] k = {1}> { low = Log (zero) "
        "y = Max (x, low) a = ReduceMax <keepdims = 0> (y, k) b = ReduceLogSumExp <keepdims = 0> (y, k) }",
        [f32([[-INF, -INF], [1, -INF]])],
        [f32([-INF, 1]), f32([-INF, 1])],
    ),
    Row(
        "where the largest is",
        "g (float[2, 3] x) => (int64[2, 1] a, int64[2] b, int64[1, 3] c, float[2, 3] d) { "
        "a = ArgMax <axis = 1> (x) b = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (x) "
        "c = ArgMin <axis = 0> (x) d = Hardmax (x) }",
        [f32([[3, 1, 3], [2, 2, 0]])],
        [i64([[0], [0]]), i64([2, 1]), i64([[1, 0, 1]]), f32([[1, 0, 0], [1, 0, 0]])],
    ),
    Row(
        "the k largest, ties by position",
        "g (float[5] x, int64[1] k) => (float[P] v, int64[P] i, float[P] w, int64[P] j) "
        "{ v, i = TopK (x, k) w, j = TopK <largest = 0> (x, k) }",
        [f32([1, 3, 3, 0, 1]), i64([3])],
        [f32([3, 3, 1]), i64([1, 2, 0]), f32([0, 1, 1]), i64([3, 0, 4])],
    ),
    Row(
        "norms of zero",
        "g (float[2, 2] x) => (float[2, 2] a, float[2, 2] b) "
        "{ a = LpNormalization (x) b = LpNormalization <p = 1> (x) }",
        [f32([[3, 4], [0, 0]])],
        [f32([[0.6, 0.8], [0, 0]]), f32([[3 / 7, 4 / 7], [0, 0]])],
    ),
    # shapes
    Row(
        "slices from behind, past the ends, of all axes",
        "g (float[6] x, int64[1] s, int64[1] e, int64[1] t) => (float[P] a, float[Q] b, float[R] c) "
        "<int64[1] zero = {0}, int64[1] far = {-9223372036854775808}, int64[1] end = {9223372036854775807}, "
        "int64[1] back = {-2}, int64[1] last = {-1}> "
        "{ a = Slice (x, s, e, zero, t) b = Slice (x, last, far, zero, back) c = Slice (x, back, end) }",
        [np.arange(6, dtype=np.float32), i64([-3]), i64([-100]), i64([-1])],
        [f32([3, 2, 1, 0]), f32([5, 3, 1]), f32([4, 5])],
    ),
    Row(
        "splits that don't come out even",
        "g (float[5, 2] x, float[N, 2] z, int64[2] sizes) => (float[2, 2] a, float[2, 2] b, float[1, 2] c, "
        "float[P, 2] d, float[Q, 2] e, float[R, 2] f, float[S, 2] g) { a, b, c = Split <num_outputs = 3> (x) "
        "d, e = Split <num_outputs = 2> (z) f, g = Split (z, sizes) }",
        [np.arange(10, dtype=np.float32).reshape(5, 2), f32([[1, 2], [3, 4], [5, 6]]), i64([1, 2])],
        [
            f32([[0, 1], [2, 3]]),
            f32([[4, 5], [6, 7]]),
            f32([[8, 9]]),
            f32([[1, 2], [3, 4]]),
            f32([[5, 6]]),
            f32([[1, 2]]),
            f32([[3, 4], [5, 6]]),
        ],
    ),
    Row(
        "tiles known at run time",
        "g (float[2, 3] x, int64[2] n) => (float[P, Q] a) { a = Tile (x, n) }",
        [GRID, i64([2, 3])],
        [np.tile(GRID, (2, 3))],
    ),
    Row(
        "padding: axes and amounts known at run time, cut, wrapped",
        "g (float[2, 3] x, int64[2] n, int64[1] axis) => (float[2, P] a, float[1, 4] b, float[4, 7] c) "
        "<int64[4] cut = {0, 1, -1, 0}, int64[4] round = {1, 2, 1, 2}, float v = {9}> "
        '{ a = Pad (x, n, v, axis) b = Pad (x, cut) c = Pad <mode = "wrap"> (x, round) }',
        [GRID, i64([1, 2]), i64([-1])],
        [
            np.pad(GRID, ((0, 0), (1, 2)), constant_values=9),
            f32([[0, 0, 1, 2]]),
            np.pad(GRID, ((1, 1), (2, 2)), mode="wrap"),
        ],
    ),
    Row(
        "shapes of what is open",
        "g (float[N, 3, M] x) => (int64[2] a, int64 b, float[P, Q] c, float[R, S] d) "
        "{ a = Shape <start = 1> (x) b = Size (x) c = Flatten (x) d = Flatten <axis = -1> (x) }",
        [CUBE],
        [i64([3, 4]), i64(24), CUBE.reshape(2, 12), CUBE.reshape(6, 4)],
    ),
    Row(
        "open matrices times constant stacks",
        "g (float[N, 3] x, float[L, M, 3] y, float[2, K, 3] z) => (float[2, N, 2] a,float[2, M, 2] b, float[2, K, 2] d)"
        "<float[2, 3, 2] c = {0,1,2,3,4,5,6,7,8,9,10,11}> { a = MatMul (x, c) b = MatMul (y, c) d = MatMul (z, c) }",
        [GRID, GRID[None], np.stack([GRID, -GRID])],
        [GRID @ STACK, GRID @ STACK, np.stack([GRID, -GRID]) @ STACK],
    ),
    Row(
        "triangles",
        "g (float[2, N] x, int64 k) => (float[2, N] a, float[2, N] b) { a = Trilu (x, k) b = Trilu <upper = 0> (x) }",
        [GRID, i64(1)],
        [np.triu(GRID, 1), np.tril(GRID)],
    ),
    Row(
        "identity matrices",
        "g (float[3, 2] x) => (float[3, 2] a, int32[3, 2] b) { a = EyeLike (x) b = EyeLike <dtype = 6, k = -1> (x) }",
        [np.zeros((3, 2), np.float32)],
        [np.eye(3, 2, dtype=np.float32), np.eye(3, 2, -1, np.int32)],
    ),
    # positions
    Row(
        "positions from behind",
        "g (float[2, 3] x, int64[2] i, int64[2, 1] j, int64[1, 2] k) => (float[2, 2] a, float[2, 1] b, float[1] c) "
        "{ a = Gather <axis = 1> (x, i) b = GatherElements <axis = 1> (x, j) c = GatherND (x, k) }",
        [GRID, i64([-1, 0]), i64([[-1], [1]]), i64([[-1, -2]])],
        [f32([[2, 0], [5, 3]]), f32([[2], [4]]), f32([4])],
    ),
    Row(
        "scattered, replaced and added",
        "g (float[4] x, int64[3] i, float[3] u, int64[2, 1] k, float[2] w) => (float[4] a, float[4] b, float[4] c) { "
        'a = ScatterElements (x, i, u) b = ScatterElements <reduction = "add"> (x, i, u) '
        'c = ScatterND <reduction = "mul"> (x, k, w) }',
        [f32([1, 2, 3, 4]), i64([0, -1, 2]), f32([10, 20, 30]), i64([[1], [-1]]), f32([5, 6])],
        [f32([10, 2, 30, 20]), f32([11, 2, 33, 24]), f32([1, 10, 3, 24])],
    ),
    Row(
        "one hot, positions out of range",
        "g (int64[4] i, int64 depth, float[2] v) => (float[4, 3] a, float[3, 4] b) "
        "{ a = OneHot (i, depth, v) b = OneHot <axis = 0> (i, depth, v) }",
        [i64([0, -1, 3, -4]), i64(3), f32([0, 5])],
        [
            f32([[5, 0, 0], [0, 0, 5], [0, 0, 0], [0, 0, 0]]),
            f32([[5, 0, 0], [0, 0, 5], [0, 0, 0], [0, 0, 0]]).T,
        ],
    ),
    Row(
        "chosen by a condition",
        "g (float[3, 2] x, bool[3] p) => (float[P, 2] a, float[Q] b, int64[2, R] c) "
        "{ a = Compress <axis = 0> (x, p) b = Compress (x, p) c = NonZero (x) }",
        [f32([[0, 1], [2, 0], [0, 3]]), boolean([True, False, True])],
        [f32([[0, 1], [0, 3]]), f32([0, 2]), i64([[0, 1, 2], [1, 0, 1]])],
    ),
    Row(
        "places of what isn't 0 in a scalar, which has no axes",
        "g (float x, float z) => (int64[0, R] a, int64[0, S] b) { a = NonZero (x) b = NonZero (z) }",
        [np.array(2, np.float32), np.array(0, np.float32)],
        [np.zeros((0, 1), np.int64), np.zeros((0, 0), np.int64)],
    ),
    Row(
        "integers that float32 doesn't hold",
        "g (int32[2, 3] x, int64[2] l) => (int32[2, 3] a, int32[2, 3] b, int32[2, 3] c) "
        "<int64[3] m = {2, 1, 2}> { a = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) "
        "b = ReverseSequence <batch_axis = 1, time_axis = 0> (x, m) c = Relu (x) }",
        [np.array(WIDE, np.int32), i64([3, 2])],
        [
            np.array([WIDE[0][::-1], [WIDE[1][1], WIDE[1][0], WIDE[1][2]]], np.int32),
            np.array([[WIDE[1][0], WIDE[0][1], WIDE[1][2]], [WIDE[0][0], WIDE[1][1], WIDE[0][2]]], np.int32),
            np.maximum(np.array(WIDE, np.int32), 0),
        ],
    ),
    Row(
        "chosen by conditions that are longer than the axis, and shorter",
        "g (float[2, n] x, bool[c] p, bool[4] q) => (float[2, P] a, float[2, Q] b) "
        "{ a = Compress <axis = -1> (x, p) b = Compress <axis = 1> (x, q) }",
        [f32([[0, 1], [2, 3]]), boolean([False]), boolean([False, True, True, True])],
        [np.zeros((2, 0), np.float32), f32([[1], [3]])],
    ),
    Row(
        "chosen of nothing",
        "g (float[3, 0, 2] x, bool[0] p) => (float[3, P, 2] a, float[Q] b, int64[1, R] c) "
        "{ a = Compress <axis = 1> (x, p) b = Compress (x, p) c = NonZero (p) }",
        [np.zeros((3, 0, 2), np.float32), np.zeros(0, bool)],
        [np.zeros((3, 0, 2), np.float32), np.zeros(0, np.float32), np.zeros((1, 0), np.int64)],
    ),
    Row(
        "boxes that overlap by just the threshold stay",
        "g (float[1, 3, 4] boxes, float[1, 1, 3] scores, float limit) => (int64[P, 3] a, int64[Q, 3] b) "
        "<int64 n = {5}, float half = {0.5}> "
        "{ a = NonMaxSuppression (boxes, scores, n, half) b = NonMaxSuppression (boxes, scores, n, limit) }",
        [f32([[[0, 0, 2, 2], [0, 0, 2, 1], [0, 0, 2, 1.9]]]), f32([[[0.9, 0.8, 0.7]]]), f32(0.5)],
        [i64([[0, 0, 0], [0, 0, 1]])] * 2,
    ),
    Row(
        "steps beyond those of int32, which take the first element",
        "g (float[5] x) => (float[1] a, float[1] b) <int64[1] end = {4}, int64[1] none = {-9}, int64[1] zero = {0}, "
        "int64[1] back = {-9223372036854775808}, int64[1] on = {9223372036854775807}> "
        "{ a = Slice (x, end, none, zero, back) b = Slice (x, zero, end, zero, on) }",
        [f32([0, 1, 2, 3, 4])],
        [f32([4]), f32([0])],
    ),
    Row(
        "no boxes where fewer than none are asked for",
        "g (float[1, 3, 4] boxes, float[1, 1, 3] scores, int64 n) => (int64[P, 3] a, int64[Q, 3] b) "
        "<int64[1] less = {-1}> { a = NonMaxSuppression (boxes, scores, n) "
        "b = NonMaxSuppression (boxes, scores, less) }",
        [f32([[[0, 0, 2, 2], [0, 0, 2, 1], [0, 0, 2, 1.9]]]), f32([[[0.9, 0.8, 0.7]]]), i64(-3)],
        [np.zeros((0, 3), np.int64)] * 2,
    ),
    # layers
    Row(
        "grouped convolution with bias, and its transpose",
        "g (float[1, 2, 3] x, float[2, 1, 2] w, float[2] b) => (float[1, 2, 2] y, float[1, 2, 4] z) "
        "{ y = Conv <group = 2> (x, w, b) z = ConvTranspose <group = 2> (x, w, b) }",
        [f32([[[1, 2, 3], [4, 5, 6]]]), f32([[[1, 10]], [[2, 1]]]), f32([100, 200])],
        [f32([[[121, 132], [213, 216]]]), f32([[[101, 112, 123, 130], [208, 214, 217, 206]]])],
    ),
    Row(
        "transposed convolution whose padding follows from the stride, of images of any size",
        "g (float[1, 1, n] x, float[1, 1, 1] w, float[1, 1, 3] v) => (float[1, 1, m] y, float[1, 1, k] z) {"
        ' y = ConvTranspose <strides = [2], auto_pad = "SAME_UPPER"> (x, w)'
        ' z = ConvTranspose <strides = [2], auto_pad = "SAME_LOWER"> (x, v) }',
        [f32([[[1, 2]]]), f32([[[3]]]), f32([[[1, 10, 100]]])],
        [f32([[[3, 0, 6]]]), f32([[[10, 102, 20, 200]]])],  # ONNX Runtime's
    ),
    Row(
        "pools that round up, with and without the padding",
        "g (float[1, 1, 4] x) => (float[1, 1, 3] a, float[1, 1, 3] b, float[1, 1, 2] c, int64[1, 1, 2] d) { "
        "a = AveragePool <kernel_shape = [2], strides = [2], pads = [1, 1], ceil_mode = 1> (x) "
        "b = AveragePool <kernel_shape = [2], strides = [2], pads = [1, 1], count_include_pad = 1> (x) "
        "c, d = MaxPool <kernel_shape = [3], strides = [2], ceil_mode = 1> (x) }",
        [f32([[[1, 5, 3, 2]]])],
        [f32([[[1, 4, 2]]]), f32([[[0.5, 4, 1]]]), f32([[[5, 3]]]), i64([[[1, 2]]])],
    ),
    Row(  # values: ONNX Runtime
        "pools whose only window spans more than there is",
        "g (float[1, 1, 2] x) => (float[1, 1, 1] a, float[1, 1, 1] b, float[1, 1, 1] c, float[1, 1, 1] d, "
        "int64[1, 1, 1] e) { a = AveragePool <kernel_shape = [5], strides = [4], pads = [1, 1], ceil_mode = 1> (x) "
        "b = AveragePool <kernel_shape = [5], strides = [3], pads = [1, 1], ceil_mode = 1, count_include_pad = 1> (x) "
        "c = LpPool <kernel_shape = [3], strides = [3], ceil_mode = 1> (x) "
        "d, e = MaxPool <kernel_shape = [2], strides = [3], dilations = [2], ceil_mode = 1> (x) }",
        [f32([[[3, 4]]])],
        [f32([[[3.5]]]), f32([[[1.75]]]), f32([[[5]]]), f32([[[3]]]), i64([[[0]]])],
    ),
    Row(  # values: ONNX Runtime
        "pools whose only window spans more than there is, rounding down",
        "g (float[1, 1, 2] x) => (float[1, 1, 1] a, float[1, 1, 1] b, float[1, 1, 1] c, float[1, 1, 1] d, "
        "int64[1, 1, 1] e) { a = AveragePool <kernel_shape = [5], strides = [4], pads = [1, 1]> (x) "
        "b = AveragePool <kernel_shape = [5], strides = [3], pads = [1, 1], count_include_pad = 1> (x) "
        'c = LpPool <kernel_shape = [3], strides = [3], auto_pad = "VALID"> (x) '
        "d, e = MaxPool <kernel_shape = [2], strides = [3], dilations = [2]> (x) }",
        [f32([[[3, 4]]])],
        [f32([[[3.5]]]), f32([[[1.75]]]), f32([[[5]]]), f32([[[3]]]), i64([[[0]]])],
    ),
    Row(
        "normalizations",
        "g (float[1, 2, 2] x, float[2] s, float[2] b) => (float[1, 2, 2] y, float[1, 2, 2] z, float[1, 2, 1] mean, "
        "float[1, 2, 1] inverse) { y = InstanceNormalization <epsilon = 1.0> (x, s, b) "
        "z, mean, inverse = LayerNormalization <epsilon = 1.0> (x, s, b) }",
        [f32([[[1, 3], [0, 4]]]), f32([1, 2]), f32([0, 1])],
        [
            f32([[[-1 / 2**0.5, 1 / 2**0.5], [1 - 4 / 5**0.5, 1 + 4 / 5**0.5]]]),
            f32([[[-1 / 2**0.5, 1 + 2 / 2**0.5], [-2 / 5**0.5, 1 + 4 / 5**0.5]]]),
            f32([[[2], [2]]]),
            f32([[[1 / 2**0.5], [1 / 5**0.5]]]),
        ],
    ),
    Row(
        "quantized and back, by axis and by block",
        "g (float[2, 2] x, float[2] s, int8[2] z, float[2, 1] t) => (int8[2, 2] q, float[2, 2] r, uint8[2, 2] u) { "
        "q = QuantizeLinear <axis = 0> (x, s, z) r = DequantizeLinear <axis = 0> (q, s, z) "
        "u = QuantizeLinear <axis = 1, block_size = 2> (x, t) }",
        [f32([[1, 2.5], [-3, 500]]), f32([0.5, 1]), i8([0, 3]), f32([[1], [2]])],
        [i8([[2, 5], [0, 127]]), f32([[1, 2.5], [-3, 124]]), u8([[1, 2], [0, 250]])],
    ),
    Row(
        "products of integers",
        "g (uint8[2, 2] a, int8[2, 2] b, uint8 za) => (int32[2, 2] y) { y = MatMulInteger (a, b, za) }",
        [u8([[1, 2], [3, 255]]), i8([[1, -1], [127, -128]]), u8(1)],
        [i32([[127, -128], [2 + 254 * 127, -2 - 254 * 128]])],
    ),
    Row(
        "running products",
        "g (float[2, 3] x, int64 k) => (float[2, 3] a, float[2, 3] b) <int64 one = {1}> "
        "{ a = CumProd <reverse = 1, exclusive = 1> (x, one) b = CumProd (x, k) }",
        [f32([[1, 2, 3], [4, 5, 6]]), i64(-2)],
        [f32([[6, 3, 1], [30, 6, 1]]), f32([[1, 2, 3], [4, 10, 18]])],
    ),
    Row(
        "a function without a rule",
        "g (float[2, 3] x, int64[2] t, float[3] w) => (float loss) { loss = NegativeLogLikelihoodLoss (x, t, w) }",
        [f32([[1, 2, 3], [4, 5, 6]]), i64([2, 0]), f32([1, 2, 3])],
        [f32(-(3 * 3 + 4 * 1) / 4)],
    ),
    Row(
        "an input at the end that is left out by name",
        'g (float[2, 3] x, int64[2] t) => (float loss) { loss = NegativeLogLikelihoodLoss (x, t, "") }',
        [f32([[1, 2, 3], [4, 5, 6]]), i64([2, 0])],
        [f32(-(3 + 4) / 2)],
    ),
    Row(
        "windows of even size have one more channel behind than before",
        "g (float[1, 4, 1, 1] x) => (float[1, 4, 1, 1] a, float[1, 4, 1, 1] b) { a = LRN <size = 2, alpha = 2.0, "
        "beta = 1.0, bias = 1.0> (x) b = LRN <size = 4, alpha = 4.0, beta = 1.0, bias = 1.0> (x) }",
        [f32([1, 2, 3, 4]).reshape(1, 4, 1, 1)],
        [
            f32([1 / (1 + 5), 2 / (1 + 13), 3 / (1 + 25), 4 / (1 + 16)]).reshape(1, 4, 1, 1),
            f32([1 / (1 + 14), 2 / (1 + 30), 3 / (1 + 29), 4 / (1 + 25)]).reshape(1, 4, 1, 1),
        ],
    ),
    Row(
        "attention with a row that sees nothing",
        "g (float[1, 1, 2, 1] q, float[1, 1, 2, 1] v, bool[2, 2] mask) => (float[1, 1, 2, 1] y, float[1, 1, 2, 1] z) "
        "{ y = Attention (q, q, v, mask) z = Attention <is_causal = 1> (q, q, v) }",
        [f32([[[[0], [0]]]]), f32([[[[1], [3]]]]), boolean([[True, True], [False, False]])],
        [f32([[[[2], [0]]]]), f32([[[[1], [2]]]])],
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(openvino: Runner, row: Row) -> None:
    graph = graph_of(row.text)
    feeds = {value.name: np.asarray(given) for value, given in zip(graph.inputs, row.inputs, strict=True)}
    (found,) = openvino.lowered(graph, [feeds])
    assert len(found) == len(row.expected)
    for index, (output, expected) in enumerate(zip(found, row.expected, strict=True)):
        assert not difference(output, np.asarray(expected), 1e-5, 1e-6), f"output {index}"


@pytest.mark.parametrize("kind", ["int64", "int32", "int16", "float"])
def test_ranges_that_lead_away(openvino: Runner, kind: str) -> None:
    """OpenVINO's CPU counts towards the limit whatever the sign of the step: such a range is empty."""
    dtype = np.dtype(kind if kind != "float" else np.float32)
    given = [(-2, -3, 2), (-2, 3, 2), (3, 3, 1), (3, -3, -2), (-3, 3, -1), (0, -20, 7), (5, 4, -9)]
    feeds = [dict(zip("abc", map(dtype.type, numbers), strict=True)) for numbers in given]
    graph = graph_of(f"g ({kind} a, {kind} b, {kind} c) => ({kind}[N] y) {{ y = Range (a, b, c) }}")
    for numbers, (found,) in zip(given, openvino.lowered(graph, feeds), strict=True):
        assert not difference(found, np.arange(*numbers, dtype=dtype), 0, 0), numbers
    for step in (2, -2):
        graph = graph_of(f"""g ({kind} a, {kind} b) => ({kind}[N] y)
            <{kind} c = {{{step}}}> {{ y = Range (a, b, c) }}""")
        ends = [{name: feed[name] for name in "ab"} for feed in feeds]
        for (start, limit, _), (found,) in zip(given, openvino.lowered(graph, ends), strict=True):
            assert not difference(found, np.arange(start, limit, step, dtype=dtype), 0, 0), (start, limit)
        constant = f"<{kind} a = {{3}}, {kind} b = {{9}}, {kind} c = {{{step}}}>"
        graph = graph_of(
            f"g ({kind}[N] x) => ({kind}[M] y) {constant} {{ r = Range (a, b, c) y = Concat <axis = 0> (x, r) }}"
        )
        ((found,),) = openvino.lowered(graph, [{"x": np.ones(1, dtype)}])
        assert not difference(found, np.array([1, *range(3, 9, step)], dtype), 0, 0)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


FORMS = {"plain": "", "peepholes": "", "coupled": ", input_forget = 1", "other activations": ""}
SOFTSIGN = '", "'.join(["Sigmoid", "Softsign", "Softsign"])


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("form", FORMS)
def test_lstm(openvino: Runner, form: str, direction: str, layout: int) -> None:
    """Against the equations: gates i, o, f, c; rows stop at their own length."""
    ways = 2 if direction == "bidirectional" else 1
    random = np.random.default_rng(0)
    x = random.normal(size=(4, 2, 3)).astype(np.float32)
    w, r, b, more = (random.normal(size=(ways, 8, *last)).astype(np.float32) for last in ((3,), (2,), (), ()))
    p = random.normal(size=(ways, 6)).astype(np.float32) * (form == "peepholes")
    b = np.concatenate([b, more], 1)
    h0, c0 = (random.normal(size=(ways, 2, 2)).astype(np.float32) for _ in range(2))
    act = (lambda v: v / (1 + abs(v))) if form == "other activations" else np.tanh
    lengths = np.int32([4, 2])
    y, hs, cs = np.zeros((4, ways, 2, 2), np.float32), h0.copy(), c0.copy()
    for way in range(ways):
        backwards = direction == "reverse" or way == 1
        for row in range(2):
            h, c = h0[way, row], c0[way, row]
            steps = range(lengths[row])[::-1] if backwards else range(lengths[row])
            for step in steps:
                gates = w[way] @ x[step, row] + r[way] @ h + b[way, :8] + b[way, 8:]
                i, o, f, g = gates[:2], gates[2:4], gates[4:6], gates[6:]
                i = sigmoid(i + p[way, :2] * c)
                f = 1 - i if form == "coupled" else sigmoid(f + p[way, 4:] * c)
                c = f * c + i * act(g)
                h = sigmoid(o + p[way, 2:4] * c) * act(c)
                y[step, way, row] = h
            hs[way, row], cs[way, row] = h, c
    named = f', activations = ["{SOFTSIGN}{chr(34)}' + (f', "{SOFTSIGN}"]' if ways == 2 else "]")
    extra = named if form == "other activations" else FORMS[form]
    graph = graph_of(
        "g (float[A, B, 3] x, float[W, 8, 3] w, float[W, 8, 2] r, float[W, 16] b, int32[P] n, float[Q, R, 2] h, "
        "float[Q, R, 2] c, float[W, 6] p) => (float[E, F, G, H] y, float[Q, R, 2] yh, float[Q, R, 2] yc) "
        f'{{ y, yh, yc = LSTM <hidden_size = 2, direction = "{direction}", layout = {layout}{extra}> '
        f"(x, w, r, b, n, h, c{', p' if form == 'peepholes' else ''}) }}"
    )
    arrays = [x, w, r, b, lengths, h0, c0, p]
    wanted = [y, hs, cs]
    if layout:
        arrays = [x.swapaxes(0, 1), w, r, b, lengths, h0.swapaxes(0, 1), c0.swapaxes(0, 1), p]
        wanted = [y.transpose(2, 0, 1, 3), hs.swapaxes(0, 1), cs.swapaxes(0, 1)]
    feeds = {value.name: array for value, array in zip(graph.inputs, arrays, strict=True)}
    for found, expected in zip(openvino.lowered(graph, [feeds])[0], wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("linear", [0, 1])
def test_gru(openvino: Runner, linear: int) -> None:
    """Against the equations: gates z, r, h, with the reset before or after the product."""
    random = np.random.default_rng(1)
    x = random.normal(size=(3, 1, 2)).astype(np.float32)
    w, r = (random.normal(size=(1, 6, 2)).astype(np.float32) for _ in range(2))
    b = random.normal(size=(1, 12)).astype(np.float32)
    h = np.zeros(2, np.float32)
    for step in range(3):
        ours, theirs = w[0] @ x[step, 0] + b[0, :6], r[0] @ h
        z = sigmoid(ours[:2] + theirs[:2] + b[0, 6:8])
        reset = sigmoid(ours[2:4] + theirs[2:4] + b[0, 8:10])
        inner = reset * (theirs[4:] + b[0, 10:]) if linear else r[0, 4:] @ (reset * h) + b[0, 10:]
        h = (1 - z) * np.tanh(ours[4:] + inner) + z * h
    graph = graph_of(
        "g (float[3, 1, 2] x, float[1, 6, 2] w, float[1, 6, 2] r, float[1, 12] b) => (float[1, 1, 2] y) "
        f"{{ _y, y = GRU <hidden_size = 2, linear_before_reset = {linear}> (x, w, r, b) }}"
    )
    ((found,),) = openvino.lowered(graph, [{"x": x, "w": w, "r": r, "b": b}])
    np.testing.assert_allclose(found, h.reshape(1, 1, 2), rtol=1e-4, atol=1e-5)


REFUSED = [
    ("g (bool[2] c, string[2] x) => (string[2] y) { y = Where (c, x, x) }", "is a string tensor"),
    ("g (seq(float[2]) x) => (int64 y) { y = SequenceLength (x) }", "tensors only"),
    ("g (uint8[9] x) => (uint8[?, ?, 3] y) { y = ImageDecoder (x) }", "ImageDecoder isn't supported by OpenVINO"),
    ("g (float8e5m2[2] x) => (int8[2] y) { y = BitCast <to = 3> (x) }", "the bits of float8e5m2"),
    ('g (string[2] x) => (bool[2] y) { y = RegexFullMatch <pattern = "a*"> (x) }', "no RegexFullMatch"),
    ('g (string[2] x) => (string[2, p] y, int64[2] n) { y, n = StringSplit <delimiter = "aa"> (x) }', "overlap itself"),
    ("g (float[1, 1, 8] x, float[n, 1, k] w) => (float[1, n, m] y) { y = Conv (x, w) }", "known at run time"),
    ("g (float[1, 1, 8] x, float[n, 1, k] v) => (float[1, n, ?] y) { w = Abs (v) y = Conv (x, w) }", "no weights"),
    ("g (float[1,2,8] x, float[2,n,3] v) => (float[1, n, ?] y) { w = Abs (v) y = ConvTranspose <group = 2> (x, w) }",
     "convolves with no weights"),
    ("g (uint8[1, 1, 8] x, uint8[n, 1, 3] w) => (int32[1, n, 6] y) { y = ConvInteger (x, w) }", "at run time"),
    ("g (uint8[1, 1, 8] x, uint8[n, 1, 1] w, float s, uint8 z, float t) => (uint8[1, n, 8] y) "
     "{ y = QLinearConv (x, s, z, w, s, z, t, z) }", "no weights whose sizes"),
    ("g (float[n, 1] x) => (float[?] y) { y = Squeeze (x) }", "which axes of float32.n, 1. have size 1"),
    ("g (float[6] x, int64[r] s) => (float[?] y) { y = Reshape (x, s) }", "how many axes it makes"),
    ("g (float[2, 3] x, int64[n, k] i) => (float[?] y) { y = GatherND (x, i) }", "how many axes it makes is known"),
    ("g (float[2, 3] x, int64[r] a) => (float[?] y) { y = ReduceSum <keepdims = 0> (x, a) }", "how many axes are left"),
    ("g (float[1, 1, 4] x) => (float[1, 1, 2] y, int64[1, 1, 2] i) { y, i = MaxPool <kernel_shape = [3], "
     "storage_order = 1> (x) }", "storage_order=1"),
    ("g (uint8[2, k] a, uint8[k, 2] b) => (int32[2, 2] y) { y = MatMulInteger (a, b) }", "so many products"),
    ("g (float[1, 1, 2] x, float[1, 1, 2] w, float[1, 1, 1] r) => (float[1, 1, 1, 1] y) "
     '{ y = RNN <hidden_size = 1, activations = ["Swish"]> (x, w, r) }', "the activation 'Swish'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        lower_graph(graph_of(text))


@pytest.mark.parametrize("order", [2, 3, 5, 9])
def test_norms_of_halves_are_rounded_once(openvino: Runner, order: int) -> None:
    """float16 doesn't hold 1 / 3, nor the powers of 300 or of 0.01."""
    text = f"g (float16[1,1,N] x) => (float16[1,1,M] y) {{ y = LpPool<kernel_shape=[3], p={order}>(x) }}"
    x = (np.random.default_rng(order).normal(size=48) * np.repeat([0.01, 1, 30, 300], 12)).astype(np.float16)
    sums = np.convolve(np.abs(x.astype(np.float64)) ** order, np.ones(3), "valid")
    [[found]] = openvino.lowered(graph_of(text), [{"x": x.reshape(1, 1, -1)}])
    assert found.dtype == np.float16
    assert np.allclose(found.ravel(), (sums ** (1 / order)), rtol=2.0**-11 * 1.01, atol=0)


PAIRS = f32([[1, 3, -2, 6], [0, 1, 8, 2]])
NORMAL = f32([[-1, 1, -1, 1], [-1, 1, 1, -1]])  # of each two: less their mean, by their deviation


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("[N,4]", "{ y = GroupNormalization <num_groups = 2, epsilon = 0.0> (x, s, b) }"),
        (
            "[2,4]",
            """{ y = Scan <num_scan_inputs = 1, body = g (float[4] r) => (float[1,4] q) {
                at = Constant <value_ints = [0]> () p = Unsqueeze (r, at)
                q = GroupNormalization <num_groups = 2, epsilon = 0.0> (p, s, b) }> (x) }""",
        ),
        (
            "[2,4]",
            """{ at = Constant <value_ints = [2]> () z = Unsqueeze (x, at) go = IsNaN (s) no = ReduceMax (go)
            y = If (no) <then_branch = t () => (float[2,4,1] u) { u = Neg (z) },
                else_branch = e () => (float[2,4,1] v) {
                    v = GroupNormalization <num_groups = 2, epsilon = 0.0> (z, s, b) }> }""",
        ),
    ],
    ids=["rank 2", "in a loop", "in a branch"],
)
def test_groups_normalized_where_no_kernel_is(openvino: Runner, shape: str, text: str) -> None:
    """OpenVINO's CPU has one for rank 3 and more only, and outside of bodies."""
    graph = graph_of(f"g (float{shape} x, float[4] s, float[4] b) => (float y) {text}")
    scale, bias = f32([1, 2, 3, 4]), f32([0, 1, 0, -1])
    ((found,),) = openvino.lowered(graph, [{"x": PAIRS, "s": scale, "b": bias}])
    np.testing.assert_allclose(found.reshape(2, 4), NORMAL * scale + bias, rtol=1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_weights_of_open_sizes_where_no_sequence_is(openvino: Runner, kind: str) -> None:
    """Peepholes, and clipped activations of other names, are written out; ONNX Runtime says what they give."""
    gates, more = {"LSTM": (4, ", , p"), "GRU": (3, "")}[kind]
    options = "" if kind == "LSTM" else ', activations = ["HardSigmoid", "Tanh"]'
    numbers = ", ".join(str(number / 8) for number in range(-2 * gates, 2 * gates))
    text = f"""g (float[1, g, i] w, float[d, q] p) => (float[2, 1, 1, 2] y) <float[2, 1, 1] x = {{0.5, -2}},
        float[1, {2 * gates}, 2] r = {{{numbers}}}, float[1, {4 * gates}] v = {{{numbers}}}, int32[1] n = {{1}}> {{
        y = {kind} <hidden_size = 2{options}> (x, w, r, v, n, {more}) }}""".replace(", )", ")")
    dice = np.random.default_rng(0)
    shapes = {"w": (1, 2 * gates, 1), "p": (1, 6)}
    feed = {name: dice.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    header = '<ir_version: 10, opset_import: ["": 21]>\n'
    session = onnxruntime.InferenceSession(parser.parse_model(header + text).SerializeToString())
    (expected,) = session.run(None, {value.name: feed[value.name] for value in session.get_inputs()})
    ((found,),) = openvino.lowered(graph_of(text, 21), [feed])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_random_numbers(openvino: Runner) -> None:
    """Only their distribution can be expressed."""
    graph = graph_of(
        "g (float[2000] p, float[1, 3] logits) => (float[2000] a, double[2000] b, float[2000] c, int64[1, 2000] d) { "
        "a = RandomUniform <shape = [2000], low = -1.0, high = 3.0> () "
        "b = RandomNormalLike <dtype = 11, mean = 2.0, scale = 3.0> (p) c = Bernoulli (p) "
        "d = Multinomial <dtype = 7, sample_size = 2000> (logits) }"
    )
    assert any("random numbers differ" in note for note in lower_graph(graph).meta["notes"])
    feeds = {"p": np.full(2000, 0.25, np.float32), "logits": np.log(f32([[0.1, 0.2, 0.7]]))}
    ((a, b, c, d),) = openvino.lowered(graph, [feeds])
    assert -1 <= a.min() < -0.9 and 2.9 < a.max() < 3 and abs(a.mean() - 1) < 0.15
    assert b.dtype == np.float64 and abs(b.mean() - 2) < 0.4 and abs(b.std() - 3) < 0.3
    assert set(np.unique(c)) == {0, 1} and abs(c.mean() - 0.25) < 0.06
    np.testing.assert_allclose(np.bincount(d[0]) / 2000, [0.1, 0.2, 0.7], atol=0.06)


def test_numbers_are_drawn_when_the_model_runs() -> None:
    """Not once for all of its runs, while it is converted, though the input is constant."""
    graph = graph_of(
        "g (float[2] x) => (float[2] y, float[2] z) { c = Constant <value_floats = [0.5, 0.5]> () "
        "a = RandomNormalLike (c) b = Bernoulli (c) y = Add (x, a) z = Add (x, b) }"
    )
    layers = [node.op_type for _, node in lower_graph(graph).walk()]
    assert layers.count("RandomUniform") >= 2


def test_defaults_become_constants() -> None:
    """IR has no defaults; the report says so."""
    graph = graph_of("g (float[1] x, float[1] w = {2}) => (float[1] y) { y = Add (x, w) }")
    lowered = lower_graph(graph)
    assert [value.name for value in lowered.inputs] == ["x"]
    assert lowered.meta["notes"] == ["inputs with a default are constants: w"]
    assert [value.name for value in graph.inputs] == ["x", "w"]


@pytest.mark.parametrize(("seed", "written"), [(np.nan, 1), (np.inf, 1), (3e38, 2**63 - 1), (-7.0, 7), (0.0, 1)])
def test_seeds_are_integers_of_64_bits(seed: float, written: int) -> None:
    node = helper.make_node("RandomUniform", [], ["y"], shape=[2], seed=float(seed))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    model = helper.make_model(helper.make_graph([node], "g", [], [y]), ir_version=9)
    lowered = lower_graph(raise_graph(read_model(model)))
    (made,) = [one for one in lowered.nodes if one.op_type == "RandomUniform"]
    assert made.attributes["op_seed"] == written


@pytest.mark.parametrize("size", [3, 4, 5, 6])
@pytest.mark.parametrize(("kernel", "stride", "pads"), [(2, 2, (0, 0)), (3, 2, (1, 0)), (1, 3, (0, 0)), (2, 3, (1, 1))])
def test_norms_of_windows_that_hang_over(
    kernel: int, stride: int, pads: tuple[int, int], size: int, openvino: Runner
) -> None:
    text = f"""g (float[1, 2, {size}] x) => (y) {{ y = LpPool <kernel_shape = [{kernel}], strides = [{stride}],
        pads = [{pads[0]}, {pads[1]}], ceil_mode = 1, p = 2> (x) }}"""
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> {text}')
    x = np.random.default_rng(size).standard_normal((1, 2, size)).astype(np.float32)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    ((found,),) = openvino.lowered(raise_graph(read_model(model)), [{"x": x}])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_products_of_halves_are_scaled_before_they_are_rounded(openvino: Runner) -> None:
    """Whoever rounds every layer's result to float16 gets what OpenVINO does, which doesn't."""
    graph = graph_of("g (float16[1, 1] x, float16[1, 1] w) => (float16[1, 1] y) { y = Gemm <alpha = 0.5> (x, w) }")
    fed = {"x": np.float16([[250]]), "w": np.float16([[400]])}
    ((found,),) = openvino.lowered(graph, [fed])
    (read,) = Executor(openvino_hub(lower_graph(graph))).run(fed).values()
    assert found.tolist() == read.tolist() == [[np.float16(50_000)]]


@pytest.mark.parametrize(("kind", "exponent"), [("float", np.float32), ("int32", np.int32)])
def test_powers_whose_exponents_halves_have_no_numbers_for(openvino: Runner, kind: str, exponent: Any) -> None:
    graph = graph_of(f"g (float16[3] x, {kind}[3] p) => (float16[3] y) {{ y = Pow (x, p) }}")
    x, p = np.float16([1.001, -1, 0.999]), np.array([5000.5, 70_001, 70_001]).astype(exponent)
    ((found,),) = openvino.lowered(graph, [{"x": x, "p": p}])
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), p.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(found, wanted)


def test_integers_convolved_in_parts(openvino: Runner) -> None:
    """So many products that float32 doesn't add them up exactly at once."""
    random = np.random.default_rng(0)
    x, w = (random.integers(0, 256, shape).astype(np.uint8) for shape in ((1, 400, 5), (2, 400, 3)))
    values = ", ".join(map(str, w.ravel()))
    graph = graph_of(f"""g (uint8[1, 400, t] x) => (int32[1, 2, u] y)
      <uint8[2, 400, 3] w = {{{values}}}, uint8 z = {{7}}> {{ y = ConvInteger (x, w, , z) }}""")
    ((found,),) = openvino.lowered(graph, [{"x": x}])
    kernel = w.astype(np.int64) - 7
    wanted = [[(x[0, :, t : t + 3] * kernel[o]).sum() for t in range(3)] for o in range(2)]
    np.testing.assert_array_equal(found, [wanted])


@pytest.mark.parametrize("kind", ["float8e4m3fn", "float8e5m2", "float8e8m0", "float4e2m1"])
def test_narrow_floats_are_told_apart_and_counted(openvino: Runner, kind: str) -> None:
    """OpenVINO's CPU has no layers of these but conversions, and not all of them."""
    dtype = DType(kind)
    x = np.arange(1 << dtype.bits, dtype=np.uint8).view(dtype.numpy)
    known = x.astype(np.float32)
    graph = graph_of(
        f"g ({kind}[n] x, {kind}[m] few) => (bool[n] a, bool[n] b, bool[n] c, bool[n] d, int32[m] e, int64[m] f) "
        "{ a = IsInf (x) b = IsInf <detect_positive = 0> (x) c = IsNaN (x) d = Cast <to = 9> (x) "
        "e = Cast <to = 6> (few) f = Cast <to = 7> (few) }",
        25,
    )
    few = x[np.abs(known) < 2**24]
    numbers = few.astype(np.float32)
    right = [np.isinf(known), np.isneginf(known), np.isnan(known), known != 0]
    right += [numbers.astype(np.int32), numbers.astype(np.int64)]
    for one, wanted in zip(openvino.lowered(graph, [{"x": x, "few": few}])[0], right, strict=True):
        np.testing.assert_array_equal(one, wanted, strict=True)


@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceMean", "ReduceLogSumExp"])
def test_axes_of_bfloat16_that_a_run_tells(openvino: Runner, name: str, keep: int) -> None:
    """Whole numbers, exact in any order; OpenVINO doesn't load such a layer of them."""
    dtype = DType.BFLOAT16
    shape = "a, b, c" if keep else "a, b"
    text = f"g (bfloat16[3, 2, 2] x, int64[1] s) => (bfloat16[{shape}] y) {{ y = {name} <keepdims = {keep}> (x, s) }}"
    x, along = np.arange(1, 13).reshape(3, 2, 2) % 4, {"axis": 1, "keepdims": bool(keep)}
    right = {
        "ReduceMax": x.max(**along),
        "ReduceMin": x.min(**along),
        "ReduceSum": x.sum(**along),
        "ReduceProd": x.prod(**along),
        "ReduceMean": x.sum(**along) / 2,
        "ReduceLogSumExp": np.log(np.exp(x.astype(np.float32)).sum(**along)),
    }[name].astype(dtype.numpy)
    ((found,),) = openvino.lowered(graph_of(text), [{"x": x.astype(dtype.numpy), "s": np.array([1])}])
    np.testing.assert_array_equal(found.astype(np.float32), right.astype(np.float32), strict=True)


@pytest.mark.parametrize(("first", "last"), [("float", "float16"), ("float16", "float"), ("float", "double")])
def test_attention_of_two_types_is_refused(first: str, last: str) -> None:
    text = f"""g ({first}[2, 3, 4, 8] q, {first}[2, 3, 6, 8] k, {last}[2, 3, 6, 8] v) => ({first}[2, 3, 4, 8] y) {{
      y = Attention (q, k, v) }}"""
    with pytest.raises(Unsupported, match="values of float"):
        lower_graph(graph_of(text, 23))


@pytest.mark.parametrize("condition", [True, False])
def test_choices_by_a_known_condition(openvino: Runner, condition: bool) -> None:
    """Of float64 OpenVINO would compile a Select that numbers are added to for ever; others keep the result's shape."""
    graph = graph_of(f"""g (double x, float[2, 3] y) => (double a, float[2, 3] b)
        <bool known = {{{int(condition)}}}, double two = {{2}}, double three = {{3}}, float one = {{1}}> {{
            c = Where (known, three, x) d = Add (c, two) a = Add (d, two)
            b = Where (known, one, y) }}""")
    y = np.arange(6, dtype=np.float32).reshape(2, 3)
    ((a, b),) = openvino.lowered(graph, [{"x": np.array(0.5), "y": y}])
    np.testing.assert_array_equal(a, np.array(7.0 if condition else 4.5), strict=True)
    np.testing.assert_array_equal(b, np.ones_like(y) if condition else y, strict=True)


_JOINED = {
    "alone": "y = Identity (c) z = Abs (c)",
    "behind a view": "f = Constant <value_ints = [1, -1]> () y = Reshape (c, f) z = Abs (c)",
    "multiplied": "k = ConstantOfShape <value = float[1] {1}> (s) y = Mul (c, k) z = Abs (c)",
    "behind a Tile by one": "o = Constant <value_ints = [1]> () t = Tile (c, o) y = Identity (c) z = Abs (t)",
}


@pytest.mark.parametrize("text", _JOINED.values(), ids=_JOINED)
@pytest.mark.parametrize("sizes", ["2", "n"])
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "in a loop"])
def test_absolute_values_of_what_is_joined(openvino: Runner, text: str, sizes: str, inside: bool) -> None:
    """OpenVINO would take them of the parts, and give them to what reads the joined vector, too."""
    text = f"c = Concat <axis = 0> (x, x) s = Shape (c) {text}"
    if inside:
        text = f"""one = Constant <value = int64 {{1}}> () ys, zs = Loop (one, "") <body = b (int64 i, bool g) =>
            (bool h, float y, float z) {{ h = Identity (g) {text} }}> d = Constant <value_ints = [4]> ()
            y_ = Reshape (ys, d) z_ = Reshape (zs, d)"""
    graph = graph_of(f"g (float[{sizes}] x) => (float {'y_, float z_' if inside else 'y, float z'}) {{ {text} }}")
    ((y, z),) = openvino.lowered(graph, [{"x": f32([-1, 2])}])
    np.testing.assert_array_equal(y.reshape(-1), f32([-1, 2, -1, 2]))
    np.testing.assert_array_equal(z.reshape(-1), f32([1, 2, 1, 2]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g (int64[1, 2] x) => (int64[1, 1] y) { y = ReduceL2 <axes = [1]> (x) }", [[2**32 + 1]]),
        ("g (int64[1, 2] x) => (int64[1, 2] y) <int64[2, 2] w = {2, 0, 0, 2}> { y = Gemm <alpha = 0.5> (x, w) }",
         [[2**32 + 1, 0]]),
    ],
)  # fmt: skip
def test_integers_go_through_floats_that_hold_them(text: str, expected: list[list[int]]) -> None:
    """As the file says: OpenVINO's CPU computes 64-bit integers in 32 bits, and float64 in float32, with a note."""
    (read,) = Executor(openvino_hub(lower_graph(graph_of(text, 13)))).run({"x": i64([[2**32 + 1, 0]])}).values()
    assert read.tolist() == expected
