"""Complex arithmetic on pairs of real values, in HLO's own real operators.

Numbers agree with XLA's on the CPU, infinities, zeros and NaNs included; only the sign of a zero, and what stands
beside a NaN part, may differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....passes.build import where
from ....passes.graph import Value
from ....passes.rewrite import Builder
from ..expression import HloExpr, expressions


class Pair(NamedTuple):
    """The real and the imaginary part of a complex value: two real values of one type."""

    re: Value
    im: Value


class Complex(NamedTuple):
    """A complex array as two real expressions."""

    re: HloExpr
    im: HloExpr


_Operation = Callable[..., Complex | HloExpr]


# arithmetic --------------------------------------------------------------------------------------


def _each(method: Callable[..., HloExpr]) -> _Operation:
    """What does the same to both parts."""
    return lambda *operands: Complex(method(*(z.re for z in operands)), method(*(z.im for z in operands)))


def multiply(x: Complex, y: Complex) -> Complex:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
    return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


def divide(x: Complex, y: Complex) -> Complex:
    """x / y without overflow on the way: y is scaled by its larger part.

    By zero: each part of x over the real part of y, so infinities. By infinity: zero of what is finite. Infinite parts
    count as 1 or -1, finite ones beside them as 0, and a division by zero brings them back. A constant y is inverted
    beforehand, as XLA does it.
    """
    divisor = _constants(y)
    if divisor is not None:
        with np.errstate(all="ignore"):
            inverse = 1 / divisor
        return multiply(x, Complex(x.re.like(inverse.real), x.re.like(inverse.imag)))
    c_size, d_size = y.re.abs(), y.im.abs()
    size = c_size.maximum(d_size)

    def unit(part: HloExpr, magnitude: HloExpr) -> HloExpr:
        """part / size, 1 or -1 for the larger part even where that is infinite."""
        return where(magnitude.equals(size), part.sign(), part / size)

    c, d = unit(y.re, c_size), unit(y.im, d_size)
    square = c * c + d * d
    infinite = [part.abs().equals(math.inf) for part in x]
    either = infinite[0] | infinite[1]
    a, b = (where(is_so, part.sign(), where(either, 0, part)) for part, is_so in zip(x, infinite, strict=True))
    last = where(either, size - size, size)
    re, im = (a * c + b * d) / square / last, (b * c - a * d) / square / last
    zero = size.equals(0)
    return Complex(where(zero, x.re / y.re, re), where(zero, x.im / y.re, im))


def _constants(z: Complex) -> np.ndarray[Any, Any] | None:
    """The numbers that a pair is known to be: an array of its shape, or one number that stands everywhere."""
    parts: list[Any] = []
    for part in z:
        if part.array is not None:
            parts.append(part.array)
            continue
        value = part.value()
        maker = value.producer
        source = maker.inputs[0] if maker is not None and maker.op_type == "broadcast" else value
        data = source.data if source is not None else None
        if data is None or (source is not value and data.size != 1):
            return None
        parts.append(data.numpy())
    re, im = parts
    numbers = np.empty(np.broadcast_shapes(re.shape, im.shape), np.result_type(re.dtype, np.complex64))
    numbers.real, numbers.imag = re, im
    return numbers


def absolute(z: Complex) -> HloExpr:
    """The magnitude, without overflow on the way."""
    size, ratio = _polar(z)
    return size * (1 + ratio * ratio).sqrt()


def _polar(z: Complex) -> tuple[HloExpr, HloExpr]:
    """(the larger part's size, the smaller one's over it); the ratio is 1 where both are equal, 0 and infinity too."""
    a, b = z.re.abs(), z.im.abs()
    large, small = a.maximum(b), a.minimum(b)
    return large, where(large.equals(small), 1, small / large)


def sign(z: Complex) -> Complex:
    """z / |z|, zero for zero."""
    size = absolute(z)
    zero = size.equals(0)
    return Complex(where(zero, z.re, z.re / size), where(zero, z.im, z.im / size))


# exponentials and logarithms ---------------------------------------------------------------------


def exponential(z: Complex) -> Complex:
    """e^a (cos b + i sin b); in two halves, so that a large factor may meet a small one."""
    half = (z.re * 0.5).exp()
    return Complex(half * z.im.cos() * half, _unless_zero(z.im, half * z.im.sin() * half))


def _unless_zero(part: HloExpr, result: HloExpr) -> HloExpr:
    """`result`, zero where `part` is zero: a factor beside it may be infinite."""
    return where(part.equals(0), 0, result)


def exponential_minus_one(z: Complex) -> Complex:
    """e^z - 1, exact near zero: expm1(a) cos b - 2 sin(b/2)^2, e^a sin b."""
    half = (z.im * 0.5).sin()
    return Complex(z.re.expm1() * z.im.cos() - 2 * (half * half), exponential(z).im)


def logarithm(z: Complex) -> Complex:
    """ln |z| + i arg z."""
    return Complex(_log_size(z), z.im.atan2(z.re))


def _log_size(z: Complex) -> HloExpr:
    size, ratio = _polar(z)
    return size.log() + 0.5 * (ratio * ratio).log1p()


def log_plus_one(z: Complex) -> Complex:
    """ln(1 + z), exact near zero: there ln |1 + z| is log1p(a (2 + a) + b^2) / 2."""
    a, b = z
    beside = Complex(a + 1, b)
    excess = a * (a + 2) + b * b
    near = a.abs().maximum(b.abs()) < 0.5
    return Complex(where(near, 0.5 * excess.log1p(), _log_size(beside)), b.atan2(beside.re))


def power(x: Complex, y: Complex) -> Complex:
    """x^y = |x|^c e^(-d t) (cos q + i sin q), t the angle of x, q = c t + d ln|x|.

    Real for a positive x (or 0, if c >= 0) and a real y, where infinities would spoil q; 1^y and x^0 are 1.
    """
    size, angle = absolute(x), x.im.atan2(x.re)
    turned = y.re * angle + y.im * size.log()
    straight = size**y.re
    grown = straight * (-(y.im * angle)).exp()

    exponent_real, base_real = y.im.equals(0), x.im.equals(0)
    positive = (x.re > 0) | (x.re.equals(0) & (y.re >= 0))
    real = base_real & exponent_real & positive
    one = (x.re.equals(1) & base_real) | (y.re.equals(0) & exponent_real)
    re = where(one, 1, where(real, straight, grown * turned.cos()))
    return Complex(re, where(one | real, 0, grown * turned.sin()))


def square_root(z: Complex) -> Complex:
    """The root with a real part >= 0, above the axis for a negative number, whatever the sign of its 0i."""
    return _root(z, z.im < 0)


def _root(z: Complex, below: HloExpr) -> Complex:
    """t = sqrt((|a| + |z|) / 2) and |b| / 2t, changed over where a < 0; its conjugate where z counts as `below`."""
    large = (z.re.abs() * 0.5 + absolute(z) * 0.5).sqrt()
    small = z.im.abs() / large * 0.5
    small = where(large.equals(0), large, small)
    small = where(z.im.abs().equals(math.inf), large, small)
    right = z.re >= 0
    im = where(right, small, large)
    return Complex(where(right, large, small), where(below, -im, im))


def reciprocal_root(z: Complex) -> Complex:
    """1 / sqrt(z); here the sign of a negative number's 0i tells on which side of the axis it is."""
    return _reciprocal(_root(z, (z.im < 0) | (1 / z.im < 0)))


