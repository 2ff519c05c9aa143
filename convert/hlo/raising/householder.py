"""Householder reflections as LAPACK defines them: I - tau v v^H, v with a 1 in its first place."""

from __future__ import annotations

import numpy as np

from ....passes.graph import Value
from ....passes.loop import Sliced, Stacked
from ....passes.rewrite import Builder
from ....passes.types import DType
from .algebra import Algebra, Number, sizes
from .repeat import Made, Pass, repeat
from .support import cast


def reflector(op: Builder, column: Number, place: Value, size: int) -> tuple[Number, Number, Value]:
    """(v, tau, beta) of the reflection that leaves beta, a real number, of a column's elements from `place` on.

    Args:
        column: (batch ..., size, 1).
        place: int64 scalar.

    Returns:
        v: (batch ..., size, 1), 0 before `place` and 1 there; tau and beta: (batch ..., 1, 1). Where nothing is to be
            done tau is 0, and beta the element that stands there.
    """
    m, down = Algebra(op), op.const([-2])
    rows = op.const([[row] for row in range(size)])
    zero, one = m.scalar(0.0, column), m.scalar(1.0, column)
    nothing = tuple(zero for _ in column)
    column = m.where(op.Less(rows, place), nothing, column)
    size_of = op.ReduceMax(m.weight(column), down, keepdims=1)
    column = m.over(column, op.Where(op.Equal(size_of, zero), one, size_of))  # or squares of small numbers were lost
    alpha = m.at(column, op.Unsqueeze(place, op.const([0])), axis=-2)
    tail = m.where(op.Greater(rows, place), column, nothing)
    beside = op.Concat(*tail, alpha[1], axis=-2) if len(alpha) == 2 else tail[0]
    done = op.Equal(op.ReduceL1(beside, down, keepdims=1), zero)
    length = op.ReduceL2(op.Concat(alpha[0], beside, axis=-2), down, keepdims=1)
    beta = op.Where(op.Less(alpha[0], zero), length, op.Neg(length))
    tau = m.where(done, nothing, m.over(m.subtract(m.real(beta, alpha), alpha), beta))
    apart = m.where(done, m.real(one, alpha), m.subtract(alpha, m.real(beta, alpha)))
    v = m.product(tail, m.quotient(m.real(one, alpha), apart))
    v = (op.Where(op.Equal(rows, place), one, v[0]), *v[1:])
    return v, tau, op.Mul(op.Where(done, alpha[0], beta), size_of)


def _reflected(op: Builder, work: Number, k: Value, place: Value, both_sides: bool = False) -> tuple[Number, Number]:
    """Column k reduced by a reflection from `place` on: beta there, v below; the columns behind it reflected.

    With `both_sides` the reflection comes from the right as well. The second result is tau (batch ...).
    """
    m = Algebra(op)
    _, rows, columns = sizes(work)
    column = m.at(work, op.Unsqueeze(k, op.const([0])))
    v, tau, beta = reflector(op, column, place, rows)
    across, down = op.const(list(range(columns))), op.const([[row] for row in range(rows)])
    line = m.product(m.conjugate(tau), m.matmul(m.adjoint(v), work))
    line = m.where(op.Greater(across, k), line, tuple(m.scalar(0.0, work) for _ in work))
    work = m.subtract(work, m.product(v, line))
    if both_sides:
        work = m.subtract(work, m.product(m.product(tau, m.matmul(work, v)), m.adjoint(v)))
    below = m.where(op.Equal(down, place), m.real(beta, v), v)
    fresh = m.where(op.Less(down, place), column, below)
    return m.where(op.Equal(across, k), fresh, work), m.each("Squeeze", tau, op.const([-2, -1]))


def reduced(op: Builder, a: Number) -> tuple[Number, Number]:
    """geqrf: (R and the vectors v below it, tau). `a`: (batch ..., rows, columns), neither 0."""
    batch, rows, columns = sizes(a)

    def step(now: Pass) -> Made:
        work, tau = _reflected(now.op, tuple(now.carried), now.number, now.number)
        return Made(work, tau)

    made = repeat(op, min(rows, columns), step, a, stacked=[Stacked(len(batch))] * len(a), name="qr")
    return tuple(made[: len(a)]), tuple(made[len(a) :])


