"""The smallest pair of models that still differ: cut where two graphs part, and made smaller as long as they do.

What computes the value at which they part, from values on which they agree, is made a model of its own, in both; what
these values were in the pass concerned are its inputs. Where that doesn't show the difference, the loop or the branch
around it is taken instead, and in the end all of it. Then sizes and integers are lowered (delta debugging: Zeller and
Hildebrandt, 2002).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.errors import BackedgeError
from ...passes.graph import Graph, Node, Value
from ...passes.infer import infer
from ...passes.schemas import HUB_OPSETS
from ...passes.types import DType, TensorType
from ..compare.tolerance import Difference, measure_values
from ..executor import Executor, never_compile
from .places import regions
from .search import Search
from .tracing import Passes, Tracer

Feed = dict[str, Any]
_MOST_TRIES = 200
_FEW = 4  # passes, and other integers, that are tried


@dataclass(slots=True)
class Reduced:
    """Two small models that differ on inputs which both take.

    Attributes:
        graphs: hub graphs with inputs of the same names.
        outputs: the name of the output that differs, in each.
        operators: how many there were in each model, regions included.
    """

    graphs: tuple[Graph, Graph]
    feed: Feed
    outputs: tuple[str, str]
    difference: Difference
    operators: tuple[int, int]

    @property
    def sizes(self) -> tuple[int, int]:
        """Operators left, regions included."""
        first, second = (_size(graph) for graph in self.graphs)
        return first, second


def reduced(search: Search) -> Reduced | None:
    """The smallest pair that differs as a search found it; None where it found nothing, or nothing of it is left."""
    if search.found is None:
        return None
    for made in _cuts(search):
        smaller = _Shrinking(*made).run()
        if smaller is not None:
            graphs, feed, outputs, difference = smaller
            sizes = _size(search.graphs[0]), _size(search.graphs[1])
            return Reduced(graphs, feed, outputs, difference, sizes)
    return None


def _size(graph: Graph) -> int:
    return sum(len(inner) for inner in graph.graphs())


Cut = tuple[tuple[Graph, Graph], Feed, tuple[str, str]]


def _cuts(search: Search) -> Iterator[Cut]:
    """Pairs of models with what two graphs part at, the smallest first."""
    assert search.found is not None
    ends: list[tuple[Value, Passes]] = []
    for what, passes in (search.found.a, search.found.b):
        value = next(iter(value for value in what.outputs if value.name), None) if isinstance(what, Node) else what
        if value is None:
            return
        ends.append((value, passes))
    where = [regions(graph) for graph in search.graphs]
    while True:
        cut = _cut(search, (ends[0], ends[1]))
        if cut is not None:
            yield cut
        outer: list[tuple[Value, Passes]] = []
        for side, (value, passes) in enumerate(ends):
            around = None if value.producer is None else where[side].get(value.producer)
            if around is None:
                break
            node = around[0]
            inner = passes[:-1] if node.op_type == "Loop" else passes
            outer.append((next(one for one in node.outputs if one.name), inner))
        if len(outer) < 2:
            break
        ends = outer
    a, b = search.graphs
    names = [name for name in search.feeds[0] if name in {value.name for value in b.inputs}]
    if len(names) == len(a.inputs) == len(b.inputs):
        for one, twin in search.ends():
            yield (a.copy(), b.copy()), dict(search.feeds[0]), (one.name, twin.name)


def _cut(search: Search, ends: tuple[tuple[Value, Passes], tuple[Value, Passes]]) -> Cut | None:
    """What computes one value of each graph, from values that belong together."""
    known = {twin: one for one, twin in search.pairs.items()}
    leaves = set(search.pairs), set(known)
    nodes = [_between(value, known_here) for (value, _), known_here in zip(ends, leaves, strict=True)]
    values: list[dict[Value, Any]] = []
    for graph, inputs, (_, passes), some in zip(search.graphs, search.feeds, ends, nodes, strict=True):
        values.append(_given(graph, inputs, passes, some))
    feed: Feed = {}
    graphs: list[Graph] = []
    for side, ((value, _), some) in enumerate(zip(ends, nodes, strict=True)):
        names: dict[Value, str] = {}
        for node in some:
            for operand in node.inputs:
                if operand is None or operand.data is not None or operand in names or operand.producer in some:
                    continue
                twin = known.get(operand, operand) if side else operand
                if operand not in values[side] or (side and twin is operand and operand.name not in feed):
                    return None
                names[operand] = twin.name
                if not side:
                    feed[twin.name] = values[0][operand]
                elif twin.name not in feed:
                    feed[twin.name] = values[1][operand]
        graphs.append(_model(value, some, names, feed))
    for graph in graphs:
        known_here = {value.name for value in graph.inputs}
        for name in (name for name in feed if name not in known_here):
            graph.add_input(name, _type_of(feed[name]))
    return (graphs[0], graphs[1]), feed, (ends[0][0].name, ends[1][0].name)


def _between(value: Value, known: set[Value]) -> list[Node]:
    """The nodes of a value's graph that compute it, up to values that are known; in the order of the walk."""
    found: dict[Node, None] = {}
    stack = [value]
    while stack:
        node = stack.pop().producer
        if node is None or node in found:
            continue
        found[node] = None
        stack += [one for one in node.inputs if one is not None and one.data is None and one not in known]
    return list(found)


