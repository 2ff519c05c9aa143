"""From trials to a verdict and the reasons for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from .record import Report, Status, Verdict, plural
from .running import NOT_ASKED

ENOUGH = 0.25
"""A verdict "equal" needs at least this share of the trials asked for to have been compared, on both sides by runtimes
that aren't ours."""


_OPEN = "which of them is wrong can't be told"


def conclude(report: Report, telling: int, random: Sequence[str] = (), said: Sequence[str] = ()) -> Report:
    """Fill in verdict and reasons.

    Args:
        report: with its trials.
        telling: equal trials in which there was something to compare (an element that isn't NaN).
        random: operators of the models that draw random numbers.
        said: further lines for the report, on rounding and on runtimes.
    """
    report.asked = report.asked or len(report.trials)
    report.verdict, reasons = _verdict(report, telling, random)
    report.reasons = list(dict.fromkeys([*reasons, *said, *_remarks(report)]))
    return report


def _verdict(report: Report, telling: int, random: Sequence[str]) -> tuple[Verdict, list[str]]:
    counts = report.counts
    compared = counts["equal"] + counts["different"]
    seen = [trial for trial in report.trials if trial.status == "different" and trial.evidence]
    if random and report.first is not None and report.first.difference.kind == "value":
        names = ", ".join(dict.fromkeys(random))
        return "incomparable", [f"the values differ, but the inputs don't determine them: {names} draws random numbers"]
    if seen:
        return "different", [_first(report), f"they differ on {counts['different']} of {compared} trials compared"]
    if counts["only-a"] and (compared or not _inputs_left_over(report)):
        failing = f"{report.b} fails on {counts['only-a']} of {len(report.trials)} inputs on which {report.a} answers"
        return "different", [failing, *_errors(report, "b", "only-a")]
    if report.interface:
        return "different", [str(one) for one in report.interface]
    return _undisputed(report, compared, telling)


def _undisputed(report: Report, compared: int, telling: int) -> tuple[Verdict, list[str]]:
    """No runtime that isn't ours saw a difference: how much is that worth?"""
    needed = max(1, math.ceil(report.asked * ENOUGH))
    errors = [*_errors(report, "a"), *_errors(report, "b")]
    if not compared:
        return "incomparable", ["no trial could be compared", *errors]
    different = report.counts["different"]
    if different:
        alone = f"only the executor could run both, and it sees a difference on {different} of {compared} trials"
        return "unconfirmed", [alone, _first(report), *errors]
    if not telling:
        return "incomparable", ["every output was empty or NaN on both sides, so nothing was compared"]
    if compared < needed:
        return "unconfirmed", [
            f"nothing differs, but only {compared} of {report.asked} trials could be compared",
            *errors,
        ]
    if report.confirmed < needed:
        sides = [name for name, side in ((report.a, "a"), (report.b, "b")) if not _own_answered(report, side)]
        who = (
            f"only the executor, and no runtime, answered for {' and '.join(sides)}"
            if sides
            else (f"runtimes confirm {report.confirmed} of {report.asked} trials only")
        )
        return "unconfirmed", [f"nothing differs on {compared} trials, but {who}", *errors]
    if report.failed:
        who = f"{report.b}'s own runtime fails on {report.failed} inputs on which {report.a}'s answers"
        return "unconfirmed", [f"nothing differs on {compared} trials, but {who}", *errors]
    if report.parted:
        who = f"on {report.parted} more the runtimes give other numbers than each other, one of them the same for both"
        return "unconfirmed", [f"nothing differs on {compared} trials, but {who}", *errors]
    trials = len(report.trials)
    left = "" if compared == trials else f" that could be compared, of {trials}"
    return "equal", [f"they agree on all {compared} trials{left}"]


def _own_answered(report: Report, side: str) -> bool:
    """Whether a runtime of this side that isn't ours gave an answer that counts."""
    return any(
        run.own and run.status == "ok" and not run.fault for trial in report.trials for run in getattr(trial, side)
    )


def _inputs_left_over(report: Report) -> bool:
    """B wants something else than A: that it answers nothing then is no wonder."""
    return report.inputs is None or bool(report.inputs.missing or report.inputs.extra)


def _first(report: Report) -> str:
    assert report.first is not None
    found = report.first
    text = f"; {found.text}" if found.text else ""
    return f"trial {found.trial}, {found.a} on A against {found.b} on B: {found.difference}{text}"


def _errors(report: Report, side: str, status: Status | None = None) -> Iterator[str]:
    """What kept the runnables of a side from answering, most frequent first."""
    seen: Counter[tuple[str, str]] = Counter()
    for trial in report.trials:
        if status is None or trial.status == status:
            for run in getattr(trial, side):
                if (run.error or run.fault) and run.error != NOT_ASKED.error:
                    seen[run.runnable, run.error or run.fault] += 1
    for (runnable, error), count in seen.most_common(4):
        yield f"{runnable} on {side.upper()} ({plural(count, 'trial')}): {error}"


def _remarks(report: Report) -> Iterator[str]:
    """What a reader should know beside the verdict."""
    counts = report.counts
    for one in report.disagreements:
        yield (
            f"{one.one} and {one.other} contradict each other on {one.side.upper()} in {plural(one.trials, 'trial')} "
            f"(first in trial {one.first}: {one.difference}); {one.habit or _OPEN}"
        )
    if counts["only-b"]:
        yield f"{report.a} refuses {plural(counts['only-b'], 'input')} on which {report.b} answers"
    if counts["neither"]:
        yield f"both refuse {plural(counts['neither'], 'input')}"
    if counts["unknown"]:
        yield f"{plural(counts['unknown'], 'trial')} not compared: a side gave no usable answer"
    if counts["inconclusive"]:
        count = counts["inconclusive"]
        are = "trial is inconclusive and counts" if count == 1 else "trials are inconclusive and count"
        yield f"{count} {are} as not compared"
    if report.outputs is not None and report.outputs.by == "position":
        yield "outputs have different names and were matched by position"
    if report.inputs is not None and report.inputs.by == "position":
        yield "inputs have different names and were matched by position"
    if report.inputs is not None and report.inputs.missing:
        yield f"{report.b} has no inputs {', '.join(report.inputs.missing)}"
    if report.verdict in ("equal", "different"):
        yield from (*_errors(report, "a"), *_errors(report, "b"))  # although others answered
