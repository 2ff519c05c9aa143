"""OpenVINO -> the hub: quantizers, FakeQuantize and FakeConvert.

Divide, Round, Add, Clamp and Convert, or a FakeQuantize that rounds alike, are a QuantizeLinear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.build import cast, constant_like
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, conflict
from ..dialect import DOMAIN
from ..rounding_ties import has_exact_ties
from .compressed import QUANTIZED, Array, cast_from, dequantized, fitted, layout_of, numbers_of, together, zero_point
from .support import Results, aligned, element_type, required


def _made_by(value: Value | None, op_type: str) -> Node | None:
    node = None if value is None else value.producer
    return node if node is not None and node.op == ("", op_type) else None


@rule(DOMAIN, "Convert")
def quantize(op: Builder, node: Node) -> Results:
    """Convert-1 to an integer type of what is divided, rounded, moved by an integer and held in that type's range:
    QuantizeLinear. What such a one was converted to is converted back."""
    value, dtype = input_of(node), element_type(node, "destination_type")
    if dtype not in QUANTIZED or dtype is None or dtype.is_float:
        return None
    inner = cast_from(value)
    if inner is not None and inner.tensor.dtype is dtype and _made_by(inner, "QuantizeLinear") is not None:
        return op.Identity(inner)
    clip = _made_by(value, "Clip")
    ends = [] if clip is None else [numbers_of(bound) for bound in clip.inputs[1:]]
    if clip is None or any(end is None for end in ends) or np.array(ends).tolist() != list(dtype.finite_limits):
        return None
    moved, offset = clip.inputs[0], None
    shifted = _made_by(moved, "Add")
    if shifted is not None:
        moved, offset = shifted.inputs[0], numbers_of(shifted.inputs[1])
        if offset is None:
            return None
    rounded = _made_by(moved, "Round")
    divided = None if rounded is None else _made_by(rounded.inputs[0], "Div")
    scale = None if divided is None else numbers_of(divided.inputs[1])
    if divided is None or scale is None or not scale.size:
        return None
    x = input_of(divided)
    return None if x.tensor.dtype is not DType.FLOAT32 else _quantized(op, x, scale, offset, dtype)


def _quantized(op: Builder, x: Value, scale: Array, offset: Array | None, dtype: DType) -> Value | None:
    """QuantizeLinear of one scale, or one for each part of an axis; None where there are others."""
    zero, shape = zero_point(offset, dtype), x.tensor.shape
    sizes = None if zero is None else together(scale, zero)
    if zero is None or sizes is None:
        return None
    layout = {} if math.prod(sizes) == 1 else None if shape is None else layout_of(shape, sizes)
    if layout is None or "block_size" in layout:
        return None
    factors, zeros = (fitted(np.broadcast_to(item, sizes), layout, len(shape or ())) for item in (scale, zero))
    return op.QuantizeLinear(x, op.const(factors, DType.FLOAT32), op.const(zeros, dtype), **layout)


# FakeQuantize, FakeConvert -------------------------------------------------------------------------

_TYPES = {255: DType.INT8, 256: DType.UINT8, 65536: DType.UINT16}
_SIGNED = {DType.UINT8: DType.INT8, DType.UINT16: DType.INT16}
_CLOSE = 5e-5  # of a step: what the bounds, rounded to float32, leave open


def _grid(low: Array | None, high: Array | None, levels: int) -> tuple[Array, Array] | None:
    """(the step, the level of 0) of a range that has 0 among its levels; None where it hasn't."""
    if low is None or high is None or not (low < high).all() or not np.isfinite([low.sum(), high.sum()]).all():
        return None
    step = (high - low) / (levels - 1)
    position = -low / step
    zero = np.rint(position)
    if (np.abs(position - zero) > _CLOSE).any() or (zero < 0).any() or (zero > levels - 1).any():
        return None
    return _of_bounds(step, zero, low, high, levels), zero


def _of_bounds(step: Array, zero: Array, low: Array, high: Array, levels: int) -> Array:
    """The number of float32 of which the bounds are multiples, rounded to float32; the step itself if there is none."""
    near = step.astype(np.float32)
    for candidate in (np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(0)), near):
        ends = [candidate * position.astype(np.float32) for position in (-zero, levels - 1 - zero)]
        step = np.where((ends[0] == low) & (ends[1] == high), candidate, step)
    return step


@rule(DOMAIN, "FakeQuantize")
def fake_quantize(op: Builder, node: Node) -> Results:
    """FakeQuantize-1: QuantizeLinear and DequantizeLinear where these round alike, else step by step.

    FakeQuantize rounds a index among the levels, QuantizeLinear its distance from 0: what lies just between two steps
    goes the same way only if 0 is an even level. Weights are rounded here.
    """
    x, *bounds = aligned(op, node, 5)
    levels = int(required(node, "levels"))
    if levels < 2:
        raise Unsupported(node, f"levels is {levels}")
    low, high, out_low, out_high = (numbers_of(bound) for bound in bounds)
    came, gone = _grid(low, high, levels), _grid(out_low, out_high, levels)
    if x.tensor.dtype is DType.FLOAT32 and came is not None and gone is not None and levels in _TYPES:
        made = _of_weights(op, x, low, high, gone, levels) or _as_linear(op, x, low, high, came, gone, levels)
        if made is not None:
            return made
    return _step_by_step(op, x, bounds, _exact_step(low, high, levels), levels)


