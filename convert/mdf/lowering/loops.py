"""What canonical Loops are in expressions: how often they run, the parts that they see, what they stack."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ....passes.constant_analysis import static_array
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import Entry, Loop, Sliced, Stacked, part_range
from ....passes.preconditions import axis_of, rank_of
from ....passes.structure.unroll import empty_stack
from ....passes.types import Shape
from .terms import cast, sizes, take

_MOST_PLACED = 1 << 20  # elements of a buffer


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
        known = static_array(trip)
        if known is None:
            found.limits.append(trip)
        else:
            bounds.append(max(0, int(known.reshape(-1)[0])))
    for entry in view.of(Sliced):
        slot, operand = entry.slot, entry.operand
        assert isinstance(slot, Sliced) and operand is not None
        shape = operand.tensor.shape
        axis = axis_of(node, slot.axis, rank_of(node, operand))
        size = shape[axis] if shape is not None else None
        if isinstance(size, int):
            bounds.append(part_range(slot, size)[1])
        elif slot.part is None and (slot.start, slot.end, slot.stride) in ((0, -1, 1), (-1, 0, -1)):
            found.lengths.append((operand, axis))
        else:
            raise Unsupported(node, f"the size of axis {axis} of {operand.name!r} isn't known before the model runs")
    found.known = min(bounds, default=None)
    first, condition = view.initial_condition, view.condition
    if first is not None:
        known = static_array(first)
        if known is None:
            found.starts.append(first)
        elif not known.any():
            found.known = 0
    found.guards = [value for value in node.captures if value is not None]
    if condition is not None and not _is_true(condition.body_output):
        found.decides = condition.body_output
    if found.decides is None and not found.limits and not found.lengths:
        found.exactly = found.known
    return found


def _is_true(value: Value | None) -> bool:
    known = static_array(value)
    return known is not None and bool(known.all())


def part_text(node: Node, slot: Sliced, operand: Value, sequence: str, i: str) -> str:
    """The part of a sequence that pass `i` sees."""
    axis = axis_of(node, slot.axis, rank_of(node, operand))
    size = (operand.tensor.shape or ())[axis]
    if isinstance(size, int):
        first = part_range(slot, size)[0] - ((slot.part or 1) - 1 if slot.reversed else 0)
        step = i if abs(slot.stride) == 1 else f"{i} * {abs(slot.stride)}"
        index = f"{first} {'-' if slot.reversed else '+'} {step}" if first or slot.reversed else step
    else:
        index = f"-1 - {i}" if slot.reversed else i
    if slot.part is not None:
        index = f"{index} + numpy.arange({slot.part})"
    return take(sequence, index, axis)


@dataclass(frozen=True, slots=True)
class Stack:
    """What is stacked: the text of the empty stack, and of one more element in it.

    Attributes:
        more: a template with `element`, `stack` and `i`.
    """

    empty: str
    more: str

    def appended(self, element: str, stack: str, i: str) -> str:
        return self.more.format(element=element, stack=stack, i=i)


def stack_of(node: Node, entry: Entry, exactly: int | None) -> Stack:
    """A buffer for all elements where the number of passes is certain (and small), else one that grows.

    Raises:
        Unsupported: the rank of the elements isn't known.
    """
    slot, body_output = entry.slot, entry.body_output
    assert isinstance(slot, Stacked) and body_output is not None
    nothing, shape = empty_stack(node, entry), body_output.tensor.static_shape
    axis = axis_of(node, slot.axis, len(nothing.shape))
    if exactly is not None and shape is not None and exactly * math.prod(shape) <= _MOST_PLACED:
        empty, more = _preallocated(slot, axis, shape, exactly)
    else:
        empty, more = sizes(nothing.shape), _grown(slot, axis, body_output.tensor.shape or ())
    return Stack(cast(nothing.dtype, f"numpy.zeros({empty})", node), more)


def _preallocated(slot: Stacked, axis: int, shape: tuple[int, ...], count: int) -> tuple[str, str]:
    """The sizes of a buffer, and what puts an element into it."""
    part = 1 if slot.part is None else shape[axis]
    rest = shape[axis + (slot.part is not None) :]
    rows, element = f"numpy.arange({count * part})", "{element}"
    if slot.part is None:
        element = element if axis == 0 else f"numpy.expand_dims({element}, {axis})"
    elif count > 1:
        element = take(element, f"numpy.mod({rows}, {part})", axis)
    index = f"{count - 1} - {{i}}" if slot.reverse else "{i}"
    rows = rows if part == 1 else f"{rows} // {part}"
    rows = f"numpy.reshape({rows}, {sizes((-1, *[1] * len(rest)))})" if rest else rows
    empty = sizes((*shape[:axis], count * part, *rest))
    return empty, f"numpy.where({rows} == {index}, {element}, {{stack}})"


def _grown(slot: Stacked, axis: int, dims: Shape) -> str:
    """What puts an element behind (before) those there are."""
    element = f"numpy.expand_dims({{element}}, {axis})" if slot.part is None else "{element}"
    both = (element, "{stack}") if slot.reverse else ("{stack}", element)
    more = f"numpy.concatenate(({', '.join(both)}), {axis})"
    beside = [dim for index, dim in enumerate(dims) if slot.part is None or index != axis]
    # the first one tells the sizes that aren't known
    return more if all(isinstance(dim, int) for dim in beside) else f"{element} if {{i}} == 0 else {more}"


def all_of(tests: list[str]) -> str:
    """The text of what holds where all of them hold."""
    text = tests[0] if tests else "True"
    for test in tests[1:]:
        text = f"numpy.logical_and({text}, {test})"
    return text
