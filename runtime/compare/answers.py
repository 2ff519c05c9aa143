"""What the runnables of two sides answered in one trial, and which answers may be held against which.

Evidence has an order. Two runtimes that aren't ours, one on each side, decide. Where one side has none that answers,
its executor (our reading of the file) stands in, and the trial confirms nothing. A difference between two *different*
runnables only counts if they agree about the one file that both of them ran: a pair that contradicts itself there says
nothing about the other file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..oracles import Outcome, Values
from .record import Status
from .runnables import Runnable


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


Pair = tuple[Answer, Answer]


def deciding(a_runs: Sequence[Answer], b_runs: Sequence[Answer], agree: Callable[[Answer, Answer], bool]) -> list[Pair]:
    """The pairs of usable answers that decide a trial, all with the same weight; see `evidence`.

    Args:
        agree: whether two answers of one side are the same within what rounding allows.
    """
    a_usable, b_usable = [one for one in a_runs if one.usable], [one for one in b_runs if one.usable]
    a_own, b_own = [one for one in a_usable if one.runnable.own], [one for one in b_usable if one.runnable.own]
    if a_own and b_own:
        return _counterparts(a_own, b_own)
    pairs = _counterparts(a_usable, b_usable)
    same = [pair for pair in pairs if pair[0].runnable.name == pair[1].runnable.name]
    cross = [pair for pair in pairs if pair not in same and _consistent(*pair, a_usable, b_usable, agree)]
    return [*cross, *same]


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


def _consistent(
    one: Answer,
    other: Answer,
    a_runs: Sequence[Answer],
    b_runs: Sequence[Answer],
    agree: Callable[[Answer, Answer], bool],
) -> bool:
    """Two different runnables agree about each file that both ran."""
    on_a = [twin for twin in a_runs if twin.runnable.name == other.runnable.name]
    on_b = [twin for twin in b_runs if twin.runnable.name == one.runnable.name]
    return all(agree(one, twin) for twin in on_a) and all(agree(other, twin) for twin in on_b)


def unanswered(a_runs: Sequence[Answer], b_runs: Sequence[Answer]) -> Status | None:
    """What it means where a side has no answer, or its runtime none on what the same runtime answers for A.

    None: nothing; the answers that there are can be compared.
    """
    a_answered, b_answered = any(one.usable for one in a_runs), any(one.usable for one in b_runs)
    # where our executor finds A's own inputs out of its domain, a lenient runtime's answer binds nobody
    outside_domain = any(one.refused for one in a_runs if not one.runnable.own)
    if a_answered and b_answered:
        runs = {one.runnable.name for one in a_runs if one.usable and one.runnable.own}
        broken = any(one.refused and one.outcome.stage == "run" and one.runnable.name in runs for one in b_runs)
        return "only-a" if broken and not outside_domain else None
    if a_answered and _fails(a_runs, b_runs):
        return "neither" if outside_domain or _refuses(a_runs) else "only-a"
    if b_answered and any(one.refused for one in a_runs):
        return "only-b"
    both = any(one.refused for one in a_runs) and any(one.refused for one in b_runs)
    return "neither" if both else "unknown"


def _refuses(runs: Sequence[Answer]) -> bool:
    """The file's own runtimes raise, whatever our executor makes of the inputs."""
    own = [one for one in runs if one.runnable.own]
    return bool(own) and all(one.refused and one.outcome.stage == "run" for one in own)


def _fails(a_runs: Sequence[Answer], b_runs: Sequence[Answer]) -> bool:
    """B raises, or doesn't end: by two runnables, or by the one that ends on A. One alone may be slow."""
    refusing = [one for one in b_runs if one.refused]
    ends_on_a = {one.runnable.name for one in a_runs if one.usable}
    return len(refusing) > 1 or any(one.outcome.stage == "run" or one.runnable.name in ends_on_a for one in refusing)


def left_alone(a_runs: Sequence[Answer], b_runs: Sequence[Answer]) -> bool:
    """B's own runtimes all failed on inputs on which A's own answered."""
    b_own = [one for one in b_runs if one.runnable.own]
    return (
        any(one.usable for one in a_runs if one.runnable.own)
        and bool(b_own)
        and all(one.failed for one in b_own)
        and not any(one.refused for one in a_runs if not one.runnable.own)
    )


def only_its_runtime_fails(a_runs: Sequence[Answer], b_runs: Sequence[Answer]) -> bool:
    """B's own runtime fails, which isn't one that answered for A, and our executor can't run B at all."""
    answered = {one.runnable.name for one in a_runs if one.usable}
    return left_alone(a_runs, b_runs) and all(
        one.outcome.stage == "load" if not one.runnable.own else one.runnable.name not in answered for one in b_runs
    )
