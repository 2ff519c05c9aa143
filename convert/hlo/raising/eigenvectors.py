"""Eigenvalues and eigenvectors of any matrices, from their Schur forms."""

from __future__ import annotations

import numpy as np

from ....passes.graph import Value
from ....passes.loop import Sliced
from ....passes.rewrite import Builder
from ....passes.types import DType
from .algebra import Algebra, Number, epsilon, sizes
from .repeat import Made, Pass, repeat
from .schur import beside


def eigenvalues(op: Builder, form: Number) -> Number:
    """(re, im), in the order of the diagonal; of a real form: conjugate pairs, the positive imaginary part first."""
    m = Algebra(op)
    middle = m.diagonal(form)
    if len(form) == 2:
        return middle
    _, size, _ = sizes(form)
    if size == 1:
        return middle[0], op.Mul(middle[0], m.scalar(0.0, form))
    below, above = beside(op, form, -2)[0], beside(op, form, -1)[0]
    zero = m.scalar(0.0, form)
    part = op.Where(op.Equal(below, zero), zero, op.Mul(op.Sqrt(op.Abs(below)), op.Sqrt(op.Abs(above))))
    return middle[0], op.Sub(*_places(op, part))


def _places(op: Builder, x: Value) -> tuple[Value, Value]:
    """What belongs to two neighbours (batch ..., n - 1), for the first and for the second one: (batch ..., n) each."""
    zero = Algebra(op).zeros((*(x.tensor.static_shape or ())[:-1], 1), (x,))[0]
    return op.Concat(x, zero, axis=-1), op.Concat(zero, x, axis=-1)


def _triangular(op: Builder, form: Number, basis: Number) -> tuple[Number, Number]:
    """The complex Schur form, but for its diagonal, and its basis: blocks of 2 are made triangular, all at once.

    The eigenvectors of [[a, b], [c, a]] with b c < 0 are (i sqrt |b|, sign(c) sqrt |c|) and its conjugate; with
    the parts of the second one changed over they are the columns of a unitary matrix.
    """
    m = Algebra(op)
    _, size, _ = sizes(form)
    zero, one = m.scalar(0.0, form), m.scalar(1.0, form)
    if len(form) == 2:
        return form, basis
    if size == 1:
        return m.real(form[0], (zero, zero)), m.real(basis[0], (zero, zero))
    below, above = beside(op, form, -2)[0], beside(op, form, -1)[0]
    pair = op.Not(op.Equal(below, zero))
    total = op.Where(pair, op.Add(op.Abs(below), op.Abs(above)), one)
    weight = op.Where(pair, op.Sqrt(op.Div(op.Abs(above), total)), zero)
    other = op.Mul(op.Sign(below), op.Sqrt(op.Div(op.Abs(below), total)))
    alone = op.Sub(one, op.Add(*_places(op, op.Where(pair, one, zero))))
    parts = [alone, *_places(op, other), op.Add(*_places(op, weight))]
    whole, first, second, imaginary = (op.Unsqueeze(part, op.const([-1])) for part in parts)
    places = [op.const(np.eye(size, k=shift, dtype=bool)) for shift in (0, 1, -1)]
    real = op.Where(places[0], whole, op.Where(places[1], first, op.Where(places[2], second, zero)))
    turn = real, op.Where(places[0], imaginary, zero)

    def turned(x: Value) -> Number:
        return op.MatMul(x, turn[0]), op.MatMul(x, turn[1])

    return m.matmul(m.adjoint(turn), turned(form[0])), turned(basis[0])