def reduced_with_pivots(op: Builder, a: Number) -> tuple[Number, Value, Number]:
    """geqp3: the same of the columns in another order, the longest rest first; (R and v, columns from 1, tau)."""
    batch, rows, columns = sizes(a)

    def step(now: Pass) -> Made:
        op, m, k = now.op, Algebra(now.op), now.number
        work, order = tuple(now.carried[:-1]), now.carried[-1]
        nothing = tuple(m.scalar(0.0, work) for _ in work)
        rest = m.where(op.Less(op.const([[row] for row in range(rows)]), k), nothing, work)
        lengths = op.ReduceL2(rest[0] if len(rest) == 1 else op.Concat(*rest, axis=-2), op.const([-2]), keepdims=0)
        places = op.const(list(range(columns)))
        lengths = op.Where(op.Less(places, k), m.scalar(-1.0, work), lengths)
        best = op.ArgMax(lengths, axis=-1, keepdims=1)
        swapped = op.Where(op.Equal(places, k), best, op.Where(op.Equal(places, best), k, places))
        everywhere = op.Expand(op.Unsqueeze(swapped, op.const([-2])), op.const([*batch, rows, columns]))
        work, tau = _reflected(op, m.each("GatherElements", work, everywhere, axis=-1), k, k)
        return Made([*work, op.GatherElements(order, swapped, axis=-1)], tau)

    first = op.const(np.broadcast_to(np.arange(1, columns + 1), (*batch, columns)))
    kept = [Stacked(len(batch))] * len(a)
    made = repeat(op, min(rows, columns), step, [*a, first], stacked=kept, name="qr")
    return tuple(made[: len(a)]), cast(op, made[len(a)], DType.INT32), tuple(made[len(a) + 1 :])


def hessenberg(op: Builder, a: Number) -> tuple[Number, Number]:
    """gehrd: (the Hessenberg form, the vectors v below it; tau). `a`: (batch ..., n, n), n > 1."""
    batch, size, _ = sizes(a)

    def step(now: Pass) -> Made:
        op = now.op
        place = op.Add(now.number, op.const(1))
        work, tau = _reflected(op, tuple(now.carried), now.number, place, both_sides=True)
        return Made(work, tau)

    made = repeat(op, size - 1, step, a, stacked=[Stacked(len(batch))] * len(a), name="hessenberg")
    return tuple(made[: len(a)]), tuple(made[len(a) :])


def multiplied(op: Builder, a: Number, tau: Number) -> Number:
    """orgqr: the first columns of the product of the reflections whose vectors stand below the diagonal of `a`.

    Args:
        a: (batch ..., rows, columns), rows >= columns.
        tau: (batch ..., count), count <= columns.
    """
    m = Algebra(op)
    batch, rows, columns = sizes(a)
    *_, count = sizes(tau)
    unit = m.unit((*batch, rows, columns), a)
    if not count:
        return unit
    return _through(op, a, tau, unit, adjoint=False)


def applied(op: Builder, a: Number, tau: Number, c: Number, left: bool, adjoint: bool) -> Number:
    """ormqr: Q c, c Q, or the same with the adjoint of Q, the product of the reflections below the diagonal of `a`.

    Args:
        a: (batch ..., rows, count), tau: (batch ..., count).
        c: (batch ..., rows, n), or (batch ..., n, rows) where Q stands behind it.
    """
    m = Algebra(op)
    *_, count = sizes(tau)
    if not count:
        return c
    if left:
        return _through(op, a, tau, c, adjoint)
    return m.adjoint(_through(op, a, tau, m.adjoint(c), not adjoint))


def _through(op: Builder, a: Number, tau: Number, c: Number, adjoint: bool) -> Number:
    """The reflections times `c`, the last first; their adjoints the first first."""
    m, parts = Algebra(op), len(a)
    batch, rows, columns = sizes(a)
    *_, count = sizes(tau)
    vectors = m.triangle(a, lower=True, strict=True)
    vectors = (op.Add(vectors[0], m.unit((*batch, rows, columns), a)[0]), *vectors[1:])
    vectors = m.each("Slice", vectors, op.const([0]), op.const([count]), op.const([-1])) if count < columns else vectors
    way = (0, -1, 1) if adjoint else (-1, 0, -1)
    walk = [(part, Sliced(len(batch) + 1, *way)) for part in vectors]
    walk += [(part, Sliced(len(batch), *way)) for part in (m.conjugate(tau) if adjoint else tau)]

    def step(now: Pass) -> Made:
        m, found = Algebra(now.op), tuple(now.carried)
        v, factor = m.column(tuple(now.parts[:parts])), m.column(m.column(tuple(now.parts[parts:])))
        line = m.product(factor, m.matmul(m.adjoint(v), found))
        return Made(m.subtract(found, m.product(v, line)))

    return tuple(repeat(op, count, step, c, walk, name="reflections"))
