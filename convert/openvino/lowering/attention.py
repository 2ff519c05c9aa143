"""Hub -> OpenVINO: FlexAttention, whose scores and probabilities go through regions of the model's own."""

from __future__ import annotations

import math

from ....passes.demands import dtype_of, required, size_of_axis
from ....passes.graph import Node, Value
from ....passes.protos import DTYPES
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .tools import convert, cut, i64, join, number, shape_of, size_of


def _repeated(op: Builder, node: Node, value: Value, heads: Value) -> Value:
    """[batch, shared heads, length, width] with each head as often as there are queries for it."""
    if size_of_axis(value, 1) is not None and size_of_axis(value, 1) == size_of_axis(required(node, 0), 1):
        return value
    times = op.Divide(heads, size_of(op, node, value, 1), m_pythondiv=False)
    shape = shape_of(op, value)
    front, back = cut(op, shape, 0, 2), cut(op, shape, 2, 4)
    wide = op.Broadcast(op.Unsqueeze(value, i64(op, [2])), join(op, [front, times, back]), mode="bidirectional")
    return op.Reshape(wide, join(op, [cut(op, shape, 0, 1), heads, back]), special_zero=False)


@rule("ai.onnx.preview", "FlexAttention")
def flex_attention(op: Builder, node: Node) -> Value:
    """softmax(score_mod(q k^T)) through prob_mod, times v."""
    q, k, v = (required(node, index) for index in range(3))
    captures = node.captures
    dtype = dtype_of(node, q)
    heads = size_of(op, node, q, 1)
    k, v = (_repeated(op, node, value, heads) for value in (k, v))
    scale = node.attributes.get("scale")
    if scale is None:
        width = op.Sqrt(convert(op, node, size_of(op, node, q, 3), DType.FLOAT32))
        root = convert(op, node, op.Sqrt(op.Divide(op.const(1.0), width)), dtype)
    else:
        root = number(op, node, math.sqrt(scale), q)
    scores = op.MatMul(op.Multiply(q, root), op.Multiply(k, root), transpose_a=False, transpose_b=True)
    precision = node.attributes.get("softmax_precision")
    work = DTYPES[precision] if precision else DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    scores = convert(op, node, scores, work)
    if "score_mod" in node.regions:
        (scores,) = op.inline(node.regions["score_mod"], [scores, *captures])
    chances = op.SoftMax(scores, axis=3)
    if "prob_mod" in node.regions:
        (chances,) = op.inline(node.regions["prob_mod"], [chances, *captures])
    kind = dtype_of(node, v)
    return op.MatMul(convert(op, node, chances, kind), v, transpose_a=False, transpose_b=False)


RULES = collect(globals())
