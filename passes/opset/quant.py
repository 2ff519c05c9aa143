"""QuantizeLinear and DequantizeLinear: from one scale to axes and blocks, from one type to many."""

from __future__ import annotations

import math

import numpy as np

from ..graph import Node
from ..preconditions import required
from ..protos import DTYPES
from ..types import DType
from .build import StepBuilder
from .quant_arithmetic import dequantized, quantized
from .steps import Made, Step, as_type, attribute, changed, dtype, put, rows, same

_SHORT = frozenset({DType.FLOAT16, DType.BFLOAT16})
_WIDE = frozenset({DType.INT16, DType.UINT16})


def _result(node: Node) -> DType:
    """The type that QuantizeLinear gives."""
    number, zero = attribute(node, "output_dtype", 0), node.input(2)
    if zero is not None:
        return dtype(node, zero)
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
    return changed(plain, inputs=put(plain.formal_inputs, 2, zero))


def _before_21(op: StepBuilder, node: Node) -> Made:
    """Blocks and integers of 16 bits came with version 21, as did the type as an attribute."""
    quantizing = node.op_type == "QuantizeLinear"
    kind = _result(node) if quantizing else dtype(node, required(node, 0))
    if attribute(node, "block_size", 0) or kind in _WIDE:
        return _by_arithmetic(op, node)
    return _zero_of_type(op, node) if quantizing else changed(node, without=("block_size",))


def _type_of_scale(op: StepBuilder, node: Node) -> Made:
    """DequantizeLinear: before version 23 the scale's type was the result's, and that of the product."""
    number, scale = attribute(node, "output_dtype", 0), required(node, 1)
    plain = changed(node, without=("output_dtype",))
    if not number or DTYPES[number] is dtype(node, scale):
        return plain
    return changed(plain, inputs=put(plain.formal_inputs, 1, as_type(op, scale, DTYPES[number])))


def _precision_of_scale(op: StepBuilder, node: Node) -> Made:
    """QuantizeLinear: before version 23 data and scale are of the type in which they are divided."""
    number, scale = attribute(node, "precision", 0), required(node, 1)
    work = DTYPES[number] if number else dtype(node, scale)
    inputs = put(node.formal_inputs, 0, as_type(op, required(node, 0), work))
    return changed(node, inputs=put(inputs, 1, as_type(op, scale, work)), without=("precision",))


def _one_type(op: StepBuilder, node: Node) -> Made:
    """`saturate` speaks of float8, which came with version 19, as did division in 16 bits."""
    if dtype(node, required(node, 1)) in _SHORT:
        return _by_arithmetic(op, node)
    return changed(node, without=("saturate",))


def _short_product(op: StepBuilder, node: Node) -> Made:
    """DequantizeLinear: before version 19 scales are of float32, in which the product of 8 and 11 bits is exact."""
    kind = dtype(node, required(node, 1))
    if kind not in _SHORT:
        return None
    x, _, *zero = node.formal_inputs
    made = op.DequantizeLinear(x, as_type(op, required(node, 1), DType.FLOAT32), *zero, axis=attribute(node, "axis", 1))
    return as_type(op, made, kind)


def _dynamic(op: StepBuilder, node: Node) -> Made:
    """DynamicQuantizeLinear-11: its range holds 0; nothing but zeros has the scale 1, as in ONNX Runtime.

    The function body of the operator divides 0 by 0 there; onnx's reference takes 1 / 255.
    """
    x, op = required(node, 0), op.at(13)
    zero, steps = op.const(np.float32(0)), op.const(np.float32(255))
    high, low = op.Max(op.ReduceMax(x, keepdims=0), zero), op.Min(op.ReduceMin(x, keepdims=0), zero)
    span = op.Sub(high, low)
    scale = op.Where(op.Equal(span, zero), op.const(np.float32(1)), op.Div(span, steps))
    middle = as_type(op, op.Clip(op.Round(op.Sub(zero, op.Div(low, scale))), zero, steps), DType.UINT8)
    return [op.QuantizeLinear(x, scale, middle), scale, middle][: len(node.outputs)]


ROWS = {
    ("DynamicQuantizeLinear", 11): Step("DynamicQuantizeLinear came with version 11", _dynamic),
    ("DequantizeLinear", 19): Step(same, _short_product),
    ("QuantizeLinear", 10): Step("QuantizeLinear came with version 10", _by_arithmetic),
    ("DequantizeLinear", 10): Step("DequantizeLinear came with version 10", _by_arithmetic),
    **rows("QuantizeLinear DequantizeLinear", 13, Step(same, _one_scale)),
    ("QuantizeLinear", 19): Step(same, _one_type),
    ("QuantizeLinear", 21): Step(same, _before_21),
    ("QuantizeLinear", 23): Step(same, _precision_of_scale),
    ("DequantizeLinear", 21): Step(same, _before_21),
    ("DequantizeLinear", 23): Step(same, _type_of_scale),
}
