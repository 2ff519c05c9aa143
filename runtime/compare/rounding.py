"""Whether rounding explains how far two answers lie apart, decided by what rounding does to the model itself.

Both models are run in float64 (A and B, `exact`), and A some times with rounding errors drawn at random, which gives
each element of its outputs a spread, see `runtime.wide`. A distance is rounding if

    |exact B - exact A| <= 1 spread                     the files mean the same
    |B's answer - exact A| <= max(6, 3 * own) spreads   and its runtime computes what they mean

where `own` is the largest distance of A's own answers from what A means. Where the files mean the same, results of
two different runtimes that lie within the tolerances of their element type are the same, too. What lies up to 4 times
(of two runtimes 64 times) as far as is allowed is inconclusive then: runtimes use formulas that round more than the
operators do. Where loud
noise (6 times as large) moves an element by leaps, a comparison or a quantizer turns there: nothing follows from it.
Nor does anything where the spread is as large as the output. Both are "inconclusive", and so is a trial for which no
time is left: not compared. But where B forced to A's steps (of quantizers) is the same, a step that turned is rounding
like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..oracles import Batch, Outcome, Values
from ..wide.evidence import LOUD_RUNS, PATIENT_RUNS
from ..wide.spread import alike, flat
from .iterations import Stacking
from .rounding_evidence import Answer, Evidence, Judgement, Output, read_evidence
from .rounding_tensors import Tensors
from .runnables import Asking
from .tolerance import Difference, Measure, measure_values

BUDGET = 60.0
"""Seconds. After them what lies no further apart than what rounding explained in the trials before, in units of the
tolerance table, is taken for rounding as well; of the rest only what lies far further apart is looked at."""

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
        self._asking: Asking | None = None
        self._largest = 0.0  # units of the tolerance table that rounding has explained
        self._meaning = 0.0
        self._away: dict[str, tuple[float, float]] = {}
        self._why: dict[str, int] = {}
        self._is_wider = True

    def trial(self, number: int, batch: Batch, answers: Sequence[Answer]) -> TrialRounding:
        """The judge of one trial; nothing is run before it is asked. `answers`: all of A's that can be used."""
        return TrialRounding(self, number, batch, answers)

    def close(self) -> None:
        """End the other process."""
        if self._asking is not None:
            self._asking.close()

    def lines(self, same: bool) -> Iterator[str]:
        """What the report says of rounding; `same`: no difference was found."""
        if self._away and same:
            away = "; ".join(
                f"{name}'s result is {z:.2g} rounding errors away, {allowed:.2g} are allowed"
                for name, (z, allowed) in self._away.items()
            )
            agree = f"same computation in float64 ({self._meaning:.2g} of a rounding error apart); "
            yield f"{'' if self.alone else agree}{away}"
        if not self._is_wider:
            yield "nothing wider than float64 was to be had: rounding in float64 was judged by its own size"
        for why, count in self._why.items():
            yield f"{count} outputs: {why}"

    # what trials ask ------------------------------------------------------------------------------------

    def coarse(self, one: Answer, other: Answer) -> bool:
        return self._double and (one.outcome.coarse or other.outcome.coarse)

    def ask(self, batch: Batch, loud: int, seed: int, coarse: bool) -> Outcome:
        given: dict[str, Values] = {f"in/{name}": value for name, value in batch.items()}
        given[_ASK] = np.array([loud, seed, coarse], np.int64)
        if self._asking is None:
            self._asking = Asking(self._run)
        start = time.monotonic()
        outcome = self._asking.ask(given)
        self._left -= time.monotonic() - start
        return outcome

    def explained(self, gross: float) -> bool:
        """Whether the time is up, and rounding explained as much in a trial for which there was time."""
        return self._left <= 0 and gross <= self._largest

    def share(self, gross: float) -> float:
        """Of what rounding explained before, told as what the report says of it."""
        self.unsaid(
            "held to what rounding explained in the trials before, the time for further float64 runs is used up"
        )
        return gross / self._largest if self._largest else 0.0

    def affords(self, gross: float) -> bool:
        """Whether a trial is still looked at, whose answers lie so many units of the tolerance table apart."""
        if self._left > 0:
            return True
        if self._more <= 0 or self._left < -self._overdraft or gross <= _GROSS * max(self._largest, 1.0):
            return False
        self._more -= 1
        return True

    def note(self, who: str, meaning: float, away: float, allowed: float, gross: float, is_wider: bool) -> None:
        self._meaning, self._largest = max(self._meaning, meaning), max(self._largest, gross)
        self._is_wider = self._is_wider and is_wider
        if away > allowed:
            self.unsaid(f"{who} computes them inexactly, by less than the tolerance of their element types")
            return
        before = self._away.get(who, (0.0, allowed))
        self._away[who] = max(before, (away, allowed))

    def said(self) -> dict[str, int]:
        """What `lines` would say of outputs that nothing follows from; for `take_back`."""
        return dict(self._why)

    def take_back(self, said: dict[str, int]) -> None:
        """A trial is judged once more: what was said of it doesn't stand."""
        self._why = dict(said)

    def unsaid(self, why: str) -> None:
        self._why[why] = self._why.get(why, 0) + 1


