"""Reductions: axes from attribute to input, and the logarithms of integers."""

from __future__ import annotations

from ..decompose.reductions import sum_of_terms
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
    decomposed,
    dtype,
    positive,
    rows,
    same,
    to_attributes,
    to_inputs,
)

_LATER = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare"

# those that may go over one axis after the other; ReduceMean of integers would cut off each time
_STEPWISE = {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"}


def _axes_attribute(op: StepBuilder, node: Node) -> Made:
    """Axes that are given at run time, or that may be none, are said by other operators."""
    axes = constant(node, 1)
    plain = changed(node, without=("noop_with_empty_axes",))
    if attribute(node, "noop_with_empty_axes", 0) and (node.input(1) is None or (axes is not None and not axes.size)):
        return required(node, 0) if node.op_type in {*_STEPWISE, "ReduceLogSumExp"} else _decomposed(op, node)
    if is_constant(node):
        return to_attributes(("axes", 1))(op, plain)
    if dtype(node, node.input(0)).is_float:
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
    total = op.ReduceSum(as_int64(op, data), *node.inputs[1:], **node.attributes)
    one = op.const(1)  # instead of 0 where nothing is reduced, or nothing left
    results = op.Max(op.Size(total), one)
    return as_type(op, op.Div(total, op.Max(op.Div(op.Size(data), results), one)), dtype(node, data))


def _log_of_sum(op: StepBuilder, node: Node) -> Made:
    """Of integers the logarithm is taken in float64, and cut off."""
    return None if dtype(node, required(node, 0)).is_float else _decomposed(op, node)


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
