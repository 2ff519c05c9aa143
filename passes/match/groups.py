"""Groups of loops that run equally often, and the classes of their carried values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..types import DType
from .assumptions import context_of, split
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
        places: of each class by its variable.
        starts: how classes begin.
        height: of the first loop, see `Numbering`.
        is_outermost: whether that stands in no other loop.
    """

    index: int
    passes: Size
    iteration: Term
    classes: list[Class]
    condition: Term | None
    height: int
    is_outermost: bool
    runs: list[tuple[Run, list[int | None]]] = field(default_factory=list[Any])
    firsts: list[int] = field(default_factory=list[int])
    places: dict[Term, int] = field(default_factory=dict[Term, int])
    starts: set[Any] = field(default_factory=set[Any])
    _begun: dict[Any, list[int]] = field(default_factory=dict[Any, Any])
    _looked_at: int = 0

    def add(self, run: Run, classes: list[int | None], added: Sequence[Class]) -> None:
        """Another loop, with classes that the group didn't have before."""
        for one in added:
            self.places.setdefault(one.variable, len(self.classes))
            self.starts.add((one.initial, one.kept))
            self.classes.append(one)
        self.firsts += [len(self.runs)] * len(added)
        self.runs.append((run, classes))

    def begun(self, numbering: Numbering) -> dict[Any, list[int]]:
        """The classes by how they begin and what a `first_pass` makes of them."""
        while self._looked_at < len(self.runs):
            run, classes = self.runs[self._looked_at]
            self._looked_at += 1
            for one, at, became in zip(run.assumed, classes, first_pass(numbering, run, self.height).next, strict=True):
                if at is not None:
                    same = self._begun.setdefault((one.initial, one.kept, became), [])
                    if at not in same:
                        same.append(at)
        return self._begun


def first_pass(numbering: Numbering, run: Run, height: int) -> NumberedBody:
    """A pass of a loop, if all carried values that begin equally are one, in the variables of `context_of`.

    Loops that are one have one first pass. It is numbered once, so that a loop is compared with those that it is like
    and not with all that run equally often, of which there may be very many.
    """
    if height not in run.first:
        context = context_of(numbering, run, height)
        iteration = variable(iteration_of(numbering, context, run))
        seen = [
            seen_value(numbering, context, one, iteration, (None, one.kept, one.initial.number)) for one in run.assumed
        ]
        before = numbering.contradicted
        run.first[height] = number_body(numbering, run, iteration, seen, is_tried=True)
        numbering.contradicted = before  # what is assumed may be what is wrong
    return run.first[height]


def new_group(numbering: Numbering, context: int, run: Run, body: NumberedBody) -> tuple[Group, list[int | None]]:
    """A group of this loop alone, whose body was numbered in these variables."""
    passes = _passes(numbering, run, context if body.condition is not None else None)
    group = Group(
        context, passes, iteration_of(numbering, context, run), [], body.condition, body.height, not numbering.depth
    )
    classes = classes_in(group, context, run, body)
    assert classes is not None
    keep(numbering, group, run, classes, body)
    return group, classes


def classes_in(group: Group, context: int, run: Run, body: NumberedBody) -> list[int | None] | None:
    """The class of each carried value of a loop, whose body was numbered in variables of this context, in a group whose
    variables these are. None where others are, where the loop runs otherwise, or where one may be of a class under
    another name.

    The loop becomes one of the group's then, as do its classes.
    """
    if group.index != context or body.condition is not group.condition:
        return None
    found: list[int | None] = [None] * len(run.assumed)
    added: dict[Term, Class] = {}
    for slot, (one, seen, became) in enumerate(zip(run.assumed, body.seen, body.next, strict=True)):
        if not one.varies:
            continue
        at = group.places.get(seen)
        if at is None:
            if (one.initial, one.kept) in group.starts:
                return None
            known = added.setdefault(seen, Class(one.initial, one.kept, seen, became))
            found[slot] = len(group.classes) + list(added).index(seen)
        else:
            known, found[slot] = group.classes[at], at
        if known.next is not became:
            return None
    group.add(run, found, [*added.values()])
    return found


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


def may_join(numbering: Numbering, group: Group, run: Run, body: NumberedBody) -> bool:
    """Whether a loop with this body may run as often as those of a group, and how high it is doesn't keep it apart:
    loops in others are compared with all too many of these otherwise."""
    if group.height != body.height and not (group.is_outermost and not numbering.depth):
        return False
    if body.condition is None or group.condition is None:
        return body.condition is group.condition
    passes = (first_pass(numbering, one, group.height) for one in (run, group.runs[0][0]))
    return next(passes).condition is next(passes).condition


def join(numbering: Numbering, group: Group, run: Run) -> tuple[list[int | None], NumberedBody] | None:
    """The class of each carried value of a loop in a group, and its body in terms of classes; None: it runs otherwise.

    Classes that the loop has and the group hasn't become the group's.
    """
    own: dict[Any, _Item] = {}
    for slot, one in enumerate(run.assumed):
        if one.varies:
            begun = (one.initial, one.kept)
            own.setdefault((*begun, one.class_of), _Item(*begun, begun, None, [])).slots.append(slot)
    alike: set[int] = set()
    if any((item.initial, item.kept) in group.starts for item in own.values()):
        first, begun = first_pass(numbering, run, group.height), group.begun(numbering)
        alike.update(
            at
            for one, became in zip(run.assumed, first.next, strict=True)
            if one.varies
            for at in begun.get((one.initial, one.kept, became), ())
        )
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
    group.add(run, classes, [added[at] for at in sorted(added)])
    keep(numbering, group, run, classes, body)
    return classes, body


@dataclass(frozen=True, slots=True)
class Member:
    """How a loop on certain operands was numbered: its group, the class of each carried value, its body by classes."""

    group: Group
    run: Run
    classes: list[int | None]
    body: NumberedBody


def keep(numbering: Numbering, group: Group, run: Run, classes: list[int | None], body: NumberedBody) -> None:
    """Remember how a loop was numbered. Of inner ones that may rest on assumptions about outer ones."""
    numbering.contradicted = body.contradicted or numbering.contradicted
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
