"""Elimination with partial pivoting, as LAPACK's getrf leaves it."""

from __future__ import annotations

from ..loop import Stacked
from ..types import DType
from .iterate import Made, Pass, iterate
from .matrix import Matrix, where


def lu(a: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """(both factors in one matrix; the pivots' rows from 1; the number of the first pivot that is 0, or 0).

    Algorithm 3.4.1, of matrices with any numbers of rows and columns but 0.
    """
    batch, rows, columns = a.sizes

    def step(now: Pass) -> Made:
        (work,), k = now.state, now.number
        i, j = work.rows(), work.columns()
        places = i.squeeze(-1)
        best = where(places < k, -1, work.at(k).abs1().squeeze(-1)).argmax(-1)
        work = work.take(swapped(places, k, best).column().broadcast_to(*batch, rows, columns), -2)
        column, line = work.at(k), work.at(k, -2)
        pivot = column.at(k, -2)
        zero = pivot.is_zero()
        factors = where(i > k, where(zero, column, column / pivot), 0)
        work = where(j.equals(k) & (i > k), factors, work - factors * where(j > k, line, 0))
        return Made([work], [(best + 1).squeeze(-1), zero.squeeze(-2, -1)])

    found, pivots, zeros = iterate(a.op, min(rows, columns), step, [a], stacked=Stacked(len(batch)), name="elimination")
    return found, pivots.cast(DType.INT32), zeros.first_true()


def swapped(places: Matrix, k: Matrix, best: Matrix) -> Matrix:
    """Numbers with k and `best` changed over."""
    return where(places.equals(k), best, where(places.equals(best), k, places))
