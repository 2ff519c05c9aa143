"""ONNX at any opset -> the hub: loops canonical, functions inlined, operators adapted to their newest version."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

from onnx import NodeProto

from ...passes.errors import Endless, InvalidModel, TooLarge, Unsupported
from ...passes.garbage import bulk
from ...passes.graph import NOTES, Graph, Node, Value
from ...passes.hub import HUB
from ...passes.limits import FEW_NODES, MOST_COPIES, MOST_NODES
from ...passes.opset import hub_walk, raising
from ...passes.protos import AttributeRef
from ...passes.rewrite import Builder, Rewriter, Rule, Rules, combine
from ...passes.schema_check import check_schema
from . import microsoft
from .metadata import take_notes
from .read_graph import Function
from .write import IR_WITH_DEFAULTS

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a model-local function."""


def _inliner(function: Function, calls: Calls) -> Rule:
    """A rule that puts a model-local function's body where it is called."""

    def call(op: Builder, node: Node) -> Sequence[Value]:
        given = {**function.defaults, **node.attributes}
        missing = [name for name in function.attributes if name not in given]
        if missing:
            raise InvalidModel(f"{node!r}: the function's attribute {missing[0]!r} is not given")
        body = _bound(function.graph, given, dict(node.regions), calls)
        if len(node.inputs) > len(body.inputs) or len(node.outputs) > len(body.outputs):
            raise InvalidModel(f"{node!r}: more inputs or outputs than the function has")
        arguments: list[Value | None] = list(node.inputs) + [None] * (len(body.inputs) - len(node.inputs))
        return op.inline(body, arguments)[: len(node.outputs)]

    return call


def _bound(graph: Graph, given: dict[str, object], regions: dict[str, Graph], calls: Calls) -> Graph:
    """A copy of a function body with the attribute references replaced (or left out where nothing is given).

    Raises:
        InvalidModel: what is given isn't of the type that the body's operator takes.
    """
    body = graph.copy()
    for _, node in list(body.walk()):
        references = [name for name, value in node.attributes.items() if isinstance(value, AttributeRef)]
        for name in references:
            value = node.attributes[name]
            if value.name in given:
                node.attributes[name] = given[value.name]
            elif value.name in regions:
                del node.attributes[name]
                if node.captured or len(regions[value.name].inputs) > 16:
                    raise Unsupported(node, "a graph passed to a function as an attribute")
                node.regions[name] = regions[value.name]
            else:
                del node.attributes[name]
        if references and calls.of(node) is None:
            check_schema(node)
    return body


class Calls:
    """Which of a model's functions a node calls: by domain, name and overload."""

    def __init__(self, graph: Graph) -> None:
        self._functions = graph.functions
        self._names = {key[:2] for key in graph.functions}

    def of(self, node: Node) -> FunctionKey | None:
        """The function that a node calls, if it calls one.

        Raises:
            InvalidModel: the function has no such overload.
        """
        if node.op not in self._names:
            return None
        skeleton = (node.meta or {}).get("onnx")
        key = (node.domain, node.op_type, skeleton.overload if isinstance(skeleton, NodeProto) else "")
        if key not in self._functions:
            raise InvalidModel(f"{node!r}: no such overload of the function")
        return key

    def within(self, inner: Graph) -> Iterator[FunctionKey]:
        """The functions that the nodes of a graph and its regions call, once for each call."""
        return (key for _, node in inner.walk() if (key := self.of(node)) is not None)


def callees_first(graph: Graph) -> list[FunctionKey]:
    """A model's functions, each behind those that it calls.

    Raises:
        Endless: one calls itself, however indirectly.
        InvalidModel: one calls an overload that isn't there.
    """
    calls = Calls(graph)
    callees = {key: dict.fromkeys(calls.within(function.graph)) for key, function in graph.functions.items()}
    try:
        return list(TopologicalSorter(callees).static_order())
    except CycleError as error:
        domain, name, overload = error.args[1][0]
        raise Endless(f"function {domain}.{name}{f':{overload}' if overload else ''} calls itself") from error


def function_rules(graph: Graph, only: Collection[FunctionKey] | None = None) -> Rules:
    """Rules that inline the model's functions, or `only` some of them. `check_functions` accepts these."""
    caller = _caller(graph, only)
    return {(domain, name): [caller] for domain, name, _ in graph.functions}


def _caller(graph: Graph, only: Collection[FunctionKey] | None) -> Rule:
    calls = Calls(graph)
    inliners: dict[FunctionKey, Rule] = {}

    def call(op: Builder, node: Node) -> Value | Sequence[Value] | None:
        key = calls.of(node)
        if key is None or (only is not None and key not in only):
            return None
        if key not in inliners:
            inliners[key] = _inliner(graph.functions[key], calls)
        return inliners[key](op, node)

    return call


def raise_graph(graph: Graph) -> Graph:
    """A hub graph of an ONNX graph; the old one stays as it was. `meta["notes"]` has what the report should say.

    Raises:
        InvalidModel: control flow whose arity doesn't fit, functions that call themselves or grow too much.
        Unsupported: an operator that can't be brought to its newest version.
    """
    check_functions(graph)
    rules = combine(function_rules(graph), raising.RULES, microsoft.RULES)
    with bulk():
        rewriter = Rewriter(HUB, rules, fallback=hub_walk())
        new = rewriter.run(graph)
    if rewriter.notes:
        new.meta[NOTES] = [*graph.meta.get(NOTES, ()), *dict.fromkeys(rewriter.notes)]
    take_notes(graph, new)
    skeleton = graph.meta.get("onnx.model")
    if skeleton is not None and skeleton.ir_version < IR_WITH_DEFAULTS:
        new.inputs = [value for value in new.inputs if value.data is None]  # IR 3 lists every constant as an input
    return new


def check_functions(graph: Graph) -> None:
    """Functions may call each other, but none itself, however indirectly; and a file that is small must not be a model
    that fills the memory.

    Raises:
        InvalidModel: one does, or there are too many nodes when all of them stand where they are called.
    """
    calls = Calls(graph)
    sizes: dict[FunctionKey, int] = {}

    def size(inner: Graph) -> int:
        return sum(1 if (key := calls.of(node)) is None else sizes[key] for _, node in inner.walk())

    for key in callees_first(graph):
        sizes[key] = size(graph.functions[key].graph)
    written = sum(1 for inner in (graph, *(one.graph for one in graph.functions.values())) for _ in inner.walk())
    count = size(graph)
    if graph.functions and count > min(MOST_NODES, max(written * MOST_COPIES, FEW_NODES)):
        told = f"over {MOST_NODES}" if count > MOST_NODES else str(count)
        raise TooLarge(f"with functions in the place of their calls, {written} nodes become {told}, which is too many")
