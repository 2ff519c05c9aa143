"""Integers: division that never fails, powers that wrap, shifts, counted bits, the high half of a product."""

from __future__ import annotations

from ....passes.build import where
from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.loop import Carried
from ....passes.loops.ranges import limits
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .arrays import NIBBLES, Array, arrays, signed, unsigned
from .elementwise import operand_arrays, sigmoid
from .support import Results, constant, filled_with

_EXPONENT_BITS = 6


def _may_be(x: Array, number: int) -> bool:
    """Whether an element may be this number; only of constants it is known that none is."""
    array = constant(x.value())
    return array is None or bool((array.astype(object) == number).any())


# division ------------------------------------------------------------------------------------------


@rule(DOMAIN, "divide", "remainder")
def divide(op: Builder, node: Node) -> Results:
    """divide, remainder (with the dividend's sign).

    Of integers divided by 0 they are -1 (every bit set) and the dividend; the least number divided by -1 is itself, the
    remainder 0. Neither reaches ONNX's Div, which doesn't say what it does then (ONNX Runtime's ends the process). A
    divisor that is a constant without 0 and -1 needs no guard.
    """
    a, b = operand_arrays(op, node, 2)
    dtype, quotient = a.dtype, node.op_type == "divide"
    if dtype.is_float:
        return ((sigmoid(a, b) or a.call("Div", b)) if quotient else a.call("Mod", b, fmod=1)).value()
    least = limits(dtype)[0]
    if dtype in NIBBLES:
        a, b = a.cast(DType.INT32), b.cast(DType.INT32)
    return _divided(a, b, quotient, least).narrow(dtype).value()


def _divided(a: Array, b: Array, quotient: bool, least: int) -> Array:
    dtype = b.dtype
    zero = b.equals(0) if _may_be(b, 0) else None
    fatal = dtype.is_signed and _may_be(b, -1) and _may_be(a, least)
    minus = b.equals(-1) if fatal else None
    bad = zero if minus is None else minus if zero is None else zero | minus
    safe = b if bad is None else where(bad, 1, b)
    # divided by 1 instead: the dividend and 0, from which each case is near
    if quotient:
        result = a.call("Div", safe)
    elif dtype.is_signed and dtype.bits > 32:  # with fmod, ONNX Runtime's Mod goes over float64
        result = a - a.call("Div", safe) * safe
    else:
        result = a.call("Mod", safe, fmod=int(dtype.is_signed))
    if minus is not None and quotient:
        result = where(minus, -a, result)
    if zero is not None:
        every_bit = -1 if dtype.is_signed else (1 << dtype.bits) - 1
        result = where(zero, every_bit if quotient else a, result)
    return result


# powers --------------------------------------------------------------------------------------------


@rule(DOMAIN, "power")
def power(op: Builder, node: Node) -> Results:
    """power. Of integers by squaring: ONNX Runtime's Pow goes over float64, which neither wraps nor holds 64 bits.

    XLA's CPU backend looks at the lowest six bits of the exponent, more only overflow (but of 0, 1 and -1), and takes
    unsigned ones for signed. To a negative power 1 and -1 are what they are, everything else 0.
    """
    base, exponent = arrays(op, input_of(node, 0), input_of(node, 1))
    dtype = base.dtype
    if dtype.is_float:
        base, exponent = operand_arrays(op, node, 2)
        return base.call("Pow", exponent).value()
    work = DType.INT32 if dtype in NIBBLES else signed(dtype)
    base, exponent = base.cast(work), exponent.cast(work)
    fixed = filled_with(exponent.value())
    if fixed is not None and int(fixed) >= 0:
        return _fixed_power(base, int(fixed) % (1 << _EXPONENT_BITS)).narrow(dtype).value()
    powers = _squared(base, exponent)
    odd = (exponent & 1).equals(1)
    unit = where(base.equals(-1), where(odd, base, 1), where(base.equals(1), base.like(1), 0))
    return where(exponent < 0, unit, powers).narrow(dtype).value()


def _fixed_power(base: Array, exponent: int) -> Array:
    result = None if exponent else _ones(base)
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        base = base * base if exponent else base
    assert result is not None
    return result


def _ones(like: Array) -> Array:
    return like.make(like.op.Expand(like.like(1), like.sizes(), _types=[like.value().type]))


def _squared(base: Array, exponent: Array) -> Array:
    """A loop over the exponent's bits; what a negative one comes to is of no interest."""
    ones = _ones(base)
    body = base.op.region("body")
    made, factor, left = arrays(body, *(body.input(name, ones.value().type) for name in ("power", "factor", "left")))
    more = where((left & 1).equals(1), made * factor, made)
    body.graph.outputs = [x.value() for x in (more, factor * factor, left.call("Div", 2))]
    trips = base.op.const(_EXPONENT_BITS, DType.INT64)
    state = [x.value() for x in (ones, base, exponent)]
    return base.make(base.op.loop(trips, None, [Carried()] * 3, state, body.graph)[0])


