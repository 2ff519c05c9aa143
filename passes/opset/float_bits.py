"""The bits of floats going down: what BitCast-26 does, by arithmetic that never rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graph import Value
from ..types import DType
from .build import StepBuilder
from .steps import as_type

_F32, _F64, _I32, _I64 = DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64


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
        made = _bits(op, x, before)
    elif before in _INTEGERS.get(after, ()):
        made = _number(op, x, after)
    else:
        return None
    op.rewriter.notes.append(f"BitCast from {before.value} to {after.value}: all NaNs become one")
    return as_type(op, made, after)


def _bits(op: StepBuilder, x: Value, before: DType) -> Value:
    if before is DType.BFLOAT16:  # the upper half of a float32
        bits = _bits(op, as_type(op, x, _F32), _F32)
        low = op.const(1 << 16, _I32)
        return op.Div(op.Sub(bits, op.BitwiseAnd(bits, op.const(0xFFFF, _I32))), low)
    layout = _LAYOUTS[before]
    work, whole = layout.work, layout.whole
    x = as_type(op, x, work)
    zero, one = op.const(0, work), op.const(1, work)
    size = op.Abs(x)
    finite = op.Less(size, op.const(np.inf, work))
    rest = op.Where(finite, size, zero)
    # what is below 1 is taken above it, but for denormals; then halved until it is between 1 and 2
    small = op.Less(rest, one)
    rest = op.Where(small, op.Mul(rest, op.const(2.0 ** (layout.bias - 1), work)), rest)
    exponent = op.Where(small, op.const(1, whole), op.const(layout.bias, whole))
    step = (layout.bias + 1) // 2
    while step:
        big = op.Not(op.Less(rest, op.const(2.0**step, work)))
        rest = op.Where(big, op.Mul(rest, op.const(2.0**-step, work)), rest)
        exponent = op.Where(big, op.Add(exponent, op.const(step, whole)), exponent)
        step //= 2
    fraction = as_type(op, op.Mul(rest, op.const(2.0**layout.fraction, work)), whole)
    unit = op.const(1 << layout.fraction, whole)
    bits = op.Add(op.Mul(op.Sub(exponent, op.const(1, whole)), unit), fraction)
    nan = op.const(layout.infinity + (1 << (layout.fraction - 1)), whole)
    special = op.Where(op.Equal(x, x), op.const(layout.infinity, whole), nan)
    bits = op.Where(finite, bits, special)
    sign = op.Less(op.Where(op.Equal(x, zero), op.Reciprocal(x), x), zero)  # of a zero: of what it divides
    lowest = -(1 << (before.bits - 1))
    return op.Where(sign, op.Add(bits, op.const(lowest, whole)), bits)


def _number(op: StepBuilder, x: Value, after: DType) -> Value:
    signed, _ = _INTEGERS[after]
    x = as_type(op, as_type(op, x, signed), _I64 if after is _F64 else _I32)
    if after is DType.BFLOAT16:
        return _number(op, op.Mul(x, op.const(1 << 16, _I32)), _F32)
    layout, whole = _LAYOUTS[after], x.tensor.dtype
    zero, unit = op.const(0, whole), op.const(1 << layout.fraction, whole)
    negative = op.Less(x, zero)
    size = op.Where(negative, op.Sub(x, op.const(-(1 << (after.bits - 1)), whole)), x)
    exponent = op.Div(size, unit)
    fraction = op.Sub(size, op.Mul(exponent, unit))
    denormal = op.Equal(exponent, zero)
    significand = as_type(op, op.Where(denormal, fraction, op.Add(fraction, unit)), _F64)
    powers = np.ldexp(1.0, np.arange(2 * layout.bias + 2) - layout.bias - layout.fraction)
    powers[0], powers[-1] = powers[1], np.inf
    made = op.Mul(significand, op.Gather(op.const(powers, _F64), exponent))
    is_nan = op.Less(op.const(layout.infinity, whole), size)
    made = op.Where(is_nan, op.const(np.nan, _F64), made)
    # ONNX Runtime's Where makes +0 of a -0 that its condition chooses by being true
    return as_type(op, op.Where(op.Less(op.const(-1, whole), x), made, op.Neg(made)), after)
