"""com.microsoft -> the hub: operators on quantized tensors, as ONNX's operators between DequantizeLinear and
QuantizeLinear, and products with weights of few bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...passes.errors import InvalidModel, Unsupported
from ...passes.graph import Node, Value
from ...passes.preconditions import input_of, rank_of
from ...passes.protos import enum_of
from ...passes.rewrite import Builder, collect, rule
from ...passes.types import DType
from .microsoft_tools import DOMAIN, channels_first, picked, scalar_of, swapped


def _scalar_of(op: Builder, value: Value | None) -> Value | None:
    """A scale or zero point of one element as a scalar."""
    sizes = None if value is None else value.tensor.static_shape
    return value if value is None or sizes is None or int(np.prod(sizes)) != 1 else scalar_of(op, value)


def _real(op: Builder, node: Node, x: int, axis: int | None = None) -> Value:
    """Input `x`, dequantized by the two inputs behind it."""
    return _dequantized(op, input_of(node, x), input_of(node, x + 1), node.input(x + 2), axis)


def _dequantized(op: Builder, x: Value, scale: Value, zero: Value | None, axis: int | None = None) -> Value:
    return op.DequantizeLinear(x, _scalar_of(op, scale), _scalar_of(op, zero), axis=axis)


def _quantized(op: Builder, node: Node, value: Value, scale: int, like: Value, axis: int | None = None) -> Value:
    """Quantized by input `scale` and the zero point behind it; without one as the type of `like`."""
    zero, dtype = _scalar_of(op, node.input(scale + 1)), like.tensor.dtype
    stated = enum_of(dtype, node) if zero is None and dtype is not None else None
    return op.QuantizeLinear(value, _scalar_of(op, input_of(node, scale)), zero, axis=axis, output_dtype=stated)


# element by element, pools, and what takes several -------------------------------------------------


@rule(DOMAIN, "QuantizeLinear", "DequantizeLinear")
def linear(op: Builder, node: Node) -> Value:
    """QuantizeLinear-1, DequantizeLinear-1: one scale, or one for each part of an axis."""
    axis = node.attributes.get("axis")
    if node.op_type == "DequantizeLinear":
        return _real(op, node, 0, axis)
    stated = enum_of(DType.UINT8, node) if node.input(2) is None else None
    return op.QuantizeLinear(input_of(node, 0), input_of(node, 1), node.input(2), axis=axis, output_dtype=stated)


@rule(DOMAIN, "QLinearAdd", "QLinearMul")
def binary(op: Builder, node: Node) -> Value:
    """QLinearAdd-1, QLinearMul-1."""
    made = op.call(node.op_type.removeprefix("QLinear"), _real(op, node, 0), _real(op, node, 3))
    return _quantized(op, node, made, 6, input_of(node, 0))


def _softmax(op: Builder, node: Node, value: Value) -> Value:
    """Before opset 13 Softmax was over all axes from the one it names."""
    axis, rank = node.attributes.get("axis", -1), value.rank
    if node.attributes.get("opset", 13) >= 13 or axis == -1 or (rank is not None and axis == rank - 1):
        return op.Softmax(value, axis=axis)
    return op.Reshape(op.Softmax(op.Flatten(value, axis=axis), axis=-1), op.Shape(value))


def _pooled(op: Builder, node: Node, value: Value) -> Value:
    names = ("auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides")
    return op.AveragePool(value, **picked(node, *names))


def _mean(op: Builder, node: Node, value: Value) -> Value:
    axes = node.attributes.get("axes")
    listed = None if not axes else op.const(list(axes))
    return op.ReduceMean(value, listed, keepdims=node.attributes.get("keepdims", 1))


_UNARY: dict[str, Callable[[Builder, Node, Value], Value]] = {
    "QLinearAveragePool": _pooled,
    "QLinearGlobalAveragePool": lambda op, node, value: op.GlobalAveragePool(value),
    "QLinearLeakyRelu": lambda op, node, value: op.LeakyRelu(value, alpha=node.attributes.get("alpha", 0.01)),
    "QLinearReduceMean": _mean,
    "QLinearSigmoid": lambda op, node, value: op.Sigmoid(value),
    "QLinearSoftmax": _softmax,
}


@rule(DOMAIN, *_UNARY)
def unary(op: Builder, node: Node) -> Value:
    """QLinear operators of one tensor: x, its scale and zero point, the result's scale and zero point."""

    def between(value: Value) -> Value:
        return _UNARY[node.op_type](op, node, value)

    real = _real(op, node, 0)
    made = channels_first(op, node, real, between) if node.attributes.get("channels_last", 0) else between(real)
    return _quantized(op, node, made, 3, input_of(node, 0))


