"""Induction variables: carried integers that grow by the same in each pass follow from the number of the pass."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Value
from ..loop import Captured, Carried, Sliced
from ..sizes import OpenSize
from ..types import DType
from .affine import Line
from .draft import INT64, DraftSlot, LoopDraft, number_in
from .ranges import hull, limits, scalar, state, stated, within


@dataclass(frozen=True, slots=True)
class Counter:
    """A carried integer that grows by `step` in each pass. `start` None: it isn't constant."""

    entry: DraftSlot
    start: int | None
    step: int
    dtype: DType


def counters(draft: LoopDraft) -> list[Counter]:
    """The carried values that count."""
    found: list[Counter] = []
    for entry in draft.of(Carried):
        body_input, maker = entry.body_input, entry.body_output.producer if entry.body_output is not None else None
        dtype = body_input.tensor.dtype if body_input is not None else None
        if (
            body_input is None
            or maker is None
            or dtype is None
            or not dtype.is_integer
            or body_input.tensor.shape != ()
        ):
            continue
        name, operands = draft.vocabulary.operation(maker)
        if (
            name not in ("Add", "Sub")
            or body_input not in operands
            or (name == "Sub" and operands[0] is not body_input)
        ):
            continue
        other = operands[1 if operands[0] is body_input else 0]
        step = None if other is None else draft.fixed(other)
        if isinstance(step, int) and step:
            found.append(Counter(entry, scalar(entry.operand), step if name == "Add" else -step, dtype))
    return found


def analyze(draft: LoopDraft, found: list[Counter], counts: Counter | None) -> None:
    """Find which integers of the body are affine in the number of the pass; take the choices that are certain.

    Args:
        counts: the counter that bounds the loop, so that it doesn't leave its type.
    """
    lines = draft.lines
    lines.trips = draft.trips
    iteration = draft.iteration()
    lines.add(iteration, Line(1, 0))
    if draft.trips is not None:
        state(iteration, (0, max(hull(draft.trips)[1] - 1, 0)))
    elif counts is not None and counts.start is not None:
        state(iteration, (0, limits(counts.dtype)[1]))
    for entry in draft.of(Captured):
        number, span = scalar(entry.operand), stated(entry.operand)
        if entry.body_input is not None and number is not None:
            lines.add(entry.body_input, Line(0, number))
        if entry.body_input is not None and span is not None:
            state(entry.body_input, span)
    for counter in found:
        body_input, most = counter.entry.body_input, limits(counter.dtype)
        if counter.start is None or body_input is None:
            continue
        line = Line(counter.step, counter.start)
        low, high = lines.range(line)
        if counter is counts or (draft.trips is not None and within((low, high), most)):
            lines.add(body_input, line)
            state(body_input, (max(low, most[0]), min(high, most[1])))
    lines.follow(draft.body)
    for node in draft.body.nodes:
        name, operands = draft.vocabulary.operation(node)
        chosen = lines.truth(operands[0]) if name == "Where" else None
        branch = None if chosen is None else operands[1 if chosen else 2]
        if branch is not None and branch.type == node.output.type:
            draft.replace(node.output, branch)


def replace_counters(draft: LoopDraft, found: list[Counter], counts: Counter | None) -> None:
    """Let the counters of a loop with a trip count follow from the number of the pass.

    The loop's own counter is nobody's state. Another is, where following would be all that makes a Scan a Loop.
    """
    if not draft.exact:
        return
    slices = [entry.slot for entry in draft.of(Sliced)]
    scan = bool(slices) and all(
        isinstance(slot, Sliced) and slot.part is None and (slot.start, slot.end) in ((0, -1), (-1, 0))
        for slot in slices
    )
    for counter in found:
        if counter.entry in draft.slots and (counter is counts or (counter.start is not None and not scan)):
            _replace(draft, counter)


def _replace(draft: LoopDraft, counter: Counter) -> None:
    value, entry, dtype = counter.entry.body_input, counter.entry, counter.dtype
    assert value is not None
    draft.slots.remove(entry)
    if entry.result is not None:
        draft.finish[entry.result] = lambda _: _end(draft, counter)
    if not draft.uses(value):
        return
    op, call, type = draft.inside, draft.vocabulary.call, value.tensor
    iteration = draft.iteration()
    found = draft.vocabulary.cast(op, iteration, dtype)
    if counter.step != 1:
        found = call(op, "Mul", found, number_in(op, counter.step, dtype))
    if counter.start is None:
        start = Value(f"{value.name}_start", type)
        draft.slots.append(DraftSlot(Captured(), entry.operand, start))
        found = call(op, "Add", found, start)
    elif counter.start:
        found = call(op, "Add", found, number_in(op, counter.start, dtype))
    known = stated(value)
    if found is not iteration and known is not None:
        state(found, known)
    draft.replace(value, found)


def size_in(draft: LoopDraft, size: int, dtype: DType = INT64) -> Value:
    """A size as a value around the loop."""
    if isinstance(size, OpenSize):
        return draft.vocabulary.sized(draft.op, size, dtype)
    return number_in(draft.op, size, dtype)


def _end(draft: LoopDraft, counter: Counter) -> Value:
    """What a counter is after the loop."""
    op, call = draft.op, draft.vocabulary.call
    if draft.trips is not None and counter.start is not None:
        end = draft.trips * counter.step + counter.start
        return (
            size_in(draft, end, counter.dtype)
            if isinstance(end, OpenSize)
            else number_in(op, end, counter.dtype, "end")
        )
    trip = draft.trip if draft.trips is None else size_in(draft, draft.trips)
    assert trip is not None and counter.entry.operand is not None
    if draft.trips is None:  # a negative one runs nothing
        trip = call(op, "Max", trip, number_in(op, 0))
    step = call(op, "Mul", trip, number_in(op, counter.step)) if counter.step != 1 else trip
    return call(op, "Add", counter.entry.operand, draft.vocabulary.cast(op, step, counter.dtype))
