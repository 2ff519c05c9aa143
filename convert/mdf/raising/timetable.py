"""Which nodes run in which pass, where that is known before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.errors import Unsupported
from .conditions import Count, Every, Threshold, walk
from .logic import Logic, Term
from .loops import Body
from .scheduler import Scheduler, Turn

Timetable = list[frozenset[str]]
"""The nodes that run, pass by pass."""

MOST_PASSES = 10_000
"""Passes that are tried out; a run that takes more is left to counters in the model."""


class _HangsOnData(Exception):
    """Which nodes run hangs on what they compute."""


def _unknown(_: Threshold) -> Term:
    raise _HangsOnData


def timetable(scheduler: Scheduler) -> Timetable | None:
    """Which nodes run when; None where that hangs on what they compute, or there are very many passes.

    Raises:
        Unsupported: the run doesn't end.
    """
    counters = scheduler.start()
    passes: Timetable = []
    try:
        goes_on = not Turn(scheduler, Logic(), counters, _unknown).over()
        while goes_on and len(passes) < MOST_PASSES:
            turn = Turn(scheduler, Logic(), counters, _unknown)
            turn.begin()
            passes.append(
                frozenset(name for names in scheduler.sets for name, ran in turn.choose(names).items() if ran)
            )
            goes_on = bool(turn.end())
    except _HangsOnData:
        return None
    if not goes_on:
        return passes
    if _largest(scheduler) < MOST_PASSES // 10:
        raise Unsupported("termination", f"the run hasn't ended after {MOST_PASSES} passes")
    return None


def _largest(scheduler: Scheduler) -> float:
    """The largest number that a condition counts to."""
    numbers = [
        one.number
        for test in (*scheduler.tests.values(), *scheduler.ends)
        for one in walk(test)
        if isinstance(one, Count | Every)
    ]
    return max(numbers, default=0)


def flag(body: Body, row: Sequence[bool]) -> Term:
    """The flag of this run of a loop's body; `row` has one for each run."""
    table = np.asarray(row, np.bool_)
    changes = np.flatnonzero(table[1:] != table[:-1]) + 1
    if not changes.size:
        return bool(table[0])
    if changes.size == 1:
        return body.logic.compare(body.iteration, ">=" if table[-1] else "<", int(changes[0]))
    on = np.flatnonzero(table)
    if on.size == 1:
        return body.logic.compare(body.iteration, "==", int(on[0]))
    start, step = int(on[0]), int(on[1] - on[0])
    if start < step and np.array_equal(on, np.arange(start, len(table), step)):
        return body.logic.every(body.iteration, step, start)
    return body.part(table)
