"""Graphs and the bodies of loops as nodes.

What stands outside of loops is cut in stages: what a stage computes needs the results of no loops but those that the
stages before it started. A loop is the node of its body's one stage, or the nodes of its stages where there are loops
in it, too. One execution of its nodes is one pass of the loop:

| slot | in the node |
|---|---|
| carried | a stateful parameter, what the body gives; functions see it as it was |
| sliced | a function that takes the part by the number of passes done |
| captured | an input port, which the edge fills before every execution |
| stacked | a stateful parameter of the last stage: a buffer where the number of passes is certain, else what grows |
| iteration, trip | a stateful parameter of the first stage that counts |
| condition | a stateful parameter of the last stage that says whether the loop goes on |

In a loop with loops in it an edge leads what is carried from its last stage to its first.

A loop that is started more than once, because it stands in another, looks whether the stage that started it has run
once more since its own last pass: then it is `fresh`, and takes the initial values in place of its state.

Parameters change in the order of the list, each seeing those before it changed: the counter is the last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ....passes.graph import Graph, Node, Value
from ....passes.loop import Captured, Carried, Entry, Iteration, Loop, Sliced, Stacked, is_loop
from ....passes.structure.unroll import empty_stack
from ....passes.types import DType, TensorType, tensor
from .. import model as mdf
from .loop_expressions import Passes, all_of, part_text, passes_of, stack_of
from .scope import ModelBuilder, Scope
from .terms import Term, cast, filled, sizes

_ZERO = "numpy.int64(0)"
_MOST_LISTED = 64  # elements of a port's default value


@dataclass(slots=True)
class Run:
    """A loop that is written.

    Attributes:
        stages: of its body; those of a plain loop are one node.
        goes_on: the parameter of the last stage that says whether the loop goes on; "" where `exactly` says it.
        exactly: the number of passes, of a loop that is started once.
        start: the output port of a node that says whether it runs; None where it always does.
        again: whether it may be started more than once, or has loops in it.
    """

    stages: list[Stage]
    goes_on: str
    exactly: int | None
    again: bool
    start: tuple[str, str] | None = None

    @property
    def first(self) -> mdf.Node:
        return self.stages[0].node

    @property
    def last(self) -> mdf.Node:
        return self.stages[-1].node


@dataclass(slots=True)
class Stage:
    """What is computed outside of loops, and the loops that may run when it has been."""

    node: mdf.Node
    loops: list[Run] = field(default_factory=list)


class Region:
    """A graph that is written: the model's, or a body.

    Args:
        titles: what the nodes of its first and last stage, and those between them, are called; if there is but one
            stage it is called `alone`.
        again: whether it is started more than once.
    """

    def __init__(
        self, builder: ModelBuilder, graph: Graph, alone: str, titles: tuple[str, str, str], again: bool
    ) -> None:
        self.builder = builder
        self.graph = graph
        self.again = again
        self._levels = _levels(graph)
        count = 1 + max(self._levels.values(), default=0)
        first, between, last = titles
        names = [alone] if count == 1 else [first, *[between] * (count - 2), last]
        self.scopes = [builder.scope(name) for name in names]

    def write(self) -> list[Stage]:
        """Write all stages and their loops."""
        stages: list[Stage] = []
        order = self.graph.topological()
        for index, scope in enumerate(self.scopes):
            here = [node for node in order if self._levels[node.outputs[0]] == index + is_loop(node)]
            for node in here:
                if not is_loop(node):
                    self.builder.owners.update(dict.fromkeys(node.outputs, scope))
                    scope.emit(node)
            stages.append(Stage(scope.node))
            for node in here:
                if is_loop(node):
                    stages[-1].loops.append(self._loop(node, index))
        return stages

    def _loop(self, node: Node, index: int) -> Run:
        """A loop, and what its results are in the next stage."""
        builder, before, after = self.builder, self.scopes[index], self.scopes[index + 1]
        writer = _LoopWriter(builder, node, before, self.again)
        run, passes, last = writer.write(), writer.passes, writer.last
        wanted = [entry for entry in writer.view.entries if entry.result is not None and builder.counts[entry.result]]
        if not passes.certain:
            start = self._start(passes, before, last)
            run.start = (before.node.id, builder.names.of(start))
            for entry in wanted:
                self._result(node, entry, passes, last, after, start)
        if run.again and not builder.connected(last, after):
            builder.edge(last, after, run.goes_on, run.goes_on, tensor(DType.BOOL))  # so that it comes after
        return run

    def _start(self, passes: Passes, before: Scope, loop: Scope) -> Value:
        """Whether a loop runs at all."""
        tests = [before.named(value) for value in passes.conditions]
        tests += [f"{limit} > 0" for limit in _limits(passes, before)]
        start = Value(f"{loop.node.id}_runs", tensor(DType.BOOL))
        before.call(start, Term(all_of(tests)))  # not a function: the scheduler asks for it before there is one
        before.add_output(self.builder.names.of(start), before.named(start), start.type)
        self.builder.owners[start] = before
        return start

    def _result(self, node: Node, entry: Entry, passes: Passes, loop: Scope, after: Scope, start: Value) -> None:
        """What a loop gives that may not run: else what it started with, or nothing stacked."""
        result = entry.result
        assert result is not None
        ran = Value(f"{result.name}_of_{loop.node.id}", result.type)
        loop.call(ran, loop.term(result))
        self.builder.owners[ran], self.builder.owners[result] = loop, after
        if isinstance(entry.slot, Carried) and entry.operand is not None:
            otherwise = after.named(entry.operand)
        elif passes.limited or result.tensor.static_shape is None:
            otherwise = filled(node, TensorType(result.tensor.dtype, empty_stack(node, entry).shape))
        else:
            otherwise = filled(node, result.type)  # in a branch that isn't taken: nobody wants it
        value, runs = after.term(ran), after.term(start)
        # until the loop has run the port holds zeros, which aren't of the type
        after.define(result, f"{cast(result.tensor.dtype, value.text, node)} if {runs} else {Term(otherwise)}")


class _LoopWriter:
    """Writes a loop."""

    def __init__(self, builder: ModelBuilder, node: Node, before: Scope, again: bool) -> None:
        self.builder = builder
        self.hub = node
        self.view = Loop(node)
        self.passes = passes_of(node)
        self.before = before
        title = node.name or "loop"
        self.region = Region(builder, self.view.body, title, (title, f"{title}_between", f"{title}_end"), True)
        self.first, self.last = self.region.scopes[0], self.region.scopes[-1]
        self.again = again or self.first is not self.last
        self.fresh = Value("fresh", tensor(DType.BOOL))
        self.count = Value("i", tensor(DType.INT64))
        self.counter = ""

    def write(self) -> Run:
        if self.again:
            self._see_start()
        self.builder.owners.update({self.fresh: self.first, self.count: self.first})
        for entry in self.view.of(Iteration):
            if entry.body_input is not None:
                self.builder.names.name(self.count, self.builder.names.of(entry.body_input))
                self.builder.alias[entry.body_input] = self.count
        states = {entry.indices: self._enter(entry) for entry in self.view.entries}
        stages = self.region.write()
        for entry in self.view.entries:
            if isinstance(entry.slot, Carried):
                self._carry(entry, *states[entry.indices])
            elif isinstance(entry.slot, Stacked):
                self._stack(entry)
        exactly = None if self.again else self.passes.trips.once_entered
        goes_on = "" if exactly is not None else self._condition()
        if self.counter:
            self._step()
        return Run(stages, goes_on, exactly, self.again)

    def _see_start(self) -> None:
        """Let the first stage see whether it was started anew."""
        runs = self.builder.runs_of(self.before)
        seen, now = self.builder.names.fresh("seen"), self.first.named(runs)
        self.first.state(seen, now, _ZERO)
        self.first.define(self.fresh, f"{now} != {seen}")

    def _either(self, scope: Scope, first: str, later: str) -> str:
        """What is `first` in a first pass, else `later`."""
        return f"{Term(first)} if {scope.named(self.fresh)} else {Term(later)}"

    def _i(self, scope: Scope) -> str:
        """The number of passes done."""
        if not self.counter:
            name = self.builder.names.of(self.count)
            self.counter = self.builder.names.fresh(f"{name}_next") if self.again else name
            if self.again:
                self.first.define(self.count, self._either(self.first, _ZERO, self.counter))
            else:
                self.first.call(self.count, Term(name))
                self.first.states.add(name)
        return scope.named(self.count)

    def _enter(self, entry: Entry) -> tuple[str, str]:
        """Say what the body sees of a slot; of a carried one: which parameter or port holds it, its initial value."""
        body_input, operand, scope, names = entry.body_input, entry.operand, self.first, self.builder.names
        match entry.slot:
            case Iteration():
                self._i(scope)
            case Captured() if body_input is not None and operand is not None:
                self.builder.alias[body_input] = operand
            case Sliced() if body_input is not None and operand is not None:
                text = part_text(self.hub, entry.slot, operand, scope.named(operand), self._i(scope))
                scope.define(body_input, text)
                self.builder.owners[body_input] = scope
            case Carried() if body_input is not None and operand is not None:
                self.builder.owners[body_input] = scope
                initial = scope.first(operand)
                if not self.again:
                    name = names.of(body_input)
                    scope.call(body_input, Term(name))
                    scope.states.add(name)
                    return name, initial
                name = names.fresh(f"{body_input.name}_last")
                later = name
                if scope is not self.last:
                    scope.add_input(name, body_input, _nothing(body_input.tensor))
                    later = cast(body_input.tensor.dtype, _of_shape(name, body_input.tensor), self.hub)
                scope.define(body_input, self._either(scope, scope.named(operand), later))
                return name, initial
        return "", ""

    def _carry(self, entry: Entry, name: str, initial: str) -> None:
        """Hand what the body gives to the next pass."""
        body_input, body_output, result, last = entry.body_input, entry.body_output, entry.result, self.last
        assert body_input is not None and body_output is not None and result is not None
        self.builder.owners[result] = last
        if self.first is last:
            same = self.builder.resolved(body_output) is body_input and not self.again
            last.state(name, name if same else last.before_changes(body_output), initial)
            last.call(result, Term(name))
            return
        last.call(result, Term(last.named(body_output)))
        self.builder.edge(last, self.first, self.builder.names.of(result), name, result.type, value=result)

    def _stack(self, entry: Entry) -> None:
        body_output, result, last = entry.body_output, entry.result, self.last
        assert body_output is not None and result is not None
        stack, name = stack_of(self.hub, entry, self.passes.trips.once_entered), self.builder.names.of(result)
        element = last.before_changes(body_output)
        stack_name = name
        if self.again:
            stack_name = last.function(
                self.builder.names.fresh(f"{name}_before"), self._either(last, stack.empty, name)
            )
        i = self._i(last) if "{i}" in stack.more else ""
        last.state(name, stack.appended(element, stack_name, i), stack.empty)
        last.call(result, Term(name))
        self.builder.owners[result] = last

    def _step(self) -> None:
        """Count a pass.

        Where a model has several loops the counter stays at the last pass: who computes all of them in every pass of
        the engine, and takes no heed of what they give when they don't run, finds what they look for nevertheless.
        """
        scope = self.first
        text = f"{scope.named(self.count)} + 1"
        for bound in self._bounds(scope) if self.builder.several else ():
            text = f"numpy.minimum({text}, {int(bound) - 1 if bound.isdecimal() else f'{bound} - 1'})"
        scope.state(self.counter, text, _ZERO)

    def _bounds(self, scope: Scope) -> list[str]:
        """What the number of passes doesn't go beyond."""
        bounds, most = _limits(self.passes, scope), self.passes.trips.most
        return bounds if most is None else [*bounds, str(most)]

    def _condition(self) -> str:
        """The parameter that says whether there is one more pass."""
        decides, last = self.passes.trips.decides, self.last
        tests = [] if decides is None else [last.before_changes(decides)]
        tests += [f"{self._i(last)} + 1 < {bound}" for bound in self._bounds(last)]
        name = self.builder.names.fresh("goes_on")
        last.state(name, all_of(tests), not self.again)
        return name


