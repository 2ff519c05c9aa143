"""Another element type or a coarser number: convert, reduce-precision, stochastic-convert."""

from __future__ import annotations

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, cast, dtype_of, given
from .typed import FLOAT8, HALVES, NIBBLES, call, narrowed, number, widened

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
    least = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
    most = (1 << (dtype.bits - dtype.is_signed)) - 1
    number_ = x.tensor.dtype
    assert number_ is not None
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


RULES = collect(globals())
