"""Passes of a model, one after the other or in a Loop: which nodes run in which, where that is known beforehand, and
whether thresholds are reached, where it depends on what nodes compute.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import reshape
from ....passes.errors import BackedgeError, InvalidModel, Unsupported
from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from ..model import Node
from .carried_state import Body, Carrying, Run
from .conditions import Count, Every, Key, Threshold, walk
from .nodes import Machine, is_stateful_parameter, named, sizes
from .numpy.evaluate import evaluate
from .numpy.values import Number, cast, constant, known, scalar, zeros
from .scheduler import ScheduledPass, Scheduler
from .state import Changing, Item, Logic, State, Term, parts

_MOST_APART = 16
"""Passes that may stand one after the other where no loop can carry what changes its type."""

_Once = Callable[[Builder, Logic, State], Term]
"""One pass; whether another one follows."""


@dataclass
class Runs:
    """Runs passes, and gives what there is after them.

    Args:
        wanted: the numbers that are asked for in the end.
        exact: whether Python's numbers are to be told from arrays without axes.
    """

    op: Builder
    machine: Machine
    scheduler: Scheduler
    wanted: Sequence[Key]
    exact: bool

    def __post_init__(self) -> None:
        self.logic = Logic(self.op)

    def once(self, state: State) -> State:
        """One pass in which every node runs."""
        self._pass(self.op, self.logic, state)
        return state

    def steps(self, state: State, steps: Value) -> State:
        """One pass in which every node runs, and `steps` (int64 []) more."""
        try:
            times = self.op.Add(self.op.Max(steps, self.op.const(0)), self.op.const(1))
            return self._repeated(state, times, None, True)
        except Changing:
            return self.integrated(state, steps, None)

    def integrated(self, state: State, steps: Value, increment: Number | None) -> State:
        """One pass in which every node runs, and `steps` more in which time goes on by `increment`."""
        self._pass(self.op, self.logic, state)
        try:
            return self._repeated(state, steps, increment, False)
        except Changing as change:
            raise _no_one_type(change) from None

    def timed(self, state: State, timetable: Timetable) -> State:
        """Passes that are known beforehand."""
        for done, running in enumerate(timetable):
            rest = timetable[done:]
            if len(rest) > 1 and (done <= 1 or len(rest) > _MOST_APART):
                try:
                    return self._table(state, rest)
                except Changing as change:
                    if len(rest) > _MOST_APART and done:
                        raise _no_one_type(change) from None
            self._pass(self.op, self.logic, state, running.__contains__)
        return state

    def until(self, state: State) -> State:
        """Passes until a condition holds that depends on what nodes compute."""
        state.counters.update(self.scheduler.start())
        over = self._scheduled_pass(self.op, self.logic, state).over()
        if over is not False:
            raise Unsupported("termination", "it is true at the start, or may be, and nothing is computed then")
        try:
            return self._while(state, True)
        except Changing:
            pass
        try:
            goes_on = self._scheduled(self.op, self.logic, state)
            return state if goes_on is False else self._while(state, goes_on)
        except Changing as change:
            raise _no_one_type(change) from None

    # one pass ----------------------------------------------------------------------------------------

    def _pass(
        self,
        op: Builder,
        logic: Logic,
        state: State,
        runs: Callable[[str], Term] = lambda name: True,
        increment: Number | None = None,
    ) -> Term:
        """One pass in which those nodes run of which `runs` says so."""
        for names in self.scheduler.sets:
            for name in names:
                self.machine.run(op, logic, name, state, runs(name), increment)
        return True

    def _scheduled(self, op: Builder, logic: Logic, state: State) -> Term:
        scheduled = self._scheduled_pass(op, logic, state)
        scheduled.begin()
        for names in self.scheduler.sets:
            running = scheduled.choose(names)
            for name in names:
                self.machine.run(op, logic, name, state, running[name], None)
        return scheduled.end()

    def _scheduled_pass(self, op: Builder, logic: Logic, state: State) -> ScheduledPass:
        return ScheduledPass(self.scheduler, logic, state.counters, Measure(op, logic, self.machine, state))

    # loops -------------------------------------------------------------------------------------------

    def _repeated(self, state: State, times: Value, increment: Number | None, runs: bool) -> State:
        def once(op: Builder, logic: Logic, inside: State) -> Term:
            return self._pass(op, logic, inside, increment=increment)

        def run(body: Body, inside: State) -> Term:
            return once(body.op, body.logic, inside)

        return self._loop(state, once, times, True, run, runs)

    def _table(self, state: State, rest: Timetable) -> State:
        def once(op: Builder, logic: Logic, inside: State) -> Term:
            return self._pass(op, logic, inside, rest[0].__contains__)

        def run(body: Body, inside: State) -> Term:
            def runs(name: str) -> Term:
                return flag(body, [name in running for running in rest])

            return self._pass(body.op, body.logic, inside, runs)

        trip = self.op.const(np.int64(len(rest)), name="passes")
        certain = frozenset[str]().union(*rest)
        return self._loop(state, once, trip, True, run, True, certain)

    def _while(self, state: State, first: Term) -> State:
        def run(body: Body, inside: State) -> Term:
            return self._scheduled(body.op, body.logic, inside)

        return self._loop(state, self._scheduled, None, first, run, first is True)

    def _loop(
        self,
        state: State,
        once: _Once,
        trip: Value | None,
        first: Term,
        run: Run,
        runs: bool,
        certain: frozenset[str] = frozenset(),
    ) -> State:
        """A loop from this state on.

        A pass in front of it, of which nobody uses more, tells the types, and what parameters have the first time.

        Args:
            runs: whether the loop is certain to run at least once.
            certain: nodes that are known to run in it.

        Raises:
            Changing: something that has to be carried has no one type.
        """
        machine, probe, start = self.machine, state.copy(), state.copy()
        machine.first.clear()
        once(self.op, self.logic, probe)
        late = {name for name in machine.wiring.nodes if probe.counters["ran", name] is not True}
        first_values = self._rehearsed(probe, late) | machine.first
        for key, item in first_values.items():
            if item is not None and state.counters["ran", key[1]] is False and self._is_first(key, late):
                start.numbers[key] = item
                machine.preset.add(key)
        wanted = [*self.wanted, *(("ran", key[1]) for key in self.wanted if key[1] in late - certain)]
        try:
            after = Carrying(self.op, start, probe, wanted, self.exact, runs, machine.opens).loop(trip, first, run)
        finally:
            machine.preset.clear()
        after.counters.update({("ran", node): True for node in certain})
        return after

    def _rehearsed(self, probe: State, late: set[str]) -> dict[Key, Item]:
        """What the parameters of these nodes have the first time, as far as they can run already."""
        kept, self.machine.first = self.machine.first, {}
        scratch = probe.copy()
        for names in self.scheduler.sets:
            for name in names:
                if name in late:
                    with contextlib.suppress(BackedgeError, Changing):
                        self.machine.run(self.op, self.logic, name, scratch, True, None)
        first_values, self.machine.first = self.machine.first, kept
        return first_values

    def _is_first(self, key: Key, late: set[str]) -> bool:
        """Whether what a parameter has when its node runs in the next pass is what it has the first time it runs."""
        if key[1] not in late:
            return True
        node = self.machine.wiring.nodes[str(key[1])]
        parameters = {parameter.id: parameter for parameter in node.parameters}
        fed = {port.id for port in node.inputs if (node.id, port.id) in self.machine.wiring.edges}
        waiting, seen = [str(key[2])], set[str]()
        while waiting:
            name = waiting.pop()
            if name in fed:
                return False
            if name in parameters and name not in seen:
                seen.add(name)
                parameter = parameters[name]
                text = parameter.initial if is_stateful_parameter(parameter) else parameter.value
                waiting += named(text)
        return True


class NoOneType(Unsupported):
    """A value has another type or shape at another time, and nothing can carry it."""


def _no_one_type(change: Changing) -> NoOneType:
    kind, name = change.key[0], " ".join(repr(part) for part in change.key[1:])
    return NoOneType(f"{kind} {name}", f"the type of a value changes from pass to pass: {change.reason}")


Timetable = list[frozenset[str]]
"""The nodes that run, pass by pass."""

MOST_PASSES = 10_000
"""Passes that are tried out; a run that takes more is left to counters in the model."""


class _DataDependentSchedule(Exception):
    """Which nodes run depends on what they compute."""


def _unknown(_: Threshold) -> Term:
    raise _DataDependentSchedule


def static_schedule(scheduler: Scheduler) -> Timetable | None:
    """Which nodes run when; None where that depends on what they compute, or there are very many passes.

    Raises:
        Unsupported: the run doesn't end.
    """
    counters = scheduler.start()
    passes: Timetable = []
    try:
        goes_on = not ScheduledPass(scheduler, Logic(), counters, _unknown).over()
        while goes_on and len(passes) < MOST_PASSES:
            scheduled = ScheduledPass(scheduler, Logic(), counters, _unknown)
            scheduled.begin()
            passes.append(
                frozenset(name for names in scheduler.sets for name, ran in scheduled.choose(names).items() if ran)
            )
            goes_on = bool(scheduled.end())
    except _DataDependentSchedule:
        return None
    if not goes_on:
        return passes
    if _largest(scheduler) < MOST_PASSES // 10:
        raise Unsupported("termination", f"the run hasn't ended after {MOST_PASSES} passes")
    return None


def _largest(scheduler: Scheduler) -> float:
    """The largest number that a condition counts to."""
    numbers = [
        one.number
        for test in (*scheduler.tests.values(), *scheduler.ends)
        for one in walk(test)
        if isinstance(one, Count | Every)
    ]
    return max(numbers, default=0)


def flag(body: Body, row: Sequence[bool]) -> Term:
    """The flag of this run of a loop's body; `row` has one for each run."""
    table = np.asarray(row, np.bool_)
    changes = np.flatnonzero(table[1:] != table[:-1]) + 1
    if not changes.size:
        return bool(table[0])
    if changes.size == 1:
        return body.logic.compare(body.iteration, ">=" if table[-1] else "<", int(changes[0]))
    on = np.flatnonzero(table)
    if on.size == 1:
        return body.logic.compare(body.iteration, "==", int(on[0]))
    start, step = int(on[0]), int(on[1] - on[0])
    if start < step and np.array_equal(on, np.arange(start, len(table), step)):
        return body.logic.every(body.iteration, step, start)
    return body.part(table)


