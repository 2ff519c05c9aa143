"""The keys, attributes and edges of a graph as `Graph.networkx` gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .graph import Graph, Node, Value
from .loop import Captured, Loop, Slot, is_loop

Attributes = dict[str, Any]
Edge = Any  # (producer, user, key, attributes), for which networkx's own types have no place


@dataclass(slots=True)
class Network:
    """What a networkx graph is filled with.

    Attributes:
        attributes: of the graph.
        nodes: (key, attributes) of each node.
        edges: (key of the producer, key of the user, which input of the user, attributes).
    """

    attributes: Attributes
    nodes: list[tuple[str, Attributes]] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


def network_of(graph: Graph, owner: Node | None = None) -> Network:
    """A graph as a network; `owner` is the node that a region belongs to."""
    keys = _keys(graph)
    entries = Loop(owner).entries if owner is not None and is_loop(owner) else ()
    entering: dict[Value, Slot] = {entry.body_input: entry.slot for entry in entries if entry.body_input is not None}
    leaving = {entry.indices.body_output: entry.slot for entry in entries}
    outputs = [(keys[value.producer or value], value.index, leaving.get(i)) for i, value in enumerate(graph.outputs)]
    network = Network({"name": graph.name, "dialect": graph.dialect, "outputs": outputs})
    for item, key in keys.items():
        network.nodes.append((key, _node(item) if isinstance(item, Node) else _source(graph, item, entering.get(item))))
    for node in graph.nodes:
        network.edges += _uses(node, keys)
    for entry in entries:
        if entry.body_input is not None and entry.body_output is not None:
            edge = _edge(entry.body_output, entry.slot, {}, back=True)
            network.edges.append(
                (keys[entry.body_output.producer or entry.body_output], keys[entry.body_input], 0, edge)
            )
    return network


def _keys(graph: Graph) -> dict[Node | Value, str]:
    """The name of each input and constant and of each node's first output; where one is taken, with ~2 behind it."""
    taken: dict[str, int] = {}
    keys: dict[Node | Value, str] = {}
    for item in (*dict.fromkeys([*graph.inputs, *graph.constants]), *graph.nodes):
        name = item.name if isinstance(item, Value) else next((value.name for value in item.outputs), "")
        name = name or (item.op_type if isinstance(item, Node) else "v")
        key = name
        while key in taken:
            taken[name] += 1
            key = f"{name}~{taken[name]}"
        keys[item] = key
        taken[key] = 1
    return keys


def _node(node: Node) -> Attributes:
    return {
        "kind": "node",
        "domain": node.domain,
        "op_type": node.op_type,
        "version": node.version,
        "name": node.name,
        "attributes": dict(node.attributes),
        "values": [value.name for value in node.outputs],
        "types": [value.type for value in node.outputs],
        "regions": {name: region.networkx(node) for name, region in node.regions.items()},
        "node": node,
    }


def _source(graph: Graph, value: Value, slot: Slot | None) -> Attributes:
    """The attributes of an input or a constant."""
    kind = "constant" if value.data is not None and value not in graph.inputs else "input"
    return {"kind": kind, "name": value.name, "types": [value.type], "data": value.data, "slot": slot, "value": value}


def _uses(node: Node, keys: dict[Node | Value, str]) -> Iterator[Edge]:
    """An edge for each input of a node."""
    slots: dict[int, Slot | None] = {}
    entering: dict[int, dict[str, str]] = {}
    for position, region, key, slot in _entering(node):
        slots[position] = slot
        entering.setdefault(position, {})[region] = key
    for index, value in enumerate(node.inputs):
        if value is not None:
            edge = _edge(value, slots.get(index), entering.get(index, {}))
            yield keys[value.producer or value], keys[node], index, edge


def _entering(node: Node) -> Iterator[tuple[int, str, str, Slot | None]]:
    """(which input of a node, which region it enters, the key of the region's input, the slot of a Loop) for each."""
    if is_loop(node):
        keys = _keys(node.regions["body"])
        for entry in Loop(node).entries:
            if entry.operand is not None and entry.body_input is not None:
                yield entry.indices.operand, "body", keys[entry.body_input], entry.slot
        return
    for name, region in node.regions.items() if node.captured else ():
        keys = _keys(region)
        for index, value in enumerate(region.inputs[-node.captured :], len(node.inputs) - node.captured):
            yield index, name, keys[value], Captured()


def _edge(value: Value, slot: Slot | None, enters: dict[str, str], back: bool = False) -> Attributes:
    return {
        "value": value.name,
        "output": value.index,
        "type": value.type,
        "slot": slot,
        "enters": enters,
        "back": back,
    }
