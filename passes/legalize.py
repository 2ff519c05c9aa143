"""Operators that a target has no rule of its own for: what they are made of, until the target says all of it."""

from __future__ import annotations

from collections.abc import Callable

from .decompose.library import decomposition, inlined, source
from .errors import Unsupported
from .graph import Graph, Node, Value
from .rewrite import Builder


def decomposed_for(node: Node, notes: list[str], target: str) -> Graph:
    """What stands for an operator that a target has no rule for, see `decomposition`.

    Args:
        notes: takes up what the report should say.
        target: whose form it lacks, for the refusal.

    Raises:
        Unsupported: the operator is made of nothing simpler, or not this node.
    """
    try:
        graph = decomposition(node, notes)
    except Unsupported as refusal:
        raise Unsupported(node, f"{refusal.reason}; it isn't supported by {target}") from None
    if graph is None:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        if source(node.op):
            raise Unsupported(node, f"the decomposition of {name} depends on types and shapes known at run time only")
        raise Unsupported(node, f"{name} isn't supported by {target}")
    return graph


def decomposed(
    op: Builder, node: Node, target: str, admit: Callable[[Graph], object] = lambda graph: None
) -> list[Value]:
    """The results of an operator that a target has no rule for, by what it is made of; a fallback of a `Rewriter`.

    Args:
        target: whose form it lacks, for the refusal.
        admit: is called on the decomposition; it refuses what the target can't take of it.

    Raises:
        Unsupported: the operator is made of nothing simpler, or the target lacks a part of that; it names the operator.
    """
    graph = decomposed_for(node, op.rewriter.notes, target)
    admit(graph)
    try:
        return inlined(op, node, graph)
    except Unsupported as refusal:
        raise Unsupported(node, f"of what it is made, {refusal}") from None
