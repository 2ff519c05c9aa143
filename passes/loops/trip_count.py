"""A condition that compares a counter with a limit -> a trip count, and what else the condition requires."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..graph import Value
from ..rewrite import Builder
from ..sizes import OpenSize, at_least
from ..types import DType
from .draft import INT64, LoopDraft, number_in
from .induction import Counter, size_in
from .ranges import hull, limits, scalar, truth

_MIRRORED = {
    "Less": "Greater",
    "LessOrEqual": "GreaterOrEqual",
    "Greater": "Less",
    "GreaterOrEqual": "LessOrEqual",
    "NotEqual": "NotEqual",
}
_Comparison = tuple[str, Value, Value]


@dataclass(frozen=True, slots=True)
class _Count:
    """What bounds the number of passes: the counter, against a `limit`.

    `trips`: how many passes that allows; None where the start or the limit is only known when the model runs, and then
    `limit` is the outer value that it is compared with, or a constant's number.
    """

    counter: Counter
    sense: str
    limit: int | Value
    trips: int | None
    part: Value


def count_passes(draft: LoopDraft, found: Sequence[Counter]) -> Counter | None:
    """Turn what the condition says of a counter into the trip count; the counter, None where it doesn't count.

    Before::

        i: int64[] = Loop(trip=_, condition=go) {
          condition <- more
          carried  a: int64[] = 0 <- b
          b = Add(a, 1);  more = Less(b, 6)
        }

    After, where `go` is 0 < 6::

        i: int64[] = Loop(trip=6, condition=_) {
          carried  a: int64[] = 0 <- b
        }
    """
    entry = draft.condition
    if entry is None or entry.body_output is None or entry.body_input is not None or draft.trip is not None:
        return None
    parts = _conjuncts(draft, entry.body_output)
    counts = [made for part in parts if (made := _count_of(draft, part, found)) is not None]
    best = min(counts, key=lambda one: (math.inf,) if one.trips is None else hull(one.trips)[::-1], default=None)
    if best is None:
        return None
    rest = [part for part in parts if part is not best.part]
    first = draft.initial_condition
    before = _initial_rest(draft, best, [] if first is None else _conjuncts(draft, first))
    if before is None or (before and not rest):
        return None
    if draft.trips is None:
        draft.trips = best.trips
    elif isinstance(best.trips, int) and isinstance(draft.trips, int):
        draft.trips = min(draft.trips, best.trips or draft.trips)
    draft.trip = _trip(draft, best)
    if rest:
        entry.body_output = _conjunction(draft, draft.inside, rest)
        draft.initial_condition = _conjunction(draft, draft.op, before) if before else None
    else:
        draft.slots.remove(entry)
        draft.initial_condition = None
    return best.counter


def _conjuncts(draft: LoopDraft, value: Value) -> list[Value]:
    """What must all be true for a value to be true."""
    found: list[Value] = []
    stack = [value]
    while stack:
        one = stack.pop()
        name, operands = draft.vocabulary.operation(one.producer) if one.producer is not None else ("", [])
        if name == "And":
            stack.extend(operand for operand in reversed(operands) if operand is not None)
        elif one not in found:
            found.append(one)
    return found


def _conjunction(draft: LoopDraft, op: Builder, parts: Sequence[Value]) -> Value:
    made, *others = parts
    for other in others:
        made = draft.vocabulary.call(op, "And", made, other)
    return made


def _comparisons(draft: LoopDraft, value: Value) -> list[_Comparison]:
    """A comparison, read from both sides."""
    name, operands = draft.vocabulary.operation(value.producer) if value.producer is not None else ("", [])
    if name not in _MIRRORED or operands[0] is None or operands[1] is None:
        return []
    return [(name, operands[0], operands[1]), (_MIRRORED[name], operands[1], operands[0])]


def _count_of(draft: LoopDraft, part: Value, found: Sequence[Counter]) -> _Count | None:
    for sense, left, right in _comparisons(draft, part):
        limit = draft.fixed(right)
        for counter in found:
            if counter.entry.body_output is left and limit is not None:
                return _count(counter, sense, limit, part)
    return None


def _count(counter: Counter, sense: str, limit: int | Value, part: Value) -> _Count | None:
    low, high = limits(counter.dtype)
    up = counter.step > 0
    if sense != "NotEqual" and up != (sense in ("Less", "LessOrEqual")):
        return None
    if isinstance(limit, Value) or counter.start is None:
        # known when the model runs: by ones, to a limit that isn't reached itself, nothing wraps
        open_ = abs(counter.step) == 1 and sense in ("Less", "Greater") and counter.dtype is not DType.UINT64
        return _Count(counter, sense, limit, None, part) if open_ else None
    distance = (limit - counter.start) * (1 if up else -1) + (sense in ("LessOrEqual", "GreaterOrEqual"))
    step = abs(counter.step)
    if isinstance(distance, OpenSize):
        trips = -(-distance // step)
        least = trips if isinstance(trips, int) else at_least(trips.size)  # the type holds what a size is
        known = sense != "NotEqual" and counter.dtype.bits >= 32 and least is not None and least >= 0
        return _Count(counter, sense, limit, trips, part) if known else None
    if sense == "NotEqual" and (distance < 0 or distance % step):
        return None  # it wraps around, or never ends
    trips = max(-(-distance // step), 0)
    if trips and not low <= counter.start + trips * counter.step <= high:
        return None  # it would wrap around before the comparison ends the loop
    return _Count(counter, sense, limit, trips, part)


def _initial_rest(draft: LoopDraft, count: _Count, parts: Sequence[Value]) -> list[Value] | None:
    """The initial condition without what is certain and what the trip count says; None where it doesn't say it."""
    rest: list[Value] = []
    is_bounded = bool(count.trips)
    for part in parts:
        if any(_is_start(count, draft.vocabulary.size, *one) for one in _comparisons(draft, part)):
            is_bounded = True
        elif truth(part) is not True:
            rest.append(part)
    return rest if is_bounded else None


