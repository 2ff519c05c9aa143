"""The form in which a freshly raised graph is handed on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..graph import Graph
from ..infer import infer
from ..pipeline import Pipeline
from .elements import PartsToElements
from .simplify import RemoveDead, Simplify
from .slots import PruneSlots

_CANONICAL = Pipeline([PartsToElements(), Simplify(), PruneSlots(), RemoveDead()])


def settle(graph: Graph) -> None:
    """Find all types that can be found; bring control flow to its canonical form. Both change the graph in place."""
    with _defaults_taken_off(graph):
        infer(graph)
        if any(node.regions for node in graph.nodes):
            _CANONICAL(graph)
            infer(graph)


@contextlib.contextmanager
def _defaults_taken_off(graph: Graph) -> Iterator[None]:
    """An input with a default is no constant: whoever runs the model may give another value."""
    defaults = {value: value.data for value in graph.inputs if value.data is not None}
    if defaults:
        graph.constants = [value for value in graph.constants if value not in defaults]
    for value in defaults:
        value.data = None
    try:
        yield
    finally:
        for value, data in defaults.items():
            value.data = data
        graph.constants += defaults
