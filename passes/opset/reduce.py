"""Reductions: axes from attribute to input, and the logarithms of integers."""

from __future__ import annotations

from ..graph import Node, Value
from ..preconditions import required
from ..types import DType
from .build import StepBuilder
from .runtime_axes import is_constant, reduction
from .steps import (
    Made,
    Step,
    as_int64,
    as_type,
    attribute,
    changed,
    constant,
    dtype,
    positive,
    rows,
    same,
    to_attributes,
    to_inputs,
)

_LATER = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare"

# those that may go over one axis after the other
_STEPWISE = {
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
}
# those of integers would cut off each time
_ROUNDED = {"ReduceL2", "ReduceLogSumExp", "ReduceMean"}


def _axes_attribute(op: StepBuilder, node: Node) -> Made:
    """Axes that are given at run time, or that may be none, are said by other operators."""
    axes = constant(node, 1)
    plain = changed(node, without=("noop_with_empty_axes",))
    if attribute(node, "noop_with_empty_axes", 0) and (node.input(1) is None or (axes is not None and not axes.size)):
        return _of_each(op, node)
    if is_constant(node):
        return to_attributes(("axes", 1))(op, plain)
    if node.op_type in _ROUNDED and not dtype(node, node.input(0)).is_float:
        return _of_integers(op, node)
    if node.op_type in _STEPWISE:
        return reduction(op, node)
    if node.op_type == "ReduceSumSquare":
        data = required(node, 0)
        return op.ReduceSum(op.Mul(data, data), *node.inputs[1:], **node.attributes)
    if node.op_type == "ReduceL1":
        return op.ReduceSum(op.Abs(required(node, 0)), *node.inputs[1:], **node.attributes)
    return _log(op, op.ReduceSum(*node.inputs, **node.attributes))


def _of_each(op: StepBuilder, node: Node) -> Value:
    """What is left of a reduction that goes over no axis."""
    data = required(node, 0)
    match node.op_type:
        case "ReduceL1" | "ReduceL2":
            return op.Abs(data)
        case "ReduceLogSum":
            return _log(op, data)
        case "ReduceSumSquare":
            return op.Mul(data, data)
    return data


def _of_integers(op: StepBuilder, node: Node) -> Value:
    """Reductions whose last step cuts off what isn't whole, over axes given at run time."""
    data = required(node, 0)
    kind = dtype(node, data)
    if node.op_type == "ReduceLogSumExp":
        made = op.ReduceLogSumExp(as_type(op, data, DType.FLOAT64), *node.inputs[1:], **node.attributes)
        return as_type(op, made, kind)
    whole = as_int64(op, data)
    if node.op_type == "ReduceL2":
        total = op.ReduceSum(op.Mul(whole, whole), *node.inputs[1:], **node.attributes)
        return as_type(op, op.Sqrt(as_type(op, total, DType.FLOAT64)), kind)
    total = op.ReduceSum(whole, *node.inputs[1:], **node.attributes)
    one = op.const(1)  # instead of 0 where nothing is reduced, or nothing left
    results = op.Max(op.Size(total), one)
    return as_type(op, op.Div(total, op.Max(op.Div(op.Size(data), results), one)), kind)


def _log(op: StepBuilder, value: Value) -> Value:
    """The logarithm, that of integers cut off."""
    kind = value.tensor.dtype
    if kind is None or kind.is_float:
        return op.Log(value)
    return as_type(op, op.Log(as_type(op, value, DType.FLOAT64)), kind)


def _log_of_sum(op: StepBuilder, node: Node) -> Made:
    """Integers are summed as such; the logarithm, in float64, is cut off."""
    kind = dtype(node, required(node, 0))
    if kind.is_float:
        return None
    return _log(op, op.ReduceSum(*node.inputs, **node.attributes))


def _log_of_exponentials(op: StepBuilder, node: Node) -> Made:
    x = required(node, 0)
    kind = dtype(node, x)
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
