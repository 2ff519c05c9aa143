"""Scan before version 9 (where it has a batch around it) as a Loop, which takes its elements by their number;
loops without a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Unsupported
from ..graph import Node, Value
from ..infer import small_constant
from ..types import DType, TensorType, Type
from .build import StepBuilder
from .control import entering
from .steps import Made, Step, attribute, changed, rank, same

_Given = Sequence[tuple[Value | None, Type | None]]
_COUNT = TensorType(DType.INT64, ())
_GO_ON = TensorType(DType.BOOL, ())


def _axes(node: Node, name: str, count: int) -> list[int]:
    return list(attribute(node, name) or [0] * count)


def _length(op: StepBuilder, value: Value, axis: int) -> Value:
    shape = value.tensor.shape
    size = shape[axis] if shape is not None else None
    if isinstance(size, int):
        return op.const(size)
    return op.Gather(op.Shape(value), op.const(axis), _types=[_COUNT])


Fill = Callable[[StepBuilder, Value, Value, list[Value], list[Value]], tuple[Value, list[Value]]]
"""(body, turn, go_on, states, captured) -> whether to go on, the states and then what is stacked."""


def _looped(
    op: StepBuilder, trip: Value | None, start: Value | None, states: _Given, seen: Sequence[Value | None], fill: Fill
) -> list[Value]:
    """A Loop-1 of states, of which it needs one, that sees values around it."""
    body = op.region("body")
    turn, go_on = body.input("turn", _COUNT), body.input("go_on", _GO_ON)
    carried = [body.input("state", type) for _, type in states]
    idle = [] if carried else [body.input("idle", _COUNT)]
    inner = [body.input("seen", None if value is None else value.type) for value in seen]
    for twin, outer in zip(inner, seen, strict=True):
        twin.data = small_constant(outer)  # adapters inside may ask for it
    more, made = fill(body, turn, go_on, carried, inner)
    body.graph.outputs = [body.Identity(value, _types=[value.type]) for value in (more, *idle, *made)]
    for twin in inner:
        twin.data = None
    loop = Node("", "Loop", 1)
    loop.regions["body"] = body.graph
    loop.captured = len(seen)
    given = [*(value for value, _ in states), *(op.const(0) for _ in idle)]
    kinds = [None] * len(given) + [_stacked(value) for value in made[len(states) :]]
    results = op.place(loop, [trip, start, *given, *seen], {}, len(kinds), kinds)
    found = [results] if isinstance(results, Value) else list(results)
    return found[len(idle) :]


def _as_loop(op: StepBuilder, node: Node) -> Made:
    """Scan-9: states, and elements of the inputs along their axes; what the body gives is stacked along axes."""
    op, old, count = op.at(13), node.regions["body"], attribute(node, "num_scan_inputs", 0)
    first, scanned = node.formal_inputs[:-count], [value for value in node.formal_inputs[-count:] if value is not None]
    if not count or len(scanned) < count:
        raise Unsupported(node, "a Scan over no inputs can't be said by a Loop")
    axes = [axis + rank(node, value) if axis < 0 else axis for axis, value in _over(node, scanned)]
    ways = _axes(node, "scan_input_directions", count)
    length, types = _length(op, scanned[0], axes[0]), entering(node, old)

    def fill(
        body: StepBuilder, turn: Value, go_on: Value, states: list[Value], seen: list[Value]
    ) -> tuple[Value, list[Value]]:
        back = body.Sub(body.Sub(seen[count], body.const(1)), turn)
        elements = [
            body.Gather(value, back if way else turn, axis=axis, _types=[type])
            for value, axis, way, type in zip(seen, axes, ways, types[len(first) :], strict=False)
        ]
        made = body.inline(old, [*states, *elements, *seen[count + 1 :]])
        return body.const(True, DType.BOOL), made

    states = list(zip(first, types, strict=False))
    made = _looped(op, length, op.const(True, DType.BOOL), states, [*scanned, length, *node.captures], fill)
    return [*made[: len(first)], *_placed(op, node, made[len(first) :], length)]


def _with_state(op: StepBuilder, node: Node) -> Made:
    """Loop-1 takes at least one state."""
    if len(node.formal_inputs) > 2:
        return None

    def fill(
        body: StepBuilder, turn: Value, go_on: Value, states: list[Value], seen: list[Value]
    ) -> tuple[Value, list[Value]]:
        more, *made = body.inline(node.regions["body"], [turn, go_on, *seen])
        return more, made

    return _looped(op, node.input(0), node.input(1), [], node.captures, fill)


def _over(node: Node, scanned: list[Value]) -> list[tuple[int, Value]]:
    return list(zip(_axes(node, "scan_input_axes", len(scanned)), scanned, strict=True))


def _stacked(value: Value) -> TensorType:
    shape = value.tensor.shape
    return TensorType(value.tensor.dtype, None if shape is None else (None, *shape))


def _placed(op: StepBuilder, node: Node, stacks: list[Value], length: Value) -> list[Value]:
    """What was stacked along the first axis, along its own, and from behind where it says so."""
    axes, ways = (_axes(node, f"scan_output_{name}", len(stacks)) for name in ("axes", "directions"))
    placed: list[Value] = []
    for value, axis, way in zip(stacks, axes, ways, strict=True):
        if way:
            turns = op.Range(op.const(0), length, op.const(1))
            value = op.Gather(value, op.Sub(op.Sub(length, op.const(1)), turns), axis=0)
        if axis:
            size = rank(node, value)
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
    outside = [*node.formal_inputs[-count:]], [*node.outputs[len(node.formal_inputs) - count :]]
    found: dict[str, Any] = {
        name: [axis + rank(node, value) if axis < 0 else axis for axis, value in zip(axes, values, strict=True)]
        for name, values in zip(names, outside, strict=True)
        if (axes := attribute(node, name))
    }
    return changed(node, **found)


ROWS = {
    ("Loop", 11): Step(same, _with_state),
    ("Scan", 11): Step(same, _axes_from_front),
    ("Scan", 9): Step("Scan-8 has a batch around it; it is taken apart when it becomes a loop of the hub", _as_loop),
}
