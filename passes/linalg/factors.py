"""Factors of matrices as LAPACK leaves them: elimination, Cholesky, Householder reflections and QR."""

from __future__ import annotations

from ..loop import Sliced, Stacked
from ..sizes import smallest
from ..types import DType
from .iterate import Made, Pass, iterate
from .matrix import Matrix, concat, where


def lu(a: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """(both factors in one matrix; the pivots' rows from 1; the number of the first pivot that is 0, or 0).

    The outer product LU with partial pivoting (Golub and Van Loan, Pivoting), of any numbers of rows and columns but 0.
    """
    batch, rows, columns = a.sizes

    def step(now: Pass) -> Made:
        (work,), k = now.state, now.number
        i, j = work.rows(), work.columns()
        indices = i.squeeze(-1)
        best = where(indices < k, -1, work.at(k).abs1().squeeze(-1)).argmax(-1)
        work = work.take(swapped(indices, k, best).column().broadcast_to(*batch, rows, columns), -2)
        column, line = work.at(k), work.at(k, -2)
        pivot = column.at(k, -2)
        zero = pivot.is_zero()
        factors = where(i > k, where(zero, column, column / pivot), 0)
        work = where(j.equals(k) & (i > k), factors, work - factors * where(j > k, line, 0))
        return Made([work], [(best + 1).squeeze(-1), zero.squeeze(-2, -1)])

    found, pivots, zeros = iterate(
        a.op, smallest(rows, columns), step, [a], stacked=Stacked(len(batch)), name="elimination"
    )
    return found, pivots.cast(DType.INT32), zeros.first_true()


def swapped(indices: Matrix, k: Matrix, best: Matrix) -> Matrix:
    """Numbers with k and `best` changed over."""
    return where(indices.equals(k), best, where(indices.equals(best), k, indices))


def cholesky(a: Matrix, lower: bool) -> tuple[Matrix, Matrix]:
    """(the factor, zeros beside it; the pivots' roots). Behind a pivot that isn't positive nothing is left but NaN.

    The gaxpy Cholesky factorization (Golub and Van Loan, Positive Definite Systems).

    Args:
        a: (batch ..., n, n), n > 0, of which one triangle counts, and the real part of the diagonal.
    """
    if not lower:
        found, roots = cholesky(a.H, lower=True)
        return found.H, roots
    batch, size, _ = a.sizes
    if size == 1:
        root = a.real.sqrt()
        return root.with_imag() if a.is_complex else root, root.squeeze(-1)

    def step(now: Pass) -> Made:
        (left,), (column,), j = now.state, now.parts, now.number
        rest = column.column() - left @ left.at(j, -2).H
        root = rest.real.at(j, -2).sqrt()
        rows, fresh = left.rows(), rest / root
        fresh = where(rows > j, fresh, where(rows.equals(j), fresh.real, 0))  # the diagonal is real
        return Made([where(left.columns().equals(j), fresh, left)], [root.squeeze(-2, -1)])

    walk = [(a, Sliced(len(batch) + 1))]
    start = a.zeros(*batch, size, size)
    found, roots = iterate(a.op, size, step, [start], walk, stacked=Stacked(len(batch)), name="cholesky")
    return found, roots


def reflector(column: Matrix, index: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """(v, tau, beta) of the reflection that leaves beta, a real number, of a column's elements from `index` on.

    The Householder vector (Golub and Van Loan, Householder and Givens Transformations), scaled so that squares of small
    numbers aren't lost.

    Args:
        column: (batch ..., size, 1).
        index: int64 [1].

    Returns:
        v: (batch ..., size, 1), 0 before `index` and 1 there; tau and beta: (batch ..., 1, 1). Where nothing is to be
            done tau is 0, and beta the element that stands there.
    """
    rows = column.rows()
    column = where(rows < index, 0, column)
    size = column.abs1().max(-2)
    column = column / size.or_one()
    alpha, tail = column.at(index, -2), where(rows > index, column, 0)
    beside = concat([*tail.real_parts(), *alpha.real_parts()[1:]], -2)
    done = beside.abs().sum(-2).equals(0)
    length = concat([alpha.real, beside], -2).norm(-2)
    beta = where(alpha < 0, length, -length)
    tau = where(done, 0, (beta - alpha) / beta)
    v = where(rows.equals(index), 1, tail * (1 / where(done, 1, alpha - beta)))
    return v, tau, where(done, alpha.real, beta) * size


def reflected_left(x: Matrix, v: Matrix, tau: Matrix) -> Matrix:
    """The reflection times x."""
    return x - v * (tau * (v.H @ x))


def reflected_right(x: Matrix, v: Matrix, tau: Matrix) -> Matrix:
    """x times the reflection."""
    return x - tau * (x @ v) * v.H


def _reduced_column(work: Matrix, k: Matrix, index: Matrix, both_sides: bool = False) -> tuple[Matrix, Matrix]:
    """Column k reduced by a reflection from `index` on: beta there, v below; the columns behind it reflected.

    With `both_sides` the reflection comes from the right as well. The second result is tau (batch ...).
    """
    rows, columns, column = work.rows(), work.columns(), work.at(k)
    v, tau, beta = reflector(column, index)
    work = work - v * where(columns > k, tau.conj() * (v.H @ work), 0)
    if both_sides:
        work = reflected_right(work, v, tau)
    fresh = where(rows < index, column, where(rows.equals(index), beta, v))
    return where(columns.equals(k), fresh, work), tau.squeeze(-2, -1)


def qr(a: Matrix) -> tuple[Matrix, Matrix]:
    """geqrf, Householder QR: (R and the vectors v below it, tau). `a`: (batch ..., rows, columns), neither 0."""
    batch, rows, columns = a.sizes

    def step(now: Pass) -> Made:
        work, tau = _reduced_column(now.state[0], now.number, now.number)
        return Made([work], [tau])

    found, tau = iterate(a.op, smallest(rows, columns), step, [a], stacked=Stacked(len(batch)), name="qr")
    return found, tau


def qr_with_pivots(a: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """geqp3: the same of the columns in another order, the longest rest first; (R and v, columns from 1, tau).

    Householder QR with column pivoting; the lengths are computed anew each time.
    """
    batch, rows, columns = a.sizes

    def step(now: Pass) -> Made:
        (work, order), k = now.state, now.number
        lengths = where(work.rows() < k, 0, work).norm(-2).squeeze(-2)
        indices = work.columns()
        best = where(indices < k, -1, lengths).argmax(-1)
        swap = swapped(indices, k, best)
        work, tau = _reduced_column(work.take(swap.row().broadcast_to(*batch, rows, columns), -1), k, k)
        return Made([work, order.take(swap, -1)], [tau])

    first = (a.columns() + 1).broadcast_to(*batch, columns)
    kept = Stacked(len(batch))
    found, order, tau = iterate(a.op, smallest(rows, columns), step, [a, first], stacked=kept, name="qr")
    return found, order.cast(DType.INT32), tau


def hessenberg(a: Matrix) -> tuple[Matrix, Matrix]:
    """gehrd: (the Hessenberg form, the Householder vectors v below it; tau). `a`: (batch ..., n, n), n > 1."""
    batch, size, _ = a.sizes

    def step(now: Pass) -> Made:
        work, tau = _reduced_column(now.state[0], now.number, now.number + 1, both_sides=True)
        return Made([work], [tau])

    found, tau = iterate(a.op, size - 1, step, [a], stacked=Stacked(len(batch)), name="hessenberg")
    return found, tau


def formed(a: Matrix, tau: Matrix) -> Matrix:
    """orgqr: the first columns of the product of the reflections whose vectors stand below the diagonal of `a`.

    Args:
        a: (batch ..., rows, columns), rows >= columns.
        tau: (batch ..., count), count <= columns.
    """
    return applied(a, tau, a.eye(*a.shape), left=True, adjoint=False)


def applied(a: Matrix, tau: Matrix, c: Matrix, left: bool, adjoint: bool) -> Matrix:
    """ormqr: Q c, c Q, or the same with the adjoint of Q, the product of the reflections below the diagonal of `a`.

    Args:
        a: (batch ..., rows, count), tau: (batch ..., count).
        c: (batch ..., rows, n), or (batch ..., n, rows) where Q stands behind it.
    """
    *_, count = tau.shape
    if not count:
        return c
    if not left:
        return applied(a, tau, c.H, True, not adjoint).H
    batch, _, _ = a.sizes
    vectors = (a.triangle(lower=True, shift=-1) + a.real.eye(*a.shape)).slice(0, count)
    start, end, stride = (0, -1, 1) if adjoint else (-1, 0, -1)  # the last reflection first; their adjoints in order
    tau = tau.conj() if adjoint else tau
    walk = [(vectors, Sliced(len(batch) + 1, start, end, stride)), (tau, Sliced(len(batch), start, end, stride))]

    def step(now: Pass) -> Made:
        v, factor = now.parts[0].column(), now.parts[1].column().column()
        return Made([reflected_left(now.state[0], v, factor)])

    return iterate(a.op, count, step, [c], walk, name="reflections")[0]