# shifts --------------------------------------------------------------------------------------------


@rule(DOMAIN, "shift-left", "shift-right-arithmetic", "shift-right-logical")
def shift(op: Builder, node: Node) -> Results:
    """The shifts, by as many bits as there are or more, or fewer than none, too: nothing is left but the sign of an
    arithmetic one, which is what BitShift-28 says."""
    x, amount = operand_arrays(op, node, 2)
    dtype = x.dtype
    if node.op_type == "shift-right-logical":
        work = DType.UINT32 if dtype.bits < 8 or dtype.bits == 16 else unsigned(dtype)
        return (_raw(x, work) >> _raw(amount, work)).narrow(dtype).value()
    left = node.op_type == "shift-left"
    if not left and not dtype.is_signed:
        # XLA shifts the highest bit in, whatever the type says of it
        x, amount = _with_sign(x, signed(dtype)), _with_sign(amount, signed(dtype))
    kind, work = x.dtype, DType.INT32 if x.dtype.is_signed else DType.UINT32
    if kind.bits < 8 or kind.bits == 16:
        x, amount = x.cast(work), amount.cast(work)
    made = (x << amount if left else x >> amount).narrow(kind)
    return _with_sign(made, dtype).value()


def _raw(x: Array, work: DType) -> Array:
    """The bits of an integer as an unsigned one of at least its width."""
    if x.dtype in NIBBLES and x.dtype.is_signed:
        return (x.cast(DType.INT32) & (1 << x.dtype.bits) - 1).cast(work)
    return _with_sign(x, unsigned(x.dtype)).cast(work)


def _with_sign(x: Array, dtype: DType) -> Array:
    """The same bits under the other sign."""
    return x.cast(DType.INT32).narrow(dtype) if x.dtype in NIBBLES and x.dtype is not dtype else x.cast(dtype)


# bits ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "popcnt", "count-leading-zeros")
def count_bits(op: Builder, node: Node) -> Results:
    """popcnt; count-leading-zeros as the bits left when all below the highest one are set."""
    (x,) = operand_arrays(op, node, 1)
    dtype = x.dtype
    if dtype in NIBBLES:
        raise Unsupported(node, f"XLA itself doesn't count the bits of {dtype.value} right")
    bits = _raw(x, DType.UINT64 if dtype.bits == 64 else DType.UINT32)
    if node.op_type == "popcnt":
        return _ones_in(bits).cast(dtype).value()
    step = 1
    while step < dtype.bits:
        bits = bits | bits >> step
        step *= 2
    return (dtype.bits - _ones_in(bits)).cast(dtype).value()


def _ones_in(bits: Array) -> Array:
    """The number of ones: of every two bits, four bits and eight bits, and of all bytes by a product."""
    width = bits.dtype.bits

    def repeated(byte: int) -> int:
        return int.from_bytes([byte] * (width // 8), "little")

    twos = bits - (bits >> 1 & repeated(0x55))
    fours = (twos & repeated(0x33)) + (twos >> 2 & repeated(0x33))
    eights = fours + (fours >> 4) & repeated(0x0F)
    return eights * repeated(0x01) >> width - 8


@rule(DOMAIN, "mulhi")
def multiply_high(op: Builder, node: Node) -> Results:
    """mulhi: the upper half of the product, which has twice the bits."""
    a, b = operand_arrays(op, node, 2)
    dtype = a.dtype
    if dtype in NIBBLES:
        raise Unsupported(node, f"the high half of a product of {dtype.value}")
    if dtype.bits < 64:
        work = DType.INT64 if dtype.is_signed else DType.UINT64
        return (a.cast(work) * b.cast(work) >> dtype.bits).cast(dtype).value()
    high = _high_half(_with_sign(a, DType.UINT64), _with_sign(b, DType.UINT64))
    if not dtype.is_signed:
        return high.value()
    # as unsigned, a negative factor is 2**64 too large
    return (_with_sign(high, dtype) - where(a < 0, b, 0) - where(b < 0, a, 0)).value()


def _high_half(a: Array, b: Array) -> Array:
    """Of uint64, by four products of 32 bits."""
    mask = 0xFFFFFFFF
    (a_low, a_high), (b_low, b_high) = ((x & mask, x >> 32) for x in (a, b))
    first = a_high * b_low + (a_low * b_low >> 32)
    second = a_low * b_high + (first & mask)
    return a_high * b_high + (first >> 32) + (second >> 32)


RULES = collect(globals())
