"""CumSum and CumProd before there was such an operator: a Scan that accumulates along the axis, in its order."""

from __future__ import annotations

from ..graph import Node, Value
from ..types import TensorType
from .build import StepBuilder
from .known import known_array
from .ranges import one_of
from .runtime_axes import from_front
from .steps import Adapter, Made, Step, attribute, constant, dtype, numbers, rank, required


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
        given = one_of(op, from_front(op, data, required(node, 1)))
        made = _accumulated(op, node, operator, start, 0)
        for place in range(1, size):
            other = _accumulated(op, node, operator, start, place)
            made = op.Where(op.Equal(given, numbers(op, place)), other, made)
        return made

    return down


def _accumulated(op: StepBuilder, node: Node, operator: str, start: float, axis: int) -> Value:
    """Along one axis. A length that may be 0 gets one element more, as a loop without a pass has no shape to give."""
    data = required(node, 0)
    kind, dims = dtype(node, data), data.tensor.shape
    assert dims is not None
    if dims[axis] == 0:
        return op.Identity(data)
    exclusive, reverse = attribute(node, "exclusive", 0), attribute(node, "reverse", 0)
    if operator == "Add" and kind.is_float and not exclusive:
        start = -0.0  # the sum of a single -0 is -0
    sizes, early = op.Shape(data), op.at(9)
    rest = [place for place in range(len(dims)) if place != axis]
    shape = early.Gather(sizes, numbers(op, rest)) if rest else numbers(op, [])
    inner = TensorType(kind, tuple(dims[place] for place in rest))
    first = op.Expand(op.const(start, kind), shape, _types=[inner]) if rest else op.const(start, kind)
    padded = not isinstance(dims[axis], int)
    if padded:
        one = op.at(9).Unsqueeze(first, axes=[axis])
        data = op.Concat(data, one, axis=axis) if reverse else op.Concat(one, data, axis=axis)
    body = op.region("accumulation")
    total, part = body.input("total", inner), body.input("part", inner)
    after = body.call(operator, total, part, _types=[inner])
    before = body.Identity(total, _types=[inner])
    gives = after if padded or not exclusive else before
    body.graph.outputs = [after, body.Identity(gives, _types=[inner]) if gives is after else gives]
    scan = Node("", "Scan", 9)
    scan.regions["body"] = body.graph
    plan = {"num_scan_inputs": 1, "scan_input_axes": [axis], "scan_output_axes": [axis]}
    if reverse:
        plan.update(scan_input_directions=[1], scan_output_directions=[1])
    whole = TensorType(kind, tuple(None if place == axis and padded else dim for place, dim in enumerate(dims)))
    _, made = op.place(scan, [first, data], plan, 2, [inner, whole])
    if not padded:
        return made
    cut = (0, -1) if bool(exclusive) is not bool(reverse) else (1, _END)
    return early.Slice(made, starts=[cut[0]], ends=[cut[1]], axes=[axis], _types=[TensorType(kind, dims)])


_END = (1 << 63) - 1

ROWS = {
    ("CumSum", 11): Step("CumSum came with version 11", _by_scan("Add", 0.0)),
    ("CumProd", 26): Step("CumProd came with version 26", _by_scan("Mul", 1.0)),
}
