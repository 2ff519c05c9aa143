"""Quantization going down: from one scale to axes and blocks, from one type to many, and by arithmetic.

Integers are exact: sums of products are taken in int32, or in floating point as long as no sum can leave what
that type counts exactly. Results are rounded to even before the zero point is added, and clamped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..build import expr, reshape, where
from ..decompose import quantization
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..protos import DTYPES
from ..schemas import HUB_OPSET
from ..types import HALVES, DType
from .build import StepBuilder
from .steps import (
    SHORT_INTEGERS,
    Conditional,
    KindOf,
    Made,
    Step,
    as_type,
    attribute,
    chained,
    changed,
    constant,
    numbers,
    rows,
    same,
    static_shape,
    with_input,
)

_TINY = (DType.INT4, DType.UINT4, DType.INT2, DType.UINT2)
_REAL = frozenset({DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16})
_TAP = 255 * 255
"""What one product of two 8-bit integers without their zero points comes to at most."""


def quantized(op: StepBuilder, node: Node, kind: DType) -> Made:
    """QuantizeLinear-21 to `kind` by its decomposition."""
    work = dtype_of(node, required(node, 1))
    if work not in _REAL:
        raise Unsupported(node, f"division by a scale of {work.value} can't be expressed by arithmetic")
    if kind not in (*SHORT_INTEGERS, *_TINY) and not (kind.is_float and kind.bits == 8):
        raise Unsupported(node, f"quantization to {kind.value} can't be expressed by arithmetic")
    return quantization.quantize_linear(op.at(HUB_OPSET), node)


def dequantized(op: StepBuilder, node: Node) -> Made:
    """DequantizeLinear-21 by its decomposition."""
    return quantization.dequantize_linear(op.at(HUB_OPSET), node)


# products ----------------------------------------------------------------------------------------


def _centred(op: StepBuilder, value: Value, zero: Value | None, kind: DType) -> Value:
    wide = as_type(op, value, kind)
    return wide if zero is None else op.Sub(wide, as_type(op, zero, kind))


def _rows(op: StepBuilder, node: Node, value: Value | None) -> Value | None:
    """What there is of each row of the left operand: a vector becomes a column."""
    if value is None or rank_of(node, value) != 1:
        return value
    return reshape(op, value, []) if quantization.is_single(value) else op.Reshape(value, numbers(op, [-1, 1]))


def _columns(op: StepBuilder, node: Node, value: Value | None) -> Value | None:
    if value is None or not quantization.is_single(value) or rank_of(node, value) > 1:
        return value
    return reshape(op, value, [])


def _exact(node: Node, products: int | None) -> DType:
    """A floating-point type that holds every sum of so many products, which must stay within int32."""
    if products is None:
        raise Unsupported(node, "the number of products in each sum isn't known")
    if products * _TAP >= 2**31:
        raise Unsupported(node, "its sums may leave int32")
    return DType.FLOAT32 if products * _TAP < 2**24 else DType.FLOAT64


def _terms(a: Value, b: Value) -> int | None:
    """How many products each sum of a matrix product has."""
    left, right = a.tensor.shape, b.tensor.shape
    sizes = [left[-1] if left else None, right[-min(2, len(right))] if right else None]
    return next((size for size in sizes if isinstance(size, int)), None)


def _product(op: StepBuilder, node: Node, a: Value, a_zero: Value | None, b: Value, b_zero: Value | None) -> Value:
    """MatMul of integers came with version 9."""
    kind = DType.INT32 if op.target >= 9 else _exact(node, _terms(a, b))
    left = _centred(op, a, _rows(op, node, a_zero), kind)
    right = _centred(op, b, _columns(op, node, b_zero), kind)
    return as_type(op, op.MatMul(left, right), DType.INT32)


def _matmul_integer(op: StepBuilder, node: Node) -> Made:
    """MatMulInteger-10: int32, wrapping."""
    zeros = node.input(2), node.input(3)
    return _product(op.at(13), node, required(node, 0), zeros[0], required(node, 1), zeros[1])


def _qlinear_matmul(op: StepBuilder, node: Node) -> Made:
    """QLinearMatMul-10 and -21, of integers."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (required(node, index) for index in range(8))
    for value in (a, b, y_zero):
        if not dtype_of(node, value).is_integer:
            raise Unsupported(node, f"a product of {dtype_of(node, value).value} isn't one of integers")
    op = op.at(13)
    sums = _product(op, node, a, a_zero, b, b_zero)
    scales = [_rows(op, node, a_scale), _columns(op, node, b_scale), _rows(op, node, y_scale)]
    zero = _rows(op, node, y_zero)
    assert zero is not None
    return quantization.requantized(op, node, sums, [scale for scale in scales if scale is not None], zero)


def _short_scales(op: StepBuilder, node: Node) -> Made:
    """QLinearMatMul-21 knows scales of 16 bits."""
    return None if dtype_of(node, required(node, 1)) is DType.FLOAT32 else _qlinear_matmul(op, node)