@rule(DOMAIN, "QLinearConcat")
def concat(op: Builder, node: Node) -> Value:
    """QLinearConcat-1: the result's scale and zero point, then each tensor with its own."""
    if len(node.inputs) < 5 or len(node.inputs) % 3 != 2:
        raise InvalidModel(f"{node!r}: {len(node.inputs)} inputs")
    parts = [_real(op, node, index) for index in range(2, len(node.inputs), 3)]
    return _quantized(op, node, op.Concat(*parts, axis=node.attributes.get("axis", 0)), 0, input_of(node, 2))


@rule(DOMAIN, "QLinearWhere")
def where(op: Builder, node: Node) -> Value:
    """QLinearWhere-1."""
    made = op.Where(input_of(node, 0), _real(op, node, 1), _real(op, node, 4))
    return _quantized(op, node, made, 7, input_of(node, 1))


# products ------------------------------------------------------------------------------------------


@rule(DOMAIN, "QLinearConv")
def conv(op: Builder, node: Node) -> Value:
    """QLinearConv-1: ONNX's, on channels that may be the last dimension."""
    attributes = picked(node, "auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")
    inputs = list(node.inputs[1:])

    def build(x: Value) -> Value:
        return op.QLinearConv(x, *inputs, **attributes)

    x = input_of(node, 0)
    return channels_first(op, node, x, build) if node.attributes.get("channels_last", 0) else build(x)


@rule(DOMAIN, "QGemm")
def gemm(op: Builder, node: Node) -> Value:
    """QGemm-1: alpha * scales * (the product + c), where c counts in units of both scales; floats without a scale of
    the result."""
    transposed, alpha = node.attributes.get("transB", 0), node.attributes.get("alpha", 1.0)
    axis = 0 if transposed else 1
    bias, scales = node.input(6), op.Mul(_scalar_of(op, input_of(node, 1)), _scalar_of(op, input_of(node, 4)))
    if bias is not None:
        bias = op.DequantizeLinear(bias, scales, axis=(bias.rank or 1) - 1)
    attributes = {"alpha": alpha, "beta": alpha, "transA": node.attributes.get("transA", 0), "transB": transposed}
    made = op.Gemm(_real(op, node, 0), _real(op, node, 3, axis), bias, **attributes)
    return made if node.input(7) is None else _quantized(op, node, made, 7, input_of(node, 0))


def _biased(op: Builder, value: Value, bias: Value | None) -> Value:
    return value if bias is None else op.Add(value, bias)


@rule(DOMAIN, "MatMulIntegerToFloat")
def matmul_to_float(op: Builder, node: Node) -> Value:
    """MatMulIntegerToFloat-1: the scale and zero point of b may be one for each column."""
    a, b = input_of(node, 0), input_of(node, 1)
    left = _dequantized(op, a, input_of(node, 2), node.input(4), -2 if (a.rank or 0) > 1 else -1)
    right = _dequantized(op, b, input_of(node, 3), node.input(5), -1)
    return _biased(op, op.MatMul(left, right), node.input(6))


@rule(DOMAIN, "DynamicQuantizeMatMul")
def dynamic_matmul(op: Builder, node: Node) -> Value:
    """DynamicQuantizeMatMul-1: the left operand is quantized over its own range."""
    narrow, scale, zero = op.DynamicQuantizeLinear(input_of(node, 0), _outputs=3)
    left = op.DequantizeLinear(narrow, scale, zero)
    right = _dequantized(op, input_of(node, 1), input_of(node, 2), node.input(3), -1)
    return _biased(op, op.MatMul(left, right), node.input(4))


# weights of few bits -------------------------------------------------------------------------------

_CODES = {2: DType.UINT4, 4: DType.UINT4, 8: DType.UINT8}  # opsets in use have no type of two bits


def _constant(node: Node, value: Value, what: str) -> np.ndarray[Any, Any]:
    array = value.array()
    if array is None:
        raise Unsupported(node, f"{what} that the model computes")
    return array


