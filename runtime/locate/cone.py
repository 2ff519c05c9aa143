"""What a value is computed from, through loops and branches, up to where two graphs agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...passes.graph import Graph, Node, Value
from ...passes.loop import Carried, Loop, Stacked, is_if, is_loop


class Cone:
    """Walks a graph from values to what they are computed from."""

    def __init__(self, graph: Graph) -> None:
        self._enters: dict[Value, list[Value]] = {}  # input of a region -> what it is outside, or was a pass before
        for inner in graph.graphs():
            for node in inner.nodes:
                self._region_inputs(node)

    def _region_inputs(self, node: Node) -> None:
        if is_loop(node):
            for entry in Loop(node).entries:
                if entry.body_input is not None:
                    before = entry.body_output if isinstance(entry.slot, Carried) else None
                    self._enters[entry.body_input] = [value for value in (entry.operand, before) if value is not None]
            return
        for region in node.regions.values():
            for value, outer in zip(region.inputs[len(region.inputs) - node.captured :], node.captures, strict=True):
                self._enters[value] = [] if outer is None else [outer]

    def of(self, ends: Iterable[Value], agrees: Callable[[Value], bool]) -> tuple[set[Value], set[Node]]:
        """The values that `ends` are computed from, and the nodes with regions among what computes them.

        Args:
            agrees: whether nothing before a value need be looked at.
        """
        values: set[Value] = set()
        nodes: set[Node] = set()
        stack = list(ends)
        while stack:
            value = stack.pop()
            if value in values or agrees(value):
                continue
            values.add(value)
            node = value.producer
            if node is None:
                stack += self._enters.get(value, ())
                continue
            if node.regions:
                nodes.add(node)
            stack += self.operands(value)
        return values, nodes

    def operands(self, value: Value) -> list[Value]:
        """What a result of a node depends on: operands, and results of the node's regions."""
        node = value.producer
        if node is None:
            return list(self._enters.get(value, ()))
        if is_loop(node):
            return _of_loop(node, value)
        found = [operand for operand in node.formal_inputs if operand is not None]
        if is_if(node):
            return [*found, *(node.regions[name].outputs[value.index] for name in ("then", "else"))]
        return [*found, *(result for region in node.regions.values() for result in region.outputs)]


def _of_loop(node: Node, value: Value) -> list[Value]:
    loop = Loop(node)
    found = [operand for operand in (loop.trip, loop.initial_condition) if operand is not None]
    condition = loop.condition
    if condition is not None and condition.body_output is not None:
        found.append(condition.body_output)
    for entry in loop.of(Carried, Stacked):
        if entry.result is value:
            found += [one for one in (entry.operand, entry.body_output) if one is not None]
    return found
