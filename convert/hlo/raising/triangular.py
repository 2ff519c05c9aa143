"""Systems with a triangular matrix, a row of the solution after the other."""

from __future__ import annotations

from ....passes.graph import Node
from ....passes.loop import Sliced
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from .algebra import Algebra, Number, sizes
from .repeat import Made, Pass, repeat
from .support import Results, shape_of


def substituted(op: Builder, a: Number, b: Number, lower: bool, unit: bool) -> Number:
    """x of a x = b: each row of b, less what the rows before it make of it, over the diagonal (1 with `unit`).

    Args:
        a: (batch ..., n, n), of which one triangle counts.
        b: (batch ..., n, k).
    """
    m, parts = Algebra(op), len(a)
    batch, size, count = sizes(b)
    rank = len(batch) + 2
    if size == 1:
        return b if unit else m.quotient(b, a)
    begin, end, stride = (0, -1, 1) if lower else (-1, 0, -1)
    rows, scalars = Sliced(rank - 2, begin, end, stride), Sliced(rank - 2, begin, end, stride)
    sequences = [(part, rows) for part in (*m.triangle(a, lower, strict=True), *b)]
    if not unit:
        sequences += [(part, scalars) for part in m.diagonal(a)]

    def step(now: Pass) -> Made:
        op, m = now.op, Algebra(now.op)
        found = tuple(now.carried)
        line, right, pivot = (tuple(now.parts[at * parts : (at + 1) * parts]) for at in range(3))
        rest = m.subtract(m.row(right), m.matmul(m.row(line), found))
        if not unit:
            rest = m.quotient(rest, m.column(m.column(pivot)))
        here = now.number if lower else op.Sub(op.const(size - 1), now.number)
        places = op.const([[place] for place in range(size)])
        return Made(m.where(op.Equal(places, here), rest, found))

    start = m.zeros((*batch, size, count), b)
    return tuple(repeat(op, size, step, start, sequences, name="substitution"))


def solved(op: Builder, a: Number, b: Number, left: bool, lower: bool, unit: bool, transpose: str) -> Number:
    """x of op(a) x = b, or of x op(a) = b where not `left`; `transpose` as HLO's transpose_a."""
    m = Algebra(op)
    if transpose == "ADJOINT":
        a = m.conjugate(a)
    turned = (transpose != "NO_TRANSPOSE") is left  # x a = b is the system of a's transpose
    if turned:
        a, lower = m.transposed(a), not lower
    x = substituted(op, a, b if left else m.transposed(b), lower, unit)
    return x if left else m.transposed(x)


@rule(DOMAIN, "triangular-solve")
def triangular_solve(op: Builder, node: Node) -> Results:
    """Of real or complex matrices (pairs then), stacked along any number of batch dimensions."""
    values = [value for value in node.inputs if value is not None]
    half, get = len(values) // 2, node.attributes.get
    a, b = tuple(values[:half]), tuple(values[half:])
    if 0 in shape_of(node, b[0]):
        return [op.Identity(part) for part in b]
    left, lower, unit = (bool(get(name, False)) for name in ("left_side", "lower", "unit_diagonal"))
    return solved(op, a, b, left, lower, unit, get("transpose_a", "NO_TRANSPOSE"))


RULES = collect(globals())
