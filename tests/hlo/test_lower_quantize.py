"""Quantization as HLO at the edges: short types, ties, what has no number. Expected values are NumPy's."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.types import DType
from byte_products import needs_exact_products

from .lowered import Xla
from .test_lower_operators import built, f32, to

pytest.importorskip("jaxlib")

BF16 = ml_dtypes.bfloat16
RANDOM = np.random.default_rng(2)


@pytest.fixture(scope="module")
def xla() -> Iterator[Xla]:
    runner = Xla()
    yield runner
    runner.close()


@pytest.mark.parametrize("kind", [np.float16, BF16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("target", "low", "high"),
    [(DType.UINT8, 0, 255), (DType.INT16, -(2**15), 2**15 - 1), (DType.INT4, -8, 7), (DType.UINT2, 0, 3)],
)
def test_quotients_are_rounded_to_short_types_first(xla: Xla, kind: type, target: DType, low: int, high: int) -> None:
    """Then to an integer: many of them have become ties."""
    x, scale = (RANDOM.normal(size=3000) * 20).astype(kind), kind(0.3)
    graph, feeds = built(lambda op, x: op.QuantizeLinear(x, op.const(np.asarray(scale)), output_dtype=to(target)), x)
    ((found,),) = xla.lowered(graph, feeds)
    ratio = (x / scale).astype(np.float32)
    np.testing.assert_array_equal(found.astype(np.int64), np.clip(np.rint(ratio), low, high).astype(np.int64))
    assert (np.rint(ratio) != np.rint(x.astype(np.float32) / np.float32(scale))).any()


@pytest.mark.parametrize(
    ("target", "kind"),
    [(DType.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn), (DType.FLOAT8E5M2, ml_dtypes.float8_e5m2)],
)
def test_floats_of_eight_bits(xla: Xla, target: DType, kind: type) -> None:
    x = np.append((RANDOM.normal(size=2000) * 8).astype(np.float32), f32(1e6, -1e6, np.nan, 0))
    graph, feeds = built(lambda op, x: op.QuantizeLinear(x, op.const(np.float32(0.25)), output_dtype=to(target)), x)
    ((found,),) = xla.lowered(graph, feeds)
    most = float(ml_dtypes.finfo(kind).max)
    np.testing.assert_array_equal(found.astype(np.float32), np.clip(x * 4, -most, most).astype(kind).astype(np.float32))


def test_the_ratio_of_short_scales_is_computed_in_float32(xla: Xla) -> None:
    """As ONNX Runtime does, whose results these are: the ratio in float16, 110.5, would make a tie of -110.565."""
    a = np.array([[0, -1, -2, 0], [-2, -1, -1, 0]], np.int8)
    b = np.array([[3, 3, -2], [-3, -2, 2], [2, -2, -1], [2, 2, 0]], np.int8)
    scales = (np.array([scale], np.float16) for scale in (1.19140625, 0.92822265625, 0.01000213623046875))
    zeros = (np.array([zero], np.int8) for zero in (-21, 1, 127))
    quantizers = [value for pair in zip(scales, zeros, strict=True) for value in pair]
    inputs = a, *quantizers[:2], b, *quantizers[2:]
    graph, feeds = built(lambda op, *values: op.QLinearMatMul(*values), *inputs)
    ((found,),) = xla.lowered(graph, feeds)
    assert found.tolist() == [[127, -128, -128], [16, -128, -128]]


def test_infinities_saturate(xla: Xla) -> None:
    x = f32(np.inf, -np.inf, 1e30, -1e30, 0.25, 0.75)
    graph, feeds = built(lambda op, x: op.QuantizeLinear(x, op.const(np.float32(0.5)), op.const(np.int8(-5))), x)
    ((found,),) = xla.lowered(graph, feeds)
    assert found.tolist() == [127, -128, 127, -128, -5, -3]


def test_nothing_but_zeros(xla: Xla) -> None:
    """The scale isn't 0, by which nothing could be divided."""
    graph, feeds = built(lambda op, x: op.DynamicQuantizeLinear(x, _outputs=3), f32(0, 0))
    ((found, scale, zero),) = xla.lowered(graph, feeds)
    assert (found.tolist(), scale, zero) == ([0, 0], 1, 0)


