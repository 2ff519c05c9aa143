"""Another element type, a coarser number, or the same bits taken for something else: convert, reduce-precision,
stochastic-convert, bitcast-convert; compare, which may go by the bits.
"""

from __future__ import annotations

import functools
import math
import operator

import numpy as np

from ....passes.build import MOST_FOLDED, where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.loops.ranges import limits
from ....passes.preconditions import dtype_of, input_of
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import HALVES, DType
from ..dialect import DOMAIN
from ..expression import COMPARED
from .arrays import FLOAT8, NIBBLES, Array, unsigned
from .elementwise import operand_arrays
from .support import Results, filled_with, made_by, shape_of

SAME_WIDTH: dict[DType, DType] = {
    DType.FLOAT8E4M3FN: DType.INT8,
    DType.FLOAT8E4M3FNUZ: DType.INT8,
    DType.FLOAT8E5M2: DType.INT8,
    DType.FLOAT8E5M2FNUZ: DType.INT8,
    DType.FLOAT8E8M0: DType.INT8,
    DType.FLOAT16: DType.INT16,
    DType.BFLOAT16: DType.INT16,
    DType.FLOAT32: DType.INT32,
    DType.FLOAT64: DType.INT64,
}
"""Floats -> the signed integer of their width."""

_UNSIGNED = {8: DType.UINT8, 16: DType.UINT16, 32: DType.UINT32, 64: DType.UINT64}
_DIRECTIONS = {direction: name for name, direction in COMPARED.items()}


def bit_cast(x: Array, dtype: DType) -> Array:
    """The bits of `x` as another type of the same width; a Cast does it between integers."""
    if x.dtype is dtype:
        return x
    value = x.value()
    if x.dtype.is_integer and dtype.is_integer and dtype not in NIBBLES:
        return x.make(x.op.Cast(value, to=enum_of(dtype, value.name)))
    data = value.data
    if data is not None and data.size <= MOST_FOLDED:
        return x.make(x.op.const(data.numpy().reshape(data.shape).view(dtype.numpy), dtype))
    return x.make(x.op.BitCast(value, to=enum_of(dtype, value.name)))


@rule(DOMAIN, "bitcast-convert")
def bitcast_convert(op: Builder, node: Node) -> Results:
    """bitcast-convert: into a narrower type with a dimension more, for its parts from the lowest bits up; or back."""
    x, after = Array(op, input_of(node, 0)), dtype_of(node, node.output)
    before = x.dtype
    if DType.BOOL in (before, after) and before is not after:
        raise Unsupported(node, "the bits of pred aren't specified")
    if before.bits == after.bits:
        return (_between_one_and_two(x, after) or bit_cast(x, after)).value()
    wide, narrow = max(before.bits, after.bits), min(before.bits, after.bits)
    if wide % narrow or wide not in _UNSIGNED:
        raise InvalidModel(f"{node!r}: {before.value} can't be read as {after.value}")
    count = wide // narrow
    if before.bits == wide:
        return _split_bits(x, after, count).value()
    shape = shape_of(node, input_of(node, 0))
    if not shape or shape[-1] != count:
        raise InvalidModel(f"{node!r}: its last dimension must be {count}, for {after.value}")
    return _combined_bits(x, after, count).value()


def _between_one_and_two(x: Array, after: DType) -> Array | None:
    """What random fractions are made of: 1 + n / 2**23 where the bits are those of n, shifted right until they fit the
    fraction, or those of 1. ONNX has no BitCast before opset 26, and this says it better."""
    fraction = {DType.FLOAT32: 23, DType.FLOAT64: 52}.get(after)
    either = made_by(x.value(), "BitwiseOr")
    if fraction is None or either is None:
        return None
    one = ((1 << (after.bits - fraction - 2)) - 1) << fraction
    bits = [value for value in either.inputs if value is not None and filled_with(value) != one]
    shift = made_by(bits[0], "BitShift") if len(bits) == 1 else None
    if shift is None or shift.inputs[1] is None or bits[0].tensor.dtype not in _UNSIGNED.values():
        return None
    amount = filled_with(shift.inputs[1])
    if shift.attributes.get("direction") != "RIGHT" or amount is None or int(amount) < after.bits - fraction:
        return None
    return x.make(bits[0]).cast(after) * 2.0**-fraction + 1


