"""What the nodes of one model share: ids, which node makes a value, and the edges that bring it to others."""

from __future__ import annotations

from collections import Counter

from ....passes.graph import Graph, Value
from ....passes.loop import Captured, Loop, is_loop
from ....passes.types import DType, Type, tensor
from .. import model as mdf
from .scope import Names, Scope
from .terms import Term


class Book:
    """The books of a model that is written.

    Attributes:
        owners: the node that makes a value.
        alias: what a value stands for: the parameter of a body for what is captured.
        counts: how often a value is used.
        several: whether there is more than one loop.
    """

    def __init__(self, graph: Graph) -> None:
        self.names = Names()
        self.made = mdf.Graph(self.names.fresh(graph.name or "graph"))
        self.owners: dict[Value, Scope] = {}
        self.alias: dict[Value, Value] = {}
        self._runs: dict[Scope, Value] = {}
        loops = [Loop(node) for _, node in graph.walk() if is_loop(node)]
        self.several = len(loops) > 1
        for loop in loops:
            for entry in loop.of(Captured):
                if entry.enter is not None and entry.outside is not None:
                    self.alias[entry.enter] = entry.outside
        self.counts = Counter(
            self.resolved(value)
            for inner in graph.graphs()
            for value in (*(one for node in inner.nodes for one in node.inputs), *inner.outputs)
            if value is not None
        )

    def resolved(self, value: Value) -> Value:
        while value in self.alias:
            value = self.alias[value]
        return value

    def scope(self, title: str) -> Scope:
        """A new node."""
        return Scope(self.names.fresh(title), self.names, self._outside, self.resolved, self.counts)

    def runs_of(self, scope: Scope) -> Value:
        """How often a node has run, this time counted."""
        if scope not in self._runs:
            value = self._runs[scope] = Value(f"{scope.node.id}_count", tensor(DType.INT64))
            name = self.names.of(value)
            scope.state(name, f"{name} + 1", "numpy.int64(0)")
            scope.call(value, Term(name))
            self.owners[value] = scope
        return self._runs[scope]

    # edges ---------------------------------------------------------------------------------------

    def _outside(self, scope: Scope, value: Value) -> Term:
        """Bring a value from the node that makes it into another."""
        owner, port = self.owners[value], self.names.of(value)
        scope.take(port, value)
        self.edge(owner, scope, port, port, value.type, value)
        return Term(port)

    def edge(
        self, sender: Scope, receiver: Scope, port: str, receiving: str, type: Type | None, value: Value | None = None
    ) -> None:
        """An edge from an output port, which hands out a value (or the parameter that it is called by)."""
        sender.hand_out(port, port if value is None else sender.named(value), type)
        if all(one.id != receiving for one in receiver.node.inputs):
            receiver.take(receiving, Value(receiving, type))
        name = self.names.fresh(f"{sender.node.id}_{port}_{receiver.node.id}")
        self.made.edges.append(mdf.Edge(name, sender.node.id, receiver.node.id, port, receiving))

    def connected(self, sender: Scope, receiver: Scope) -> bool:
        """Whether an edge leads from one node to another."""
        ends = sender.node.id, receiver.node.id
        return any((edge.sender, edge.receiver) == ends for edge in self.made.edges)
