"""Hub -> HLO: the canonical Loop to `while`.

The state of the `while` is, in this order: the number of passes done (s64), the condition as far as one decides,
what is carried, what is captured or sliced and isn't a small constant, the stacks, a buffer for each.

| hub | HLO |
|---|---|
| trip, iteration | the counter, compared in the condition; a trip that isn't constant is a part of the state |
| the shortest sequence ends the loop | its number of parts is one more bound |
| sliced | `dynamic-slice` at `start + i * stride` |
| stacked | a buffer for all passes, made before the loop, and `dynamic-update-slice` |
| condition | a pred, true where it is left out |

What is stacked needs a number of passes that is known now: HLO's buffers have one size.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ....passes.demands import dtype_of
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import DOMAIN as HUB
from ....passes.loop import Captured, Condition, Entry, Iteration, Loop, Sliced, Stacked, part_range
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..infer import agree
from .regions import copied, is_copied
from .tools import axis_of, compare, fill, reshape, scalar, sizes_of


@dataclass(slots=True)
class _State:
    """The state of a `while`: what it starts with, how the body sees it, what the body makes of it."""

    body: Builder
    start: list[Value] = field(default_factory=list)
    enter: list[Value] = field(default_factory=list)
    leave: list[Value | None] = field(default_factory=list)  # None: as it came in

    def add(self, outside: Value, name: str) -> int:
        """One more value; its place."""
        self.start.append(outside)
        self.enter.append(self.body.input(name, outside.type))
        self.leave.append(None)
        return len(self.start) - 1


@dataclass(slots=True)
class _Trips:
    """How often a loop runs: at most `known` times, and `given` times (s64[]), where these are told."""

    known: int | None
    given: Value | None


def _trips(op: Builder, node: Node, view: Loop) -> _Trips:
    known, given = [], None
    for entry in view.of(Sliced):
        assert isinstance(entry.slot, Sliced) and entry.outside is not None
        sizes = sizes_of(node, entry.outside)
        axis = axis_of(node, entry.slot.axis, len(sizes))
        known.append(part_range(entry.slot, sizes[axis])[1])
    if view.trip is not None:
        if view.trip.data is not None:
            known.append(max(int(view.trip.data.numpy().reshape(-1)[0]), 0))
        else:
            given = reshape(op, view.trip, ())
    return _Trips(min(known) if known else None, given)


def _decides(view: Loop) -> Entry | None:
    """The condition, where there is one that may be false."""
    entry = view.condition
    if entry is None:
        return None
    first, later = view.initial_condition, entry.leave
    certain = later is not None and later.data is not None and bool(later.data.numpy())
    if certain and (first is None or (first.data is not None and bool(first.data.numpy()))):
        return None
    return entry


def _element(body: Builder, node: Node, slot: Sliced, sequence: Value, index: Value) -> Value:
    """The part of a sequence that this pass sees."""
    sizes = sizes_of(node, sequence)
    axis = axis_of(node, slot.axis, len(sizes))
    first, _ = part_range(slot, sizes[axis])
    part = 1 if slot.part is None else slot.part
    if slot.reversed:
        first -= part - 1
    at = index
    if slot.stride != 1:
        at = body.multiply(at, scalar(body, slot.stride, DType.INT64))
    if first:
        at = body.add(at, scalar(body, first, DType.INT64))
    zero = scalar(body, 0, DType.INT64)
    starts = [at if place == axis else zero for place in range(len(sizes))]
    cut = tuple(part if place == axis else size for place, size in enumerate(sizes))
    piece = body.call("dynamic-slice", sequence, *starts, dynamic_slice_sizes=cut)
    return piece if slot.part is not None else reshape(body, piece, sizes[:axis] + sizes[axis + 1 :])


def _stack(op: Builder, state: _State, node: Node, slot: Stacked, value: Value, name: str, trips: int) -> int:
    """A buffer for what is stacked; the body puts its element there."""
    body, index = state.body, state.enter[0]
    sizes = sizes_of(node, value)
    axis = axis_of(node, slot.axis, len(sizes) + (slot.part is None))
    if slot.part is None:
        sizes = (*sizes[:axis], 1, *sizes[axis:])
        value = reshape(body, value, sizes)
    part = sizes[axis]
    whole = (*sizes[:axis], part * trips, *sizes[axis + 1 :])
    place = state.add(fill(op, scalar(op, 0, dtype_of(node, value)), whole), name)
    at = body.subtract(scalar(body, trips - 1, DType.INT64), index) if slot.reverse else index
    if part != 1:
        at = body.multiply(at, scalar(body, part, DType.INT64))
    zero = scalar(body, 0, DType.INT64)
    starts = [at if dim == axis else zero for dim in range(len(whole))]
    state.leave[place] = body.call("dynamic-update-slice", state.enter[place], value, *starts)
    return place


def _enter(op: Builder, state: _State, node: Node, entry: Entry, places: dict[int, int]) -> Value:
    """What stands for a slot's body input in the new body."""
    old, outside = entry.enter, entry.outside
    assert old is not None
    match entry.slot:
        case Iteration():
            return state.enter[0]
        case Condition():
            return scalar(state.body, True, DType.BOOL)  # else the body wouldn't run
        case Captured() if outside is not None and is_copied(outside):
            return copied(state.body, outside)
    assert outside is not None
    place = places[entry.place.enter] = state.add(outside, old.name)
    if isinstance(entry.slot, Sliced):
        return _element(state.body, node, entry.slot, state.enter[place], state.enter[0])
    return state.enter[place]


