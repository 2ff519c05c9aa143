"""Hub -> OpenVINO: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.

Quantized constants stay as narrow as they are, decompressed by Convert, Subtract and Multiply, which OpenVINO's
transformations for low precision look for.
"""

from __future__ import annotations

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, rank_of, required, size_of_axis
from ....passes.protos import DTYPES
from ....passes.quantization import dequantizes_by_zero_point
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..rounding_ties import has_exact_ties
from .context import context_of
from .fold import computed
from .tools import along, convert, cut, element_type, i64, range_of, reshape, scalar, size_of

RANGES: dict[DType, tuple[int, int]] = {
    DType.INT4: (-8, 7),
    DType.INT8: (-128, 127),
    DType.INT16: (-32768, 32767),
    DType.UINT4: (0, 15),
    DType.UINT8: (0, 255),
    DType.UINT16: (0, 65535),
}
_SMALLEST = float(np.finfo(np.float32).tiny)


def _broadcast_scale(op: Builder, node: Node, value: Value, like: Value) -> Value:
    """A scale or zero point so that it broadcasts against the data: one, one per slice or one per block."""
    rank = rank_of(node, like)
    if value.rank == 0 or (value.rank == 1 and size_of_axis(value, 0) == 1) or rank == 0:
        return scalar(op, value)
    axis = axis_of(node, node.attributes.get("axis", 1), rank)
    block = node.attributes.get("block_size", 0)
    if not block:
        return along(op, value, rank, axis)
    places = op.Divide(range_of(op, size_of(op, node, like, axis)), i64(op, block), m_pythondiv=False)
    return op.Gather(value, places, i64(op, axis))


def _check_scale(node: Node, scale: Value) -> None:
    """OpenVINO divides by a constant as it multiplies with the reciprocal."""
    array = scale.array()
    if array is not None and (np.abs(array.astype(np.float64)) < _SMALLEST).any():
        raise Unsupported(
            node, "a scale so small that float32 doesn't hold its reciprocal, with which OpenVINO divides"
        )


def _faked(op: Builder, node: Node, x: Value, scale: Value, zero: Value | None, dtype: DType) -> Value | None:
    """FakeQuantize, which OpenVINO fuses with what stands around it, where it rounds as QuantizeLinear does.

    FakeQuantize rounds a place among the levels, QuantizeLinear that place less the zero point's. Where these differ
    float32 loses digits of what it rounds, and an odd difference turns what lies just between two steps the other
    way. So there must be no difference, or nothing that comes to lie there.
    """
    factor, offset = scale.array(), np.zeros((), np.float32) if zero is None else zero.array()
    if factor is None or offset is None or node.attributes.get("block_size", 0):
        return None
    if dtype not in (DType.INT8, DType.UINT8) or factor.dtype != np.float32:
        return None
    low, high = RANGES[dtype]
    first = offset.astype(np.float32) - low
    plain = not first.any() or ((np.frexp(factor)[0] == 0.5).all() and not (first % 2).any())
    if not plain and has_exact_ties(x, factor):
        return None
    if (factor <= 0).any() or not np.isfinite(factor * 256).all():
        return None
    bounds = [
        _broadcast_scale(op, node, op.const(factor * (end - offset.astype(np.float32))), x) for end in (low, high)
    ]
    levels = [op.const(np.float32(end)) for end in (low, high)]
    made = op.FakeQuantize(x, *bounds, *levels, levels=high - low + 1)
    return op.Convert(made, destination_type=element_type(node, dtype))


@rule("", "QuantizeLinear")
def quantize_linear(op: Builder, node: Node) -> Value | None:
    """FakeQuantize where that rounds alike; None else, where it is what it is made of."""
    x, scale, zero = required(node, 0), required(node, 1), node.input(2)
    stated = node.attributes.get("output_dtype")
    dtype = dtype_of(node, zero) if zero is not None else DTYPES[stated] if stated else DType.UINT8
    precision = node.attributes.get("precision")
    working = DTYPES[precision] if precision else dtype_of(node, scale)
    _check_scale(node, scale)
    summand = computed(op, node) if _is_summand(x) else None
    if summand is not None:
        return summand[0]
    return _faked(op, node, convert(op, node, x, working), convert(op, node, scale, working), zero, dtype)


def _work_type(node: Node, x: Value, scale: Value) -> DType:
    """The type in which difference and product are exact, or rounded as ONNX rounds them: once."""
    kind, stated = dtype_of(node, scale), node.attributes.get("output_dtype")
    if kind in (DType.FLOAT16, DType.BFLOAT16) and (stated or dtype_of(node, x).bits > 8):
        return DType.FLOAT32
    return kind


