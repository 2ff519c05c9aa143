"""Hub -> OpenVINO: operators without a rule of their own, by what they are made of."""

from __future__ import annotations

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder
from ...bodies import by_older, expanded
from ...composites import composed
from .admission import is_beyond
from .context import context_of

_OLDER: dict[tuple[str, str], int] = {
    ("", "BitCast"): 25,
    ("", "Col2Im"): 17,
    ("", "Det"): 10,
    ("", "GridSample"): 15,
    ("", "MelWeightMatrix"): 16,
    ("", "Resize"): 10,
    ("", "RoiAlign"): 9,
}
"""Operators without a function body that are made of others under an opset of their domain: which one."""


def _inlined(op: Builder, node: Node, graph: Graph) -> list[Value]:
    context_of(op).look_at(graph)
    made = iter(op.inline(graph, [value for value in node.inputs if value is not None]))
    return [next(made) if value.name else Value("") for value in node.outputs]


def _by_older(node: Node) -> Graph | None:
    """What the operator is made of where an opset lacks it."""
    opset = _OLDER.get(node.op)
    try:
        return None if opset is None else by_older(node, opset)
    except Unsupported as refusal:
        raise Unsupported(node, f"{refusal.reason}; it has no OpenVINO form") from None


def _composed(op: Builder, node: Node) -> Graph | None:
    """What the operator is composed of; all keys and values have to count."""
    graph = composed(node, op.rewriter.notes)
    if graph is not None and any(map(is_beyond, graph.constants)):
        raise Unsupported(node, "integers that int32 doesn't hold, in which OpenVINO's CPU computes")
    return graph


def by_function(op: Builder, node: Node) -> list[Value]:
    """The fallback: what the operator is composed of, its function body, or what it is made of under older opsets.

    Raises:
        Unsupported: the operator has none of these.
    """
    graph = _composed(op, node)
    if graph is None and not node.regions:
        graph = expanded(node) or _by_older(node)
    if graph is None:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        raise Unsupported(node, f"{name} has no OpenVINO form")
    return _inlined(op, node, graph)
