"""Integers: division that never fails, powers that wrap, shifts, counted bits, the high half of a product."""

from __future__ import annotations

from ....passes.build import cast
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import Carried
from ....passes.loops.ranges import limits
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .patterns import sigmoid
from .support import Results, dtype_of, given
from .type_legalization import NIBBLES, call, constant, filled_with, narrowed, number, operands, signed, unsigned

_EXPONENT_BITS = 6


def _may_be(value: Value, number_: int) -> bool:
    """Whether an element may be this number; only of constants it is known that none is."""
    array = constant(value)
    return array is None or bool((array.astype(object) == number_).any())


# division ------------------------------------------------------------------------------------------


@rule(DOMAIN, "divide", "remainder")
def divide(op: Builder, node: Node) -> Results:
    """divide, remainder (with the dividend's sign).

    Of integers divided by 0 they are -1 (every bit set) and the dividend; the least number divided by -1 is itself, the
    remainder 0. Neither reaches ONNX's Div, which doesn't say what it does then (ONNX Runtime's ends the process). A
    divisor that is a constant without 0 and -1 needs no guard.
    """
    a, b = operands(node, 2)
    dtype = dtype_of(node, a)
    quotient = node.op_type == "divide"
    if dtype.is_float:
        return (sigmoid(op, a, b) or call(op, "Div", a, b)) if quotient else call(op, "Mod", a, b, fmod=1)
    if dtype in NIBBLES:
        a, b = cast(op, a, DType.INT32), cast(op, b, DType.INT32)
        return narrowed(op, _divided(op, a, b, quotient, limits(dtype)[0]), dtype)
    return _divided(op, a, b, quotient, limits(dtype)[0])


def _divided(op: Builder, a: Value, b: Value, quotient: bool, least: int) -> Value:
    dtype = b.tensor.dtype
    assert dtype is not None
    zero = op.Equal(b, number(op, 0, b)) if _may_be(b, 0) else None
    fatal = dtype.is_signed and _may_be(b, -1) and _may_be(a, least)
    minus = op.Equal(b, number(op, -1, b)) if fatal else None
    bad = zero if minus is None else minus if zero is None else op.Or(zero, minus)
    safe = b if bad is None else call(op, "Where", bad, number(op, 1, b), b)
    # divided by 1 instead: the dividend and 0, from which each case is near
    made = op.Div(a, safe) if quotient else a
    if not quotient:  # with fmod, ONNX Runtime's Mod goes over float64
        exact = not dtype.is_signed or dtype.bits <= 32
        made = op.Mod(a, safe, fmod=int(dtype.is_signed)) if exact else op.Sub(a, op.Mul(op.Div(a, safe), safe))
    if minus is not None and quotient:
        made = call(op, "Where", minus, op.Neg(a), made)
    if zero is not None:
        everything = number(op, -1 if dtype.is_signed else (1 << dtype.bits) - 1, b)
        made = call(op, "Where", zero, everything if quotient else a, made)
    return made


# powers --------------------------------------------------------------------------------------------


@rule(DOMAIN, "power")
def power(op: Builder, node: Node) -> Results:
    """power. Of integers by squaring: ONNX Runtime's Pow goes over float64, which neither wraps nor holds 64 bits.

    XLA's CPU backend looks at the lowest six bits of the exponent, more only overflow (but of 0, 1 and -1), and takes
    unsigned ones for signed. To a negative power 1 and -1 are what they are, everything else 0.
    """
    base, exponent = given(node, 0), given(node, 1)
    dtype = dtype_of(node, base)
    if dtype.is_float:
        return call(op, "Pow", *operands(node, 2))
    work = DType.INT32 if dtype in NIBBLES else signed(dtype)
    base, exponent = (cast(op, value, work) for value in (base, exponent))
    fixed = filled_with(exponent)
    if fixed is not None and int(fixed) >= 0:
        return narrowed(op, _fixed_power(op, base, int(fixed) % (1 << _EXPONENT_BITS)), dtype)
    made = _squared(op, base, exponent)
    one, zero = number(op, 1, base), number(op, 0, base)
    odd = op.Equal(op.BitwiseAnd(exponent, one), one)
    unit = call(op, "Where", op.Equal(base, one), one, zero)
    unit = call(op, "Where", op.Equal(base, number(op, -1, base)), call(op, "Where", odd, base, one), unit)
    return narrowed(op, call(op, "Where", op.Less(exponent, zero), unit, made), dtype)


