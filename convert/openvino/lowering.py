"""Hub -> OpenVINO: every rule, and the walk that applies them."""

from __future__ import annotations

from ...passes.graph import Graph
from ...passes.infer import infer
from ...passes.rewrite import Rewriter, combine
from . import lowering_elementwise, lowering_loops, lowering_reduce, lowering_shape
from .build import OPENVINO

RULES = combine(
    lowering_loops.RULES,
    lowering_elementwise.RULES,
    lowering_reduce.RULES,
    lowering_shape.RULES,
)


def lower_graph(graph: Graph) -> Graph:
    source = graph.copy()
    infer(source)
    return Rewriter(OPENVINO, RULES).run(source)