def _given(graph: Graph, feed: Mapping[str, Any], passes: Passes, nodes: Sequence[Node]) -> dict[Value, Any]:
    """What nodes are given in a pass."""
    found: dict[Value, Any] = {}

    def given(node: Node, now: Passes, operands: Sequence[Any]) -> None:
        if now == passes:
            found.update((value, one) for value, one in zip(node.inputs, operands, strict=False) if value is not None)

    tracer = Tracer(set(nodes), lambda *_: None, given=given)
    with contextlib.suppress(BackedgeError):
        Executor(graph, never_compile, watch=tracer.watch).run(feed)
    return found


def _type_of(value: Any) -> TensorType | None:
    if not isinstance(value, np.ndarray):
        return None
    return TensorType(DType.of(value.dtype), value.shape)


def _model(value: Value, nodes: Sequence[Node], names: Mapping[Value, str], feed: Feed) -> Graph:
    """A model of these nodes with these inputs and one output."""
    graph = Graph("hub", "cut")
    graph.opsets = dict(HUB_OPSETS)
    mapping: dict[Value, Value] = {}
    by_name: dict[str, Value] = {}
    for operand, name in names.items():
        if name not in by_name:
            by_name[name] = graph.add_input(name, _type_of(feed[name]) or operand.type)
        mapping[operand] = by_name[name]
    taken = set(by_name)
    for one in (one for node in nodes for one in node.outputs):
        mapping[one] = Value(one.name if one.name not in taken else f"{one.name}_out", _without_shape(one.type))
    for node in nodes:
        inputs = [None if one is None else _constant(graph, mapping, one) for one in node.inputs]
        regions_ = {name: _bare(region.copy()) for name, region in node.regions.items()}
        graph.add_node(
            node.op_type,
            inputs,
            [mapping[one] for one in node.outputs],
            node.attributes,
            domain=node.domain,
            version=node.version,
            name=node.name,
            regions=regions_,
            captured=node.captured,
        )
    graph.outputs = [mapping[value]]
    graph.outputs[0].name = value.name if value.name not in taken else f"{value.name}_out"
    return graph


def _constant(graph: Graph, mapping: dict[Value, Value], value: Value) -> Value:
    if value not in mapping and value.data is not None:
        mapping[value] = graph.add_constant(value.data, value.name)
    return mapping[value]


def _without_shape(type: Any) -> Any:
    return TensorType(type.dtype, None) if isinstance(type, TensorType) else type


def _bare(graph: Graph) -> Graph:
    """Without the shapes that were declared, which other inputs don't have."""
    for inner in graph.graphs():
        for value in (*inner.inputs, *(value for node in inner.nodes for value in node.outputs)):
            value.type = _without_shape(value.type)
            value.meta = None
    return graph


class _Shrinking:
    """Makes the inputs of two models smaller as long as both run and differ."""

    def __init__(self, graphs: tuple[Graph, Graph], feed: Feed, outputs: tuple[str, str]) -> None:
        self._graphs, self._feed, self._outputs = graphs, feed, outputs
        self._tries = 0

    def run(self) -> tuple[tuple[Graph, Graph], Feed, tuple[str, str], Difference] | None:
        first = self._differs(self._feed)
        if first is None:
            return None
        best = self._feed, first
        for change in (_fewer_passes, _smaller_sizes, _smaller_axes):
            best = self._smaller(best, change)
        feed, difference = best
        return self._typed(feed), feed, self._outputs, difference

    def _smaller(
        self, best: tuple[Feed, Difference], change: Callable[[Feed], Iterator[Feed]]
    ) -> tuple[Feed, Difference]:
        again = True
        while again and self._tries < _MOST_TRIES:
            again = False
            for feed in change(best[0]):
                self._tries += 1
                difference = self._differs(feed)
                if difference is not None:
                    best, again = (feed, difference), True
                    break
        return best

    def _typed(self, feed: Feed) -> tuple[Graph, Graph]:
        """Both models for inputs of these types."""
        made: list[Graph] = []
        for graph in self._graphs:
            copy = _bare(graph.copy())
            for value in copy.inputs:
                value.type = _type_of(np.asarray(feed[value.name])) if value.name in feed else value.type
            infer(copy)
            made.append(copy)
        return made[0], made[1]

    def _differs(self, feed: Feed) -> Difference | None:
        results: list[Any] = []
        try:
            for graph, name in zip(self._typed(feed), self._outputs, strict=True):
                results.append(Executor(graph, never_compile).run(feed)[name])
        except (BackedgeError, KeyError):
            return None
        return measure_values(*results, output=self._outputs[1]).difference


def _fewer_passes(feed: Feed) -> Iterator[Feed]:
    """Single integers lowered, which trip counts may be."""
    for name, value in feed.items():
        if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind == "i" and value.item() > 1:
            for number in range(1, min(value.item(), _FEW)):
                yield {**feed, name: np.full_like(value, number)}


def _smaller_sizes(feed: Feed) -> Iterator[Feed]:
    """All axes of one size lowered together, as they often belong together."""
    sizes = {size for value in feed.values() if isinstance(value, np.ndarray) for size in value.shape if size > 1}
    for size in sorted(sizes, reverse=True):
        for to in _lower(size):
            yield {
                name: _cropped(value, lambda one, size=size, to=to: to if one == size else one)
                for name, value in feed.items()
            }


def _smaller_axes(feed: Feed) -> Iterator[Feed]:
    """One axis of one input lowered."""
    for name, value in feed.items():
        if isinstance(value, np.ndarray):
            for axis, size in enumerate(value.shape):
                for to in _lower(size):
                    yield {**feed, name: value.take(range(to), axis)}


def _lower(size: int) -> Iterator[int]:
    yield from dict.fromkeys(to for to in (1, 2, size // 2) if 0 < to < size)


def _cropped(value: Any, size: Callable[[int], int]) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return value[tuple(slice(size(one)) for one in value.shape)].copy()