def test_wide_integers_back(xla: Xla) -> None:
    """The integer becomes a float once, the product is rounded once."""
    x = RANDOM.integers(-(2**31), 2**31, 1000).astype(np.int32)
    y = RANDOM.integers(0, 2**16, 1000).astype(np.uint16)
    graph, feeds = built(
        lambda op, x, y: (
            op.DequantizeLinear(x, op.const(np.float32(0.37))),
            op.DequantizeLinear(y, op.const(np.array(0.37, BF16)), op.const(np.uint16(30000))),
        ),
        x,
        y,
    )
    ((first, second),) = xla.lowered(graph, feeds)
    np.testing.assert_array_equal(first, x.astype(np.float32) * np.float32(0.37))
    moved = (y.astype(np.int64) - 30000).astype(np.float32)
    np.testing.assert_array_equal(second, (moved * np.array(0.37, BF16).astype(np.float32)).astype(BF16))


def test_products_with_scales_of_rows_and_columns(xla: Xla) -> None:
    a, b = RANDOM.integers(0, 256, (5, 300)).astype(np.uint8), RANDOM.integers(-128, 128, (300, 4)).astype(np.int8)
    rows, columns = (RANDOM.uniform(0.01, 0.02, size).astype(np.float32) for size in (5, 4))
    a_zero, b_zero = np.arange(5, dtype=np.uint8), np.arange(4, dtype=np.int8)
    graph, feeds = built(
        lambda op, a, b: op.QLinearMatMul(
            a,
            op.const(rows),
            op.const(a_zero),
            b,
            op.const(columns),
            op.const(b_zero),
            op.const(np.float32(0.5)),
            op.const(np.uint8(100)),
        ),
        a,
        b,
    )
    ((found,),) = xla.lowered(graph, feeds)
    total = (a.astype(np.int64) - a_zero[:, None]) @ (b.astype(np.int64) - b_zero)
    wanted = np.clip(np.rint(total * (rows[:, None] * columns / np.float32(0.5))) + 100, 0, 255)
    np.testing.assert_array_equal(found, wanted.astype(np.uint8))


@needs_exact_products
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(xla: Xla, groups: int) -> None:
    """Padding is the zero point; as ONNX Runtime has it."""
    text = f"""
        <ir_version: 10, opset_import: ["": 21]>
        g (uint8[2, 4, 7, 6] x, int8[6, {4 // groups}, 3, 2] w, int32[6] b)
            => (uint8[2, 6, N, M] y, int32[2, 6, N, M] z)
        <float s = {{0.02}}, uint8 p = {{120}}, float[6] t = {{0.01, 0.02, 0.03, 0.01, 0.015, 0.01}},
         int8[6] q = {{0, 0, 0, 0, 0, 0}}, float u = {{0.11}}, uint8 r = {{131}}, uint8 v = {{7}}>
        {{
            y = QLinearConv <group = {groups}, pads = [1, 0, 2, 1], strides = [2, 1]> (x, s, p, w, t, q, u, r, b)
            wide = Cast <to = {to(DType.UINT8)}> (w)
            z = ConvInteger <group = {groups}, pads = [1, 1, 1, 1], dilations = [1, 2]> (x, wide, p, v)
        }}"""
    model = onnx.parser.parse_model(text)
    feeds = {
        "x": RANDOM.integers(0, 256, (2, 4, 7, 6)).astype(np.uint8),
        "w": RANDOM.integers(-128, 128, (6, 4 // groups, 3, 2)).astype(np.int8),
        "b": RANDOM.integers(-900, 900, 6).astype(np.int32),
    }
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    (found,) = xla.lowered(raise_graph(read_model(model)), feeds)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
