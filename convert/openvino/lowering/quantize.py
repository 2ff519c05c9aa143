"""Hub -> OpenVINO: QuantizeLinear, DequantizeLinear, and products of quantized integers.

Quantized constants stay as narrow as they are, decompressed by Convert, Subtract and Multiply, which OpenVINO's
transformations for low precision look for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, rank_of, required, size_of_axis
from ....passes.protos import DTYPES
from ....passes.quantization import dequantizes_by_zero_point
from ....passes.rewrite import Builder, collect, rule
from ....passes.schemas import hub_version
from ....passes.types import BYTES, HALVES, DType
from ..rounding_ties import has_exact_ties, hits_ties
from .context import context_of
from .functions import computed
from .nn import convolved
from .tools import along, convert, element_type, i64, range_of, reshape, scalar, size_of, slice_axis

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
    indices = op.Divide(range_of(op, size_of(op, node, like, axis)), i64(op, block), m_pythondiv=False)
    return op.Gather(value, indices, i64(op, axis))


def _check_scale(node: Node, scale: Value) -> None:
    """OpenVINO divides by a constant as it multiplies with the reciprocal."""
    array = scale.array()
    if array is not None and (np.abs(array.astype(np.float64)) < _SMALLEST).any():
        raise Unsupported(node, "a scale so small that its reciprocal, by which OpenVINO multiplies, overflows float32")


def _faked(op: Builder, node: Node, x: Value, scale: Value, zero: Value | None, dtype: DType) -> Value | None:
    """FakeQuantize, which OpenVINO fuses with what stands around it, where it rounds as QuantizeLinear does.

    FakeQuantize rounds a index among the levels, QuantizeLinear that index less the zero point's. Where these differ
    float32 loses digits of what it rounds, and an odd difference turns what lies just between two steps the other
    way. So there must be no difference, or nothing that comes to lie there.
    """
    factor, offset = scale.array(), np.zeros((), np.float32) if zero is None else zero.array()
    if factor is None or offset is None or node.attributes.get("block_size", 0):
        return None
    if dtype not in BYTES or factor.dtype != np.float32:
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
    if _is_unloaded(x, bounds):
        return None
    levels = [op.const(np.float32(end)) for end in (low, high)]
    made = op.FakeQuantize(x, *bounds, *levels, levels=high - low + 1)
    return op.Convert(made, destination_type=element_type(node, dtype))


def _is_unloaded(x: Value, bounds: Sequence[Value]) -> bool:
    """Whether a FakeQuantize has bounds along axis 2 of open sizes, which OpenVINO doesn't load."""
    return x.tensor.static_shape is None and any(
        size != 1 for bound in bounds for size in (bound.tensor.shape or ())[2:3]
    )


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
    if kind in HALVES and (stated or dtype_of(node, x).bits > 8):
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
        widths = [(0, lacking if index == axis else 0) for index in range(rank)]
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
    return None if _is_unloaded(x, bounds) else op.FakeQuantize(*made.inputs[:3], *bounds, **made.attributes)


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
        value = _merged_blocks(op, value, blocks[0], size_of_axis(x, blocks[0]))
    return convert(op, node, value, DTYPES[stated] if stated else dtype_of(node, scale))


def _merged_blocks(op: Builder, value: Value, axis: int, length: int | None) -> Value:
    """Blocks and their elements as one axis again, of this length."""
    shape = list(value.tensor.static_shape or ())
    whole = reshape(op, value, [*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]])
    return whole if length == shape[axis] * shape[axis + 1] else slice_axis(op, whole, 0, length, axis=axis)


def _unsqueezed(op: Builder, value: Value, axis: int) -> Value:
    """With a dimension of 1 more."""
    if value.data is not None:
        return op.const(np.expand_dims(value.data.numpy(), axis), value.data.dtype)
    return op.Unsqueeze(value, i64(op, [axis]))


# products of quantized integers, on floats that hold every sum exactly -----------------------------


_EXACT = 2**24  # integers up to here are floats


def _centered(op: Builder, node: Node, value: Value, zero: Value | None, per_row: bool | None = None) -> Value:
    """The integers less their zero point, as floats. `per_row`: a vector of zero points lies along the last axis but
    one (True) or the last (False); None: along axis 0 of a convolution's weights."""
    found = convert(op, node, value, DType.FLOAT32)
    if zero is None:
        return found
    zeros = convert(op, node, zero, DType.FLOAT32)
    if zeros.rank == 1 and size_of_axis(zeros, 0) != 1:
        if per_row:
            zeros = op.Unsqueeze(zeros, i64(op, [-1]))
        elif per_row is None:
            zeros = along(op, zeros, rank_of(node, value), 0)
    return op.Subtract(found, zeros)


def _largest_distance(value: Value, zero: Value | None) -> int:
    """How far integers are from their zero point at most."""
    array, offset = value.array(), None if zero is None else zero.array()
    low, high = RANGES.get(value.tensor.dtype or DType.UINT8, (0, 255))
    if zero is None:
        offset = np.zeros(1)
    if array is not None and array.size and offset is not None and offset.size == 1:
        low, high = int(array.min()), int(array.max())
    if offset is None or not offset.size:
        return 255
    return max(high - int(offset.min()), int(offset.max()) - low, 1)


def _products(node: Node, most: int) -> int:
    """How many products of integers, each `most` at most, float32 adds up exactly.

    Raises:
        Unsupported: none.
    """
    if most > _EXACT:
        raise Unsupported(node, "products of integers that aren't exact in float32")
    return _EXACT // most


