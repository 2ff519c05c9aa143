"""Products: MatMul, Einsum, attention."""

from __future__ import annotations

import math

from ....passes.build import Expr, arange, concat, expr, where
from ....passes.graph import Node, Value
from ....passes.preconditions import given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, call, constant, operand, scalar, swapped


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
    query, key = operand(op, node, 0), operand(op, node, 1)
    mask, scale = node.input(3), node.input(4)
    if scale is not None:
        factor: Expr | float = scalar(op, scale)
    elif (width := query.size(-1)).item() is not None:
        factor = 1.0 / math.sqrt(width.item())
    else:
        factor = width.reshape().cast(query.dtype).sqrt().call("Reciprocal")
    scores = query.call("MatMul", swapped(op, given(node, 1), node)) * factor
    if node.attributes.get("causal", False):
        later = arange(op, key.size(-2)) > arange(op, query.size(-2))[:, None]
        scores = where(later, -math.inf, scores)
    elif mask is not None and mask.tensor.dtype is DType.BOOL:
        scores = where(operand(op, node, 3), scores, -math.inf)
    elif mask is not None:
        array = constant(mask)
        if array is None or array.any():
            scores = scores + mask
    return op.MatMul(_weights(scores, node.input(5)), given(node, 2))


def _weights(scores: Expr, sink: Value | None) -> Expr:
    if sink is None:
        return scores.call("Softmax", axis=-1)
    op = scores.op
    column = expr(op, sink).broadcast_to(scores.sizes()[:-1], 1)
    return concat(op, [scores, column], -1).call("Softmax", axis=-1)[..., :-1]


RULES = collect(globals())