def _reciprocal(z: Complex) -> Complex:
    return divide(Complex(z.re.full_like(1), z.re.full_like(0)), z)


def logistic(z: Complex) -> Complex:
    """1 / (1 + e^-z)."""
    grown = exponential(Complex(-z.re, -z.im))
    return _reciprocal(Complex(1 + grown.re, grown.im))


# circular and hyperbolic -------------------------------------------------------------------------


def _hyperbolic(x: HloExpr) -> tuple[HloExpr, HloExpr]:
    """(cosh x, sinh x)."""
    back = -x
    return 0.5 * (x.exp() + back.exp()), 0.5 * (x.expm1() - back.expm1())


def sine(z: Complex) -> Complex:
    """sin a cosh b + i cos a sinh b."""
    cosh, sinh = _hyperbolic(z.im)
    return Complex(z.re.sin() * cosh, z.re.cos() * sinh)


def cosine(z: Complex) -> Complex:
    """cos a cosh b - i sin a sinh b."""
    cosh, sinh = _hyperbolic(z.im)
    return Complex(z.re.cos() * cosh, -z.re.sin() * sinh)


def hyperbolic_tangent(z: Complex) -> Complex:
    """With s = 1 / cosh a: (tanh a + i s^2 sin b cos b) / (s^2 cos^2 b + tanh^2 a); tanh a where s^2 is nothing."""
    tangent = z.re.tanh()
    shrunk = (-z.re.abs()).exp()
    secant = (shrunk + shrunk) / (1 + shrunk * shrunk)
    along, across = secant * z.im.cos(), secant * z.im.sin()
    square = along * along + tangent * tangent
    far = secant.equals(0)
    im = _unless_zero(z.im, along * across / square)
    return Complex(where(far, tangent, tangent / square), where(far, 0, im))


def tangent(z: Complex) -> Complex:
    """tan z = -i tanh(iz)."""
    turned = hyperbolic_tangent(Complex(-z.im, z.re))
    return Complex(turned.im, -turned.re)


def equal(x: Complex, y: Complex) -> HloExpr:
    """Whether both parts are equal."""
    return x.re.equals(y.re) & x.im.equals(y.im)


def unequal(x: Complex, y: Complex) -> HloExpr:
    """Whether either part differs."""
    return x.re.differs(y.re) | x.im.differs(y.im)


_OPERATIONS: dict[str, _Operation] = {
    "abs": absolute,
    "add": _each(HloExpr.__add__),
    "compare EQ": equal,
    "compare NE": unequal,
    "complex": Complex,
    "cosine": cosine,
    "divide": divide,
    "exponential": exponential,
    "exponential-minus-one": exponential_minus_one,
    "imag": lambda z: z.im,
    "log": logarithm,
    "log-plus-one": log_plus_one,
    "logistic": logistic,
    "multiply": multiply,
    "negate": _each(HloExpr.__neg__),
    "power": power,
    "real": lambda z: z.re,
    "rsqrt": reciprocal_root,
    "sign": sign,
    "sine": sine,
    "sqrt": square_root,
    "subtract": _each(HloExpr.__sub__),
    "tan": tangent,
    "tanh": hyperbolic_tangent,
}


def _on_values(operation: _Operation) -> Callable[..., Pair | Value]:
    def apply(op: Builder, *operands: Pair | Value) -> Pair | Value:
        found = (expressions(op, *(operand if isinstance(operand, Pair) else (operand,))) for operand in operands)
        made = operation(*(Complex(*parts) if len(parts) == 2 else parts[0] for parts in found))
        return Pair(made.re.value(), made.im.value()) if isinstance(made, Complex) else made.value()

    return apply


FUNCTIONS: dict[str, Callable[..., Pair | Value]] = {
    name: _on_values(operation) for name, operation in _OPERATIONS.items()
}
"""HLO opcode (compare with its direction) -> the same for pairs, of a builder and one operand for each of the
opcode's."""
