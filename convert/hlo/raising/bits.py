"""Bits taken for something else, and floats compared by them: bitcast-convert, compare."""

from __future__ import annotations

import functools
import operator

import numpy as np

from ....passes.build import MOST_FOLDED, where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, given
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from ..expression import COMPARED
from .arrays import NIBBLES, Array
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
    x, after = Array(op, given(node, 0)), dtype_of(node, node.output)
    before = x.dtype
    if DType.BOOL in (before, after) and before is not after:
        raise Unsupported(node, "a pred's bits aren't told")
    if before.bits == after.bits:
        return (_between_one_and_two(x, after) or bit_cast(x, after)).value()
    wide, narrow = max(before.bits, after.bits), min(before.bits, after.bits)
    if wide % narrow or wide not in _UNSIGNED:
        raise InvalidModel(f"{node!r}: {before.value} doesn't hold {after.value}")
    count = wide // narrow
    if before.bits == wide:
        return _taken_apart(x, after, count).value()
    shape = shape_of(node, given(node, 0))
    if not shape or shape[-1] != count:
        raise InvalidModel(f"{node!r}: its last dimension must be {count}, for {after.value}")
    return _put_together(x, after, count).value()


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


def _taken_apart(x: Array, after: DType, count: int) -> Array:
    bits = _wide(bit_cast(x, _UNSIGNED[x.dtype.bits])).unsqueeze(-1)
    parts = bits >> np.arange(count) * after.bits
    if after in NIBBLES:
        return (parts & 255).cast(DType.INT32).narrow(after)
    return bit_cast(parts.cast(_UNSIGNED[after.bits]), after)


def _put_together(x: Array, after: DType, count: int) -> Array:
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


RULES = collect(globals())
