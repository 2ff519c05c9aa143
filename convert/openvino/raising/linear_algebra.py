"""Linear algebra beyond MatMul: inverses, products by group; and the inverse of the error function."""

from __future__ import annotations

import math

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.loop import Captured, Carried, Iteration, Sliced
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from .support import INT64_MAX, Results, cast, concatenated, dimension, number, scalar, shape_of, steps, swapped


def _cleared(op: Builder, k: Value, work: Value) -> Value:
    """Step k of Gauss and Jordan: [batch, n, m] with column k cleared but for a 1 in row k."""
    places = steps(op, dimension(op, work, 1))
    heights = op.Where(op.Less(places, k), number(op, -1, work), op.Abs(op.Gather(work, k, axis=2)))
    best = op.ArgMax(heights, axis=1, keepdims=1)
    order = op.Where(op.Equal(places, k), best, op.Where(op.Equal(places, best), k, places))  # the two rows swapped
    order = op.Expand(op.Unsqueeze(order, op.const([2])), shape_of(op, work))
    work = op.GatherElements(work, order, axis=1)
    here = op.Unsqueeze(k, op.const([0]))
    line = op.Gather(work, here, axis=1)
    line = op.Div(line, op.Gather(line, here, axis=2))
    cleared = op.Sub(work, op.Mul(op.Gather(work, here, axis=2), line))
    return op.Where(op.Equal(op.Unsqueeze(places, op.const([1])), k), line, cleared)


@rule(DOMAIN, "Inverse")
def inverse(op: Builder, node: Node) -> Results:
    """Inverse-14: of each matrix, by elimination with pivots; with `adjoint` of the transposed ones."""
    x = given(node)
    dtype = dtype_of(node, x)
    wide = cast(op, x, DType.FLOAT32) if dtype.bits < 32 else x
    if node.attributes.get("adjoint", False):
        wide = swapped(op, wide, node)
    size = dimension(op, x, -1)
    flat = op.Reshape(wide, concatenated(op, [op.const([-1]), size, size]))
    places = steps(op, size)
    unit = cast(op, op.Equal(op.Unsqueeze(places, op.const([1])), places), dtype_of(node, wide))
    start = op.Concat(flat, op.Expand(unit, shape_of(op, flat)), axis=2)
    body = op.region("column")
    k, work = body.input("k", TensorType(DType.INT64, ())), body.input("work", start.type)
    body.graph.outputs = [_cleared(body, k, work)]
    made = op.loop(scalar(op, size), None, (Iteration(), Carried()), [start], body.graph, [start.type])[0]
    found = op.Slice(made, size, op.const([INT64_MAX]), op.const([2]))
    return cast(op, op.Reshape(found, shape_of(op, x)), dtype)


@rule(DOMAIN, "GroupedMatMul")
def grouped_matmul(op: Builder, node: Node) -> Results:
    """GroupedMatMul-17: each group's weights stand transposed; the groups' rows are told by where they end."""
    a, b, ends = given(node, 0), swapped(op, given(node, 1), node), node.input(2)
    if ends is None or rank_of(node, a) == 3:
        return op.MatMul(a, b)
    if (rank_of(node, a), rank_of(node, b)) != (2, 3):
        raise InvalidModel(f"{node!r}: operands of rank {a.rank} and {b.rank}")
    dtype, columns = dtype_of(node, a), b.tensor.shape
    empty = op.Expand(number(op, 0, a), concatenated(op, [op.const([0]), dimension(op, b, 2)]))
    body = op.region("group")
    grown = TensorType(dtype, (None, columns[2] if columns else None))
    begin = body.input("begin", TensorType(DType.INT64, (1,)))
    done = body.input("done", grown)
    weights = body.input("weights", TensorType(dtype, columns[1:] if columns else None))
    end = body.Unsqueeze(body.input("end", TensorType(DType.INT64, ())), body.const([0]))
    lines = body.Slice(body.input("lines", a.type), begin, end, body.const([0]))
    body.graph.outputs = [end, body.Concat(done, body.MatMul(lines, weights), axis=0)]
    slots = (Carried(), Carried(), Sliced(), Sliced(), Captured())
    outside = [op.const([0]), empty, b, cast(op, ends, DType.INT64), a]
    _, made = op.loop(None, None, slots, outside, body.graph, [None, grown])
    rest = op.Sub(dimension(op, a, 0), dimension(op, made, 0))  # rows of no group are zeros
    return op.Pad(made, concatenated(op, [op.const([0, 0]), rest, op.const([0])]))


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


def _polynomial(op: Builder, s: Value, factors: tuple[float, ...]) -> Value:
    total = number(op, factors[0], s)
    for factor in factors[1:]:
        total = op.Add(op.Mul(total, s), number(op, factor, s))
    return total


@rule(DOMAIN, "ErfInv")
def erf_inv(op: Builder, node: Node) -> Results:
    """ErfInv-17: infinite at 1 and -1, NaN beyond. OpenVINO's runtime has the last but two of `_TAILS` negative."""
    given_x = given(node)
    dtype = dtype_of(node, given_x)
    x = cast(op, given_x, DType.FLOAT64)
    one = number(op, 1, x)
    w = op.Neg(op.Log(op.Mul(op.Sub(one, x), op.Add(one, x))))
    centre = _polynomial(op, op.Sub(w, number(op, 2.5, x)), _CENTRE)
    tails = _polynomial(op, op.Sub(op.Sqrt(w), number(op, 3, x)), _TAILS)
    inside = op.Mul(x, op.Where(op.Less(w, number(op, 5, x)), centre, tails))
    ends = op.Mul(x, number(op, math.inf, x))
    op.rewriter.notes.append(f"{node!r}: OpenVINO's runtime is up to 0.5 % off next to 1 and -1 (from 0.9966 on)")
    return cast(op, op.Where(op.Equal(op.Abs(x), one), ends, inside), dtype)


RULES = collect(globals())
