"""The Loop that carries what a model keeps from pass to pass."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Value
from ....passes.loop import Captured, Carried, Condition, Iteration, Sliced, Slot
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from .conditions import Key
from .numpy.values import Kind, cast, common_kind
from .regions import close, operands
from .state import Changing, Item, Logic, State, Term, is_flag, like, parts

_MOST_TRIALS = 12


class Body:
    """The body of a loop while it is built.

    Attributes:
        op: its builder.
        iteration: how many times it has run, int64 [].
    """

    def __init__(self, op: Builder) -> None:
        self.op = op.region("body")
        self.logic = Logic(self.op)
        self.iteration = self.op.input("iteration", TensorType(DType.INT64, ()))
        self.tables: list[tuple[Value, np.ndarray[Any, Any]]] = []

    def part(self, table: np.ndarray[Any, Any]) -> Value:
        """This run's element of a table that has one for each."""
        for value, known in self.tables:
            if np.array_equal(known, table):
                return value
        value = self.op.input("part", TensorType(DType.of(table.dtype), ()))
        self.tables.append((value, table))
        return value


Run = Callable[[Body, State], Term]
"""Runs one pass in a body, changing the state; whether another one follows."""


@dataclass
class Carrying:
    """Finds out what a loop has to carry, and builds it.

    Args:
        start: what there is before the first pass; None for what isn't computed yet.
        probe: what one pass makes of it, for the types.
        wanted: the numbers that are asked for after the loop, which runs at least once where they aren't in `start`.
        exact: whether Python's numbers are to be told from arrays without axes.
        runs: whether the loop is certain to run at least once.
        opens: whether a value whose shape changes is carried with open sizes.
    """

    op: Builder
    start: State
    probe: State
    wanted: Collection[Key]
    exact: bool
    runs: bool
    opens: bool
    kinds: dict[Key, tuple[Kind, ...]] = field(default_factory=dict)
    fixed: set[Key] = field(default_factory=set)
    loose: set[Key] = field(default_factory=set)  # looked fixed at first
    moving: set[Key] = field(default_factory=set)
    changing: dict[Key, str] = field(default_factory=dict)
    mixed: set[Key] = field(default_factory=set)  # Python's number at one time, an array without axes at another

    def loop(self, trip: Value | None, first: Term, run: Run) -> State:
        """Build the loop; what it leaves.

        Args:
            trip: how often at most, int64 []; None: only its condition ends it.
            first: whether it runs at all.

        Raises:
            Changing: something has to be carried that has no one type.
        """
        for key, item in self.start.numbers.items():
            self._kind(key, item, self.probe.numbers.get(key))
        for key, term in self.start.counters.items():
            if _differ(term, self.probe.counters[key]):
                self.moving.add(key)
        names = self.op.rewriter.names
        for _ in range(_MOST_TRIALS):
            self.op.rewriter.names = copy.deepcopy(names)
            trial = _Trial(self, run)
            live = trial.live()
            if self._converged(trial, live) and not self._forgotten(trial, live):
                break
        else:
            raise Unsupported("the loop", "the types of its carried values don't converge")
        for key in self.start.numbers:
            if key in live and key in self.changing:
                raise Changing(key, self.changing[key])
        if self.exact and self.mixed & live:
            names = copy.deepcopy(self.op.rewriter.names)
            self._compare(trial, _Trial(self, run, weak=True), live)
            self.op.rewriter.names = names
        return trial.finish(trip, first, live)

    def _forgotten(self, trial: _Trial, live: Collection[Key]) -> bool:
        """Forget what is in a position whose type changes, if nobody reads that before it is overwritten."""
        unread = [key for key in self.changing if key in live and self.runs and not trial.reads(key)]
        for key in unread:
            self.start.numbers[key] = self.probe.numbers[key] = None
            del self.changing[key], self.kinds[key]
        return bool(unread)

    def _compare(self, trial: _Trial, weak: _Trial, live: Collection[Key]) -> None:
        """Refuse what depends on whether a number is Python's, if it is so at one time only."""
        for key in live:
            one, other = ([number.kind for number in parts(of.leaving.numbers.get(key))] for of in (trial, weak))
            if [(kind.dtype, kind.sizes) for kind in one] != [(kind.dtype, kind.sizes) for kind in other]:
                raise Changing(key, "it depends on a value that is a Python number at one time and an array at another")

    def _kind(self, key: Key, a: Item, b: Item) -> bool:
        """Find the kind of two items in one position; whether it is new."""
        kinds = [tuple(number.kind for number in parts(item)) for item in (a, b) if item is not None]
        if not kinds:
            return False
        first, *rest = kinds
        merged_kind = first
        for more in rest:
            merged = [self._merged(key, *pair) for pair in zip(merged_kind, more, strict=False)]
            if len(more) != len(first):
                self.changing[key] = f"{len(first)} results, then {len(more)}"
            else:
                merged_kind = tuple(kind or old for kind, old in zip(merged, first, strict=True))
        new = self.kinds.get(key) != merged_kind
        self.kinds[key] = merged_kind
        return new

    def _merged(self, key: Key, a: Kind, b: Kind) -> Kind | None:
        open_sizes = self.opens and not a.listed and len(a.sizes) == len(b.sizes)
        if a.listed != b.listed or (a.sizes != b.sizes and not open_sizes):
            self.changing[key] = f"{_shown(a)}, then {_shown(b)}"
            return None
        if a.python != b.python:
            self.mixed.add(key)
        return common_kind(a, b, f"{key}")

    def _converged(self, trial: _Trial, live: Collection[Key]) -> bool:
        """Whether a trial leaves what it was entered with, as far as anybody asks."""
        converged = True
        for key, item in trial.leaving.numbers.items():
            entered = trial.entered.numbers[key]
            if entered is None and item is not None:  # whoever read it saw that there is nothing yet
                converged &= not self._kind(key, entered, item)
            if key not in live or item is None or _same(entered, item):
                continue
            if key in self.fixed:
                self.fixed.remove(key)
                self.loose.add(key)
                converged = False
            elif key not in self.loose and _same(self.start.numbers[key], item):
                self.fixed.add(key)
                converged = False
            elif key not in self.changing:
                converged &= not self._kind(key, entered, item)
        for key, term in trial.leaving.counters.items():
            if key not in self.moving and _differ(term, self.start.counters[key]):
                self.moving.add(key)
                converged = False
        return converged


