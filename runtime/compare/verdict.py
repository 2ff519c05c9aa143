"""Whether two models are the same, judged by what they compute.

Each side has an executor (our reading of the file) and the format's own runtimes. Which answers decide a trial is said
in `answers.py`. An answer that a known fault of its runtime spoils counts for nothing. Side A is the original: where it
answers and B can't, B is wrong; where it refuses an input, B is free.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

import numpy as np

from ...passes.progress import stage
from ..oracles import Batch, Outcome, Values
from .answers import Answer, Pair, SideAnswers, TrialAnswers, answers_of, evidence
from .conclude import conclude
from .disagreements import Disagreements
from .interface import fits, interface_differences
from .iterations import Stacking
from .matching import Matching, match_names, renamed
from .output_errors import ErrorTable
from .ranges import are_coarse_integers, is_overflow_open, mark_beyond_int32
from .record import Finding, Report, SideRun, Status, Trial, describe
from .rounding import Rounding, TrialRounding
from .rounding_tensors import judged
from .running import TrialRuns
from .second_look import SecondLook
from .sides import Side
from .signature import WIDE, Designed
from .tolerance import Difference, Measure, Tolerance, measure_values

RUNTIMES_APART = 0.01
"""What two different runtimes give for two files may be apart by this share of the largest number, if one of them gives
the same for both files."""

PROVED_TRIALS = 3
"""Trials in which outputs are compared that are proved equal: the proof rests on our readers, runtimes on theirs."""

ALONE = 4
"""After so many trials in which A's own runtime was alone with its answer, its word alone makes no difference."""


def compare_sides(
    a: Side,
    b: Side,
    inputs: Iterable[Batch | Designed],
    rtol: float | None = None,
    atol: float | None = None,
    rounding: Rounding | None = None,
    *,
    asked: int | None = None,
    proved: Set[str] = frozenset(),
) -> Report:
    """Run both sides on all inputs (named as in A) and judge.

    Args:
        a, b: the original and what is held against it.
        inputs: sets of values. Of those that are designed as "special" (NaN, infinities, numbers that overflow) only
            what our executor sees as well is a difference: runtimes part over them in more ways than are known.
        rtol, atol: what floats may be off by, and nothing else is asked, see `compare_values`.
        rounding: decides without them what rounding explains; None: each element type's own tolerance does.
        asked: for how many trials the caller had asked; as many as there are inputs if left out.
        proved: A's outputs that are known to be equal; they are compared in the first `PROVED_TRIALS` trials only.
    """
    if rtol is not None or atol is not None:
        rounding = None
    designed = [one if isinstance(one, Designed) else Designed(dict(one)) for one in inputs]
    return _Comparison(a, b, designed, rtol, atol, rounding, proved).report(asked)


@dataclass(slots=True)
class _Judgement:
    """What is made of one trial.

    Attributes:
        pairs: the answers that decide it.
        units: see `Trial`.
        finding: the first difference.
        telling: it is equal, and there was something to compare.
    """

    pairs: list[Pair]
    status: Status
    units: float | None = None
    finding: Finding | None = None
    telling: bool = False

    def inconclusive(self) -> _Judgement:
        """Nothing follows from the trial."""
        return replace(self, status="inconclusive", finding=None)


