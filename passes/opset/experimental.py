"""Operators that were used before they had a version, as far as their meaning is on record.

The rows stand under the operator's first version, 0 where it never got one; they lead up only.
"""

from __future__ import annotations

import numpy as np

from ..graph import Node, Value
from ..preconditions import dtype_of, required
from .build import StepBuilder
from .steps import INT64_MAX, Adapter, Made, Step, attribute, numbers, required_attribute


def _scaled(op: StepBuilder, node: Node, x: Value, factor: float) -> Value:
    return x if factor == 1 else op.Mul(x, op.const(factor, dtype_of(node, x)))


def _affine(op: StepBuilder, node: Node) -> Made:
    x = required(node, 0)
    made = _scaled(op, node, x, attribute(node, "alpha", 1.0))
    return op.Add(made, op.const(attribute(node, "beta", 0.0), dtype_of(node, x)))


def _scale(op: StepBuilder, node: Node) -> Made:
    x = required(node, 0)
    return op.Mul(x, op.const(attribute(node, "scale", 1.0), dtype_of(node, x)))


def _around(op_type: str) -> Adapter:
    """alpha * f(beta * x)."""

    def adapt(op: StepBuilder, node: Node) -> Made:
        x = required(node, 0)
        inner = op.call(op_type, _scaled(op, node, x, required_attribute(node, "beta")))
        return op.Mul(inner, op.const(required_attribute(node, "alpha"), dtype_of(node, x)))

    return adapt


def _image_scaler(op: StepBuilder, node: Node) -> Made:
    """Images [N, C, H, W] times a number, plus one for each channel."""
    x = required(node, 0)
    bias = np.asarray(required_attribute(node, "bias")).reshape(-1, 1, 1)
    return op.Add(_scaled(op, node, x, attribute(node, "scale", 1.0)), op.const(bias, dtype_of(node, x)))


def _crop(op: StepBuilder, node: Node) -> Made:
    """Images without a border [left, top, right, bottom], or from its corner on in the size `scale`."""
    left, top, right, bottom = required_attribute(node, "border")
    size = attribute(node, "scale")
    height, width = (top + size[0], left + size[1]) if size else (-bottom, -right)
    ends = [end or INT64_MAX for end in (height, width)]
    return op.at(10).Slice(required(node, 0), numbers(op, [top, left]), numbers(op, ends), numbers(op, [2, 3]))


def _slice(op: StepBuilder, node: Node) -> Made:
    """DynamicSlice: data, starts, ends, axes, which became Slice-10."""
    return op.at(10).Slice(*node.formal_inputs)


_NEVER = "it never had a version"

ROWS = {
    ("Affine", 0): Step(_affine, _NEVER),
    ("Scale", 0): Step(_scale, _NEVER),
    ("ScaledTanh", 0): Step(_around("Tanh"), _NEVER),
    ("ParametricSoftplus", 0): Step(_around("Softplus"), _NEVER),
    ("ImageScaler", 0): Step(_image_scaler, _NEVER),
    ("Crop", 0): Step(_crop, _NEVER),
    ("DynamicSlice", 0): Step(_slice, _NEVER),
}
