"""From trials to a verdict and the reasons for it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from .record import Report, Status

ENOUGH = 0.25
"""A verdict "equal" needs at least this share of the trials to have been compared."""


def conclude(report: Report, telling: int, random: Sequence[str] = ()) -> Report:
    """Fill in verdict and reasons.

    Args:
        report: with its trials.
        telling: equal trials in which there was something to compare (an element that isn't NaN).
        random: operators of the models that draw random numbers.
    """
    counts = report.counts
    total = len(report.trials)
    compared = counts["equal"] + counts["different"]
    needed = max(1, math.ceil(total * ENOUGH))
    if random and report.first is not None and report.first.difference.kind == "value":
        names = ", ".join(dict.fromkeys(random))
        report.reasons = [f"the values differ, but the inputs don't determine them: {names} draws random numbers"]
    elif counts["different"]:
        report.verdict = "different"
        report.reasons = [_first(report), f"they differ on {counts['different']} of {compared} trials compared"]
    elif counts["only-a"] and compared:
        report.verdict = "different"
        report.reasons = [f"{report.b} fails on {counts['only-a']} of {total} inputs on which {report.a} answers"]
        report.reasons += _errors(report, "b", "only-a")
    elif compared < needed:
        report.reasons = [f"only {compared} of {total} trials could be compared"] if compared else []
        report.reasons += ["no trial could be compared"] if not compared else []
        report.reasons += [*_errors(report, "a"), *_errors(report, "b")]
    elif not telling:
        report.reasons = ["every output was empty or NaN on both sides, so nothing was compared"]
    else:
        report.verdict = "equal"
        report.reasons = [f"they agree on all {compared} of {total} trials that could be compared"]
    report.reasons = list(dict.fromkeys([*report.reasons, *_remarks(report)]))
    return report


def _first(report: Report) -> str:
    assert report.first is not None
    found = report.first
    return f"trial {found.trial}, {found.a} on A against {found.b} on B: {found.difference}"


def _errors(report: Report, side: str, status: Status | None = None) -> Iterator[str]:
    """What kept the runnables of a side from answering, most frequent first."""
    seen: Counter[tuple[str, str]] = Counter()
    for trial in report.trials:
        if status is None or trial.status == status:
            for run in getattr(trial, side):
                if run.error or run.fault:
                    seen[run.runnable, run.error or run.fault] += 1
    for (runnable, error), count in seen.most_common(4):
        yield f"{runnable} on {side.upper()} ({count} trials): {error}"


def _remarks(report: Report) -> Iterator[str]:
    """What a reader should know beside the verdict."""
    counts = report.counts
    for one in report.disagreements:
        yield (
            f"{one.one} and {one.other} contradict each other on {one.side.upper()} in {one.trials} trials (first in "
            f"trial {one.first}: {one.difference}); which of them is wrong can't be told"
        )
    if counts["only-b"]:
        yield f"{report.a} refuses {counts['only-b']} inputs on which {report.b} answers"
    if counts["neither"]:
        yield f"both refuse {counts['neither']} inputs"
    if counts["unknown"]:
        yield f"{counts['unknown']} trials say nothing, a side had no usable answer"
    if counts["sensitive"]:
        yield (
            f"{counts['sensitive']} trials say nothing: a change in the last place of their inputs, or of what is "
            f"quantized on the way, moves {report.a}'s own outputs as far"
        )
    if report.outputs is not None and report.outputs.by == "position":
        yield "outputs have different names and were matched by position"
    if report.outputs is not None and report.outputs.extra:
        yield f"{report.b} has further outputs: {', '.join(report.outputs.extra)}"
    if report.inputs is not None and report.inputs.by == "position":
        yield "inputs have different names and were matched by position"
    if report.inputs is not None and report.inputs.missing:
        yield f"{report.b} has no inputs {', '.join(report.inputs.missing)}"
    if report.verdict != "incomparable":
        yield from _faults(report)


def _faults(report: Report) -> Iterator[str]:
    """Runnables that failed, or were not believed, although others answered."""
    for side in ("a", "b"):
        yield from _errors(report, side)
