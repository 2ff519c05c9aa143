"""FlexAttention, whose scores and probabilities go through regions of the model's own."""

from __future__ import annotations

import numpy as np

from ..graph import Node, Value
from ..preconditions import dtype_of, required, size_of_axis
from ..protos import DTYPES
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import cast, numbers


def _repeated(op: Builder, node: Node, value: Value) -> Value:
    """[batch, shared heads, length, width] with each head as often as there are queries for it."""
    query = required(node, 0)
    if size_of_axis(value, 1) is not None and size_of_axis(value, 1) == size_of_axis(query, 1):
        return value
    heads = op.Shape(query, start=1, end=2)
    front, back = op.Shape(value, start=0, end=2), op.Shape(value, start=2, end=4)
    times = op.Div(heads, op.Shape(value, start=1, end=2))
    wide = op.Expand(op.Unsqueeze(value, op.const([2])), op.Concat(front, times, back, axis=0))
    return op.Reshape(wide, op.Concat(op.Shape(value, start=0, end=1), heads, back, axis=0), allowzero=1)


def _root(op: Builder, node: Node, dtype: DType) -> Value:
    """The root of the scale, by which queries and keys are multiplied."""
    scale, width = node.attributes.get("scale"), size_of_axis(required(node, 0), 3)
    if scale is not None:
        return numbers(op, np.sqrt(np.float32(scale)), dtype)
    if width is not None:
        return numbers(op, np.sqrt(1 / np.sqrt(np.float32(width))), dtype)
    found = cast(op, node, op.Shape(required(node, 0), start=3, end=4), DType.FLOAT32)
    return cast(op, node, op.Sqrt(op.Div(op.const(1.0), op.Sqrt(found))), dtype)


@rule("ai.onnx.preview", "FlexAttention")
def flex_attention(op: Builder, node: Node) -> Value:
    """FlexAttention-1: softmax(score_mod(q k^T)) through prob_mod, times v."""
    q, k, v = (required(node, index) for index in range(3))
    dtype = dtype_of(node, q)
    k, v = (_repeated(op, node, value) for value in (k, v))
    root = _root(op, node, dtype)
    scores = op.MatMul(op.Mul(q, root), op.Transpose(op.Mul(k, root), perm=[0, 1, 3, 2]))
    precision = node.attributes.get("softmax_precision")
    work = DTYPES[precision] if precision else DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    scores = cast(op, node, scores, work)
    if "score_mod" in node.regions:
        (scores,) = op.inline(node.regions["score_mod"], [scores, *node.captures])
    chances = op.Softmax(scores, axis=3)
    if "prob_mod" in node.regions:
        (chances,) = op.inline(node.regions["prob_mod"], [chances, *node.captures])
    return op.MatMul(cast(op, node, chances, dtype_of(node, v)), v)


RULES = collect(globals())
