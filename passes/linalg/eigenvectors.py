"""Eigenvalues and eigenvectors from the Schur form, and balancing before they are sought."""

from __future__ import annotations

import math

from ..loop import Sliced
from ..types import DType
from .iterate import Made, Pass, iterate
from .matrix import Matrix, complex_of, concat, where

_ROUNDS = 20
_WORTH = 0.95  # of what a row and a column have together


def balanced(a: Matrix) -> tuple[Matrix, Matrix]:
    """(d^-1 a d; the diagonals d, powers of 2, as columns (batch ..., n, 1)): the scaling of LAPACK's gebal.

    Column and row are taken in turn, until none can be made smaller. No digit is lost.
    """
    batch, size, _ = a.sizes
    ones = a.real.full(1, *batch, size, 1)
    if size == 1:
        return a, ones
    a, scale = a.of_size_one()
    most = 2.0 ** (60 if a.dtype is DType.FLOAT32 else 500)

    def step(now: Pass) -> Made:
        work, scales, quiet = now.state
        index = now.number % size
        column, row = (work.at(index, axis).abs1().sum(-2, -1) for axis in (-1, -2))
        known = (column > 0) & (row > 0)
        apart = where(known, row, 1).log() - where(known, column, 1).log()
        factor = (apart * (0.5 / math.log(2))).round().power_of_2()
        fresh = scales.at(index, -2) * factor
        known = known & (fresh.maximum(1 / fresh) <= most)
        known = known & (column * factor + row / factor < (column + row) * _WORTH)
        factors = where(work.rows().equals(index) & known, factor, 1)
        quiet = where(known.any(), 0, quiet + 1)
        return Made([work * factors.T / factors, scales * factors, quiet], go_on=quiet < size)

    made, scales, _ = iterate(a.op, _ROUNDS * size, step, [a, ones, a.constant(0)], name="balance")
    return made * scale, scales


def eigenvalues(form: Matrix) -> Matrix:
    """Complex numbers in the order of the diagonal; of a real form: conjugate pairs, the positive imaginary part
    first."""
    middle = form.diagonal()
    if form.is_complex:
        return middle
    if form.sizes[1] == 1:
        return middle.with_imag()
    below, above = form.subdiagonal(), form.superdiagonal()
    first, second = _for_both(where(below.equals(0), 0, below.abs().sqrt() * above.abs().sqrt()))
    return complex_of(middle, first - second)


def _for_both(x: Matrix) -> tuple[Matrix, Matrix]:
    """What belongs to two neighbours (batch ..., n - 1), for the first and for the second one: (batch ..., n) each."""
    zero = x.zeros(*x.shape[:-1], 1)
    return concat([x, zero], -1), concat([zero, x], -1)


def _triangular(form: Matrix, basis: Matrix) -> tuple[Matrix, Matrix]:
    """The complex Schur form, but for its diagonal, and its basis: blocks of 2 are made triangular, all at once.

    The eigenvectors of [[a, b], [c, a]] with b c < 0 are (i sqrt |b|, sign(c) sqrt |c|) and its conjugate; with
    the parts of the second one changed over they are the columns of a unitary matrix.
    """
    if form.is_complex:
        return form, basis
    size = form.sizes[1]
    if size == 1:
        return form.with_imag(), basis.with_imag()
    below, above = form.subdiagonal(), form.superdiagonal()
    pair = ~below.equals(0)
    total = where(pair, below.abs() + above.abs(), 1)
    weight = where(pair, (above.abs() / total).sqrt(), 0)
    other = below.sign() * (below.abs() / total).sqrt()
    paired, weights = (first + second for first, second in map(_for_both, (where(pair, form.like(1), 0), weight)))
    first, second = (x.column() for x in _for_both(other))
    on, over, under = map(form.on_diagonal, (0, 1, -1))
    real = where(on, (1 - paired).column(), where(over, first, where(under, second, 0)))
    turn = complex_of(real, where(on, weights.column(), 0))
    return turn.H @ (form @ turn), basis @ turn


def eigenvectors(form: Matrix, basis: Matrix, values: Matrix, left: bool) -> Matrix:
    """Columns of length 1, complex, the largest element of each real, in the order of the eigenvalues.

    Those of real eigenvalues of a real matrix are real, those of a conjugate pair are conjugate.

    Args:
        form: the Schur form, real or complex.
        values: what `eigenvalues` makes of it.
        left: vectors u with u^H a = lambda u^H; else v with a v = lambda v.
    """
    size = form.sizes[1]
    work, basis = _triangular(form, basis)
    if left:
        found = _substituted(work.H.flip(-2, -1), values.conj().flip(-1)).flip(-2, -1)
    else:
        found = _substituted(work, values)
    found = basis @ found
    real = None if form.is_complex else values.imag.equals(0).row()
    if real is not None:
        found = where(real, found.real, found)
    found = found / found.norm(-2)
    squares = found.abs2()
    index = squares.argmax(-2)
    largest = found.take(index, -2)
    phase = largest.conj() / squares.take(index, -2).sqrt()
    if real is not None and size != 1:
        phase = where(largest.imag * _sign(form, left).row() < 0, -phase, phase)
    turned = found * phase
    turned = where(form.rows().equals(index), turned.real, turned)
    if real is None:
        return turned
    turned = where(real, found.real, turned)
    if size == 1:
        return turned
    before = turned.at((form.columns() - 1).maximum(0))
    return where((values.imag < 0).row(), before.conj(), turned)


def _sign(form: Matrix, left: bool) -> Matrix:
    """LAPACK's choice between a vector and its negative, for the first of each pair: the other sign where this times
    the imaginary part of the largest element is negative."""
    below, above = form.subdiagonal(), form.superdiagonal()
    choice = (1, -below.sign()) if left else (-below.sign(), 1)
    return _for_both(where(above.abs() < below.abs(), *choice))[0]


def _substituted(form: Matrix, values: Matrix) -> Matrix:
    """Right eigenvectors of triangular matrices with these eigenvalues instead of their diagonals, as columns.

    Where two eigenvalues are (almost) one they are taken a little apart, as LAPACK does; no element gets large.
    """
    batch, size, _ = form.sizes
    if size == 1:
        return form.eye(*batch, 1, 1)

    def step(now: Pass) -> Made:
        (found,), (line, here), (across,) = now.state, now.parts, now.captured
        row = now.number.like(size - 1) - now.number
        apart = across - here.column().column()
        bound = (across.abs1() * found.epsilon).maximum(found.tiny)
        apart = where(apart.abs1() < bound, -bound, apart)
        behind = found.columns() > row
        fresh = where(behind, line.row() @ found / apart, 0)
        found = where(found.rows().equals(row) & behind, fresh, found)
        return Made([found / fresh.abs1().maximum(1)])

    walk = [(x, Sliced(len(batch), -1, 0, -1)) for x in (form, values)]
    return iterate(form.op, size, step, [form.eye(*batch, size, size)], walk, [values.row()], name="substitution")[0]
