"""Eigenvalues and singular values by Jacobi's rotations (Golub and Van Loan, Jacobi Methods), half of all columns
against the other half in each round.

The columns are dealt anew between rounds as in a tournament, so that each meets each other one in a sweep of n - 1
rounds. Rounds go on until a whole sweep found nothing to rotate.
"""

from __future__ import annotations

from ..sizes import is_below, smallest
from .factors import formed, qr
from .iterate import Made, Pass, iterate
from .matrix import Matrix, concat, where

_MOST_SWEEPS = 30


def _round_robin(x: Matrix, size: int) -> Matrix:
    """The columns' next positions: the first stays, the others go round."""
    half, place = size // 2, x.count(size)
    onwards = where(place < half, place - 1, where(place < size - 1, place + 1, half - 1))
    return where(place.equals(0), 0, where(place.equals(1), half, onwards))


def _rotation(p: Matrix, q: Matrix, between: Matrix) -> tuple[Matrix, Matrix]:
    """(cosine, sine with its phase) that make [[p, between], [conj between, q]] diagonal; 1 and 0 where it is.

    The symmetric 2-by-2 Schur decomposition (Golub and Van Loan, Jacobi Methods).
    """
    size = between.abs2().sqrt() if between.is_complex else between
    done = size.equals(0)
    divisor = where(done, 1, size)
    ratio = (q - p) * 0.5 / divisor
    tangent = where(ratio < 0, -ratio.like(1), 1) / (ratio.abs() + (ratio * ratio + 1).sqrt())
    tangent = where(done, 0, tangent)
    cosine = 1 / (tangent * tangent + 1).sqrt()
    sine = tangent * cosine
    return cosine, between / divisor * sine if between.is_complex else sine


