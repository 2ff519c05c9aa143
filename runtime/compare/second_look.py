"""What is looked for before a difference is believed, and before a trial is given up as inconclusive.

Each of these costs further runs, so that they are only made where runtimes don't agree.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ..oracles import Batch
from .answers import Answer, Pair, SideAnswers, TrialAnswers, answer_of
from .record import plural
from .runnables import Asking, Runnable, outcomes_of
from .special import known_habit
from .tolerance import Difference

MOST_REPEATS = 8
"""So many trials are run once more in new processes before what differs there is believed."""

PATIENCE = 60.0
"""Seconds for looking into differences: runtimes are asked again, operators are watched."""


class Apart(Protocol):
    """The first difference between two answers of one side beyond what rounding allows, or (`near`) than a few units
    in the last place; None if there is none."""

    def __call__(self, one: Answer, other: Answer, near: bool = ...) -> Difference | None: ...


class SecondLook:
    """What is asked once more in one comparison."""

    def __init__(self, apart: Apart) -> None:
        self._apart = apart
        self._patience = PATIENCE
        self._repeats = 0
        self._unsteady: dict[str, int] = {}
        self._asking: dict[str, Asking] = {}
        self._by_one: dict[str, int] = {}
        self._last: dict[str, tuple[Batch, Answer]] = {}

    @property
    def is_over(self) -> bool:
        """Whether the time for it is used up."""
        return self._patience <= 0

    def close(self) -> None:
        """End the processes."""
        for one in self._asking.values():
            one.close()

    def lines(self) -> Iterator[str]:
        """What the report says of it."""
        for who, trials in self._unsteady.items():
            yield f"{who} answers otherwise in {plural(trials, 'trial')} when it is started anew; that counts"
        for who, trials in self._by_one.items():
            yield f"{trials} trials were decided by {who}, which gives the same for both files"

    def unsteady(self, both: TrialAnswers) -> bool:
        """Ask runtimes that aren't ours once more, each in a new process: what they say then counts.

        OpenVINO's CPU takes shapes of an earlier run for those of this one where sizes are open.
        """
        if self._repeats == MOST_REPEATS or self.is_over:
            return False
        start = time.monotonic()
        self._repeats += 1
        changed = False
        for one in both:
            for answer in one.own:
                copied = {
                    name: np.copy(value) if isinstance(value, np.ndarray) else value
                    for name, value in one.given.items()
                }
                again = answer_of(one.side, answer.runnable, next(outcomes_of(answer.runnable, [copied])))
                if again.failed or (again.usable and self._apart(answer, again) is not None):
                    answer.outcome, answer.outputs = again.outcome, again.outputs
                    key = f"{answer.runnable.name} on {one.side.name}"
                    self._unsteady[key] = self._unsteady.get(key, 0) + 1
                    changed = True
        self._patience -= time.monotonic() - start
        return changed

    def mark_habits(self, both: TrialAnswers) -> bool:
        """Give a fault to the answers into which special values went that their runtimes treat in their own way.

        What A's operators are given goes into B, too, where they may be spelled out in others.
        """
        if self.is_over:
            return False
        start = time.monotonic()
        marked = False
        seen: dict[str, set[str]] = {}
        for one in both:
            _add_seen(one, seen)
            for answer in one.own:
                fault = known_habit(answer.runnable.name, seen)
                if fault:
                    answer.outcome = replace(answer.outcome, fault=fault)
                    marked = True
        self._patience -= time.monotonic() - start
        return marked

    def habit(self, both: TrialAnswers, runnables: Sequence[str]) -> str:
        """The known way of one of these with special values that went into it, "" if there is none."""
        if self.is_over:
            return ""
        start = time.monotonic()
        seen: dict[str, set[str]] = {}
        for one in both:
            _add_seen(one, seen)
        self._patience -= time.monotonic() - start
        return next(filter(None, (known_habit(name, seen) for name in runnables)), "")

    def by_one_runtime(self, both: TrialAnswers, near: bool = False) -> Pair | None:
        """The answers of one runtime for both files, where they are the same.

        A runtime that computes exp by a short polynomial gives B other numbers than A's own runtime gives A, and the
        same as it gives A itself.

        Args:
            near: within a few units in the last place, else within what the element type's rounding allows.
        """
        for place, (one, other) in enumerate((both, both[::-1])):
            twin = one.side.twin
            theirs = [answer for answer in other.answers if twin is not None and answer.runnable.name == twin.name]
            if twin is None or not theirs:
                continue
            found = self._same(one, twin, theirs, near)
            if found is not None:
                self._by_one[twin.name] = self._by_one.get(twin.name, 0) + 1
                a, b = found
                return (b, a) if place else (a, b)
        return None

    def is_parted(self, both: TrialAnswers) -> bool:
        """Whether another reader of A gives what B's own runtime gives B: A's runtime is alone with its answer then,
        and which of them is right can't be told. Where B's runtime is A's, our executor must part with it over A, too.
        """
        a, b = both
        if self.by_one_runtime(both, near=True) is not None:
            return True
        third = a.side.third
        if third is None:
            return False
        doubted = self._executor_parts(a)
        mine = {answer.runnable.name for answer in a.answers}
        theirs = [
            answer
            for answer in b.own
            if answer.runnable.name != third.name and (doubted or answer.runnable.name not in mine)
        ]
        return self._same(a, third, theirs, near=True) is not None

    def _executor_parts(self, one: SideAnswers) -> bool:
        """Whether our executor gives something else for a file than its own runtime does."""
        return any(self._apart(executor, runtime) is not None for executor in one.ours for runtime in one.own)

    def _same(self, one: SideAnswers, asked: Runnable, theirs: Sequence[Answer], near: bool) -> Pair | None:
        """What a runnable gives one side, with the first of the other side's answers that is the same.

        That counts although the runnable is known to be wrong about such models: it wasn't here.
        """
        if self.is_over or not any(answer.usable for answer in theirs):
            return None
        found = self._asked(one, asked)
        for answer in theirs:
            if answer.usable and found.outputs is not None and self._is_same(found, answer, near):
                return found, answer
        return None

    def _asked(self, one: SideAnswers, asked: Runnable) -> Answer:
        key = f"{asked.name} on {one.side.name}"
        given, answer = self._last.get(key, (None, None))
        if answer is None or given is not one.given:
            start = time.monotonic()
            asking = self._asking.setdefault(key, Asking(asked.run))
            answer = answer_of(one.side, asked, asking.ask(one.given))
            self._last[key] = one.given, answer
            self._patience -= time.monotonic() - start
        return answer

    def _is_same(self, found: Answer, answer: Answer, near: bool) -> bool:
        """Their outputs are in the same order, under each side's own names."""
        mine, theirs = found.outputs or {}, answer.outputs or {}
        renamed = dict(zip(theirs, mine.values(), strict=False))
        return len(mine) == len(theirs) and self._apart(replace(found, outputs=renamed), answer, near) is None


def _add_seen(one: SideAnswers, seen: dict[str, set[str]]) -> None:
    """Operators of a file -> kinds of special values that they are given."""
    if one.side.watch is not None:
        for operator, kinds in (next(iter(one.side.watch.run([one.given]))).outputs or {}).items():
            seen.setdefault(operator, set()).update(np.asarray(kinds, object).reshape(-1))
