"""Cholesky factors, a column after the other."""

from __future__ import annotations

from ..loop import Sliced, Stacked
from .iterate import Made, Pass, iterate
from .matrix import Matrix, where


def cholesky(a: Matrix, lower: bool) -> tuple[Matrix, Matrix]:
    """(the factor, zeros beside it; the pivots' roots). Behind a pivot that isn't positive nothing is left but NaN.

    Algorithm 4.2.1.

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
