"""Quantization in terms of quotients, products and rounding, as ONNX Runtime computes it.

Scales and zero points are one for all, one for each position along an axis, or one for each block of it. What is
quantized is rounded to even before the zero point is added, and clamped to the range of the type.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..attributes import NodeAttributes
from ..graph import Node, Value
from ..preconditions import axis_of, dtype_of, rank_of, required, size_of_axis
from ..protos import enum_of
from ..quantization import dequantizes_by_zero_point, quantizes_by_zero_point
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import cast, numbers


def is_single(value: Value) -> bool:
    """Whether there certainly is one element."""
    shape = value.tensor.static_shape
    return shape is not None and math.prod(shape) == 1


def broadcast_scale(op: Builder, node: Node, value: Value) -> Value:
    """A scale or zero point ready to broadcast with the first input, as `axis` and `block_size` say."""
    if is_single(value) or value.rank == 0:
        return op.Reshape(value, op.const([], DType.INT64)) if value.rank else value
    attrs, x = NodeAttributes(node), required(node, 0)
    rank, block = rank_of(node, x), attrs.int("block_size", 0)
    axis = 0 if rank == 1 else axis_of(node, attrs.int("axis", 1), rank)
    if not block and value.rank == 1:
        return op.Reshape(value, op.const([-1, *[1] * (rank - axis - 1)]))
    size, parts = size_of_axis(x, axis), size_of_axis(value, axis)
    if size is not None:
        indices = np.arange(size) // (block or -(-size // (parts or 1)))
        return op.Gather(value, op.const(indices), axis=axis)
    length = op.Squeeze(op.Shape(x, start=axis, end=axis + 1))
    return op.Gather(value, op.Div(op.Range(op.const(0), length, op.const(1)), op.const(block)), axis=axis)


def quantized(op: Builder, node: Node, x: Value, zero: Value | None, kind: DType) -> Value:
    """What was divided by its scale, rounded, moved by the zero point and clamped to the range of an integer type."""
    whole, dtype = op.Round(x), dtype_of(node, x)
    if zero is not None:
        whole = op.Add(whole, cast(op, node, zero, dtype))
    low, high = kind.integer_limits
    return cast(op, node, op.Clip(whole, numbers(op, low, dtype), numbers(op, high, dtype)), kind)


@rule("", "QuantizeLinear")
def quantize_linear(op: Builder, node: Node) -> Value:
    """QuantizeLinear-28: round(x / scale) + zero point, divided in `precision`, by default the type of the scale."""
    x, scale, zero, attrs = required(node, 0), required(node, 1), node.input(2), NodeAttributes(node)
    kind = dtype_of(node, zero) if zero is not None else attrs.dtype("output_dtype", DType.UINT8)
    dtype = attrs.dtype("precision", dtype_of(node, scale))
    if not dtype.is_float or dtype.bits < 16:
        dtype = DType.FLOAT32
    ratio = op.Div(cast(op, node, x, dtype), broadcast_scale(op, node, cast(op, node, scale, dtype)))
    offset = None if zero is None or not quantizes_by_zero_point(kind) else broadcast_scale(op, node, zero)
    if kind.is_integer:
        return quantized(op, node, cast(op, node, ratio, DType.FLOAT32), offset, kind)
    moved = ratio if offset is None else op.Add(ratio, cast(op, node, offset, dtype))
    return op.Cast(moved, to=enum_of(kind, node), saturate=attrs.int("saturate", 1))


@rule("", "DequantizeLinear")
def dequantize_linear(op: Builder, node: Node) -> Value:
    """DequantizeLinear-28: (x - zero point) * scale in float32, of `output_dtype`, by default the type of the scale."""
    x, scale, zero, attrs = required(node, 0), required(node, 1), node.input(2), NodeAttributes(node)
    kind, target = dtype_of(node, x), attrs.dtype("output_dtype", dtype_of(node, scale))
    moved = x
    if zero is not None and dequantizes_by_zero_point(kind):
        exact = DType.FLOAT32 if kind.bits <= 16 else DType.INT32
        moved = op.Sub(cast(op, node, x, exact), cast(op, node, broadcast_scale(op, node, zero), exact))
    work = DType.FLOAT64 if target is DType.FLOAT64 else DType.FLOAT32
    number = cast(op, node, cast(op, node, moved, DType.FLOAT32), work)
    factor = broadcast_scale(op, node, cast(op, node, scale, work))
    return cast(op, node, op.Mul(number, factor), target)


# products of integers ----------------------------------------------------------------------------


def along(op: Builder, node: Node, value: Value, rank: int, axis: int) -> Value:
    """A vector with an entry for each index on an axis of data of a rank, ready to broadcast; one entry is for all."""
    if is_single(value):
        return op.Reshape(value, op.const([], DType.INT64)) if value.rank else value
    if rank_of(node, value) != 1:
        return value
    return op.Reshape(value, op.const([1] * axis + [-1] + [1] * (rank - axis - 1)))


def requantized(op: Builder, node: Node, sums: Value, scales: Sequence[Value], zero: Value) -> Value:
    """int32 sums of products, times the scales of both factors by that of the result, in float64.

    The ratio of the scales is computed in float32, of 16-bit scales as well: so do ONNX Runtime and onnx's reference.
    """
    left, right, result = (cast(op, node, scale, DType.FLOAT32) for scale in scales)
    factor = cast(op, node, op.Div(op.Mul(left, right), result), DType.FLOAT64)
    scaled = op.Mul(cast(op, node, sums, DType.FLOAT64), factor)
    return quantized(op, node, scaled, zero, dtype_of(node, zero))


def requantized_convolution(op: Builder, node: Node, sums: Value) -> Value:
    """What QLinearConv gives, of the int32 sums of its products."""
    rank, bias = rank_of(node, required(node, 0)), node.input(8)
    if bias is not None:
        sums = op.Add(sums, along(op, node, bias, rank, 1))
    x_scale, w_scale, y_scale, zero = (along(op, node, required(node, index), rank, 1) for index in (1, 4, 6, 7))
    return requantized(op, node, sums, (x_scale, w_scale, y_scale), zero)


@rule("", "QLinearConv")
def quantized_convolution(op: Builder, node: Node) -> Value:
    """QLinearConv-10: ConvInteger, requantized; the filters' scale and the bias may be one for each output channel."""
    x, x_zero, w, w_zero = (required(node, index) for index in (0, 2, 3, 5))
    return requantized_convolution(op, node, op.ConvInteger(x, w, x_zero, w_zero, **node.attributes))


RULES = collect(globals())
