"""Products: MatMul, Einsum, attention."""

from __future__ import annotations

import math

from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, call, cast, constant, dimension, number, scalar, steps, swapped


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
        width = size_of_axis(query, -1)
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


RULES = collect(globals())
