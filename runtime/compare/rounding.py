"""Whether rounding explains how far two answers lie apart, decided by what rounding does to the model itself.

Both models are run in float64 (A and B, `exact`), and A some times with rounding errors drawn at random, which gives
each element of its outputs a spread, see `runtime.wide`. A distance is rounding if

    |exact B - exact A| <= 1 spread                     the files mean the same
    |B's answer - exact A| <= max(6, 3 * own) spreads   and its runtime computes what they mean

where `own` is the largest distance of A's own answers from what A means. What is computed from constants alone one
file may hold rounded and the other not: runs with errors there alone say how much that explains beside. Where the
files mean the same, results of two different runtimes that lie within the tolerances of their element type are the
same, too. What lies up to 4 times (of two runtimes 64 times) as far as is allowed is inconclusive then: runtimes use
formulas that round more than the operators do. Where strong noise (6 times as large) moves an element by leaps, a
comparison or a quantizer turns there: nothing follows from it. Nor does anything where the spread is as large as the
output. Where it moves the two sides of a comparison of scalars as far as they lie apart, a loop ends by chance, and all
but finite real numbers tell nothing. These are "inconclusive", and so is a trial for which no time is left: not
compared. But where B forced to A's steps (of quantizers) is the same, a step that turned is rounding like any other.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..oracles import Batch, Outcome, Values
from ..wide.evidence import PATIENT_RUNS, STRONG_RUNS, Evidence, Output
from .answers import Answer
from .runnables import Asking
from .tolerance import Measure

BUDGET = 60.0
"""Seconds. After them what lies no further apart than what rounding explained in the trials before, in units of the
tolerance table, is taken for rounding as well; of the rest only what lies far further apart is looked at."""

SETTLED_BUDGET = 2.0
"""Seconds at most after a difference was found: what is looked at from there on doesn't change the verdict."""

_PATIENCE, _LEAST = 54.0, 2.0  # seconds for one set of inputs, below those after which the process is killed
_LATE = "not decided whether rounding explains it, the time for that is used up"

_GROSS = 10.0
_MORE = 8  # so many trials are looked at after the budget, as long as twice the budget lasts
_ASK = "ask"


class Rounding:
    """The judge of one comparison.

    Args:
        run: asks both models, see `convert.rounding_session`.
        double: the models compute in float64, too, which some runtimes don't.
        alone: only A has a float64 run, against which B's answers are held.
        budget: seconds, see `BUDGET`.
    """

    def __init__(
        self,
        run: Callable[[Iterable[Batch]], Iterable[Outcome]],
        double: bool = False,
        alone: bool = False,
        budget: float = BUDGET,
    ) -> None:
        self.alone = alone
        self._run, self._double, self._left = run, double, budget
        self._more, self._overdraft = _MORE, 2 * budget
        self._is_settled = False
        self._asking: Asking | None = None
        self._largest = 0.0  # units of the tolerance table that rounding has explained
        self._meaning = 0.0
        self._away: dict[str, tuple[float, float]] = {}
        self._remarks: dict[int, Counter[str]] = {}
        self.is_wider = True

    def close(self) -> None:
        """End the other process."""
        if self._asking is not None:
            self._asking.close()

    def difference_found(self) -> None:
        """A difference was found: what is left to look at is for the report alone."""
        if not self._is_settled:
            self._left, self._more, self._is_settled = min(self._left, SETTLED_BUDGET), 0, True

    def lines(self, same: bool) -> Iterator[str]:
        """What the report says of rounding; `same`: no difference was found."""
        if self._away and same:
            away = "; ".join(
                f"{name}'s result is {z:.2g} rounding errors away, {allowed:.2g} are allowed"
                for name, (z, allowed) in self._away.items()
            )
            agree = f"same computation in float64 ({self._meaning:.2g} of a rounding error apart); "
            yield f"{'' if self.alone else agree}{away}"
        if not self.is_wider:
            yield "nothing wider than float64 was to be had: rounding in float64 was judged by its own size"
        for why, count in sum(self._remarks.values(), Counter[str]()).items():
            yield f"{count} {'output' if count == 1 else 'outputs'}: {why}"

    # what trials ask ------------------------------------------------------------------------------------

    def coarse(self, one: Answer, other: Answer) -> bool:
        return self._double and (one.outcome.coarse or other.outcome.coarse)

    def ask(self, batch: Batch, strong: int, seed: int, coarse: bool) -> Outcome:
        limit = max(self._left, _LEAST) if self._is_settled else _PATIENCE
        given: dict[str, Values] = {f"in/{name}": value for name, value in batch.items()}
        given[_ASK] = np.array([strong, seed, coarse, 1000 * limit], np.int64)
        if self._asking is None:
            self._asking = Asking(self._run)
        start = time.monotonic()
        outcome = self._asking.ask(given)
        self._left -= time.monotonic() - start
        if outcome.outputs == {}:
            return Outcome(error=f"no answer within {limit:.0f} s", stage="timeout")
        return outcome

    def explained(self, gross: float) -> float | None:
        """The share of what rounding explained in a trial for which there was time, if it is up and that is enough."""
        if self._left > 0 or gross > self._largest:
            return None
        return gross / self._largest if self._largest else 0.0

    def affords(self, gross: float) -> bool:
        """Whether a trial is still looked at, whose answers lie so many units of the tolerance table apart."""
        if self._left > 0:
            return True
        if self._more <= 0 or self._left < -self._overdraft or gross <= _GROSS * max(self._largest, 1.0):
            return False
        self._more -= 1
        return True

    def note(self, who: str, meaning: float, away: float, allowed: float, gross: float) -> None:
        """Rounding explains how far the answers of a trial lie apart."""
        self._meaning, self._largest = max(self._meaning, meaning), max(self._largest, gross)
        if away <= allowed:
            self._away[who] = max(self._away.get(who, (0.0, allowed)), (away, allowed))

    def remark(self, trial: int, why: str) -> None:
        """Something for the report, on an output of a trial that nothing follows from."""
        self._remarks.setdefault(trial, Counter())[why] += 1

    def forget(self, trial: int) -> None:
        """A trial is judged once more: the remarks on it don't stand."""
        self._remarks.pop(trial, None)


