"""The table of decompositions, and the hub graph that one of them makes of a node."""

from __future__ import annotations

from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import infer, small_constant
from ..rewrite import Builder, Rewriter, combine, view
from . import attention, encoders, features, max_pooling, models, ngrams, sampling, training, trees

_FAMILIES = (attention, encoders, features, max_pooling, models, ngrams, sampling, training, trees)
_RULES = combine(*(family.RULES for family in _FAMILIES))


def decomposition(node: Node, notes: list[str]) -> Graph | None:
    """A hub graph of what stands for the node, its inputs the node's inputs that are there, small
    constants among them known; None where there is none.

    What the report should say is put into `notes`.

    Raises:
        Unsupported: there is one, but not for this node.
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