def eigenvectors(op: Builder, form: Number, basis: Number, values: Number, left: bool) -> Number:
    """Columns of length 1 (two values), the largest element of each real, in the order of the eigenvalues.

    Those of real eigenvalues of a real matrix are real, those of a conjugate pair are conjugate.

    Args:
        form: the Schur form, real or complex.
        values: what `eigenvalues` makes of it.
        left: vectors u with u^H a = lambda u^H; else v with a v = lambda v.
    """
    m, down = Algebra(op), op.const([-2])
    _, size, _ = sizes(form)
    work, basis = _triangular(op, form, basis)
    if left:
        work = m.flipped(m.adjoint(work), (-2, -1))
        found = m.flipped(_substituted(op, work, m.flipped(m.conjugate(values))), (-2, -1))
    else:
        found = _substituted(op, work, values)
    found = m.matmul(basis, found)
    zero = m.scalar(0.0, form)
    real = op.Unsqueeze(op.Equal(values[1], zero), down) if len(form) == 1 else None
    if real is not None:
        found = found[0], op.Where(real, zero, found[1])
    length = op.ReduceL2(op.Concat(*found, axis=-2), down, keepdims=1)
    found = m.over(found, length)
    squares = m.square(found)
    place = op.ArgMax(squares, axis=-2, keepdims=1)
    largest = m.each("GatherElements", found, place, axis=-2)
    phase = m.over(m.conjugate(largest), op.Sqrt(op.GatherElements(squares, place, axis=-2)))
    if real is not None and size > 1:
        sign = op.Mul(largest[1], op.Unsqueeze(_sign(op, form, left), down))
        phase = m.where(op.Less(sign, zero), m.each("Neg", phase), phase)
    re, im = m.product(found, phase)
    im = op.Where(op.Equal(op.const([[row] for row in range(size)]), place), zero, im)
    if real is None:
        return re, im
    re, im = op.Where(real, found[0], re), op.Where(real, zero, im)
    if size == 1:
        return re, im
    second = op.Unsqueeze(op.Less(values[1], zero), down)
    before = op.const([max(column - 1, 0) for column in range(size)])
    return m.where(second, m.conjugate(m.at((re, im), before)), (re, im))


def _sign(op: Builder, form: Number, left: bool) -> Value:
    """LAPACK's choice between a vector and its negative, for the first of each pair: the other sign where this times
    the imaginary part of the largest element is negative."""
    below, above = beside(op, form, -2)[0], beside(op, form, -1)[0]
    steep = op.Less(op.Abs(above), op.Abs(below))
    one = Algebra(op).scalar(1.0, form)
    choice = (one, op.Neg(op.Sign(below))) if left else (op.Neg(op.Sign(below)), one)
    return _places(op, op.Where(steep, *choice))[0]


def _substituted(op: Builder, form: Number, values: Number) -> Number:
    """Right eigenvectors of triangular matrices with these eigenvalues instead of their diagonals, as columns.

    Where two eigenvalues are (almost) one they are taken a little apart, as LAPACK does; no element gets large.
    """
    m = Algebra(op)
    batch, size, _ = sizes(form)
    if size == 1:
        return m.unit((*batch, 1, 1), form)
    least = float(np.finfo((form[0].tensor.dtype or DType.FLOAT32).numpy).tiny) * size / epsilon(form)
    across, parts = m.row(values), len(form)

    def step(now: Pass) -> Made:
        op, m = now.op, Algebra(now.op)
        found, line, here = tuple(now.carried), m.row(tuple(now.parts[:parts])), tuple(now.parts[parts:])
        across = tuple(now.captured)
        zero, one = m.scalar(0.0, found), m.scalar(1.0, found)
        row = op.Sub(op.const(size - 1), now.number)
        apart = m.subtract(across, m.column(m.column(here)))
        bound = op.Max(op.Mul(m.weight(across), m.scalar(epsilon(found), found)), m.scalar(least, found))
        apart = m.where(op.Less(m.weight(apart), bound), m.real(op.Neg(bound), found), apart)
        behind = op.Greater(op.const(list(range(size))), row)
        fresh = m.where(behind, m.quotient(m.matmul(line, found), apart), (zero, zero))
        at_row = op.Equal(op.const([[place] for place in range(size)]), row)
        found = m.where(op.And(at_row, behind), fresh, found)
        return Made(m.over(found, op.Max(m.weight(fresh), one)))

    walk = [(part, Sliced(len(batch), -1, 0, -1)) for part in (*form, *values)]
    return tuple(repeat(op, size, step, m.unit((*batch, size, size), form), walk, captured=across, name="substitution"))
