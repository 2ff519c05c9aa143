"""Axes that are known at run time only, where a version wants them as an attribute.

They are turned into a mask over the axes of a tensor whose rank is known.
"""

from __future__ import annotations

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..types import DType
from .build import StepBuilder
from .steps import Made, as_int64, as_type, attribute, constant, numbers, rank, to_attributes

_BY_ATTRIBUTE = to_attributes(("axes", 1))
_NOWHERE = 1 << 20  # an axis that no tensor has


def _mask(op: StepBuilder, axes: Value, size: int) -> Value:
    """bool [size]: which of the axes are named."""
    column = op.Concat(op.Reshape(axes, numbers(op, [-1, 1])), op.const([[_NOWHERE]], DType.INT64), axis=0)
    found = op.Or(op.Equal(column, numbers(op, np.arange(size))), op.Equal(column, numbers(op, np.arange(-size, 0))))
    number = as_type(op, found, DType.INT32)
    return as_type(op, op.ReduceMax(number, axes=[0], keepdims=0), DType.BOOL)


def axes_from_front(op: StepBuilder, data: Value, axes: Value) -> Value:
    """Axes of `data` given at run time, int64, those that count from the back counted from the front."""
    known = numbers(op, data.rank) if data.rank is not None else op.Shape(op.Shape(data))
    axes = as_int64(op, axes)
    return op.Where(op.Less(axes, op.const(0)), op.Add(axes, known), axes)


def named(op: StepBuilder, axes: Value, size: int) -> Value:
    """bool [size, axes]: whether an axis is the one that stands there, counted from the front, int64."""
    column, row = op.const(np.arange(size)[:, None], DType.INT64), op.Reshape(axes, numbers(op, [1, -1]))
    return op.Equal(column, row)


def spread(op: StepBuilder, mask: Value, values: Value, default: int) -> Value:
    """What is given for some axes, [.., axes], for all of them, [.., rank]; `mask` as `named` makes it."""
    last, zero = max(values.rank or 1, 2) - 1, op.const(0)
    op = op.newest
    found = op.ReduceSum(op.Where(mask, values, zero), numbers(op, last), keepdims=0)
    if not default:
        return found
    missing = op.Equal(op.ReduceSum(as_int64(op, mask), numbers(op, 1), keepdims=0), zero)
    return op.Where(missing, op.const(default), found)


def is_constant(node: Node) -> bool:
    """Whether the axes are known, or left out."""
    return node.input(1) is None or constant(node, 1) is not None


def reduction(op: StepBuilder, node: Node) -> Value:
    """A reduction over axes given at run time, for those that may go over one axis after the other.

    Each axis is reduced; of the elements along it and the reduced one behind them the mask takes either.
    """
    data, axes = required(node, 0), required(node, 1)
    size = rank(node, data)
    mask = _mask(op, axes, size)
    if not attribute(node, "noop_with_empty_axes", 0):
        mask = op.Or(mask, op.Equal(op.Size(axes), op.const(0)))
    made = op.Abs(data) if node.op_type == "ReduceL2" else data
    shape, one = op.Shape(data), numbers(op, 1)
    for axis in range(size):
        taken, length = (op.Slice(value, numbers(op, axis), numbers(op, axis + 1)) for value in (mask, shape))
        both = op.Concat(made, op.call(node.op_type, made, axes=[axis], keepdims=1), axis=axis)
        start = op.Where(taken, length, numbers(op, 0))
        made = op.Slice(both, start, op.Where(taken, op.Add(length, one), length), numbers(op, axis))
    return made if attribute(node, "keepdims", 1) else op.reshape(made, op.Compress(shape, op.Not(mask), axis=0))


def squeeze(op: StepBuilder, node: Node) -> Made:
    """The sizes of the axes that stay, as a shape."""
    if is_constant(node):
        return _BY_ATTRIBUTE(op, node)
    data = required(node, 0)
    mask = _mask(op, required(node, 1), rank(node, data))
    return op.reshape(data, op.Compress(op.Shape(data), op.Not(mask), axis=0))


def unsqueeze(op: StepBuilder, node: Node) -> Made:
    """The sizes in order with ones between them: a place takes the size that as many unmasked ones stand before."""
    if is_constant(node):
        return to_attributes(("axes", 1), empty=True)(op, node)
    data, axes = required(node, 0), required(node, 1)
    count = axes.tensor.static_shape
    if count is None:
        raise Unsupported(node, "axes neither constant nor of a number that is known")
    size = rank(node, data)
    mask = _mask(op, axes, size + (count[0] if count else 1))
    order = op.CumSum(as_int64(op, op.Not(mask)), op.const(0))
    sizes = op.Concat(op.Shape(data), numbers(op, 1), axis=0)
    return op.reshape(data, op.Gather(sizes, op.Where(mask, op.const(size), op.Sub(order, op.const(1)))))