@dataclass
class _Trial:
    """One go at the body."""

    carrying: Carrying
    run: Run
    weak: bool = False  # take numbers that are Python's at one time for Python's

    def __post_init__(self) -> None:
        self.body = Body(self.carrying.op)
        self.inputs: dict[Key, list[Value]] = {}
        self.entered = State()
        start = self.carrying.start
        for key, item in start.numbers.items():
            kinds = self.carrying.kinds.get(key)
            if key in self.carrying.fixed or kinds is None:
                self.entered.numbers[key] = item
                continue
            self.inputs[key] = [self._input(key, TensorType(kind.dtype, kind.sizes)) for kind in kinds]
            if self.weak and key in self.carrying.mixed:
                kinds = [replace(kind, python=True) for kind in kinds]
            found = [kind.number(value) for kind, value in zip(kinds, self.inputs[key], strict=True)]
            self.entered.numbers[key] = like(self.carrying.probe.numbers.get(key) if item is None else item, found)
        for key, term in start.counters.items():
            if key in self.carrying.moving:
                dtype = DType.BOOL if is_flag(term) else DType.INT64
                self.inputs[key] = [self._input(key, TensorType(dtype, ()))]
                term = self.inputs[key][0]
            self.entered.counters[key] = term
        self.leaving = self.entered.copy()
        self.goes_on = self.run(self.body, self.leaving)
        self.left: dict[Key, list[Value]] = {}
        for key in self.inputs:
            self.left[key] = self._left(key)

    def _input(self, key: Key, type: TensorType) -> Value:
        return self.body.op.input("_".join(str(part) for part in key[1:] or key).replace(" ", "_"), type)

    def _left(self, key: Key) -> list[Value]:
        """What the body leaves in a position, in the type that is carried there."""
        if key in self.leaving.counters:
            return [self.body.logic.value(self.leaving.counters[key])]
        item, kinds = self.leaving.numbers[key], self.carrying.kinds[key]
        numbers = parts(item)
        if key in self.carrying.changing:
            return [number.value for number in numbers]
        if len(numbers) != len(kinds):
            return list(self.inputs[key])
        op = self.body.op
        return [cast(op, number, kind.dtype, f"{key}") for number, kind in zip(numbers, kinds, strict=True)]

    def live(self) -> set[Key]:
        """What is read in the body, or asked for, or needed for that."""
        owner = {value: key for key, values in self.inputs.items() for value in values}
        live: set[Key] = set()
        seen: set[Value] = set()
        waiting = [self.goes_on] if isinstance(self.goes_on, Value) else []
        asked = list(self.carrying.wanted)
        while waiting or asked:
            if asked:
                key = asked.pop()
                if key not in live:
                    live.add(key)
                    waiting += self.left.get(key, ())
                continue
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in owner:
                asked.append(owner[value])
            waiting += operands(value)
        self.seen = seen
        return live

    def reads(self, key: Key) -> bool:
        """Whether the body looks at what it was entered with (see `live`)."""
        return any(value in self.seen for value in self.inputs[key])

    def finish(self, trip: Value | None, first: Term, live: Collection[Key]) -> State:
        """The loop itself; what there is after it."""
        op, body = self.carrying.op, self.body
        carried = list(self._carried_values(live))
        slots: list[Slot] = [Iteration()]
        graph = body.op.graph
        graph.inputs = [body.iteration]
        graph.outputs = []
        operands: list[Value] = []
        condition: Value | None = None
        if self.goes_on is not True:
            slots.append(Condition())
            graph.outputs.append(body.logic.value(self.goes_on))
            condition = None if first is True else Logic(op).value(first)
        for body_input, body_output, initial in carried:
            slots.append(Carried())
            graph.inputs.append(body_input)
            graph.outputs.append(body_output)
            operands.append(initial)
        for value, table in body.tables:
            slots.append(Sliced())
            graph.inputs.append(value)
            operands.append(op.const(table, name="flags"))
        outer = close(body.op)
        slots += [Captured()] * len(outer)
        graph.inputs += [inner for _, inner in outer]
        operands += [value for value, _ in outer]
        types = [body_input.type for body_input, _, _ in carried]
        results = op.loop(trip, condition, slots, operands, graph, types) if carried else ()
        return self._left_over(dict(zip((body_input for body_input, _, _ in carried), results, strict=True)), live)

    def _carried_values(self, live: Collection[Key]) -> Iterator[tuple[Value, Value, Value]]:
        """(body input, body output, initial value) of what is carried; what is written before it is read, once."""
        op = self.carrying.op
        self.replacements: dict[Value, Value] = {}
        written: dict[Value, Value] = {}
        read: list[tuple[Value, Value, Value]] = []
        for key, inputs in self.inputs.items():
            if key not in live:
                continue
            kinds, numbers = self.carrying.kinds.get(key), parts(self.carrying.start.numbers.get(key))
            for index, (body_input, body_output) in enumerate(zip(inputs, self.left[key], strict=True)):
                if kinds is None:
                    initial = Logic(op).value(self.carrying.start.counters[key])
                elif numbers:
                    initial = cast(op, numbers[index], kinds[index].dtype, f"{key}")
                else:
                    initial = op.const(np.zeros([size or 0 for size in kinds[index].sizes], kinds[index].dtype.numpy))
                    if body_input not in self.seen and body_output in written:
                        self.replacements[body_input] = written[body_output]
                        continue
                written.setdefault(body_output, body_input)
                read.append((body_input, body_output, initial))
        yield from read

    def _left_over(self, results: dict[Value, Value], live: Collection[Key]) -> State:
        """What there is after the loop: what was carried, and what stays as it is."""
        carrying, after = self.carrying, State()
        for key, inputs in self.inputs.items():
            if key not in live:
                continue
            values = [results[self.replacements.get(body_input, body_input)] for body_input in inputs]
            if key in self.leaving.counters:
                left = self.leaving.counters[key]
                after.counters[key] = left if carrying.runs and not isinstance(left, Value) else values[0]
                continue
            found = [kind.number(value) for kind, value in zip(carrying.kinds[key], values, strict=True)]
            after.numbers[key] = like(self.leaving.numbers[key], found)
        for key, item in carrying.start.numbers.items():
            if key in carrying.fixed or carrying.kinds.get(key) is None:
                after.numbers[key] = item
        for key, term in carrying.start.counters.items():
            if key not in carrying.moving:
                after.counters[key] = term
        return after


def _differ(a: Term, b: Term) -> bool:
    if isinstance(a, Value) or isinstance(b, Value):
        return a is not b
    return a != b


def _same(a: Item, b: Item) -> bool:
    """Whether two items are the same values, or constants that are equal."""
    if len(parts(a)) != len(parts(b)):
        return False
    for one, other in zip(parts(a), parts(b), strict=True):
        if one.value is other.value:
            continue
        known, more = one.value.data, other.value.data
        if known is None or more is None or one.kind != other.kind:
            return False
        if not np.array_equal(known.numpy(), more.numpy()):
            return False
    return True


def _shown(kind: Kind) -> str:
    sizes = ", ".join("?" if size is None else str(size) for size in kind.sizes)
    text = f"{'Python ' if kind.python else ''}{kind.dtype.value} [{sizes}]"
    return f"a list of {text}" if kind.listed else text
