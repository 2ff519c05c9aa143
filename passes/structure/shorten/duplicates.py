"""Common subexpressions, and constants that say the same."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from ...attributes import attributes_of
from ...core import DRAWING
from ...graph import Graph, Node, Value
from ...types import DType
from .context import Context

_MOST_ELEMENTS = 16  # of constants that are compared by what they hold


def computed_before(context: Context, node: Node) -> Value | None:
    """The result of a node that was asked for before and computes the same: the same operator of equal operands.

    Args:
        node: has one output. With regions it computes the same as no other: these aren't compared.
    """
    if node.regions or node.op in DRAWING:
        return None
    operands = tuple(None if value is None else _content(value, context.given) for value in node.inputs)
    key = (node.op, node.version, attributes_of(node), operands)
    found = context.current(context.computed.get(key, node.output))
    if found is node.output or not context.is_used(found):
        context.computed[key] = node.output
        return None
    both_are_outputs = context.is_root and {found, node.output} <= {*context.graph.outputs}
    return None if both_are_outputs else found


def _content(value: Value, given: Collection[Value]) -> Hashable:
    """What a small constant holds; any other value stands for itself."""
    data = value.data
    if data is None or value in given or data.dtype is DType.STRING or data.size > _MOST_ELEMENTS:
        return value
    return data.dtype, data.shape, data.numpy().tobytes()


def share_constants(graph: Graph, given: Collection[Value]) -> bool:
    """Let numbers that are equal, and lists of sizes, be one constant; what has elements otherwise may be weights."""
    known: dict[Hashable, Value] = {}
    changed = False
    for value in list(graph.constants):
        is_list = value.data is not None and value.data.dtype is DType.INT64 and value.rank == 1
        if value.rank != 0 and not is_list:
            continue
        first = known.setdefault(_content(value, given), value)
        if first is not value and value not in graph.outputs and graph.uses(value):
            graph.replace_uses(value, first)
            changed = True
    return changed