def _in_blocks(op: Builder, node: Node, x: Value) -> tuple[int, Value] | None:
    """(axis, the constant with that axis as blocks and their elements), the last block filled up with zeros."""
    block, array, rank = node.attributes.get("block_size", 0), x.array(), x.rank
    if not block or array is None or not array.size or not rank:
        return None
    axis = axis_of(node, node.attributes.get("axis", 1), rank)
    lacking = -array.shape[axis] % block
    if lacking:
        widths = [(0, lacking if place == axis else 0) for place in range(rank)]
        array = np.pad(array, widths)
    return axis, op.const(array.reshape(*array.shape[:axis], -1, block, *array.shape[axis + 1 :]), dtype_of(node, x))


def _is_summand(x: Value) -> bool:
    """A constant for a number, or for each channel, that is no bias of a convolution: those are 32 bits wide.

    OpenVINO dies of sums with one that is kept narrow.
    """
    data = x.data
    return data is not None and data.dtype is not DType.INT32 and sum(size > 1 for size in data.shape) <= 1


def _faked_back(op: Builder, node: Node, x: Value, scale: Value, zero: Value | None) -> Value | None:
    """FakeQuantize into the range of what is dequantized, where another one quantized it."""
    source = x.producer.inputs[0] if x.producer is not None and x.producer.op_type == "Convert" else None
    made = None if source is None else source.producer
    factor, offset = scale.array(), np.zeros((), np.float32) if zero is None else zero.array()
    if made is None or made.op_type != "FakeQuantize" or factor is None or offset is None:
        return None
    if node.attributes.get("output_dtype") or node.attributes.get("block_size") or factor.dtype != np.float32:
        return None
    levels = [value.array() for value in made.inputs[3:] if value is not None]
    bounds = [
        _broadcast_scale(op, node, op.const(factor * (end - offset.astype(np.float32))), x)
        for end in levels
        if end is not None
    ]
    return op.FakeQuantize(*made.inputs[:3], *bounds, **made.attributes)


@rule("", "DequantizeLinear")
def dequantize_linear(op: Builder, node: Node) -> Value:
    """(x - zero) * scale. The zero point of a constant stays narrow, too; that of other data is a float, without
    which OpenVINO doesn't fuse it with what quantized them."""
    x, scale, zero = required(node, 0), required(node, 1), node.input(2)
    summand = computed(op, node) if _is_summand(x) else None
    if summand is not None:
        return summand[0]
    faked = _faked_back(op, node, x, scale, zero)
    if faked is not None:
        return faked
    working, stated = _work_type(node, x, scale), node.attributes.get("output_dtype")
    offset = None if zero is None else zero.array()
    if not dequantizes_by_zero_point(dtype_of(node, x)) or (offset is not None and not offset.astype(np.float32).any()):
        zero = None
    blocks = _in_blocks(op, node, x)
    narrow = x if blocks is None else blocks[1]
    if blocks is None:
        factor, offset = (None if part is None else _broadcast_scale(op, node, part, x) for part in (scale, zero))
    else:
        factor, offset = (None if part is None else _unsqueezed(op, part, blocks[0] + 1) for part in (scale, zero))
    assert factor is not None
    value = op.Convert(narrow, destination_type=element_type(node, working))
    if offset is not None:
        kept = x.data is not None and dtype_of(node, offset) is not working
        name = element_type(node, working)
        offset = op.Convert(offset, destination_type=name) if kept else convert(op, node, offset, working)
        value = op.Subtract(value, offset)
    value = op.Multiply(value, convert(op, node, factor, working))
    if x.data is not None and x.data.size > 1:
        context_of(op).compressed = True
    if blocks is not None:
        value = _joined(op, value, blocks[0], size_of_axis(x, blocks[0]))
    return convert(op, node, value, DTYPES[stated] if stated else dtype_of(node, scale))


def _joined(op: Builder, value: Value, axis: int, length: int | None) -> Value:
    """Blocks and their elements as one axis again, of this length."""
    shape = list(value.tensor.static_shape or ())
    whole = reshape(op, value, [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]])
    return whole if length == shape[axis] * shape[axis + 1] else cut(op, whole, 0, length, axis=axis)


def _unsqueezed(op: Builder, value: Value, axis: int) -> Value:
    """With a dimension of 1 more."""
    if value.data is not None:
        return op.const(np.expand_dims(value.data.numpy(), axis), value.data.dtype)
    return op.Unsqueeze(value, i64(op, [axis]))


RULES = collect(globals())
