"""The canonical Loop and If: one representation for every format's control flow.

A `backedge.Loop` node has the inputs

    [trip count or None, initial condition or None, operand of each slot that has one ...]

one region "body", and `attributes["slots"]`: an ordered tuple of slots. Slots with an operand, with
a body input, with a body output, with a result have their indices in slot order:

| slot      | operand       | body input      | body output | result       |
|-----------|---------------|-----------------|-------------|--------------|
| Carried   | initial value | x               | x'          | last x       |
| Sliced    | sequence      | element or part | -           | -            |
| Captured  | value         | the same value  | -           | -            |
| Stacked   | -             | -               | element     | all elements |
| Iteration | -             | i (int64 [])    | -           | -            |
| Condition | (input 1)     | c (bool []), if `body_input` | c' (bool []) | - |

How often the body runs: `i` counts from 0; before each pass the loop stops if the trip count is given
and `i >= trip` (a negative one runs nothing), if there are Sliced slots and `i` has reached the
smallest number of parts, or if there is a Condition slot and the condition (the initial one, true when
left out, then the last c') is false. Without a Condition slot the initial condition must be left out.

A `backedge.If` node has the inputs [condition (bool []), captured ...] and the regions "then" and
"else", each of which takes all captured values, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import Graph, Node, Value

DOMAIN = "backedge"


@dataclass(frozen=True, slots=True)
class Carried:
    """A value handed from pass to pass."""


@dataclass(frozen=True, slots=True)
class Sliced:
    """A sequence of which each pass sees one part.

    Part k begins at index `start + k*stride` (backwards from there when the stride is negative) and
    ends before `end`; negative `start` and `end` count from the axis' length + 1 as in OpenVINO
    (-1 is the length itself), so (0, -1, 1) is everything forwards and (-1, 0, -1) everything
    backwards. `part` None: one element, the axis taken away; k: k elements, the axis kept (then
    stride is k or -k).
    """

    axis: int = 0
    start: int = 0
    end: int = -1
    stride: int = 1
    part: int | None = None

    @property
    def reversed(self) -> bool:
        return self.stride < 0


@dataclass(frozen=True, slots=True)
class Captured:
    """A value of the surrounding graph that every pass sees unchanged: a loop invariant."""


@dataclass(frozen=True, slots=True)
class Stacked:
    """A body value collected over all passes, the last pass first when `reverse`.

    `part` None: elements are stacked along a new `axis` of the result; k: they have k entries along
    `axis` and are concatenated there (None where k isn't known: use `part=-1`).
    """

    axis: int = 0
    reverse: bool = False
    part: int | None = None


@dataclass(frozen=True, slots=True)
class Iteration:
    """The number of passes done so far."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Whether to go on. `body_input`: the body also sees the condition it was entered with."""

    body_input: bool = False


Slot = Carried | Sliced | Captured | Stacked | Iteration | Condition


@dataclass(frozen=True, slots=True)
class SlotIndices:
    """Where a slot stands: indices into node.inputs, body.inputs, body.outputs, node.outputs (-1: nowhere)."""

    slot: Slot
    operand: int = -1
    body_input: int = -1
    body_output: int = -1
    result: int = -1


def slot_indices(slots: Sequence[Slot]) -> list[SlotIndices]:
    """Where each slot stands, in slot order."""
    next_free = [2, 0, 0, 0]
    found: list[SlotIndices] = []
    for slot in slots:
        has_operand = isinstance(slot, Carried | Sliced | Captured)
        present = [
            has_operand,
            has_operand or isinstance(slot, Iteration) or (isinstance(slot, Condition) and slot.body_input),
            isinstance(slot, Carried | Stacked | Condition),
            isinstance(slot, Carried | Stacked),
        ]
        found.append(SlotIndices(slot, *(at if has else -1 for at, has in zip(next_free, present, strict=True))))
        next_free = [at + has for at, has in zip(next_free, present, strict=True)]
    return found


@dataclass(frozen=True, slots=True)
class Entry:
    """One slot with the values that stand in it."""

    indices: SlotIndices
    operand: Value | None
    body_input: Value | None
    body_output: Value | None
    result: Value | None

    @property
    def slot(self) -> Slot:
        return self.indices.slot


class Loop:
    """A view of a canonical Loop node by its slots."""

    def __init__(self, node: Node) -> None:
        assert node.op == (DOMAIN, "Loop"), node
        self.node = node
        self.slots: tuple[Slot, ...] = node.attributes["slots"]
        self.indices = slot_indices(self.slots)

    @property
    def trip(self) -> Value | None:
        """The trip count, int64 []; None: not bounded by a count."""
        return self.node.inputs[0]

    @property
    def initial_condition(self) -> Value | None:
        """The condition before the first pass, bool []; None: true."""
        return self.node.inputs[1]

    @property
    def body(self) -> Graph:
        return self.node.regions["body"]

    @property
    def entries(self) -> list[Entry]:
        def at(values: Sequence[Any], index: int) -> Any:
            return values[index] if index >= 0 else None

        node, body = self.node, self.body
        return [
            Entry(
                indices,
                at(node.inputs, indices.operand),
                at(body.inputs, indices.body_input),
                at(body.outputs, indices.body_output),
                at(node.outputs, indices.result),
            )
            for indices in self.indices
        ]

    def of(self, *kinds: type) -> list[Entry]:
        """The entries whose slot is of one of these kinds, in order."""
        return [entry for entry in self.entries if isinstance(entry.slot, kinds)]

    @property
    def condition(self) -> Entry | None:
        found = self.of(Condition)
        return found[0] if found else None

    @property
    def iteration(self) -> Entry | None:
        found = self.of(Iteration)
        return found[0] if found else None


def entry_of(
    slot: Slot,
    operand: Value | None = None,
    body_input: Value | None = None,
    body_output: Value | None = None,
    result: Value | None = None,
) -> Entry:
    """A slot to be set with `set_entries`, which gives it its indices."""
    return Entry(SlotIndices(slot), operand, body_input, body_output, result)


def set_entries(graph: Graph, node: Node, condition: Value | None, entries: Sequence[Entry]) -> None:
    """Give a Loop of a graph other slots, and the values that stand in them; its trip count stays."""

    def given(values: Iterable[Value | None]) -> list[Value]:
        return [value for value in values if value is not None]

    body = node.regions["body"]
    node.attributes["slots"] = tuple(entry.slot for entry in entries)
    body.inputs, body.outputs = (
        given(entry.body_input for entry in entries),
        given(entry.body_output for entry in entries),
    )
    operands, results = given(entry.operand for entry in entries), given(entry.result for entry in entries)
    graph.replace_node(node, [node.inputs[0], condition, *operands], results)


def is_loop(node: Node) -> bool:
    return node.op == (DOMAIN, "Loop")


def is_if(node: Node) -> bool:
    return node.op == (DOMAIN, "If")


def captured_by(node: Node, region: Graph) -> dict[Value, Value | None]:
    """Inputs of a region -> the values from outside that they are."""
    if is_loop(node):
        return {entry.body_input: entry.operand for entry in Loop(node).of(Captured) if entry.body_input is not None}
    return dict(zip(region.inputs[len(region.inputs) - node.captured :], node.captures, strict=True))


def parts_of(slot: Sliced, sequence: Value | None) -> int | None:
    """How many parts of a sequence a slot slices; None where the size of its axis isn't known."""
    shape = sequence.tensor.shape if sequence is not None else None
    size = shape[slot.axis] if shape is not None and -len(shape) <= slot.axis < len(shape) else None
    return part_range(slot, size)[1] if isinstance(size, int) else None


def truth_of(array: np.ndarray[Any, Any] | None) -> bool | None:
    """Whether all elements of a condition hold (True), or none (False); None where that differs, or isn't known."""
    if array is None or not array.size:
        return None
    return True if array.all() else None if array.any() else False


@dataclass(frozen=True, slots=True)
class TripCount:
    """How often a loop runs, as far as that is known before it does.

    Attributes:
        most: no more passes than these: what the known ones of the trip count, of the sequences' parts and of constant
            conditions allow; None where nothing known bounds them.
        count: the trip count where it isn't known.
        sequences: the Sliced slots whose number of parts isn't known.
        entered: the condition before the first pass, True where there is none.
        decides: the body's condition; None where it never ends the loop, or always after the first pass.
    """

    most: int | None
    count: Value | None
    sequences: tuple[Entry, ...]
    entered: bool | Value
    decides: Value | None

    @property
    def bounded(self) -> bool:
        """Whether all that bounds the passes, conditions aside, is known."""
        return self.count is None and not self.sequences

    @property
    def once_entered(self) -> int | None:
        """The number of passes if there are any, where it is certain."""
        return self.most if self.bounded and self.decides is None else None

    @property
    def exact(self) -> int | None:
        """The number of passes, where it is certain."""
        return None if isinstance(self.entered, Value) else self.once_entered


def trip_count(loop: Loop, constant: Callable[[Value], np.ndarray[Any, Any] | None]) -> TripCount:
    """How often a loop runs; `constant` gives the elements of a value as far as they are known."""
    bounds: list[int] = []
    sequences: list[Entry] = []
    for entry in loop.of(Sliced):
        assert isinstance(entry.slot, Sliced)
        count = parts_of(entry.slot, entry.operand)
        if count is None:
            sequences.append(entry)
        else:
            bounds.append(count)
    trip = loop.trip
    stated = None if trip is None else constant(trip)
    if stated is not None:
        bounds.append(max(0, int(stated.reshape(-1)[0])))
    first, condition = loop.initial_condition, loop.condition
    before = True if first is None else truth_of(constant(first))
    if before is False:
        bounds.append(0)
    decides = None if condition is None else condition.body_output
    if condition is not None and decides is not None:
        after = truth_of(constant(decides))
        if after is False:
            bounds.append(1)
        if after is not None or decides is condition.body_input:
            decides = None
    return TripCount(
        min(bounds, default=None),
        trip if stated is None else None,
        tuple(sequences),
        first if first is not None and before is None else before is True,
        decides,
    )


def part_range(slot: Sliced, length: int) -> tuple[int, int]:
    """(index of the first part's first element in slicing direction, number of whole parts) over an axis of `length`.

    For a reversed slot the index is that of the last element of the first part.
    """
    start = slot.start if slot.start >= 0 else slot.start + length + 1
    end = slot.end if slot.end >= 0 else slot.end + length + 1
    start, end = min(max(start, 0), length), min(max(end, 0), length)
    step = abs(slot.stride)
    if slot.reversed:
        return start - 1, max(start - end, 0) // step
    return start, max(end - start, 0) // step
