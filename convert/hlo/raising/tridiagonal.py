"""Tridiagonal systems by elimination with partial pivoting, as LAPACK's gtsv: down the rows, and up again."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.graph import Value
from ....passes.loop import Sliced, Stacked
from ....passes.rewrite import Builder
from .algebra import Algebra, Number, sizes
from .lu import first_of
from .repeat import Made, Pass, repeat


def _split(values: Sequence[Value], width: int) -> list[Number]:
    return [tuple(values[place : place + width]) for place in range(0, len(values), width)]


def _down(now: Pass, width: int) -> Made:
    """One row less: of this row (0, d, u) and the next one (l, d', u') the one with the larger first element stays as a
    row of the factor; the other, less a multiple of it, is the next pass's row."""
    op, m = now.op, Algebra(now.op)
    d, u, b = _split(now.carried, width)
    lower, d_next, u_next, b_next = _split(now.parts, width)
    nothing = tuple(m.scalar(0.0, d) for _ in d)
    swap = op.Less(m.weight(d), m.weight(lower))
    zero = op.Equal(m.weight(d), m.scalar(0.0, d))
    zero = op.And(zero, op.Not(swap))
    pivot, other = m.where(swap, lower, d), m.where(swap, d, lower)
    factor = m.where(zero, nothing, m.quotient(other, pivot))
    beside, rest = m.where(swap, d_next, u), m.where(swap, u, d_next)
    second, tail = m.where(swap, u_next, nothing), m.where(swap, nothing, u_next)
    wide = op.Unsqueeze(swap, op.const([-1]))
    above, below = m.where(wide, b_next, b), m.where(wide, b, b_next)
    left = [
        *m.subtract(rest, m.product(factor, beside)),
        *m.subtract(tail, m.product(factor, second)),
        *m.subtract(below, m.product(m.column(factor), above)),
    ]
    return Made(left, [*pivot, *beside, *second, *above, zero])


def _up(now: Pass, width: int) -> Made:
    """One row of the solution, from the two below it."""
    m = Algebra(now.op)
    near, far = _split(now.carried, width)
    d, u, second, b = _split(now.parts, width)
    rest = m.subtract(b, m.product(m.column(u), near))
    x = m.quotient(m.subtract(rest, m.product(m.column(second), far)), m.column(d))
    return Made([*x, *near], x)


def tridiagonal_solved(op: Builder, lower: Number, middle: Number, upper: Number, right: Number) -> Sequence[Value]:
    """gtsv: (second superdiagonal, diagonal and superdiagonal of the factor, the solution, info).

    Args:
        lower, middle, upper: (batch ..., n); the first element of `lower` and the last one of `upper` don't count.
        right: (batch ..., n, columns).
    """
    m, width = Algebra(op), len(right)
    batch, size, columns = sizes(right)
    axis = len(batch)

    def cut(x: Number, begin: int, end: int) -> Number:
        return m.each("Slice", x, op.const([begin]), op.const([end]), op.const([axis]))

    first = [m.at(x, op.const(0), axis=axis) for x in (middle, upper, right)]
    walk = [(part, Sliced(axis, 1)) for x in (lower, middle, upper, right) for part in x]
    kept = [Stacked(axis)] * (4 * width + 1)
    carried = [part for x in first for part in x]
    made = repeat(op, size - 1, lambda now: _down(now, width), carried, walk, stacked=kept, name="elimination")
    d, _, b = _split(made[: 3 * width], width)
    pivots, beside, second, above = _split(made[3 * width : -1], width)
    last = m.quotient(b, m.column(d))
    back = [(part, Sliced(axis, -1, 0, -1)) for x in (pivots, beside, second, above) for part in x]
    nothing = m.zeros((*batch, columns), right)
    kept = [Stacked(axis, reverse=True)] * width
    rows = repeat(op, size - 1, lambda now: _up(now, width), [*last, *nothing], back, stacked=kept, name="rows")
    x = tuple(rows[2 * width :])

    def joined(*numbers: Number) -> Number:
        return tuple(op.Concat(*parts, axis=axis) for parts in zip(*numbers, strict=True))

    line = m.each("Unsqueeze", last, op.const([axis]))
    pivot = m.each("Unsqueeze", d, op.const([axis]))
    zeros = op.Concat(made[-1], op.Equal(m.weight(pivot), m.scalar(0.0, d)), axis=axis)
    packed = joined(cut(lower, 0, 1), cut(second, 0, max(size - 2, 0)), cut(lower, max(size - 1, 1), size))
    over = joined(beside, cut(upper, size - 1, size))
    return *packed, *joined(pivots, pivot), *over, *joined(x, line), first_of(op, zeros)
