"""Operators that NumPy has no function for, in terms of others: normalization, quantization, the error function."""

from __future__ import annotations

import numpy as np

from ....passes.constant_analysis import known_array
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, given
from ....passes.protos import DTYPES, ENUMS
from ....passes.rewrite import Builder, Rule, collect, rule
from ....passes.types import DType
from ....runtime.kernels.activation import ERF_STEP, erf_table
from .terms import CASTS


def _number(op: Builder, value: float, dtype: DType) -> Value:
    return op.const(np.asarray(value), dtype)


def _in(op: Builder, node: Node, value: Value, dtype: DType) -> Value:
    return value if dtype_of(node, value) is dtype else op.Cast(value, to=ENUMS[dtype])


def _wide(op: Builder, node: Node, value: Value) -> Value:
    """16-bit floats as float32."""
    return _in(op, node, value, DType.FLOAT32) if dtype_of(node, value) is DType.FLOAT16 else value


@rule("", "Erf")
def error_function(op: Builder, node: Node) -> Value:
    """A Taylor series around the nearest of many points, in float64."""
    x = given(node)
    values, rows = erf_table()
    wide = _in(op, node, x, DType.FLOAT64)
    known = op.Where(op.IsNaN(wide), _number(op, 0, DType.FLOAT64), wide)
    size = op.Min(op.Abs(known), _number(op, 6, DType.FLOAT64))
    step = _number(op, ERF_STEP, DType.FLOAT64)
    index = op.Cast(op.Round(op.Div(size, step)), to=ENUMS[DType.INT64])
    h = op.Sub(size, op.Mul(op.Cast(index, to=ENUMS[DType.FLOAT64]), step))
    series = op.Gather(op.const(rows[-1]), index)
    for row in rows[-2::-1]:
        series = op.Add(op.Mul(series, h), op.Gather(op.const(row), index))
    found = op.Mul(op.Sign(wide), op.Add(op.Gather(op.const(values), index), op.Mul(series, h)))
    return _in(op, node, found, dtype_of(node, x))


@rule("", "Dropout")
def dropout(op: Builder, node: Node) -> list[Value]:
    """Nothing is dropped but in training."""
    x, training = given(node), node.input(2)
    known = known_array(training) if training is not None else None
    if training is not None and (known is None or known.any()):
        raise Unsupported(node, "it draws random numbers")
    shape = x.tensor.static_shape
    if len(node.outputs) < 2 or not node.outputs[1].name:
        return [op.Identity(x), *(Value("") for _ in node.outputs[1:])]
    if shape is None:
        raise Unsupported(node, f"the shape of {x.name!r} isn't known before the model runs")
    return [op.Identity(x), op.Expand(op.const(True, DType.BOOL), op.const(list(shape)))]


# quantization ------------------------------------------------------------------------------------


def _broadcast_scale(op: Builder, node: Node, value: Value) -> Value:
    """A scale or zero point ready to broadcast: one for all, one for each place on an axis, or for each block of it."""
    shape, have = given(node).tensor.static_shape, value.tensor.static_shape
    if shape is None or have is None:
        raise Unsupported(node, "the shapes of its inputs aren't known before the model runs")
    if have in ((), (1,)):
        return op.Reshape(value, op.const([], DType.INT64))
    axis, block = (
        axis_of(node, int(node.attributes.get("axis", 1)), len(shape)),
        int(node.attributes.get("block_size", 0)),
    )
    if len(have) == 1 and not block:
        return op.Reshape(value, op.const([-1, *[1] * (len(shape) - axis - 1)]))
    return op.Gather(value, op.const(np.arange(shape[axis]) // (block or -(-shape[axis] // have[axis]))), axis=axis)


@rule("", "QuantizeLinear")
def quantize(op: Builder, node: Node) -> Value:
    """Rounded quotients, moved by the zero point, within the type; in float64, where integers are exact."""
    x, scale, zero = given(node), given(node, 1), node.input(2)
    to, precision = (int(node.attributes.get(name, 0)) for name in ("output_dtype", "precision"))
    target = dtype_of(node, zero) if zero is not None else DTYPES[to] if to else DType.UINT8
    dtype = DTYPES[precision] if precision else dtype_of(node, scale)
    if target not in CASTS or not target.is_integer or dtype not in CASTS:
        raise Unsupported(node, f"to {target.value}")
    dtype = dtype if dtype.is_float else DType.FLOAT32
    ratio = op.Div(_in(op, node, x, dtype), _broadcast_scale(op, node, _in(op, node, scale, dtype)))
    whole = op.Round(_in(op, node, ratio, DType.FLOAT64))
    if zero is not None:
        whole = op.Add(whole, _in(op, node, _broadcast_scale(op, node, zero), DType.FLOAT64))
    limits = np.iinfo(target.numpy)
    within = op.Clip(whole, *(_number(op, limit, DType.FLOAT64) for limit in (limits.min, limits.max)))
    return op.Cast(within, to=ENUMS[target])


@rule("", "DequantizeLinear")
def dequantize(op: Builder, node: Node) -> Value:
    x, scale, zero = given(node), given(node, 1), node.input(2)
    to = int(node.attributes.get("output_dtype", 0))
    target = DTYPES[to] if to else dtype_of(node, scale)
    if dtype_of(node, x) not in CASTS or target not in CASTS:
        raise Unsupported(node, f"of {dtype_of(node, x).value}")
    moved = _in(op, node, x, DType.INT64)
    if zero is not None:
        moved = op.Sub(moved, _in(op, node, _broadcast_scale(op, node, zero), DType.INT64))
    work = DType.FLOAT64 if target is DType.FLOAT64 else DType.FLOAT32
    number = _in(op, node, _in(op, node, moved, DType.FLOAT32), work)
    return _in(op, node, op.Mul(number, _broadcast_scale(op, node, _in(op, node, scale, work))), target)


RULES: dict[tuple[str, str], list[Rule]] = collect(globals())
