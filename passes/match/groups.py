"""Groups of loops that run equally often, and the classes of their carried values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..types import DType
from .assumptions import number_alone, split
from .choice import IF
from .numbering import Numbering
from .polynomials import Size, as_atom, variable
from .runs import NumberedBody, Run, iteration_of, number_body, open_outside, seen_value
from .terms import PASSES, Term, Typed


@dataclass(slots=True)
class Class:
    """A carried value of a group: before the first pass, in a pass, after it."""

    initial: Term
    kept: tuple[bool, ...] | None
    variable: Term
    next: Term


@dataclass(slots=True)
class Group:
    """Loops that run equally often.

    Attributes:
        index: which group; also the context of its variables.
        classes: carried values that change, one of each class.
        condition: whether to go on after a pass, in terms of the classes; None: always.
        runs: the loops, each with the class of each carried value (None: it needs none).
        firsts: of each class the position of the first loop that has it.
        begun: the classes by how they begin and what a `first_pass` makes of them.
    """

    index: int
    passes: Size
    iteration: Term
    classes: list[Class]
    condition: Term | None
    runs: list[tuple[Run, list[int | None]]] = field(default_factory=list[Any])
    firsts: list[int] = field(default_factory=list[int])
    begun: dict[Any, list[int]] = field(default_factory=dict[Any, Any])

    def add(self, run: Run, classes: list[int | None], added: Sequence[Class], first: NumberedBody) -> None:
        """Another loop, with classes that the group didn't have before."""
        for one, at, became in zip(run.assumed, classes, first.next, strict=True):
            if at is not None:
                same = self.begun.setdefault((one.initial, one.kept, became), [])
                if at not in same:
                    same.append(at)
        self.classes += added
        self.firsts += [len(self.runs)] * len(added)
        self.runs.append((run, classes))


def first_pass(numbering: Numbering, run: Run) -> NumberedBody:
    """A pass of a loop, if all carried values that begin equally are one, of all loops with the same limits.

    Loops that are one have one first pass. It is numbered once, so that a loop is compared with those that it is like
    and not with all that run equally often, of which there may be very many.
    """
    key = (frozenset(run.limits), run.entered)
    if key not in numbering.contexts:
        numbering.contexts[key] = numbering.m.table.context()
    context = numbering.contexts[key]
    iteration = variable(iteration_of(numbering, context, run))
    seen = [seen_value(numbering, context, one, iteration, (one.initial, one.kept)) for one in run.assumed]
    before = numbering.contradicted
    body = number_body(numbering, run, iteration, seen, is_tried=True)
    numbering.contradicted = before  # what is assumed may be what is wrong
    return body


def new_group(numbering: Numbering, run: Run, first: NumberedBody) -> tuple[Group, list[int | None], NumberedBody]:
    """A group of this loop alone."""
    context = numbering.m.table.context()
    iteration = iteration_of(numbering, context, run)
    body = number_alone(numbering, run, context)
    classes: list[Class] = []
    numbers: dict[Any, int] = {}
    found: list[int | None] = []
    for one, seen, became in zip(run.assumed, body.seen, body.next, strict=True):
        if not one.varies:
            found.append(None)
            continue
        if one.class_of not in numbers:
            numbers[one.class_of] = len(classes)
            classes.append(Class(one.initial, one.kept, seen, became))
        found.append(numbers[one.class_of])
    passes = _passes(numbering, run, context if body.condition is not None else None)
    group = Group(context, passes, iteration, [], body.condition)
    group.add(run, found, classes, first)
    _keep(numbering, group, run, found, body)
    return group, found, body


def _passes(numbering: Numbering, run: Run, context: int | None) -> Size:
    """How often the body runs; `context`: of the loop, if its condition has a say."""
    table, limits = numbering.m.table, run.limits
    if context is None and limits:
        least = least_of(numbering, limits)
        if run.entered is None:
            return least
        entered = numbering.m.make(IF, run.entered, table.scalar(least), table.scalar(0))
        (passes,) = table.elements(entered) or (0,)
        atom = as_atom(passes)
    else:
        atom = table.term(PASSES, (), (), Typed(DType.INT64, ()), key=(frozenset(limits), run.entered, context))
        atom.open = open_outside(run)
    assert atom is not None
    table.bound(atom, 0)
    for limit in limits:
        table.bound(atom, None, limit)
    return variable(atom)


def least_of(numbering: Numbering, limits: Sequence[Size]) -> Size:
    """The smallest of several limits."""
    m = numbering.m
    least = limits[0]
    for limit in limits[1:]:
        found = m.table.elements(m.make("Min", m.table.scalar(least), m.table.scalar(limit)))
        assert found is not None
        (least,) = found
    atom = as_atom(least)
    if atom is not None and len(limits) > 1:
        m.table.bound(atom, 0)
        for limit in limits:
            m.table.bound(atom, None, limit)
    return least


