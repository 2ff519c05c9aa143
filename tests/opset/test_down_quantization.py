"""Quantization at opsets that lack the operator, blocks, axes or types; values by hand from the specification."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.errors import Unsupported
from backedge.passes.opset import convert_opset
from backedge.passes.types import DType

from .harness import converted, down, f32, operators, parse
from .lowered import lowered


def u8(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.uint8)


def i8(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.int8)


# QuantizeLinear ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [12, 9, 7])
def test_quantizing_rounds_to_even_before_the_zero_point_and_holds(target: int) -> None:
    """x / 2 of 1, 3, 5, -1, 1000, -1000: 0.5, 1.5, 2.5, -0.5 to 0, 2, 2, 0, and 3 on top; then the ends of uint8."""
    text = "(float[6] x, float s, uint8 z) => (uint8[6] y) { y = QuantizeLinear (x, s, z) }"
    (made,) = down(text, 13, target, f32(1, 3, 5, -1, 1000, -1000), np.float32(2), np.uint8(3))
    assert made.dtype == np.uint8
    assert made.tolist() == [3, 5, 5, 3, 255, 0]


def test_infinities_go_to_the_ends() -> None:
    text = "(float[2] x, float s, int8 z) => (int8[2] y) { y = QuantizeLinear (x, s, z) }"
    (made,) = down(text, 10, 9, f32(np.inf, -np.inf), np.float32(1), np.int8(5))
    assert made.tolist() == [127, -128]


def test_without_a_zero_point_it_is_uint8() -> None:
    text = "(float[2] x, float s) => (uint8[2] y) { y = QuantizeLinear (x, s) }"
    (made,) = down(text, 10, 9, f32(-4, 7), np.float32(1))
    assert made.dtype == np.uint8
    assert made.tolist() == [0, 7]


def test_integers_are_quantized_too() -> None:
    text = "(int32[2] x, float s) => (uint8[2] y) { y = QuantizeLinear (x, s) }"
    assert down(text, 10, 9, np.array([10, 25], np.int32), np.float32(10))[0].tolist() == [1, 2]


@pytest.mark.parametrize("axis", [0, -2])
@pytest.mark.parametrize("target", [12, 9])
def test_quantizing_along_an_axis(axis: int, target: int) -> None:
    text = f"""(float[2, 2] x, float[2] s, uint8[2] z) => (uint8[2, 2] y)
        {{ y = QuantizeLinear <axis = {axis}> (x, s, z) }}"""
    (made,) = down(text, 13, target, f32([8, 4], [8, 4]), f32(1, 4), u8(0, 100))
    assert made.tolist() == [[8, 4], [102, 101]]


def test_a_scalar_with_a_scale_of_one_element() -> None:
    text = "(float x, float[1] s, uint8[1] z) => (uint8 y) { y = QuantizeLinear (x, s, z) }"
    (made,) = down(text, 10, 9, np.float32(6), f32(2), u8(1))
    assert made.shape == ()
    assert made == 4


def test_blocks_of_which_the_last_is_shorter() -> None:
    """Five columns in blocks of two: scales 1, 1, 10, 10, 2 and zero points 0, 0, 1, 1, 2."""
    text = """(float[1, 5] x, float[1, 3] s, int8[1, 3] z) => (int8[1, 5] y)
        { y = QuantizeLinear <axis = 1, block_size = 2> (x, s, z) }"""
    given = f32([3, 4, 50, 60, 10]), f32([1, 10, 2]), i8([0, 1, 2])
    for target in (18, 13, 9):
        (made,) = down(text.replace("[1, 5]", "[1, n]"), 21, target, *given[:1], *given[1:])
        assert made.tolist() == [[3, 4, 6, 7, 7]]
        assert down(text, 21, target, *given)[0].tolist() == made.tolist()


def test_integers_of_16_bits() -> None:
    """The zero point 65535 isn't a float16 number: the sum must not be taken in the scale's type."""
    text = "(float16[3] x, float16 s, uint16 z) => (int32[3] y) { q = QuantizeLinear (x, s, z) y = Cast <to = 6> (q) }"
    (made,) = down(text, 21, 13, np.array([0, -1, 5], np.float16), np.float16(1), np.uint16(65535))
    assert made.tolist() == [65535, 65534, 65535]


def test_division_in_16_bits() -> None:
    """2047 / 819 is 2.4994 .. but 2.5 in float16, which is rounded to 2; 4.5 from 3.4993 is 4."""
    x, s = np.array([2047, 2866], np.float16), np.float16(819)
    assert (x / s).tolist() == [2.5, 3.5]
    text = "(float16[2] x, float16 s) => (uint8[2] y) { y = QuantizeLinear (x, s) }"
    assert down(text, 19, 18, x, s)[0].tolist() == [2, 4]


def test_precision_of_the_division() -> None:
    text = "(float16[1] x, float16 s) => (uint8[1] y) { y = QuantizeLinear <precision = 1> (x, s) }"
    x, s = np.array([2866], np.float16), np.float16(819)
    assert down(text, 23, 21, x, s)[0].tolist() == [3]
    assert down(text, 23, 13, x, s)[0].tolist() == [3]


def test_the_type_said_by_an_attribute() -> None:
    text = "(float[n] x, float[k] s) => (int8[n] y) { y = QuantizeLinear <axis = 0, output_dtype = 3> (x, s) }"
    assert down(text, 21, 18, f32(-5, 300), f32(1, 2))[0].tolist() == [-5, 127]


def test_a_scale_of_integers_is_refused() -> None:
    text = "(int32[1] x, int32 s) => (uint8[1] y) { y = QuantizeLinear (x, s) }"
    with pytest.raises(Unsupported, match="int32"):
        convert_opset(parse(text, 19), {"": 13})


# DequantizeLinear --------------------------------------------------------------------------------


def test_dequantizing_along_an_axis_by_arithmetic() -> None:
    text = """(uint8[2, 2] x, float[2] s, uint8[2] z) => (float[2, 2] y) { y = DequantizeLinear (x, s, z) }"""
    for target in (12, 9, 7):
        (made,) = down(text, 13, target, u8([0, 255], [10, 20]), f32(2, 0.5), u8(128, 10))
        assert made.tolist() == [[-256, 122.5], [-236, 5]]


def test_dequantizing_blocks_along_the_first_axis() -> None:
    text = """(int8[3, 1] x, float[2, 1] s, int8[2, 1] z) => (float[3, 1] y)
        { y = DequantizeLinear <axis = 0, block_size = 2> (x, s, z) }"""
    for target in (18, 9):
        (made,) = down(text, 21, target, i8([1], [2], [3]), f32([10], [100]), i8([1], [-1]))
        assert made.tolist() == [[0], [10], [400]]


def test_int32_goes_without_a_zero_point() -> None:
    text = "(int32[2] x, float s) => (float[2] y) { y = DequantizeLinear (x, s) }"
    assert down(text, 10, 9, np.array([-7, 2**24], np.int32), np.float32(0.5))[0].tolist() == [-3.5, 2**23]


def test_integers_of_16_bits_in_a_short_result() -> None:
    """65535 - 65533 is 2, though neither is a float16 number."""
    text = """(int32[1] x, float16 s, int32 z) => (float16[1] y)
        { q = Cast <to = 4> (x) p = Cast <to = 4> (z) y = DequantizeLinear (q, s, p) }"""
    (made,) = down(text, 21, 18, np.array([65535], np.int32), np.float16(3), np.int32(65533))
    assert made.tolist() == [6]


def test_a_result_wider_than_the_scale() -> None:
    """100 * 1.0009765625 has more digits than float16."""
    text = "(int8[1] x, float16 s) => (float[1] y) { y = DequantizeLinear <output_dtype = 1> (x, s) }"
    for target in (21, 9):
        (made,) = down(text, 23, target, i8(101), np.float16(1 + 2**-10))
        assert made.tolist() == [101 * (1 + 2**-10)]


# products ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [9, 8])
def test_integer_product_with_zero_points_for_rows_and_columns(target: int) -> None:
    """Rows less 1 and 2, columns less 0 and 1: [[0, 1], [1, 2]] times [[5, 5], [7, 7]]."""
    text = """(uint8[2, 2] a, int8[2, 2] b, uint8[2] p, int8[2] q) => (int32[2, 2] y)
        { y = MatMulInteger (a, b, p, q) }"""
    (made,) = down(text, 10, target, u8([1, 2], [3, 4]), i8([5, 6], [7, 8]), u8(1, 2), i8(0, 1))
    assert made.dtype == np.int32
    assert made.tolist() == [[7, 7], [19, 19]]


def test_integer_product_of_no_columns() -> None:
    text = """(uint8[1, 2] a, int8[n, m] b, uint8 p) => (int32[1, m] y) <int8[0] q = {}>
        { y = MatMulInteger (a, b, p, q) }"""
    for target in (9, 8):
        (made,) = down(text, 10, target, u8([5, 3]), np.zeros((2, 0), np.int8), np.uint8(3))
        assert (made.dtype, made.shape) == (np.int32, (1, 0))


def test_the_longest_integer_product_is_exact() -> None:
    text = "(uint8[1, 1000] a, uint8[1000, 1] b) => (int32[1, 1] y) { y = MatMulInteger (a, b) }"
    a = np.full((1, 1000), 255, np.uint8)
    for target in (9, 8):
        assert down(text, 10, target, a, a.T)[0].tolist() == [[255 * 255 * 1000]]


def test_quantized_product_rounds_before_the_zero_point() -> None:
    """Sums 5 and 6 by 1/2 are 2.5 and 3, rounded 2 and 3, and 101 on top."""
    text = """(uint8[2, 1] a, uint8[1, 1] b) => (uint8[2, 1] y) {
        one = Constant <value = float {1.0}> () two = Constant <value = float {2.0}> ()
        none = Constant <value = uint8 {0}> () zero = Constant <value = uint8 {101}> ()
        y = QLinearMatMul (a, one, none, b, one, none, two, zero)
    }"""
    assert down(text, 10, 9, u8([5], [6]), u8([1]))[0].tolist() == [[103], [104]]


def test_quantized_product_with_a_scale_for_each_row() -> None:
    text = """(int8[2, 1] a, float[2] s, int8[2] p, int8[1, 2] b, float[2] t, int8[2] q, float u, int8 z)
        => (int8[2, 2] y) { y = QLinearMatMul (a, s, p, b, t, q, u, z) }"""
    given = i8([10], [10]), f32(1, 2), i8(0, 5), i8([1, 2]), f32(1, 0.5), i8(0, 0), np.float32(1), np.int8(-1)
    assert down(text, 10, 9, *given)[0].tolist() == [[9, 9], [9, 9]]


def test_quantized_product_of_float8_is_refused() -> None:
    kind = "float8e4m3fn"
    text = f"""({kind}[1, 1] a, float s, {kind} p, {kind}[1, 1] b, {kind} z) => ({kind}[1, 1] y)
        {{ y = QLinearMatMul (a, s, p, b, s, p, s, z) }}"""
    with pytest.raises(Unsupported, match="float8e4m3fn"):
        convert_opset(parse(text, 21), {"": 20})


def test_scales_of_bfloat16() -> None:
    text = """(uint8[1, 1] a, bfloat16[1] s, uint8 p, uint8[1, 1] b, uint8 z) => (uint8[1, 1] y)
        { y = QLinearMatMul (a, s, p, b, s, p, s, z) }"""
    (made,) = down(text, 21, 18, u8([3]), np.array([0.5], ml_dtypes.bfloat16), np.uint8(1), u8([11]), np.uint8(7))
    assert made.tolist() == [[17]]


# convolutions ------------------------------------------------------------------------------------


def test_padding_of_an_integer_convolution_is_the_zero_point() -> None:
    """Of 1, 2, 3 less 1: sums over windows of three, with nothing outside."""
    text = """(uint8[1, 1, 3] x, uint8[1, 1, 3] w, uint8 z) => (int32[1, 1, 3] y)
        { y = ConvInteger <pads = [1, 1]> (x, w, z) }"""
    (made,) = down(text, 10, 9, u8([[1, 2, 3]]), u8([[1, 1, 1]]), np.uint8(1))
    assert made.dtype == np.int32
    assert made.tolist() == [[[1, 3, 3]]]


def test_integer_convolution_with_a_zero_point_for_each_filter() -> None:
    text = """(uint8[1, 1, 1] x, uint8[2, 1, 1] w, uint8 z, uint8[2] p) => (int32[1, 2, 1] y)
        { y = ConvInteger (x, w, z, p) }"""
    (made,) = down(text, 10, 9, u8([[10]]), u8([[1]], [[2]]), np.uint8(0), u8(3, 0))
    assert made.tolist() == [[[-20], [20]]]


def test_sums_beyond_24_bits_are_exact() -> None:
    """300 products of 255 * 255, less one by the last weight: no float32 number."""
    text = "(uint8[1, 1, 300] x, uint8[1, 1, 300] w) => (int32[1, 1, 1] y) { y = ConvInteger (x, w) }"
    x = np.full((1, 1, 300), 255, np.uint8)
    w = x.copy()
    w[0, 0, 0] = 254
    graph = converted(parse(text, 10), 9)
    assert ("Conv", 1) in operators(graph)
    assert down(text, 10, 9, x, w)[0].tolist() == [[[255 * 255 * 300 - 255]]]


def test_sums_that_may_leave_int32_are_refused() -> None:
    text = "(uint8[1, 1, 40000] x, uint8[1, 1, 40000] w) => (int32[1, 1, 1] y) { y = ConvInteger (x, w) }"
    with pytest.raises(Unsupported, match="may leave int32"):
        convert_opset(parse(text, 10), {"": 9})


def test_quantized_convolution_with_scales_and_bias_for_each_channel() -> None:
    """Sums 10 * 1 + 5 and 10 * 2 - 1, by 1/2 and 1: 7.5 to 8, 19; and 1 on top."""
    text = """(uint8[1, 1, 1, 1] x, float s, uint8 p, uint8[2, 1, 1, 1] w, float[2] t, uint8[2] q, float u, uint8 z,
        int32[2] b) => (uint8[1, 2, 1, 1] y) { y = QLinearConv (x, s, p, w, t, q, u, z, b) }"""
    given = (u8([[[10]]]), np.float32(1), np.uint8(0), u8([[[1]]], [[[2]]]), f32(0.5, 1), u8(0, 0), np.float32(1))
    (made,) = down(text, 10, 9, *given, np.uint8(1), np.array([5, -1], np.int32))
    assert made.tolist() == [[[[9]], [[20]]]]


def test_dynamic_quantization() -> None:
    """From -1 to 4: the scale is 5 / 255, the zero point 51."""
    text = "(float[3] x) => (uint8[3] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }"
    made, scale, zero = down(text, 11, 9, f32(-1, 0, 4))
    assert (made.tolist(), int(zero)) == ([0, 51, 255], 51)
    np.testing.assert_allclose(scale, 5 / 255, rtol=1e-6)


@pytest.mark.parametrize("target", [10, 9, 8])
def test_dynamic_quantization_of_nothing_but_zeros(target: int) -> None:
    """A scale of 1, as ONNX Runtime takes it: the formula alone would divide 0 by 0."""
    text = "(float[2] x) => (uint8[2] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }"
    made, scale, zero = down(text, 11, target, f32(0, 0))
    assert (made.tolist(), float(scale), int(zero)) == ([0, 0], 1.0, 0)


def test_products_of_16_bits_along_an_axis() -> None:
    """101 * (1 + 2^-10) is 101.0986, of which float16 holds 101.125; 3 * 0.5 is exact."""
    text = """(int8[2, 1] x, float16[2] s) => (float16[2, 1] y) { y = DequantizeLinear <axis = 0> (x, s) }"""
    for target in (12, 9):
        (made,) = down(text, 19, target, i8([101], [3]), np.array([1 + 2**-10, 0.5], np.float16))
        assert made.dtype == np.float16
        assert made.tolist() == [[101.125], [1.5]]


@pytest.mark.parametrize(("channels", "parts"), [(8, 1), (150, 3)])
def test_convolutions_of_known_filters_stay_in_single_precision(channels: int, parts: int) -> None:
    """150 channels of 9 products of up to 255 * 128 leave what float32 counts: they are summed in parts."""
    rng = np.random.default_rng(channels)
    x = rng.integers(200, 256, (1, channels, 4, 4), np.uint8)
    w = rng.integers(100, 128, (2, channels, 3, 3), np.int8)
    filters = ", ".join(map(str, w.reshape(-1)))
    text = f"""(uint8[1, {channels}, 4, 4] x) => (int32[1, 2, 2, 2] y) <int8[2, {channels}, 3, 3] w = {{{filters}}}> {{
        y = ConvInteger (x, w)
    }}"""
    graph = converted(parse(text, 10), 9)
    convolutions = [node for node in graph.nodes if node.op_type == "Conv"]
    assert len(convolutions) == parts
    kinds = {value.tensor.dtype for node in convolutions for value in node.inputs if value is not None}
    assert kinds == {DType.FLOAT32}
    windows = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.int64), (3, 3), axis=(1, 2))
    expected = np.einsum("chwij,ocij->ohw", windows, w.astype(np.int64))[None].astype(np.int32)
    [y] = lowered(text, 10, 9, x)
    np.testing.assert_array_equal(y, expected)
    assert y.dtype == np.int32
