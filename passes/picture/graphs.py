"""From graphs to levels: operators as boxes, loops and branches as frames, a graph's ends as pills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ..graph import Graph, Node, Value
from ..loop import Captured, Loop, is_if, is_loop
from .captions import attributes_text, counted, long, short, title_of, tooltip, type_text
from .items import Drawing, Item, Line
from .level import Box, HierarchicalEdge, Key, Level, Others, Port, more, simple
from .slots import filled_port, how, port, slot_ports, title
from .summary import Unit, kinds_text, summarise, totals

MOST_OPERATORS = 600  # of a graph with more, only a summary is drawn
_MOST_ENDS = 48  # pills or ports in one row
_MOST_OUTPUTS = 4  # lines in one box
_MOST_CONSTANTS = 6  # pills above one box
_MOST_INPUTS = 24  # wires into it
_MOST_DEPTH = 8  # of frames
_MOST_NOTE = 34  # characters; longer attributes are only in the tooltip
_TOLD_BY_TYPE = ("to", "dtype")
_T = TypeVar("_T")
_SYMMETRIC = frozenset(
    ("Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Max", "Mean", "Min", "Mul", "Or", "Sum", "Xor")
)


class Painter:
    """Draws one model; knows how many operators each region holds."""

    def __init__(self, graph: Graph, marks: Mapping[Node, str] | None = None) -> None:
        self.graph = graph
        self._marks = marks or {}
        self.total = totals(graph)

    def root(self) -> Drawing:
        """The whole graph, with its inputs at the top and its outputs at the bottom."""
        level = Level()
        shown, rest = _divided(self.graph.inputs)
        for value in shown:
            level.add(simple(_end("input", value), [], [value]), end=-1)
        if rest:
            level.add(_bundle(more("input", len(rest), "input"), gives=rest), end=-1)
        self._fill(level, self.graph, MOST_OPERATORS, 0)
        shown, rest = _divided(self.graph.outputs)
        for value in shown:
            level.add(simple(_end("output", value), [value], []), end=1)
        if rest:
            level.add(_bundle(more("output", len(rest), "output"), takes=rest), end=1)
        return level.draw()

    def _fill(self, level: Level, graph: Graph, allowed: int, depth: int) -> None:
        """Put a graph's operators into a level."""
        summary = summarise(graph, self.total, allowed)
        for unit in summary.units:
            box = self._unit(graph, unit, summary.allowed, depth)
            found = {self._marks.get(node, "") for node in unit.nodes}
            box.item.mark = "different" if "different" in found else found.pop() if len(found) == 1 else ""
            level.add(box)

    def _unit(self, graph: Graph, unit: Unit, allowed: dict[Graph, int], depth: int) -> Box:
        node = unit.nodes[0]
        if unit.hidden:
            return self._hidden(graph, unit.nodes)
        drawn = all(allowed.get(region, 0) > 0 or not len(region) for region in node.regions.values())
        if not node.regions or not drawn or depth >= _MOST_DEPTH:
            return self._operator(node)
        if is_loop(node):
            return self._loop(Loop(node), allowed, depth + 1)
        return self._branches(node, allowed, depth + 1)

    # boxes -----------------------------------------------------------------------------------------

    def _operator(self, node: Node) -> Box:
        outputs = [value for value in node.outputs if value.name]
        lines = [Line(title_of(node), "op")]
        note = attributes_text(node, _TOLD_BY_TYPE)
        if node.regions:
            note = f"{counted(sum(self.total[region] for region in node.regions.values()), 'operator')} inside"
        if 0 < len(note) <= _MOST_NOTE:
            lines.append(Line(short(note, _MOST_NOTE), "note"))
        if len(outputs) == 1:
            lines += [Line(short(outputs[0].name), "name"), Line(type_text(outputs[0].type), "type")]
        else:
            lines += [Line(f"{short(value.name, 18)}: {type_text(value.type)}", "type") for value in outputs]
            if len(outputs) > _MOST_OUTPUTS:
                rest = len(outputs) - _MOST_OUTPUTS + 1
                lines[-rest:] = [Line(f"… {counted(rest, 'more output')}", "type")]
        text = f"{title_of(node)} {long(node.name)}\n{long(attributes_text(node))}\n"
        text += "\n".join(tooltip("output", value.name, value.type) for value in outputs[:_MOST_ENDS])
        version = str(node.version) if node.version else ""
        item = Item("closed" if node.regions else "operator", text.strip(), lines, version=version)
        box = simple(item, _taken([value for value in node.inputs if value is not None]), node.outputs)
        box.symmetric = node.op_type in _SYMMETRIC
        return box

    def _hidden(self, graph: Graph, nodes: Sequence[Node]) -> Box:
        inside = set(nodes)
        inner = sum(self.total[region] for node in nodes for region in node.regions.values())
        count = counted(len(nodes) + inner, "operator")
        takes: dict[Key, None] = {}
        gives: list[Key] = []
        handed_out = set(graph.outputs)
        for node in nodes:
            for value in node.inputs:
                if value is not None and (not value.producer or value.producer not in inside):
                    takes[value] = None
            gives += [
                value
                for value in node.outputs
                if value in handed_out or any(user not in inside for user, _ in graph.uses(value))
            ]
        kinds = kinds_text(nodes)
        item = Item("hidden", f"{count}, not drawn: {kinds}", [Line(count, "op"), Line(kinds, "note")])
        return _bundle(item, takes, gives)

    # frames ----------------------------------------------------------------------------------------

    def _loop(self, loop: Loop, allowed: dict[Graph, int], depth: int) -> Box:
        wiring_first = sorted(loop.entries, key=lambda entry: isinstance(entry.slot, Captured))
        entries, rest = _divided(wiring_first)
        tops, bottoms, backs = slot_ports(loop, entries)
        if rest:
            tops.append(_others(len(rest), "slot", (x.body_input for x in rest), (x.operand for x in rest)))
            bottoms.append(_others(len(rest), "slot", (x.body_output for x in rest), (x.result for x in rest)))
        level = Level()
        level.head(tops, title("Loop", loop.node, how(loop)))
        self._fill(level, loop.body, allowed.get(loop.body, 0), depth)
        level.foot(bottoms)
        return level.frame("loop", f"Loop {long(loop.node.name)}".strip(), tops, bottoms, backs)

    def _branches(self, node: Node, allowed: dict[Graph, int], depth: int) -> Box:
        """If, or any other operator with regions: each region takes the last of the node's inputs."""
        level = Level()
        tops: list[Port] = []
        for index, value in enumerate(node.inputs):
            if value is not None:
                condition = index == 0 and is_if(node)
                kind = "condition" if condition else "captured" if index >= len(node.formal_inputs) else "value"
                inner: Sequence[Key] = [] if condition else [HierarchicalEdge("", index)]
                tops.append(filled_port(kind, kind, value, value, inner, -1.0 if condition else 0.0))
        tops = _gathered(tops)
        level.head(tops, title(title_of(node), node, ""))
        for name, region in node.regions.items():
            level.add(self._region(node, name, region, allowed, depth))
        bottoms: list[Port] = []
        for index, value in enumerate(node.outputs):
            inner = [HierarchicalEdge(name, index) for name in node.regions]
            bottoms.append(Port(port("value", "result", value), inner, [value]))
        bottoms = _gathered(bottoms)
        level.foot(bottoms)
        return level.frame("branches", f"{title_of(node)} {long(node.name)}".strip(), tops, bottoms)

    def _region(self, node: Node, name: str, region: Graph, allowed: dict[Graph, int], depth: int) -> Box:
        level = Level()
        outside = len(node.inputs) - len(region.inputs)
        formal = len(node.formal_inputs)
        tops: list[Port] = []
        handed_out = set(region.outputs)
        for index, value in enumerate(region.inputs, start=outside):
            if region.uses(value) or value in handed_out:
                kind = "captured" if index >= formal else "value"
                tops.append(Port(port(kind, kind, value), [value], [HierarchicalEdge("", index)]))
        tops = _gathered(tops)
        level.head(tops, Item("title", f"region {long(name)}", [Line(short(name), "op")]))
        self._fill(level, region, allowed.get(region, 0), depth)
        bottoms = [
            Port(port("value", "gives", value), [value], [HierarchicalEdge(name, index)])
            for index, value in enumerate(region.outputs)
        ]
        bottoms = _gathered(bottoms)
        level.foot(bottoms)
        return level.frame("region", f"region {long(name)}", tops, bottoms)