class TrialRounding:
    """Judges the differences of one trial."""

    def __init__(self, rounding: Rounding, number: int, batch: Batch, answers: Sequence[Answer]) -> None:
        self._rounding, self._number, self._batch, self._answers = rounding, number, batch, answers
        self._known: dict[bool, Evidence | Outcome] = {}
        self._loud: dict[tuple[bool, int], dict[str, Output]] = {}
        self._undecided = ""

    @property
    def alone(self) -> bool:
        """Only A has a float64 run."""
        return self._rounding.alone

    def judge(
        self, one: Answer, other: Answer, name: str, twin: str, found: Difference, stacking: Stacking | None
    ) -> Judgement:
        """Output `name` of A's answer `one` against `twin` of B's answer `other`, which aren't near each other."""
        assert one.outputs is not None and other.outputs is not None
        values = one.outputs[name], other.outputs[twin]
        coarse = self._rounding.coarse(one, other)
        table = measure_values(*values, output=name, stacking=stacking, coarse=coarse)
        if found.kind == "value" and coarse not in self._known and self._rounding.explained(table.units):
            return Judgement(Measure(None, self._rounding.share(table.units), table.max_abs))
        evidence = self._evidence(coarse, table.units)
        if isinstance(evidence, str):
            return self._inconclusive(evidence, table)
        if isinstance(evidence, Outcome):
            self._rounding.unsaid(f"judged by tolerances, as float64 runs aren't to be had ({evidence.error})")
            return Judgement(table, text="")
        output = evidence.outputs[name]
        if found.kind != "value":
            return self._structure(coarse, name, output, found, table)
        leaves = flat(values[0]), flat(values[1])
        if not (alike(leaves[0], output.exact) and alike(leaves[1], output.exact)):
            return self._structure(coarse, name, output, found, table)
        if not output.same_shape:
            return self._structure(coarse, name, output, replace(found, kind="shape"), table)
        return Tensors(self, evidence, output, coarse, name, leaves).judgement(
            one, other, values, found, table, stacking
        )

    # what was found -------------------------------------------------------------------------------------

    def _evidence(self, coarse: bool, gross: float) -> Evidence | Outcome | str:
        if coarse not in self._known:
            if not self._rounding.affords(gross):
                return "not decided whether rounding explains it, the time for that is used up"
            outcome = self._rounding.ask(self._batch, 0, self._number, coarse)
            if outcome.outputs is not None:
                self._known[coarse] = read_evidence(outcome.outputs)
            elif outcome.stage in ("load", "run"):
                self._known[coarse] = outcome
            else:
                self._undecided = f"not decided whether rounding explains it ({outcome.error})"
                return self._undecided
        return self._known[coarse]

    def loud(self, coarse: bool, name: str, patient: bool = False) -> Output | None:
        """The largest distances under loud noise, of more runs where somebody is patient; None if there is no
        telling."""
        key = coarse, PATIENT_RUNS if patient else LOUD_RUNS
        if key not in self._loud:
            outcome = self._rounding.ask(self._batch, key[1], self._number, coarse)
            self._loud[key] = {} if outcome.outputs is None else read_evidence(outcome.outputs).outputs
        return self._loud[key].get(name)

    def answers(self, name: str) -> Iterator[tuple[Answer, list[Any]]]:
        """A's own answers for an output."""
        for answer in self._answers:
            if answer.outputs is not None and name in answer.outputs:
                yield answer, flat(answer.outputs[name])

    def note(self, who: str, meaning: float, away: float, allowed: float, gross: float, is_wider: bool) -> None:
        self._rounding.note(who, meaning, away, allowed, gross, is_wider)

    def inconclusive(self, why: str, measure: Measure) -> Judgement:
        self._rounding.unsaid(why)
        return Judgement(replace(measure, difference=None), inconclusive=True, text=why)

    _inconclusive = inconclusive

    def _structure(self, coarse: bool, name: str, output: Output, found: Difference, table: Measure) -> Judgement:
        loud = self.loud(coarse, name)
        if output.loose or (loud is not None and loud.loose):
            return self.inconclusive("rounding decides their shape", table)
        if table.difference is None:  # the answers agree well, the float64 runs have other shapes
            return self.inconclusive("the shapes of float64 runs are others", table)
        return Judgement(table, text="rounding doesn't explain it")
