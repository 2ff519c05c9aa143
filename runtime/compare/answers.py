"""What the runnables of two sides answered in one trial, and which answers may be held against which.

Evidence has an order. Two runtimes that aren't ours, one on each side, decide. Where one side has none that answers,
its executor (our reading of the file) stands in, and the trial confirms nothing. A difference between two *different*
runnables only counts if they agree about the one file that both of them ran: a pair that contradicts itself there says
nothing about the other file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..oracles import Batch, Outcome, Values
from .matching import match_names, renamed
from .record import Status
from .runnables import Runnable
from .sides import Side


@dataclass(slots=True)
class Answer:
    """One runnable's outcome in a trial, its outputs named as its side names them."""

    runnable: Runnable
    outcome: Outcome
    outputs: dict[str, Values] | None

    @property
    def usable(self) -> bool:
        """It has outputs, and no known fault spoils them."""
        return self.outputs is not None and not self.outcome.fault

    @property
    def failed(self) -> bool:
        """It gave nothing, for a reason that isn't a known fault of the runtime's; being slow is none."""
        if self.outcome.stage in ("timeout", "skipped"):
            return False
        return self.outputs is None and (not self.outcome.fault or self.outcome.stage == "crash")

    @property
    def refused(self) -> bool:
        """It ran and raised, or didn't end."""
        return self.outputs is None and not self.outcome.fault and self.outcome.stage in ("run", "timeout")


@dataclass(frozen=True, slots=True)
class SideAnswers:
    """One side in one trial.

    Attributes:
        side: the model.
        answers: of all its runnables.
        given: the inputs, by its own names.
    """

    side: Side
    answers: list[Answer]
    given: Batch

    @property
    def usable(self) -> list[Answer]:
        """Outputs that no known fault spoils."""
        return [one for one in self.answers if one.usable]

    @property
    def own(self) -> list[Answer]:
        """Those of them that come from the format's runtimes."""
        return [one for one in self.usable if one.runnable.own]

    @property
    def ours(self) -> list[Answer]:
        """Those of them that come from our executor."""
        return [one for one in self.usable if not one.runnable.own]

    @property
    def runtimes(self) -> list[Answer]:
        """What the format's runtimes answered, or that they didn't."""
        return [one for one in self.answers if one.runnable.own]

    @property
    def refused(self) -> bool:
        """Somebody ran the model and it raised, or didn't end."""
        return any(one.refused for one in self.answers)

    @property
    def is_outside_domain(self) -> bool:
        """Our executor refuses the inputs: a lenient runtime's answer binds nobody."""
        return any(one.refused for one in self.answers if not one.runnable.own)


Pair = tuple[Answer, Answer]


class TrialAnswers(NamedTuple):
    """What both sides answered in one trial."""

    a: SideAnswers
    b: SideAnswers

    def deciding(self, agree: Callable[[Answer, Answer], bool]) -> list[Pair]:
        """The pairs of usable answers that decide the trial, all with the same weight; see `evidence`.

        Args:
            agree: whether two answers of one side are the same within what rounding allows.
        """
        if self.a.own and self.b.own:
            return _counterparts(self.a.own, self.b.own)
        pairs = _counterparts(self.a.usable, self.b.usable)
        same = [pair for pair in pairs if pair[0].runnable.name == pair[1].runnable.name]
        cross = [pair for pair in pairs if pair not in same and self._is_consistent(*pair, agree)]
        return [*cross, *same]

    def _is_consistent(self, one: Answer, other: Answer, agree: Callable[[Answer, Answer], bool]) -> bool:
        """Two different runnables agree about each file that both ran."""
        on_a = [twin for twin in self.a.usable if twin.runnable.name == other.runnable.name]
        on_b = [twin for twin in self.b.usable if twin.runnable.name == one.runnable.name]
        return all(agree(one, twin) for twin in on_a) and all(agree(other, twin) for twin in on_b)

    def unanswered(self) -> Status | None:
        """What it means where a side has no answer, or its runtime none on what the same runtime answers for A.

        None: nothing; the answers that there are can be compared.
        """
        a, b = self
        if a.usable and b.usable:
            runs = {one.runnable.name for one in a.own}
            broken = any(one.refused and one.outcome.stage == "run" and one.runnable.name in runs for one in b.answers)
            return "only-a" if broken and not a.is_outside_domain else None
        if a.usable and self._b_fails():
            refuses = bool(a.runtimes) and all(one.refused and one.outcome.stage == "run" for one in a.runtimes)
            return "neither" if a.is_outside_domain or refuses else "only-a"
        if b.usable and a.refused:
            return "only-b"
        return "neither" if a.refused and b.refused else "unknown"

    def _b_fails(self) -> bool:
        """B raises, or doesn't end: by two runnables, or by the one that ends on A. One alone may be slow."""
        refusing = [one for one in self.b.answers if one.refused]
        ends_on_a = {one.runnable.name for one in self.a.usable}
        return len(refusing) > 1 or any(
            one.outcome.stage == "run" or one.runnable.name in ends_on_a for one in refusing
        )

    @property
    def a_is_alone(self) -> bool:
        """B's own runtimes all failed on inputs on which A's own answered."""
        failed = bool(self.b.runtimes) and all(one.failed for one in self.b.runtimes)
        return failed and bool(self.a.own) and not self.a.is_outside_domain

    @property
    def only_a_runtime_fails(self) -> bool:
        """B's own runtime fails, which isn't one that answered for A, and our executor can't run B at all."""
        answered = {one.runnable.name for one in self.a.usable}
        return self.a_is_alone and all(
            one.runnable.name not in answered if one.runnable.own else one.outcome.stage == "load"
            for one in self.b.answers
        )


def answers_of(side: Side, outcomes: list[Outcome]) -> list[Answer]:
    """Outcomes with outputs under the names of the side."""
    if side.outputs is None:
        given = next((one.outputs for one in outcomes if one.outputs is not None), None)
        side.outputs = None if given is None else list(given)
    return [answer_of(side, runnable, outcome) for runnable, outcome in zip(side.runnables, outcomes, strict=True)]


def answer_of(side: Side, runnable: Runnable, outcome: Outcome) -> Answer:
    outputs = outcome.outputs
    if outputs is not None and side.outputs is not None:
        pairs = match_names(list(outputs), list(side.outputs)).pairs
        outputs = renamed(outputs, pairs)
        outputs = {name: outputs[name] for name in side.outputs if name in outputs}
    return Answer(runnable, outcome, outputs)


def evidence(pair: Pair) -> int:
    """How many of the two answers come from runtimes that aren't ours."""
    return pair[0].runnable.own + pair[1].runnable.own


def _counterparts(a_runs: Sequence[Answer], b_runs: Sequence[Answer]) -> list[Pair]:
    """Each answer with the other side's of the same name, else with one of the same kind, else with any."""
    pairs = {(id(one), id(other)): (one, other) for one in a_runs for other in _judges(one, b_runs)}
    pairs |= {(id(one), id(other)): (one, other) for other in b_runs for one in _judges(other, a_runs)}
    return list(pairs.values())


def _judges(answer: Answer, others: Sequence[Answer]) -> Sequence[Answer]:
    name, own = answer.runnable.name, answer.runnable.own
    return (
        [one for one in others if one.runnable.name == name]
        or [one for one in others if one.runnable.own == own]
        or others
    )
