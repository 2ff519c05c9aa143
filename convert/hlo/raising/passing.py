"""What hands its operand on: copies, views of the same memory, tokens."""

from __future__ import annotations

import re

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN, META, Origin
from ..text.tree import ArrayShape
from .support import Results, given, shape_of
from .views import reshaped, transposed

OPERAND_LAYOUT = "operand_layout"
"""Attribute that `note_layouts` gives a bitcast: the layout of its operand, with braces."""


@rule(DOMAIN, "copy", "domain", "add-dependency")
def handed_on(op: Builder, node: Node) -> Results:
    """copy, domain, add-dependency (whose second operand is a token)."""
    return given(node, 0)


@rule(DOMAIN, "after-all")
def after_all(op: Builder, node: Node) -> Results:
    """after-all: a token, which nothing reads."""
    return op.const(False, DType.BOOL, "token")


def note_layouts(graph: Graph) -> None:
    """Tell each bitcast of an HLO graph how its operand lies in memory, which only the operand's instruction says."""
    for inner in graph.graphs():
        for node in inner.nodes:
            operand = node.input(0)
            if node.op == (DOMAIN, "bitcast") and operand is not None:
                maker = operand.producer
                node.attributes[OPERAND_LAYOUT] = _layout((operand if maker is None else maker).meta)


def _layout(meta: dict[str, object] | None) -> str:
    origin = (meta or {}).get(META)
    shape = origin.shape if isinstance(origin, Origin) else None
    return shape.layout if isinstance(shape, ArrayShape) else ""


@rule(DOMAIN, "bitcast")
def bitcast(op: Builder, node: Node) -> Results:
    """bitcast: the same memory in another shape, which isn't a reshape where dimensions don't lie in their order."""
    x, result = given(node, 0), node.outputs[0]
    if x.tensor.dtype is not result.tensor.dtype:
        raise Unsupported(node, f"it sees {x.type} as {result.type}")
    shape, wanted = shape_of(node, x), shape_of(node, result)
    own = _order(node, _layout(node.meta), len(wanted))
    order = _order(node, str(node.attributes.get(OPERAND_LAYOUT, "")), len(shape))
    memory = reshaped(op, transposed(op, x, order), [wanted[axis] for axis in own])
    return transposed(op, memory, [own.index(axis) for axis in range(len(own))])


def _order(node: Node, layout: str, rank: int) -> list[int]:
    """The dimensions as they lie in memory, the slowest first."""
    if not layout:
        return list(range(rank))
    found = re.fullmatch(r"\{([\d,\s]*)(:.*)?\}", layout.strip(), re.DOTALL)
    if found is None or "T(" in (found[2] or ""):
        raise Unsupported(node, f"the layout {layout}")
    order = [int(item) for item in found[1].split(",") if item.strip()][::-1]
    if sorted(order) != list(range(rank)):
        raise InvalidModel(f"{node!r}: the layout {layout} of {rank} dimensions")
    return order


RULES = collect(globals())
