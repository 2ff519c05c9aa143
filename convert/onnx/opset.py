"""An ONNX graph at another opset, without a detour over the newest one.

Control flow goes through its canonical form, every other operator from its own version to the wanted one.
"""

from __future__ import annotations

from ...passes.graph import Graph, bulk
from ...passes.hub import HUB
from ...passes.infer import infer
from ...passes.rewrite import Builder, Rewriter, combine
from . import raising_loops
from .lowering import lower_graph
from .raising import function_rules


def change_opset(graph: Graph, opset: int) -> Graph:
    """The graph at `opset`; model-local functions are inlined where they are called.

    Raises:
        Unsupported: an operator, type or attribute has no form there.
    """
    rules = combine(function_rules(graph), raising_loops.RULES)
    with bulk():
        looped = Rewriter(HUB, rules, fallback=Builder.copy).run(graph)
    infer(looped)
    return lower_graph(looped, opset)
