"""Complex arithmetic on pairs of real values, in HLO's own real operators.

Numbers agree with XLA's on the CPU, infinities, zeros and NaNs included; only the sign of a zero, and what stands
beside a NaN part, may differ. Every function takes the builder and its operands, and gives a pair, or a real value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType


class Pair(NamedTuple):
    """The real and the imaginary part of a complex value: two real values of one type."""

    re: Value
    im: Value


def fill(op: Builder, number: float, like: Value) -> Value:
    """`number` everywhere, of the type of `like`."""
    scalar = op.const(number, like.tensor.dtype or DType.FLOAT32)
    if not like.rank:
        return scalar
    return op.broadcast(scalar, dimensions=(), _types=[like.type])


def _is(op: Builder, a: Value, number: float, direction: str = "EQ") -> Value:
    return op.compare(a, fill(op, number, a), direction=direction)


def _scaled(op: Builder, z: Pair, factor: Value) -> Pair:
    return Pair(op.multiply(z.re, factor), op.multiply(z.im, factor))


# arithmetic --------------------------------------------------------------------------------------


def _each(opcode: str) -> Callable[..., Pair]:
    """An operator that does the same to both parts."""

    def both(op: Builder, *operands: Pair) -> Pair:
        return Pair(op.call(opcode, *(z.re for z in operands)), op.call(opcode, *(z.im for z in operands)))

    return both


def multiply(op: Builder, x: Pair, y: Pair) -> Pair:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
    re = op.subtract(op.multiply(x.re, y.re), op.multiply(x.im, y.im))
    return Pair(re, op.add(op.multiply(x.re, y.im), op.multiply(x.im, y.re)))


def divide(op: Builder, x: Pair, y: Pair) -> Pair:
    """x / y without overflow on the way: y is scaled by its larger part.

    By zero: each part of x over the real part of y, so infinities. By infinity: zero of what is finite. Infinite parts
    count as 1 or -1, finite ones beside them as 0, and a division by zero brings them back. A constant y is inverted
    beforehand, as XLA does it.
    """
    known = _constants(y)
    if known is not None:
        with np.errstate(all="ignore"):
            inverse = 1 / known
        return multiply(op, x, Pair(_constant(op, inverse.real, x.re), _constant(op, inverse.imag, x.im)))
    c_size, d_size = op.abs(y.re), op.abs(y.im)
    size = op.maximum(c_size, d_size)

    def unit(part: Value, magnitude: Value) -> Value:
        """part / size, 1 or -1 for the larger part even where that is infinite."""
        return op.select(op.compare(magnitude, size, direction="EQ"), op.sign(part), op.divide(part, size))

    def finite(part: Value, infinite: Value) -> Value:
        return op.select(infinite, op.sign(part), op.select(either, fill(op, 0.0, part), part))

    c, d = unit(y.re, c_size), unit(y.im, d_size)
    square = op.add(op.multiply(c, c), op.multiply(d, d))
    infinite = [_is(op, op.abs(part), math.inf) for part in x]
    either = op.call("or", *infinite)
    a, b = (finite(part, is_so) for part, is_so in zip(x, infinite, strict=True))
    last = op.select(either, op.subtract(size, size), size)
    re = op.divide(op.divide(op.add(op.multiply(a, c), op.multiply(b, d)), square), last)
    im = op.divide(op.divide(op.subtract(op.multiply(b, c), op.multiply(a, d)), square), last)
    zero = _is(op, size, 0.0)
    return Pair(op.select(zero, op.divide(x.re, y.re), re), op.select(zero, op.divide(x.im, y.re), im))


def _constants(z: Pair) -> np.ndarray[Any, Any] | None:
    """The numbers that a pair is known to be: an array of its shape, or one number that stands everywhere."""
    found: list[Any] = []
    for value in z:
        maker = value.producer
        source = maker.inputs[0] if maker is not None and maker.op_type == "broadcast" else value
        data = source.data if source is not None else None
        if data is None or (source is not value and data.size != 1):
            return None
        found.append(data.numpy())
    re, im = found
    made = np.empty(np.broadcast_shapes(re.shape, im.shape), np.result_type(re.dtype, np.complex64))
    made.real, made.imag = re, im
    return made


def _constant(op: Builder, array: np.ndarray[Any, Any], like: Value) -> Value:
    return fill(op, float(array), like) if array.shape == () else op.const(np.ascontiguousarray(array))


def absolute(op: Builder, z: Pair) -> Value:
    """The magnitude, without overflow on the way."""
    size, ratio = _polar(op, z)
    return op.multiply(size, op.sqrt(op.add(fill(op, 1.0, ratio), op.multiply(ratio, ratio))))


def _polar(op: Builder, z: Pair) -> tuple[Value, Value]:
    """(the larger part's size, the smaller one's over it); the ratio is 1 where both are equal, 0 and infinity too."""
    a, b = op.abs(z.re), op.abs(z.im)
    large, small = op.maximum(a, b), op.minimum(a, b)
    same = op.compare(large, small, direction="EQ")
    return large, op.select(same, fill(op, 1.0, large), op.divide(small, large))


def sign(op: Builder, z: Pair) -> Pair:
    """z / |z|, zero for zero."""
    size = absolute(op, z)
    zero = _is(op, size, 0.0)
    return Pair(
        op.select(zero, z.re, op.divide(z.re, size)),
        op.select(zero, z.im, op.divide(z.im, size)),
    )


# exponentials and logarithms ---------------------------------------------------------------------


def exponential(op: Builder, z: Pair) -> Pair:
    """e^a (cos b + i sin b); in two halves, so that a large factor may meet a small one."""
    half = op.exponential(op.multiply(z.re, fill(op, 0.5, z.re)))
    re = op.multiply(op.multiply(half, op.cosine(z.im)), half)
    im = op.multiply(op.multiply(half, op.sine(z.im)), half)
    return Pair(re, _unless_zero(op, z.im, im))


def _unless_zero(op: Builder, part: Value, result: Value) -> Value:
    """`result`, zero where `part` is zero: a factor beside it may be infinite."""
    return op.select(_is(op, part, 0.0), fill(op, 0.0, part), result)


def exponential_minus_one(op: Builder, z: Pair) -> Pair:
    """e^z - 1, exact near zero: expm1(a) cos b - 2 sin(b/2)^2, e^a sin b."""
    half = op.sine(op.multiply(z.im, fill(op, 0.5, z.im)))
    less = op.multiply(fill(op, 2.0, half), op.multiply(half, half))
    re = op.subtract(op.multiply(op.call("exponential-minus-one", z.re), op.cosine(z.im)), less)
    return Pair(re, exponential(op, z).im)


def logarithm(op: Builder, z: Pair) -> Pair:
    """ln |z| + i arg z."""
    return Pair(_log_size(op, z), op.atan2(z.im, z.re))


def _log_size(op: Builder, z: Pair) -> Value:
    size, ratio = _polar(op, z)
    return op.add(op.log(size), _half_log1p(op, op.multiply(ratio, ratio)))


def _half_log1p(op: Builder, x: Value) -> Value:
    return op.multiply(fill(op, 0.5, x), op.call("log-plus-one", x))


def log_plus_one(op: Builder, z: Pair) -> Pair:
    """ln(1 + z), exact near zero: there ln |1 + z| is log1p(a (2 + a) + b^2) / 2."""
    a, b = z
    beside = Pair(op.add(a, fill(op, 1.0, a)), b)
    excess = op.add(op.multiply(a, op.add(a, fill(op, 2.0, a))), op.multiply(b, b))
    near = _is(op, op.maximum(op.abs(a), op.abs(b)), 0.5, "LT")
    return Pair(op.select(near, _half_log1p(op, excess), _log_size(op, beside)), op.atan2(b, beside.re))


def power(op: Builder, x: Pair, y: Pair) -> Pair:
    """x^y = |x|^c e^(-d t) (cos q + i sin q), t the angle of x, q = c t + d ln|x|.

    Real for a positive x (or 0, if c >= 0) and a real y, where infinities would spoil q; 1^y and x^0 are 1.
    """
    size, angle = absolute(op, x), op.atan2(x.im, x.re)
    turned = op.add(op.multiply(y.re, angle), op.multiply(y.im, op.log(size)))
    straight = op.power(size, y.re)
    grown = op.multiply(straight, op.exponential(op.negate(op.multiply(y.im, angle))))
    re, im = op.multiply(grown, op.cosine(turned)), op.multiply(grown, op.sine(turned))

    exponent_real, base_real = _is(op, y.im, 0.0), _is(op, x.im, 0.0)
    zero = op.call("and", _is(op, x.re, 0.0), _is(op, y.re, 0.0, "GE"))
    positive = op.call("or", _is(op, x.re, 0.0, "GT"), zero)
    real = op.call("and", op.call("and", base_real, exponent_real), positive)
    nothing = op.call("and", _is(op, y.re, 0.0), exponent_real)
    one = op.call("or", op.call("and", _is(op, x.re, 1.0), base_real), nothing)
    re = op.select(one, fill(op, 1.0, re), op.select(real, straight, re))
    return Pair(re, op.select(op.call("or", one, real), fill(op, 0.0, im), im))


def square_root(op: Builder, z: Pair) -> Pair:
    """The root with a real part >= 0, above the axis for a negative number, whatever the sign of its 0i."""
    return _root(op, z, _is(op, z.im, 0.0, "LT"))


def _root(op: Builder, z: Pair, below: Value) -> Pair:
    """t = sqrt((|a| + |z|) / 2) and |b| / 2t, changed over where a < 0; its conjugate where z counts as `below`."""
    half = fill(op, 0.5, z.re)
    large = op.sqrt(op.add(op.multiply(op.abs(z.re), half), op.multiply(absolute(op, z), half)))
    small = op.multiply(op.divide(op.abs(z.im), large), half)
    small = op.select(_is(op, large, 0.0), large, small)
    small = op.select(_is(op, op.abs(z.im), math.inf), large, small)
    right = _is(op, z.re, 0.0, "GE")
    im = op.select(right, small, large)
    return Pair(op.select(right, large, small), op.select(below, op.negate(im), im))


def reciprocal_root(op: Builder, z: Pair) -> Pair:
    """1 / sqrt(z); here the sign of a negative number's 0i tells on which side of the axis it is."""
    negative_zero = _is(op, op.divide(fill(op, 1.0, z.im), z.im), 0.0, "LT")
    return _reciprocal(op, _root(op, z, op.call("or", _is(op, z.im, 0.0, "LT"), negative_zero)))


