"""What holds of a loop's carried values before every pass: assumed, and weakened until numbering the body agrees."""

from __future__ import annotations

from collections.abc import Sequence
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
    seen_value,
)
from .terms import Term, depends
from .wraps import wrap_of

_ROUNDS = 64


def settle(numbering: Numbering, run: Run) -> None:
    """Find what can be assumed of the carried values of a loop by itself."""
    for _ in range(_ROUNDS + 4 * len(run.assumed)):
        context = numbering.m.table.context()
        iteration = iteration_of(numbering, context, run)
        seen = [
            seen_value(numbering, context, one, variable(iteration), (one.class_of, one.kept, one.initial.number))
            for one in run.assumed
        ]
        before = numbering.contradicted
        body = number_body(numbering, run, variable(iteration), seen, is_tried=True)
        numbering.contradicted = before  # what is assumed may be what is wrong
        changed = False
        for at, (one, became) in enumerate(zip(run.assumed, body.next, strict=True)):
            if at in body.refuted:
                first = one.whole(numbering.m, one.initial)
                one.wrap, one.is_bare = None, True
                one.begin(first)
                changed = True
            else:
                changed |= _weakened(numbering, one, became, iteration)
        varying = [(one, became) for one, became in zip(run.assumed, body.next, strict=True) if one.varies]
        if not changed:
            changed = split([(one, (one.initial, one.kept, became)) for one, became in varying])
        if not changed:
            return
    raise Unfollowed


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


def split(of: Sequence[tuple[Any, Any]]) -> bool:
    """Give members of a class that differ in what they become classes of their own; whether there are more now."""
    before = len({one.class_of for one, _ in of})
    classes: dict[Any, int] = {}
    for one, became in of:
        one.class_of = classes.setdefault((one.class_of, became), len(classes))
    return len(classes) > before


def number_alone(numbering: Numbering, run: Run, context: int) -> NumberedBody:
    iteration = iteration_of(numbering, context, run)
    seen = [seen_value(numbering, context, one, variable(iteration), one.class_of) for one in run.assumed]
    return number_body(numbering, run, variable(iteration), seen)