@rule(HUB, "Loop")
def loop(op: Builder, node: Node) -> list[Value]:
    """One `while`; see above."""
    view = Loop(node)
    trips = _trips(op, node, view)
    decides = _decides(view)
    stacked = view.of(Stacked)
    if stacked and (trips.known is None or trips.given is not None or decides is not None):
        raise Unsupported(node, f"how much it stacks in {stacked[0].place.result} is known only when the model runs")
    if not node.outputs:
        return []

    state = _State(op.region("body"))
    state.add(scalar(op, 0, DType.INT64), "i")
    state.leave[0] = state.body.add(state.enter[0], scalar(state.body, 1, DType.INT64))
    if decides is not None:
        first = view.initial_condition
        state.add(scalar(op, True, DType.BOOL) if first is None else reshape(op, first, ()), "go")
    places: dict[int, int] = {}
    arguments = [_enter(op, state, node, entry, places) for entry in view.entries if entry.enter is not None]
    limit = None if trips.given is None else state.add(trips.given, "trip")

    outs = state.body.inline(view.body, arguments)
    if decides is not None:
        state.leave[1] = reshape(state.body, outs[decides.place.leave], ())
    results: list[int] = []
    for entry in view.entries:
        if entry.result is None:
            continue
        value = outs[entry.place.leave]
        if isinstance(entry.slot, Stacked):
            assert trips.known is not None
            results.append(_stack(op, state, node, entry.slot, value, entry.result.name or "stack", trips.known))
            continue
        place = places[entry.place.enter]
        if not agree(value.type, state.enter[place].type):
            raise Unsupported(
                node, f"{entry.result.name!r} changes its type from {state.enter[place].type} to {value.type}"
            )
        state.leave[place] = value
        results.append(place)
    made = _place(op, state, trips.known, limit, decides is not None)
    return [made[place] for place in results]


def _place(op: Builder, state: _State, known: int | None, limit: int | None, decides: bool) -> tuple[Value, ...]:
    """The `while`, its condition made of what bounds it."""
    condition = op.region("condition")
    inside = [condition.input(value.name, value.type) for value in state.enter]
    tests = [inside[1]] if decides else []
    if limit is not None:
        tests.append(compare(condition, inside[0], inside[limit], "LT"))
    if known is not None:
        tests.append(compare(condition, inside[0], scalar(condition, known, DType.INT64), "LT"))
    test = tests[0] if tests else scalar(condition, True, DType.BOOL)
    for more in tests[1:]:
        test = condition.call("and", test, more)
    condition.graph.outputs = [test]
    body = state.body.graph
    body.outputs = [enter if leave is None else leave for enter, leave in zip(state.enter, state.leave, strict=True)]
    domain, version = op.rewriter.dialect.resolve("while")
    twin = Node(domain, "while", version)
    twin.regions = {"condition": condition.graph, "body": body}
    made = op.place(twin, state.start, {}, len(state.start))
    return (made,) if len(state.start) == 1 else made


RULES = collect(globals())