def _limits(passes: Passes, scope: Scope) -> list[str]:
    """What is known of the number of passes when the model runs: the trip count, the lengths of sequences."""
    count = passes.trips.count
    found = [] if count is None else [scope.named(count)]
    return found + [f"numpy.size({scope.named(value)}, {axis})" for value, axis in passes.lengths]


def _nothing(type: TensorType) -> mdf.Plain:
    """A default value, which cuts a cycle of edges: zeros of the shape, or an empty list with as many axes."""
    if type.shape is None or type.dtype is None:
        return 0
    shape = type.static_shape if _is_listed(type) else (1,) * (len(type.shape) - 1) + (0,)
    return np.zeros(shape or (), type.dtype.numpy).tolist()


def _is_listed(type: TensorType) -> bool:
    shape = type.static_shape
    return shape is not None and 0 < math.prod(shape) <= _MOST_LISTED


def _of_shape(port: str, type: TensorType) -> str:
    """What a port holds once something was brought to it, in its shape where the default value hasn't got that."""
    shape = type.static_shape
    return port if shape is None or _is_listed(type) else f"numpy.reshape({port}, {sizes(shape)})"


def _levels(graph: Graph) -> dict[Value, int]:
    """How many loops, one after the other, stand before a value."""
    levels = dict.fromkeys([*graph.inputs, *graph.constants], 0)
    for node in graph.topological():
        level = max((levels[value] for value in node.inputs if value is not None), default=0)
        levels.update(dict.fromkeys(node.outputs, level + is_loop(node)))
    return levels
