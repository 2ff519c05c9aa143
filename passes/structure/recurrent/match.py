"""Recognition of a loop as an operator: by its slots, its states, its number of passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...graph import Graph, Value
from ...loop import Captured, Carried, Entry, Iteration, Loop, Sliced, Stacked, truth_of
from ...types import DType
from . import layout, masks, operators, single_steps
from .algebra import Masked, NotRecurrent, Source, Sum, as_sum, constant
from .cells import Cell, gru, lstm, rnn
from .loop_invariants import LoopInvariants, Size
from .reader import Reader, Readings, SequenceInput, Step, why_no_vector
from .vectors import Axes, Vector

_READINGS: Readings = {**operators.READINGS, **layout.READINGS, **masks.READINGS, **single_steps.READINGS}
_LONG = 2**31 - 1  # passes that no sequence has
_TYPES = (DType.FLOAT32, DType.FLOAT16)


@dataclass
class State:
    """A carried value that the recurrence is over, and its axes."""

    entry: Entry
    name: str
    axes: Axes
    width: int

    @property
    def source(self) -> Source:
        return Source(self.name, 0, self.width)


@dataclass
class Last:
    """A result that is the last value of state `index`.

    `kept`: it was kept aside in the last step of each sequence; where there was none, it is what it was at first.
    """

    entry: Entry
    index: int
    axes: Axes
    kept: bool


@dataclass
class Found:
    """What a loop is.

    Attributes:
        states: h, and LSTM's c.
        sequences: the input is these, joined along the features.
        lengths: of the sequences in the batch, as the loop looks at them; None: all of them whole.
        lasts: the slots that give the last states.
        every: the slots that stack h, with the axes of h there.
    """

    loop: Loop
    cell: Cell
    states: list[State]
    sequences: dict[str, SequenceInput]
    lengths: Value | None = None
    lasts: list[Last] = field(default_factory=list)
    every: list[tuple[Entry, Axes]] = field(default_factory=list)

    @property
    def is_fixed(self) -> bool:
        """Whether the batch and the number of steps are known."""
        shapes = [taken.value.tensor.shape or (None,) for taken in self.sequences.values()]
        return all(isinstance(size, int) for shape in shapes for size in shape)

    @property
    def reverse(self) -> bool:
        """Whether the last step comes first."""
        return next(iter(self.sequences.values())).reverse


def found(graph: Graph, loop: Loop, invariants: LoopInvariants) -> list[Found]:
    """What operators a loop is: one for each group of states that have nothing to do with the others.

    Raises:
        NotRecurrent: one of them is none, or it isn't certain.
    """
    results = [
        entry
        for entry in loop.of(Carried, Stacked)
        if entry.result is not None and (graph.uses(entry.result) or entry.result in graph.outputs)
    ]
    groups: list[tuple[set[Value | None], list[Entry]]] = []
    for result in results:
        reached = {
            entry.body_input for entry in _Attempt(loop, invariants, Reader(invariants, _READINGS), [result]).live()
        }
        wanted = [result]
        for group in [group for group in groups if group[0] & reached]:
            groups.remove(group)
            reached, wanted = reached | group[0], [*group[1], *wanted]
        groups.append((reached, wanted))
    if not groups:
        raise NotRecurrent("its results aren't used")
    return [_found(loop, invariants, wanted) for _, wanted in groups]


def _found(loop: Loop, invariants: LoopInvariants, wanted: list[Entry]) -> Found:
    """What operator gives the wanted results of a loop."""
    reasons: list[NotRecurrent] = []
    for hoist, feature in ((False, -1), (True, -1), (False, 0)):
        reader = Reader(invariants, _READINGS, feature, hoist)
        try:
            return _Attempt(loop, invariants, reader, wanted).found()
        except NotRecurrent as reason:
            reasons.insert(0 if reader.hoisted else len(reasons), reason)
    raise reasons[0]


@dataclass
class _Attempt:
    """One way to read a loop."""

    loop: Loop
    invariants: LoopInvariants
    reader: Reader
    wanted: list[Entry]

    def found(self) -> Found:
        loop, reader, wanted = self.loop, self.reader, self.wanted
        if not self._goes_on():
            raise NotRecurrent("it may end before its input does")
        live = self.live()
        self._enter(live)
        leaving = [entry.body_output for entry in (*live, *wanted) if entry.body_output is not None]
        reader.read(loop.body, leaving)
        states = [self._state(entry) for entry in live]
        after = [self._after(state) for state in states]
        kept = {
            position for position, (state, part) in enumerate(zip(states, after, strict=True)) if _is_kept(state, part)
        }
        main = [position for position in range(len(states)) if position not in kept]
        if not 0 < len(main) < 3:
            raise NotRecurrent(f"it has {len(main) or 'no'} states")
        if any(isinstance(atom := after[position].atom, Masked) and atom.last for position in main):
            raise NotRecurrent("a state changes in the last step only")
        whole, masked = _unmasked(after)
        cell, order = _recognised([states[position] for position in main], [whole[position] for position in main])
        main = [main[position] for position in order]
        first = states[main[0]].entry.operand
        if first is None or first.tensor.dtype not in _TYPES:
            raise NotRecurrent("runtimes have its operator for float32 only")
        result = Found(loop, cell, [states[position] for position in main], self._sequences(cell))
        length = self._check_passes(result)
        if masked is not None:
            result.lengths = self._lengths(reader.lengths[masked], length)
        for index, position in enumerate(main):
            entry = states[position].entry
            if any(entry.indices == other.indices for other in wanted):
                result.lasts.append(self._last(result, index, states[position], after[position]))
        for position in kept:
            index = next((i for i, other in enumerate(main) if whole[other].key == whole[position].key), None)
            if index is None:
                raise NotRecurrent("it returns something other than its states from the last step")
            result.lasts.append(Last(states[position].entry, index, states[position].axes, True))
        seen = [whole[main[0]]]
        if masked is not None:
            blank = as_sum(Masked(masked, seen[0], constant(np.zeros(seen[0].width))))
            seen = [blank] if result.lengths is not None else [*seen, blank]
        for entry in wanted:
            if isinstance(entry.slot, Stacked):
                result.every.append((entry, self._stacked(entry, seen)))
        return result

    # slots ----------------------------------------------------------------------------------------

    def _goes_on(self) -> bool:
        """Whether the condition is true whatever happens."""
        entry = self.loop.condition
        if entry is None:
            return True
        first = self.loop.initial_condition
        if first is not None and not truth_of(self.invariants.array(first)):
            return False
        after = entry.body_output
        assert after is not None
        return bool(truth_of(self.invariants.array(after))) or self.invariants.source(after) is entry.body_input

    def live(self) -> list[Entry]:
        """The carried values that what is wanted depends on, counters aside."""
        carried = self.loop.of(Carried)
        counters = {entry.body_input for entry in carried if self._counter(entry)}
        live = [entry for entry in self.wanted if isinstance(entry.slot, Carried)]
        reached: set[Value] = set()
        stack = [entry.body_output for entry in self.wanted]
        while stack:
            value = stack.pop()
            if value is None or value in reached or value in counters:
                continue
            reached.add(value)
            stack += value.producer.inputs if value.producer is not None else []
            for entry in carried:
                if entry.body_input is value:
                    if all(entry.indices != other.indices for other in live):
                        live.append(entry)
                    stack.append(entry.body_output)
        return sorted(live, key=lambda entry: entry.indices.body_input)

    def _counter(self, entry: Entry) -> bool:
        """Whether a carried value counts the passes; it is noted then."""
        node = entry.body_output.producer if entry.body_output is not None else None
        first = self.invariants.array(entry.operand)
        if node is None or node.op != ("", "Add") or entry.body_input not in node.inputs or entry.body_input is None:
            return False
        if first is None or first.size != 1 or first.dtype.kind not in "iu":
            return False
        other = [value for value in node.inputs if value is not entry.body_input]
        if len(other) != 1 or self.invariants.number(other[0]) != 1:
            return False
        self.reader.values[entry.body_input] = Step(1, int(first.reshape(-1)[0]), first.ndim)
        return True

    def _enter(self, live: Sequence[Entry]) -> None:
        reader = self.reader
        for number, entry in enumerate(live):
            assert entry.body_input is not None
            shape = entry.body_output.tensor.shape if entry.body_output is not None else None
            body_input = entry.body_input.tensor.shape
            width = shape[reader.feature] if shape and body_input and len(shape) == len(body_input) else None
            known = reader.state(f"state {number}", entry.body_input, width if isinstance(width, int) else None)
            reader.values[entry.body_input] = known
        for entry in self.loop.entries:
            if entry.body_input is None or entry.body_input in reader.values:
                continue
            match entry.slot:
                case Iteration():
                    reader.values[entry.body_input] = Step(1, 0)
                case Captured():
                    assert entry.operand is not None
                    reader.captured[entry.body_input] = entry.operand
                case Sliced(axis=axis, part=None) as slot if slot in (_forwards(axis), _backwards(axis)):
                    assert entry.operand is not None
                    reader.values[entry.body_input] = reader.step(entry.operand, axis, slot.reversed, True)
                case Sliced():
                    raise NotRecurrent("it doesn't take its input step by step, from one end to the other")
                case _:
                    pass

    # states and results -----------------------------------------------------------------------------

    def _state(self, entry: Entry) -> State:
        assert entry.body_input is not None
        vector = self.reader.vector(entry.body_input)
        source = vector.parts[0].atom
        assert isinstance(source, Source)
        return State(entry, source.name, vector.axes, source.width)

    def _after(self, state: State) -> Sum:
        """What the next value of a state is."""
        vector = self.reader.vector(state.entry.body_output)
        if vector.axes != state.axes or len(vector.parts) != 1 or vector.width != state.width:
            raise NotRecurrent("the shape of a state changes")
        return vector.parts[0]

    def _lengths(self, lengths: Value | int, length: Size) -> Value | None:
        """The lengths, unless all sequences are as long as there are steps."""
        if isinstance(lengths, int):
            if lengths != length:
                raise NotRecurrent("it stops changing before its input ends")
            return None
        return None if self.invariants.is_filled(lengths, length) else lengths

    def _last(self, result: Found, index: int, state: State, after: Sum) -> Last:
        """The last value of a state is what the operator gives."""
        atom = after.atom
        if result.lengths is not None and not (
            isinstance(atom, Masked) and not atom.last and atom.otherwise.key == as_sum(state.source).key
        ):
            raise NotRecurrent("its states don't stay as they are beyond the length of the sequence")
        return Last(state.entry, index, state.axes, False)

    def _stacked(self, entry: Entry, seen: Sequence[Sum]) -> Axes:
        """The axes of h as it is stacked. `seen`: what it may be."""
        known = self.reader.known(entry.body_output)
        if not isinstance(known, Vector):
            raise NotRecurrent(why_no_vector(known))
        slot = entry.slot
        assert isinstance(slot, Stacked)
        if len(known.parts) != 1 or known.parts[0].key not in [part.key for part in seen]:
            raise NotRecurrent("it outputs something other than the new h for each step")
        if slot.part is not None:
            raise NotRecurrent("it concatenates the steps along an existing axis")
        return known.axes

    # the number of passes ---------------------------------------------------------------------------

    def _sequences(self, cell: Cell) -> dict[str, SequenceInput]:
        used = {name: self.reader.sequences[name] for gate in cell.gates for name in gate.inputs}
        if not used:
            raise NotRecurrent("it takes no input step by step")
        if not any(gate.recurrent for gate in cell.gates):
            raise NotRecurrent("no gate depends on the last state")
        if len({taken.reverse for taken in used.values()}) > 1:
            raise NotRecurrent("it takes one input forwards and another backwards")
        return used

    def _check_passes(self, result: Found) -> Size:
        """It makes as many passes as its input has steps; how many."""
        lengths = {taken.length for taken in result.sequences.values()}
        for entry in self.loop.of(Sliced):
            assert isinstance(entry.slot, Sliced) and entry.operand is not None
            lengths.add(self.invariants.size(entry.operand, entry.slot.axis))
        if len(lengths) > 1:
            raise NotRecurrent("it isn't certain that its inputs have equally many steps")
        (length,) = lengths
        sliced = all(taken.whole for taken in result.sequences.values())
        if not self._as_many(length, sliced):
            raise NotRecurrent("it isn't certain that it makes as many passes as its input has steps")
        if length == 0:
            raise NotRecurrent("its input has no steps")
        return length

    def _as_many(self, length: Size, sliced: bool) -> bool:
        trip = self.loop.trip
        if trip is None:
            return bool(self.loop.of(Sliced))
        counts = self.invariants.sizes(trip)
        if counts is None or len(counts) != 1:
            return False
        count = counts[0]
        if count == length:
            return True
        if not sliced or not isinstance(count, int):
            return False
        return count >= (length if isinstance(length, int) else _LONG)


def _forwards(axis: int) -> Sliced:
    return Sliced(axis)


def _backwards(axis: int) -> Sliced:
    return Sliced(axis, -1, 0, -1)


def _is_kept(state: State, after: Sum) -> bool:
    """Whether a carried value is what another one was in the last step of its sequence."""
    atom = after.atom
    return isinstance(atom, Masked) and atom.last and atom.otherwise.key == as_sum(state.source).key


def _unmasked(after: Sequence[Sum]) -> tuple[list[Sum], str | None]:
    """The next states without the choice by lengths, and the lengths."""
    names: set[str] = set()
    inner: list[Sum] = []
    for part in after:
        atom = part.atom
        if isinstance(atom, Masked):
            names.add(atom.lengths)
            part = atom.of
        inner.append(part)
    if len(names) > 1:
        raise NotRecurrent("its states have different sequence lengths")
    return inner, names.pop() if names else None


def _recognised(states: list[State], after: list[Sum]) -> tuple[Cell, list[int]]:
    """The cell, and the positions of h and c among the states."""
    sources = [state.source for state in states]
    if len(states) == 1:
        cell = rnn if after[0].atom is not None else gru
        return cell(sources[0], after[0]), [0]
    try:
        return lstm(sources, after), [0, 1]
    except NotRecurrent as reason:
        try:
            return lstm(sources[::-1], after[::-1]), [1, 0]
        except NotRecurrent:
            raise reason from None
