"""The one decomposition of each operator that isn't core, as a hub graph.

It stands in the tables of this package's families; else it is what the operator's version adapters build for opsets
that lack it; else it is the function body that ONNX defines the operator with. Some core operators have
adapters, too, which serve targets that lack them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Unsupported
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import infer
from ..opset.raising import raised
from ..opset.table import find
from ..opset.walk import histories
from ..pipeline import PassResult
from ..rewrite import Builder, Key, Rewriter, Rules, at_named_outputs, combine, view
from ..schemas import HUB_OPSET, HUB_OPSETS, schema
from . import (
    arithmetic,
    attention,
    features,
    max_pooling,
    models,
    normalization,
    quantization,
    recurrent,
    reductions,
    sampling,
    shapes,
    training,
    trees,
)
from .functions import body
from .versions import begun, decomposed

_FAMILIES = (
    *(arithmetic, attention, features, max_pooling, models, normalization, quantization),
    *(recurrent, reductions, sampling, shapes, training, trees),
)
DECOMPOSITIONS = combine(*(family.RULES for family in _FAMILIES))

_STEPS = 3
_LARGEST = 1024  # elements of a constant that a function body is specialised for


def decomposition(node: Node, notes: list[str]) -> Graph | None:
    """A hub graph of what stands for the node, its inputs the node's inputs that are there, constants among them
    known; None where there is none.

    Args:
        notes: takes up what the report should say.

    Raises:
        Unsupported: there is one, but not for this node.
        InvalidModel: an attribute is missing.
    """
    if node.op in DECOMPOSITIONS:
        return by_rule(node, notes, DECOMPOSITIONS)
    if node.regions:
        return None
    graph = _by_adapters(node, _STEPS)
    return _by_function(node) if graph is None else graph


def source(operator: Key) -> str:
    """Where an operator's decomposition stands: "table", "adapters" or "function"; "" where it has none."""
    if operator in DECOMPOSITIONS:
        return "table"
    if _has_adapters(operator):
        return "adapters"
    entry: Any = schema(*operator, HUB_OPSETS.get(operator[0], HUB_OPSET))  # its stub lacks what follows
    has_body = entry is not None and (entry.has_function or entry.has_context_dependent_function)
    return "function" if has_body else ""


def _has_adapters(operator: Key) -> bool:
    """Whether the step to before an operator's first version builds something in its place."""
    first = histories().get(operator, (1,))[0]
    return first > 1 and not isinstance(find(*operator, first, first=True).down, str)


def by_rule(node: Node, notes: list[str], table: Rules) -> Graph | None:
    """What a table's rule makes of a node, see `decomposition`; None where there is none."""
    rules = table.get(node.op)
    if not rules:
        return None
    op, inputs = begun(node, Builder.copy, notes)
    made = rules[0](op, view(node, inputs))
    if made is None:
        return None
    graph, outputs = op.graph, [made] if isinstance(made, Value) else list(made)
    wanted = [(value, old) for value, old in zip(outputs, node.outputs, strict=False) if value.name and old.name]
    for value, old in wanted:
        if value.producer is not None:  # a name that it keeps where the decomposition is put
            value.name = old.name
    graph.outputs = [value for value, _ in wanted]
    infer(graph)
    return graph


def _by_adapters(node: Node, left: int) -> Graph | None:
    """What the adapters build under the last opset that lacks the operator.

    A step on the way may build the operator itself with more around it (another element type, an axis moved): it is
    looked at again then, `left` times at most.
    """
    if not _has_adapters(node.op):
        return None
    try:
        made = decomposed(node, histories()[node.op][0] - 1)
    except Unsupported as refusal:
        raise Unsupported(node, re.sub(r",? (before|came with) version \d+$", "", refusal.reason)) from None
    if made is None:
        return None
    graph = raised(made)
    if all(inner.op != node.op for _, inner in graph.walk()):
        return graph
    return _again(graph, node.op, left - 1) if left else None


def _again(graph: Graph, operator: Key, left: int) -> Graph | None:
    """The graph with each such operator in it decomposed in turn; None where one can't be."""
    found: list[bool] = []

    def way(node: Node) -> Graph | None:
        body = _by_adapters(node, left) if node.op == operator and all(found) else None
        found.append(node.op != operator or body is not None)
        return body

    made = replaced(graph, way)
    infer(made)
    return made if all(found) else None


def _by_function(node: Node) -> Graph | None:
    """The function body for the newest opset, for the constants at hand."""
    made = None if schema(node.domain, node.op_type, node.version) is None else body(node, newest=True)
    if made is None:
        return None
    for twin, value in zip(made.inputs, (value for value in node.inputs if value is not None), strict=True):
        twin.type = value.type
        if value.data is not None and value.data.size <= _LARGEST:
            twin.data = value.data
            made.constants.append(twin)
    made.opsets.setdefault("", HUB_OPSET)
    return raised(made)


def inlined(op: Builder, node: Node, graph: Graph) -> list[Value]:
    """The results of an operator's decomposition, in place of the operator's.

    Raises:
        Unsupported: the decomposition lacks one that is wanted.
    """
    results = op.inline(graph, [value for value in node.inputs if value is not None])
    wanted = sum(bool(value.name) for value in node.outputs)
    if wanted > len(results):
        raise Unsupported(node, f"of {wanted} outputs only {len(results)} mean something")
    return at_named_outputs(node, results)


def replaced(graph: Graph, way: Callable[[Node], Graph | None]) -> Graph:
    """The hub graph with what `way` gives for a node (a `view`) in its place, regions included; None: it stays."""

    def fallback(op: Builder, node: Node) -> Sequence[Value]:
        body = way(node)
        return op.copy(node) if body is None else inlined(op, node, body)

    return Rewriter(HUB, {}, fallback=fallback).run(graph)


@dataclass(frozen=True)
class Decompose:
    """Put decompositions in the place of some operators, in regions too.

    Before::

        y = LpNormalization(x)

    After::

        y = Div(x, ReduceL2(x))

    Attributes:
        operators: (domain, operator) of each.
    """

    operators: Container[Key]

    def __call__(self, graph: Graph) -> PassResult:
        if not any(node.op in self.operators for _, node in graph.walk()):
            return PassResult(graph, False)
        return PassResult(replaced(graph, self._decomposed), True)

    def _decomposed(self, node: Node) -> Graph | None:
        return decomposition(node, []) if node.op in self.operators else None
