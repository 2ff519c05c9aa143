"""Systems with a triangular or a tridiagonal matrix."""

from __future__ import annotations

from dataclasses import dataclass

from ..loop import Sliced, Stacked
from .iterate import Made, Pass, iterate
from .matrix import Matrix, concat, where


def substituted(a: Matrix, b: Matrix, lower: bool, unit: bool) -> Matrix:
    """x of a x = b: each row of b, less what the rows before it make of it, over the diagonal (1 with `unit`).

    Forward and back substitution by rows (Golub and Van Loan, Triangular Systems).

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
        here = now.number if lower else now.number.like(size - 1) - now.number
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


@dataclass(frozen=True, slots=True)
class Tridiagonal:
    """The factor U by its second superdiagonal, diagonal and superdiagonal; the solution; LAPACK's info."""

    second: Matrix
    diagonal: Matrix
    beside: Matrix
    solution: Matrix
    info: Matrix


def _down(now: Pass) -> Made:
    """One row less: of this row (0, d, u) and the next one (l, d', u') the one with the larger first element stays as a
    row of the factor; the other, less a multiple of it, is the next pass's row."""
    d, u, b = now.state
    lower, d_next, u_next, b_next = now.parts
    swap = d.abs1() < lower.abs1()
    zero = d.is_zero() & ~swap
    pivot, other = where(swap, lower, d), where(swap, d, lower)
    factor = where(zero, 0, other / pivot)
    beside, rest = where(swap, d_next, u), where(swap, u, d_next)
    second, tail = where(swap, u_next, 0), where(swap, 0, u_next)
    wide = swap.column()
    above, below = where(wide, b_next, b), where(wide, b, b_next)
    left = [rest - factor * beside, tail - factor * second, below - factor.column() * above]
    return Made(left, [pivot, beside, second, above, zero])


def _up(now: Pass) -> Made:
    """One row of the solution, from the two below it."""
    near, far = now.state
    d, u, second, b = now.parts
    x = (b - u.column() * near - second.column() * far) / d.column()
    return Made([x, near], [x])


def tridiagonal_solved(lower: Matrix, middle: Matrix, upper: Matrix, right: Matrix) -> Tridiagonal:
    """gtsv.

    Args:
        lower, middle, upper: (batch ..., n); the first element of `lower` and the last one of `upper` don't count.
        right: (batch ..., n, columns).
    """
    op, (batch, size, columns) = right.op, right.sizes
    axis, zero = len(batch), right.constant(0)
    first = [x.at(zero, axis) for x in (middle, upper, right)]
    used = concat([upper.slice(0, size - 1, axis), right.zeros(*batch, 1)], axis)  # 0 times the last one may be NaN
    walk = [(x, Sliced(axis, 1)) for x in (lower, middle, used, right)]
    d, _, b, *made = iterate(op, size - 1, _down, first, walk, stacked=Stacked(axis), name="elimination")
    pivots, beside, second, _, zeros = made
    last = b / d.column()
    back = [(x, Sliced(axis, -1, 0, -1)) for x in made[:4]]
    start = [last, right.zeros(*batch, columns)]
    *_, rows = iterate(op, size - 1, _up, start, back, stacked=Stacked(axis, reverse=True), name="rows")
    pivot = d.unsqueeze(axis)
    shifted = concat([lower.slice(0, 1, axis), second], axis)
    return Tridiagonal(
        where(lower.columns().equals(size - 1), lower, shifted),
        concat([pivots, pivot], axis),
        concat([beside, upper.slice(size - 1, size, axis)], axis),
        concat([rows, last.unsqueeze(axis)], axis),
        concat([zeros, pivot.is_zero()], axis).first_true(),
    )
