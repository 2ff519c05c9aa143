"""Which operators have such a form, and the hub graph of one of them."""

from __future__ import annotations

from ...passes.graph import Graph, Node, Value
from ...passes.hub import HUB
from ...passes.infer import infer, small_constant
from ...passes.rewrite import Builder, Rewriter, combine, view
from . import attention, draws, encoders, features, grams, maxima, models, training, trees

_FAMILIES = (attention, draws, encoders, features, grams, maxima, models, training, trees)
_RULES = combine(*(family.RULES for family in _FAMILIES))


def composed(node: Node, notes: list[str]) -> Graph | None:
    """A hub graph of what stands for the node, its inputs the node's inputs that are there, small
    constants among them known; None where there is none.

    What the report should say is put into `notes`.

    Raises:
        Unsupported: there is such a form, but not for this node.
        InvalidModel: an attribute is missing.
    """
    rules = _RULES.get(node.op)
    if rules is None:
        return None
    graph = Graph("hub", node.op_type)
    rewriter = Rewriter(HUB, {}, fallback=lambda op, node: op.copy(node), notes=notes)
    rewriter.root = graph
    op = Builder(rewriter, graph)
    inputs: list[Value | None] = []
    for value in node.inputs:
        twin = None if value is None else op.input("x", value.type)
        if value is not None and twin is not None:
            twin.data = small_constant(value)
        inputs.append(twin)
    made = rules[0](op, view(node, inputs))
    assert made is not None
    graph.outputs = [made] if isinstance(made, Value) else list(made)
    infer(graph)
    return graph
