"""One loop on its operands: what bounds its passes, and its body numbered under assumptions on carried values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph import Node, Value
from ..loop import Captured, Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked, part_range
from ..types import DType
from .layout import select, sliced
from .maker import Maker
from .numbering import Numbering
from .polynomials import Size, as_atom, quotient
from .terms import PASS, VARIABLE, Contradiction, Term, Typed, close
from .wraps import Wrap

_ENDLESS = 1 << 62
"""A trip count from which on it says that there is none."""


class Unfollowed(Exception):
    """A loop in a form that isn't followed."""


@dataclass(slots=True)
class Assumed:
    """What is assumed of one carried value: the strongest of these that isn't refuted yet.

    Attributes:
        initial: the value before the first pass.
        step: it is `initial + step * pass` (integers, element by element); all 0: it doesn't change. None: neither.
        kept: which of its sizes stay; None: not even the rank.
        class_of: carried values with the same number are always equal.
        wrap: what is carried is this of what is spoken of here, `initial` included.
        is_bare: it was tried, and isn't so.
        is_recalled: `step` is one of a try on other operands.
    """

    initial: Term
    step: tuple[Size, ...] | None
    kept: tuple[bool, ...] | None
    class_of: Any = None
    wrap: Wrap | None = None
    is_bare: bool = False
    is_recalled: bool = False

    def begin(self, initial: Term) -> None:
        """Assume anew that it doesn't change."""
        self.initial, self.step, self.class_of = initial, (), None
        self.kept = None if initial.shape is None else (True,) * len(initial.shape)

    def whole(self, m: Maker, inner: Term) -> Term:
        """What is carried where what is spoken of here is `inner`."""
        return inner if self.wrap is None else self.wrap.of(m, inner)

    @property
    def varies(self) -> bool:
        return self.step is None

    @property
    def is_kept(self) -> bool:
        return self.step == ()


@dataclass(slots=True)
class NumberedBody:
    """A body numbered under assumptions: terms of what carried values become, of elements, of the condition.

    Attributes:
        refuted: positions of carried values that don't become what they are assumed to be made of.
        height: of loops in each other, see `Numbering`.
        contradicted: a node in it whose operands don't go together; where it is tried only.
    """

    next: list[Term]
    elements: list[Term]
    condition: Term | None
    seen: list[Term]
    terms: dict[Value, Term]
    refuted: list[int] = field(default_factory=list[int])
    height: int = 0
    contradicted: Node | None = None


@dataclass(slots=True)
class Run:
    """One loop on its operands; `side`: in which graph; `first`: see `groups.first_pass`."""

    node: Node
    loop: Loop
    operands: tuple[Term | None, ...]
    carried: list[Entry]
    stacked: list[Entry]
    limits: list[Size]
    assumed: list[Assumed]
    entered: Term | None
    side: int
    first: dict[int, NumberedBody] = field(default_factory=dict[int, NumberedBody])

    def operand(self, entry: Entry) -> Term:
        found = self.operands[entry.indices.operand]
        assert found is not None
        return found


def begin(numbering: Numbering, node: Node, operands: tuple[Term | None, ...]) -> Run:
    m, loop = numbering.m, Loop(node)
    limits: list[Size] = []
    trip = operands[0]
    if trip is not None:
        elements = m.table.elements(trip)
        if elements is None or len(elements) != 1:
            raise Unfollowed
        limits += [one for one in limits_of(numbering, elements[0]) if not isinstance(one, int) or one < _ENDLESS]
    for entry in loop.of(Sliced):
        assert isinstance(entry.slot, Sliced)
        sequence = operands[entry.indices.operand]
        if sequence is None or sequence.shape is None:
            raise Unfollowed
        limits.append(_parts(entry.slot, sequence))
    entered: Term | None = operands[1]
    if entered is not None:
        data = m.data(entered)
        if data is not None:
            if not bool(data.numpy().all()):
                limits.append(0)
            entered = None
    assumed: list[Assumed] = []
    for entry in loop.of(Carried):
        initial = operands[entry.indices.operand]
        if initial is None:
            raise Unfollowed
        assumed.append(Assumed(initial, (), None))
        assumed[-1].begin(initial)
    kept = list(dict.fromkeys(limits))
    return Run(node, loop, operands, loop.of(Carried), loop.of(Stacked), kept, assumed, entered, numbering.side)


def known_trips(run: Run) -> int | None:
    """How often a loop runs, if that is certain from its limits."""
    sizes = [limit for limit in run.limits if isinstance(limit, int)]
    if 0 in sizes:
        return 0
    if run.loop.condition is not None or run.entered is not None or not run.limits:
        return None
    return min(sizes) if len(sizes) == len(run.limits) else None


def is_choice(run: Run) -> bool:
    """Whether a loop makes one pass if it is entered, and hands out carried values only."""
    return 1 in run.limits and all(isinstance(limit, int) for limit in run.limits) and not run.stacked


def limits_of(numbering: Numbering, count: Size) -> list[Size]:
    """The limits that a trip count consists of: those that it is the smallest of."""
    atom = as_atom(count)
    if atom is None or atom.op != "Min":
        return [numbering.m.table.not_negative(count)]
    found = [numbering.m.table.elements(operand) for operand in atom.operands]
    return [limit for one in found if one is not None for limit in limits_of(numbering, one[0])]


