"""Operators in terms of others: the function body that ONNX defines one with, or what older opsets had in its place."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..passes.decompose import decomposition
from ..passes.decompose.functions import body
from ..passes.errors import Unsupported
from ..passes.graph import Graph, Node
from ..passes.infer import infer
from ..passes.opset.decompose import decomposed
from ..passes.schemas import HUB_OPSET, schema
from .onnx.raising import raise_graph

_OLDER: dict[tuple[str, str], int] = {
    ("", "Col2Im"): 17,
    ("", "Det"): 10,
    ("", "DynamicQuantizeLinear"): 10,  # its function body divides zeros by 0
    ("", "GridSample"): 15,
    ("", "GroupNormalization"): 17,  # here and below the body takes the mean of squares less the square of the mean
    ("", "LayerNormalization"): 16,
    ("", "MeanVarianceNormalization"): 8,
    ("", "MelWeightMatrix"): 16,
    ("", "Resize"): 10,
    ("", "RoiAlign"): 9,
}
"""Operators that are made of others under an opset of their domain: which one. They have no function body, or one
that doesn't say what runtimes do."""

_SMALL = 1024  # elements of a constant that the body is specialised for


def by_function(node: Node) -> Graph | None:
    """A hub graph of the function body, its inputs the node's inputs that are there; None where there is none."""
    made = None if schema(node.domain, node.op_type, node.version) is None else body(node, newest=True)
    if made is None:
        return None
    for twin, value in zip(made.inputs, (value for value in node.inputs if value is not None), strict=True):
        twin.type = value.type
        if value.data is not None and value.data.size <= _SMALL:
            twin.data = value.data
            made.constants.append(twin)
    made.opsets.setdefault("", HUB_OPSET)
    graph = raise_graph(made)
    infer(graph)
    return graph


def by_older(node: Node, opset: int) -> Graph | None:
    """A hub graph of what the operator is made of at an opset that lacks it; None where there is no such form.

    Raises:
        Unsupported: there is one, but not for this node.
    """
    try:
        made = decomposed(node, opset)
    except Unsupported as refusal:
        raise Unsupported(node, re.sub(r",? (before|came with) version \d+$", "", refusal.reason)) from None
    if made is None:
        return None
    graph = raise_graph(made)
    infer(graph)
    return graph


def decomposed_for(node: Node, notes: list[str], target: str, older: Mapping[tuple[str, str], int]) -> Graph:
    """What stands for an operator that a target has no rule for: what it is composed of, its function body, or what it
    is made of under an older opset.

    Args:
        target: whose form it lacks, for the refusal.
        older: the opset of its domain under which an operator is to be looked at, beside `_OLDER`.

    Raises:
        Unsupported: the operator has none of these.
    """
    graph = decomposition(node, notes)
    if graph is None and not node.regions:
        graph = None if node.op in _OLDER else by_function(node)
        opset = older.get(node.op, _OLDER.get(node.op))
        if graph is None and opset is not None:
            try:
                graph = by_older(node, opset)
            except Unsupported as refusal:
                raise Unsupported(node, f"{refusal.reason}; it has no {target} form") from None
    if graph is None:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        raise Unsupported(node, f"{name} has no {target} form")
    return graph
