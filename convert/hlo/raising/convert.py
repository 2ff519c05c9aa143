"""Another element type or a coarser number: convert, reduce-precision, stochastic-convert."""

from __future__ import annotations

import math

import numpy as np

from ....passes.build import MOST_FOLDED, cast
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.loops.ranges import limits
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .bits import SAME_WIDTH, bit_cast
from .support import Results, dtype_of, given
from .type_legalization import FLOAT8, HALVES, NIBBLES, call, narrowed, number, operands, unsigned, widened

_FLOATS = (DType.FLOAT32, DType.FLOAT64)


@rule(DOMAIN, "convert")
def convert(op: Builder, node: Node) -> Results:
    """convert: integers wrap; a float that an integer can't hold becomes its least or largest, NaN 0; floats round."""
    return converted(op, node, given(node, 0), dtype_of(node, node.output))


def converted(op: Builder, node: Node, x: Value, dtype: DType) -> Value:
    """`x` as `dtype` by HLO's rules."""
    before = dtype_of(node, x)
    if before is dtype:
        return x
    if dtype is DType.BOOL:
        wide = _plain(op, x) if before in (*NIBBLES, *FLOAT8) else x
        # ONNX Runtime leaves the first of two Casts out, and -0 of 8 bits is true then
        return cast(op, x, dtype) if wide is x else op.Not(op.Equal(wide, number(op, 0, wide)))
    if dtype.is_integer:
        if before.is_float:
            return _whole(op, _plain(op, x), dtype)
        return narrowed(op, _plain(op, x) if dtype in NIBBLES else x, dtype)
    if dtype is DType.FLOAT8E8M0:
        raise Unsupported(node, "ONNX drops the sign where XLA makes NaN of negative numbers in f8e8m0fnu")
    if _two_steps(before, dtype):
        x = cast(op, x, DType.FLOAT32)
    if dtype is DType.FLOAT4E2M1:
        x = call(op, "Where", op.IsNaN(x), number(op, -0.0, x), x)
    return narrowed(op, x, dtype)


def _plain(op: Builder, x: Value) -> Value:
    """Values of a type with few bits in one that can be computed with."""
    dtype = x.tensor.dtype
    assert dtype is not None
    if dtype in NIBBLES or dtype is DType.BOOL:
        return cast(op, x, DType.INT32)
    if dtype.is_integer:
        return x if dtype.bits == 32 else cast(op, x, DType.INT32)
    return x if dtype in _FLOATS else widened(op, x)


def _two_steps(before: DType, dtype: DType) -> bool:
    """Whether XLA's CPU backend rounds to float32 first, which others needn't."""
    if dtype in _FLOATS or before in HALVES:
        return before in NIBBLES and dtype not in _FLOATS
    return before is not DType.FLOAT32 and before not in FLOAT8


def _whole(op: Builder, x: Value, dtype: DType) -> Value:
    """A float32 or float64 cut off to an integer, held within its range first."""
    least, most = limits(dtype)
    number_ = x.tensor.dtype
    assert number_ is not None
    if x.data is not None and x.data.size <= MOST_FOLDED:
        found = [min(max(_cut(item), least), most) for item in x.data.numpy().reshape(-1).tolist()]
        return op.const(np.array(found, dtype=object).reshape(x.data.shape), dtype)
    x = op.Where(op.IsNaN(x), number(op, 0, x), x)
    if dtype in NIBBLES:
        inside = op.Clip(x, number(op, least, x), number(op, most, x))
        return cast(op, cast(op, inside, DType.INT32), dtype)
    if number_ is DType.FLOAT32 and dtype.bits == 32:
        x, number_ = cast(op, x, DType.FLOAT64), DType.FLOAT64  # which holds both ends
    if int(number_.numpy.type(most)) == most:
        return cast(op, op.Clip(x, number(op, least, x), number(op, most, x)), dtype)
    below = np.nextafter(number_.numpy.type(most), number_.numpy.type(0))
    inside = cast(op, op.Clip(x, number(op, least, x), number(op, below, x)), dtype)
    return call(op, "Where", op.Greater(x, number(op, below, x)), number(op, most, inside), inside)


def _cut(item: float) -> int:
    """A number without its fraction; NaN is 0, infinities are beyond every integer type."""
    if math.isnan(item):
        return 0
    return int(math.copysign(1 << 64, item)) if math.isinf(item) else int(item)


# coarser numbers -----------------------------------------------------------------------------------

