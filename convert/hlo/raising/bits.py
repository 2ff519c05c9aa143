"""Bits taken for something else: bitcast-convert."""

from __future__ import annotations

import functools

from ....passes.build import MOST_FOLDED, cast
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, dtype_of, given, shape_of
from .type_legalization import NIBBLES, filled_with, made_by, narrowed, number

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


def bit_cast(op: Builder, value: Value, dtype: DType) -> Value:
    """The bits of `value` as another type of the same width; a Cast does it between integers."""
    before = value.tensor.dtype
    if before is None or before is dtype:
        return value
    if before.is_integer and dtype.is_integer and dtype not in NIBBLES:
        return op.Cast(value, to=enum_of(dtype, value.name))
    data = value.data
    if data is not None and data.size <= MOST_FOLDED:
        return op.const(data.numpy().reshape(data.shape).view(dtype.numpy), dtype)
    return op.BitCast(value, to=enum_of(dtype, value.name))


@rule(DOMAIN, "bitcast-convert")
def bitcast_convert(op: Builder, node: Node) -> Results:
    """bitcast-convert: into a narrower type with a dimension more, for its parts from the lowest bits up; or back."""
    x = given(node, 0)
    before, after = dtype_of(node, x), dtype_of(node, node.output)
    if DType.BOOL in (before, after) and before is not after:
        raise Unsupported(node, "a pred's bits aren't told")
    if before.bits == after.bits:
        return _between_one_and_two(op, x, after) or bit_cast(op, x, after)
    wide, narrow = max(before.bits, after.bits), min(before.bits, after.bits)
    if wide % narrow or wide not in _UNSIGNED:
        raise InvalidModel(f"{node!r}: {before.value} doesn't hold {after.value}")
    count = wide // narrow
    return _taken_apart(op, node, x, after, count) if before.bits == wide else _put_together(op, node, x, after, count)


def _between_one_and_two(op: Builder, x: Value, after: DType) -> Value | None:
    """What random fractions are made of: 1 + n / 2**23 where the bits are those of n, shifted right until they fit the
    fraction, or those of 1. ONNX has no BitCast before opset 26, and this says it better."""
    fraction = {DType.FLOAT32: 23, DType.FLOAT64: 52}.get(after)
    joined = made_by(x, "BitwiseOr")
    if fraction is None or joined is None:
        return None
    one = ((1 << (after.bits - fraction - 2)) - 1) << fraction
    bits = [value for value in joined.inputs if value is not None and filled_with(value) != one]
    shift = made_by(bits[0], "BitShift") if len(bits) == 1 else None
    if shift is None or shift.inputs[1] is None or bits[0].tensor.dtype not in _UNSIGNED.values():
        return None
    amount = filled_with(shift.inputs[1])
    if shift.attributes.get("direction") != "RIGHT" or amount is None or int(amount) < after.bits - fraction:
        return None
    steps = op.Mul(cast(op, bits[0], after), op.const(2.0**-fraction, after))
    return op.Add(steps, op.const(1, after))


def _taken_apart(op: Builder, node: Node, x: Value, after: DType, count: int) -> Value:
    work = _UNSIGNED[dtype_of(node, x).bits]
    bits = op.Unsqueeze(_wide(op, bit_cast(op, x, work)), op.const([-1], DType.INT64))
    parts = op.BitShift(bits, _steps(op, bits, after.bits, count), direction="RIGHT")
    if after in NIBBLES:
        return narrowed(op, cast(op, op.BitwiseAnd(parts, number(op, 255, parts)), DType.INT32), after)
    return bit_cast(op, cast(op, parts, _UNSIGNED[after.bits]), after)


def _put_together(op: Builder, node: Node, x: Value, after: DType, count: int) -> Value:
    shape, before = shape_of(node, x), dtype_of(node, x)
    if not shape or shape[-1] != count:
        raise InvalidModel(f"{node!r}: its last dimension must be {count}, for {after.value}")
    work = _UNSIGNED[after.bits]
    if before in NIBBLES:
        parts = cast(op, x, DType.INT32)
        parts = op.BitwiseAnd(parts, number(op, (1 << before.bits) - 1, parts))
    else:
        parts = bit_cast(op, x, _UNSIGNED[before.bits])
    parts = _wide(op, cast(op, parts, DType.UINT64 if after.bits == 64 else DType.UINT32))
    moved = op.BitShift(parts, _steps(op, parts, before.bits, count), direction="LEFT")
    # ONNX Runtime's ReduceSum of int64 goes over float64
    single = op.Split(cast(op, moved, DType.INT64), axis=-1, num_outputs=count, _outputs=count)
    whole = op.Squeeze(functools.reduce(op.BitwiseOr, single), op.const([-1], DType.INT64))
    return bit_cast(op, cast(op, whole, work), after)


def _wide(op: Builder, bits: Value) -> Value:
    """Unsigned integers that ONNX Runtime shifts."""
    return bits if bits.tensor.dtype is DType.UINT64 else cast(op, bits, DType.UINT32)


def _steps(op: Builder, like: Value, width: int, count: int) -> Value:
    return op.const([place * width for place in range(count)], like.tensor.dtype)


RULES = collect(globals())
