"""Linear algebra: products, attention, inverses; and the inverse of the error function."""

from __future__ import annotations

import math

from ....passes.build import Expr, arange, concat, expr, loop, pad, where
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.loop import Captured, Carried, Iteration, Sliced
from ....passes.preconditions import dtype_of, input_of, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from .support import Results, call, constant, operand, scalar, transpose_last


def _cleared(k: Expr, work: Expr) -> Expr:
    """Step k of Gauss and Jordan: [batch, n, m] with column k cleared but for a 1 in row k."""
    indices = arange(k.op, work.size(1))
    heights = where(indices < k, -1, work.gather(k, axis=2).abs())
    best = heights.call("ArgMax", axis=1, keepdims=1)
    order = where(indices.equals(k), best, where(indices.equals(best), k, indices))  # the two rows swapped
    work = work.call("GatherElements", order[:, :, None].broadcast_to(work.sizes()), axis=1)
    here = k[None]
    line = work.gather(here, axis=1)
    line = line / line.gather(here, axis=2)
    return where(indices[:, None].equals(k), line, work - work.gather(here, axis=2) * line)


@rule(DOMAIN, "Inverse")
def inverse(op: Builder, node: Node) -> Results:
    """Inverse-14: of each matrix, by elimination with pivots; with `adjoint` of the transposed ones."""
    x = operand(op, node)
    wide = x.cast(DType.FLOAT32) if x.dtype.bits < 32 else x
    if node.attributes.get("adjoint", False):
        wide = expr(op, transpose_last(op, wide.value(), node))
    size = x.size(-1)
    flat, indices = wide.reshape(-1, size, size), arange(op, size)
    unit = indices[:, None].equals(indices).cast(wide.dtype)
    start = concat(op, [flat, unit.broadcast_to(flat.sizes())], 2)
    made = loop(op, (Iteration(), Carried()), [start], lambda k, work: [_cleared(k, work)], scalar(op, size), "column")
    return made[0][:, :, size:].reshape(x.sizes()).cast(x.dtype).value()


@rule(DOMAIN, "GroupedMatMul")
def grouped_matmul(op: Builder, node: Node) -> Results:
    """GroupedMatMul-17: each group's weights stand transposed; the groups' rows are told by where they end."""
    a, b, ends = input_of(node, 0), transpose_last(op, input_of(node, 1), node), node.input(2)
    if ends is None or rank_of(node, a) == 3:
        return op.MatMul(a, b)
    if (rank_of(node, a), rank_of(node, b)) != (2, 3):
        raise InvalidModel(f"{node!r}: operands of rank {a.rank} and {b.rank}")
    dtype, columns = dtype_of(node, a), b.tensor.shape
    begin, rows = expr(op, [0]).value(), operand(op, node)
    empty = rows.like(0).broadcast_to(0, expr(op, b).size(2)).value()
    body = op.region("group")
    grown = TensorType(dtype, (None, columns[2] if columns else None))
    types = {
        "begin": TensorType(DType.INT64, (1,)),
        "done": grown,
        "weights": TensorType(dtype, columns[1:] if columns else None),
        "end": TensorType(DType.INT64, ()),
        "lines": a.type,
    }
    first, done, weights, last, lines = (expr(body, body.input(name, kind)) for name, kind in types.items())
    end = last[None]
    product = lines[first:end].call("MatMul", weights)
    body.graph.outputs = [end.value(), concat(body, [done, product]).value()]
    slots = (Carried(), Carried(), Sliced(), Sliced(), Captured())
    operands = [begin, empty, b, operand(op, node, 2, DType.INT64).value(), a]
    _, products = op.loop(None, None, slots, operands, body.graph, [None, grown])
    return pad(op, products, [0], [rows.size(0) - expr(op, products).size(0)], axes=[0])  # rows of no group are zeros


# the inverse of the error function -----------------------------------------------------------------

# M. Giles, "Approximating the erfinv function": polynomials in w - 2.5 and sqrt(w) - 3, w = -log(1 - x*x)
_CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAILS = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def _polynomial(s: Expr, factors: tuple[float, ...]) -> Expr:
    total = s.like(factors[0])
    for factor in factors[1:]:
        total = total * s + factor
    return total


@rule(DOMAIN, "ErfInv")
def erf_inv(op: Builder, node: Node) -> Results:
    """ErfInv-17: infinite at 1 and -1, NaN beyond. OpenVINO's runtime has the last but two of `_TAILS` negative."""
    x = operand(op, node, 0, DType.FLOAT64)
    w = -((1 - x) * (x + 1)).log()
    found = x * where(w < 5, _polynomial(w - 2.5, _CENTRE), _polynomial(w.sqrt() - 3, _TAILS))
    op.rewriter.notes.append(f"{node!r}: OpenVINO's runtime is up to 0.5 % off next to 1 and -1 (from 0.9966 on)")
    return where(x.abs().equals(1), x * math.inf, found).cast(dtype_of(node, input_of(node))).value()


# products: MatMul, Einsum, attention ---------------------------------------------------------------


@rule(DOMAIN, "MatMul")
def matmul(op: Builder, node: Node) -> Results:
    """MatMul-1."""
    a, b = input_of(node, 0), input_of(node, 1)
    if node.attributes.get("transpose_a", False):
        a = transpose_last(op, a, node)
    if node.attributes.get("transpose_b", False):
        b = transpose_last(op, b, node)
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
    scores = query.call("MatMul", transpose_last(op, input_of(node, 1), node)) * factor
    if node.attributes.get("causal", False):
        later = arange(op, key.size(-2)) > arange(op, query.size(-2))[:, None]
        scores = where(later, -math.inf, scores)
    elif mask is not None and mask.tensor.dtype is DType.BOOL:
        scores = where(operand(op, node, 3), scores, -math.inf)
    elif mask is not None:
        array = constant(mask)
        if array is None or array.any():
            scores = scores + mask
    return op.MatMul(_weights(scores, node.input(5)), input_of(node, 2))


def _weights(scores: Expr, sink: Value | None) -> Expr:
    if sink is None:
        return scores.call("Softmax", axis=-1)
    op = scores.op
    column = expr(op, sink).broadcast_to(scores.sizes()[:-1], 1)
    return concat(op, [scores, column], -1).call("Softmax", axis=-1)[..., :-1]


RULES = collect(globals())
