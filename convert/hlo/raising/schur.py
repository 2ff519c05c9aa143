"""Schur forms: the Hessenberg form, then QR sweeps with shifts, the last block that isn't done yet first.

A complex matrix is swept with one shift, and becomes triangular. A real one is swept with two shifts at a time, so that
it stays real, and keeps blocks of 2 on the diagonal for pairs of complex eigenvalues, [[a, b], [c, a]] with b c < 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .algebra import Algebra, Number, epsilon, sizes
from .householder import hessenberg, multiplied, reflector
from .repeat import Made, Pass, repeat
from .support import cast

_SWEEPS = 30  # for each eigenvalue, of 10 at least
_UNUSUAL = 10  # each so many sweeps without success the shifts are others


@dataclass(frozen=True, slots=True)
class _Window:
    """Rows `low` to `high` of each matrix, which are swept (none where high is 0), and the sweeps so far."""

    low: Value
    high: Value
    count: Value


@dataclass(frozen=True, slots=True)
class _Start:
    """The column whose reflection begins a sweep: its first elements; and what is exact after it, of blocks of 2."""

    elements: list[Number]
    split: Value | None = None
    level: Value | None = None
    mean: Value | None = None


def schur(op: Builder, a: Number, vectors: bool = True) -> tuple[Number, Number, Value]:
    """(the Schur form; the unitary matrices that lead to it; int32 (batch ...): 0, or rows that weren't done).

    Args:
        a: (batch ..., n, n), n > 0, all finite.
        vectors: else the second result is an empty tuple.
    """
    m, width = Algebra(op), len(a)
    batch, size, _ = sizes(a)
    if size == 1:
        return a, m.unit((*batch, 1, 1), a) if vectors else (), op.const(np.zeros(batch, np.int32))
    a, scale = m.of_size_one(a)
    work, basis = _hessenberg(op, a, vectors)
    work, high = _deflated(op, work)

    def step(now: Pass) -> Made:
        op = now.op
        work, basis = tuple(now.carried[:width]), tuple(now.carried[width:-2])
        high, count = now.carried[-2:]
        places = op.const(list(range(size)))
        begins = op.Concat(op.const(np.ones((*batch, 1), bool)), _is_zero(op, beside(op, work, -2)), axis=-1)
        inside = op.And(begins, op.LessOrEqual(places, high))
        low = op.ReduceMax(op.Where(inside, places, op.const(0)), op.const([-1]), keepdims=1)
        window = _Window(low, high, op.Add(count, op.const(1)))
        start = (_double_shift if width == 1 else _single_shift)(op, work, window)
        work, basis = _swept(op, work, basis, window, start)
        work, basis = _exact(op, work, basis, window, start)
        work, left = _deflated(op, work)
        count = op.Where(op.Equal(left, high), window.count, op.const(0))
        some = op.Greater(op.ReduceMax(left, keepdims=0), op.const(0))
        return Made([*work, *basis, left, count], go_on=some)

    none = op.const(np.zeros((*batch, 1), np.int64))
    made = repeat(op, _SWEEPS * max(10, size), step, [*work, *basis, high, none], name="sweeps")
    left = op.Squeeze(made[-2], op.const([-1]))
    left = op.Where(op.Equal(left, op.const(0)), left, op.Add(left, op.const(1)))
    return m.scaled(tuple(made[:width]), scale), tuple(made[width:-2]), cast(op, left, DType.INT32)


def _hessenberg(op: Builder, a: Number, vectors: bool) -> tuple[Number, Number]:
    """The Hessenberg form, and the unitary matrices that lead to it."""
    m = Algebra(op)
    _, size, _ = sizes(a)
    packed, tau = hessenberg(op, a)
    work = m.each("Trilu", packed, op.const(-1), upper=1)
    if not vectors:
        return work, ()
    below = m.each("Slice", packed, op.const([1, 0]), op.const([size, size - 1]), op.const([-2, -1]))
    basis = m.each("Pad", multiplied(op, below, tau), op.const([1, 1, 0, 0]), None, op.const([-2, -1]))
    corner = np.zeros((size, size), bool)
    corner[0, 0] = True
    return work, (op.Where(op.const(corner), m.scalar(1.0, a), basis[0]), *basis[1:])


# elements ----------------------------------------------------------------------------------------


def beside(op: Builder, x: Number, axis: int) -> Number:
    """The elements (batch ..., n - 1) just below the diagonal (axis -2), or just above it (axis -1)."""
    _, size, _ = sizes(x)
    m = Algebra(op)
    return m.diagonal(m.each("Slice", x, op.const([1]), op.const([size]), op.const([axis])))


def _is_zero(op: Builder, x: Number) -> Value:
    return op.Equal(Algebra(op).weight(x), Algebra(op).scalar(0.0, x))


def _neighbours(op: Builder, x: Value) -> Value:
    """The sum of the elements before and behind each one."""
    _, _, count = sizes((x,))
    zero = op.Mul(op.Slice(x, op.const([0]), op.const([1]), op.const([-1])), Algebra(op).scalar(0.0, (x,)))
    before = op.Slice(op.Concat(zero, x, axis=-1), op.const([0]), op.const([count]), op.const([-1]))
    behind = op.Slice(op.Concat(x, zero, axis=-1), op.const([1]), op.const([count + 1]), op.const([-1]))
    return op.Add(before, behind)


def _picked(op: Builder, x: Number, row: Value, offsets: list[int]) -> list[Number]:
    """Elements (batch ..., 1) at so many places from the diagonal's in `row`; any element where there is no such."""
    m = Algebra(op)
    batch, size, _ = sizes(x)
    flat = m.each("Reshape", x, op.const([*batch, size * size]))
    places = op.Add(op.Mul(row, op.const(size + 1)), op.const(offsets))
    places = op.Min(op.Max(places, op.const(0)), op.const(size * size - 1))
    found = m.each("GatherElements", flat, places, axis=-1)
    parts = [op.Split(part, None, _outputs=len(offsets), axis=-1, num_outputs=len(offsets)) for part in found]
    return [tuple(part[place] for part in parts) for place in range(len(offsets))]


def _deflated(op: Builder, x: Number) -> tuple[Number, Value]:
    """Small elements below the diagonal are 0 now; and the last row that isn't done (batch ..., 1), 0 where all are.

    What is small is what LAPACK calls so: by the elements around it, and by Ahues' and Tisseur's criterion.
    """
    m = Algebra(op)
    batch, size, _ = sizes(x)
    finfo, ulp = np.finfo((x[0].tensor.dtype or DType.FLOAT32).numpy), m.scalar(epsilon(x), x)
    least = m.scalar(float(finfo.tiny) * size / epsilon(x), x)
    zero, one = m.scalar(0.0, x), m.scalar(1.0, x)
    middle, below, above = m.diagonal(x), beside(op, x, -2), beside(op, x, -1)
    first = m.each("Slice", middle, op.const([0]), op.const([size - 1]), op.const([-1]))
    second = m.each("Slice", middle, op.const([1]), op.const([size]), op.const([-1]))
    c, b, d, apart = (m.weight(part) for part in (below, above, second, m.subtract(first, second)))
    around = op.Add(m.weight(first), d)
    around = op.Where(op.Equal(around, zero), _neighbours(op, c), around)
    large, larger = op.Max(d, apart), op.Max(c, b)
    total = op.Add(large, larger)
    total = op.Where(op.Equal(total, zero), one, total)
    product = op.Mul(op.Min(c, b), op.Div(larger, total))
    bound = op.Max(least, op.Mul(ulp, op.Mul(op.Min(d, apart), op.Div(large, total))))
    small = op.And(op.LessOrEqual(c, op.Mul(ulp, around)), op.LessOrEqual(product, bound))
    small = op.Or(op.LessOrEqual(c, least), small)
    open_ = op.Not(small)
    if len(x) == 1:  # a block of 2 with complex eigenvalues stays
        alone = op.Equal(_neighbours(op, op.Where(small, zero, c)), zero)
        turning = op.Less(op.Mul(op.Sign(below[0]), op.Sign(above[0])), zero)
        pair = op.And(op.And(alone, turning), op.Equal(first[0], second[0]))
        open_ = op.And(open_, op.Not(pair))
    rows = op.Concat(op.const(np.zeros((*batch, 1), bool)), small, axis=-1)
    gone = op.And(op.Unsqueeze(rows, op.const([-1])), op.const(np.eye(size, k=-1, dtype=bool)))
    last = op.ReduceMax(op.Where(open_, op.const(list(range(1, size))), op.const(0)), op.const([-1]), keepdims=1)
    return m.where(gone, tuple(zero for _ in x), x), last


# sweeps ------------------------------------------------------------------------------------------


def _swept(op: Builder, work: Number, basis: Number, window: _Window, start: _Start) -> tuple[Number, Number]:
    """One sweep: a reflection that begins it, and those that bring the Hessenberg form back."""
    m, width = Algebra(op), len(work)
    _, size, _ = sizes(work)
    offset = op.Sub(op.const(list(range(size))), window.low)
    none = tuple(m.scalar(0.0, work) for _ in work)
    first = none
    for place, element in enumerate(start.elements):
        first = m.where(op.Equal(offset, op.const(place)), element, first)
    first = m.column(m.where(op.Greater(window.high, op.const(0)), first, none))
    low, high = m.column((window.low, window.high))

    def step(now: Pass) -> Made:
        op, m, k = now.op, Algebra(now.op), now.number
        work, basis = tuple(now.carried[:width]), tuple(now.carried[width:])
        *first, low, high = now.captured
        none = tuple(m.scalar(0.0, work) for _ in work)
        before = op.Sub(k, op.const(1))
        column = m.at(work, op.Unsqueeze(op.Max(before, op.const(0)), op.const([0])))
        inside = op.And(op.Less(low, k), op.Less(k, high))
        column = m.where(op.Equal(low, k), tuple(first), m.where(inside, column, none))
        v, tau, _ = reflector(op, column, k, size)
        line = m.product(m.conjugate(tau), m.matmul(m.adjoint(v), work))
        work = _from_the_right(op, m.subtract(work, m.product(v, line)), v, tau)
        rows, columns = op.const([[row] for row in range(size)]), op.const(list(range(size)))
        work = m.where(op.And(op.Equal(columns, before), op.Greater(rows, k)), none, work)
        return Made([*work, *(_from_the_right(op, basis, v, tau) if basis else ())])

    made = repeat(op, size - 1, step, [*work, *basis], captured=[*first, low, high], name="sweep")
    return tuple(made[:width]), tuple(made[width:])


def _from_the_right(op: Builder, x: Number, v: Number, tau: Number) -> Number:
    m = Algebra(op)
    return m.subtract(x, m.product(m.product(tau, m.matmul(x, v)), m.adjoint(v)))


def _single_shift(op: Builder, work: Number, window: _Window) -> _Start:
    """With Wilkinson's shift: the eigenvalue of the last block of 2 that is nearer to the last element."""
    m = Algebra(op)
    _, size, _ = sizes(work)
    last, left, above, corner = _picked(op, work, window.high, [0, -1, -size, -size - 1])
    largest = op.Max(op.Max(m.weight(last), m.weight(left)), op.Max(m.weight(above), m.weight(corner)))
    largest = op.Where(op.Equal(largest, m.scalar(0.0, work)), m.scalar(1.0, work), largest)
    d, c, b, a = (m.over(part, largest) for part in (last, left, above, corner))
    half = m.scaled(m.subtract(a, d), m.scalar(0.5, work))
    around = m.product(b, c)
    root = _root(op, m.add(m.product(half, half), around))
    away = op.Less(m.product(half, m.conjugate(root))[0], m.scalar(0.0, work))
    root = m.where(away, m.each("Neg", root), root)
    divisor = m.add(half, root)
    divisor = m.where(_is_zero(op, divisor), m.real(m.scalar(1.0, work), work), divisor)
    shift = m.scaled(m.subtract(d, m.quotient(around, divisor)), largest)
    beyond = m.real(op.Mul(m.weight(left), m.scalar(0.75, work)), work)
    shift = m.where(_stuck(op, window), m.add(last, beyond), shift)
    first, below = _picked(op, work, window.low, [0, size])
    return _Start([m.subtract(first, shift), below])


def _stuck(op: Builder, window: _Window) -> Value:
    return op.Equal(op.Mod(window.count, op.const(_UNUSUAL)), op.const(0))


def _root(op: Builder, z: Number) -> Number:
    """A square root of complex numbers of a size near 1."""
    m = Algebra(op)
    zero, half = m.scalar(0.0, z), m.scalar(0.5, z)
    large = op.Sqrt(op.Mul(op.Add(op.Sqrt(m.square(z)), op.Abs(z[0])), half))
    small = op.Div(op.Mul(z[1], half), op.Where(op.Equal(large, zero), m.scalar(1.0, z), large))
    return m.where(op.Less(z[0], zero), (small, large), (large, small))


def _double_shift(op: Builder, work: Number, window: _Window) -> _Start:
    """With both eigenvalues of the last block of 2, or twice the nearer one where they are real (Francis)."""
    m = Algebra(op)
    _, size, _ = sizes(work)
    (d,), (c,), (b,), (a,), (e,) = _picked(op, work, window.high, [0, -1, -size, -size - 1, -size - 2])
    pair = _pair(op, a, b, c, d)
    two = op.Equal(op.Sub(window.high, window.low), op.const(1))
    zero, one, half = (m.scalar(number, work) for number in (0.0, 1.0, 0.5))

    stuck, beyond = _stuck(op, window), op.Add(op.Abs(c), op.Abs(e))
    corner = op.Add(op.Mul(beyond, m.scalar(0.75, work)), d)
    a, d = op.Where(stuck, corner, a), op.Where(stuck, corner, d)
    b = op.Where(stuck, op.Mul(beyond, m.scalar(-0.4375, work)), b)
    c = op.Where(stuck, beyond, c)
    total = op.Add(op.Add(op.Abs(a), op.Abs(b)), op.Add(op.Abs(c), op.Abs(d)))
    total = op.Where(op.Equal(total, zero), one, total)
    a, b, c, d = (op.Div(part, total) for part in (a, b, c, d))
    mean = op.Mul(op.Add(a, d), half)
    determinant = op.Sub(op.Mul(op.Sub(a, mean), op.Sub(d, mean)), op.Mul(b, c))
    root = op.Sqrt(op.Abs(determinant))
    real = op.Less(determinant, zero)
    nearer = op.Where(op.Less(mean, d), op.Add(mean, root), op.Sub(mean, root))
    re = op.Mul(op.Where(real, nearer, mean), total)
    im = op.Mul(op.Where(real, zero, root), total)

    (a,), (b,), (c,), (d,), (e,) = _picked(op, work, window.low, [0, 1, size, size + 1, 2 * size + 1])
    a = op.Sub(a, re)
    total = op.Add(op.Add(op.Abs(a), op.Abs(im)), op.Abs(c))
    total = op.Where(op.Equal(total, zero), one, total)
    c = op.Div(c, total)
    x = op.Add(op.Add(op.Mul(c, b), op.Mul(a, op.Div(a, total))), op.Mul(im, op.Div(im, total)))
    y = op.Mul(c, op.Sub(op.Add(a, d), re))
    elements = [op.Where(two, pair.elements[0][0], x), op.Where(two, pair.elements[1][0], y)]
    elements.append(op.Where(two, zero, op.Mul(c, e)))
    assert pair.split is not None and pair.level is not None
    split, level = op.And(two, pair.split), op.And(two, pair.level)
    return _Start([(element,) for element in elements], split, level, pair.mean)


def _pair(op: Builder, a: Value, b: Value, c: Value, d: Value) -> _Start:
    """What splits a block [[a, b], [c, d]] with real eigenvalues; else what makes its diagonal elements equal.

    Where the eigenvalues are almost equal the diagonal is made equal first; the signs of b and c decide then.
    """
    m = Algebra(op)
    zero, one, half = (m.scalar(number, (a,)) for number in (0.0, 1.0, 0.5))
    apart = op.Sub(op.Mul(a, half), op.Mul(d, half))
    scale = op.Max(op.Abs(apart), op.Max(op.Abs(b), op.Abs(c)))
    scale = op.Where(op.Equal(scale, zero), one, scale)
    p, b, c = (op.Div(part, scale) for part in (apart, b, c))
    around = op.Mul(op.Max(op.Abs(b), op.Abs(c)), op.Min(op.Abs(b), op.Abs(c)))
    signs = op.Mul(op.Sign(b), op.Sign(c))
    inside = op.Add(op.Mul(p, p), op.Mul(around, signs))
    even = op.Equal(p, zero)
    split = op.Or(
        op.And(op.Not(even), op.GreaterOrEqual(inside, m.scalar(4 * epsilon((a,)), (a,)))),
        op.And(even, op.GreaterOrEqual(signs, zero)),
    )
    root = op.Sqrt(op.Max(inside, zero))
    eigen = op.Add(p, op.Where(op.Less(p, zero), op.Neg(root), root))

    total = op.Add(b, c)
    length = op.Sqrt(op.Add(op.Mul(total, total), op.Mul(op.Add(p, p), op.Add(p, p))))
    length = op.Where(op.Equal(length, zero), one, length)
    cosine = op.Sqrt(op.Mul(op.Add(one, op.Div(op.Abs(total), length)), half))
    sine = op.Neg(op.Div(p, op.Mul(length, cosine)))
    sine = op.Where(op.Less(total, zero), op.Neg(sine), sine)
    elements: list[Number] = [(op.Where(split, eigen, cosine),), (op.Where(split, c, sine),)]
    return _Start(elements, split, op.Not(split), op.Add(op.Mul(a, half), op.Mul(d, half)))


def _exact(op: Builder, work: Number, basis: Number, window: _Window, start: _Start) -> tuple[Number, Number]:
    """What is exact after the sweep of a block of 2: 0 below the diagonal, or an even diagonal.

    Signs are those of a rotation there, as LAPACK has it, not of a reflection.
    """
    if start.split is None or start.level is None or start.mean is None:
        return work, basis
    m = Algebra(op)
    _, size, _ = sizes(work)
    zero, one = m.scalar(0.0, work), m.scalar(1.0, work)
    parts = window.low, window.high, start.split, start.level, start.mean, start.elements[0][0]
    low, high, split, level, mean, first = m.column(parts)
    rows = op.const([[row] for row in range(size)])
    at_low, at_high = op.Equal(rows, low), op.Equal(rows, high)
    below = op.And(op.const(np.eye(size, k=-1, dtype=bool)), at_high)
    middle = op.And(op.const(np.eye(size, dtype=bool)), op.Or(at_high, at_low))
    found = op.Where(op.And(below, split), zero, work[0])
    found = op.Where(op.And(middle, level), mean, found)
    turned = op.And(
        op.Or(split, level),
        op.Or(op.And(at_low, op.GreaterOrEqual(first, zero)), op.And(at_high, op.Less(first, zero))),
    )
    signs = op.Where(turned, op.Neg(one), one)
    (across,) = m.transposed((signs,))
    return (op.Mul(op.Mul(found, signs), across),), m.scaled(basis, across)
