"""Schur forms: the Hessenberg form, then QR sweeps with shifts, the last block that isn't done yet first
(Golub and Van Loan, The Practical QR Algorithm).

A complex matrix is swept with one shift, and becomes triangular. A real one is swept with two shifts at a time, so that
it stays real, and keeps blocks of 2 on the diagonal for pairs of complex eigenvalues, [[a, b], [c, a]] with b c < 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..sizes import largest
from ..types import DType
from .factors import formed, hessenberg, reflected_left, reflected_right, reflector
from .iterate import Made, Pass, iterate
from .matrix import Matrix, complex_of, concat, where

_SWEEPS = 30  # for each eigenvalue, of 10 at least
_UNUSUAL = 10  # each so many sweeps without success the shifts are others


@dataclass(frozen=True, slots=True)
class _Window:
    """Rows `low` to `high` of each matrix, which are swept (none where high is 0), and the sweeps so far."""

    low: Matrix
    high: Matrix
    count: Matrix

    def stuck(self) -> Matrix:
        return (self.count % _UNUSUAL).equals(0)


@dataclass(frozen=True, slots=True)
class _Split:
    """How a block of 2 ends: split in two real eigenvalues, or its diagonal made `level`, both elements the mean."""

    split: Matrix
    level: Matrix
    mean: Matrix


_Start = tuple[list[Matrix], _Split | None]
"""The column whose reflection begins a sweep: its first elements; and what is exact after it, of blocks of 2."""


def schur(a: Matrix, vectors: bool = True) -> tuple[Matrix, Matrix | None, Matrix]:
    """(the Schur form; the unitary matrices that lead to it; int32 (batch ...): 0, or rows that weren't done).

    Args:
        a: (batch ..., n, n), n > 0, all finite.
        vectors: else the second result is None.
    """
    batch, size, _ = a.sizes
    if size == 1:
        return a, a.eye(*batch, 1, 1) if vectors else None, a.constant(np.int32(0)).zeros(*batch)
    a, scale = a.of_size_one()
    work, basis = _hessenberg(a, vectors)
    work, high = _deflated(work)

    def step(now: Pass) -> Made:
        work, *basis, high, count = now.state
        indices = work.columns()
        first = work.constant(False).full(True, *batch, 1)
        begins = concat([first, work.subdiagonal().is_zero()], -1)
        low = where(begins & (indices <= high), indices, 0).max(-1)
        window = _Window(low, high, count + 1)
        elements, split = (_single_shift if work.is_complex else _double_shift)(work, window)
        work, *basis = _swept([work, *basis], window, elements)
        if split is not None:
            work, *basis = _exact([work, *basis], window, split, elements[0])
        work, left = _deflated(work)
        count = where(left.equals(high), window.count, 0)
        return Made([work, *basis, left, count], go_on=(left > 0).any())

    state = [work, *basis, high, a.constant(0).zeros(*batch, 1)]
    work, *basis, left, _ = iterate(a.op, _SWEEPS * largest(10, size), step, state, name="sweeps")
    left = left.squeeze(-1)
    left = where(left.equals(0), left, left + 1)
    return work * scale, basis[0] if basis else None, left.cast(DType.INT32)


def _hessenberg(a: Matrix, vectors: bool) -> tuple[Matrix, list[Matrix]]:
    """The Hessenberg form, and the unitary matrices that lead to it."""
    _, size, _ = a.sizes
    packed, tau = hessenberg(a)
    work = packed.triangle(lower=False, shift=-1)
    if not vectors:
        return work, []
    below = packed.slice(1, size, -2).slice(0, size - 1)
    basis = formed(below, tau).pad([1, 1, 0, 0], [-2, -1])
    return work, [where((basis.rows() + basis.columns()).equals(0), 1, basis)]


# elements ----------------------------------------------------------------------------------------


def _neighbours(x: Matrix) -> Matrix:
    """The sum of the elements before and behind each one."""
    *batch, count = x.shape
    zero = x.zeros(*batch, 1)
    return concat([zero, x], -1).slice(0, count) + concat([x, zero], -1).slice(1, count + 1)


def _picked(x: Matrix, row: Matrix, offsets: list[int]) -> list[Matrix]:
    """Elements (batch ..., 1) at so many positions from the diagonal's in `row`; any element where there is no such."""
    batch, size, _ = x.sizes
    indices = (row * (size + 1) + x.constant(offsets)).maximum(0).minimum(size * size - 1)
    return x.reshape(*batch, size * size).take(indices, -1).split([1] * len(offsets), -1)


def _deflated(x: Matrix) -> tuple[Matrix, Matrix]:
    """Small elements below the diagonal are 0 now; and the last row that isn't done (batch ..., 1), 0 where all are.

    What is small is what LAPACK calls so: by the elements around it, and by Ahues' and Tisseur's criterion.
    """
    batch, size, _ = x.sizes
    middle, below, above = x.diagonal(), x.subdiagonal(), x.superdiagonal()
    first, second = middle.slice(0, size - 1), middle.slice(1, size)
    c, b, d, apart = (part.abs1() for part in (below, above, second, first - second))
    around = first.abs1() + d
    around = where(around.equals(0), _neighbours(c), around)
    large, larger = d.maximum(apart), c.maximum(b)
    total = (large + larger).or_one()
    product = c.minimum(b) * (larger / total)
    bound = (d.minimum(apart) * (large / total) * x.epsilon).maximum(x.tiny)
    small = (c <= around * x.epsilon) & (product <= bound)
    small = (c <= x.tiny) | small
    undone = ~small
    if not x.is_complex:  # a block of 2 with complex eigenvalues stays
        alone = _neighbours(where(small, 0, c)).equals(0)
        turning = below.sign() * above.sign() < 0
        undone = undone & ~(alone & turning & first.equals(second))
    first = x.constant(False).zeros(*batch, 1)
    small, undone = (concat([first, rows], -1) for rows in (small, undone))
    return where(small.column() & x.on_diagonal(-1), 0, x), where(undone, x.columns(), 0).max(-1)


# sweeps ------------------------------------------------------------------------------------------


def _swept(matrices: Sequence[Matrix], window: _Window, elements: list[Matrix]) -> list[Matrix]:
    """One sweep of the work, and of its basis: a reflection that begins it, and those that bring the Hessenberg form
    back."""
    work = matrices[0]
    _, size, _ = work.sizes
    offset = work.columns() - window.low
    first = work.zeros(1)
    for index, element in enumerate(elements):
        first = where(offset.equals(index), element, first)
    first = where(window.high > 0, first, 0).column()

    def step(now: Pass) -> Made:
        (work, *basis), (first, low, high), k = now.state, now.captured, now.number
        before = k - 1
        column = where((low < k) & (k < high), work.at(before.maximum(0)), 0)
        v, tau, _ = reflector(where(low.equals(k), first, column), k)
        work, *basis = (reflected_right(x, v, tau) for x in (reflected_left(work, v, tau.conj()), *basis))
        return Made([where(work.columns().equals(before) & (work.rows() > k), 0, work), *basis])

    captured = [first, window.low.column(), window.high.column()]
    return iterate(work.op, size - 1, step, matrices, captured=captured, name="sweep")


def _single_shift(work: Matrix, window: _Window) -> _Start:
    """With Wilkinson's shift: the eigenvalue of the last block of 2 that is nearer to the last element."""
    _, size, _ = work.sizes
    last, left, above, corner = _picked(work, window.high, [0, -1, -size, -size - 1])
    largest = last.abs1().maximum(left.abs1()).maximum(above.abs1().maximum(corner.abs1())).or_one()
    d, c, b, a = (part / largest for part in (last, left, above, corner))
    half, around = (a - d) * 0.5, b * c
    root = _root(half * half + around)
    divisor = half + where((half * root.conj()) < 0, -root, root)
    shift = (d - around / where(divisor.is_zero(), 1, divisor)) * largest
    shift = where(window.stuck(), last + left.abs1() * 0.75, shift)
    first, below = _picked(work, window.low, [0, size])
    return [first - shift, below], None


def _root(z: Matrix) -> Matrix:
    """A square root of complex numbers of a size near 1."""
    large = ((z.abs2().sqrt() + z.real.abs()) * 0.5).sqrt()
    small = z.imag * 0.5 / large.or_one()
    return where(z < 0, complex_of(small, large), complex_of(large, small))


def _double_shift(work: Matrix, window: _Window) -> _Start:
    """With both eigenvalues of the last block of 2, or twice the nearer one where they are real (Francis)."""
    _, size, _ = work.sizes
    d, c, b, a, e = _picked(work, window.high, [0, -1, -size, -size - 1, -size - 2])
    pair, ends = _pair(a, b, c, d)
    two = (window.high - window.low).equals(1)

    stuck, beyond = window.stuck(), c.abs() + e.abs()
    corner = beyond * 0.75 + d
    a, b, c, d = (where(stuck, x, y) for x, y in ((corner, a), (beyond * -0.4375, b), (beyond, c), (corner, d)))
    total = (a.abs() + b.abs() + (c.abs() + d.abs())).or_one()
    a, b, c, d = (part / total for part in (a, b, c, d))
    mean = (a + d) * 0.5
    determinant = (a - mean) * (d - mean) - b * c
    root = determinant.abs().sqrt()
    real = determinant < 0
    re = where(real, where(mean < d, mean + root, mean - root), mean) * total
    im = where(real, 0, root) * total

    a, b, c, d, e = _picked(work, window.low, [0, 1, size, size + 1, 2 * size + 1])
    a = a - re
    total = (a.abs() + im.abs() + c.abs()).or_one()
    c = c / total
    x = c * b + a * (a / total) + im * (im / total)
    y = c * (a + d - re)
    elements = [where(two, pair[0], x), where(two, pair[1], y), where(two, 0, c * e)]
    return elements, _Split(two & ends.split, two & ends.level, ends.mean)


def _pair(a: Matrix, b: Matrix, c: Matrix, d: Matrix) -> tuple[list[Matrix], _Split]:
    """What splits a block [[a, b], [c, d]] with real eigenvalues; else what makes its diagonal elements equal.

    Where the eigenvalues are almost equal the diagonal is made equal first; the signs of b and c decide then.
    """
    apart, mean = a * 0.5 - d * 0.5, a * 0.5 + d * 0.5
    scale = apart.abs().maximum(b.abs().maximum(c.abs())).or_one()
    p, b, c = (part / scale for part in (apart, b, c))
    around = b.abs().maximum(c.abs()) * b.abs().minimum(c.abs())
    signs = b.sign() * c.sign()
    inside = p * p + around * signs
    even = p.equals(0)
    split = (~even & (inside >= 4 * a.epsilon)) | (even & (signs >= 0))
    root = inside.maximum(0).sqrt()
    eigen = p + where(p < 0, -root, root)

    total = b + c
    length = (total * total + (p + p) * (p + p)).sqrt().or_one()
    cosine = ((total.abs() / length + 1) * 0.5).sqrt()
    sine = -(p / (length * cosine))
    sine = where(total < 0, -sine, sine)
    return [where(split, eigen, cosine), where(split, c, sine)], _Split(split, ~split, mean)


def _exact(matrices: Sequence[Matrix], window: _Window, ends: _Split, first: Matrix) -> list[Matrix]:
    """What is exact after the sweep of a block of 2: 0 below the diagonal, or an even diagonal.

    Signs are those of a rotation there, as LAPACK has it, not of a reflection.
    """
    work, *basis = matrices
    parts = window.low, window.high, ends.split, ends.level, ends.mean, first
    low, high, split, level, mean, first = (part.column() for part in parts)
    at_low, at_high = (work.rows().equals(row) for row in (low, high))
    below = work.on_diagonal(-1) & at_high
    middle = work.on_diagonal() & (at_high | at_low)
    work = where(middle & level, mean, where(below & split, 0, work))
    turned = (split | level) & ((at_low & (first >= 0)) | (at_high & (first < 0)))
    signs = where(turned, -work.like(1), 1)
    return [work * signs * signs.T, *(x * signs.T for x in basis)]
