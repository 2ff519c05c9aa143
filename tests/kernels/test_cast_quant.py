"""Changes of type: saturation, rounding, strings, and linear quantization."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from backedge.runtime.executor import ExecutionError
from onnx import TensorProto

from kernels.one import f32, i64, run_op, same

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    "to, dtype, largest",
    [
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn, 448),
        (TensorProto.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz, 240),
        (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2, 57344),
        (TensorProto.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz, 57344),
    ],
)
def test_float8_saturates_unless_told_otherwise(to: int, dtype: type, largest: float) -> None:
    x = f32(1e6, -1e6, INF, -INF, NAN, 1)
    same(run_op("Cast", x, to=to), np.array([largest, -largest, largest, -largest, NAN, 1], dtype))
    beyond = run_op("Cast", x, to=to, saturate=0).astype(np.float32)
    limit = INF if dtype is ml_dtypes.float8_e5m2 else NAN
    same(beyond, f32(limit, -limit, limit, -limit, NAN, 1))


def test_powers_of_two() -> None:
    x = f32(0, 0.75, 1.5, 2, 1.4, INF, NAN)
    exponents = {
        "up": [0, 127, 128, 128, 128, 254, 255],
        "down": [0, 126, 127, 128, 127, 254, 255],
        "nearest": [0, 127, 128, 128, 127, 254, 255],
    }
    for mode, codes in exponents.items():
        got = run_op("Cast", x, to=TensorProto.FLOAT8E8M0, round_mode=mode)
        assert got.view(np.uint8).tolist() == codes, mode
    strict = run_op("Cast", f32(0, INF, 1), to=TensorProto.FLOAT8E8M0, round_mode="nearest", saturate=0)
    assert strict.view(np.uint8).tolist() == [255, 255, 127]


def test_integers_lose_their_high_bits() -> None:
    same(run_op("Cast", np.array([200, -1], np.int16), to=TensorProto.INT8), np.array([-56, -1], np.int8))
    got = run_op("Cast", i64(9, -9, 17), to=TensorProto.INT4)
    assert got.astype(np.int8).tolist() == [-7, 7, 1]


def test_anything_but_zero_is_true() -> None:
    same(run_op("Cast", f32(0, -0.0, NAN, 1e-30), to=TensorProto.BOOL), np.array([False, False, True, True]))


def test_numbers_spelled() -> None:
    got = run_op("Cast", f32(0.1, 1, -2.5, NAN, INF, -INF), to=TensorProto.STRING)
    assert got.tolist() == ["0.1", "1", "-2.5", "NaN", "INF", "-INF"]
    assert run_op("Cast", np.array([True, False]), to=TensorProto.STRING).tolist() == ["1", "0"]
    assert run_op("Cast", i64(-3), to=TensorProto.STRING).shape == ()


def test_numbers_read() -> None:
    words = np.array(["1e3", "-INF", "nan"], object)
    same(run_op("Cast", words, to=TensorProto.DOUBLE), np.array([1000, -INF, NAN]))
    same(run_op("Cast", np.array(["100.5", str(2**62 + 1)], object), to=TensorProto.INT64), i64(100, 2**62 + 1))
    with pytest.raises(ExecutionError, match="Hello"):
        run_op("Cast", np.array(["Hello"], object), to=TensorProto.FLOAT)


def test_bits_are_kept() -> None:
    same(run_op("BitCast", f32(1), to=TensorProto.INT32), np.array(0x3F800000, np.int32))
    with pytest.raises(ExecutionError, match="width"):
        run_op("BitCast", f32(1), to=TensorProto.INT64)


def test_quantize_rounds_to_even_and_saturates() -> None:
    zero = np.array(10, np.uint8)
    same(run_op("QuantizeLinear", f32(1, 3, -99, 9999), f32(2), zero), np.array([10, 12, 0, 255], np.uint8))


def test_quantize_by_axis_and_by_block() -> None:
    x = f32([[2, 4, 6], [8, 10, 12]])
    same(run_op("QuantizeLinear", x, f32(2, 4), axis=0), np.array([[1, 2, 3], [2, 2, 3]], np.uint8))
    scales = f32([[2, 3], [4, 6]])
    same(run_op("QuantizeLinear", x, scales, axis=1, block_size=2), np.array([[1, 2, 2], [2, 2, 2]], np.uint8))
    with pytest.raises(ExecutionError, match="in blocks of 1"):
        run_op("QuantizeLinear", x, f32([[1], [1], [1]]), axis=1, block_size=1)


def test_dequantize_exactly() -> None:
    x, zero = np.array([2**31 - 1], np.int32), np.array(2**31 - 2, np.int32)
    same(run_op("DequantizeLinear", x, f32(0.5), zero), f32([0.5]))


def test_quantize_a_constant() -> None:
    y, scale, zero = run_op("DynamicQuantizeLinear", f32(0, 0), outputs=3)
    assert y.tolist() == [0, 0] and zero == 0 and scale > 0


def test_integer_product_beyond_float32() -> None:
    a, b = np.full((1, 70000), 255, np.uint8), np.full((70000, 1), 255, np.uint8)
    wrapped = (255 * 255 * 70000 + 2**31) % 2**32 - 2**31
    same(run_op("MatMulInteger", a, b), np.array([[wrapped]], np.int32))


def test_integer_product_zero_points_of_rows() -> None:
    a, b = np.array([[1, 2], [3, 4]], np.uint8), np.array([[1], [1]], np.uint8)
    same(run_op("MatMulInteger", a, b, np.array([1, 2], np.uint8)), np.array([[1], [3]], np.int32))
