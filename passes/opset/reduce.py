"""Reductions: axes from attribute to input, the logarithms of integers; axes that are known at run time only.

Where a version wants those as an attribute, they are turned into a mask over the axes of a tensor whose rank is known.
"""

from __future__ import annotations

import numpy as np

from ..build import expr, where
from ..decompose.arithmetic import sum_of_terms
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..shape_faults import scalar_fault
from ..types import DType
from .build import StepBuilder
from .regular_steps import positive, to_attributes, to_inputs
from .steps import Made, Step, as_type, attribute, changed, constant, decomposed, numbers, rows, same

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
    axes = as_type(op, axes, DType.INT64)
    return op.Where(op.Less(axes, op.const(0)), op.Add(axes, known), axes)


def named(op: StepBuilder, axes: Value, size: int) -> Value:
    """bool [size, axes]: whether an axis is the one that stands there, counted from the front, int64."""
    column, row = op.const(np.arange(size)[:, None], DType.INT64), op.Reshape(axes, numbers(op, [1, -1]))
    return op.Equal(column, row)


def scatter_selected(op: StepBuilder, mask: Value, values: Value, default: int) -> Value:
    """What is given for some axes, [.., axes], for all of them, [.., rank]; `mask` as `named` makes it."""
    last, zero = max(values.rank or 1, 2) - 1, op.const(0)
    op = op.newest
    found = op.ReduceSum(op.Where(mask, values, zero), numbers(op, last), keepdims=0)
    if not default:
        return found
    missing = op.Equal(op.ReduceSum(as_type(op, mask, DType.INT64), numbers(op, 1), keepdims=0), zero)
    return op.Where(missing, op.const(default), found)


def _check_axes(node: Node) -> None:
    """
    Raises:
        InvalidModel: there are some, and of a scalar; what is known only here is nothing that ONNX's checker sees.
    """
    if fault := scalar_fault(node):
        raise InvalidModel(f"{node!r}{fault}")


def is_constant(node: Node) -> bool:
    """Whether the axes are known, or left out."""
    return node.input(1) is None or constant(node, 1) is not None


def reduction(op: StepBuilder, node: Node) -> Value:
    """A reduction over axes given at run time, for those that may go over one axis after the other.

    Each axis is reduced; of the elements along it and the reduced one behind them the mask takes either.
    """
    data, axes = required(node, 0), required(node, 1)
    size = rank_of(node, data)
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
    _check_axes(node)
    if is_constant(node):
        return _BY_ATTRIBUTE(op, node)
    data = required(node, 0)
    mask = _mask(op, required(node, 1), rank_of(node, data))
    return op.reshape(data, op.Compress(op.Shape(data), op.Not(mask), axis=0))


def unsqueeze(op: StepBuilder, node: Node) -> Made:
    """The sizes in order with ones between them: a position takes the size that as many unmasked ones stand before."""
    if is_constant(node):
        return to_attributes(("axes", 1), empty=True)(op, node)
    data, axes = required(node, 0), required(node, 1)
    count = axes.tensor.static_shape
    if count is None:
        raise Unsupported(node, "axes neither constant nor of a number that is known")
    size = rank_of(node, data)
    mask = _mask(op, axes, size + (count[0] if count else 1))
    order = op.CumSum(as_type(op, op.Not(mask), DType.INT64), op.const(0))
    sizes = op.Concat(op.Shape(data), numbers(op, 1), axis=0)
    return op.reshape(data, op.Gather(sizes, op.Where(mask, op.const(size), op.Sub(order, op.const(1)))))


_LATER = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare"

# those that may go over one axis after the other; ReduceMean of integers would cut off each time
_STEPWISE = {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"}


# reductions ---------------------------------------------------------------------------------------


def _axes_attribute(op: StepBuilder, node: Node) -> Made:
    """Axes that are given at run time, or that may be none, are said by other operators."""
    _check_axes(node)
    axes = constant(node, 1)
    plain = changed(node, without=("noop_with_empty_axes",))
    if attribute(node, "noop_with_empty_axes", 0) and (node.input(1) is None or (axes is not None and not axes.size)):
        if node.op_type == "ReduceLogSumExp":
            x = expr(op.newest, required(node, 0))
            return where(x.equals(0), 0, x).value() if x.dtype.is_float else required(node, 0)  # exp(-0) is 1
        return required(node, 0) if node.op_type in _STEPWISE else _decomposed(op, node)
    if is_constant(node):
        return to_attributes(("axes", 1))(op, plain)
    if dtype_of(node, required(node, 0)).is_float:
        return reduction(op, node) if node.op_type in {*_STEPWISE, "ReduceLogSumExp"} else _decomposed(op, node)
    if node.op_type == "ReduceMean":
        return _mean_of_integers(op, node)
    if node.op_type == "ReduceLogSumExp":
        return _log_of_exponentials(op, node)
    return reduction(op, node) if node.op_type in _STEPWISE else _decomposed(op, node)


def _decomposed(op: StepBuilder, node: Node) -> Made:
    return decomposed(sum_of_terms)(op, node)


def _mean_of_integers(op: StepBuilder, node: Node) -> Value:
    """Over axes given at run time: the quotient cuts off."""
    data = required(node, 0)
    total = op.ReduceSum(as_type(op, data, DType.INT64), *node.inputs[1:], **node.attributes)
    one = op.const(1)  # instead of 0 where nothing is reduced, or nothing left
    results = op.Max(op.Size(total), one)
    return as_type(op, op.Div(total, op.Max(op.Div(op.Size(data), results), one)), dtype_of(node, data))


def _log_of_sum(op: StepBuilder, node: Node) -> Made:
    """Of integers the logarithm is taken in float64, and cut off."""
    return None if dtype_of(node, required(node, 0)).is_float else _decomposed(op, node)


def _log_of_exponentials(op: StepBuilder, node: Node) -> Made:
    x = required(node, 0)
    kind = dtype_of(node, x)
    if kind.is_float:
        return None
    made = op.ReduceLogSumExp(as_type(op, x, DType.FLOAT64), *node.inputs[1:], **node.attributes)
    return as_type(op, made, kind)


_AXES = Step(to_inputs(("axes", 1)), _axes_attribute)


ROWS = {
    **rows(f"{_LATER} ReduceSum", 11, positive("axes")),
    ("ReduceSum", 13): _AXES,
    **rows(_LATER, 18, _AXES),
    ("ReduceLogSum", 28): Step(_log_of_sum, same),
    ("ReduceLogSumExp", 28): Step(_log_of_exponentials, same),
}
