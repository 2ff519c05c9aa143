"""What canonical Loops are in expressions: how often they run, the parts that they see, what they stack."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....passes.constant_analysis import static_array
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import Entry, Loop, Sliced, Stacked, TripCount, part_range, trip_count
from ....passes.preconditions import axis_of, rank_of
from ....passes.structure.unroll import empty_stack
from ....passes.types import Shape
from .terms import cast, sizes, take

_MOST_PLACED = 1 << 20  # elements of a buffer


@dataclass(frozen=True, slots=True)
class Passes:
    """How often a loop runs.

    Attributes:
        trips: as far as that is known before the model runs.
        lengths: sequences, one part of which each pass takes, and the axis, whose sizes aren't known.
        conditions: without which it doesn't run: its own first one, and those of the branches that it stands in, where
            nobody wants what it gives if one is false.
    """

    trips: TripCount
    lengths: list[tuple[Value, int]]
    conditions: list[Value]

    @property
    def certain(self) -> bool:
        """Whether it runs at all is known."""
        return self.trips.bounded and not self.conditions

    @property
    def limited(self) -> bool:
        """Whether it may stand still though the branches that it stands in are taken."""
        return not self.trips.bounded or isinstance(self.trips.entered, Value)


def passes_of(node: Node) -> Passes:
    """How often a loop runs, as far as it is known.

    Raises:
        Unsupported: nobody knows how long a sequence is that it cuts in parts.
    """
    trips = trip_count(Loop(node), static_array)
    lengths: list[tuple[Value, int]] = []
    for entry in trips.sequences:
        slot, operand = entry.slot, entry.operand
        assert isinstance(slot, Sliced) and operand is not None
        axis = axis_of(node, slot.axis, rank_of(node, operand))
        if slot.part is not None or (slot.start, slot.end, slot.stride) not in ((0, -1, 1), (-1, 0, -1)):
            raise Unsupported(node, f"the size of axis {axis} of {operand.name!r} isn't known before the model runs")
        lengths.append((operand, axis))
    conditions = [value for value in node.captures if value is not None]
    if isinstance(trips.entered, Value):
        conditions.append(trips.entered)
    return Passes(trips, lengths, conditions)


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
