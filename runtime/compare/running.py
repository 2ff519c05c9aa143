"""What all runnables of two sides answer, trial by trial."""

from __future__ import annotations

from ..oracles import Outcome
from .matching import Matching, renamed
from .runnables import Asking, outcomes_of
from .sides import Side
from .signature import Designed

NOT_ASKED = Outcome(error="not asked: the files' runtimes agree", stage="skipped")
"""Of our executors, where the files' own runtimes were enough."""


class TrialRuns:
    """All runnables of both sides, and what they answer.

    Our executors skip the trials that are `sparing`, until they are asked.
    """

    def __init__(self, a: Side, b: Side, designed: list[Designed], inputs: Matching) -> None:
        self._designed = designed
        self._given = [
            (runnable, [one.inputs if side is a else renamed(one.inputs, inputs.pairs) for one in designed])
            for side in (a, b)
            for runnable in side.runnables
        ]
        self._streams = [
            outcomes_of(one, [given[k] for k, trial in enumerate(designed) if one.own or not trial.sparing])
            for one, given in self._given
        ]
        self._asking: dict[int, Asking] = {}
        self._last: list[Outcome] = []

    def outcomes(self, number: int) -> list[Outcome]:
        """The next trial's."""
        self._last = [
            next(stream) if one.own or not self._designed[number].sparing else NOT_ASKED
            for (one, _), stream in zip(self._given, self._streams, strict=True)
        ]
        return self._last

    def all_outcomes(self, number: int) -> list[Outcome]:
        """The same trial's, with those of our executors."""
        for place, (one, given) in enumerate(self._given):
            if self._last[place] is NOT_ASKED:
                asking = self._asking.setdefault(place, Asking(one.run))
                self._last[place] = asking.ask(given[number])
        return self._last

    def close(self) -> None:
        """End their processes."""
        for one in (*self._streams, *self._asking.values()):
            one.close()
