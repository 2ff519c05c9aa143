"""Hub -> OpenVINO: products of quantized integers, on floats that hold every sum exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import rank_of, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.schemas import hub_version
from ....passes.types import DType
from ..rounding_ties import hits_ties
from .nn import convolved
from .quantize import RANGES
from .tools import along, convert, cut, i64, scalar

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


def _apart(value: Value, zero: Value | None) -> int:
    """How far integers are from their zero point at most."""
    array, offset = value.array(), None if zero is None else zero.array()
    low, high = RANGES.get(value.tensor.dtype or DType.UINT8, (0, 255))
    if zero is None:
        offset = np.zeros(1)
    if array is not None and array.size and offset is not None and offset.size == 1:
        low, high = int(array.min()), int(array.max())
    if offset is None:
        return 255
    return max(high - int(offset.min()), int(offset.max()) - low, 1)


def _products(node: Node, most: int) -> int:
    """How many products of integers, each `most` at most, float32 adds up exactly.

    Raises:
        Unsupported: none.
    """
    if most > _EXACT:
        raise Unsupported(node, "products of integers that are more than float32 holds exactly")
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
    most = _apart(a, node.input(2)) * _apart(b, node.input(3))
    axis = max(rank_of(node, b) - 2, 0)
    parts = _parts(node, size_of_axis(a, -1) or size_of_axis(b, axis), _products(node, most))
    operands = [(left, right)]
    if len(parts) > 1:
        operands = [(cut(op, left, *part, axis=-1), cut(op, right, *part, axis=axis)) for part in parts]
    return _added(op, node, [op.MatMul(one, other) for one, other in operands])


@rule("", "ConvInteger")
def conv_integer(op: Builder, node: Node) -> Value:
    """Convolutions of floats, of some of the channels each where a sum would leave what float32 holds exactly."""
    x, weights = required(node, 0), required(node, 1)
    data, kernel = _centered(op, node, x, node.input(2)), _centered(op, node, weights, node.input(3))
    most = _apart(x, node.input(2)) * _apart(weights, node.input(3))
    sizes = weights.tensor.static_shape
    parts = _parts(node, None if sizes is None else sizes[1], _products(node, most * math.prod((sizes or ())[2:])))
    if len(parts) == 1:
        return _added(op, node, [convolved(op, node, data, kernel)])
    if node.attributes.get("group", 1) != 1:
        raise Unsupported(node, "sums of products of integers in groups, more than float32 holds exactly")
    operands = [(cut(op, data, *part, axis=1), cut(op, kernel, *part, axis=1)) for part in parts]
    return _added(op, node, [convolved(op, node, *pair) for pair in operands])


# products that are quantized again -----------------------------------------------------------------


def _sums_floats(node: Node, terms: int | None) -> bool:
    """Whether QLinearMatMul or QLinearConv is the product of what is dequantized, which OpenVINO fuses, and which meets
    ties by chance alone. Else it is made of integers: where their sums are exact, and ties of the result may be met."""
    a, a_zero, b, b_zero = (required(node, index) for index in (0, 2, 3, 5))
    scales = [required(node, index) for index in (1, 4, 6)]
    if any(scale.rank is None or scale.rank > 1 for scale in scales):
        return False
    exact = terms is not None and terms * _apart(a, a_zero) * _apart(b, b_zero) <= _EXACT
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
