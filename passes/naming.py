"""Names of a model's interface, which must be exactly what users know."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import Graph, Value
from .rewrite import Builder, Rewriter


def name_outputs(rewriter: Rewriter, graph: Graph, names: Sequence[str]) -> dict[int, Value]:
    """Give every output of a new graph its name.

    The second of two outputs with one value, and an input or a constant that is handed out, get an Identity if they
    have a name of their own: those are returned, by their position.
    """
    op = Builder(rewriter, graph)
    added: dict[int, Value] = {}
    for index, (value, name) in enumerate(zip(graph.outputs, names, strict=True)):
        if value.name == name:
            continue
        if value.producer is None or value in graph.outputs[:index] or value.name in names:
            value = added[index] = graph.outputs[index] = op.Identity(value, _types=[value.type])
        rename(rewriter, graph, value, name)
    return added


def rename(rewriter: Rewriter, graph: Graph, value: Value, name: str) -> None:
    """Give a value of the interface exactly this name, whoever else has it."""
    if value.name == name:
        return
    if not rewriter.names.is_free(name):
        for inner in graph.graphs():
            for other in inner.values():
                if other.name == name:
                    other.name = rewriter.names.fresh(name)
    rewriter.names.claim(name, root=True)
    value.name = name


def drop_unused_constants(graph: Graph) -> None:
    """Take out the constants that have become attributes."""
    for inner in graph.graphs():
        kept = {*inner.outputs, *inner.inputs}
        inner.constants = [value for value in inner.constants if value in kept or inner.uses(value)]
