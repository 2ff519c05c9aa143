"""Elimination with partial pivoting, as LAPACK's getrf leaves it."""

from __future__ import annotations

from ....passes.graph import Value
from ....passes.loop import Stacked
from ....passes.rewrite import Builder
from ....passes.types import DType
from .algebra import Algebra, Number, sizes
from .repeat import Made, Pass, repeat
from .support import cast


def first_of(op: Builder, flags: Value) -> Value:
    """The number (from 1, int32) of the first flag of each row that is set; 0 where none is."""
    numbers = cast(op, flags, DType.INT32)
    place = op.Add(op.ArgMax(numbers, axis=-1, keepdims=0), op.const(1))
    some = cast(op, op.ReduceMax(numbers, op.const([-1]), keepdims=0), DType.BOOL)
    return cast(op, op.Where(some, place, op.const(0)), DType.INT32)


def eliminated(op: Builder, a: Number) -> tuple[Number, Value, Value]:
    """(both factors in one matrix, the pivots' rows from 1, the number of the first pivot that is 0 or 0).

    Args:
        a: (batch ..., rows, columns), neither 0.
    """
    batch, rows, columns = sizes(a)

    def step(now: Pass) -> Made:
        op, m, k = now.op, Algebra(now.op), now.number
        work = tuple(now.carried)
        places = op.const(list(range(rows)))
        weights = m.weight(m.at(work, k))
        best = op.ArgMax(op.Where(op.Less(places, k), m.scalar(-1.0, work), weights), axis=-1, keepdims=1)
        order = op.Where(op.Equal(places, k), best, op.Where(op.Equal(places, best), k, places))  # two rows swapped
        order = op.Expand(op.Unsqueeze(order, op.const([-1])), op.const([*batch, rows, columns]))
        work = m.each("GatherElements", work, order, axis=-2)

        here = op.Unsqueeze(k, op.const([0]))
        column, line = m.at(work, here), m.at(work, here, axis=-2)
        pivot = m.at(column, here, axis=-2)
        zero = op.Equal(m.weight(pivot), m.scalar(0.0, work))
        nothing = tuple(m.scalar(0.0, work) for _ in work)
        below = op.Greater(op.const([[place] for place in range(rows)]), k)
        factors = m.where(below, m.where(zero, column, m.quotient(column, pivot)), nothing)
        across = op.const(list(range(columns)))
        rest = m.subtract(work, m.product(factors, m.where(op.Greater(across, k), line, nothing)))
        work = m.where(op.And(op.Equal(across, k), below), factors, rest)
        return Made(work, [op.Squeeze(op.Add(best, op.const(1)), op.const([-1])), op.Squeeze(zero, op.const([-2, -1]))])

    kept = [Stacked(len(batch)), Stacked(len(batch))]
    *found, pivots, zeros = repeat(op, min(rows, columns), step, a, stacked=kept, name="elimination")
    return tuple(found), cast(op, pivots, DType.INT32), first_of(op, zeros)
