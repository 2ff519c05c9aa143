"""Scan before version 9 (where it has a batch around it) as a Loop, which takes its elements by their number;
loops without a state."""

from __future__ import annotations

from typing import Any

from ..build import expr, length_of, taken
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import rank_of, required
from .build import StepBuilder
from .control import entering
from .loop_decompositions import Pass, looped
from .offsets import arange, gathered
from .steps import Made, Step, attribute, changed, same


def _axes(node: Node, name: str, count: int) -> list[int]:
    return list(attribute(node, name) or [0] * count)


def _as_loop(op: StepBuilder, node: Node) -> Made:
    """Scan-9: states, and elements of the inputs along their axes; what the body gives is stacked along axes."""
    op, old, count = op.at(13), node.regions["body"], attribute(node, "num_scan_inputs", 0)
    first, scanned = node.formal_inputs[:-count], [value for value in node.formal_inputs[-count:] if value is not None]
    if not count or len(scanned) < count:
        raise Unsupported(node, "a Scan over no inputs can't be expressed by a Loop")
    axes = [axis + rank_of(node, value) if axis < 0 else axis for axis, value in _over(node, scanned)]
    ways = _axes(node, "scan_input_directions", count)
    length, types = length_of(op.newest, scanned[0], axes[0]).value(), entering(node, old)

    def fill(one: Pass) -> tuple[None, list[Value]]:
        body, seen = one.op, one.seen
        back = body.Sub(body.Sub(seen[count], body.const(1)), one.turn)
        elements = [
            taken(body, value, back if way else one.turn, axis, _types=[type])
            for value, axis, way, type in zip(seen, axes, ways, types[len(first) :], strict=False)
        ]
        return None, body.inline(old, [*one.states, *elements, *seen[count + 1 :]])

    made = looped(op, length, first, [*scanned, length, *node.captures], fill, types=types[: len(first)])
    return [*made[: len(first)], *_arranged_stacks(op, node, made[len(first) :], length)]


def _with_state(op: StepBuilder, node: Node) -> Made:
    """Loop-1 takes at least one state."""
    if len(node.formal_inputs) > 2:
        return None

    def fill(one: Pass) -> tuple[Value, list[Value]]:
        more, *made = one.op.inline(node.regions["body"], [one.turn, one.go_on, *one.seen])
        return more, made

    return looped(op, node.input(0), [], node.captures, fill, start=node.input(1))


def _over(node: Node, scanned: list[Value]) -> list[tuple[int, Value]]:
    return list(zip(_axes(node, "scan_input_axes", len(scanned)), scanned, strict=True))


def _arranged_stacks(op: StepBuilder, node: Node, stacks: list[Value], length: Value) -> list[Value]:
    """What was stacked along the first axis, along its own, and from behind where it says so."""
    axes, ways = (_axes(node, f"scan_output_{name}", len(stacks)) for name in ("axes", "directions"))
    placed: list[Value] = []
    for value, axis, way in zip(stacks, axes, ways, strict=True):
        if way:
            count = expr(op.newest, length)
            value = gathered(op, value, count - 1 - arange(count))
        if axis:
            size = rank_of(node, value)
            order = list(range(1, size))
            order.insert(axis % size, 0)
            value = op.Transpose(value, perm=order)
        placed.append(value)
    return placed


def _axes_from_front(op: StepBuilder, node: Node) -> Made:
    """Scan-9's axes don't count from the back."""
    names = ("scan_input_axes", "scan_output_axes")
    if all(axis >= 0 for name in names for axis in attribute(node, name, ())):
        return None
    count = attribute(node, "num_scan_inputs", 0)
    inputs = len(node.formal_inputs)
    outside = [required(node, index) for index in range(inputs - count, inputs)], node.outputs[inputs - count :]
    found: dict[str, Any] = {
        name: [axis + rank_of(node, value) if axis < 0 else axis for axis, value in zip(axes, values, strict=True)]
        for name, values in zip(names, outside, strict=True)
        if (axes := attribute(node, name))
    }
    return changed(node, **found)


ROWS = {
    ("Loop", 11): Step(same, _with_state),
    ("Scan", 11): Step(same, _axes_from_front),
    ("Scan", 9): Step("Scan-8 has a batch around it; it is taken apart when it becomes a loop of the hub", _as_loop),
}