def _turned(x: Matrix, cosine: Matrix, sine: Matrix, axis: int) -> Matrix:
    """The first half along `axis` less the second turned in, and the other way round; then dealt anew."""
    size = x.shape[axis]
    first, second = x.split([size // 2] * 2, axis)
    turned = [first * cosine - sine.conj() * second, sine * first + second * cosine]
    return concat(turned, axis).at(_round_robin(x, size), axis)


def _rounds_left(quiet: Matrix, turned: Matrix, size: int) -> tuple[Matrix, Matrix]:
    """(how many rounds there was nothing to rotate, whether to go on)."""
    quiet = where(turned.any(), 0, quiet + 1)
    return quiet, quiet < size - 1


def _even(x: Matrix, axes: tuple[int, ...], corner: Matrix | None = None) -> Matrix:
    """One row, column more where their number is odd: zeros, and `corner` at their end."""
    size = x.shape[axes[-1]]
    odd = size % 2
    if odd == 0:
        return x
    x = x.pad([0] * len(axes) + [odd] * len(axes), axes)
    return x if corner is None else where((x.rows() >= size) & (x.columns() >= size), corner, x)


def _sorted(keys: Matrix, count: int, largest: bool, columns: Matrix) -> tuple[Matrix, Matrix]:
    """The first `count` keys in order, and the columns that belong to them."""
    values, order = keys.sorted(count, largest)
    batch, rows, _ = columns.sizes
    return values, columns.take(order.row().broadcast_to(*batch, rows, count), -1)


def eigen(a: Matrix, lower: bool) -> tuple[Matrix, Matrix]:
    """(eigenvalues in ascending order, eigenvectors as columns) of Hermitian matrices.

    Args:
        a: (batch ..., n, n), n > 0, of which one triangle counts, and the real part of the diagonal.
    """
    batch, size, _ = a.sizes
    a = a.hermitian(lower)
    if size == 1:
        return a.real.squeeze(-1), a.eye(*batch, 1, 1)
    a, scale = a.of_size_one()
    a = _even(a, (-2, -1), a.real.like(size) * 4)  # which is more than any eigenvalue
    even, least = size + size % 2, a.epsilon / 2
    half = even // 2

    def step(now: Pass) -> Made:
        work, vectors, quiet = now.state
        flat = work.reshape(*batch, even * even)

        def picked(start: int) -> Matrix:
            """Every element a row and a column further on, from `start`."""
            return flat.every(even + 1, start, half)

        between = picked(half)
        cosine, sine = _rotation(picked(0).real, picked(half * (even + 1)).real, between)
        work, vectors = (_turned(x, cosine.row(), sine.row(), -1) for x in (work, vectors))
        work = _turned(work, cosine.column(), sine.column().conj(), -2)
        quiet, more = _rounds_left(quiet, between.abs1() > least, even)
        return Made([work, vectors, quiet], go_on=more)

    state = [a, a.eye(*batch, size, even), a.constant(0)]
    found, vectors, _ = iterate(a.op, _MOST_SWEEPS * (even - 1), step, state, name="rotations")
    values, vectors = _sorted(found.real.diagonal(), size, False, vectors)
    return values * scale.squeeze(-1), vectors


def singular(a: Matrix, full: bool, vectors: bool = True) -> tuple[Matrix, Matrix | None, Matrix | None]:
    """(singular values in descending order, U, V^H). `full`: U and V are square.

    Args:
        a: (batch ..., rows, columns), neither 0.
        vectors: else U and V^H are None.
    """
    _, rows, columns = a.sizes
    if is_below(rows, columns):
        values, u, v = singular(a.H, full, vectors)
        return values, None if v is None else v.H, None if u is None else u.H
    a, scale = a.of_size_one()
    g, v = _orthogonal(a)
    lengths = g.norm(-2).squeeze(-2)
    if columns != 1 and columns % 2:  # what was added comes last, even among columns of zeros
        lengths = where(v.abs2().sum(-2).squeeze(-2).equals(0), -1, lengths)
    lengths, ordered = _sorted(lengths, columns, True, concat([g, v], -2))
    count = smallest(rows, columns)
    values = lengths.slice(0, count) * scale.squeeze(-1)
    if not vectors:
        return values, None, None
    g, v = ordered.split([rows, columns], -2)
    return values, _completed(g.slice(0, count), full), (v if full else v.slice(0, count)).H


def _orthogonal(g: Matrix) -> tuple[Matrix, Matrix]:
    """(g V with orthogonal columns, V); a column of zeros more where their number is odd."""
    batch, rows, columns = g.sizes
    if columns == 1:
        return g, g.eye(*batch, 1, 1)
    g = _even(g, (-1,))
    even = columns + columns % 2

    def step(now: Pass) -> Made:
        g, v, quiet = now.state
        first, second = g.split([even // 2] * 2, -1)
        p, q = (half.abs2().sum(-2) for half in (first, second))
        between = (first.conj() * second).sum(-2)
        cosine, sine = _rotation(p, q, between)
        least = g.real.like(rows).sqrt() * g.epsilon
        quiet, more = _rounds_left(quiet, between.abs1() > p.sqrt() * q.sqrt() * least, even)
        return Made([_turned(g, cosine, sine, -1), _turned(v, cosine, sine, -1), quiet], go_on=more)

    state = [g, g.eye(*batch, columns, even), g.constant(0)]
    g, v, _ = iterate(g.op, _MOST_SWEEPS * (even - 1), step, state, name="rotations")
    return g, v


def _completed(g: Matrix, full: bool) -> Matrix:
    """Unit vectors along orthogonal columns in descending order of length, others where a column is 0; `full`: as many
    as there are rows. A QR decomposition gives all of them but for their signs."""
    _, rows, columns = g.sizes
    packed, tau = qr(g)
    signs = where(packed.diagonal() < 0, -tau.real.like(1), 1)
    missing = rows - columns if full else 0
    if missing:
        packed, signs = packed.pad([0, missing], [-1]), signs.pad([0, missing], [-1], 1)
    return formed(packed, tau) * signs.row()
