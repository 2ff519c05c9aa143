"""Programs with open sizes on their way to a file: some of them have been given since they were read."""

from __future__ import annotations

from ...passes.graph import Graph
from ...passes.types import TensorType
from .dialect import DOMAIN
from .lowering import lower_graph
from .raising import raise_graph


def closed(graph: Graph, *, given: bool = False, open_sizes: bool = False) -> Graph:
    """A graph of dialect "hlo" as it can be written: by way of the hub where sizes are open, or were.

    Args:
        open_sizes: they may be, as StableHLO can say them, and HLO can't.

    Raises:
        Unsupported: a size is open that mustn't be.
    """
    return lower_graph(raise_graph(graph), given=True, open_sizes=open_sizes) if _has_sizes(graph) else graph


def _has_sizes(graph: Graph) -> bool:
    return any(
        any(node.op == (DOMAIN, "size") for node in inner.nodes)
        or any(
            isinstance(value.type, TensorType) and any(isinstance(dim, str) for dim in value.type.shape or ())
            for value in inner.values()
        )
        for inner in graph.graphs()
    )
