"""The table of decompositions, and the hub graph that one of them makes of a node."""

from __future__ import annotations

from ..errors import Unsupported
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import infer, small_constant
from ..rewrite import Builder, Rewriter, Rules, combine, view
from . import attention, encoders, features, max_pooling, models, ngrams, normalization, sampling, training, trees

_FAMILIES = (attention, encoders, features, max_pooling, models, ngrams, normalization, sampling, training, trees)
DECOMPOSITIONS = combine(*(family.RULES for family in _FAMILIES))


def decomposition(node: Node, notes: list[str], table: Rules = DECOMPOSITIONS) -> Graph | None:
    """A hub graph of what stands for the node, its inputs the node's inputs that are there, small
    constants among them known; None where there is none.

    Args:
        notes: takes up what the report should say.
        table: the decompositions; a target that says an operator in a way of its own has others.

    Raises:
        Unsupported: there is one, but not for this node.
        InvalidModel: an attribute is missing.
    """
    rules = table.get(node.op)
    if not rules:
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
    graph.outputs = [value for value in ([made] if isinstance(made, Value) else made) if value.name]
    infer(graph)
    return graph


def inlined(op: Builder, node: Node, graph: Graph) -> list[Value]:
    """The results of an operator's decomposition, in place of the operator's.

    Raises:
        Unsupported: the decomposition lacks one that is wanted.
    """
    results = op.inline(graph, [value for value in node.inputs if value is not None])
    wanted = sum(bool(value.name) for value in node.outputs)
    if wanted > len(results):
        raise Unsupported(node, f"of {wanted} outputs only {len(results)} mean something")
    made = iter(results)
    return [next(made) if value.name else Value("") for value in node.outputs]