def _split_bits(x: Array, after: DType, count: int) -> Array:
    bits = _wide(bit_cast(x, _UNSIGNED[x.dtype.bits])).unsqueeze(-1)
    parts = bits >> np.arange(count) * after.bits
    if after in NIBBLES:
        return (parts & 255).cast(DType.INT32).narrow(after)
    return bit_cast(parts.cast(_UNSIGNED[after.bits]), after)


def _combined_bits(x: Array, after: DType, count: int) -> Array:
    before = x.dtype
    if before in NIBBLES:
        parts = x.cast(DType.INT32) & (1 << before.bits) - 1
    else:
        parts = bit_cast(x, _UNSIGNED[before.bits])
    parts = _wide(parts.cast(DType.UINT64 if after.bits == 64 else DType.UINT32))
    moved = parts << np.arange(count) * before.bits
    # ONNX Runtime's ReduceSum of int64 goes over float64
    whole = functools.reduce(operator.or_, moved.cast(DType.INT64).split(count, axis=-1))
    whole = x.make(x.op.Squeeze(whole, x.op.const([-1])))
    return bit_cast(whole.cast(_UNSIGNED[after.bits]), after)


def _wide(bits: Array) -> Array:
    """Unsigned integers that ONNX Runtime shifts."""
    return bits if bits.dtype is DType.UINT64 else bits.cast(DType.UINT32)


# comparisons -----------------------------------------------------------------------------------------


@rule(DOMAIN, "compare")
def compare(op: Builder, node: Node) -> Results:
    """compare: NaN is equal to nothing, unless the type is TOTALORDER (then -NaN < -inf < -0 < +0 < inf < NaN)."""
    a, b = operand_arrays(op, node, 2)
    direction = node.attributes["direction"]
    if a.dtype is DType.BOOL:
        return _of_booleans(direction, a, b).value()
    if a.dtype.is_float and node.attributes.get("type") == "TOTALORDER":
        a, b = _in_total_order(a), _in_total_order(b)
    elif a.dtype.is_float and a.value() is b.value() and direction in ("NE", "EQ"):
        nan = a.isnan()  # the only thing that isn't what it is
        return (nan if direction == "NE" else ~nan).value()
    return (~a.equals(b) if direction == "NE" else a.call(_DIRECTIONS[direction], b)).value()


def _of_booleans(direction: str, a: Array, b: Array) -> Array:
    match direction:
        case "EQ":
            return a.equals(b)
        case "NE":
            return a ^ b
        case "LT":
            return ~a & b
        case "LE":
            return ~a | b
        case "GT":
            return a & ~b
        case _:
            return a | ~b


def _in_total_order(x: Array) -> Array:
    """Integers in the order of the floats: their bits, where the sign is set all the others turned round."""
    width = x.dtype.bits
    bits = bit_cast(x, SAME_WIDTH[x.dtype])
    bits = bits.cast(DType.INT32) if width < 32 else bits
    return where(bits < 0, bits ^ (1 << (width - 1)) - 1, bits)


_FLOATS = (DType.FLOAT32, DType.FLOAT64)


@rule(DOMAIN, "convert")
def convert(op: Builder, node: Node) -> Results:
    """convert: integers wrap; a float that an integer can't hold becomes its least or largest, NaN 0; floats round."""
    return converted(node, Array(op, input_of(node, 0)), dtype_of(node, node.output)).value()


def converted(node: Node, x: Array, dtype: DType) -> Array:
    """`x` as `dtype` by HLO's rules."""
    before = x.dtype
    if before is dtype:
        return x
    if dtype is DType.BOOL:
        # ONNX Runtime leaves the first of two Casts out, and -0 of 8 bits is true then
        return ~_plain(x).equals(0) if before in (*NIBBLES, *FLOAT8) else x.cast(dtype)
    if dtype.is_integer:
        if before.is_float:
            return _truncated_in_range(_plain(x), dtype)
        return (_plain(x) if dtype in NIBBLES else x).narrow(dtype)
    if dtype is DType.FLOAT8E8M0:
        raise Unsupported(node, "ONNX drops the sign where XLA makes NaN of negative numbers in f8e8m0fnu")
    if _two_steps(before, dtype):
        x = x.cast(DType.FLOAT32)
    if dtype is DType.FLOAT4E2M1:
        x = where(x.isnan(), -0.0, x)
    return x.narrow(dtype)


def _plain(x: Array) -> Array:
    """Values of a type with few bits in one that can be computed with."""
    if x.dtype in NIBBLES or x.dtype is DType.BOOL or (x.dtype.is_integer and x.dtype.bits != 32):
        return x.cast(DType.INT32)
    return x.widen()