def _unpacked(array: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Codes from bytes that hold several, the first in the lowest bits; the last axis grows."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (array[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(*array.shape[:-1], -1)


def _blocked(
    op: Builder, node: Node, codes: np.ndarray[Any, Any], scale: Value, zero: Value | np.ndarray[Any, Any], axis: int
) -> Value:
    """DequantizeLinear by blocks; zero points may be floats."""
    bits, block = int(node.attributes.get("bits", 4)), int(node.attributes["block_size"])
    dtype = _CODES[bits]
    narrow = op.const(codes, dtype)
    if not isinstance(zero, Value):
        return op.DequantizeLinear(narrow, scale, op.const(zero, dtype), axis=axis, block_size=block)
    ones = op.DequantizeLinear(narrow, op.const(1, scale.tensor.dtype or DType.FLOAT32))
    indices = op.const(np.arange(codes.shape[axis]) // block)
    moved = op.Sub(ones, op.Gather(zero, indices, axis=axis))
    return op.Mul(moved, op.Gather(scale, indices, axis=axis))


def _check_bits(node: Node) -> int:
    bits = int(node.attributes.get("bits", 4))
    if bits not in _CODES:
        raise Unsupported(node, f"weights of {bits} bits")
    return bits


@rule(DOMAIN, "MatMulNBits")
def matmul_bits(op: Builder, node: Node) -> Value:
    """MatMulNBits-1: weights [n, blocks, bytes of a block], scales [n, blocks], zero points packed alike or floats."""
    bits, block = _check_bits(node), int(node.attributes["block_size"])
    rows, columns = int(node.attributes["N"]), int(node.attributes["K"])
    blocks = -(-columns // block)
    order = node.input(4)
    if order is not None:
        given_order = _constant(node, order, "an order of the weights")
        if (given_order[:columns] != np.arange(columns) // block).any():
            raise Unsupported(node, "weights in another order than that of their blocks")
    packed = _constant(node, input_of(node, 1), "weights").reshape(rows, blocks, -1)
    codes = _unpacked(packed, bits).reshape(rows, blocks * block)[:, :columns]
    scale, zero = _shaped(op, input_of(node, 2), [rows, blocks]), node.input(3)
    offset: Value | np.ndarray[Any, Any] = np.full((rows, blocks), 1 << (bits - 1))
    if zero is not None and zero.tensor.dtype is DType.UINT8:
        listed = _unpacked(_constant(node, zero, "zero points").reshape(rows, -1), bits)
        offset = listed[:, :blocks]
    elif zero is not None:
        offset = _shaped(op, zero, [rows, blocks])
    weights = _blocked(op, node, codes, scale, offset, 1)
    return _biased(op, op.MatMul(input_of(node, 0), swapped(op, node, weights)), node.input(5))


def _shaped(op: Builder, value: Value, shape: list[int]) -> Value:
    if value.data is not None:
        return op.const(value.data.numpy().reshape(shape), value.data.dtype)
    return op.Reshape(value, op.const(shape))


@rule(DOMAIN, "GatherBlockQuantized")
def gather_blocks(op: Builder, node: Node) -> Value:
    """GatherBlockQuantized-1: bytes hold several codes along the last axis, and have a zero point in the middle."""
    data, scale, zero = input_of(node, 0), input_of(node, 2), node.input(3)
    axis, packed = node.attributes.get("quantize_axis", 1), data.tensor.dtype is DType.UINT8
    axis, block = axis % rank_of(node, data), int(node.attributes.get("block_size", 128))
    if not packed:
        whole = op.DequantizeLinear(data, scale, zero, axis=axis, block_size=block)
    else:
        bits = _check_bits(node)
        codes = _unpacked(_constant(node, data, "embeddings"), bits)
        offset: np.ndarray[Any, Any] = np.full(scale.tensor.static_shape or (), 1 << (bits - 1))
        if zero is not None:
            listed = _unpacked(_constant(node, zero, "zero points"), bits)
            offset = listed[..., : (scale.tensor.static_shape or (0,))[-1]]
        whole = _blocked(op, node, codes, scale, offset, axis)
    return op.Gather(whole, input_of(node, 1), axis=node.attributes.get("gather_axis", 0))


RULES = collect(globals())
