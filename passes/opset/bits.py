"""Bits of integers going down: shifts and logic by arithmetic, BitCast by arithmetic that never rounds."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np

from ..build import Expr, expr, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, required
from ..protos import DTYPES
from ..types import DType
from .build import StepBuilder
from .offsets import remainder
from .steps import INT64_MIN, Adapter, Made, Step, as_type, attribute, constant, required_attribute, same

_F32, _F64 = DType.FLOAT32, DType.FLOAT64
_I32, _I64, _U64 = DType.INT32, DType.INT64, DType.UINT64


@dataclass(frozen=True)
class _Layout:
    """How a float is written: bits of its fraction, the exponent's bias, and types that hold the numbers on the way."""

    fraction: int
    bias: int
    work: DType
    whole: DType

    @property
    def infinity(self) -> int:
        return (2 * self.bias + 1) << self.fraction


_LAYOUTS = {
    DType.FLOAT16: _Layout(10, 15, _F32, _I32),
    DType.FLOAT32: _Layout(23, 127, _F32, _I32),
    DType.FLOAT64: _Layout(52, 1023, _F64, _I64),
}
_INTEGERS = {
    DType.FLOAT16: (DType.INT16, DType.UINT16),
    DType.BFLOAT16: (DType.INT16, DType.UINT16),
    DType.FLOAT32: (DType.INT32, DType.UINT32),
    DType.FLOAT64: (DType.INT64, DType.UINT64),
}


def float_bits(op: StepBuilder, x: Value, before: DType, after: DType) -> Value | None:
    """The bits of `x` as a type of the same width, one of them a float, the other an integer (or two 16-bit floats);
    None where that isn't known. All NaNs become one."""
    if after in _INTEGERS.get(before, ()):
        made = _bits_of(expr(op.newest, x), before)
    elif before in _INTEGERS.get(after, ()):
        made = _number_of(expr(op.newest, x), after)
    else:
        return None
    op.rewriter.notes.append(f"BitCast from {before.value} to {after.value}: all NaNs become one")
    return made.cast(after).value()


def _bits_of(x: Expr, before: DType) -> Expr:
    if before is DType.BFLOAT16:  # the upper half of a float32
        bits = _bits_of(x.cast(_F32), _F32)
        return (bits - bits.call("BitwiseAnd", 0xFFFF)) // (1 << 16)
    layout = _LAYOUTS[before]
    x = x.cast(layout.work)
    whole = x.make(np.zeros((), layout.whole.numpy))
    finite = x.abs() < np.inf
    rest = where(finite, x.abs(), 0)
    # what is below 1 is taken above it, but for denormals; then halved until it is between 1 and 2
    small = rest < 1
    rest = where(small, rest * 2.0 ** (layout.bias - 1), rest)
    exponent = where(small, whole.like(1), whole.like(layout.bias))
    step = (layout.bias + 1) // 2
    while step:
        big = ~(rest < 2.0**step)
        rest = where(big, rest * 2.0**-step, rest)
        exponent = where(big, exponent + step, exponent)
        step //= 2
    fraction = (rest * 2.0**layout.fraction).cast(layout.whole)
    bits = (exponent - 1) * (1 << layout.fraction) + fraction
    nan = layout.infinity + (1 << (layout.fraction - 1))
    bits = where(finite, bits, where(x.equals(x), whole.like(layout.infinity), nan))
    sign = where(x.equals(0), x.call("Reciprocal"), x) < 0  # of a zero: of what it divides
    return where(sign, bits + -(1 << (before.bits - 1)), bits)


def _number_of(x: Expr, after: DType) -> Expr:
    signed, _ = _INTEGERS[after]
    x = x.cast(signed).cast(_I64 if after is _F64 else _I32)
    if after is DType.BFLOAT16:
        return _number_of(x * (1 << 16), _F32)
    layout, unit = _LAYOUTS[after], 1 << _LAYOUTS[after].fraction
    size = where(x < 0, x - -(1 << (after.bits - 1)), x)
    exponent = size // unit
    fraction = size - exponent * unit
    significand = where(exponent.equals(0), fraction, fraction + unit).cast(_F64)
    powers = np.ldexp(1.0, np.arange(2 * layout.bias + 2) - layout.bias - layout.fraction)
    powers[0], powers[-1] = powers[1], np.inf
    made = significand * expr(x.op, powers).gather(exponent)
    made = where(layout.infinity < size, np.nan, made)
    # ONNX Runtime's Where makes +0 of a -0 that its condition chooses by being true
    return where(x > -1, made, -made).cast(after)


# shifts -------------------------------------------------------------------------------------------


_UNSIGNED = {
    DType.INT8: DType.UINT8,
    DType.INT16: DType.UINT16,
    DType.INT32: DType.UINT32,
    DType.INT64: DType.UINT64,
}


