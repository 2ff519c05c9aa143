"""A model whose quantizers see numbers that are off by what rounding does: how far do its outputs move?

What quantizes rounds to steps, and a number that lies between two of them goes to one or the other by the last place of
what was summed up before. The next layers make more of it. Two correct runtimes differ by that, and inputs changed in
their last place needn't show it: the first quantizer swallows the change.
"""

from __future__ import annotations

from ...passes.graph import Graph, Node, Value
from ...passes.hub import HUB
from ...passes.rewrite import Builder, Names, Rewriter
from ...passes.types import DType, TensorType

QUANTIZERS = frozenset(["DynamicQuantizeLinear", "QuantizeLinear"])
SHAKE = "backedge.shake"
"""The name of the input that says how: a number of about a million, float32."""

_SHARE = 2.0**-21  # of the largest number of a tensor: a few units of its last place


def quantizers(graph: Graph) -> list[Node]:
    """The operators of a hub graph that round what is computed to steps."""
    return [node for _, node in graph.walk() if node.op_type in QUANTIZERS and _computed(node)]


def _computed(node: Node) -> bool:
    value = node.inputs[0]
    return value is not None and value.data is None and value.tensor.dtype is DType.FLOAT32


def shaken(graph: Graph) -> Graph:
    """A hub graph with one input more, by which what its quantizers see is changed by little; the old one stays.

    Quantizers in loops and branches stay as they are.
    """
    graph = graph.copy()
    names = Names(value.name for inner in graph.graphs() for value in inner.values())
    op = Builder(Rewriter(HUB, {}, names=names), graph)
    shake = graph.add_input(SHAKE, TensorType(DType.FLOAT32, ()))
    for node in graph.nodes:
        if node.op_type in QUANTIZERS and _computed(node):
            value = node.inputs[0]
            assert value is not None
            graph.set_input(node, 0, _shaken(op, value, shake))
    return graph


def _shaken(op: Builder, value: Value, shake: Value) -> Value:
    """Each number moved by its own share of a little: the sine of a large multiple is as good as random."""
    little = op.Mul(op.ReduceMax(op.Abs(value), keepdims=0), op.const(_SHARE))
    return op.Add(value, op.Mul(little, op.Sin(op.Mul(value, shake))))
