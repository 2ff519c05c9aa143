"""A hub graph -> a native MDF model: nodes for what stands outside of loops, and one for each loop.

    before --> loop --> after          before runs once, loop once for each pass, after once

Values go along edges, which the engine evaluates whenever the receiving node runs: `before` keeps what came from
outside, and what the loop captures is there in every pass.
"""

from __future__ import annotations

from collections import Counter

from ....passes.graph import Graph, Node, Value
from ....passes.loop import Carried, Entry, Loop, is_loop
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, tensor
from ....runtime.oracles.mdf_names import METADATA
from .. import model as mdf
from .loops import Passes, all_of, empty_stack, passes_of, write_loop
from .prepare import prepared
from .schedule import Run, Stage, schedule
from .scope import Names, Scope, uses_of
from .terms import Term, cast, filled

STYLE = "stateful"
"""What the metadata of such a model calls its style."""

_FORMAT = "ModECI MDF v0.4"
_APPLICATION = "backedge"


def lower_stateful(graph: Graph) -> mdf.Model:
    """An MDF model with stateful parameters and a ConditionSet that computes what a hub graph computes.

    Expressions are NumPy's, in the element types of the graph: float32 stays float32. The graph stays as it was.

    Raises:
        Unsupported: an operator or a type has no form in MDF, or a size that must be known isn't.
    """
    defaults = {value.name: value.data for value in graph.inputs if value.data is not None}
    return _Model(prepared(graph), defaults).written()


