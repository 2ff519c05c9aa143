"""Loops as terms: carried values by induction over the passes, and which loops are one.

What holds before the first pass and, if it holds before a pass, holds after it, holds before every pass. Such properties
are assumed as strong as they can be, all at once, and weakened where numbering the body refutes them, until nothing is
refuted: a carried value never changes; it is `initial + step * pass`; it has the shape it began with; two of them are
always equal. Values whose assumption stands together after a round are justified by it together.

Loops that run equally often form a group, in which carried values of all of them are compared: those that begin equally
are assumed to be one until bodies tell them apart (Moore's refinement over the slots of all loops of the group). A
carried value's class in its group is its number; the term of a stacked value is that of its element in terms of classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph import Node, Value
from ..loop import Captured, Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked, part_range
from ..types import DType
from .layout import expand, reshape, select, sliced, transpose
from .numbering import Numbering
from .polynomials import Size, quotient, variable
from .terms import PASS, PASSES, VARIABLE, Term, Typed

FINAL = "$final"
STACK = "$stack"
_ENDLESS = 1 << 62  # a trip count that says there is none
_ROUNDS = 64


class _Unfollowed(Exception):
    """A loop in a form that isn't followed."""


@dataclass(slots=True)
class _Assumed:
    """What is assumed of one carried value: the strongest of these that isn't refuted yet.

    Attributes:
        initial: the value before the first pass.
        step: it is `initial + step * pass` (integers, element by element); all 0: it doesn't change. None: neither.
        kept: which of its sizes stay; None: not even the rank.
        class_of: carried values with the same number are always equal.
    """

    initial: Term
    step: tuple[Size, ...] | None
    kept: tuple[bool, ...] | None
    class_of: Any = None

    @property
    def varies(self) -> bool:
        return self.step is None

    @property
    def is_kept(self) -> bool:
        return self.step == ()


@dataclass(slots=True)
class _Numbered:
    """A body numbered under assumptions: terms of what carried values become, of elements, of the condition."""

    next: list[Term]
    elements: list[Term]
    condition: Term | None
    seen: list[Term]


@dataclass(slots=True)
class _Run:
    """One loop on its operands."""

    node: Node
    loop: Loop
    operands: tuple[Term | None, ...]
    carried: list[Entry]
    stacked: list[Entry]
    limits: list[Size]
    assumed: list[_Assumed]
    entered: Term | None

    def operand(self, entry: Entry) -> Term:
        found = self.operands[entry.indices.operand]
        assert found is not None
        return found


@dataclass(slots=True)
class _Class:
    """A carried value of a group: before the first pass, in a pass, after it."""

    initial: Term
    kept: tuple[bool, ...] | None
    variable: Term
    next: Term


@dataclass(slots=True)
class _Group:
    """Loops that run equally often.

    Attributes:
        index: which group; also the context of its variables.
        classes: carried values that change, one of each class.
        condition: whether to go on after a pass, in terms of the classes; None: always.
        runs: the loops, each with the class of each carried value (None: it needs none).
    """

    index: int
    passes: Size
    iteration: Term
    classes: list[_Class]
    condition: Term | None
    runs: list[tuple[_Run, list[int | None]]] = field(default_factory=list[Any])


