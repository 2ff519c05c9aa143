"""Which operator a runtime computes otherwise than our executor does: models cut at more and more of their values.

The hub graph of a file is given the values in question as outputs (those in a loop's body are stacked over the passes),
everything behind them is cut off, and what is left is written in the file's own format and run. Values far apart come
first, then those between the last that agree and the first that differ, so that a few runs are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.graph import Graph, Node, Value
from ...passes.loop import Carried, Loop, Stacked, entry_of, is_loop, set_entries
from ...passes.structure.simplify import RemoveDead
from ...passes.types import TensorType
from ..compare.iterations import Stacking
from ..compare.tolerance import Difference, measure_values
from .places import Place, place, regions

AT_ONCE = 12
"""Values that are looked at in one run."""

Values = Mapping[str, Any]
Ask = Callable[[Graph], "tuple[Values, Values] | None"]
"""A hub graph -> what our executor and the runtime give for its outputs; None where one of them doesn't run it."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value that can be made an output: the loops around it, outermost first."""

    value: Value
    node: Node
    loops: tuple[Node, ...] = ()


@dataclass(slots=True)
class Odds:
    """Where a runtime parts with our executor.

    Attributes:
        place: the operator, in the pass in which it first does.
        difference: ours is what is expected.
        graph: the model in which it does.
        runs: how many models were run.
    """

    place: Place
    difference: Difference
    graph: Graph
    runs: int


def tapped(graph: Graph, points: Sequence[Point]) -> Graph:
    """A copy of a graph whose outputs are these values, in order, those in bodies stacked over the passes."""
    copy = graph.copy()
    by_name = {value.name: value for inner in copy.graphs() for node in inner.nodes for value in node.outputs}
    outputs: list[Value] = []
    for number, point in enumerate(points):
        value = by_name[point.value.name]
        for loop in reversed(point.loops):
            outer = by_name[next(one.name for one in loop.outputs if one.name)].producer
            assert outer is not None
            inner = value.tensor
            shape = None if inner.shape is None else (None, *inner.shape)
            stacked = Value(f"tap_{number}_{len(outputs)}_{value.name}", TensorType(inner.dtype, shape))
            view = Loop(outer)
            around = _graph_of(copy, outer)
            entries = [*view.entries, entry_of(Stacked(0), body_output=value, result=stacked)]
            set_entries(around, outer, view.initial_condition, entries)
            stacked.producer = outer
            value = stacked
        outputs.append(value)
    copy.outputs = outputs
    return RemoveDead()(copy).graph


def _graph_of(root: Graph, node: Node) -> Graph:
    return next(graph for graph in root.graphs() if node in graph.nodes)


def points(graph: Graph, loops: tuple[Node, ...] = ()) -> list[Point]:
    """The values of a graph that can be looked at, in the order in which they are computed."""
    found: list[Point] = []
    for node in graph.topological():
        found += [
            Point(value, node, loops)
            for value in node.outputs
            if value.name and isinstance(value.type, TensorType) and value.type.dtype is not None
        ]
    return found


@dataclass(frozen=True, slots=True)
class _Found:
    """A value on which the two differ; the model in which they do."""

    point: Point
    difference: Difference
    graph: Graph

    @property
    def passes(self) -> tuple[int, ...]:
        """The first in which they do."""
        count = len(self.point.loops)
        known = () if self.difference.index is None else self.difference.index[:count]
        return (*known, *(0 for _ in range(count - len(known))))


def search(graph: Graph, ask: Ask) -> Odds | None:
    """Where the runtime parts with our executor; None where it doesn't on any value that can be looked at."""
    search = _Search(graph, ask)
    found = search.first(points(graph))
    while found is not None and is_loop(found.point.node):
        node = found.point.node
        inner = search.first(points(node.regions["body"], (*found.point.loops, node)))
        if inner is None:
            break
        found = inner
    if found is None:
        return None
    where = place(regions(graph), found.point.node, found.passes, found.point.value)
    return Odds(where, found.difference, found.graph, search.runs)


class _Search:
    def __init__(self, graph: Graph, ask: Ask) -> None:
        self._graph, self._ask = graph, ask
        self.runs = 0

    def first(self, all_points: Sequence[Point]) -> _Found | None:
        """The first of several values on which the two differ, in the first pass."""
        found = self._among(all_points)
        known = {point.value: point for point in all_points}
        while found is not None:
            before = self._before(found, known)
            if before is None:
                return found
            found = before
        return None

    def _among(self, all_points: Sequence[Point]) -> _Found | None:
        """One that differs, behind others that don't."""
        first, last = 0, len(all_points)  # those before `first` agree, as far as they were looked at
        found: _Found | None = None
        while first < last:
            step = max(1, -(-(last - first) // AT_ONCE))
            chosen = sorted({*range(first + step - 1, last, step), last - 1})
            differ = self._differences([all_points[index] for index in chosen])
            at = next((place for place, one in enumerate(differ) if one is not None), None)
            if at is None:
                return found
            found = differ[at]
            last = chosen[at]
            first = chosen[at - 1] + 1 if at else first
        return found

    def _before(self, found: _Found, known: Mapping[Value, Point]) -> _Found | None:
        """What the operator with a differing result is given that differs, too: in the same pass, or carried over."""
        operands = [value for value in found.point.node.inputs if value is not None]
        carried = _carried(found.point)
        asked = [value for value in operands if value in known]
        asked += [carried[value] for value in operands if carried.get(value) in known]
        if not asked:
            return None
        for value, one in zip(asked, self._differences([known[value] for value in asked]), strict=True):
            if one is None:
                continue
            if one.passes < found.passes or (one.passes == found.passes and value in operands):
                return one
        return None

    def _differences(self, chosen: Sequence[Point]) -> list[_Found | None]:
        """Of each value, how the two differ in it; values that can't be looked at together are looked at alone."""
        graph = tapped(self._graph, chosen)
        self.runs += 1
        answers = self._ask(graph)
        if answers is None:
            if len(chosen) == 1:
                return [None]
            return [one for point in chosen for one in self._differences([point])]
        found: list[_Found | None] = []
        for point, output in zip(chosen, graph.outputs, strict=True):
            stacking = Stacking() if point.loops else None
            one, other = _shared([answer.get(output.name) for answer in answers], len(point.loops))
            difference = measure_values(one, other, output=output.name, stacking=stacking).difference
            found.append(None if difference is None else _Found(point, difference, graph))
        return found


def _shared(values: Sequence[Any], loops: int) -> Sequence[Any]:
    """Values of the passes that both ran: where one ran more of them, something in an earlier one made it do so."""
    if not loops or any(one is None for one in values):
        return values
    found = [np.asarray(one) for one in values]
    if any(one.ndim < loops for one in found):
        return values
    both = tuple(slice(min(sizes)) for sizes in zip(*(one.shape[:loops] for one in found), strict=True))
    return [one[both] for one in found]


def _carried(point: Point) -> dict[Value, Value]:
    """What the body of the innermost loop hands to the next pass, by what it is seen as there."""
    if not point.loops:
        return {}
    entries = Loop(point.loops[-1]).of(Carried)
    return {entry.body_input: entry.body_output for entry in entries if entry.body_input and entry.body_output}


def exactly(values: Values, name: str, index: tuple[int, ...] | None) -> Any:
    """One element of an output."""
    array = np.asarray(values.get(name))
    return None if array.dtype == object or index is None or len(index) != array.ndim else array[index].item()
