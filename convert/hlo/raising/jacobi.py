"""Eigenvalues and singular values by Jacobi's rotations, half of all columns against the other half in each round.

The columns are dealt anew between rounds as in a tournament, so that each meets each other one in a sweep of n - 1
rounds. Rounds go on until a whole sweep found nothing to rotate.
"""

from __future__ import annotations

import math

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .algebra import Algebra, Number, epsilon, sizes
from .householder import multiplied, reduced
from .repeat import Made, Pass, repeat
from .support import cast

_MOST_SWEEPS = 30


def _dealt(size: int) -> list[int]:
    """The columns' next places: the first stays, the others go round."""
    half = size // 2
    if half == 1:
        return [0, 1]
    return [0, half, *range(1, half - 1), *range(half + 1, size), half - 1]


def _rotation(op: Builder, p: Value, q: Value, between: Number) -> tuple[Value, Number]:
    """(cosine, sine with its phase) that make [[p, between], [conj between, q]] diagonal; 1 and 0 where it is."""
    m = Algebra(op)
    zero, one = m.scalar(0.0, between), m.scalar(1.0, between)
    size = between[0] if len(between) == 1 else op.Sqrt(m.square(between))
    done = op.Equal(size, zero)
    ratio = op.Div(op.Mul(op.Sub(q, p), m.scalar(0.5, between)), op.Where(done, one, size))
    steep = op.Add(op.Abs(ratio), op.Sqrt(op.Add(one, op.Mul(ratio, ratio))))
    tangent = op.Div(op.Where(op.Less(ratio, zero), op.Neg(one), one), steep)
    tangent = op.Where(done, zero, tangent)
    cosine = op.Div(one, op.Sqrt(op.Add(one, op.Mul(tangent, tangent))))
    sine = op.Mul(tangent, cosine)
    if len(between) == 1:
        return cosine, (sine,)
    return cosine, m.scaled(m.over(between, op.Where(done, one, size)), sine)


def _turned(op: Builder, x: Number, cosine: Value, sine: Number, axis: int) -> Number:
    """The first half along `axis` less the second turned in, and the other way round; then dealt anew."""
    m = Algebra(op)
    size = (x[0].tensor.static_shape or ())[axis]
    halves = [op.Split(part, None, _outputs=2, axis=axis, num_outputs=2) for part in x]
    first, second = (tuple(half[place] for half in halves) for place in (0, 1))
    upper = m.subtract(m.scaled(first, cosine), m.product(m.conjugate(sine), second))
    lower = m.add(m.product(sine, first), m.scaled(second, cosine))
    order = op.const(_dealt(size))
    return tuple(op.Gather(op.Concat(a, b, axis=axis), order, axis=axis) for a, b in zip(upper, lower, strict=True))


def _rounds_left(op: Builder, quiet: Value, turned: Value, size: int) -> tuple[Value, Value]:
    """(how many rounds there was nothing to rotate, whether to go on)."""
    some = cast(op, op.ReduceMax(cast(op, turned, DType.INT32), keepdims=0), DType.BOOL)
    quiet = op.Where(some, op.const(0), op.Add(quiet, op.const(1)))
    return quiet, op.Less(quiet, op.const(size - 1))


def _even(op: Builder, x: Number, axes: tuple[int, ...], corner: Value | None = None) -> Number:
    """One row, column more where their number is odd: zeros, and `corner` at their end."""
    shape = x[0].tensor.static_shape or ()
    if shape[axes[-1]] % 2 == 0:
        return x
    pads = op.const([0] * len(axes) + [1] * len(axes))
    x = tuple(op.Pad(part, pads, None, op.const(list(axes))) for part in x)
    if corner is None:
        return x
    end = np.zeros([size + (place >= len(shape) - 2) for place, size in enumerate(shape)], bool)
    end[..., -1, -1] = True
    return op.Where(op.const(end), corner, x[0]), *x[1:]


def _sorted(op: Builder, keys: Value, count: int, largest: bool, columns: Number) -> tuple[Value, Number]:
    """The first `count` keys in order, and the columns that belong to them."""
    values, order = op.TopK(keys, op.const([count]), _outputs=2, axis=-1, largest=int(largest), sorted=1)
    batch, rows, _ = sizes(columns)
    everywhere = op.Expand(op.Unsqueeze(order, op.const([-2])), op.const([*batch, rows, count]))
    return values, Algebra(op).each("GatherElements", columns, everywhere, axis=-1)


def hermitian(op: Builder, a: Number, lower: bool) -> Number:
    """The Hermitian matrices of which one triangle is given, and the real part of the diagonal."""
    m = Algebra(op)
    _, size, _ = sizes(a)
    beside = m.triangle(a, lower, strict=True)
    middle = op.Where(op.const(np.eye(size, dtype=bool)), a[0], m.scalar(0.0, a))
    return m.add(m.add(beside, m.adjoint(beside)), m.real(middle, a))