def number_loop(numbering: Numbering, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
    """The terms of the results of a Loop."""
    try:
        run = _begin(numbering, node, operands)
        known = _trips(run)
        if known is not None and known <= numbering.unroll:
            return _unrolled(numbering, run, known)
        return _number(numbering, run)
    except _Unfollowed:
        return numbering.unlike_all(node)


def _trips(run: _Run) -> int | None:
    """How often a loop runs, if that is certain from its limits."""
    entered = run.entered
    if run.loop.condition is not None or entered is not None or not run.limits:
        return None
    sizes = [limit for limit in run.limits if isinstance(limit, int)]
    if 0 in sizes:
        return 0
    return min(sizes) if len(sizes) == len(run.limits) else None


# what bounds the passes ---------------------------------------------------------------------------


def _begin(numbering: Numbering, node: Node, operands: tuple[Term | None, ...]) -> _Run:
    m, loop = numbering.m, Loop(node)
    limits: list[Size] = []
    trip = operands[0]
    if trip is not None:
        elements = m.table.elements(trip)
        if elements is None or len(elements) != 1:
            raise _Unfollowed
        count = m.table.not_negative(elements[0])
        if not isinstance(count, int) or count < _ENDLESS:
            limits.append(count)
    for entry in loop.of(Sliced):
        assert isinstance(entry.slot, Sliced)
        sequence = operands[entry.indices.operand]
        if sequence is None or sequence.shape is None:
            raise _Unfollowed
        limits.append(_parts(entry.slot, sequence))
    entered: Term | None = operands[1]
    if entered is not None:
        data = m.data(entered)
        if data is not None:
            if not bool(data.numpy().all()):
                limits.append(0)
            entered = None
    assumed: list[_Assumed] = []
    for entry in loop.of(Carried):
        initial = operands[entry.indices.operand]
        if initial is None:
            raise _Unfollowed
        assumed.append(_Assumed(initial, (), None if initial.shape is None else (True,) * len(initial.shape)))
    kept = list(dict.fromkeys(limits))
    return _Run(node, loop, operands, loop.of(Carried), loop.of(Stacked), kept, assumed, entered)


def _parts(slot: Sliced, sequence: Term) -> Size:
    """How many parts a sequence has."""
    assert sequence.shape is not None
    size = sequence.shape[slot.axis]
    if isinstance(size, int):
        return part_range(slot, size)[1]
    if (slot.start, slot.end) not in ((0, -1), (-1, 0)) or (slot.start == 0) == slot.reversed:
        raise _Unfollowed
    parts = size if abs(slot.stride) == 1 else quotient(size, abs(slot.stride))
    if parts is None:
        raise _Unfollowed
    return parts


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


# numbering a body ---------------------------------------------------------------------------------


def _body(numbering: Numbering, run: _Run, iteration: Size, carried: Sequence[Term]) -> _Numbered:
    """Number the body with these terms for the number of the pass and the carried values."""
    m, body, loop = numbering.m, run.loop.body, run.loop
    inputs: list[Term | None] = [None] * len(body.inputs)
    values = iter(carried)
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
    terms = numbering.graph(body, inputs)

    def of(value: Value | None) -> Term:
        assert value is not None
        return terms[value]

    condition = loop.condition
    after = None if condition is None else of(condition.body_output)
    if after is not None:
        data = m.data(after)
        if data is not None and bool(data.numpy().all()):
            after = None
    return _Numbered(
        [of(entry.body_output) for entry in run.carried],
        [of(entry.body_output) for entry in run.stacked],
        after,
        list(carried),
    )


def _iteration(numbering: Numbering, context: int, run: _Run) -> Term:
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
    term.open = frozenset([context])
    for size in term.shape or ():
        if not isinstance(size, int):
            for atom in size.atoms:
                if atom.op == "$size" and atom.operands[0] is term:
                    atom.open = term.open
    return term


def _new_context(numbering: Numbering) -> int:
    numbering.contexts += 1
    return numbering.contexts


def _seen(numbering: Numbering, context: int, one: _Assumed, iteration: Size, which: Any) -> Term:
    """A carried value in a pass, as far as it is assumed to be known."""
    m = numbering.m
    if one.step is None:
        shape = None
        if one.kept is not None and one.initial.shape is not None:
            shape = [size if kept else None for size, kept in zip(one.initial.shape, one.kept, strict=True)]
        return _variable(numbering, context, which, Typed(one.initial.dtype, shape))
    return _advanced(m, one, iteration)


def _advanced(m: Any, one: _Assumed, passes: Size) -> Term:
    """`initial + step * passes`."""
    if not one.step:
        return one.initial
    elements = m.table.elements(one.initial)
    return m.table.integers(
        one.initial.dtype,
        one.initial.static_shape,
        [first + step * passes for first, step in zip(elements, one.step, strict=True)],
    )


def _weakened(numbering: Numbering, one: _Assumed, became: Term, iteration: Term) -> bool:
    """Weaken what is assumed of a carried value as far as what it becomes refutes it; whether that was needed."""
    m = numbering.m
    if became.dtype is not one.initial.dtype:
        raise _Unfollowed
    if one.step is not None:
        if became is _advanced(m, one, variable(iteration) + 1):
            return False
        one.step = _step(m, one, became, iteration) if one.is_kept else None
        return True
    if one.kept is None:
        return False
    if became.shape is None or one.initial.shape is None or len(became.shape) != len(one.kept):
        one.kept = None
        return True
    refuted = [kept and old != new for kept, old, new in zip(one.kept, one.initial.shape, became.shape, strict=True)]
    one.kept = tuple(kept and not gone for kept, gone in zip(one.kept, refuted, strict=True))
    return any(refuted)


def _step(m: Any, one: _Assumed, became: Term, iteration: Term) -> tuple[Size, ...] | None:
    """What a pass adds to an integer that was assumed not to change; None if that isn't the same in each pass."""
    before, after = m.table.elements(one.initial), m.table.elements(became)
    if before is None or after is None or one.initial.static_shape != became.static_shape:
        return None
    steps = tuple(new - old for old, new in zip(before, after, strict=True))
    context = next(iter(iteration.open))
    fixed = all(isinstance(step, int) or all(context not in atom.open for atom in step.atoms) for step in steps)
    return steps if fixed else None


def _settle(numbering: Numbering, run: _Run) -> None:
    """Find what can be assumed of the carried values of a loop by itself."""
    for _ in range(_ROUNDS + 4 * len(run.assumed)):
        context = _new_context(numbering)
        iteration = _iteration(numbering, context, run)
        seen = [
            _seen(numbering, context, one, variable(iteration), (one.class_of, one.kept, one.initial.number))
            for one in run.assumed
        ]
        body = _body(numbering, run, variable(iteration), seen)
        changed = False
        for one, became in zip(run.assumed, body.next, strict=True):
            changed |= _weakened(numbering, one, became, iteration)
        varying = [(one, became) for one, became in zip(run.assumed, body.next, strict=True) if one.varies]
        if not changed:
            changed = _split([(one, (one.initial, one.kept, became)) for one, became in varying])
        if not changed:
            return
    raise _Unfollowed


def _split(of: Sequence[tuple[Any, Any]]) -> bool:
    """Give members of a class that differ in what they become classes of their own; whether there are more now."""
    before = len({one.class_of for one, _ in of})
    classes: dict[Any, int] = {}
    for one, became in of:
        one.class_of = classes.setdefault((one.class_of, became), len(classes))
    return len(classes) > before


# groups -------------------------------------------------------------------------------------------


def _number(numbering: Numbering, run: _Run) -> list[Term]:
    _settle(numbering, run)
    context = _new_context(numbering)
    probe = _numbered_alone(numbering, run, context)
    key = (frozenset(run.limits), run.entered, probe.condition is not None)
    groups = numbering.groups.setdefault(key, [])
    for group in groups:
        joined = _join(numbering, group, run)
        if joined is not None:
            return _results(numbering, group, run, joined[0], joined[1])
    group, classes, body = _found(numbering, run, key)
    groups.append(group)
    return _results(numbering, group, run, classes, body)


def _numbered_alone(numbering: Numbering, run: _Run, context: int) -> _Numbered:
    iteration = _iteration(numbering, context, run)
    seen = [_seen(numbering, context, one, variable(iteration), one.class_of) for one in run.assumed]
    return _body(numbering, run, variable(iteration), seen)


def _found(numbering: Numbering, run: _Run, key: Any) -> tuple[_Group, list[int | None], _Numbered]:
    """A group of this loop alone."""
    context = _new_context(numbering)
    iteration = _iteration(numbering, context, run)
    body = _numbered_alone(numbering, run, context)
    classes: list[_Class] = []
    numbers: dict[Any, int] = {}
    found: list[int | None] = []
    for one, seen, became in zip(run.assumed, body.seen, body.next, strict=True):
        if not one.varies:
            found.append(None)
            continue
        if one.class_of not in numbers:
            numbers[one.class_of] = len(classes)
            classes.append(_Class(one.initial, one.kept, seen, became))
        found.append(numbers[one.class_of])
    passes = _passes(numbering, run, context if body.condition is not None else None)
    group = _Group(context, passes, iteration, classes, body.condition)
    group.runs.append((run, found))
    return group, found, body


def _passes(numbering: Numbering, run: _Run, context: int | None) -> Size:
    """How often the body runs; `context`: of the loop, if its condition has a say."""
    table, limits = numbering.m.table, run.limits
    if context is None and run.entered is None:
        for limit in limits:
            if all(other is limit or table.is_at_most(limit, other) for other in limits):
                return limit
    atom = table.term(PASSES, (), (), Typed(DType.INT64, ()), key=(frozenset(limits), run.entered, context))
    table.bound(atom, 0)
    for limit in limits:
        table.bound(atom, None, limit)
    within = [run.entered.open] if run.entered is not None else []
    within += [one.open for limit in limits if not isinstance(limit, int) for one in limit.atoms]
    atom.open = frozenset().union(*within) if context is None else _open_outside(run)
    return variable(atom)


def _open_outside(run: _Run) -> frozenset[int]:
    """The contexts that a loop's results depend on."""
    return frozenset().union(*(term.open for term in run.operands if term is not None))


@dataclass(slots=True)
class _Item:
    """A carried value while classes are refined."""

    initial: Term
    kept: tuple[bool, ...] | None
    class_of: Any
    at: int | None  # class of the group, None: of the loop that wants to join
    slots: list[int]  # carried values of that loop


def _join(numbering: Numbering, group: _Group, run: _Run) -> tuple[list[int | None], _Numbered] | None:
    """The class of each carried value of a loop in a group, and its body in terms of classes; None: it runs otherwise.

    Classes that the loop has and the group hasn't become the group's.
    """
    items = [_Item(one.initial, one.kept, (one.initial, one.kept), at, []) for at, one in enumerate(group.classes)]
    own: dict[Any, _Item] = {}
    for slot, one in enumerate(run.assumed):
        if one.varies:
            if one.class_of not in own:
                own[one.class_of] = _Item(one.initial, one.kept, (one.initial, one.kept), None, [])
            own[one.class_of].slots.append(slot)
    items += own.values()
    begun = {(item.initial, item.kept) for item in own.values()}
    alike = {at for at, one in enumerate(group.classes) if (one.initial, one.kept) in begun}
    if alike:
        _refine(numbering, [member for member in group.runs if alike.intersection(member[1])], run, items)
    place = {item.class_of: item.at for item in items if item.at is not None}
    new: dict[Any, int] = {}
    classes: list[int | None] = [None] * len(run.assumed)
    for item in own.values():
        at = place.get(item.class_of)
        if at is None:
            at = new.setdefault(item.class_of, len(group.classes) + len(new))
        for slot in item.slots:
            classes[slot] = at
    iteration = variable(group.iteration)
    for limit in run.limits:
        numbering.m.table.bound(group.iteration, None, limit - 1)
    seen = [
        _seen(numbering, group.index, one, iteration, at)
        if at is None or at >= len(group.classes)
        else group.classes[at].variable
        for one, at in zip(run.assumed, classes, strict=True)
    ]
    body = _body(numbering, run, iteration, seen)
    if body.condition is not group.condition:
        return None
    for at, became in zip(classes, body.next, strict=True):
        if at is not None and at < len(group.classes) and group.classes[at].next is not became:
            return None
    added = {
        at: _Class(one.initial, one.kept, value, became)
        for one, at, value, became in zip(run.assumed, classes, seen, body.next, strict=True)
        if at is not None and at >= len(group.classes)
    }
    group.classes += [added[at] for at in sorted(added)]
    group.runs.append((run, classes))
    return classes, body


def _refine(
    numbering: Numbering, members: Sequence[tuple[_Run, list[int | None]]], run: _Run, items: Sequence[_Item]
) -> None:
    """Split classes of items by what they become, until that tells no more of them apart."""
    for _ in range(len(items) + 1):
        context = _new_context(numbering)
        became: dict[int, Term] = {}  # by position of the item
        position = {item.at: index for index, item in enumerate(items) if item.at is not None}
        mine = {slot: index for index, item in enumerate(items) for slot in item.slots}
        for member, classes in [*members, (run, None)]:
            iteration = variable(_iteration(numbering, context, run))
            places = [
                (mine.get(slot) if classes is None else position.get(classes[slot])) if one.varies else None
                for slot, one in enumerate(member.assumed)
            ]
            seen = [
                _seen(numbering, context, one, iteration, None if at is None else (items[at].class_of,))
                for one, at in zip(member.assumed, places, strict=True)
            ]
            body = _body(numbering, member, iteration, seen)
            for at, term in zip(places, body.next, strict=True):
                if at is not None:
                    became.setdefault(at, term)
        if not _split([(item, became.get(index)) for index, item in enumerate(items)]):
            return


# results ------------------------------------------------------------------------------------------


def _results(
    numbering: Numbering, group: _Group, run: _Run, classes: Sequence[int | None], body: _Numbered
) -> list[Term]:
    m, open_ = numbering.m, _open_outside(run)
    found: dict[int, Term] = {}
    for entry, one, at in zip(run.carried, run.assumed, classes, strict=True):
        if at is None:
            found[entry.indices.result] = _advanced(m, one, group.passes)
            continue
        of = group.classes[at]
        shape = None
        if of.kept is not None and of.initial.shape is not None:
            shape = [size if kept else None for size, kept in zip(of.initial.shape, of.kept, strict=True)]
        term = m.table.term(FINAL, (), (("class", at), ("group", group.index)), Typed(of.initial.dtype, shape))
        found[entry.indices.result] = _close(term, open_)
    for entry, element in zip(run.stacked, body.elements, strict=True):
        found[entry.indices.result] = _stacked(numbering, group, entry.slot, element, open_)
    return [found[index] for index in range(len(run.node.outputs))]


def _close(term: Term, open_: frozenset[int]) -> Term:
    """Give a result of a loop the contexts around it, and its sizes."""
    if not term.open:
        term.open = open_
        for size in term.shape or ():
            for atom in () if isinstance(size, int) else size.atoms:
                if atom.op == "$size" and atom.operands[0] is term:
                    atom.open = open_
    return term


def _stacked(numbering: Numbering, group: _Group, slot: Any, element: Term, open_: frozenset[int]) -> Term:
    """The term of collected elements: along axis 0 and forwards, then moved to where they are wanted."""
    m, passes = numbering.m, group.passes
    if element.shape is None:
        raise _Unfollowed
    if slot.part is not None:
        axis = slot.axis % max(1, len(element.shape))
        if not isinstance(element.shape[axis], int):
            raise _Unfollowed
    inside = {group.index}
    shape = [
        None if not isinstance(size, int) and any(inside & atom.open for atom in size.atoms) else size
        for size in element.shape
    ]
    if not element.open & inside and None not in shape:
        stack = expand(m, reshape(m, element, (1, *element.shape)), (passes, *element.shape))
    else:
        attributes = (("group", group.index),)
        stack = m.table.term(STACK, (), attributes, Typed(element.dtype, [passes, *shape]), key=element)
        stack = _close(stack, open_)
        whole = _whole_sequence(group, element)
        if whole is not None and whole.shape is not None:
            stack = sliced(m, whole, [0], [0], [passes], [1])
    assert stack.shape is not None
    rank = len(stack.shape)
    if slot.reverse:
        stack = sliced(m, stack, [0], [passes - 1], [passes], [-1])
    if slot.part is None:
        axis = slot.axis % rank
        return transpose(m, stack, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    axis = slot.axis % (rank - 1)
    moved = transpose(m, stack, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    assert moved.shape is not None
    joined = (*moved.shape[:axis], moved.shape[axis] * moved.shape[axis + 1], *moved.shape[axis + 2 :])
    return reshape(m, moved, joined)


def _whole_sequence(group: _Group, element: Term) -> Term | None:
    """The sequence of which a pass's element is the one at its number, along axis 0."""
    if element.op != "$select" or element.attribute("axis") != 0 or element.operands[1] is not group.iteration:
        return None
    sequence = element.operands[0]
    return sequence if sequence is not None and group.index not in sequence.open else None


def _unrolled(numbering: Numbering, run: _Run, passes: int) -> list[Term]:
    """The results of a loop of so many passes, each of them written out."""
    m = numbering.m
    carried = [one.initial for one in run.assumed]
    elements: list[list[Term]] = [[] for _ in run.stacked]
    for index in range(passes):
        body = _body(numbering, run, index, carried)
        carried = body.next
        for collected, element in zip(elements, body.elements, strict=True):
            collected.append(element)
    if not passes and run.stacked:
        raise _Unfollowed
    found: dict[int, Term] = {}
    for entry, term in zip(run.carried, carried, strict=True):
        found[entry.indices.result] = term
    for entry, parts in zip(run.stacked, elements, strict=True):
        slot = entry.slot
        assert isinstance(slot, Stacked)
        ordered = parts[::-1] if slot.reverse else parts
        if any(part.shape is None for part in ordered):
            raise _Unfollowed
        rank = len(ordered[0].shape or ())
        if slot.part is None:
            axis = slot.axis % (rank + 1)
            ordered = [reshape(m, part, (*part.shape[:axis], 1, *part.shape[axis:])) for part in ordered if part.shape is not None]
        else:
            axis = slot.axis % rank
        found[entry.indices.result] = m.make("Concat", *ordered, axis=axis)
    return [found[index] for index in range(len(run.node.outputs))]