def _is_start(count: _Count, sizes: Callable[[Value], int | None], sense: str, left: Value, right: Value) -> bool:
    """Whether a comparison before the loop is the one at its end."""
    limit, start = count.limit, count.counter.entry.operand
    if isinstance(limit, OpenSize):
        same = sizes(right) == limit
    else:
        same = right is limit if isinstance(limit, Value) else scalar(right) == limit
    begins = left is start or (count.counter.start is not None and scalar(left) == count.counter.start)
    return sense == count.sense and same and begins


def _trip(draft: LoopDraft, count: _Count) -> Value:
    if count.trips is not None:
        return size_in(draft, count.trips)
    assert not isinstance(count.limit, OpenSize) or count.counter.start is None
    counter, limit, start = count.counter, count.limit, count.counter.entry.operand
    assert start is not None
    call, op = draft.vocabulary.call, draft.op
    end = _wide(draft, limit) if isinstance(limit, Value) else size_in(draft, limit)
    values = [end, _wide(draft, start)]
    if counter.step < 0:
        values.reverse()
    if scalar(values[1]) == 0:
        return values[0]
    if counter.dtype is INT64 and not all(map(_is_narrow, values)):
        values[0] = call(op, "Max", *values)  # or the difference of far apart ones would wrap
    return call(op, "Sub", *values)  # a negative one runs nothing


def _wide(draft: LoopDraft, value: Value) -> Value:
    number = scalar(value)
    return draft.vocabulary.cast(draft.op, value, INT64) if number is None else number_in(draft.op, number)


def _is_narrow(value: Value) -> bool:
    """Whether a value certainly is an integer of no more than 32 bits."""
    number = scalar(value)
    return number is not None and abs(number) < 2**32
