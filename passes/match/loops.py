"""Loops as terms: carried values by induction over the passes, and which loops are one.

What holds before the first pass and, if it holds before a pass, holds after it, holds before every pass. Such
properties are assumed as strong as they can be, all at once, and weakened where numbering the body refutes them, until
nothing is refuted: a carried value never changes; it is `initial + step * pass`; it has the shape it began with; two of
them are always equal. What stands together after a round is justified together.

Loops that run equally often form a group, in which carried values of all of them are compared: those that begin equally
are assumed to be one until bodies tell them apart (Moore's refinement over the slots of all loops of the group). A
carried value's class in its group is its number; the term of a stacked value is that of its element by classes.
Most loops that are alike have been told so before they are compared, as classes have names by what became of them.
"""

from __future__ import annotations

from ..graph import Node
from .assumptions import number_alone, settle
from .groups import classes_in, join, keep, may_join, new_group
from .numbering import Numbering
from .results import chosen, results, unrolled
from .runs import Run, Unfollowed, begin, is_choice, known_trips, open_outside
from .terms import Term


def number_loop(numbering: Numbering, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
    """The terms of the results of a Loop."""
    try:
        run = begin(numbering, node, operands)
        known = known_trips(run)
        if known is not None and known <= numbering.unroll:
            return unrolled(numbering, run, known)
        if is_choice(run):
            return chosen(numbering, run)
        return _number(numbering, run)
    except Unfollowed:
        return numbering.unlike_all(node)


def _number(numbering: Numbering, run: Run) -> list[Term]:
    if not numbering.depth:
        numbering.learned.clear()
    context, body = settle(numbering, run)
    numbering.height = max(numbering.height, body.height + 1)
    groups = numbering.groups.setdefault((frozenset(run.limits), run.entered, open_outside(run)), [])
    for group in groups:
        classes = classes_in(group, context, run, body)
        if classes is not None:
            keep(numbering, group, run, classes, body)
            return results(numbering, group, run, classes, body)
    like = [group for group in groups if may_join(numbering, group, run, body)]
    for group in like:
        joined = join(numbering, group, run)
        if joined is not None:
            return results(numbering, group, run, joined[0], joined[1])
    if any(group.index == context for group in groups):  # whose variables they are
        context = numbering.m.table.context()
        body = number_alone(numbering, run, context)
    group, classes = new_group(numbering, context, run, body)
    groups.append(group)
    return results(numbering, group, run, classes, body)
