"""OpenVINO -> the hub: weights of few bits and what decompresses them, quantizers and FakeQuantize.

Convert, Subtract and Multiply of quantized values are a DequantizeLinear; Divide, Round, Add, Clamp and Convert, or a
FakeQuantize that rounds alike, a QuantizeLinear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.infer import words
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import DType
from ..dialect import DOMAIN
from ..ties import has_exact_ties
from .support import Results, aligned, cast, constant, dtype_of, element_type, given, limits, number, required

Array = np.ndarray[Any, Any]

# types that ONNX hasn't ----------------------------------------------------------------------------

_WIDER = {
    DType.UINT1: DType.UINT4,
    DType.UINT2: DType.UINT4,
    DType.UINT3: DType.UINT4,
    DType.UINT6: DType.UINT8,
}
"""Where the numbers of types that opsets in use lack are kept."""

# quantiles of a normal distribution, scaled so that the ends are -1 and 1
_NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
_F4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_TABLES = {DType.NF4: _NF4, DType.FLOAT4E2M1: (*_F4, *(-item for item in _F4))}


def _view(data: TensorData, dtype: DType) -> TensorData:
    """The codes of a constant as numbers of another type."""
    return TensorData(dtype, data.shape, load=lambda: data.numpy().view(np.uint8).astype(dtype.numpy))


@rule(DOMAIN, "Convert")
def narrow_constant(op: Builder, node: Node) -> Results:
    """Convert-1 of a constant of u1, u2, u3, u6, nf4 or f4e2m1: kept narrow, the last two looked up in a table."""
    value, dtype = given(node), element_type(node, "destination_type")
    data, source = value.data, value.tensor.dtype
    if data is None or source is None or dtype is None:
        return None
    if source in _WIDER:
        return op.Cast(op.const(_view(data, _WIDER[source])), to=enum_of(dtype, node))
    if source is DType.FLOAT8E8M0:
        return op.const(data.numpy().astype(dtype.numpy), dtype)
    if source not in _TABLES:
        return None
    op.rewriter.notes.append(f"{node!r}: ONNX has no {source.value}, its numbers are looked up in a table")
    codes = op.Cast(op.const(_view(data, DType.UINT4)), to=enum_of(DType.INT32, node))
    return op.Gather(op.const(np.array(_TABLES[source]), dtype), codes, axis=0)


# DequantizeLinear ----------------------------------------------------------------------------------

_QUANTIZED = frozenset(
    [
        DType.INT4,
        DType.UINT4,
        DType.INT8,
        DType.UINT8,
        DType.INT16,
        DType.UINT16,
        DType.FLOAT8E4M3FN,
        DType.FLOAT8E5M2,
    ]
)
_MOVES = words(
    "Concat DepthToSpace Flatten Gather Identity MaxPool Reshape Slice SpaceToDepth Split Squeeze Transpose Unsqueeze"
)


def _cast_from(value: Value | None) -> Value | None:
    """What a Cast was made of."""
    node = None if value is None else value.producer
    return node.inputs[0] if node is not None and node.op == ("", "Cast") else None


def _plain(value: Value | None) -> Array | None:
    """A constant, converted or not, as float64 numbers."""
    source = _cast_from(value) or value
    array = constant(source)
    return None if array is None or array.dtype == object else array.astype(np.float64)


def _is_quantized(value: Value) -> bool:
    """Whether integers are constants, or what a QuantizeLinear made of others."""
    stack, seen = [value], set[Value]()
    while stack:
        top = stack.pop()
        node = top.producer
        if node is not None and node.op in (("", "QuantizeLinear"), ("", "DynamicQuantizeLinear")):
            return True
        if top.data is not None and top is value:
            return True
        if node is not None and not node.domain and node.op_type in _MOVES and top not in seen:
            seen.add(top)
            stack += [item for item in node.inputs[: None if node.op_type == "Concat" else 1] if item is not None]
    return False


def _layout(shape: Sequence[Any], sizes: Sequence[int]) -> dict[str, int] | None:
    """How a scale of these sizes lies along data of this shape: the attributes of DequantizeLinear."""
    wide = [1] * (len(shape) - len(sizes)) + list(sizes)
    if len(wide) > len(shape):
        return None
    differing = [axis for axis, (size, dim) in enumerate(zip(wide, shape, strict=True)) if size != dim]
    others = [axis for axis, size in enumerate(wide) if size != 1]
    if not others:
        return {}
    if len(others) == 1 and wide[others[0]] == shape[others[0]]:
        return {"axis": others[0]}
    if len(differing) == 1 and isinstance(shape[differing[0]], int) and wide[differing[0]] == 1:
        return {"axis": differing[0], "block_size": shape[differing[0]]}
    return None


def _fitted(array: Array, layout: dict[str, int], rank: int) -> Array:
    """A scale or zero point in the shape that DequantizeLinear wants."""
    if "block_size" in layout:
        return array.reshape([1] * (rank - array.ndim) + list(array.shape))
    return array.reshape(-1) if layout else array.reshape(())


def _zero_point(offset: Array | None, dtype: DType) -> Array | None:
    """What is subtracted as a zero point of an integer type; None if it isn't one."""
    found = np.zeros(()) if offset is None else offset
    low, high = limits(dtype)
    if (found != np.rint(found)).any() or (found < low).any() or (found > high).any():
        return None
    return found