def _reciprocal(op: Builder, z: Pair) -> Pair:
    return divide(op, Pair(fill(op, 1.0, z.re), fill(op, 0.0, z.im)), z)


def logistic(op: Builder, z: Pair) -> Pair:
    """1 / (1 + e^-z)."""
    grown = exponential(op, Pair(op.negate(z.re), op.negate(z.im)))
    return _reciprocal(op, Pair(op.add(fill(op, 1.0, z.re), grown.re), grown.im))


# circular and hyperbolic -------------------------------------------------------------------------


def _hyperbolic(op: Builder, x: Value) -> tuple[Value, Value]:
    """(cosh x, sinh x)."""
    half, back = fill(op, 0.5, x), op.negate(x)
    cosh = op.multiply(half, op.add(op.exponential(x), op.exponential(back)))
    grown, shrunk = op.call("exponential-minus-one", x), op.call("exponential-minus-one", back)
    return cosh, op.multiply(half, op.subtract(grown, shrunk))


def sine(op: Builder, z: Pair) -> Pair:
    """sin a cosh b + i cos a sinh b."""
    cosh, sinh = _hyperbolic(op, z.im)
    return Pair(op.multiply(op.sine(z.re), cosh), op.multiply(op.cosine(z.re), sinh))


def cosine(op: Builder, z: Pair) -> Pair:
    """cos a cosh b - i sin a sinh b."""
    cosh, sinh = _hyperbolic(op, z.im)
    return Pair(op.multiply(op.cosine(z.re), cosh), op.multiply(op.negate(op.sine(z.re)), sinh))


