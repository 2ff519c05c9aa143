"""Ranks of what Squeeze leaves, as they follow from the ranks that a model declares of its outputs.

Without axes, all of size 1 go: which these are among open sizes is known at run time only, and OpenVINO's CPU must know
how many axes are left. A model that declares the rank of its outputs may leave no choice.
"""

from __future__ import annotations

from ....passes.graph import Graph, Node, Value
from ....passes.infer import infer
from ....passes.types import TensorType


def settle_ranks(graph: Graph) -> None:
    """Give the results of Squeeze without axes, in a hub graph whose types are inferred, the one rank with which no
    declared rank of an output is contradicted."""
    for node in graph.topological():
        if node.op != ("", "Squeeze") or node.input(1) is not None or node.output.rank is not None:
            continue
        fitting = [rank for rank in _possible(node) if _fits(graph, node, rank)]
        if len(fitting) == 1:
            node.output.type = _of_rank(node, fitting[0])
            infer(graph)


def _possible(node: Node) -> range:
    """How many axes may be left; none where the operand's rank isn't known."""
    data = node.inputs[0]
    sizes = None if data is None or not isinstance(data.type, TensorType) else data.type.shape
    if sizes is None:
        return range(0)
    staying = sum(isinstance(size, int) and size != 1 for size in sizes)
    return range(staying, staying + sum(not isinstance(size, int) for size in sizes) + 1)


def _of_rank(node: Node, rank: int) -> TensorType:
    return TensorType(node.output.tensor.dtype, (None,) * rank)


def _fits(graph: Graph, node: Node, rank: int) -> bool:
    """Whether inference finds no other rank of an output than the one that is declared if a result has this rank."""
    twins: dict[Value, Value] = {}
    twin = graph.copy(twins)
    declared = [value.rank if isinstance(value.type, TensorType) else None for value in twin.outputs]
    for value in twin.outputs:
        if isinstance(value.type, TensorType) and value.producer is not None:
            value.type = TensorType(value.type.dtype)
    twins[node.output].type = _of_rank(node, rank)
    infer(twin)
    found = [value.rank if isinstance(value.type, TensorType) else None for value in twin.outputs]
    return all(None in pair or len(set(pair)) == 1 for pair in zip(declared, found, strict=True))
