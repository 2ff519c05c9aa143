"""Slots that say less than they could: unused ones, carries that never change, conditions that are always true."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Graph, Node, Value
from ..infer import constant_array
from ..loop import Captured, Carried, Condition, Iteration, Loop, Sliced, Slot, Stacked, is_loop
from ..pipeline import PassResult


@dataclass(frozen=True)
class PruneSlots:
    """Bring the slots of every Loop to the least that means the same.

    - an iteration number or a captured value that the body doesn't use, a stacked value that nobody uses: gone;
    - a carried value that the body hands on as it got it: captured, its result is the initial value;
    - a condition that is true before and always true after: gone, the trip count alone decides.

    Before::

        y: float32[] = Loop(trip=m, condition=_) {
          iteration i
          condition <- go_on
          carried  a: float32[] = x <- a
          go_on: bool[] = True
        }

    After::

        Loop(trip=m, condition=_) {
        }                                   # and y is x
    """

    def __call__(self, graph: Graph) -> PassResult:
        modified = False
        for inner in graph.graphs():
            for node in inner.nodes:
                if is_loop(node):
                    modified |= _prune(inner, node)
        return PassResult(graph, modified)


def _prune(graph: Graph, node: Node) -> bool:
    loop = Loop(node)
    body = loop.body
    handed_out = set(graph.outputs)
    leaving: dict[Value, int] = {}
    for value in body.outputs:
        leaving[value] = leaving.get(value, 0) + 1
    bounded = loop.trip is not None or bool(loop.of(Sliced))
    slots: list[Slot] = []
    outside: list[Value | None] = [loop.trip, loop.initial_condition]
    enter: list[Value] = []
    leave: list[Value] = []
    results: list[Value] = []
    late: list[tuple[Value, Value]] = []  # carried values turned captured: they go to the end of the slots
    changed = False
    for entry in loop.entries:
        slot: Slot = entry.slot
        seen = entry.enter is not None and (bool(body.uses(entry.enter)) or entry.enter in leaving)
        wanted = entry.result is not None and (bool(graph.uses(entry.result)) or entry.result in handed_out)
        if isinstance(slot, Iteration | Captured) and not seen:
            changed = True
            continue
        if isinstance(slot, Stacked) and not wanted:
            changed = True
            continue
        if isinstance(slot, Condition):
            start, stop = loop.initial_condition, entry.leave
            always = (start is None or _is_true(start)) and _is_true(stop)
            if always and bounded and not seen:
                outside[1] = None
                changed = True
                continue
            if slot.body_input and not seen:
                slot = Condition(body_input=False)
                changed = True
                slots.append(slot)
                leave.append(_known(entry.leave))
                continue
        if (
            isinstance(slot, Carried)
            and entry.leave is entry.enter
            and entry.result not in handed_out
            and entry.enter is not None
            and entry.outside is not None
        ):
            if entry.result is not None:
                graph.replace_uses(entry.result, entry.outside)
            changed = True
            if body.uses(entry.enter) or leaving[entry.enter] > 1:
                late.append((entry.outside, entry.enter))
            continue
        slots.append(slot)
        if entry.outside is not None:
            outside.append(entry.outside)
        if entry.enter is not None:
            enter.append(entry.enter)
        if entry.leave is not None:
            leave.append(entry.leave)
        if entry.result is not None:
            results.append(entry.result)
    if not changed:
        return False
    for value, inside in late:
        slots.append(Captured())
        outside.append(value)
        enter.append(inside)
    node.attributes["slots"] = tuple(slots)
    body.inputs, body.outputs = enter, leave
    graph.replace_node(node, outside, results)
    return True


def _known(value: Value | None) -> Value:
    assert value is not None
    return value


def _is_true(value: Value | None) -> bool:
    array = constant_array(value)
    return array is not None and array.size == 1 and bool(array.reshape(-1)[0])