def hyperbolic_tangent(op: Builder, z: Pair) -> Pair:
    """With s = 1 / cosh a: (tanh a + i s^2 sin b cos b) / (s^2 cos^2 b + tanh^2 a); tanh a where s^2 is nothing."""
    tangent = op.tanh(z.re)
    shrunk = op.exponential(op.negate(op.abs(z.re)))
    one = fill(op, 1.0, shrunk)
    secant = op.divide(op.add(shrunk, shrunk), op.add(one, op.multiply(shrunk, shrunk)))
    along, across = op.multiply(secant, op.cosine(z.im)), op.multiply(secant, op.sine(z.im))
    square = op.add(op.multiply(along, along), op.multiply(tangent, tangent))
    far = _is(op, secant, 0.0)
    re = op.select(far, tangent, op.divide(tangent, square))
    im = _unless_zero(op, z.im, op.divide(op.multiply(along, across), square))
    return Pair(re, op.select(far, fill(op, 0.0, im), im))


def tangent(op: Builder, z: Pair) -> Pair:
    """tan z = -i tanh(iz)."""
    turned = hyperbolic_tangent(op, Pair(op.negate(z.im), z.re))
    return Pair(turned.im, op.negate(turned.re))


def equal(op: Builder, x: Pair, y: Pair) -> Value:
    """Whether both parts are equal."""
    same = (op.compare(a, b, direction="EQ") for a, b in zip(x, y, strict=True))
    return op.call("and", *same)


def unequal(op: Builder, x: Pair, y: Pair) -> Value:
    """Whether either part differs."""
    differ = (op.compare(a, b, direction="NE") for a, b in zip(x, y, strict=True))
    return op.call("or", *differ)


FUNCTIONS: dict[str, Callable[..., Pair | Value]] = {
    "abs": absolute,
    "add": _each("add"),
    "complex": lambda op, re, im: Pair(re, im),
    "cosine": cosine,
    "divide": divide,
    "exponential": exponential,
    "exponential-minus-one": exponential_minus_one,
    "imag": lambda op, z: z.im,
    "log": logarithm,
    "log-plus-one": log_plus_one,
    "logistic": logistic,
    "multiply": multiply,
    "negate": _each("negate"),
    "power": power,
    "real": lambda op, z: z.re,
    "rsqrt": reciprocal_root,
    "sign": sign,
    "sine": sine,
    "sqrt": square_root,
    "subtract": _each("subtract"),
    "tan": tangent,
    "tanh": hyperbolic_tangent,
}
"""HLO opcode -> the same for pairs; one operand for each of the opcode's."""