def _most(kind: DType, zero: np.ndarray | None) -> int:
    """How far an 8-bit integer is from its zero point at most."""
    low, high = (-128, 127) if kind.is_signed else (0, 255)
    if zero is None:
        return 255
    return max(high - int(zero.min()), int(zero.max()) - low)


def _magnitudes(node: Node, indices: Sequence[int]) -> np.ndarray | None:
    """[results, inputs]: what each input channel adds to a sum at most; None where the filters aren't known."""
    x, x_zero, w, w_zero = indices
    filters, zero = constant(node, w), constant(node, w_zero)
    if filters is None or (node.input(w_zero) is not None and zero is None):
        return None
    apart = filters.astype(np.int64)
    if zero is not None:
        apart = apart - zero.astype(np.int64).reshape(-1, *[1] * (apart.ndim - 1))
    known = np.zeros(1) if node.input(x_zero) is None else constant(node, x_zero)
    most = _most(dtype_of(node, required(node, x)), known)
    return np.abs(apart).reshape(*apart.shape[:2], -1).sum(-1) * most


def _parts(magnitudes: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of input channels whose sums float32 counts exactly."""
    ranges: list[tuple[int, int]] = []
    start, total = 0, np.zeros(len(magnitudes))
    for channel in range(magnitudes.shape[1]):
        if (total + magnitudes[:, channel]).max(initial=0) >= 2**24:
            ranges.append((start, channel))
            start, total = channel, np.zeros(len(magnitudes))
        total = total + magnitudes[:, channel]
    return [*ranges, (start, magnitudes.shape[1])]


def _convolved(op: StepBuilder, node: Node, indices: Sequence[int]) -> Value:
    """The sums of a convolution of 8-bit integers, in int32, from the positions of x, its zero point, w and its own.

    Runtimes seldom convolve in float64: with known filters it is done in float32, in as many parts as stay exact.
    """
    x, x_zero, w, w_zero = (node.input(index) for index in indices)
    assert x is not None and w is not None
    magnitudes = _magnitudes(node, indices)
    if magnitudes is None:
        _, *taps = static_shape(node, w)
        sizes = [size for size in taps if isinstance(size, int)]
        kind, parts = _exact(node, math.prod(sizes) if len(sizes) == len(taps) else None), None
    else:
        if magnitudes.sum(1).max(initial=0) >= 2**31:
            raise Unsupported(node, "its sums may leave int32")
        parts = _parts(magnitudes)
        whole = attribute(node, "group", 1) == 1 and magnitudes.max(initial=0) < 2**24
        kind = DType.FLOAT32 if whole or len(parts) == 1 else DType.FLOAT64
    if x_zero is not None:
        x_zero = quantization.along(op, node, x_zero, rank_of(node, x), 1)
    if w_zero is not None:
        w_zero = quantization.along(op, node, w_zero, rank_of(node, w), 0)
    names = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    attributes = {name: node.attributes[name] for name in names if name in node.attributes}
    data, filters = _centred(op, x, x_zero, kind), _centred(op, w, w_zero, kind)
    if parts is None or len(parts) == 1 or kind is DType.FLOAT64:
        return as_type(op, op.Conv(data, filters, **attributes), DType.INT32)
    sums: list[Value] = []
    for start, end in parts:
        ends = numbers(op, start), numbers(op, end), numbers(op, 1)
        sums.append(as_type(op, op.Conv(op.Slice(data, *ends), op.Slice(filters, *ends), **attributes), DType.INT32))
    return chained(op, "Add", sums)


def _conv_integer(op: StepBuilder, node: Node) -> Made:
    """ConvInteger-10."""
    return _convolved(op.at(13), node, (0, 2, 1, 3))


def _qlinear_conv(op: StepBuilder, node: Node) -> Made:
    """QLinearConv-10: the scale of the filters, and the bias, may be one for each channel of the result."""
    op = op.at(13)
    return quantization.requantized_convolution(op, node, _convolved(op, node, (0, 2, 3, 5)))


_WIDE = frozenset({DType.INT16, DType.UINT16})


# granularity, types -------------------------------------------------------------------------------


def _result(node: Node) -> DType:
    """The type that QuantizeLinear gives."""
    number, zero = attribute(node, "output_dtype", 0), node.input(2)
    if zero is not None:
        return dtype_of(node, zero)
    return DTYPES[number] if number else DType.UINT8


def _by_arithmetic(op: StepBuilder, node: Node) -> Made:
    return dequantized(op, node) if node.op_type == "DequantizeLinear" else quantized(op, node, _result(node))


def _one_scale(op: StepBuilder, node: Node) -> Made:
    """The axis matters to a scale of several elements only."""
    shape = required(node, 1).tensor.static_shape
    if shape is None or math.prod(shape) != 1:
        return _by_arithmetic(op, node)
    return changed(node, without=("axis",))


def _zero_of_type(op: StepBuilder, node: Node) -> Made:
    """The type said by an attribute is said by a zero point."""
    number = attribute(node, "output_dtype", 0)
    plain = changed(node, without=("output_dtype", "block_size"))
    if not number or node.input(2) is not None:
        return plain
    shape = required(node, 1).tensor.static_shape
    if shape is None:
        return _by_arithmetic(op, node)
    zero = op.const(np.zeros(shape, DTYPES[number].numpy), DTYPES[number])
    return changed(plain, inputs=with_input(plain.formal_inputs, 2, zero))


def _before_21(op: StepBuilder, node: Node) -> Made:
    """Blocks and integers of 16 bits came with version 21, as did the type as an attribute."""
    quantizing = node.op_type == "QuantizeLinear"
    kind = _result(node) if quantizing else dtype_of(node, required(node, 0))
    if attribute(node, "block_size", 0) or kind in _WIDE:
        return _by_arithmetic(op, node)
    return _zero_of_type(op, node) if quantizing else changed(node, without=("block_size",))


def _type_of_scale(op: StepBuilder, node: Node) -> Made:
    """DequantizeLinear: before version 23 the scale's type was the result's, and that of the product."""
    number, scale = attribute(node, "output_dtype", 0), required(node, 1)
    plain = changed(node, without=("output_dtype",))
    if not number or DTYPES[number] is dtype_of(node, scale):
        return plain
    return changed(plain, inputs=with_input(plain.formal_inputs, 1, as_type(op, scale, DTYPES[number])))


def _precision_of_scale(op: StepBuilder, node: Node) -> Made:
    """QuantizeLinear: before version 23 data and scale are of the type in which they are divided."""
    number, scale = attribute(node, "precision", 0), required(node, 1)
    work = DTYPES[number] if number else dtype_of(node, scale)
    inputs = with_input(node.formal_inputs, 0, as_type(op, required(node, 0), work))
    return changed(node, inputs=with_input(inputs, 1, as_type(op, scale, work)), without=("precision",))


def _has_integers(node: Node, kind_of: KindOf) -> bool:
    x = node.input(0)
    return x is not None and kind_of(x) is DType.INT32


def _data_of_scale(op: StepBuilder, node: Node) -> Made:
    """QuantizeLinear: from version 19 to 22 data are of the scale's type; int32 before is divided in float32."""
    kind = dtype_of(node, required(node, 1))
    return changed(node, inputs=with_input(node.formal_inputs, 0, as_type(op, required(node, 0), kind)))


def _one_type(op: StepBuilder, node: Node) -> Made:
    """`saturate` speaks of float8, which came with version 19, as did division in 16 bits."""
    if dtype_of(node, required(node, 1)) in HALVES:
        return _by_arithmetic(op, node)
    return changed(node, without=("saturate",))


def _short_product(op: StepBuilder, node: Node) -> Made:
    """DequantizeLinear: before version 19 scales are of float32, in which the product of 8 and 11 bits is exact."""
    kind = dtype_of(node, required(node, 1))
    if kind not in HALVES:
        return None
    x, _, *zero = node.formal_inputs
    made = op.DequantizeLinear(x, as_type(op, required(node, 1), DType.FLOAT32), *zero, axis=attribute(node, "axis", 1))
    return as_type(op, made, kind)


def _dynamic(op: StepBuilder, node: Node) -> Made:
    """DynamicQuantizeLinear-11: its range holds 0; nothing but zeros has the scale 1, as in ONNX Runtime.

    The function body of the operator divides 0 by 0 there; onnx's reference takes 1 / 255.
    """
    x = expr(op.newest, required(node, 0))
    high, low = x.max().maximum(0), x.min().minimum(0)
    span = high - low
    scale = where(span.equals(0), 1, span / 255)
    middle = (0 - low / scale).rint().call("Clip", x.like(0), x.like(255)).cast(DType.UINT8)
    made = [x.call("QuantizeLinear", scale, middle), scale, middle]
    return [value.value() for value in made[: len(node.outputs)]]


ROWS = {
    ("MatMulInteger", 10): Step("MatMulInteger came with version 10", _matmul_integer),
    ("QLinearMatMul", 10): Step("QLinearMatMul came with version 10", _qlinear_matmul),
    ("QLinearMatMul", 21): Step(same, _short_scales),
    ("ConvInteger", 10): Step("ConvInteger came with version 10", _conv_integer),
    ("QLinearConv", 10): Step("QLinearConv came with version 10", _qlinear_conv),
    ("DynamicQuantizeLinear", 11): Step("DynamicQuantizeLinear came with version 11", _dynamic),
    ("DequantizeLinear", 19): Step(same, _short_product),
    ("QuantizeLinear", 10): Step("QuantizeLinear came with version 10", _by_arithmetic),
    ("DequantizeLinear", 10): Step("DequantizeLinear came with version 10", _by_arithmetic),
    **rows("QuantizeLinear DequantizeLinear", 13, Step(same, _one_scale)),
    ("QuantizeLinear", 19): Step(Conditional(_data_of_scale, _has_integers), _one_type),
    ("QuantizeLinear", 21): Step(same, _before_21),
    ("QuantizeLinear", 23): Step(same, _precision_of_scale),
    ("DequantizeLinear", 21): Step(same, _before_21),
    ("DequantizeLinear", 23): Step(same, _type_of_scale),
}