class _Comparison:
    def __init__(
        self,
        a: Side,
        b: Side,
        designed: list[Designed],
        rtol: float | None,
        atol: float | None,
        rounding: Rounding | None,
        proved: Set[str],
    ) -> None:
        self.a, self.b = replace(a), replace(b)
        self.proved = proved
        self.designed = designed
        self.batches: list[Batch] = [one.inputs for one in designed]
        self.kinds = [one.kind for one in designed]
        self.rtol, self.atol, self.rounding = rtol, atol, rounding
        names = list(self.batches[0]) if self.batches else []
        self.inputs = match_names(list(a.inputs or names), list(b.inputs or a.inputs or names))
        self.outputs: Matching | None = None
        self.first: Finding | None = None
        self.is_settled = False  # a runtime that isn't ours has a part in the first difference
        self.telling = 0  # equal trials with something to compare in them
        self.again = SecondLook(self._first_difference)
        self.disagreements = Disagreements(self._first_difference, self.again, rounding)
        self.errors = ErrorTable()
        self.parted = 0
        self.excused = 0  # trials in which a difference had such a reason

    def report(self, asked: int | None = None) -> Report:
        runs = TrialRuns(self.a, self.b, self.designed, self.inputs)
        trials: list[Trial] = []
        try:
            for number in range(len(self.batches)):
                stage(f"trial {number + 1} of {len(self.batches)}")
                trials.append(self._trial(number, runs))
            if not self.is_settled:
                self.disagreements.explain({} if self.outputs is None else self.outputs.pairs, len(self.batches))
        finally:
            runs.close()
            self.again.close()
            if self.rounding is not None:
                self.rounding.close()
        outputs = self.outputs or _declared(self.a, self.b)
        return conclude(
            Report(
                self.a.name,
                self.b.name,
                trials=trials,
                first=self.first,
                disagreements=self.disagreements.found,
                inputs=self.inputs,
                outputs=outputs,
                rtol=self.rtol,
                atol=self.atol,
                errors=self.errors,
                parted=self.parted,
                asked=asked if asked is not None else len(trials),
                interface=interface_differences(self.inputs, outputs, self.a.types, self.b.types, self.a.optional),
            ),
            self.telling,
            [*self.a.random, *self.b.random],
            [*([] if self.rounding is None else self.rounding.lines(self.first is None)), *self.again.lines()],
        )

    # one trial -----------------------------------------------------------------------------------------

    def _trial(self, number: int, runs: TrialRuns) -> Trial:
        batch = self.batches[number]
        both = self._answers(batch, runs.outcomes(number))
        judgement = self._judge(number, both)
        if self.designed[number].sparing and judgement.status != "equal":
            self._take_back(number)
            both = self._answers(batch, runs.all_outcomes(number))
            judgement = self._judge(number, both)
        if not self.is_settled:
            judgement = self._look_again(number, both, judgement)
        if judgement.status == "different" and both.a.is_outside_domain:
            judgement = judgement.inconclusive()
        known = max((evidence(pair) for pair in judgement.pairs), default=0)
        special = self.kinds[number] == "special"
        if special and judgement.status == "different" and not (known and self._is_ours_to_tell(both)):
            judgement = judgement.inconclusive()
        self.telling += judgement.telling
        self.disagreements.note(number, special, both)
        if not self.is_settled:
            self.is_settled = judgement.status == "different" and known > 0
            if self.is_settled or self.first is None:
                self.first = judgement.finding
            if self.is_settled and self.rounding is not None:
                self.rounding.difference_found()
        return Trial(
            number,
            judgement.status,
            judgement.units,
            {name: describe(value) for name, value in batch.items()},
            [_summary(answer) for answer in both.a.answers],
            [_summary(answer) for answer in both.b.answers],
            known,
            both.a_is_alone and not special,
        )

    def _answers(self, batch: Batch, outcomes: list[Outcome]) -> TrialAnswers:
        cut = len(self.a.runnables)
        a_runs, b_runs = answers_of(self.a, outcomes[:cut]), answers_of(self.b, outcomes[cut:])
        mark_beyond_int32(batch, [*a_runs, *b_runs])
        return TrialAnswers(
            SideAnswers(self.a, a_runs, batch), SideAnswers(self.b, b_runs, renamed(batch, self.inputs.pairs))
        )

    def _judge(self, number: int, both: TrialAnswers) -> _Judgement:
        self.errors.forget(number)
        pairs = both.deciding(lambda one, other: self._first_difference(one, other) is None)
        judgement = self._compare(number, both, pairs) if pairs else _Judgement([], "unknown")
        alone = both.unanswered()
        if alone == "only-a" and self.kinds[number] != "plain" and both.only_a_runtime_fails:
            alone = "unknown"
        judgement.status = alone or judgement.status
        return judgement

    def _look_again(self, number: int, both: TrialAnswers, judgement: _Judgement) -> _Judgement:
        """What stays of a difference, and whether one runtime decides what is inconclusive."""
        if judgement.status == "different":
            judgement = self._explain(number, both, judgement)
        if judgement.status == "different" and (self.parted >= ALONE or self.again.is_parted(both)):
            self.parted += 1  # A's own runtime and B's part over A itself
            self._take_back(number)
            return judgement.inconclusive()
        pair = self.again.by_one_runtime(both) if judgement.status == "inconclusive" else None
        if pair is None:
            return judgement
        self._take_back(number)
        telling = any(_tells(value) for value in (pair[0].outputs or {}).values())
        return _Judgement([pair], "equal", judgement.units, telling=judgement.telling or telling)

    def _explain(self, number: int, both: TrialAnswers, judgement: _Judgement) -> _Judgement:
        """What stays of a difference once runtimes were asked again and their known ways were looked for."""
        heard = [bool(one.own) for one in both]
        for explained in (self.again.unsteady, self.again.mark_habits):
            if judgement.status == "different" and explained(both):
                self._take_back(number)
                judgement = self._judge(number, both)
        lost = [before and not one.own for before, one in zip(heard, both, strict=True)]
        if judgement.status == "different" and all(lost):
            judgement.pairs += self._same_runtime_differs(both)
        elif judgement.status == "different" and any(lost):
            # only our reading is left of the file whose runtime has its own way with such numbers
            judgement = judgement.inconclusive()
        self.excused += judgement.status != "different"
        if self.again.is_over and self.excused:  # what was looked into before had such a reason
            return judgement.inconclusive()
        return judgement

    def _same_runtime_differs(self, both: TrialAnswers) -> Iterator[Pair]:
        """What a runtime gives for both files, where that isn't the same: its way with special numbers, which it has
        with both, isn't the reason of what our executor sees, too."""
        own = [[one for one in side.answers if one.runnable.own and one.outputs is not None] for side in both]
        for one, other in itertools.product(*own):
            if one.runnable.name == other.runnable.name and self._differ(one, other):
                yield one, other

    def _take_back(self, number: int) -> None:
        """A trial is judged once more: what was said of rounding in it doesn't stand."""
        if self.rounding is not None:
            self.rounding.forget(number)

    def _is_ours_to_tell(self, both: TrialAnswers) -> bool:
        """Of special numbers: whether our executor sees a difference, and is of one mind with A's own runtimes."""
        usable = both.a.usable
        agree = all(self._first_difference(usable[0], one) is None for one in usable[1:])
        return agree and any(self._differ(one, other) for one, other in zip(both.a.ours, both.b.ours, strict=False))

    def _differ(self, one: Answer, other: Answer) -> bool:
        """Whether an output differs beyond what its element type's rounding allows."""
        return any(measure.difference is not None for _, measure in self._measures(one, other, near=False))

    def _compare(self, number: int, both: TrialAnswers, pairs: list[Pair]) -> _Judgement:
        self.outputs = self.outputs or _declared(self.a, self.b)
        worst, telling, same, inconclusive = 0.0, False, True, False
        findings: list[Finding] = []
        batch = both.a.given
        settled = self.proved if number >= PROVED_TRIALS else frozenset[str]()
        special = self.kinds[number] == "special"
        # runtimes have ways of their own with special numbers; float32 rounds large integers everywhere
        is_open_to_runtimes = special and not (self.designed[number].tags == WIDE and self._is_ours_to_tell(both))
        rounding = None if self.rounding is None else TrialRounding(self.rounding, number, batch, both.a.usable)
        for one, other in pairs:
            measures = [found for found in self._measures(one, other) if found[0] not in settled]
            apart = self._are_runtimes_apart(one, other, measures)
            alone = self.again.by_one_runtime(both, near=True) if apart else None
            if alone is not None:
                measures = [
                    (name, replace(measure, difference=None))
                    for name, measure in self._measures(*alone)
                    if name not in settled
                ]
            for name, measure in measures:
                found = self._judged(one, other, name, measure, rounding)
                difference = found.difference
                self._note_error(number, name, (one, other), difference is not None)
                telling = telling or _tells((one.outputs or {}).get(name))
                is_open = difference is not None and not special and is_overflow_open(both, one, name, self._twin(name))
                if found.inconclusive or is_open or (is_open_to_runtimes and found.by_runtime):
                    inconclusive = True
                    continue
                worst = max(worst, found.units)
                if difference is not None:
                    same = False
                    who = one.runnable.name, other.runnable.name
                    findings.append(Finding(number, difference, *who, found.profile, dict(batch), found.text))
        # a trip count that came out wrong says more than the values it led to
        first = min(findings, key=lambda found: found.difference.kind == "value", default=None)
        status: Status = "different" if not same else "inconclusive" if inconclusive else "equal"
        return _Judgement(pairs, status, worst, first, telling and status == "equal")

    def _note_error(self, number: int, name: str, pair: Pair, differs: bool) -> None:
        values = (pair[0].outputs or {}).get(name), (pair[1].outputs or {}).get(self._twin(name))
        self.errors.note(number, name, values, describe(values[0]), differs)

    def _are_runtimes_apart(self, one: Answer, other: Answer, measures: list[tuple[str, Measure]]) -> bool:
        """Whether only floats differ, and by so little that two runtimes' ways of computing may be the reason."""
        if self.rounding is None or one.runnable.name == other.runnable.name:
            return False
        differing = [(name, one) for name, one in measures if one.difference is not None]
        return bool(differing) and all(
            measure.difference is not None
            and measure.difference.kind == "value"
            and measure.max_abs <= RUNTIMES_APART * _size_of((one.outputs or {}).get(name))
            for name, measure in differing
        )

    def _judged(
        self, one: Answer, other: Answer, name: str, measure: Measure, rounding: TrialRounding | None
    ) -> Measure:
        """What is to be made of a measured output: a difference may be rounding, or follow from it."""
        found = measure.difference
        if found is None or self.outputs is None:
            return measure
        if found.kind == "shape" and self._is_free(one, other, name):
            return replace(measure, inconclusive=True)
        if found.kind == "value" and are_coarse_integers(one, other, name, self.outputs.pairs[name]):
            return replace(measure, inconclusive=True)
        if rounding is None or found.kind not in ("value", "shape", "length"):
            return measure
        return judged(rounding, one, other, name, self.outputs.pairs[name], found, self._stacking(name))

    def _is_free(self, one: Answer, other: Answer, name: str) -> bool:
        """Whether A doesn't determine the shape: what it gives isn't what it declares, or is made of what is stacked
        over no passes, each runtime making up the dimensions that no pass has given."""
        assert one.outputs is not None and other.outputs is not None and self.outputs is not None
        mine, theirs = one.outputs[name], other.outputs[self.outputs.pairs[name]]
        if not fits(self.a.types.get(name), mine):
            return True
        tensors = [value for value in (mine, theirs) if isinstance(value, np.ndarray)]
        sizes, ranks = [value.size for value in tensors], {value.ndim for value in tensors}
        return name in self.a.unsized and sizes == [0, 0] and len(ranks) == 1

    def _measures(self, one: Answer, other: Answer, near: bool = True) -> Iterator[tuple[str, Measure]]:
        """Each output of A against that of B; `near`: where rounding is decided, floats that aren't differ."""
        assert self.outputs is not None
        for name in self.outputs.missing:
            yield name, _missing(name, f"{self.b.name} has no such output")
        for name, twin in self.outputs.pairs.items():
            is_near = near and self.rounding is not None
            yield name, self._measured(one, other, name, twin, is_near, self._stacking(name))

    def _measured(
        self, one: Answer, other: Answer, name: str, twin: str, near: bool, stacking: Stacking | None = None
    ) -> Measure:
        assert one.outputs is not None and other.outputs is not None
        for answer, key in ((one, name), (other, twin)):
            if key not in (answer.outputs or {}):
                return _missing(name, f"{answer.runnable.name} doesn't give it")
        tolerance = Tolerance(self.rtol, self.atol, one.outcome.coarse or other.outcome.coarse, near)
        return measure_values(one.outputs[name], other.outputs[twin], tolerance, output=name, stacking=stacking)

    def _stacking(self, name: str) -> Stacking | None:
        """How an output is stacked over iterations, as far as either graph says it."""
        return self.a.stackings.get(name) or self.b.stackings.get(self._twin(name))

    def _twin(self, name: str) -> str:
        """B's name of an output of A; "" if it has none."""
        return "" if self.outputs is None else self.outputs.pairs.get(name, "")

    def _first_difference(self, one: Answer, other: Answer, near: bool = False) -> Difference | None:
        """The first difference between two answers for one file; `near`: beyond a few units in the last place."""
        measures = (self._measured(one, other, name, name, near) for name in one.outputs or {})
        return next((found.difference for found in measures if found.difference is not None), None)


