"""Hub -> OpenVINO: what is constant already is computed here, so that OpenVINO sees axes and sizes as constants."""

from __future__ import annotations

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from ... import folding
from .context import context_of

_KEPT = frozenset(["DequantizeLinear", "QuantizeLinear", "Identity"])


def folded(op: Builder, node: Node) -> list[Value] | None:
    """The outputs as constants where all inputs are small constants; None otherwise. Tried before any other rule.

    So are outputs that are certain to have no elements: OpenVINO doesn't always survive computing them.
    """
    folding.refine(node)
    empty = folding.without_elements(op, node)
    if empty is not None:
        return empty
    inputs = [value for value in node.inputs if value is not None]
    if not inputs or node.regions or node.op_type in _KEPT or not all(map(folding.is_small, inputs)):
        return None
    return computed(op, node, folding.MOST_DATA)


def computed(op: Builder, node: Node, most: int | None = None) -> list[Value] | None:
    """The outputs of an operator on constants, as constants of no more than `most` elements; None where that fails."""
    found = folding.computed(op, node, most)
    for value in found or ():
        context_of(op).look_at_constant(value)
    return found
