"""ONNX models written with a list of operators only, for tools that take no others.

An operator that the list lacks is decomposed, or said by other core operators, until the list has all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ...passes.captures import copied
from ...passes.constant_analysis import static_array
from ...passes.decompose import equivalents
from ...passes.decompose.library import by_rule, decomposition, replaced
from ...passes.errors import NotLegal, Unsupported
from ...passes.graph import NOTES, Graph, Node, Value
from ...passes.infer import infer
from ...passes.operator_list import OperatorList
from ...passes.opset import raising
from ...passes.opset.changes import DECOMPOSED, Log, name_of
from ...passes.opset.convert import OpsetDialect
from ...passes.preconditions import required
from ...passes.rewrite import Builder, Rewriter, at_named_outputs
from ...passes.structure.simplify import RemoveDead
from .lowering import lower_operators, targets_of
from .raising import raise_graph

_DEEPEST = 16


def legalized(graph: Graph, operators: OperatorList, log: Log) -> Graph:
    """The model with operators of the list only; the graph stays as it was.

    Args:
        graph: of dialect "onnx", at the opset that is wanted, without model-local functions, of all types that
            inference finds.
        log: takes up what was decomposed.

    Raises:
        NotLegal: with every node that the list can't express, and why.
    """
    legalizer = _Legalizer(operators, graph.opsets[""], log)
    made = legalizer.run(graph)
    if legalizer.refusals:
        raise NotLegal(legalizer.refusals)
    RemoveDead()(made)
    copies = (node for _, node in made.walk() if node.op == ("", "Identity"))  # that bodies need for what they return
    left = [Unsupported(node, reason) for node in copies if (reason := operators.objection(node))]
    if left:
        raise NotLegal(left)
    made.opsets = {
        domain: version
        for domain, version in {**graph.opsets, **made.opsets}.items()
        if not domain or any(node.domain == domain for _, node in made.walk())
    }
    if legalizer.notes:
        made.meta[NOTES] = [*graph.meta.get(NOTES, ()), *dict.fromkeys(legalizer.notes)]
    return made


@dataclass
class _Legalizer:
    """One model's way into a list.

    Attributes:
        chain: the operators that are being decomposed, outermost first.
        refusals: of the model's own nodes.
    """

    operators: OperatorList
    opset: int
    log: Log
    chain: list[tuple[str, str]] = field(default_factory=list)
    refusals: list[Unsupported] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self, graph: Graph) -> Graph:
        """The whole model."""
        return self._rewriter(graph).run(graph)

    def _part(self, graph: Graph) -> Graph:
        """What stands for a node; its outputs keep no names.

        Raises:
            Unsupported: some of it can't be expressed.
        """
        rewriter = self._rewriter(graph)
        new = rewriter.root = Graph("onnx", graph.name)
        op = Builder(rewriter, new)
        inputs = [op.input(value.name, value.type) for value in graph.inputs]
        new.outputs = op.inline(graph, inputs)
        return new

    def _rewriter(self, graph: Graph) -> Rewriter:
        dialect = OpsetDialect("onnx", targets_of(graph, self.opset))
        return Rewriter(dialect, {}, fallback=self._node, notes=self.notes)

    def _node(self, op: Builder, node: Node) -> Sequence[Value]:
        """A node of the list as it is, any other by what it is made of."""
        constant = raising.constant(op, node) if node.op == ("", "Constant") else None
        if isinstance(constant, Value):
            return [constant]
        self._fix(op, node)
        reason = self.operators.objection(node)
        if not reason:
            return copied(op, node)
        if node.op == ("", "Identity"):
            return [required(node, 0)]
        known = _known(op, node)
        if known is not None:
            return known
        try:
            graph = self._legal(node, reason)
        except Unsupported as refusal:
            if self.chain:
                raise
            self.refusals.append(refusal)
            return op.copy(node)
        if not self.chain:
            size = sum(1 for _ in graph.walk())
            self.log.count(name_of(node), node.version, self.opset, DECOMPOSED, 1, size)
        given = _variables(node)
        made = op.inline_for(node, graph, given)
        # so that they take the node's names
        op.rewriter.claimed.difference_update(value for value in made if value not in given)
        return at_named_outputs(node, made)

    def _fix(self, op: Builder, node: Node) -> None:
        """Make constants of the inputs that must be some, where they are certain all the same."""
        limits = self.operators.operators.get(node.op)
        for index in () if limits is None else limits.constant:
            value = node.input(index)
            array = None if value is None or value.data is not None else static_array(value)
            if value is not None and array is not None:
                node.inputs[index] = op.const(array, value.tensor.dtype)

    def _legal(self, node: Node, reason: str) -> Graph:
        """A graph of listed operators, its inputs those of the node that are no constants.

        Raises:
            Unsupported: no way leads there; with the reasons along the first one.
        """
        why = ""
        if node.op not in self.chain and len(self.chain) < _DEEPEST:
            self.chain.append(node.op)
            try:
                for way in self._ways(node):
                    try:
                        made = way()
                        if made is not None:
                            return self._part(self._lowered(made))
                    except Unsupported as refusal:
                        why = why or refusal.reason
            finally:
                self.chain.pop()
        raise Unsupported(node, f"{reason}; decomposed: {why}" if why not in ("", reason) else reason)

    def _ways(self, node: Node) -> Iterator[Callable[[], Graph | None]]:
        """What makes hub graphs that stand for the node: one operator for another, then its decomposition."""
        hub = raise_graph(_single_node_graph(node, self.opset))
        infer(hub)
        if [inner.op for _, inner in hub.walk()] != [node.op]:
            yield lambda: hub
        for inner in hub.nodes:
            yield partial(_replaced, hub, inner, lambda node: by_rule(node, self.notes, equivalents.RULES))
            yield partial(_replaced, hub, inner, lambda node: decomposition(node, self.notes))

    def _lowered(self, hub: Graph) -> Graph:
        made = lower_operators(hub, self.opset)
        RemoveDead()(made)
        return made


def _variables(node: Node) -> list[Value]:
    """The inputs that are no constants, each once."""
    return list(dict.fromkeys(value for value in node.inputs if value is not None and value.data is None))


def _replaced(graph: Graph, node: Node, way: Callable[[Node], Graph | None]) -> Graph | None:
    """The hub graph with what a node is made of in its place; None where it is made of nothing."""
    body = way(node)
    if body is None:
        return None

    made = replaced(graph, lambda seen: body if seen.outputs is node.outputs else None)
    infer(made)
    return made


def _known(op: Builder, node: Node) -> list[Value] | None:
    """The result as a constant, where it follows from constants and static shapes."""
    if len(node.outputs) != 1 or node.regions:
        return None
    array = static_array(node.output)
    if array is None or array.dtype == np.dtype(object):
        return None
    return [op.const(array, node.output.tensor.dtype)]


def _single_node_graph(node: Node, opset: int) -> Graph:
    """A graph of one node: its inputs are those that are no constants, its outputs those that have names."""
    graph = Graph("onnx", node.op_type)
    graph.opsets = {"": opset}
    twins: dict[Value, Value] = {}
    for index, value in enumerate(node.inputs):
        if value is None or value in twins:
            continue
        if value.data is not None:
            twins[value] = graph.add_constant(value.data, f"constant{index}")
        else:
            twins[value] = graph.add_input(f"input{index}", value.type)
    twin = Node(node.domain, node.op_type, node.version, "")
    twin.attributes, twin.regions, twin.captured = dict(node.attributes), node.regions, node.captured
    twin.inputs = [None if value is None else twins[value] for value in node.inputs]
    for index, value in enumerate(node.outputs):
        twin.outputs.append(Value(f"output{index}" if value.name else "", value.type, twin, index))
    graph.add_nodes([twin])
    graph.outputs = [value for value in twin.outputs if value.name]
    return graph