@dataclass(slots=True)
class _Item:
    """A carried value while classes are refined."""

    initial: Term
    kept: tuple[bool, ...] | None
    class_of: Any
    at: int | None  # class of the group, None: of the loop that wants to join
    slots: list[int]  # carried values of that loop


def join(
    numbering: Numbering, group: Group, run: Run, first: NumberedBody
) -> tuple[list[int | None], NumberedBody] | None:
    """The class of each carried value of a loop in a group, and its body in terms of classes; None: it runs otherwise.

    Classes that the loop has and the group hasn't become the group's.
    """
    own: dict[Any, _Item] = {}
    for slot, one in enumerate(run.assumed):
        if one.varies:
            if one.class_of not in own:
                own[one.class_of] = _Item(one.initial, one.kept, (one.initial, one.kept), None, [])
            own[one.class_of].slots.append(slot)
    alike = {
        at
        for one, became in zip(run.assumed, first.next, strict=True)
        if one.varies
        for at in group.begun.get((one.initial, one.kept, became), ())
    }
    place: dict[Any, int] = {}
    if alike:
        members = [group.runs[position] for position in sorted({group.firsts[at] for at in alike})]
        known = dict.fromkeys(at for _, classes in members for at in classes if at is not None)
        theirs = {at: (group.classes[at].initial, group.classes[at].kept) for at in known}
        items = [_Item(*begun, begun, at, []) for at, begun in sorted(theirs.items())]
        _refine(numbering, members, run, [*items, *own.values()])
        place = {item.class_of: item.at for item in items if item.at is not None}
    else:  # they stay apart where nothing of the group can be one of them
        for number, item in enumerate(own.values()):
            item.class_of = number
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
        seen_value(numbering, group.index, one, iteration, at)
        if at is None or at >= len(group.classes)
        else group.classes[at].variable
        for one, at in zip(run.assumed, classes, strict=True)
    ]
    body = number_body(numbering, run, iteration, seen)
    if body.condition is not group.condition:
        return None
    added: dict[int, Class] = {}
    for one, at, value, became in zip(run.assumed, classes, seen, body.next, strict=True):
        if at is None:
            continue
        if at >= len(group.classes):
            added.setdefault(at, Class(one.initial, one.kept, value, became))
        known = added[at] if at in added else group.classes[at]
        if known.next is not became or known.initial is not one.initial or known.kept != one.kept:
            return None  # the classes are no induction
    group.add(run, classes, [added[at] for at in sorted(added)], first)
    _keep(numbering, group, run, classes, body)
    return classes, body


@dataclass(frozen=True, slots=True)
class Member:
    """How a loop on certain operands was numbered: its group, the class of each carried value, its body by classes."""

    group: Group
    run: Run
    classes: list[int | None]
    body: NumberedBody


def _keep(numbering: Numbering, group: Group, run: Run, classes: list[int | None], body: NumberedBody) -> None:
    """Remember how a loop was numbered. Of inner ones that may rest on assumptions about outer ones."""
    numbering.loops[run.node, run.operands] = Member(group, run, classes, body)
    if not numbering.depth:
        numbering.bodies[run.node] = body.terms


def _refine(
    numbering: Numbering, members: Sequence[tuple[Run, list[int | None]]], run: Run, items: Sequence[_Item]
) -> None:
    """Split classes of items by what they become, until that tells no more of them apart."""
    for _ in range(len(items) + 1):
        context = numbering.m.table.context()
        became: dict[int, Term] = {}  # by position of the item
        position = {item.at: index for index, item in enumerate(items) if item.at is not None}
        mine = {slot: index for index, item in enumerate(items) for slot in item.slots}
        for member, classes in [*members, (run, None)]:
            iteration = variable(iteration_of(numbering, context, run))
            places = [
                (mine.get(slot) if classes is None else position.get(classes[slot])) if one.varies else None
                for slot, one in enumerate(member.assumed)
            ]
            seen = [
                seen_value(numbering, context, one, iteration, None if at is None else (items[at].class_of,))
                for one, at in zip(member.assumed, places, strict=True)
            ]
            before = numbering.contradicted
            body = number_body(numbering, member, iteration, seen)
            numbering.contradicted = before
            for at, term in zip(places, body.next, strict=True):
                if at is not None:
                    became.setdefault(at, term)
        if not split([(item, became.get(index)) for index, item in enumerate(items)]):
            return