def eigen(op: Builder, a: Number, lower: bool) -> tuple[Value, Number]:
    """(eigenvalues in ascending order, eigenvectors as columns) of Hermitian matrices.

    Args:
        a: (batch ..., n, n), n > 0, of which one triangle counts, and the real part of the diagonal.
    """
    m = Algebra(op)
    batch, size, _ = sizes(a)
    a = hermitian(op, a, lower)
    if size == 1:
        return op.Squeeze(a[0], op.const([-1])), m.unit((*batch, 1, 1), a)
    a, scale = m.of_size_one(a)
    a = _even(op, a, (-2, -1), m.scalar(4.0 * size, a))  # which is more than any eigenvalue
    even = size + size % 2
    half, width = even // 2, len(a)
    least = epsilon(a) / 2

    def step(now: Pass) -> Made:
        op, m = now.op, Algebra(now.op)
        work, vectors = tuple(now.carried[:width]), tuple(now.carried[width:-1])
        flat = m.each("Reshape", work, op.const([*batch, even * even]))

        def picked(start: int) -> Number:
            """Every element a row and a column further on, from `start`."""
            places = [op.const([number]) for number in (start, start + (half - 1) * (even + 1) + 1, -1, even + 1)]
            return m.each("Slice", flat, *places)

        between = picked(half)
        cosine, sine = _rotation(op, picked(0)[0], picked(half * (even + 1))[0], between)
        across, down = op.const([-2]), op.const([-1])
        work = _turned(op, work, op.Unsqueeze(cosine, across), m.each("Unsqueeze", sine, across), -1)
        vectors = _turned(op, vectors, op.Unsqueeze(cosine, across), m.each("Unsqueeze", sine, across), -1)
        sine = m.conjugate(m.each("Unsqueeze", sine, down))
        work = _turned(op, work, op.Unsqueeze(cosine, down), sine, -2)
        quiet, more = _rounds_left(op, now.carried[-1], op.Greater(m.weight(between), m.scalar(least, work)), even)
        return Made([*work, *vectors, quiet], go_on=more)

    vectors = m.unit((*batch, size, even), a)
    rounds = _MOST_SWEEPS * (even - 1)
    made = repeat(op, rounds, step, [*a, *vectors, op.const(0)], name="rotations")
    values = m.diagonal(tuple(made[:width]))[0]
    values, vectors = _sorted(op, values, size, False, tuple(made[width : 2 * width]))
    return op.Mul(values, op.Squeeze(scale, op.const([-1]))), vectors


def singular(op: Builder, a: Number, full: bool, vectors: bool = True) -> tuple[Value, Number, Number]:
    """(singular values in descending order, U, V^H). `full`: U and V are square.

    Args:
        a: (batch ..., rows, columns), neither 0.
        vectors: else U and V^H are empty tuples.
    """
    m = Algebra(op)
    _, rows, columns = sizes(a)
    if rows < columns:
        values, u, v = singular(op, m.adjoint(a), full, vectors)
        return (values, m.adjoint(v), m.adjoint(u)) if vectors else (values, u, v)
    a, scale = m.of_size_one(a)
    g, v = _orthogonal(op, a)
    whole = g[0] if len(g) == 1 else op.Concat(*g, axis=-2)
    lengths = op.ReduceL2(whole, op.const([-2]), keepdims=0)
    if columns > 1 and columns % 2:  # what was added comes last, even among columns of zeros
        added = op.Equal(op.ReduceSum(m.square(v), op.const([-2]), keepdims=0), m.scalar(0.0, v))
        lengths = op.Where(added, m.scalar(-1.0, v), lengths)
    stacked = tuple(op.Concat(x, y, axis=-2) for x, y in zip(g, v, strict=True))
    lengths, ordered = _sorted(op, lengths, columns, True, stacked)
    values = op.Mul(lengths, op.Squeeze(scale, op.const([-1])))
    if not vectors:
        return values, (), ()
    parts = [op.Split(part, op.const([rows, columns]), _outputs=2, axis=-2) for part in ordered]
    g, v = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
    return values, _completed(op, g, full), m.adjoint(v)


def _orthogonal(op: Builder, g: Number) -> tuple[Number, Number]:
    """(g V with orthogonal columns, V); a column of zeros more where their number is odd."""
    m, width = Algebra(op), len(g)
    batch, rows, columns = sizes(g)
    if columns == 1:
        return g, m.unit((*batch, 1, 1), g)
    g = _even(op, g, (-1,))
    even = columns + columns % 2
    least = epsilon(g) * math.sqrt(rows)

    def step(now: Pass) -> Made:
        op, m = now.op, Algebra(now.op)
        g, v = tuple(now.carried[:width]), tuple(now.carried[width:-1])
        halves = [op.Split(part, None, _outputs=2, axis=-1, num_outputs=2) for part in g]
        first, second = (tuple(half[place] for half in halves) for place in (0, 1))
        rows = op.const([-2])
        p, q = (op.ReduceSum(m.square(half), rows, keepdims=1) for half in (first, second))
        between = m.each("ReduceSum", m.product(m.conjugate(first), second), rows, keepdims=1)
        cosine, sine = _rotation(op, p, q, between)
        limit = op.Mul(op.Mul(op.Sqrt(p), op.Sqrt(q)), m.scalar(least, g))
        quiet, more = _rounds_left(op, now.carried[-1], op.Greater(m.weight(between), limit), even)
        return Made([*_turned(op, g, cosine, sine, -1), *_turned(op, v, cosine, sine, -1), quiet], go_on=more)

    v = m.unit((*batch, columns, even), g)
    made = repeat(op, _MOST_SWEEPS * (even - 1), step, [*g, *v, op.const(0)], name="rotations")
    return tuple(made[:width]), tuple(made[width : 2 * width])


def _completed(op: Builder, g: Number, full: bool) -> Number:
    """Unit vectors along orthogonal columns in descending order of length, others where a column is 0; `full`: as many
    as there are rows. A QR decomposition gives all of them but for their signs."""
    m = Algebra(op)
    _, rows, columns = sizes(g)
    packed, tau = reduced(op, g)
    signs = op.Where(op.Less(m.diagonal(packed)[0], m.scalar(0.0, g)), m.scalar(-1.0, g), m.scalar(1.0, g))
    more = rows - columns
    if full and more:
        packed = tuple(op.Pad(part, op.const([0, more]), None, op.const([-1])) for part in packed)
        signs = op.Pad(signs, op.const([0, more]), m.scalar(1.0, g), op.const([-1]))
    return m.scaled(multiplied(op, packed, tau), op.Unsqueeze(signs, op.const([-2])))