class TrialRounding:
    """What is known of rounding in one trial; nothing is run before it is asked for.

    Attributes:
        alone: only A has a float64 run.
        answers: all of A's that can be used.
        is_late: runs under strong noise took too long: whether a comparison turns isn't known.
    """

    def __init__(self, rounding: Rounding, number: int, batch: Batch, answers: Sequence[Answer]) -> None:
        self.alone, self.answers = rounding.alone, answers
        self.coarse = rounding.coarse
        self._rounding, self._number, self._batch = rounding, number, batch
        self._known: dict[bool, Evidence | Outcome] = {}
        self._strong: dict[tuple[bool, int], dict[str, Output]] = {}
        self.is_late = False

    def explained(self, coarse: bool, gross: float) -> float | None:
        """The share of what rounding explained before, where that is enough and there is no time to look further."""
        share = None if coarse in self._known else self._rounding.explained(gross)
        if share is not None:
            self._remark(
                "held to what rounding explained in the trials before, the time for further float64 runs is used up"
            )
        return share

    def evidence(self, coarse: bool, gross: float) -> Evidence | str | None:
        """What float64 runs say; why there is no telling; None where they aren't to be had and tolerances judge.

        Args:
            gross: how far the answers lie apart, in units of the tolerance table.
        """
        if coarse not in self._known:
            if not self._rounding.affords(gross):
                return _LATE
            outcome = self._rounding.ask(self._batch, 0, self._number, coarse)
            if outcome.outputs is None and outcome.stage not in ("load", "run"):
                return f"not decided whether rounding explains it ({outcome.error})"
            self._known[coarse] = outcome if outcome.outputs is None else Evidence.read(outcome.outputs)
        found = self._known[coarse]
        if isinstance(found, Evidence):
            return found
        self._remark(f"judged by tolerances, as float64 runs aren't to be had ({found.error})")
        return None

    def strong(self, coarse: bool, name: str, patient: bool = False) -> Output | None:
        """The largest distances under strong noise, of more runs where somebody is patient; None if there is no
        telling."""
        key = coarse, PATIENT_RUNS if patient else STRONG_RUNS
        if key not in self._strong:
            outcome = self._rounding.ask(self._batch, key[1], self._number, coarse)
            self._strong[key] = {} if outcome.outputs is None else Evidence.read(outcome.outputs).outputs
            self.is_late = self.is_late or outcome.stage == "timeout"
        return self._strong[key].get(name)

    def note(self, who: str, meaning: float, away: float, allowed: float, gross: float, is_wider: bool) -> None:
        """Rounding explains how far `who`'s answer lies away, or its runtime's own inexactness does."""
        self._rounding.note(who, meaning, away, allowed, gross)
        self._rounding.is_wider &= is_wider
        if away > allowed:
            self._remark(f"{who} computes them inexactly, by less than the tolerance of their element types")

    def _remark(self, why: str) -> None:
        self._rounding.remark(self._number, why)

    def undecided(self, measure: Measure, why: str = _LATE) -> Measure:
        """Nothing follows from it for want of time or of float64 runs."""
        return replace(self.inconclusive(why, measure), undecided=True)

    def inconclusive(self, why: str, measure: Measure) -> Measure:
        """Nothing follows from it; the report says why."""
        self._remark(why)
        return replace(measure, difference=None, inconclusive=True, text=why)