def _fixed_power(op: Builder, base: Value, exponent: int) -> Value:
    made = None if exponent else _ones(op, base)
    while exponent:
        if exponent & 1:
            made = base if made is None else op.Mul(made, base)
        exponent >>= 1
        base = op.Mul(base, base) if exponent else base
    assert made is not None
    return made


def _ones(op: Builder, like: Value) -> Value:
    shape = like.tensor.static_shape
    sizes = op.Shape(like) if shape is None else op.const(list(shape), DType.INT64)
    return op.Expand(number(op, 1, like), sizes, _types=[like.type])


def _squared(op: Builder, base: Value, exponent: Value) -> Value:
    """A loop over the exponent's bits; what a negative one comes to is of no interest."""
    ones = _ones(op, base)
    body = op.region("body")
    made, factor, left = (body.input(name, ones.type) for name in ("power", "factor", "left"))
    odd = body.Equal(body.BitwiseAnd(left, number(body, 1, base)), number(body, 1, base))
    more = call(body, "Where", odd, body.Mul(made, factor), made)
    body.graph.outputs = [more, body.Mul(factor, factor), body.Div(left, number(body, 2, base))]
    trips = op.const(_EXPONENT_BITS, DType.INT64)
    return op.loop(trips, None, [Carried()] * 3, [ones, base, exponent], body.graph)[0]


# shifts --------------------------------------------------------------------------------------------


@rule(DOMAIN, "shift-left", "shift-right-arithmetic", "shift-right-logical")
def shift(op: Builder, node: Node) -> Results:
    """The shifts, by as many bits as there are or more, or fewer than none, too: nothing is left but the sign of an
    arithmetic one, which is what BitShift-28 says."""
    x, amount = operands(node, 2)
    dtype = dtype_of(node, x)
    if node.op_type == "shift-right-logical":
        kind = unsigned(dtype)
        work = DType.UINT32 if dtype.bits < 8 or dtype.bits == 16 else kind
        made = op.BitShift(_raw(op, x, work), _raw(op, amount, work), direction="RIGHT")
        return narrowed(op, made, dtype)
    left = node.op_type == "shift-left"
    if not left and not dtype.is_signed:
        # XLA shifts the highest bit in, whatever the type says of it
        return _as(op, _shifted(op, _as(op, x, signed(dtype)), _as(op, amount, signed(dtype)), left), dtype)
    return _shifted(op, x, amount, left)


def _shifted(op: Builder, x: Value, amount: Value, left: bool) -> Value:
    dtype = x.tensor.dtype
    assert dtype is not None
    if dtype.bits >= 8 and dtype.bits != 16:
        return op.BitShift(x, amount, direction="LEFT" if left else "RIGHT")
    work = DType.INT32 if dtype.is_signed else DType.UINT32
    wide = [cast(op, value, work) for value in (x, amount)]
    return narrowed(op, op.BitShift(*wide, direction="LEFT" if left else "RIGHT"), dtype)


def _raw(op: Builder, value: Value, work: DType) -> Value:
    """The bits of an integer as an unsigned one of at least its width."""
    dtype = value.tensor.dtype
    assert dtype is not None
    if dtype in NIBBLES and dtype.is_signed:
        wide = cast(op, value, DType.INT32)
        return cast(op, op.BitwiseAnd(wide, number(op, (1 << dtype.bits) - 1, wide)), work)
    return cast(op, _as(op, value, unsigned(dtype)), work)


