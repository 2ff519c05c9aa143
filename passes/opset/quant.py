"""QuantizeLinear and DequantizeLinear: from one scale to axes and blocks."""

from __future__ import annotations

import math

import numpy as np

from ..errors import Unsupported
from ..graph import Node
from ..protos import DTYPES
from .build import StepBuilder
from .steps import Made, Step, added, attribute, both, changed, dtype, put, required, rows, same


def _one_scale(op: StepBuilder, node: Node) -> Made:
    """The axis matters to a scale of several elements only."""
    scale = required(node, 1)
    shape = scale.tensor.static_shape
    if shape is None or math.prod(shape) != 1:
        raise Unsupported(node, "a scale for each part of an axis came with version 13")
    return changed(node, without=("axis",))


def _zero_of_type(op: StepBuilder, node: Node) -> Made:
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


ROWS = {
    **rows("QuantizeLinear DequantizeLinear", 13, Step(same, _one_scale)),
    ("QuantizeLinear", 19): Step(same, _saturated),
    ("QuantizeLinear", 21): both(added(block_size=0), Step(same, _zero_of_type)),
    ("QuantizeLinear", 23): Step(same, _precision_of_scale),
    ("DequantizeLinear", 21): added(block_size=0),
    ("DequantizeLinear", 23): Step(same, _type_of_scale),
}
