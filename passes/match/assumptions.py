"""What holds of a loop's carried values before every pass: assumed, and weakened until numbering the body agrees.

Numbering a body numbers the loops in it, each of which is numbered several times for the same reason: depth must not
make that a power. So a loop that is met again, while a loop around it is tried under weaker assumptions, begins with
what was found of it before, as what was refuted where more was assumed still is. And its variables have one context for
all tries, so that what was numbered last is numbered for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .numbering import Numbering
from .polynomials import Size, variable
from .runs import (
    Assumed,
    NumberedBody,
    Run,
    Unfollowed,
    advanced,
    iteration_of,
    number_body,
    open_outside,
    seen_value,
)
from .terms import Term, depends
from .wraps import wrap_of

_ROUNDS = 64


def settle(numbering: Numbering, run: Run) -> tuple[int, NumberedBody]:
    """Find what can be assumed of the carried values of a loop by itself.

    Returns:
        The context of the variables, see `context_of`, and the body in terms of these.
    """
    place = (*numbering.sites, run.node)
    height, known = numbering.learned.get(place, (0, ()))
    _recall(numbering, run, known)
    for _ in range(_ROUNDS + 4 * len(run.assumed)):
        context = context_of(numbering, run, height)
        iteration = iteration_of(numbering, context, run)
        seen = [
            seen_value(numbering, context, one, variable(iteration), (one.class_of, one.kept, one.initial.number))
            for one in run.assumed
        ]
        before, numbering.contradicted = numbering.contradicted, None
        body = number_body(numbering, run, variable(iteration), seen, is_tried=True)
        body.contradicted, numbering.contradicted = numbering.contradicted, before
        changed, height = height != body.height, body.height
        for at, (one, became) in enumerate(zip(run.assumed, body.next, strict=True)):
            if at in body.refuted:
                first = one.whole(numbering.m, one.initial)
                one.wrap, one.is_bare = None, True
                one.begin(first)
                changed = True
            else:
                changed |= _weakened(numbering, one, became, iteration)
        varying = [(one, became) for one, became in zip(run.assumed, body.next, strict=True) if one.varies]
        if not (changed or split(varying)):
            numbering.learned[place] = height, [replace(one) for one in run.assumed]
            if all(one.class_of is None for one in run.assumed):
                run.first[height] = body
            return context, body
    raise Unfollowed


def context_of(numbering: Numbering, run: Run, height: int) -> int:
    """The context of the variables of loops that have the same limits, are entered alike, and hold as many loops in
    each other, so that a loop and one in it that begin alike are apart. What is known of the number of a pass is so of
    all of them, and none of the variables is open where such a loop stands."""
    key = (frozenset(run.limits), run.entered, open_outside(run), height)
    if key not in numbering.contexts:
        numbering.contexts[key] = numbering.m.table.context()
    return numbering.contexts[key]


def _recall(numbering: Numbering, run: Run, known: Sequence[Assumed]) -> None:
    """Begin with what was assumed last of a loop."""
    for one, last in zip(run.assumed, known, strict=False):
        initial = one.initial
        if last.wrap is not None:
            inner = last.wrap.taken_off(numbering.m, initial, last.initial)
            if inner is None:
                continue
            initial = inner
        if initial.dtype is not last.initial.dtype or initial.container != last.initial.container:
            continue
        one.begin(initial)
        one.wrap, one.is_bare, one.is_recalled = last.wrap, last.is_bare, bool(last.step)
        if last.kept is None or one.kept is None:
            one.kept = None
        elif len(last.kept) == len(one.kept):
            one.kept = last.kept
        one.step, one.class_of = last.step, last.class_of
        if one.step and initial.static_shape != last.initial.static_shape:
            one.step, one.is_recalled = (), False


def _weakened(numbering: Numbering, one: Assumed, became: Term, iteration: Term) -> bool:
    """Weaken what is assumed of a carried value as far as what it becomes refutes it; whether that was needed."""
    m = numbering.m
    if became.dtype is not one.initial.dtype or became.container != one.initial.container:
        if one.kept is None and one.step is None:
            raise Unfollowed
        one.step = one.kept = None  # the body makes no sense of what was assumed
        return True
    if one.step is not None:
        if became is advanced(m, one, variable(iteration) + 1):
            return False
        if one.is_recalled:  # what a pass adds may be another number now
            one.step, one.is_recalled = (), False
            return True
        one.step = _step(m, one, became, iteration) if one.is_kept else None
        if one.step is None and one.wrap is None and not one.is_bare:
            found = wrap_of(m, one.initial, became, next(iter(iteration.open)))
            if found is not None:
                one.wrap = found[0]
                one.begin(found[1])
        return True
    if one.kept is None:
        return False
    if became.shape is None or one.initial.shape is None or len(became.shape) != len(one.kept):
        one.kept = None
        return True
    refuted = [kept and old != new for kept, old, new in zip(one.kept, one.initial.shape, became.shape, strict=True)]
    one.kept = tuple(kept and not gone for kept, gone in zip(one.kept, refuted, strict=True))
    return any(refuted)


def _step(m: Any, one: Assumed, became: Term, iteration: Term) -> tuple[Size, ...] | None:
    """What a pass adds to an integer that was assumed not to change; None if that isn't the same in each pass."""
    before, after = m.table.elements(one.initial), m.table.elements(became)
    if before is None or after is None or one.initial.static_shape != became.static_shape:
        return None
    steps = tuple(new - old for old, new in zip(before, after, strict=True))
    context = next(iter(iteration.open))
    return None if any(depends(step, context) for step in steps) else steps


def split(of: Sequence[tuple[Any, Term | None]]) -> bool:
    """Give members of a class that differ in what they become classes of their own; whether there are more now.

    A class is told by what its members became each time, so that loops which are alike have the same classes. Members
    that begin differently, or keep other sizes, never were in one.
    """
    became: dict[Any, set[Term | None]] = {}
    for one, after in of:
        became.setdefault((one.class_of, one.initial, one.kept), set()).add(after)
    parted = {of_class for of_class, terms in became.items() if len(terms) > 1}
    for one, after in of:
        if (one.class_of, one.initial, one.kept) in parted:
            one.class_of = (one.class_of, after)
    return bool(parted)


def number_alone(numbering: Numbering, run: Run, context: int) -> NumberedBody:
    iteration = iteration_of(numbering, context, run)
    seen = [
        seen_value(numbering, context, one, variable(iteration), (one.class_of, one.kept, one.initial.number))
        for one in run.assumed
    ]
    return number_body(numbering, run, variable(iteration), seen)
