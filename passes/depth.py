"""Regions in regions: how deep they may stand in each other.

Whoever works on a graph calls itself for each region, rules among it: see `limits.allow_calls`. No format is read with
more than `DEEPEST`.
"""

from __future__ import annotations

from .errors import TooLarge
from .graph import Graph, Node
from .limits import DEEPEST, allow_calls


def deepest(graph: Graph) -> tuple[int, Node | None]:
    """How many regions stand in each other at most, and a node that has the innermost one."""
    most: tuple[int, Node | None] = (0, None)
    stack = [(graph, 0)]
    while stack:
        inner, depth = stack.pop()
        for node in inner.nodes:
            if node.regions:
                if depth + 1 > most[0]:
                    most = depth + 1, node
                stack.extend((region, depth + 1) for region in node.regions.values())
    return most


def admit(graph: Graph) -> None:
    """Make room for work on a graph.

    Raises:
        TooLarge: more than `DEEPEST` regions stand in each other.
    """
    depth, node = deepest(graph)
    if depth > DEEPEST:
        raise TooLarge(f"{node!r}: {depth} regions stand in each other, more than {DEEPEST}")
    allow_calls(depth)
