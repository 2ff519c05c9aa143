"""Regions rewritten with the small constants that they capture known inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .graph import Graph, Node, Value
from .infer import constants_around
from .loop import Captured, Loop, is_loop
from .rewrite import Builder


def copied(op: Builder, node: Node) -> Sequence[Value]:
    """The node (a `view` of an old one) in the new graph, its regions rewritten; `Builder.copy` knows no captures."""
    return op.copy(node, {name: _region(op, node, region) for name, region in node.regions.items()})


def _region(op: Builder, node: Node, region: Graph) -> Graph:
    inner = op.region(region.name)
    for value in region.inputs:
        twin = inner.graph.add_input(inner.claim(value.name), value.type)
        twin.meta = value.meta
    with constants_around(_seen(node, region, inner.graph.inputs)):
        inner.graph.outputs = inner.inline(region, inner.graph.inputs)
    inner.graph.meta = dict(region.meta)
    return inner.graph


def _seen(node: Node, region: Graph, inputs: Sequence[Value]) -> Iterator[tuple[Value, Value | None]]:
    """What a region's inputs, in their new form, capture."""
    if not is_loop(node):
        yield from zip(inputs[len(region.inputs) - node.captured :], node.captures, strict=True)
        return
    places = {value: place for place, value in enumerate(region.inputs)}
    for entry in Loop(node).entries:
        if isinstance(entry.slot, Captured) and entry.enter is not None:
            yield inputs[places[entry.enter]], entry.outside