def _parts(node: Node, count: int | None, at_once: int) -> list[tuple[int, int]]:
    """Ranges of what is summed up, so that each has so many at most."""
    if count is None:
        raise Unsupported(node, "sums of so many products of integers as is known at run time only")
    if count <= at_once:
        return [(0, count)]
    return [(start, min(start + at_once, count)) for start in range(0, count, at_once)]


def _added(op: Builder, node: Node, sums: list[Value]) -> Value:
    """Partial sums, exact as floats, added up as integers."""
    total, *rest = (convert(op, node, part, DType.INT32) for part in sums)
    for part in rest:
        total = op.Add(total, part)
    return total


@rule("", "MatMulInteger")
def matmul_integer(op: Builder, node: Node) -> Value:
    """Products of floats, of parts of the rows and columns where a sum would leave what float32 holds exactly."""
    a, b = required(node, 0), required(node, 1)
    left = _centered(op, node, a, node.input(2), True)
    right = _centered(op, node, b, node.input(3), False)
    most = _largest_distance(a, node.input(2)) * _largest_distance(b, node.input(3))
    axis = max(rank_of(node, b) - 2, 0)
    parts = _parts(node, size_of_axis(a, -1) or size_of_axis(b, axis), _products(node, most))
    operands = [(left, right)]
    if len(parts) > 1:
        operands = [(slice_axis(op, left, *part, axis=-1), slice_axis(op, right, *part, axis=axis)) for part in parts]
    return _added(op, node, [op.MatMul(one, other) for one, other in operands])


@rule("", "ConvInteger")
def conv_integer(op: Builder, node: Node) -> Value:
    """Convolutions of floats, of some of the channels each where a sum would leave what float32 holds exactly."""
    x, weights = required(node, 0), required(node, 1)
    data, kernel = _centered(op, node, x, node.input(2)), _centered(op, node, weights, node.input(3))
    most = _largest_distance(x, node.input(2)) * _largest_distance(weights, node.input(3))
    sizes = weights.tensor.static_shape
    parts = _parts(node, None if sizes is None else sizes[1], _products(node, most * math.prod((sizes or ())[2:])))
    if len(parts) == 1:
        return _added(op, node, [convolved(op, node, data, kernel)])
    if node.attributes.get("group", 1) != 1:
        raise Unsupported(node, "sums of products of integers in groups that aren't exact in float32")
    operands = [(slice_axis(op, data, *part, axis=1), slice_axis(op, kernel, *part, axis=1)) for part in parts]
    return _added(op, node, [convolved(op, node, *pair) for pair in operands])


# products that are quantized again -----------------------------------------------------------------


def _sums_floats(node: Node, terms: int | None) -> bool:
    """Whether QLinearMatMul or QLinearConv is the product of what is dequantized, which OpenVINO fuses, and which meets
    ties by chance alone. Else it is made of integers: where their sums are exact, and ties of the result may be met."""
    a, a_zero, b, b_zero = (required(node, index) for index in (0, 2, 3, 5))
    scales = [required(node, index) for index in (1, 4, 6)]
    if any(scale.rank is None or scale.rank > 1 for scale in scales):
        return False
    exact = terms is not None and terms * _largest_distance(a, a_zero) * _largest_distance(b, b_zero) <= _EXACT
    arrays = [scale.array() for scale in scales]
    known = [array.astype(np.float64) for array in arrays if array is not None]
    if len(known) < len(arrays) or all(array.size > 1 for array in known[:2]):
        return not exact
    return not exact or not hits_ties(known[0] * known[1] / known[2])


def _hub(op: Builder, op_type: str, *inputs: Value, **attributes: Any) -> Value:
    """What stands for one of the hub's operators."""
    node = Node("", op_type, hub_version("", op_type) or 0)
    node.inputs, node.attributes = list(inputs), attributes
    node.outputs = [Value(op_type.lower(), None, node)]
    return op.apply(node)[0]


def _row_axis(scale: Value) -> int:
    """The axis of a matrix that a scale lies along: the rows, if there is one for each."""
    return -2 if scale.rank == 1 and size_of_axis(scale, 0) != 1 else -1


@rule("", "QLinearMatMul")
def qlinear_matmul(op: Builder, node: Node) -> Value | None:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (required(node, index) for index in range(8))
    if not _sums_floats(node, size_of_axis(a, -1) or size_of_axis(b, max(rank_of(node, b) - 2, 0))):
        return None
    left = _hub(op, "DequantizeLinear", a, a_scale, a_zero, axis=_row_axis(a_scale))
    right = _hub(op, "DequantizeLinear", b, b_scale, b_zero, axis=-1)
    return _hub(op, "QuantizeLinear", _hub(op, "MatMul", left, right), y_scale, y_zero, axis=_row_axis(y_scale))


@rule("", "QLinearConv")
def qlinear_conv(op: Builder, node: Node) -> Value | None:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (required(node, index) for index in range(8))
    bias, rank, sizes = node.input(8), rank_of(node, x), w.tensor.static_shape
    if not _sums_floats(node, None if sizes is None else math.prod(sizes[1:])):
        return None
    data = _hub(op, "DequantizeLinear", x, x_scale, x_zero, axis=1)
    made = convolved(op, node, data, _hub(op, "DequantizeLinear", w, w_scale, w_zero, axis=0))
    if bias is not None:
        scale = op.Multiply(scalar(op, x_scale), along(op, w_scale, rank, 1))
        made = op.Add(made, op.Multiply(along(op, convert(op, node, bias, DType.FLOAT32), rank, 1), scale))
    return _hub(op, "QuantizeLinear", made, y_scale, y_zero, axis=1)


RULES = collect(globals())
