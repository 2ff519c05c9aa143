"""The one decomposition of each operator that isn't core, as a hub graph.

It stands in the tables of this package's families; else it is what the operator's version adapters build for opsets
that lack it; else it is the function body that ONNX defines the operator with. Some core operators have
adapters, too, which serve targets that lack them, or say less with theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..constants import small_constant
from ..errors import Unsupported
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import facts, infer
from ..opset.build import StepBuilder
from ..opset.raising import raised
from ..opset.resampling import by_gathers
from ..opset.table import find
from ..opset.version_walk import Walk, hub_walk
from ..pipeline import PassResult
from ..rewrite import Builder, Key, Rewriter, Rule, Rules, at_named_outputs, combine, view
from ..schemas import HUB_OPSET, HUB_OPSETS, histories, schema
from . import (
    arithmetic,
    attention,
    features,
    max_pooling,
    models,
    normalization,
    quantization,
    recurrent,
    sampling,
    shapes,
    signal,
    training,
    trees,
)
from .functions import body


def begun(node: Node, fallback: Rule, notes: list[str]) -> tuple[Builder, list[Value | None]]:
    """A builder of a new hub graph, and its inputs in the place of the node's; constants among them are known."""
    graph = Graph(HUB.name, node.op_type)
    rewriter = Rewriter(HUB, {}, fallback=fallback, notes=notes)
    rewriter.root = graph
    op = Builder(rewriter, graph)
    inputs: list[Value | None] = []
    for value in node.inputs:
        twin = None if value is None else op.input("x", value.type)
        if value is not None and twin is not None:
            twin.data = value.data or small_constant(value)
        inputs.append(twin)
    return op, inputs


def decomposed(node: Node, opset: int) -> Graph | None:
    """What stands for a node under an opset of its domain that can't express it, built of today's operators.

    Its inputs are the node's inputs that are there, constants among them known; its loops are ONNX's own, still
    to be raised. None where the node only becomes another version of itself.

    Raises:
        Unsupported: the adapters can't express it.
    """
    op, made = _builder_at_opset(node, opset)
    return op.graph if made is None else None


def narrowed(node: Node, opset: int) -> Graph:
    """The node as an older opset expresses it, which must take the same form today, less of it; else as `decomposed`.

    Raises:
        Unsupported: the adapters can't express it.
    """
    op, made = _builder_at_opset(node, opset)
    if made is not None:
        made.version = node.version
        op.graph.outputs = list(op.copy(made))
    return op.graph


def _builder_at_opset(node: Node, opset: int) -> tuple[Builder, Node | None]:
    """A builder of the graph that stands for a node under an opset, and the node that is still to be built, if any."""
    walk = Walk({**HUB_OPSETS, node.domain: opset})
    up = hub_walk()
    op, inputs = begun(node, up, [])
    graph = op.graph
    current = Node(node.domain, node.op_type, node.version)
    current.attributes, current.outputs, current.regions = node.attributes, node.outputs, node.regions
    current.captured, current.inputs = node.captured, inputs
    for stage in walk.plan(node).stages:
        current.version = stage.version
        opsets = {**HUB_OPSETS, node.domain: stage.opsets[node.domain]}
        made = stage.adapter(StepBuilder(up, op, opsets), current)
        if made is None:
            continue
        if not isinstance(made, Node):
            graph.outputs = [made] if isinstance(made, Value) else list(made)
            return op, None
        if made.op == ("", "Upsample"):  # which is no simpler than the Resize that it is today
            made = by_gathers(StepBuilder(up, op, opsets), current, "there is no Resize")
            graph.outputs = [made]
            return op, None
        if made.op != current.op:
            return op, made
        current = made
    return op, current


_FAMILIES = (
    *(arithmetic, attention, features, max_pooling, models, normalization, quantization),
    *(recurrent, sampling, shapes, signal, training, trees),
)
DECOMPOSITIONS = combine(*(family.RULES for family in _FAMILIES))

_STEPS = 3
_LARGEST = 1024  # elements of a constant that a function body is specialised for


# where it stands ----------------------------------------------------------------------------------


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
    return by_function(node) if graph is None else graph


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
    return _decompose_all(graph, node.op, left - 1) if left else None


def _decompose_all(graph: Graph, operator: Key, left: int) -> Graph | None:
    """The graph with each such operator in it decomposed in turn; None where one can't be."""
    found: list[bool] = []

    def way(node: Node) -> Graph | None:
        body = _by_adapters(node, left) if node.op == operator and all(found) else None
        found.append(node.op != operator or body is not None)
        return body

    made = replaced(graph, way)
    infer(made)
    return made if all(found) else None


_MOST_REMEMBERED = 512
_memory: dict[Hashable, tuple[Graph | None]] = {}  # large models have the same operator thousands of times


def by_function(node: Node) -> Graph | None:
    """The function body for the newest opset, for the constants at hand."""
    given = [value for value in node.inputs if value is not None]
    small = [None if value is None or _is_large(value) else value.data for value in node.inputs]
    key = None if node.regions else facts(node, small)
    if key is None:
        return _function_body(node, given)
    key = (key, tuple((value.type, bool(value.name)) for value in node.outputs))
    found = _memory.get(key)  # another thread may clear it at any time
    if found is None:
        alike = view(node, node.inputs)  # under names that say nothing of this node
        alike.name = node.name or node.outputs[0].name
        alike.outputs = [Value(f"out{at}" if value.name else "", value.type) for at, value in enumerate(node.outputs)]
        if len(_memory) >= _MOST_REMEMBERED:
            _memory.clear()
        found = _memory[key] = (_function_body(alike, given),)
    if found[0] is None:
        return None
    made = found[0].copy()
    for result, name in zip(made.outputs, (value.name for value in node.outputs if value.name), strict=False):
        result.name = name
    return made


def _is_large(value: Value) -> bool:
    return value.data is not None and value.data.size > _LARGEST


def _function_body(node: Node, given: Sequence[Value]) -> Graph | None:
    made = None if schema(node.domain, node.op_type, node.version) is None else body(node, newest=True)
    if made is None:
        return None
    for twin, value in zip(made.inputs, given, strict=True):
        twin.type = value.type
        if value.data is not None and not _is_large(value):
            twin.data = value.data
            made.constants.append(twin)
    made.opsets.setdefault("", HUB_OPSET)
    return raised(made)


def inlined(op: Builder, node: Node, graph: Graph) -> list[Value]:
    """The results of an operator's decomposition, in place of the operator's.

    Raises:
        Unsupported: the decomposition lacks one that is wanted.
    """
    results = op.inline_for(node, graph, [value for value in node.inputs if value is not None])
    wanted = sum(bool(value.name) for value in node.outputs)
    if wanted > len(results):
        raise Unsupported(node, f"of {wanted} outputs only {len(results)} are defined")
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