@rule(DOMAIN, "Multiply")
def dequantize(op: Builder, node: Node) -> Results:
    """Multiply-1 of a constant and of quantized values less their zero point: DequantizeLinear."""
    if len(node.inputs) != 2 or str(node.attributes.get("auto_broadcast", "numpy")).lower() != "numpy":
        return None
    for one, other in ((0, 1), (1, 0)):
        value, scale = node.inputs[one], _plain(node.inputs[other])
        if value is not None and scale is not None:
            made = _dequantized(op, value, scale)
            if made is not None:
                return made
    return None


def _dequantized(op: Builder, value: Value, scale: Array) -> Value | None:
    kind, producer, offset = value.tensor.dtype, value.producer, None
    source = _cast_from(value)
    if producer is not None and producer.op == ("", "Sub"):
        source, offset = _cast_from(producer.inputs[0]), _plain(producer.inputs[1])
        if offset is None:
            return None
    if source is None or kind is None or source.tensor.shape is None:
        return None
    dtype = source.tensor.dtype
    exact = dtype is not None and (kind is DType.FLOAT32 or dtype.bits <= 8)
    if dtype is DType.INT32 and source.data is not None and offset is None:  # a bias
        exact = kind is DType.FLOAT32
    elif dtype not in _QUANTIZED:
        return None
    if dtype is None or not exact or kind not in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16):
        return None
    if not _is_quantized(source) or (dtype.is_float and offset is not None):
        return None
    sizes = np.broadcast_shapes(scale.shape, () if offset is None else offset.shape)
    layout, zero = _layout(source.tensor.shape, sizes), _zero_point(offset, dtype)
    if layout is None or zero is None or not scale.size:
        return None
    rank = len(source.tensor.shape)
    factors = op.const(_fitted(np.broadcast_to(scale, sizes), layout, rank), kind)
    zeros = None if offset is None else op.const(_fitted(np.broadcast_to(zero, sizes), layout, rank), dtype)
    return op.DequantizeLinear(source, factors, zeros, **layout)


@rule(DOMAIN, "Reshape")
def whole_weights(op: Builder, node: Node) -> Results:
    """Reshape-1 of weights dequantized in groups, that joins the groups of an axis: of blocks of that axis."""
    value, producer = given(node), given(node).producer
    target = value.tensor.static_shape and node.output.tensor.static_shape
    stated = constant(node.input(1))
    if producer is None or producer.op != ("", "DequantizeLinear") or stated is None:
        return None
    source, block = producer.inputs[0], producer.attributes.get("block_size", 0)
    if source is None or source.data is None or not block:
        return None
    shape, axis = list(source.data.shape), producer.attributes["axis"]
    joined = [*shape[: axis - 1], shape[axis - 1] * block, *shape[axis + 1 :]]
    wanted = [int(item) for item in stated.reshape(-1)]
    if not axis or shape[axis] != block or len(wanted) != len(joined):
        return None
    if any(item not in (-1, dim) for item, dim in zip(wanted, joined, strict=True)) or wanted.count(-1) > 1:
        return None
    assert target is None or list(target) == joined
    data = source.data

    def without_groups(part: Value | None) -> Value | None:
        if part is None or part.data is None:
            return None
        return op.const(part.data.numpy().reshape([*part.data.shape[:axis], *part.data.shape[axis + 1 :]]))

    flat = op.const(TensorData(data.dtype, tuple(joined), load=lambda: data.numpy().reshape(joined)))
    parts = [without_groups(part) for part in producer.inputs[1:]]
    return op.DequantizeLinear(flat, *parts, axis=axis - 1, block_size=block)


