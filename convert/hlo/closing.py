"""Programs with open sizes on their way to HLO, which has none."""

from __future__ import annotations

from ...passes.errors import InvalidModel
from ...passes.graph import Graph
from ...passes.types import TensorType
from .dialect import DOMAIN
from .lowering import lower_graph
from .raising import raise_graph

NO_OPSET = "HLO takes no --opset: it has no versions"


def closed(graph: Graph, opset: int | None) -> Graph:
    """A graph of dialect "hlo" as HLO can be written: by way of the hub where sizes are open, or were.

    Raises:
        InvalidModel: an opset is asked for.
        Unsupported: a size is open.
    """
    if opset is not None:
        raise InvalidModel(NO_OPSET)
    return lower_graph(raise_graph(graph), given=True) if _has_sizes(graph) else graph


def _has_sizes(graph: Graph) -> bool:
    return any(
        any(node.op == (DOMAIN, "size") for node in inner.nodes)
        or any(
            isinstance(value.type, TensorType) and any(isinstance(dim, str) for dim in value.type.shape or ())
            for value in inner.values()
        )
        for inner in graph.graphs()
    )
