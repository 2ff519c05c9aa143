"""The form in which a freshly raised graph is handed on."""

from __future__ import annotations

from ..defaults import put_on_defaults, take_off_defaults
from ..graph import Graph
from ..infer import infer
from ..pipeline import Pipeline
from .elements import PartsToElements
from .simplify import RemoveDead, Simplify
from .slots import PruneSlots

_CANONICAL = Pipeline([PartsToElements(), Simplify(), PruneSlots(), RemoveDead()])


def canonicalize(graph: Graph) -> None:
    """Find all types that can be found; bring control flow to its canonical form. Both change the graph in place."""
    defaults = take_off_defaults(graph)
    infer(graph)
    if any(node.regions for node in graph.nodes):
        _CANONICAL(graph)
        infer(graph)
    put_on_defaults(graph, defaults)
