"""How often a `while` runs, where its condition counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....passes.graph import Graph, Value
from ....passes.types import DType
from .affine import scalar
from .ranges import limits

_TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


@dataclass(frozen=True, slots=True)
class Counter:
    """A carried integer that grows by `step` in each pass. `start` None: it isn't constant."""

    index: int
    start: int | None
    step: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Count:
    """What bounds the number of passes: the counter, against a `limit`.

    `trips`: how many passes that allows; None where the start or the limit is only known when the model runs, and then
    `limit` is the carried value that it is compared with, or a constant's number.
    `rest`: what else the condition demands, values of the condition's graph.
    """

    counter: Counter
    trips: int | None
    limit: int | Value
    rest: tuple[Value, ...]


def counters(body: Graph, initial: Sequence[Value]) -> dict[int, Counter]:
    """The carried values of a body that count."""
    found: dict[int, Counter] = {}
    places = {value: index for index, value in enumerate(body.inputs)}
    for index, (enter, leave) in enumerate(zip(body.inputs, body.outputs, strict=True)):
        maker, dtype = leave.producer, enter.tensor.dtype
        if maker is None or maker.op_type not in ("add", "subtract") or enter.tensor.shape != () or dtype is None:
            continue
        left, right = maker.inputs
        if left is enter and right is not None:
            step = _constant(right, places, body, initial)
        elif right is enter and left is not None and maker.op_type == "add":
            step = _constant(left, places, body, initial)
        else:
            step = None
        if step and dtype.is_integer:
            start = scalar(initial[index])
            found[index] = Counter(index, start, -step if maker.op_type == "subtract" else step, dtype)
    return found


def _constant(value: Value, places: dict[Value, int], body: Graph, initial: Sequence[Value]) -> int | None:
    """The integer that a value of the body always is, if it is one."""
    found = _fixed(value, places, body, initial)
    return found if isinstance(found, int) else None


def count(condition: Graph, body: Graph, initial: Sequence[Value], known: dict[int, Counter]) -> Count | None:
    """What the condition counts, of the body's counters; None where it doesn't."""
    places = {value: index for index, value in enumerate(condition.inputs)}
    parts = _conjuncts(condition.outputs[0])
    candidates: list[Count] = []
    for part in parts:
        maker = part.producer
        if maker is None or maker.op_type != "compare" or len(maker.inputs) != 2:
            continue
        direction = maker.attributes.get("direction", "")
        for left, right, sense in ((*maker.inputs, direction), (*reversed(maker.inputs), _TURNED.get(direction, ""))):
            if left is None or right is None or sense not in _TURNED:
                continue
            counter = known.get(places.get(left, -1))
            limit = _fixed(right, places, body, initial)
            if counter is None or limit is None:
                continue
            rest = tuple(other for other in parts if other is not part)
            made = _count(counter, limit, sense, rest)
            if made is not None:
                candidates.append(made)
    return min(candidates, key=lambda one: (one.trips is None, one.trips or 0), default=None)


def _conjuncts(value: Value) -> list[Value]:
    """What must all be true for a value to be true."""
    found: list[Value] = []
    stack = [value]
    while stack:
        one = stack.pop()
        if one.producer is not None and one.producer.op_type == "and":
            stack.extend(operand for operand in reversed(one.producer.inputs) if operand is not None)
        elif one not in found:
            found.append(one)
    return found


def _fixed(value: Value, places: dict[Value, int], body: Graph, initial: Sequence[Value]) -> int | Value | None:
    """What never changes: a number, or a value outside of the loop; None where it may change."""
    if value.data is not None:
        return scalar(value)
    index = places.get(value, -1)
    if index < 0 or body.outputs[index] is not body.inputs[index]:
        return None
    number = scalar(initial[index])
    return initial[index] if number is None else number


def _count(counter: Counter, limit: int | Value, sense: str, rest: tuple[Value, ...]) -> Count | None:
    low, high = limits(counter.dtype)
    up = counter.step > 0
    if sense != "NE" and up != (sense in ("LT", "LE")):
        return None
    if isinstance(limit, Value) or counter.start is None:
        return _open_count(counter, limit, sense, rest)
    distance = (limit - counter.start) * (1 if up else -1) + (sense in ("LE", "GE"))
    step = abs(counter.step)
    if sense == "NE" and (distance < 0 or distance % step):
        return None  # it wraps around, or never ends
    trips = max(-(-distance // step), 0)
    if trips and not low <= counter.start + trips * counter.step <= high:
        return None  # it would wrap around before the comparison ends the loop
    return Count(counter, trips, limit, rest)


def _open_count(counter: Counter, limit: int | Value, sense: str, rest: tuple[Value, ...]) -> Count | None:
    """A count that is known when the model runs: by ones, to a limit that isn't reached itself, nothing wraps."""
    if abs(counter.step) != 1 or sense not in ("LT", "GT") or counter.dtype is DType.UINT64:
        return None
    return Count(counter, None, limit, rest)
