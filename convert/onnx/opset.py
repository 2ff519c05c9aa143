"""An ONNX graph at another opset, without a detour over the newest one.

Control flow goes through its canonical form, every other operator from its own version to the wanted one.
"""

from __future__ import annotations

from ...passes.graph import Graph, bulk
from ...passes.hub import HUB
from ...passes.infer import infer
from ...passes.rewrite import Builder, Rewriter, combine
from ...passes.structure.simplify import RemoveDead
from . import raising_loops
from .functions import Converted, convert_functions
from .lowering import lower_graph
from .raising import function_rules
from .write import IR_OF_OPSET

_FIRST_IR_WITH_FUNCTIONS = 8


def change_opset(graph: Graph, opset: int) -> Graph:
    """The graph at `opset`.

    Model-local functions are converted and kept; they are inlined where the file format has none yet (opsets
    below 15), and where something in them depends on what only a call knows. `meta["notes"]` says which.

    Raises:
        Unsupported: an operator, type or attribute has no form there.
    """
    with bulk():
        functions = Converted(inlined=dict.fromkeys(graph.functions, ""))
        if graph.functions and IR_OF_OPSET.get(opset, 0) >= _FIRST_IR_WITH_FUNCTIONS:
            graph = graph.copy()
            functions = convert_functions(graph, opset)
        rules = combine(function_rules(graph, functions.inlined), raising_loops.RULES)
        looped = Rewriter(HUB, rules, fallback=Builder.copy).run(graph)
    infer(looped)
    made = lower_graph(looped, opset)
    if opset < graph.opsets.get("", 0):
        RemoveDead()(made)
    made.functions = functions.kept
    for domain, version in graph.opsets.items():
        if any(domain == key[0] for key in functions.kept):
            made.opsets.setdefault(domain, version)
    notes = [
        f"function {domain}.{name} is inlined: {reason or f'opset {opset} came with an IR without functions'}"
        for (domain, name, _), reason in functions.inlined.items()
    ]
    if notes:
        made.meta["notes"] = [*made.meta.get("notes", ()), *notes]
    return made
