"""Reductions: axes from attribute to input, and the logarithms of integers."""

from __future__ import annotations

from ..errors import Unsupported
from ..graph import Node, Value
from ..protos import ENUMS
from ..types import DType
from .build import StepBuilder
from .steps import (
    Made,
    Step,
    attribute,
    both,
    changed,
    constant,
    dtype,
    moved,
    positive,
    required,
    rows,
    same,
    tensor_type,
)

_LATER = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare"


def _some_axes(op: StepBuilder, node: Node) -> Made:
    """noop_with_empty_axes=1 matters where there are no axes, or may be none."""
    axes = constant(node, 1)
    if attribute(node, "noop_with_empty_axes", 0) and (axes is None or not axes.size):
        raise Unsupported(node, f"noop_with_empty_axes=1 can't be said before version {node.version}")
    return changed(node, without=("noop_with_empty_axes",))


def _floating(op: StepBuilder, value: Value) -> Value:
    return op.Cast(value, to=ENUMS[DType.FLOAT64], _types=[tensor_type(value, DType.FLOAT64)])


def _log_of_sum(op: StepBuilder, node: Node) -> Made:
    """Integers are summed as such; the logarithm, in float64, is cut off."""
    kind = dtype(node, required(node, 0))
    if kind.is_float:
        return None
    total = op.ReduceSum(*node.inputs, **node.attributes)
    return op.Cast(op.Log(_floating(op, total)), to=ENUMS[kind])


def _log_of_exponentials(op: StepBuilder, node: Node) -> Made:
    x = required(node, 0)
    kind = dtype(node, x)
    if kind.is_float:
        return None
    made = op.ReduceLogSumExp(_floating(op, x), *node.inputs[1:], **node.attributes)
    return op.Cast(made, to=ENUMS[kind])


_AXES = both(moved(("axes", 1)), Step(same, _some_axes))

ROWS = {
    **rows(f"{_LATER} ReduceSum", 11, positive("axes")),
    ("ReduceSum", 13): _AXES,
    **rows(_LATER, 18, _AXES),
    ("ReduceLogSum", 28): Step(_log_of_sum, same),
    ("ReduceLogSumExp", 28): Step(_log_of_exponentials, same),
}
