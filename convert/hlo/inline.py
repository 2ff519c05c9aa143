"""What is called stands where it is called."""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.errors import InvalidModel
from ...passes.graph import Graph, Node, Value
from ...passes.rewrite import Builder, Key, Rule
from .dialect import DOMAIN

_ROOM, _TIMES = 100_000, 50
"""Written out, a model may have so many nodes more, and so many times as many, as before."""


def calls(graph: Graph) -> dict[Key, list[Rule]]:
    """Rules that write out the `call`s and `fusion`s of a graph; none where it has no functions.

    Raises:
        InvalidModel: written out, the calls would make a model of an absurd size.
    """
    if not graph.functions:
        return {}
    _check_size(graph)

    def call(op: Builder, node: Node) -> Sequence[Value]:
        return op.inline(graph.functions[DOMAIN, node.attributes["computation"], ""], node.inputs)

    return {(DOMAIN, name): [call] for name in ("call", "fusion")}


def _check_size(graph: Graph) -> None:
    """How many nodes there will be; each function is counted once, when those that it calls have been (they stand
    before it: a function is entered when its reading has ended)."""
    sizes: dict[str, int] = {}

    def size(inner: Graph) -> int:
        return len(inner) + sum(
            sizes.get(node.attributes.get("computation", ""), 0) + sum(map(size, node.regions.values()))
            for node in inner.nodes
        )

    for (_, name, _), function in graph.functions.items():
        sizes[name] = size(function)
    most = _ROOM + _TIMES * sum(sum(1 for _ in one.walk()) for one in (graph, *graph.functions.values()))
    if size(graph) > most:
        raise InvalidModel(f"written out, its calls make more than {most} instructions")
