"""A canonical Loop as a node whose parameters keep what it carries: one execution of the node is one pass of the loop.

| slot | in the node |
|---|---|
| carried | a stateful parameter; its value is a function of what the parameters were before |
| sliced | a function that takes the part by the number of passes done |
| captured | an input port, which the edge fills before every execution |
| stacked | a stateful parameter: a buffer for all passes where their number is certain, else one that grows |
| iteration, trip | a stateful parameter that counts |
| condition | the stateful parameter `go_on`, by which the ConditionSet knows whether the node is to run again |

Functions see the parameters as they were, parameters change in the order of the list: the counter is the last.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ....passes.demands import axis_of, rank_of
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.known import known_array
from ....passes.loop import Captured, Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked, part_range
from ....passes.tensor import TensorData
from ....passes.types import TensorType
from .. import model as mdf
from .scope import Scope
from .shape import taken
from .terms import Term, cast, sizes, tensor_of


@dataclass(slots=True)
class Passes:
    """How often a loop runs.

    Attributes:
        exactly: the number of passes where it is certain whenever the loop runs at all.
        known: no more than so many, where that is known.
        limits: what else bounds it, s64 scalars known when the model runs.
        guards: conditions of branches that it stands in; where one is false nobody wants what it gives.
        starts: conditions without which it doesn't run at all.
        lengths: sequences, one part of which each pass takes, and the axis, whose sizes aren't known.
        decides: what the body gives to say whether there is one more pass; None where nothing does.
    """

    exactly: int | None = None
    known: int | None = None
    limits: list[Value] = field(default_factory=list)
    guards: list[Value] = field(default_factory=list)
    starts: list[Value] = field(default_factory=list)
    lengths: list[tuple[Value, int]] = field(default_factory=list)
    decides: Value | None = None

    @property
    def certain(self) -> bool:
        """Whether it runs at all is known."""
        return not (self.limits or self.guards or self.starts or self.lengths)


def passes_of(node: Node) -> Passes:
    """How often a loop runs, as far as it is known.

    Raises:
        Unsupported: nobody knows how long a sequence is that it cuts in parts.
    """
    view, found = Loop(node), Passes()
    bounds: list[int] = []
    trip = view.trip
    if trip is not None:
        known = known_array(trip)
        if known is None:
            found.limits.append(trip)
        else:
            bounds.append(max(0, int(known.reshape(-1)[0])))
    for entry in view.of(Sliced):
        slot, outside = entry.slot, entry.outside
        assert isinstance(slot, Sliced) and outside is not None
        shape = outside.tensor.shape
        axis = axis_of(node, slot.axis, rank_of(node, outside))
        size = shape[axis] if shape is not None else None
        if isinstance(size, int):
            bounds.append(part_range(slot, size)[1])
        elif slot.part is None and (slot.start, slot.end, slot.stride) in ((0, -1, 1), (-1, 0, -1)):
            found.lengths.append((outside, axis))
        else:
            raise Unsupported(node, f"the size of axis {axis} of {outside.name!r} isn't known before the model runs")
    found.known = min(bounds, default=None)
    first, condition = view.initial_condition, view.condition
    if first is not None:
        known = known_array(first)
        if known is None:
            found.starts.append(first)
        elif not known.any():
            found.known = 0
    found.guards = [value for value in node.captures if value is not None]
    if condition is not None and not _is_true(condition.leave):
        found.decides = condition.leave
    if found.decides is None and not found.limits and not found.lengths:
        found.exactly = found.known
    return found


def _is_true(value: Value | None) -> bool:
    known = known_array(value)
    return known is not None and bool(known.all())


@dataclass(slots=True)
class Written:
    """A loop's node.

    Attributes:
        goes_on: its parameter that says whether it is to run again; "" where the number of passes is certain.
    """

    node: mdf.Node
    passes: Passes
    goes_on: str


def write_loop(scope: Scope, node: Node, passes: Passes) -> Written:
    """Write a loop into a scope of its own. The results are called as the parameters that hold them.

    Raises:
        Unsupported: an operator, or what the loop stacks, has no form.
    """
    return _Writer(scope, node, passes).write()


class _Writer:
    def __init__(self, scope: Scope, node: Node, passes: Passes) -> None:
        self.scope = scope
        self.hub = node
        self.view = Loop(node)
        self.passes = passes
        self.states: list[mdf.Parameter] = []
        entry = self.view.iteration
        self.counter = scope.names.fresh("i" if entry is None or entry.enter is None else entry.enter.name)
        self.counts = entry is not None

    def write(self) -> Written:
        scope = self.scope
        scope.states.add(self.counter)
        initial = [self._enter(entry) for entry in self.view.entries]
        for node in self.view.body.topological():
            scope.emit(node)
        for entry, text in zip(self.view.entries, initial, strict=True):
            if isinstance(entry.slot, Carried):
                self._carry(entry, text)
            elif isinstance(entry.slot, Stacked):
                self._stack(entry, entry.slot)
        goes_on = "" if self.passes.exactly is not None else self._condition()
        if self.counts:
            self.states.append(mdf.Parameter(self.counter, f"{self.counter} + 1", "numpy.int64(0)"))
        scope.node.parameters += self.states
        return Written(scope.node, self.passes, goes_on)

    def _count(self) -> str:
        self.counts = True
        return self.counter

    def _enter(self, entry: Entry) -> str:
        """Say what the body sees of a slot; what a carried value starts with."""
        scope, enter, outside = self.scope, entry.enter, entry.outside
        if enter is None:
            return ""
        match entry.slot:
            case Iteration():
                scope.call(enter, Term(self.counter))
            case Condition():
                scope.call(enter, Term("True"))
            case Captured() if outside is not None:
                scope.alias[enter] = outside
            case Sliced() if outside is not None:
                scope.define(enter, self._part(entry.slot, outside))
            case Carried() if outside is not None:
                name = scope.names.of(enter)
                scope.call(enter, Term(name))
                scope.states.add(name)
                return scope.first(outside)
        return ""

    def _part(self, slot: Sliced, outside: Value) -> str:
        axis = axis_of(self.hub, slot.axis, rank_of(self.hub, outside))
        size = (outside.tensor.shape or ())[axis]
        sequence, i = self.scope.named(outside), self._count()
        if isinstance(size, int):
            first = part_range(slot, size)[0] - ((slot.part or 1) - 1 if slot.reversed else 0)
            index = i if slot.stride == 1 else f"{i} * {slot.stride}" if slot.stride > 0 else f"-{-slot.stride} * {i}"
            if slot.stride < 0:
                index = f"{first} - {i if slot.stride == -1 else f'{i} * {-slot.stride}'}"
            elif first:
                index = f"{first} + {index}"
        else:
            index = f"-1 - {i}" if slot.reversed else i
        if slot.part is not None:
            index = f"{index} + numpy.arange({slot.part})"
        return taken(sequence, index, axis)

    def _carry(self, entry: Entry, initial: str) -> None:
        enter, leave = entry.enter, entry.leave
        assert enter is not None and leave is not None
        name = self.scope.names.of(enter)
        value = name if self.scope.resolved(leave) is enter else self.scope.settled(leave)
        self.states.append(mdf.Parameter(name, value, initial))
        if entry.result is not None:
            self.scope.call(entry.result, Term(name))

    def _stack(self, entry: Entry, slot: Stacked) -> None:
        leave, result = entry.leave, entry.result
        assert leave is not None and result is not None
        element = tensor_of(self.hub, leave.type)
        text, name = self.scope.settled(leave), self.scope.names.of(result)
        if element.shape is None:
            raise Unsupported(self.hub, f"the rank of what it stacks in {result.name!r} isn't known")
        axis = axis_of(self.hub, slot.axis, len(element.shape) + (slot.part is None))
        shape = element.static_shape
        if self.passes.exactly is not None and shape is not None:
            value, empty = self._placed(name, text, slot, axis, shape, self.passes.exactly)
        else:
            value, empty = self._grown(name, text, slot, axis, element)
        self.states.append(mdf.Parameter(name, value, cast(element.dtype, empty, self.hub)))
        self.scope.call(result, Term(name))

    def _placed(
        self, name: str, element: str, slot: Stacked, axis: int, shape: tuple[int, ...], count: int
    ) -> tuple[str, str]:
        """What puts an element into a buffer for all, and the buffer."""
        part = 1 if slot.part is None else shape[axis]
        rest = shape[axis + (slot.part is not None) :]
        whole = (*shape[:axis], count * part, *rest)
        rows = f"numpy.arange({count * part})"
        i = self._count()
        if slot.part is None:
            element = element if axis == 0 else f"numpy.expand_dims({element}, {axis})"
        elif count > 1:
            element = taken(element, f"numpy.mod({rows}, {part})", axis)
        place = f"{count - 1} - {i}" if slot.reverse else i
        rows = rows if part == 1 else f"{rows} // {part}"
        rows = f"numpy.reshape({rows}, {sizes((-1, *[1] * len(rest)))})" if rest else rows
        return f"numpy.where({rows} == {place}, {element}, {name})", f"numpy.zeros({sizes(whole)})"

    def _grown(self, name: str, element: str, slot: Stacked, axis: int, type: TensorType) -> tuple[str, str]:
        """What puts an element behind (before) those there are, and what there is at first."""
        shape = [dim if isinstance(dim, int) else 0 for dim in type.shape or ()]
        if slot.part is None:
            element = f"numpy.expand_dims({element}, {axis})"
            shape.insert(axis, 0)
        else:
            shape[axis] = 0
        both = (element, name) if slot.reverse else (name, element)
        text = f"numpy.concatenate(({', '.join(both)}), {axis})"
        beside = [dim for place, dim in enumerate(type.shape or ()) if slot.part is None or place != axis]
        if not all(isinstance(dim, int) for dim in beside):
            text = f"{element} if {self._count()} == 0 else {text}"
        return text, f"numpy.zeros({sizes(shape)})"

    def _condition(self) -> str:
        """The parameter that says whether there is one more pass."""
        passes, scope = self.passes, self.scope
        tests: list[str] = []
        if passes.decides is not None:
            tests.append(scope.settled(passes.decides))
        bounds = [scope.named(value) for value in passes.limits]
        bounds += [f"numpy.size({scope.named(value)}, {axis})" for value, axis in passes.lengths]
        bounds += [] if passes.known is None else [str(passes.known)]
        tests += [f"{self._count()} + 1 < {bound}" for bound in bounds]
        name = scope.names.fresh("go_on")
        self.states.append(mdf.Parameter(name, all_of(tests), True))
        return name


def all_of(tests: list[str]) -> str:
    """The text of what holds where all of them hold."""
    text = tests[0] if tests else "True"
    for test in tests[1:]:
        text = f"numpy.logical_and({text}, {test})"
    return text


def empty_stack(node: Node, entry: Entry) -> TensorData:
    """What is stacked where a loop doesn't run; sizes that aren't known are 0.

    Raises:
        Unsupported: its rank isn't known.
    """
    assert isinstance(entry.slot, Stacked) and entry.leave is not None
    type = tensor_of(node, entry.leave.type)
    if type.shape is None or type.dtype is None:
        raise Unsupported(node, f"the rank of what it stacks in {entry.leave.name!r} isn't known")
    shape = [dim if isinstance(dim, int) else 0 for dim in type.shape]
    axis = axis_of(node, entry.slot.axis, len(shape) + (entry.slot.part is None))
    shape[axis : axis + (entry.slot.part is not None)] = [0]
    return TensorData(type.dtype, tuple(shape), np.zeros(shape, type.dtype.numpy))
