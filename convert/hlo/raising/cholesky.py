"""Cholesky factors, a column after the other."""

from __future__ import annotations

import math

from ....passes.graph import Node, Value
from ....passes.loop import Sliced, Stacked
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .algebra import Algebra, Number, sizes
from .repeat import Made, Pass, repeat
from .support import Results, cast, shape_of


def factored(op: Builder, a: Number, lower: bool) -> tuple[Number, Value]:
    """(the factor, zeros beside it; the pivots' roots). Behind a pivot that isn't positive nothing is left but NaN.

    Args:
        a: (batch ..., n, n), n > 0, of which one triangle counts, and the real part of the diagonal.
    """
    m = Algebra(op)
    if not lower:
        found, roots = factored(op, m.adjoint(a), lower=True)
        return m.adjoint(found), roots
    batch, size, _ = sizes(a)
    if size == 1:
        root = op.Sqrt(a[0])
        return m.real(root, a), op.Squeeze(root, op.const([-1]))

    def step(now: Pass) -> Made:
        op, m = now.op, Algebra(now.op)
        left = tuple(now.carried)
        line = m.conjugate(m.at(left, now.number, axis=-2))
        rest = m.subtract(m.column(tuple(now.parts)), m.matmul(left, m.column(line)))
        root = op.Sqrt(op.Gather(rest[0], op.Unsqueeze(now.number, op.const([0])), axis=-2))
        rows = op.const([[place] for place in range(size)])
        below = (op.GreaterOrEqual(rows, now.number), op.Greater(rows, now.number))  # the diagonal is real
        zero = m.scalar(0.0, left)
        fresh = tuple(op.Where(keep, part, zero) for keep, part in zip(below, m.over(rest, root), strict=False))
        here = op.Equal(op.const(list(range(size))), now.number)
        return Made(m.where(here, fresh, left), [op.Squeeze(root, op.const([-2, -1]))])

    columns = [(part, Sliced(len(batch) + 1)) for part in a]
    start = m.zeros((*batch, size, size), a)
    *found, roots = repeat(op, size, step, start, columns, stacked=[Stacked(len(batch))], name="cholesky")
    return tuple(found), roots


@rule(DOMAIN, "cholesky")
def cholesky(op: Builder, node: Node) -> Results:
    """Of real or complex matrices (pairs then). As in XLA a pivot that is negative or NaN leaves the whole matrix NaN,
    a last one that is 0 only itself.
    """
    a = tuple(value for value in node.inputs if value is not None)
    if 0 in shape_of(node, a[0]):
        return [op.Identity(part) for part in a]
    found, roots = factored(op, a, bool(node.attributes.get("lower", False)))
    bad = op.ReduceMax(cast(op, op.IsNaN(roots), DType.INT32), op.const([-1]), keepdims=1)
    bad = op.Unsqueeze(cast(op, bad, DType.BOOL), op.const([-1]))
    return Algebra(op).where(bad, tuple(Algebra(op).scalar(math.nan, a) for _ in a), found)


RULES = collect(globals())
