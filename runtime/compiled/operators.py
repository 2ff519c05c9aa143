"""The table of all operators that can be compiled, and whether a nest of loops has others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...passes.graph import Graph, Node
from ...passes.loop import DOMAIN, is_loop
from ...passes.types import TensorType
from . import elementwise, filtered, indices, matmul, reduction, selection, shapes, sliding, traced
from .elementwise import Emit
from .tensors import KINDS

OPERATORS: Mapping[str, Emit] = {
    **elementwise.OPERATORS,
    **shapes.OPERATORS,
    **selection.OPERATORS,
    **indices.OPERATORS,
    **filtered.OPERATORS,
    **reduction.OPERATORS,
    **matmul.OPERATORS,
    **traced.OPERATORS,
    **sliding.OPERATORS,
}
_CONTROL = {"Loop", "If"}

_MOST_LOOPS = 19
"""Loops of regions: with the one around them, Python takes 20 statements in each other that are loops."""

_MOST_REGIONS = 60
"""Python takes 100 levels of indentation."""


def graphs_in(node: Node) -> list[Graph]:
    """The regions of a node, and all inside them."""
    return [found for region in node.regions.values() for found in region.graphs()]


def nests_too_deeply(graphs: Iterable[Graph]) -> bool:
    """Whether more regions of graphs stand in each other than Python's compiler takes of statements.

    A nest that is too deep is found out before anything is made of it: each of its loops asks.
    """
    stack = [(graph, 0, 0) for graph in graphs]
    while stack:
        graph, loops, regions = stack.pop()
        if loops > _MOST_LOOPS or regions > _MOST_REGIONS:
            return True
        for node in graph.nodes:
            more = loops + is_loop(node)
            stack.extend((region, more, regions + 1) for region in node.regions.values())
    return False


def refusal(graphs: Sequence[Graph]) -> str | None:
    """Why graphs can't be compiled whatever their inputs are, or None."""
    why = type_refusal(graphs)
    if why is not None:
        return why
    for found in graphs:
        for inner in found.nodes:
            if not (inner.domain == DOMAIN and inner.op_type in _CONTROL) and not has_code(inner):
                return f"no code for {inner!r}"
    return None


def type_refusal(graphs: Sequence[Graph]) -> str | None:
    """Which value of graphs can't be held whatever the inputs are, or None."""
    for value in (value for found in graphs for value in found.values()):
        if value.type is None:
            continue
        if not isinstance(value.type, TensorType):
            return f"{value.name} is no tensor"
        if value.type.dtype is not None and value.type.dtype.value not in KINDS:
            return f"{value.name} has elements of type {value.type.dtype.value}"
    return None


def has_code(node: Node) -> bool:
    """Whether an operator can be compiled, on types that can."""
    return node.domain in ("", "ai.onnx", DOMAIN) and node.op_type in OPERATORS
