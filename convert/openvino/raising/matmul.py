"""Products: MatMul, Einsum, attention; and quantization, which scales."""

from __future__ import annotations

import math

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    Results,
    call,
    cast,
    constant,
    dimension,
    dtype_of,
    element_type,
    given,
    number,
    required,
    scalar,
    size,
    steps,
    swapped,
)


@rule(DOMAIN, "MatMul")
def matmul(op: Builder, node: Node) -> Results:
    """MatMul-1."""
    a, b = given(node, 0), given(node, 1)
    if node.attributes.get("transpose_a", False):
        a = swapped(op, a, node)
    if node.attributes.get("transpose_b", False):
        b = swapped(op, b, node)
    return call(op, "MatMul", a, b)


@rule(DOMAIN, "Einsum")
def einsum(op: Builder, node: Node) -> Results:
    """Einsum-7."""
    return call(op, "Einsum", *node.inputs, equation=str(node.attributes.get("equation", "")))


@rule(DOMAIN, "ScaledDotProductAttention")
def attention(op: Builder, node: Node) -> Results:
    """ScaledDotProductAttention-13: batch dimensions broadcast, a causal one ignores its mask.

    A sink is one more score of each row that takes its share of the weights, but has no value.
    """
    query, key, value = given(node, 0), given(node, 1), given(node, 2)
    mask, scale = node.input(3), node.input(4)
    if scale is None:
        width = size(query, -1)
        if width is not None:
            scale = number(op, 1.0 / math.sqrt(width), query)
        else:
            found = cast(op, scalar(op, dimension(op, query, -1)), dtype_of(node, query))
            scale = op.Reciprocal(op.Sqrt(found))
    scores = op.Mul(op.MatMul(query, swapped(op, key, node)), scalar(op, scale))
    closed = number(op, -math.inf, query)
    if node.attributes.get("causal", False):
        rows = op.Unsqueeze(steps(op, dimension(op, query, -2)), op.const([1]))
        later = op.Greater(steps(op, dimension(op, key, -2)), rows)
        scores = op.Where(later, closed, scores)
    elif mask is not None and mask.tensor.dtype is DType.BOOL:
        scores = op.Where(mask, scores, closed)
    elif mask is not None:
        array = constant(mask)
        if array is None or array.any():
            scores = op.Add(scores, mask)
    return op.MatMul(_weights(op, scores, node.input(5)), value)


def _weights(op: Builder, scores: Value, sink: Value | None) -> Value:
    if sink is None:
        return op.Softmax(scores, axis=-1)
    ends = op.const([-1])
    rows = op.Concat(op.Slice(op.Shape(scores), op.const([0]), ends), op.const([1]), axis=0)
    shared = op.Softmax(op.Concat(scores, op.Expand(sink, rows), axis=-1), axis=-1)
    return op.Slice(shared, op.const([0]), ends, ends)


# quantization --------------------------------------------------------------------------------------


@rule(DOMAIN, "FakeQuantize")
def fake_quantize(op: Builder, node: Node) -> Results:
    """FakeQuantize-1: clipped to the input range, rounded half to even to a level, put into the output range."""
    x, low, high, out_low, out_high = (given(node, index) for index in range(5))
    levels = int(required(node, "levels"))
    if levels < 2:
        raise Unsupported(node, f"levels is {levels}")
    most = number(op, levels - 1, x)
    step = op.Round(op.Mul(op.Div(op.Sub(x, low), op.Sub(high, low)), most))
    inside = op.Add(op.Mul(op.Div(step, most), op.Sub(out_high, out_low)), out_low)
    below = op.LessOrEqual(x, op.Min(low, high))
    above = op.Greater(x, op.Max(low, high))
    return op.Where(below, out_low, op.Where(above, out_high, inside))


@rule(DOMAIN, "FakeConvert")
def fake_convert(op: Builder, node: Node) -> Results:
    """FakeConvert-13: scaled and shifted, through an 8-bit float, and back."""
    x, scale, shift = given(node, 0), given(node, 1), node.input(2)
    narrow = element_type(node, "destination_type", "f8e4m3") or DType.FLOAT8E4M3FN
    y = op.Mul(x, scale)
    if shift is not None:
        y = op.Sub(y, shift)
    y = cast(op, op.Cast(y, to=enum_of(narrow, node)), dtype_of(node, x))
    if shift is not None:
        y = op.Add(y, shift)
    return op.Div(y, scale)


RULES = collect(globals())