# QuantizeLinear ------------------------------------------------------------------------------------


def _made_by(value: Value | None, op_type: str) -> Node | None:
    node = None if value is None else value.producer
    return node if node is not None and node.op == ("", op_type) else None


@rule(DOMAIN, "Convert")
def quantize(op: Builder, node: Node) -> Results:
    """Convert-1 to an integer type of what is divided, rounded, moved by a whole number and held in that type's range:
    QuantizeLinear. What such a one was converted to is converted back."""
    value, dtype = given(node), element_type(node, "destination_type")
    if dtype not in _QUANTIZED or dtype is None or dtype.is_float:
        return None
    inner = _cast_from(value)
    if inner is not None and inner.tensor.dtype is dtype and _made_by(inner, "QuantizeLinear") is not None:
        return op.Identity(inner)
    clip = _made_by(value, "Clip")
    ends = [] if clip is None else [_plain(bound) for bound in clip.inputs[1:]]
    if clip is None or any(end is None for end in ends) or np.array(ends).tolist() != list(limits(dtype)):
        return None
    moved, offset = clip.inputs[0], None
    shifted = _made_by(moved, "Add")
    if shifted is not None:
        moved, offset = shifted.inputs[0], _plain(shifted.inputs[1])
        if offset is None:
            return None
    rounded = _made_by(moved, "Round")
    divided = None if rounded is None else _made_by(rounded.inputs[0], "Div")
    scale = None if divided is None else _plain(divided.inputs[1])
    if divided is None or scale is None or not scale.size:
        return None
    x = given(divided)
    return None if x.tensor.dtype is not DType.FLOAT32 else _quantized(op, x, scale, offset, dtype)


def _quantized(op: Builder, x: Value, scale: Array, offset: Array | None, dtype: DType) -> Value | None:
    """QuantizeLinear of one scale, or one for each part of an axis; None where there are others."""
    zero, shape = _zero_point(offset, dtype), x.tensor.shape
    sizes = np.broadcast_shapes(scale.shape, () if zero is None else zero.shape)
    layout = {} if int(np.prod(sizes)) == 1 else None if shape is None else _layout(shape, sizes)
    if zero is None or layout is None or "block_size" in layout:
        return None
    factors, zeros = (_fitted(np.broadcast_to(item, sizes), layout, len(shape or ())) for item in (scale, zero))
    return op.QuantizeLinear(x, op.const(factors, DType.FLOAT32), op.const(zeros, dtype), **layout)


# FakeQuantize, FakeConvert -------------------------------------------------------------------------

_TYPES = {16: DType.UINT4, 255: DType.INT8, 256: DType.UINT8, 65536: DType.UINT16}
_SIGNED = {DType.UINT4: DType.INT4, DType.UINT8: DType.INT8, DType.UINT16: DType.INT16}
_CLOSE = 5e-5  # of a step: what the bounds, rounded to float32, leave open


def _grid(low: Array | None, high: Array | None, levels: int) -> tuple[Array, Array] | None:
    """(the step, the level of 0) of a range that has 0 among its levels; None where it hasn't."""
    if low is None or high is None or not (low < high).all() or not np.isfinite([low.sum(), high.sum()]).all():
        return None
    step = (high - low) / (levels - 1)
    place = -low / step
    zero = np.rint(place)
    if (np.abs(place - zero) > _CLOSE).any() or (zero < 0).any() or (zero > levels - 1).any():
        return None
    return _of_bounds(step, zero, low, high, levels), zero


def _of_bounds(step: Array, zero: Array, low: Array, high: Array, levels: int) -> Array:
    """The number of float32 of which the bounds are multiples, rounded to float32; the step itself if there is none."""
    near = step.astype(np.float32)
    for candidate in (np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(0)), near):
        ends = [candidate * place.astype(np.float32) for place in (-zero, levels - 1 - zero)]
        step = np.where((ends[0] == low) & (ends[1] == high), candidate, step)
    return step