def _as_linear(
    op: Builder,
    x: Value,
    low: Array | None,
    high: Array | None,
    came: tuple[Array, Array],
    gone: tuple[Array, Array],
    levels: int,
) -> Value | None:
    (step, zero), (out_step, out_zero) = came, gone
    alike = not zero.any() or ((np.frexp(step)[0] == 0.5).all() and not (zero % 2).any())
    if not alike and has_exact_ties(x, step):
        return None
    dtype, first = _TYPES[levels], 0.0
    if levels == 255:  # the lowest of 256 isn't used
        first = -127.0
    elif (zero == levels // 2).all():
        dtype, first = _SIGNED[dtype], -levels / 2
    if levels == 255:
        if low is None or high is None or low.size != 1:
            return None
        x = op.Clip(x, constant_like(op, low.item(), x), constant_like(op, high.item(), x))
    narrow = _quantized(op, x, step, zero + first, dtype)
    if narrow is None:
        return None
    real = op.Cast(narrow, to=enum_of(DType.FLOAT32, "FakeQuantize"))
    return real if (out_step == 1).all() and (out_zero == -first).all() else _back(op, real, out_zero + first, out_step)


def _back(op: Builder, real: Value, zero: Array, step: Array) -> Value | None:
    """Levels as numbers dequantized."""
    moved = op.Sub(real, op.const(zero, DType.FLOAT32)) if zero.any() else real
    return dequantized(op, moved, step)


def _of_weights(
    op: Builder, x: Value, low: Array | None, high: Array | None, gone: tuple[Array, Array], levels: int
) -> Value | None:
    """Weights rounded to levels here, as integers dequantized."""
    array, (step, zero) = numbers_of(x), gone
    dtype = DType.UINT8 if levels == 256 and not (zero == 128).all() else DType.INT8
    if array is None or low is None or high is None or levels > 256:
        return None
    array, first, last = (item.astype(np.float32) for item in (array, low, high))
    start = 0 if dtype is DType.UINT8 else -128 if levels == 256 else -127
    with np.errstate(all="ignore"):
        positions = np.rint((array - first) / (last - first) * np.float32(levels - 1))
    positions = np.where(array <= first, 0, np.where(array > last, levels - 1, positions))
    narrow = op.const((positions + start).astype(dtype.numpy), dtype)
    if narrow.tensor.shape != x.tensor.shape:
        return None
    real = op.Cast(narrow, to=enum_of(DType.FLOAT32, "FakeQuantize"))
    return _back(op, real, zero + start, step)


def _exact_step(low: Array | None, high: Array | None, levels: int) -> Array | None:
    """The distance of two levels, if float32 has it."""
    if low is None or high is None or not (low < high).all():
        return None
    step = ((high - low) / (levels - 1)).astype(np.float32)
    return step if (step.astype(np.float64) * (levels - 1) == high - low).all() else None


def _step_by_step(op: Builder, x: Value, bounds: Sequence[Value], step: Array | None, levels: int) -> Value:
    """Clipped to the input range, rounded half to even to a level, put into the output range."""
    low, high, out_low, out_high = bounds
    most = constant_like(op, levels - 1, x)
    if step is not None and x.tensor.dtype is DType.FLOAT32:
        position = op.Div(op.Sub(x, low), op.const(step))
    else:
        position = op.Mul(op.Div(op.Sub(x, low), op.Sub(high, low)), most)
    inside = op.Add(op.Mul(op.Div(op.Round(position), most), op.Sub(out_high, out_low)), out_low)
    below = op.LessOrEqual(x, op.Min(low, high))
    above = op.Greater(x, op.Max(low, high))
    return op.Where(below, out_low, op.Where(above, out_high, inside))


@rule(DOMAIN, "FakeConvert")
def fake_convert(op: Builder, node: Node) -> Results:
    """FakeConvert-13: scaled and shifted, through an 8-bit float, and back."""
    x, scale, shift = input_of(node, 0), input_of(node, 1), node.input(2)
    narrow = element_type(node, "destination_type", "f8e4m3") or DType.FLOAT8E4M3FN
    if shift is not None and conflict(scale.type, shift.type):
        raise InvalidModel(f"{node!r}: a shift of {shift.tensor} for a scale of {scale.tensor}")
    y = op.Mul(x, scale)
    if shift is not None:
        y = op.Sub(y, shift)
    y = cast(op, op.Cast(y, to=enum_of(narrow, node)), dtype_of(node, x))
    if shift is not None:
        y = op.Add(y, shift)
    return op.Div(y, scale)


RULES = collect(globals())