def _as(op: Builder, value: Value, dtype: DType) -> Value:
    """The same bits under the other sign."""
    if value.tensor.dtype in NIBBLES and value.tensor.dtype is not dtype:
        return narrowed(op, cast(op, value, DType.INT32), dtype)
    return cast(op, value, dtype)


# bits ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "popcnt", "count-leading-zeros")
def count_bits(op: Builder, node: Node) -> Results:
    """popcnt; count-leading-zeros as the bits left when all below the highest one are set."""
    (x,) = operands(node, 1)
    dtype = dtype_of(node, x)
    if dtype in NIBBLES:
        raise Unsupported(node, f"XLA itself doesn't count the bits of {dtype.value} right")
    work = DType.UINT64 if dtype.bits == 64 else DType.UINT32
    bits = _raw(op, x, work)
    if node.op_type == "popcnt":
        return cast(op, _counted(op, bits), dtype)
    step = 1
    while step < dtype.bits:
        bits = op.BitwiseOr(bits, _right(op, bits, step))
        step *= 2
    return cast(op, op.Sub(number(op, dtype.bits, bits), _counted(op, bits)), dtype)


def _right(op: Builder, bits: Value, count: int) -> Value:
    return op.BitShift(bits, number(op, count, bits), direction="RIGHT")


def _counted(op: Builder, bits: Value) -> Value:
    """The number of ones: of every two bits, four bits and eight bits, and of all bytes by a product."""
    assert bits.tensor.dtype is not None
    width = bits.tensor.dtype.bits

    def repeated(byte: int) -> Value:
        return number(op, int.from_bytes([byte] * (width // 8), "little"), bits)

    twos = op.Sub(bits, op.BitwiseAnd(_right(op, bits, 1), repeated(0x55)))
    fours = op.Add(op.BitwiseAnd(twos, repeated(0x33)), op.BitwiseAnd(_right(op, twos, 2), repeated(0x33)))
    eights = op.BitwiseAnd(op.Add(fours, _right(op, fours, 4)), repeated(0x0F))
    return _right(op, op.Mul(eights, repeated(0x01)), width - 8)


@rule(DOMAIN, "mulhi")
def multiply_high(op: Builder, node: Node) -> Results:
    """mulhi: the upper half of the product, which has twice the bits."""
    a, b = operands(node, 2)
    dtype = dtype_of(node, a)
    if dtype in NIBBLES:
        raise Unsupported(node, f"the high half of a product of {dtype.value}")
    if dtype.bits < 64:
        work = DType.INT64 if dtype.is_signed else DType.UINT64
        product = op.Mul(cast(op, a, work), cast(op, b, work))
        return cast(op, op.BitShift(product, number(op, dtype.bits, product), direction="RIGHT"), dtype)
    high = _high_half(op, *(_as(op, value, DType.UINT64) for value in (a, b)))
    if not dtype.is_signed:
        return high
    # as unsigned, a negative factor is 2**64 too large
    high = _as(op, high, dtype)
    for one, other in ((a, b), (b, a)):
        negative = op.Less(one, number(op, 0, one))
        high = op.Sub(high, call(op, "Where", negative, other, number(op, 0, other)))
    return high


def _high_half(op: Builder, a: Value, b: Value) -> Value:
    """Of uint64, by four products of 32 bits."""
    mask = number(op, 0xFFFFFFFF, a)
    (a_low, a_high), (b_low, b_high) = ((op.BitwiseAnd(value, mask), _right(op, value, 32)) for value in (a, b))
    first = op.Add(op.Mul(a_high, b_low), _right(op, op.Mul(a_low, b_low), 32))
    second = op.Add(op.Mul(a_low, b_high), op.BitwiseAnd(first, mask))
    return op.Add(op.Mul(a_high, b_high), op.Add(_right(op, first, 32), _right(op, second, 32)))


RULES = collect(globals())