def _shift_of_any(op: StepBuilder, node: Node) -> Made:
    """BitShift-28: by the type's size or more, or by less than 0, leaves the sign, what was undefined before; of
    signed types the bits are shifted as unsigned ones, to the right those of -1 - x where x is negative."""
    x, y = required(node, 0), required(node, 1)
    kind = dtype_of(node, x)
    amount, direction = constant(node, 1), attribute(node, "direction")
    inside = amount is not None and bool(((amount >= 0) & (amount < kind.bits)).all())
    if inside and not kind.is_signed:
        return None
    plain = _UNSIGNED.get(kind, kind)
    value, count = expr(op.newest, x), expr(op.newest, y, plain)  # less than 0 is far too much then
    negative = value < 0 if kind.is_signed and direction == "RIGHT" else None
    bits = (value if negative is None else where(negative, -1 - value, value)).cast(plain)
    if inside:
        made = value.make(op.BitShift(bits, count, direction=direction))
    else:
        small = count < kind.bits
        shifted = op.BitShift(bits, _chosen(small, count), direction=direction)
        made = _chosen(small, value.make(shifted))
    made = made.cast(kind)
    return (made if negative is None else where(negative, -1 - made, made)).value()


def _chosen(condition: Expr, number: Expr) -> Expr:
    """The number under the condition, else 0; of uint64, which ONNX Runtime's Where doesn't take, as int64."""
    if number.dtype is not _U64:
        return where(condition, number, 0)
    return where(condition, number.cast(_I64), 0).cast(_U64)


def _shift(op: StepBuilder, node: Node) -> Value:
    """BitShift-11: a product with a power of two, or a division by it. All but uint64 are computed as int64."""
    x = required(node, 0)
    kind, direction = dtype_of(node, x), attribute(node, "direction")
    right = direction == "RIGHT"
    work = _U64 if kind is _U64 and right else _I64
    powers = np.uint64(1) << np.arange(kind.bits, dtype=np.uint64)
    amount = constant(node, 1)
    if amount is not None and (amount < kind.bits).all():
        factor = op.const(powers[amount.astype(np.int64)].astype(work.numpy), work)
    else:
        table = op.const(powers.astype(work.numpy), work)
        factor = op.at(1).Gather(table, as_type(op, required(node, 1), _I64))
    wide = as_type(op, x, work)
    return as_type(op, op.Div(wide, factor) if right else op.Mul(wide, factor), kind)


# logic -------------------------------------------------------------------------------------------


_EXACT = 52
"""Bits of a sum that ONNX Runtime gets right: it adds int64 as float64."""


def _both(a: Expr, b: Expr, bits: int) -> Expr:
    """a & b of int64, its lowest `bits`: one axis more has the digits. The sign bit of 64 is taken off before."""
    negatives = [value < 0 for value in (a, b)]
    rests = [where(negative, value - INT64_MIN, value) for negative, value in zip(negatives, (a, b), strict=True)]
    parts: list[Expr] = []
    for first in range(0, min(bits, 63), _EXACT):
        weights = np.int64(1) << np.arange(min(bits, 63, first + _EXACT) - first, dtype=np.int64)
        one, other = (remainder(rest.unsqueeze(-1) // (weights << first), 2) for rest in rests)
        part = (one * other * weights).sum(-1)
        parts.append(part * (1 << first) if first else part)
    made = functools.reduce(operator.add, parts)
    return made + where(negatives[0] & negatives[1], INT64_MIN, made.like(0)) if bits == 64 else made


def _logic(name: str) -> Adapter:
    """a & b; a | b = a + b - (a & b) and a ^ b = a + b - 2 (a & b), which may wrap."""

    def down(op: StepBuilder, node: Node) -> Value:
        kind = dtype_of(node, required(node, 0))
        a, b = (expr(op.newest, required(node, index), _I64) for index in range(2))
        made = _both(a, b, kind.bits)
        if name != "And":
            made = a + b - (made * 2 if name == "Xor" else made)
        return made.cast(kind).value()

    return down


def _not(op: StepBuilder, node: Node) -> Value:
    """-1 - x, and of unsigned types the highest number less x."""
    x = required(node, 0)
    kind = dtype_of(node, x)
    return ((-1 if kind.is_signed else (1 << kind.bits) - 1) - expr(op.newest, x)).value()


# BitCast -----------------------------------------------------------------------------------------


def _bit_cast(op: StepBuilder, node: Node) -> Made:
    """Integers (and booleans, which are 0 and 1) of one size wrap; 16 bits are looked up as a float, other floats are
    put together and taken apart."""
    x, kind = required(node, 0), DTYPES[required_attribute(node, "to")]
    before = dtype_of(node, x)
    if kind is before:
        return op.Identity(x)
    if _is_whole(before) and _is_whole(kind):
        return as_type(op, x, kind)
    if before in (DType.INT16, DType.UINT16) and kind is DType.FLOAT16:
        table = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        unsigned = as_type(op, x, DType.UINT16)
        return op.Gather(op.const(table), as_type(op, unsigned, DType.INT32))
    made = float_bits(op, x, before, kind)
    if made is not None:
        return made
    raise Unsupported(node, f"the bits of {before.value} can't be taken for {kind.value} before version 26")


def _is_whole(kind: DType) -> bool:
    return kind.is_integer or kind is DType.BOOL


ROWS = {
    ("BitShift", 28): Step(same, _shift_of_any),
    ("BitShift", 11): Step("BitShift came with version 11", _shift),
    **{
        (f"Bitwise{name}", 18): Step(f"Bitwise{name} came with version 18", _logic(name))
        for name in ("And", "Or", "Xor")
    },
    ("BitwiseNot", 18): Step("BitwiseNot came with version 18", _not),
    ("BitCast", 26): Step("BitCast came with version 26", _bit_cast),
}