def _missing(name: str, why: str) -> Measure:
    return Measure(Difference("missing", name, actual=why), math.inf, math.nan)


def _size_of(value: Values) -> float:
    """The largest finite magnitude of floats; 0 of anything else."""
    if not isinstance(value, np.ndarray | np.generic) or not value.size or value.dtype.kind in "OUSbiu":
        return 0.0
    size = np.abs(value.astype(np.complex128 if value.dtype.kind == "c" else np.float64))
    return float(np.max(np.where(np.isfinite(size), size, 0.0)))


def _declared(a: Side, b: Side) -> Matching | None:
    """The outputs as they are declared, or as the first answers have them."""
    return None if a.outputs is None or b.outputs is None else match_names(list(a.outputs), list(b.outputs))


def _tells(value: Values) -> bool:
    """There is something in it that a wrong model could have got wrong."""
    if isinstance(value, list):
        return True
    if value is None or isinstance(value, dict):
        return value is not None
    array = np.asarray(value)
    if array.dtype.kind in "OUSbiu" or not array.size:
        return bool(array.size)
    return not bool(np.isnan(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)).all())


def _summary(answer: Answer) -> SideRun:
    outcome = answer.outcome
    return SideRun(
        answer.runnable.name, outcome.stage or "ok", outcome.seconds, outcome.error, outcome.fault, answer.runnable.own
    )