class _Model:
    def __init__(self, graph: Graph, defaults: dict[str, TensorData]) -> None:
        self.graph = graph
        self.defaults = defaults
        self.names = Names()
        self.made = mdf.Graph(self.names.fresh(graph.name or "graph"))
        self.levels = _levels(graph)
        self.counts = uses_of(graph.nodes, graph.outputs, lambda value: value)
        self.owners: dict[Value, Scope] = {}
        count = 1 + max(self.levels.values(), default=0)
        titles = ["before", *(f"between_{place}" for place in range(1, count - 1)), "after"]
        if count == 1:
            titles = ["model"]
        ports = [self.names.fresh(value.name) for value in graph.inputs]
        self.scopes = [Scope(self.names.fresh(title), self.names, self._outside, self.counts) for title in titles]
        for value, port in zip(graph.inputs, ports, strict=True):
            self._input(value, port)

    def written(self) -> mdf.Model:
        stages: list[Stage] = []
        entries = [
            {
                "name": value.name,
                "node": self.scopes[0].node.id,
                "port": port.id,
                "type": port.type,
                "shape": list(port.shape),
            }
            for value, port in zip(self.graph.inputs, self.scopes[0].node.inputs, strict=True)
        ]
        order = self.graph.topological()
        for place, scope in enumerate(self.scopes):
            here = [node for node in order if self.levels[node.outputs[0]] == place + is_loop(node)]
            for node in here:
                if not is_loop(node):
                    for value in node.outputs:
                        self.owners[value] = scope
                    scope.emit(node)
            stage = Stage(scope.node)
            stages.append(stage)
            for node in here:
                if is_loop(node):
                    stage.loops.append(self._loop(node, place))
        last = self.scopes[-1]
        outputs: list[mdf.Plain] = []
        for value in self.graph.outputs:
            port = self.names.of(value)
            last.hand_out(port, last.named(value), value)
            found = value.tensor.dtype
            outputs.append({"name": value.name, "node": last.node.id, "port": port, "type": found and found.value})
        for stage in stages[:-1]:
            if stage.node is not None and not (stage.node.inputs or stage.node.functions or stage.node.outputs):
                stage.node = None
        nodes = [node for stage in stages for node in (stage.node, *(run.loop.node for run in stage.loops)) if node]
        self.made.nodes = nodes
        schedule(self.made, stages)
        metadata = {METADATA: {"style": STYLE, "inputs": entries, "outputs": outputs}}
        return mdf.Model(self.made.id, [self.made], _FORMAT, _APPLICATION, metadata=metadata)

    # values --------------------------------------------------------------------------------------

    def _input(self, value: Value, port: str) -> None:
        """An input of the model: a port, whose numbers are made ones of the type."""
        scope, dtype = self.scopes[0], value.tensor.dtype
        assert dtype is not None
        scope.take(port, value)
        if value.name in self.defaults:
            scope.node.inputs[-1].default = self.defaults[value.name].numpy().tolist()
        self.names.name(value, self.names.fresh(f"{value.name}_{dtype.value}"))
        scope.define(value, cast(dtype, port, repr(value.name)))
        self.owners[value] = scope

    def _outside(self, scope: Scope, value: Value) -> Term:
        """Bring a value from the node that makes it into another."""
        owner, port = self.owners[value], self.names.of(value)
        self._edge(owner, scope, value, port)
        return Term(port)

    def _edge(self, sender: Scope, receiver: Scope, value: Value, port: str) -> None:
        sender.hand_out(port, sender.named(value), value)
        receiver.take(port, value)
        edge = self.names.fresh(f"{sender.node.id}_{port}_{receiver.node.id}")
        self.made.edges.append(mdf.Edge(edge, sender.node.id, receiver.node.id, port, port))

    # loops ---------------------------------------------------------------------------------------

    def _loop(self, node: Node, place: int) -> Run:
        """A loop and what its results are in the next stage."""
        view, before, after = Loop(node), self.scopes[place], self.scopes[place + 1]
        passes = passes_of(node)
        scope = Scope(self.names.fresh(node.name or "loop"), self.names, self._outside, Counter())
        scope.use(uses_of(view.body.nodes, view.body.outputs, scope.resolved))
        written = write_loop(scope, node, passes)
        wanted = [entry for entry in view.entries if entry.result is not None and self.counts[entry.result]]
        if passes.certain:
            self.owners.update((entry.result, scope) for entry in wanted if entry.result is not None)
            return Run(written)
        tests = [before.named(value) for value in (*passes.guards, *passes.starts)]
        tests += [f"{before.named(value)} > 0" for value in passes.limits]
        tests += [f"numpy.size({before.named(value)}, {axis}) > 0" for value, axis in passes.lengths]
        start = Value(f"{scope.node.id}_runs", tensor(DType.BOOL))
        before.define(start, all_of(tests))
        self.owners[start] = before
        for entry in wanted:
            self._result(node, entry, passes, scope, after, start)
        before.hand_out(self.names.of(start), before.named(start), start)
        return Run(written, (before.node.id, self.names.of(start)))

    def _result(self, node: Node, entry: Entry, passes: Passes, scope: Scope, after: Scope, start: Value) -> None:
        """What a loop gives that may not run: else what it started with, or nothing stacked."""
        result = entry.result
        assert result is not None
        ran = Value(f"{result.name}_of_{scope.node.id}", result.type)
        scope.call(ran, scope.term(result))
        self.owners[ran], self.owners[result] = scope, after
        if isinstance(entry.slot, Carried) and entry.outside is not None:
            otherwise = after.named(entry.outside)
        elif passes.starts or passes.limits or passes.lengths or result.tensor.static_shape is None:
            otherwise = filled(node, TensorType(result.tensor.dtype, empty_stack(node, entry).shape))
        else:
            otherwise = filled(node, result.type)  # in a branch that isn't taken: nobody wants it
        value, runs = after.term(ran), after.term(start)
        # until the loop has run the port holds zeros, which aren't of the type
        after.define(result, f"{cast(result.tensor.dtype, value.text, node)} if {runs} else {Term(otherwise)}")


def _levels(graph: Graph) -> dict[Value, int]:
    """How many loops, one after the other, stand before a value."""
    levels = dict.fromkeys([*graph.inputs, *graph.constants], 0)
    for node in graph.topological():
        level = max((levels[value] for value in node.inputs if value is not None), default=0)
        levels.update(dict.fromkeys(node.outputs, level + is_loop(node)))
    return levels