def _two_steps(before: DType, dtype: DType) -> bool:
    """Whether XLA's CPU backend rounds to float32 first, which others needn't (nor XLA itself from float64 to float16
    on processors that have an instruction for it; ONNX Runtime and OpenVINO do)."""
    if dtype in _FLOATS or before in HALVES:
        return before in NIBBLES and dtype not in _FLOATS
    return before is not DType.FLOAT32 and before not in FLOAT8


def _truncated_in_range(x: Array, dtype: DType) -> Array:
    """A float32 or float64 cut off to an integer, clamped to its range first."""
    least, most = limits(dtype)
    data = x.value().data
    if data is not None and data.size <= MOST_FOLDED:
        found = [min(max(_truncated(item), least), most) for item in data.numpy().reshape(-1).tolist()]
        return x.make(x.op.const(np.array(found, dtype=object).reshape(data.shape), dtype))
    x = where(x.isnan(), 0, x)
    if dtype in NIBBLES:
        return x.call("Clip", least, most).cast(DType.INT32).cast(dtype)
    if x.dtype is DType.FLOAT32 and dtype.bits == 32:
        x = x.cast(DType.FLOAT64)  # which holds both ends
    kind = x.dtype.numpy.type
    if int(kind(most)) == most:
        return x.call("Clip", least, most).cast(dtype)
    below = np.nextafter(kind(most), kind(0))
    return where(x > below, most, x.call("Clip", least, below).cast(dtype))


def _truncated(item: float) -> int:
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
    (x,) = operand_arrays(op, node, 1)
    dtype = x.dtype
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
        least = 2.0 ** (1 - bias) * (1 - 2.0 ** -(fraction + 2))
        return _from(x, x, x.cast(stored).cast(dtype), least).value()
    fraction = min(fraction, dtype.bits - own - 1)
    rounded = _rounded(x, fraction)
    if exponent >= own:
        return rounded.value()
    most = 2.0**bias * (2 - 2.0**-fraction)
    limited = where(rounded.abs() > most, x * np.inf, rounded)
    return _from(x, rounded, limited, 2.0 ** (1 - bias)).value()


def _from(x: Array, size: Array, made: Array, least: float) -> Array:
    """`made` where a number has at least the size `least` or isn't one, else a zero with the sign of `x`."""
    return where((size.abs() >= least) | x.isnan(), made, x * 0)


def _rounded(x: Array, fraction: int) -> Array:
    """To the nearest number with so many bits of fraction, the even one of two: an addition to the bits, which carries
    into the exponent."""
    dtype = x.dtype
    dropped = dtype.bits - _EXPONENT[dtype] - 1 - fraction
    if not dropped:
        return x
    if dtype is DType.FLOAT32 and fraction == 7:
        return x.cast(DType.BFLOAT16).cast(dtype)
    width = unsigned(SAME_WIDTH[dtype])
    bits = bit_cast(x, width).cast(DType.UINT64 if dtype.bits == 64 else DType.UINT32)
    last = bits >> dropped & 1
    bits = bits + last + ((1 << (dropped - 1)) - 1)
    kept = bits & (1 << dtype.bits) - (1 << dropped)
    return where(x.isnan(), x, bit_cast(kept.cast(width), dtype))


@rule(DOMAIN, "stochastic-convert")
def stochastic_convert(op: Builder, node: Node) -> Results:
    """stochastic-convert, to signed integers: away from zero where the fraction, in the bits of the random number's
    type, is more than the random number; what an integer can't hold as in convert, but NaN as 0 of it."""
    x, random = operand_arrays(op, node, 2)
    dtype = dtype_of(node, node.output)
    if not dtype.is_integer or not dtype.is_signed or dtype in NIBBLES:
        raise Unsupported(node, f"XLA itself has no stochastic-convert to {dtype.value}")
    x = x.widen()
    size = x.abs()
    floor = size.floor()
    up = random < _truncated_in_range((size - floor) * 2.0**random.dtype.bits, random.dtype)
    magnitude = _truncated_in_range(floor, dtype)
    magnitude = where(up, magnitude + 1, magnitude)
    magnitude = where(x < 0, -magnitude, magnitude)
    least, most = limits(dtype)
    magnitude = where(x <= least, least, magnitude)
    return where(x >= most, most, magnitude).value()


RULES = collect(globals())
