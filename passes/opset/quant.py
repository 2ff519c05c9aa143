"""QuantizeLinear and DequantizeLinear: from one scale to axes and blocks."""

from __future__ import annotations

import math

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..protos import DTYPES, ENUMS
from ..types import DType
from .build import StepBuilder
from .steps import (
    Made,
    Step,
    attribute,
    changed,
    dtype,
    numbers,
    put,
    rank,
    required,
    rows,
    same,
    tensor_type,
)


def _along_axis(op: StepBuilder, node: Node, value: Value) -> Value:
    """A vector with one entry for each part of the axis, shaped to fit the data."""
    if rank(node, value) != 1:
        return value
    size = rank(node, required(node, 0))
    axis = attribute(node, "axis", 1) % size
    return op.Reshape(value, numbers(op, [1] * axis + [-1] + [1] * (size - axis - 1)))


def _cast(op: StepBuilder, value: Value, kind: DType) -> Value:
    return op.Cast(value, to=ENUMS[kind], _types=[tensor_type(value, kind)])


def _by_arithmetic(op: StepBuilder, node: Node) -> Value:
    """What quantization of integers does: round(x / scale) + zero, held in range; (x - zero) * scale back."""
    x, scale, zero = required(node, 0), required(node, 1), node.input(2)
    work = dtype(node, scale)
    factor = _along_axis(op, node, scale)
    offset = None if zero is None else _cast(op, _along_axis(op, node, zero), work)
    if node.op_type == "DequantizeLinear":
        wide = _cast(op, x, work)
        return op.Mul(wide if offset is None else op.Sub(wide, offset), factor)
    kind = DType.UINT8 if zero is None else dtype(node, zero)
    if not kind.is_integer:
        raise Unsupported(node, f"quantization to {kind.value} can't be said by arithmetic")
    wide = op.Round(op.Div(x if dtype(node, x) is work else _cast(op, x, work), factor))
    limits = np.iinfo(kind.numpy)
    held = op.Clip(
        wide if offset is None else op.Add(wide, offset), op.const(limits.min, work), op.const(limits.max, work)
    )
    return _cast(op, held, kind)


def _one_scale(op: StepBuilder, node: Node) -> Made:
    """The axis matters to a scale of several elements only."""
    scale = required(node, 1)
    shape = scale.tensor.static_shape
    if shape is None or math.prod(shape) != 1:
        return _by_arithmetic(op, node)
    return changed(node, without=("axis",))


def _zero_of_type(op: StepBuilder, node: Node) -> Node:
    """QuantizeLinear: the type said by an attribute is said by a zero point."""
    number = attribute(node, "output_dtype", 0)
    plain = changed(node, without=("output_dtype",))
    if not number or node.input(2) is not None:
        return plain
    shape = required(node, 1).tensor.static_shape
    if shape is None:
        raise Unsupported(node, "output_dtype before version 21 needs a scale whose shape is known")
    zero = op.const(np.zeros(shape, DTYPES[number].numpy), DTYPES[number])
    return changed(plain, inputs=put(plain.formal_inputs, 2, zero))


def _before_21(op: StepBuilder, node: Node) -> Made:
    """Blocks and integers of 16 bits came with version 21, as did the type as an attribute."""
    if attribute(node, "block_size", 0):
        raise Unsupported(node, f"block_size={attribute(node, 'block_size')} can't be said before version 21")
    plain = changed(node, without=("block_size",))
    if node.op_type == "QuantizeLinear":
        plain = _zero_of_type(op, plain)
    kinds = [value.tensor.dtype for value in (plain.input(0), plain.input(2)) if value is not None]
    return _by_arithmetic(op, plain) if _WIDE & set(kinds) else plain


def _type_of_scale(op: StepBuilder, node: Node) -> Made:
    """DequantizeLinear: before version 23 the scale's type was the result's."""
    number = attribute(node, "output_dtype", 0)
    if number and DTYPES[number] is not dtype(node, required(node, 1)):
        raise Unsupported(node, "output_dtype other than the scale's can't be said before version 23")
    return changed(node, without=("output_dtype",))


def _precision_of_scale(op: StepBuilder, node: Node) -> Made:
    number = attribute(node, "precision", 0)
    if number and DTYPES[number] is not dtype(node, required(node, 1)):
        raise Unsupported(node, "precision other than the scale's can't be said before version 23")
    return changed(node, without=("precision",))


def _saturated(op: StepBuilder, node: Node) -> Made:
    """`saturate` speaks of float8, which came with it."""
    return changed(node, without=("saturate",))


_WIDE = frozenset({DType.INT16, DType.UINT16})

ROWS = {
    **rows("QuantizeLinear DequantizeLinear", 13, Step(same, _one_scale)),
    ("QuantizeLinear", 19): Step(same, _saturated),
    ("QuantizeLinear", 21): Step(same, _before_21),
    ("QuantizeLinear", 23): Step(same, _precision_of_scale),
    ("DequantizeLinear", 21): Step(same, _before_21),
    ("DequantizeLinear", 23): Step(same, _type_of_scale),
}
