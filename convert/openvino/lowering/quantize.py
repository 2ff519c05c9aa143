"""Hub -> OpenVINO: quantization, as arithmetic on floats that is exact where ONNX computes with integers."""

from __future__ import annotations

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.protos import DTYPES
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .nn import convolved
from .tools import (
    LARGEST,
    axis_of,
    convert,
    dtype_of,
    element_type,
    flag,
    i64,
    range_of,
    rank_of,
    required,
    reshape,
    saturated,
    size_of,
    static_dim,
)

_RANGES: dict[DType, tuple[int, int]] = {
    DType.INT4: (-8, 7),
    DType.INT8: (-128, 127),
    DType.INT16: (-32768, 32767),
    DType.UINT4: (0, 15),
    DType.UINT8: (0, 255),
    DType.UINT16: (0, 65535),
}
_EXACT = 2**24  # integers up to here are floats


def _spread(op: Builder, node: Node, value: Value, like: Value) -> Value:
    """A scale or zero point so that it broadcasts against the data: one, one per slice or one per block."""
    rank = rank_of(node, like)
    if value.rank == 0 or (value.rank == 1 and static_dim(value, 0) == 1) or rank == 0:
        return reshape(op, value, []) if value.rank else value
    axis = axis_of(node, node.attributes.get("axis", 1), rank)
    block = node.attributes.get("block_size", 0)
    if not block:
        shape = [1] * rank
        shape[axis] = -1
        return reshape(op, value, shape)
    places = op.Divide(range_of(op, size_of(op, node, like, axis)), i64(op, block), m_pythondiv=False)
    return op.Gather(value, places, i64(op, axis), batch_dims=0)


def _saturated(op: Builder, node: Node, value: Value, dtype: DType) -> Value:
    if dtype not in _RANGES:
        raise Unsupported(node, f"quantizing to {dtype.value} has no OpenVINO form")
    low, high = _RANGES[dtype]
    return convert(op, node, op.Clamp(value, min=float(low), max=float(high)), dtype)


@rule("", "QuantizeLinear")
def quantize_linear(op: Builder, node: Node) -> Value:
    x, scale, zero = required(node, 0), required(node, 1), node.input(2)
    stated = node.attributes.get("output_dtype")
    dtype = dtype_of(node, zero) if zero is not None else DTYPES[stated] if stated else DType.UINT8
    precision = node.attributes.get("precision")
    working = DTYPES[precision] if precision else dtype_of(node, scale)
    divided = op.Divide(convert(op, node, x, working), convert(op, node, _spread(op, node, scale, x), working))
    if dtype.is_float:
        if dtype in LARGEST and flag(node, "saturate", 1):
            divided = saturated(op, divided, LARGEST[dtype])
        return op.Convert(divided, destination_type=element_type(node, dtype))
    rounded = convert(op, node, op.Round(divided, mode="half_to_even"), DType.FLOAT32)
    if zero is not None:
        rounded = op.Add(rounded, convert(op, node, _spread(op, node, zero, x), DType.FLOAT32))
    return _saturated(op, node, rounded, dtype)


@rule("", "DequantizeLinear")
def dequantize_linear(op: Builder, node: Node) -> Value:
    x, scale, zero = required(node, 0), required(node, 1), node.input(2)
    working = dtype_of(node, scale)
    stated = node.attributes.get("output_dtype")
    value = convert(op, node, x, working)
    if zero is not None:
        value = op.Subtract(value, convert(op, node, _spread(op, node, zero, x), working))
    value = op.Multiply(value, _spread(op, node, scale, x))
    return convert(op, node, value, DTYPES[stated]) if stated else value


# products of integers ----------------------------------------------------------------------------


def _centered(op: Builder, node: Node, value: Value, zero: Value | None, per_row: bool | None = None) -> Value:
    """The integers less their zero point, as floats. `per_row`: a vector of zero points lies along the last axis but
    one (True) or the last (False); None: along axis 0 of a convolution's weights."""
    found = convert(op, node, value, DType.FLOAT32)
    if zero is None:
        return found
    zeros = convert(op, node, zero, DType.FLOAT32)
    if zeros.rank == 1 and static_dim(zeros, 0) != 1:
        if per_row:
            zeros = op.Unsqueeze(zeros, i64(op, [-1]))
        elif per_row is None:
            zeros = reshape(op, zeros, [-1] + [1] * (rank_of(node, value) - 1))
    return op.Subtract(found, zeros)


def _check_exact(node: Node, terms: int | None) -> None:
    """Products of two 8-bit integers, so many of them summed up, must be exact in float32."""
    if terms is None or terms * 255 * 255 > _EXACT:
        raise Unsupported(
            node, f"sums of {terms or 'unknown many'} products of integers, more than float32 holds exactly"
        )


@rule("", "MatMulInteger")
def matmul_integer(op: Builder, node: Node) -> Value:
    a, b = required(node, 0), required(node, 1)
    _check_exact(node, static_dim(a, -1))
    left = _centered(op, node, a, node.input(2), True)
    right = _centered(op, node, b, node.input(3), False)
    return convert(op, node, op.MatMul(left, right, transpose_a=False, transpose_b=False), DType.INT32)


def _terms(node: Node, weights: Value) -> int | None:
    static = weights.tensor.static_shape
    return None if static is None else int(np.prod(static[1:]))


@rule("", "ConvInteger")
def conv_integer(op: Builder, node: Node) -> Value:
    x, weights = required(node, 0), required(node, 1)
    _check_exact(node, _terms(node, weights))
    data, kernel = _centered(op, node, x, node.input(2)), _centered(op, node, weights, node.input(3))
    return convert(op, node, convolved(op, node, data, kernel), DType.INT32)


def _requantized(op: Builder, node: Node, total: Value, factor: Value, zero: Value) -> Value:
    rounded = op.Round(op.Multiply(total, factor), mode="half_to_even")
    shifted = op.Add(rounded, convert(op, node, zero, DType.FLOAT32))
    return _saturated(op, node, shifted, dtype_of(node, zero))


@rule("", "QLinearMatMul")
def qlinear_matmul(op: Builder, node: Node) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (required(node, index) for index in range(8))
    _check_exact(node, static_dim(a, -1))
    left, right = _centered(op, node, a, a_zero, True), _centered(op, node, b, b_zero, False)
    total = op.MatMul(left, right, transpose_a=False, transpose_b=False)
    scales = [convert(op, node, scale, DType.FLOAT32) for scale in (a_scale, b_scale, y_scale)]
    if scales[0].rank == 1 and static_dim(scales[0], 0) != 1:
        scales[0] = op.Unsqueeze(scales[0], i64(op, [-1]))
    factor = op.Divide(op.Multiply(scales[0], scales[1]), scales[2])
    return _requantized(op, node, total, factor, y_zero)


@rule("", "QLinearConv")
def qlinear_conv(op: Builder, node: Node) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (required(node, index) for index in range(8))
    bias = node.input(8)
    _check_exact(node, _terms(node, w))
    total = convolved(op, node, _centered(op, node, x, x_zero), _centered(op, node, w, w_zero))
    spatial = rank_of(node, x) - 2
    along = [1, -1, *[1] * spatial]
    if bias is not None:
        total = op.Add(total, reshape(op, convert(op, node, bias, DType.FLOAT32), along))
    factor = op.Divide(op.Multiply(x_scale, reshape(op, w_scale, along)), y_scale)
    return _requantized(op, node, total, factor, y_zero)


RULES = collect(globals())
