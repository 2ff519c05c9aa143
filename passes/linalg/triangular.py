"""Systems with a triangular matrix, a row of the solution after the other."""

from __future__ import annotations

from ..loop import Sliced
from .iterate import Made, Pass, iterate
from .matrix import Matrix, where


def substituted(a: Matrix, b: Matrix, lower: bool, unit: bool) -> Matrix:
    """x of a x = b: each row of b, less what the rows before it make of it, over the diagonal (1 with `unit`).

    Algorithms 3.1.1 and 3.1.2.

    Args:
        a: (batch ..., n, n), of which one triangle counts.
        b: (batch ..., n, k).
    """
    batch, size, count = b.sizes
    if size == 1:
        return b if unit else b / a
    rows = Sliced(len(batch), *((0, -1, 1) if lower else (-1, 0, -1)))
    walk = [(x, rows) for x in (a.triangle(lower, -1 if lower else 1), b, *(() if unit else (a.diagonal(),)))]

    def step(now: Pass) -> Made:
        (found,), (line, right, *pivot) = now.state, now.parts
        rest = right.row() - line.row() @ found
        rest = rest if unit else rest / pivot[0].column().column()
        here = now.number if lower else size - 1 - now.number
        return Made([where(found.rows().equals(here), rest, found)])

    return iterate(a.op, size, step, [b.zeros(*batch, size, count)], walk, name="substitution")[0]


def solved(a: Matrix, b: Matrix, left: bool, lower: bool, unit: bool, transpose: str) -> Matrix:
    """x of op(a) x = b, or of x op(a) = b where not `left`; `transpose`: NO_TRANSPOSE, TRANSPOSE, ADJOINT."""
    if transpose == "ADJOINT":
        a = a.conj()
    if (transpose != "NO_TRANSPOSE") is left:  # x a = b is the system of a's transpose
        a, lower = a.T, not lower
    x = substituted(a, b if left else b.T, lower, unit)
    return x if left else x.T
