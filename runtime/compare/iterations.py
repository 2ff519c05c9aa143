"""Which axis of an output counts the iterations of the loop that made it."""

from __future__ import annotations

from dataclasses import dataclass

from ...passes.graph import Graph, Node, Value
from ...passes.loop import Loop, Stacked, is_loop

_PASSED_ON = ("Identity", "Cast")


@dataclass(frozen=True, slots=True)
class Stacking:
    """An output stacked over the iterations of a loop.

    Attributes:
        axis: the axis of the output.
        reverse: the last iteration stands first.
        part: entries of one iteration along the axis; None if that isn't known.
    """

    axis: int = 0
    reverse: bool = False
    part: int | None = 1

    def iteration(self, position: int, length: int) -> int | None:
        """The iteration that made the entry at `position` of an axis of `length`."""
        if self.part is None or self.part < 1:
            return None
        return (length - 1 - position if self.reverse else position) // self.part


def stackings(graph: Graph) -> dict[str, Stacking]:
    """Output name -> stacking, for the outputs of a hub graph that a Loop stacked."""
    found: dict[str, Stacking] = {}
    for output in graph.outputs:
        value = _origin(output)
        if value.producer is None or not is_loop(value.producer):
            continue
        for entry in Loop(value.producer).of(Stacked):
            if entry.result is value and isinstance(entry.slot, Stacked):
                slot = entry.slot
                found[output.name] = Stacking(slot.axis, slot.reverse, 1 if slot.part is None else slot.part)
    return found


def made_of_stacks(graph: Graph) -> frozenset[str]:
    """The outputs of a hub graph into which something goes that a Loop stacked: over no passes its shape is open."""
    reached: set[Value] = set()
    for node in graph.nodes:
        inner = (one for region in node.regions.values() for part in region.graphs() for one in part.nodes)
        if any(value in reached for value in node.inputs) or any(map(_stacks, inner)):
            reached.update(node.outputs)
        elif is_loop(node):
            reached.update(entry.result for entry in Loop(node).of(Stacked) if entry.result is not None)
    return frozenset(value.name for value in graph.outputs if value in reached)


def _stacks(node: Node) -> bool:
    return is_loop(node) and any(True for _ in Loop(node).of(Stacked))


def _origin(value: Value) -> Value:
    """The value before the operators that keep every element where it is."""
    while value.producer is not None and value.producer.op_type in _PASSED_ON and value.producer.inputs[0] is not None:
        value = value.producer.inputs[0]
    return value
