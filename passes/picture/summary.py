"""What of a graph is drawn: all of it, or, of a very large one, its loops and what stands around them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..graph import Graph, Node
from .captions import counted, number, short

_AROUND = 2  # operators before and after a loop that are drawn with it
_MOST_KINDS = 3


@dataclass(frozen=True, slots=True)
class Unit:
    """One box: an operator, or several that are hidden in it."""

    nodes: tuple[Node, ...]
    hidden: bool = False


@dataclass(slots=True)
class Summary:
    """What is drawn of one graph: its units, producers first, and how many operators each region may show."""

    units: list[Unit] = field(default_factory=list)
    allowed: dict[Graph, int] = field(default_factory=dict)


def totals(graph: Graph) -> dict[Graph, int]:
    """The number of operators in the graph and in each region, regions inside it included."""
    found: dict[Graph, int] = {}
    for inner in reversed(list(graph.graphs())):
        found[inner] = len(inner) + sum(found[region] for node in inner.nodes for region in node.regions.values())
    return found


def summarise(graph: Graph, total: dict[Graph, int], most: int) -> Summary:
    """Choose what to draw of a graph so that about `most` operators show, those in its regions included."""
    order = graph.topological()
    if total[graph] <= most:
        allowed = {region: total[region] for node in order for region in node.regions.values()}
        return Summary([Unit((node,)) for node in order], allowed)
    framed = [node for node in order if node.regions][: most // 4]
    around = len(graph) if len(graph) <= most // 2 else most // 4 + len(framed)
    shown = _around(graph, order, framed, around)
    regions = [region for node in framed for region in node.regions.values()]
    return Summary(list(_units(order, shown)), _shares(regions, total, most - len(shown)))


def _shares(regions: list[Graph], total: dict[Graph, int], left: int) -> dict[Graph, int]:
    """Small regions get what they need, large ones share the rest."""
    found: dict[Graph, int] = {}
    regions = sorted(regions, key=lambda region: total[region])
    for index, region in enumerate(regions):
        found[region] = min(total[region], max(left, 0) // (len(regions) - index))
        left -= found[region]
    return found


def _around(graph: Graph, order: list[Node], framed: list[Node], most: int) -> set[Node]:
    """The nodes with regions, then their neighbours, then those next to the graph's inputs and outputs."""
    if len(order) <= most:
        return set(order)
    ends = [node for value in graph.inputs for node, _ in graph.uses(value)]
    ends += [value.producer for value in graph.outputs if value.producer is not None]
    shown = dict.fromkeys(framed)
    for seeds in (framed, ends):
        edge = seeds
        for _ in range(_AROUND):
            reached = dict.fromkeys(edge)
            for node in edge:
                reached.update(dict.fromkeys(_neighbours(graph, node, most)))
            edge = [node for node in reached if node not in shown][: most - len(shown)]
            shown.update(dict.fromkeys(edge))
    return set(shown)


def _neighbours(graph: Graph, node: Node, most: int) -> Iterator[Node]:
    for value in node.inputs:
        if value is not None and value.producer is not None:
            yield value.producer
    for value in node.outputs:
        for user, _ in graph.uses(value)[:most]:
            yield user


def _units(order: list[Node], shown: set[Node]) -> Iterator[Unit]:
    """Hidden nodes together as far as no way leads from the group out and back in.

    A way gets a step deeper wherever it enters or leaves a shown node, so hidden nodes of one depth have
    no shown node between them; the connected ones of a depth are one group.
    """
    depth: dict[Node, int] = {}
    parent: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while parent[node] is not node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for node in order:
        sources = [value.producer for value in node.inputs if value is not None and value.producer is not None]
        hidden = node not in shown
        depth[node] = max((depth[source] + (not hidden or source in shown) for source in sources), default=0)
        if hidden:
            parent[node] = node
            for source in sources:
                if source not in shown and depth[source] == depth[node]:
                    parent[root(source)] = root(node)
    groups: defaultdict[object, list[Node]] = defaultdict(list)
    for node in order:
        if node not in shown:
            groups[root(node)].append(node)
    if len(groups) > len(shown):  # too many to draw: one box for each depth
        joined: defaultdict[object, list[Node]] = defaultdict(list)
        for nodes in groups.values():
            joined[depth[nodes[0]]].extend(nodes)
        groups = joined
    units = [Unit((node,)) for node in order if node in shown]
    units += [Unit(tuple(nodes), hidden=len(nodes) > 1) for nodes in groups.values()]
    yield from sorted(units, key=lambda unit: depth[unit.nodes[0]])


def kinds_text(nodes: Iterable[Node]) -> str:
    """The commonest operators of a group: "Add 12, Mul 7, 3 other kinds"."""
    found = Counter(node.op_type for node in nodes).most_common()
    parts = [f"{short(name)} {number(count)}" for name, count in found[:_MOST_KINDS]]
    rest = len(found) - _MOST_KINDS
    return ", ".join([*parts, *([counted(rest, "other kind")] if rest > 0 else [])])