def _parts(slot: Sliced, sequence: Term) -> Size:
    """How many parts a sequence has."""
    assert sequence.shape is not None
    if not -len(sequence.shape) <= slot.axis < len(sequence.shape):
        raise Contradiction
    size = sequence.shape[slot.axis]
    if isinstance(size, int):
        return part_range(slot, size)[1]
    if (slot.start, slot.end) not in ((0, -1), (-1, 0)) or (slot.start == 0) == slot.reversed:
        raise Unfollowed
    parts = size if abs(slot.stride) == 1 else quotient(size, abs(slot.stride))
    if parts is None:
        raise Unfollowed
    return parts


def iteration_of(numbering: Numbering, context: int, run: Run) -> Term:
    """The number of the pass, which is within the limits."""
    table = numbering.m.table
    term = _variable(numbering, context, PASS, Typed(DType.INT64, ()))
    table.bound(term, 0)
    for limit in run.limits:
        table.bound(term, None, limit - 1)
    return term


def _variable(numbering: Numbering, context: int, which: Any, typed: Typed) -> Term:
    op = PASS if which == PASS else VARIABLE
    term = numbering.m.table.term(op, (), (("context", context), ("which", which)), typed)
    return close(term, frozenset([context]))


def seen_value(numbering: Numbering, context: int, one: Assumed, iteration: Size, which: Any) -> Term:
    """A carried value in a pass, as far as it is assumed to be known."""
    m = numbering.m
    if one.step is None:
        shape = None
        if one.kept is not None and one.initial.shape is not None:
            shape = [size if kept else None for size, kept in zip(one.initial.shape, one.kept, strict=True)]
        return _variable(numbering, context, which, Typed(one.initial.dtype, shape, one.initial.container))
    return advanced(m, one, iteration)


def advanced(m: Any, one: Assumed, passes: Size) -> Term:
    """`initial + step * passes`."""
    if not one.step:
        return one.initial
    elements = m.table.elements(one.initial)
    return m.table.integers(
        one.initial.dtype,
        one.initial.static_shape,
        [first + step * passes for first, step in zip(elements, one.step, strict=True)],
    )


def number_body(
    numbering: Numbering, run: Run, iteration: Size, carried: Sequence[Term], is_tried: bool = False
) -> NumberedBody:
    """Number the body with these terms for the number of the pass and the carried values.

    Args:
        is_tried: what carried values are made of may be refuted.

    Raises:
        Unfollowed: it is refuted, and mustn't be.
    """
    m, body, loop = numbering.m, run.loop.body, run.loop
    inputs: list[Term | None] = [None] * len(body.inputs)
    values = iter([one.whole(m, inner) for one, inner in zip(run.assumed, carried, strict=True)])
    for entry in loop.entries:
        at = entry.indices.body_input
        if at < 0:
            continue
        if isinstance(entry.slot, Carried):
            inputs[at] = next(values)
        elif isinstance(entry.slot, Captured):
            inputs[at] = run.operand(entry)
        elif isinstance(entry.slot, Sliced):
            inputs[at] = _part(numbering, entry, run.operand(entry), iteration)
        elif isinstance(entry.slot, Iteration):
            inputs[at] = m.table.scalar(iteration)
        elif isinstance(entry.slot, Condition):
            inputs[at] = m.array(True)
    before = numbering.turn_to(run.side)
    around, numbering.height = numbering.height, 0
    numbering.depth += 1
    terms = numbering.graph(body, inputs)
    numbering.depth -= 1
    height = numbering.height
    numbering.height = max(around, height)
    numbering.turn_to(before)

    def of(value: Value | None) -> Term:
        assert value is not None
        return terms[value]

    condition = loop.condition
    after = None if condition is None else of(condition.body_output)
    if after is not None:
        data = m.data(after)
        if data is not None and bool(data.numpy().all()):
            after = None
    became, refuted = [of(entry.body_output) for entry in run.carried], list[int]()
    for at, one in enumerate(run.assumed):
        inner = became[at] if one.wrap is None else one.wrap.taken_off(m, became[at], one.initial)
        if inner is None:
            refuted.append(at)
        else:
            became[at] = inner
    if refuted and not is_tried:
        raise Unfollowed
    elements = [of(entry.body_output) for entry in run.stacked]
    return NumberedBody(became, elements, after, list(carried), terms, refuted, height)


def _part(numbering: Numbering, entry: Entry, sequence: Term, iteration: Size) -> Term:
    """What a pass sees of a sequence."""
    m, slot = numbering.m, entry.slot
    assert isinstance(slot, Sliced) and sequence.shape is not None
    axis = slot.axis % len(sequence.shape)
    size = sequence.shape[axis]
    if isinstance(size, int):
        first: Size = part_range(slot, size)[0]
    else:
        first = size - 1 if slot.reversed else 0
    at = first + slot.stride * iteration
    if slot.part is None:
        return select(m, sequence, axis, at)
    if slot.reversed:  # the index is that of the part's last element
        at = at - (slot.part - 1)
    return sliced(m, sequence, [axis], [at], [slot.part], [1])


def open_outside(run: Run) -> frozenset[int]:
    """The contexts that a loop's results depend on."""
    return frozenset().union(*(term.open for term in run.operands if term is not None))