_EXPONENT = {DType.BFLOAT16: 8, DType.FLOAT16: 5, DType.FLOAT32: 8, DType.FLOAT64: 11}
_STORED = {(DType.FLOAT32, 5, 10): DType.FLOAT16, (DType.FLOAT64, 8, 23): DType.FLOAT32}


@rule(DOMAIN, "reduce-precision")
def reduce_precision(op: Builder, node: Node) -> Results:
    """reduce-precision: rounded to so many bits of fraction; what is too large becomes infinite, a denormal 0."""
    (x,) = operands(node, 1)
    dtype = dtype_of(node, x)
    exponent, fraction = (node.attributes.get(f"{what}_bits") for what in ("exponent", "mantissa"))
    if not (isinstance(exponent, int) and isinstance(fraction, int) and exponent > 0 and fraction >= 0):
        raise InvalidModel(f"{node!r}: {exponent} bits of exponent and {fraction} of fraction")
    if dtype not in _EXPONENT:
        raise Unsupported(node, f"coarser numbers of {dtype.value}")
    own = _EXPONENT[dtype]
    bias = (1 << (exponent - 1)) - 1
    stored = _STORED.get((dtype, exponent, fraction))
    if stored is not None:
        # in its denormals a stored number is rounded otherwise: what doesn't reach the first normal one is told before
        return _from(op, x, x, cast(op, cast(op, x, stored), dtype), 2.0 ** (1 - bias) * (1 - 2.0 ** -(fraction + 2)))
    fraction = min(fraction, dtype.bits - own - 1)
    rounded = _rounded(op, x, dtype, fraction)
    if exponent >= own:
        return rounded
    most = number(op, 2.0**bias * (2 - 2.0**-fraction), x)
    limited = op.Where(op.Greater(op.Abs(rounded), most), op.Mul(x, number(op, np.inf, x)), rounded)
    return _from(op, x, rounded, limited, 2.0 ** (1 - bias))


def _from(op: Builder, x: Value, size: Value, made: Value, least: float) -> Value:
    """`made` where a number has at least the size `least` or isn't one, else a zero with the sign of `x`."""
    kept = op.Or(op.GreaterOrEqual(op.Abs(size), number(op, least, x)), op.IsNaN(x))
    return op.Where(kept, made, op.Mul(x, number(op, 0, x)))


def _rounded(op: Builder, x: Value, dtype: DType, fraction: int) -> Value:
    """To the nearest number with so many bits of fraction, the even one of two: an addition to the bits, which carries
    into the exponent."""
    dropped = dtype.bits - _EXPONENT[dtype] - 1 - fraction
    if not dropped:
        return x
    if dtype is DType.FLOAT32 and fraction == 7:
        return cast(op, cast(op, x, DType.BFLOAT16), dtype)
    width = unsigned(SAME_WIDTH[dtype])
    bits = cast(op, bit_cast(op, x, width), DType.UINT64 if dtype.bits == 64 else DType.UINT32)
    last = op.BitwiseAnd(op.BitShift(bits, number(op, dropped, bits), direction="RIGHT"), number(op, 1, bits))
    bits = op.Add(op.Add(bits, last), number(op, (1 << (dropped - 1)) - 1, bits))
    kept = op.BitwiseAnd(bits, number(op, (1 << dtype.bits) - (1 << dropped), bits))
    return op.Where(op.IsNaN(x), x, bit_cast(op, cast(op, kept, width), dtype))


@rule(DOMAIN, "stochastic-convert")
def stochastic_convert(op: Builder, node: Node) -> Results:
    """stochastic-convert, to signed integers: away from zero where the fraction, in the bits of the random number's
    type, is more than the random number; what an integer can't hold as in convert, but NaN as 0 of it."""
    x, random = operands(node, 2)
    dtype, kind = dtype_of(node, node.output), dtype_of(node, random)
    if not dtype.is_integer or not dtype.is_signed or dtype in NIBBLES:
        raise Unsupported(node, f"XLA itself has no stochastic-convert to {dtype.value}")
    x = widened(op, x)
    size = op.Abs(x)
    whole = op.Floor(size)
    fraction = op.Mul(op.Sub(size, whole), number(op, 2.0**kind.bits, x))
    up = op.Less(random, _whole(op, fraction, kind))
    made = _whole(op, whole, dtype)
    made = call(op, "Where", up, op.Add(made, number(op, 1, made)), made)
    made = call(op, "Where", op.Less(x, number(op, 0, x)), op.Neg(made), made)
    for end, beyond in zip(limits(dtype), (op.LessOrEqual, op.GreaterOrEqual), strict=True):
        made = call(op, "Where", beyond(x, number(op, end, x)), number(op, end, made), made)
    return made


RULES = collect(globals())