@rule(DOMAIN, "FakeQuantize")
def fake_quantize(op: Builder, node: Node) -> Results:
    """FakeQuantize-1: QuantizeLinear and DequantizeLinear where these round alike, else step by step.

    FakeQuantize rounds a place among the levels, QuantizeLinear its distance from 0: what lies just between two steps
    goes the same way only if 0 is an even level. Weights are rounded here.
    """
    x, *bounds = aligned(op, node, 5)
    levels = int(required(node, "levels"))
    if levels < 2:
        raise Unsupported(node, f"levels is {levels}")
    low, high, out_low, out_high = (_plain(bound) for bound in bounds)
    came, gone = _grid(low, high, levels), _grid(out_low, out_high, levels)
    if x.tensor.dtype is DType.FLOAT32 and came is not None and gone is not None and levels in _TYPES:
        made = _of_weights(op, x, low, high, gone, levels) or _as_linear(op, x, low, high, came, gone, levels)
        if made is not None:
            return made
    return _step_by_step(op, x, bounds, levels)


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
        x = op.Clip(x, number(op, low.item(), x), number(op, high.item(), x))
    narrow = _quantized(op, x, step, zero + first, dtype)
    if narrow is None:
        return None
    real = op.Cast(narrow, to=enum_of(DType.FLOAT32, "FakeQuantize"))
    return real if (out_step == 1).all() and (out_zero == -first).all() else _back(op, real, out_zero + first, out_step)


def _back(op: Builder, real: Value, zero: Array, step: Array) -> Value | None:
    """Levels as numbers dequantized."""
    moved = op.Sub(real, op.const(zero, DType.FLOAT32)) if zero.any() else real
    return _dequantized(op, moved, step)


def _of_weights(
    op: Builder, x: Value, low: Array | None, high: Array | None, gone: tuple[Array, Array], levels: int
) -> Value | None:
    """Weights rounded to levels here, as integers dequantized."""
    array, (step, zero) = _plain(x), gone
    dtype = DType.UINT8 if levels == 256 and not (zero == 128).all() else DType.INT8
    if array is None or low is None or high is None or levels > 256:
        return None
    array, first, last = (item.astype(np.float32) for item in (array, low, high))
    start = 0 if dtype is DType.UINT8 else -128 if levels == 256 else -127
    with np.errstate(all="ignore"):
        places = np.rint((array - first) / (last - first) * np.float32(levels - 1))
    places = np.where(array <= first, 0, np.where(array > last, levels - 1, places))
    narrow = op.const((places + start).astype(dtype.numpy), dtype)
    if narrow.tensor.shape != x.tensor.shape:
        return None
    real = op.Cast(narrow, to=enum_of(DType.FLOAT32, "FakeQuantize"))
    return _back(op, real, zero + start, step)


def _step_by_step(op: Builder, x: Value, bounds: Sequence[Value], levels: int) -> Value:
    """Clipped to the input range, rounded half to even to a level, put into the output range."""
    low, high, out_low, out_high = bounds
    most = number(op, levels - 1, x)
    step = op.Round(op.Mul(op.Div(op.Sub(x, low), op.Sub(high, low)), most))
    inside = op.Add(op.Mul(op.Div(step, most), op.Sub(out_high, out_low)), out_low)
    below = op.LessOrEqual(x, op.Min(low, high))
    above = op.Greater(x, op.Max(low, high))
    return op.Where(below, out_low, op.Where(above, out_high, inside))


@rule(DOMAIN, "FakeConvert")
def fake_convert(op: Builder, node: Node) -> Results:
    """FakeConvert-13: scaled and shifted, through an 8-bit float, and back."""
    x, scale, shift = given(node, 0), given(node, 1), node.input(2)
    narrow = element_type(node, "destination_type", "f8e4m3") or DType.FLOAT8E4M3FN
    y = op.Mul(x, scale)
    if shift is not None:
        y = op.Sub(y, shift)
    y = cast(op, op.Cast(y, to=enum_of(narrow, node)), dtype_of(node, x))
    if shift is not None:
        y = op.Add(y, shift)
    return op.Div(y, scale)


RULES = collect(globals())