@dataclass
class Measure:
    """Whether thresholds are reached, by a state."""

    op: Builder
    logic: Logic
    machine: Machine
    state: State

    def __call__(self, threshold: Threshold) -> Term:
        """Whether it is reached; the same answer as long as nothing has changed.

        Raises:
            InvalidModel: there is nothing of this name.
            Unsupported: it isn't one number, or is read before it has a value.
        """
        where = f"Threshold of node {threshold.node!r}, {threshold.name!r}"
        node = self.machine.wiring.nodes[threshold.node]
        key: Key = (_kind(node, threshold.name, where), node.id, threshold.name)
        stored = parts(self.state.numbers.get(key))
        known = (threshold, self.state.counters["ran", node.id], *(number.value for number in stored))
        return self.logic.once(known, lambda: self._measured(threshold, node, key, where))

    def _measured(self, threshold: Threshold, node: Node, key: Key, where: str) -> Term:
        number = self._measured_number(node, key, where)
        for index in threshold.indices:
            size = number.sizes[0] if number.rank else 0
            if size is None or not -size <= index < size:
                raise Unsupported(where, f"it has no element {index}")
            number = Number(self.op.Gather(number.value, self.op.const(index, DType.INT64), axis=0))
        if number.is_open or number.size != 1:
            count = "an unknown number of" if number.is_open else number.size
            raise Unsupported(where, f"it has {count} elements, and no indices select one of them")
        value = reshape(self.op, cast(self.op, number, DType.FLOAT64, where), ())
        found = evaluate(self.op, _comparison(threshold), {"x": Number(value), **_numbers(self.op, threshold)}, where)
        assert isinstance(found, Number)
        array = known(found)
        return found.value if array is None else bool(array)

    def _measured_number(self, node: Node, key: Key, where: str) -> Number:
        """What is measured; what has no value yet counts as the engine takes it."""
        kind, _, name = key
        ran = self.state.counters["ran", node.id]
        stored: Item = self.state.numbers.get(key)
        first: Item = None
        if kind == "port":  # what came in is gone once its node has run
            port = next(port for port in node.inputs if port.id == name)
            nothing = zeros(self.op, sizes(port, where), np.float64, where)
            waiting = stored or (self.machine.default(self.op, node, port) if port.reduce == "overwrite" else nothing)
            stored, first = nothing, waiting
        elif key in self.machine.preset:
            ran = True
        elif ran is not True:
            first = self._before(node, kind, name, where)
        item = self.machine.select(self.op, self.logic, ran, stored, first, key)
        if not isinstance(item, Number):
            raise Unsupported(where, "it is read before it has a value")
        return item

    def _before(self, node: Node, kind: object, name: object, where: str) -> Item:
        """What counts before its node has run: an output port's zeros, a parameter's initial number."""
        if kind == "output":
            shape = next(port.shape for port in node.outputs if port.id == name)
            return zeros(self.op, [size for size in shape if isinstance(size, int)], np.float64, where)
        for parameter in node.parameters:
            if parameter.id == name and isinstance(parameter.initial, int | float):
                return scalar(self.op, parameter.initial, where)
        return None


def _kind(node: Node, name: str, where: str) -> str:
    """What is called so, the first of these: an input port, a parameter, a function, an output port."""
    kinds = {"port": node.inputs, "parameter": node.parameters, "function": node.functions, "output": node.outputs}
    for kind, members in kinds.items():
        if any(member.id == name for member in members):
            return kind
    raise InvalidModel(f"{where}: the node has no value of this name")


def _comparison(threshold: Threshold) -> str:
    """An expression over a number `x`; what is equal within a tolerance is NumPy's `isclose`."""
    if threshold.sign not in ("==", "!=") or not (threshold.atol or threshold.rtol):
        return f"x {threshold.sign} number"
    return f"{'not ' if threshold.sign == '!=' else ''}numpy.isclose(x, number, rtol, atol)"


def _numbers(op: Builder, threshold: Threshold) -> dict[str, Number]:
    numbers = {"number": threshold.number, "rtol": threshold.rtol, "atol": threshold.atol}
    return {name: constant(op, np.float64(number)) for name, number in numbers.items()}
