"""Nodes copied with the small constants that their regions capture known inside."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import Graph, Node, Value
from .loop import Captured, Loop, is_loop
from .rewrite import Builder


def copied(op: Builder, node: Node) -> Sequence[Value]:
    """The node (a `view` of an old one) in the new graph, its regions rewritten; `Builder.copy` knows no captures."""
    return op.copy(
        node, {name: op.rewritten(region, around=_around(node, region)) for name, region in node.regions.items()}
    )


def _around(node: Node, region: Graph) -> list[Value | None]:
    """What the region's last inputs capture; in a Loop they stand among its other inputs."""
    if not is_loop(node):
        return node.captures
    operands = {entry.body_input: entry.operand for entry in Loop(node).entries if isinstance(entry.slot, Captured)}
    return [operands.get(value) for value in region.inputs]
