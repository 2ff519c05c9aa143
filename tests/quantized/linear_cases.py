"""QuantizeLinear and DequantizeLinear with what is unusual about types, axes, zero points and values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from onnx import ModelProto

from .models import Case, Fixed, case, chain, codes, f32, fixed, floats

INF = np.inf  # OpenVINO multiplies with a constant's reciprocal: where that is rounded, ties may be missed (steps=1)
Z = np.uint8


def ties(step: float, low: int, high: int) -> np.ndarray:
    """Every multiple of the step and every middle between two, a little beyond both ends; a little below and above."""
    halves = np.arange(2 * low - 7, 2 * high + 8, dtype=np.float32) * np.float32(step / 2)
    return np.concatenate([halves, halves * np.float32(1 - 1e-4), halves * np.float32(1 + 1e-4)])


def quantize(name: str, x: Any, scale: Any, zero: Any = None, kind: Any = Z, **more: Any) -> Case:
    inputs = [f32(x), fixed(scale), None if zero is None else fixed(zero, kind)]
    return case(name, "QuantizeLinear", inputs, domain="", **more)


def dequantize(name: str, x: Any, scale: Any, zero: Any = None, **more: Any) -> Case:
    array = x.array if isinstance(x, Fixed) else x
    return case(
        name,
        "DequantizeLinear",
        [x, fixed(scale), None if zero is None else fixed(zero, array.dtype)],
        domain="",
        **more,
    )


LARGE = f32([INF, -INF, 3e38, -3e38, 0.0, -0.0, 1e-38, 254.5, 255.5, -0.5])

QUANTIZED = [
    quantize("ties of u8", ties(0.25, 0, 255), 0.25),
    quantize("ties of u8, zero point in the middle", ties(0.25, -128, 127), 0.25, 128),
    quantize("ties of u8, odd zero point", ties(0.25, -37, 218), 0.25, 37),
    quantize("ties of u8, zero point at the end", ties(0.25, -255, 0), 0.25, 255),
    quantize("ties of i8", ties(2.0, -128, 127), 2.0, 0, np.int8),
    quantize("ties of i8, odd zero point", ties(2.0, -129, 126), 2.0, 1, np.int8),
    quantize("ties of i8, zero point at the lower end", ties(0.5, 0, 255), 0.5, -128, np.int8),
    quantize("ties of i8, zero point at the upper end", ties(0.5, -255, 0), 0.5, 127, np.int8),
    quantize("ties of steps that aren't numbers of float32", ties(0.1, -37, 218), 0.1, 37),
    quantize("all of 16 bits", np.arange(-33000, 33000, 7) * 0.5, 0.5, 0, np.int16),
    quantize("all of unsigned 16 bits", np.arange(-99, 66000, 7) * 0.5, 0.5, 3, np.uint16),
    quantize("4 bits", ties(0.5, -8, 7), 0.5, 1, ml_dtypes.int4),
    quantize("unsigned 4 bits", ties(0.5, -3, 12), 0.5, 3, ml_dtypes.uint4),
    quantize("what is too large", LARGE, 1.0, 0),
    quantize("what is too large, signed", LARGE, 1.0, 0, np.int8),
    quantize("steps that are tiny", ties(1e-30, -5, 250), 1e-30, 5, steps=1),
    quantize("steps that are huge", ties(1e30, -5, 250), 1e30, 5, steps=1),
    quantize("by rows", floats(3, 5, scale=100), [0.5, 1, 0.25], [3, 0, 255], axis=0),
    quantize("by an axis from behind", floats(2, 3, 4, scale=100), [0.5, 1, 0.25], [0, 0, 0], axis=-2),
    quantize("signed by an axis", floats(2, 3, 4, scale=100), [0.5, 1, 0.25], [0, -128, 5], np.int8, axis=1),
    quantize("by blocks", floats(3, 8, scale=9), floats(3, 2) ** 2 + 0.1, codes(3, 2), axis=1, block_size=4),
    quantize("by blocks, the last of them cut short", floats(7, 2, scale=9), floats(3, 2) ** 2 + 0.1, None, axis=0,
             block_size=3),
    quantize("nothing", np.zeros((0, 3)), 0.5, 7),
    quantize("a scalar", 7.3, 0.5, 7),
    quantize("one scale in a vector", floats(3, 4), [0.01], [128]),
]  # fmt: skip

CODES = np.arange(256).astype(Z)
FOUR_BITS = codes(4, 33, low=-8, high=8, dtype=np.int8).astype(ml_dtypes.int4)
DEQUANTIZED = [
    dequantize("all of u8", CODES, 0.1),
    dequantize("all of u8, zero point", CODES, 0.1, 255),
    dequantize("all of i8", CODES.view(np.int8), 0.1, -128),
    dequantize("16 bits", codes(50, dtype=np.int16), 1e-3, 3),
    dequantize("unsigned 16 bits", codes(50, dtype=np.uint16), 1e-3, 65535),
    dequantize("32 bits", np.array([0, 1, -(2**24), 2**24 - 1, 2**31 - 1], np.int32), 0.5),
    dequantize("by columns", codes(3, 4), [1, 2, 3, 4.5], [0, 1, 128, 255], axis=-1),
    dequantize("by blocks", codes(3, 8), floats(3, 2), codes(3, 2), axis=1, block_size=4),
    dequantize("nothing", np.zeros((3, 0), Z), 0.5, 7),
    dequantize("constant by rows", Fixed(codes(5, 70)), floats(5), codes(5), axis=0),
    dequantize("constant by blocks", Fixed(codes(5, 64)), floats(5, 4), codes(5, 4), axis=1, block_size=16),
    dequantize("constant by blocks of the first axis", Fixed(codes(64, 3, 2)), floats(4, 3, 2), None, axis=0,
               block_size=16),
    dequantize("constant by blocks, the last of them cut short", Fixed(codes(5, 60)), floats(5, 4), codes(5, 4), axis=1,
               block_size=16),
    dequantize("constant of 8-bit floats", Fixed(floats(8, 70).astype(ml_dtypes.float8_e4m3fn)), floats(8), axis=0),
    dequantize("constant of 4 bits", Fixed(FOUR_BITS), floats(4), axis=0),
]  # fmt: skip

PAIRS: dict[str, tuple[ModelProto, dict[str, np.ndarray]]] = {
    "sums of products": (
        chain(
            "g (float[3, 16] x) => (float[3, 8] y) {"
            " q = QuantizeLinear (x, xs, xz) d = DequantizeLinear (q, xs, xz)"
            " w = DequantizeLinear <axis = 1> (wq, ws, wz) m = MatMul (d, w)"
            " p = QuantizeLinear (m, ys, yz) y = DequantizeLinear (p, ys, yz) }",
            {
                "xs": f32(0.031),
                "xz": np.array(117, Z),
                "wq": codes(16, 8, dtype=np.int8),
                "ws": floats(8) ** 2 + 0.01,
                "wz": np.zeros(8, np.int8),
                "ys": f32(1.7),
                "yz": np.array(121, Z),
            },
        ),
        {"x": floats(3, 16)},
    ),
    "a convolution with bias and relu": (
        chain(
            "g (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) {"
            " q = QuantizeLinear (x, xs, xz) d = DequantizeLinear (q, xs, xz)"
            " w = DequantizeLinear <axis = 0> (wq, ws) b = DequantizeLinear <axis = 0> (bq, bs)"
            " c = Conv (d, w, b) r = Relu (c) p = QuantizeLinear (r, ys, yz) y = DequantizeLinear (p, ys, yz) }",
            {
                "xs": f32(0.031),
                "xz": np.array(3, np.int8),
                "wq": codes(4, 3, 3, 3, dtype=np.int8),
                "ws": floats(4) ** 2 + 0.01,
                "bq": codes(4, dtype=np.int32, low=-9999, high=9999),
                "bs": (floats(4) ** 2 + 0.01) * np.float32(0.031),
                "ys": f32(0.43),
                "yz": np.array(-128, np.int8),
            },
        ),
        {"x": floats(1, 3, 6, 6)},
    ),
    "the same grid before and after": (
        chain(
            "g (uint8[2, 4, 4] q) => (float[2, 2, 2] y) {"
            " a = DequantizeLinear (q, s, z) u = Unsqueeze (a, zero)"
            " m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (u) v = Squeeze (m, zero)"
            " p = QuantizeLinear (v, s, z) y = DequantizeLinear (p, s, z) }",
            {"s": f32(0.1), "z": np.array(77, Z), "zero": np.array([0])},
        ),
        {"q": codes(2, 4, 4)},
    ),
    "half the steps between, which are ties": (
        chain(
            "g (uint8[64] q) => (float[64] y) { a = DequantizeLinear (q, s, z)"
            " p = QuantizeLinear (a, t, z) y = DequantizeLinear (p, t, z) }",
            {"s": f32(0.1), "t": f32(0.2), "z": np.array(77, Z)},
        ),
        {"q": codes(64)},
    ),
}
"""Chains with quantizers in them, and their inputs."""
