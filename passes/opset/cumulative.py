"""CumSum and CumProd before there was such an operator: a Scan that accumulates along the axis, in its order."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constant_analysis import known_array
from ..graph import Node, Value
from ..preconditions import required
from ..types import TensorType
from .build import StepBuilder
from .counting import one_of
from .runtime_axes import axes_from_front
from .steps import INT64_MAX, Adapter, Made, Step, attribute, constant, dtype, numbers, rank


def _by_scan(operator: str, start: float) -> Adapter:
    """The adapter for an accumulation with a binary operator.

    Args:
        start: what the operator leaves every element unchanged with.
    """

    def down(op: StepBuilder, node: Node) -> Made:
        certain = known_array(node.output)
        if certain is not None:
            return op.const(certain, node.output.tensor.dtype)
        data = required(node, 0)
        size = rank(node, data)
        axis = constant(node, 1)
        if size == 1:
            return _accumulated(op, node, operator, start, 0)
        if axis is not None:
            return _accumulated(op, node, operator, start, int(axis.item()) % size)
        given = one_of(op, axes_from_front(op, data, required(node, 1)))
        made = _accumulated(op, node, operator, start, 0)
        for place in range(1, size):
            other = _accumulated(op, node, operator, start, place)
            made = op.Where(op.Equal(given, numbers(op, place)), other, made)
        return made

    return down


def _accumulated(op: StepBuilder, node: Node, operator: str, start: float, axis: int) -> Value:
    """Along one axis, which is put first: not every runtime scans another one, or an empty tensor along it."""
    data = required(node, 0)
    dims = data.tensor.shape
    assert dims is not None
    if dims[axis] == 0:
        return op.Identity(data)
    if not axis:
        return _from_first_to_last(op, node, data, operator, start)
    order = [axis, *(place for place in range(len(dims)) if place != axis)]
    made = _from_first_to_last(op, node, op.Transpose(data, perm=order), operator, start)
    return op.Transpose(made, perm=np.argsort(order).tolist(), _types=[data.type])


def _from_first_to_last(op: StepBuilder, node: Node, data: Value, operator: str, start: float) -> Value:
    """Along axis 0. Where it may be empty it gets one element more, as a loop without a pass has no shape to give."""
    kind = dtype(node, data)
    length, *rest = data.tensor.shape or (None,)
    exclusive, reverse = attribute(node, "exclusive", 0), attribute(node, "reverse", 0)
    if operator == "Add" and kind.is_float and not exclusive:
        start = -0.0  # the sum of a single -0 is -0
    early, inner = op.at(9), TensorType(kind, tuple(rest))
    first = op.const(start, kind)
    if rest:
        first = op.Expand(first, early.Gather(op.Shape(data), numbers(op, range(1, len(rest) + 1))), _types=[inner])
    elements, padded = data, not isinstance(length, int)
    if padded:
        one = early.Unsqueeze(first, axes=[0])
        elements = op.Concat(data, one, axis=0) if reverse else op.Concat(one, data, axis=0)
    body = op.region("accumulation")
    total, part = body.input("total", inner), body.input("part", inner)
    after = body.call(operator, total, part, _types=[inner])
    gives = after if padded or not exclusive else total
    body.graph.outputs = [after, body.Identity(gives, _types=[inner])]
    scan = Node("", "Scan", 9)
    scan.regions["body"] = body.graph
    plan: dict[str, Any] = {"num_scan_inputs": 1}
    if reverse:
        plan |= {"scan_input_directions": [1], "scan_output_directions": [1]}
    whole = TensorType(kind, (None if padded else length, *rest))
    _, made = op.place(scan, [first, elements], plan, 2, [inner, whole])
    if not padded:
        return made
    from_place, to_place = (0, -1) if bool(exclusive) is not bool(reverse) else (1, INT64_MAX)
    return early.Slice(made, starts=[from_place], ends=[to_place], axes=[0], _types=[data.type])


ROWS = {
    ("CumSum", 11): Step("CumSum came with version 11", _by_scan("Add", 0.0)),
    ("CumProd", 26): Step("CumProd came with version 26", _by_scan("Mul", 1.0)),
}