def _divided(found: Sequence[_T]) -> tuple[Sequence[_T], Sequence[_T]]:
    """What has room in one row, and the rest."""
    return (found, []) if len(found) <= _MOST_ENDS else (found[: _MOST_ENDS - 1], found[_MOST_ENDS - 1 :])


def _others(count: int, what: str, inner: Iterable[Key | None], outer: Iterable[Key | None]) -> Port:
    """One port in place of so many."""
    return Port(more("more", count, what), _variable(inner), _variable(outer))


def _gathered(ports: Sequence[Port]) -> list[Port]:
    """As many ports as have room, the last one for all the others."""
    shown, rest = _divided(ports)
    inner = (key for other in rest for key in other.inner)
    outer = (key for other in rest for key in other.outer)
    return [*shown, _others(len(rest), "port", inner, outer)] if rest else [*ports]


def _variable(keys: Iterable[Key | None]) -> list[Key]:
    """Without what is left out, and without constants, of which each would be a pill."""
    return [key for key in keys if key is not None and not (isinstance(key, Value) and key.data is not None)]


def _bundle(item: Item, takes: Iterable[Key] = (), gives: Iterable[Key] = ()) -> Box:
    """A box with one anchor for everything."""
    middle = [item.width / 2]
    return Box(item, [(key, 0) for key in _variable(takes)], [(key, 0) for key in gives], middle, middle)


def _taken(values: Sequence[Value]) -> list[Key]:
    """The inputs of an operator; of very many, or very many constants, the last ones are one pill."""
    constants = {value: None for value in values if value.data is not None}
    drawn = set(list(constants)[:_MOST_CONSTANTS])
    takes: list[Key] = [value for value in values if value.data is None or value in drawn]
    takes = takes[:_MOST_INPUTS]
    return takes if len(takes) == len(values) else [*takes, Others(len(values) - len(takes))]


def _end(kind: str, value: Value) -> Item:
    lines = [Line(short(value.name), "name"), Line(type_text(value.type), "type")]
    return Item(kind, tooltip(kind, value.name, value.type), lines)
