"""Reductions: axes from attribute to input, and the logarithms of integers."""

from __future__ import annotations

from ..errors import Unsupported
from ..graph import Node, Value
from ..protos import ENUMS
from ..types import DType
from .build import StepBuilder
from .runtime_axes import is_constant, reduction
from .steps import (
    Made,
    Step,
    attribute,
    changed,
    constant,
    dtype,
    positive,
    required,
    rows,
    same,
    tensor_type,
    through,
    to_attributes,
    to_inputs,
)

_LATER = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare"

# without axes, those that leave an element as it is; and those that may go over one axis after the other
_IDENTITIES = frozenset({"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"})
_STEPWISE = _IDENTITIES | {"ReduceL1", "ReduceL2", "ReduceLogSumExp"}


def _axes_attribute(op: StepBuilder, node: Node) -> Made:
    """Axes that are given at run time, or that may be none, are said by other operators."""
    axes = constant(node, 1)
    plain = changed(node, without=("noop_with_empty_axes",))
    if attribute(node, "noop_with_empty_axes", 0) and (node.input(1) is None or (axes is not None and not axes.size)):
        if node.op_type in _IDENTITIES:
            return required(node, 0)
        raise Unsupported(node, f"noop_with_empty_axes=1 can't be said before version {node.version}")
    if is_constant(node):
        return to_attributes(("axes", 1))(op, plain)
    if node.op_type not in _STEPWISE:
        raise Unsupported(node, f"axes isn't constant, as it must be before version {node.version}")
    return reduction(op, node)


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


_AXES = Step(to_inputs(("axes", 1)), _axes_attribute)

ROWS = {
    **rows(f"{_LATER} ReduceSum", 11, positive("axes")),
    **rows("ReduceMax ReduceMin", 12, through(DType.INT32, DType.INT8, DType.UINT8)),
    **rows("ReduceMax ReduceMin", 20, through(DType.INT32, DType.BOOL)),
    ("ReduceSum", 13): _AXES,
    **rows(_LATER, 18, _AXES),
    ("ReduceLogSum", 28): Step(_log_of_sum, same),
    ("ReduceLogSumExp", 28): Step(_log_of_exponentials, same),
}
