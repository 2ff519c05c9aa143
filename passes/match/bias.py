"""A bias apart from the sum of products that it is added to: which may round otherwise, and so counts as a lemma."""

from __future__ import annotations

from ..build import reshape
from ..graph import Graph, Node
from ..hub import HUB
from ..rewrite import Builder, Rewriter

BIASED = frozenset({("", "Conv"), ("", "ConvTranspose")})
"""Operators whose third operand is added to each channel of what they compute."""


def bias_apart(node: Node) -> Graph | None:
    """A hub graph of an operator without its bias and of the addition, whose inputs are the node's.

    None where it has no bias, or its rank isn't known.
    """
    x = node.inputs[0]
    if len(node.inputs) < 3 or any(value is None for value in node.inputs) or x is None or x.rank is None:
        return None
    graph = Graph(HUB.name, node.op_type)
    op = Builder(Rewriter(HUB, {}, root=graph), graph)
    inputs = [op.input("x", None if value is None else value.type) for value in node.inputs]
    for twin, value in zip(inputs, node.inputs, strict=True):
        twin.data = None if value is None else value.data
    summed = op.call(node.op_type, *inputs[:2], _types=[node.output.type], **node.attributes)
    bias = reshape(op, inputs[2], [1, -1, *[1] * (x.rank - 2)])
    graph.outputs = [op.Add(summed, bias, _types=[node.output.type])]
    return graph
