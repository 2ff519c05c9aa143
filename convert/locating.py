"""What is looked into where a comparison found something: where files part, and where a runtime does over one file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..runtime.compare.record import Report
from ..runtime.locate.search import MEMORY
from ..runtime.oracles.driver import drive
from .budget import TIMEOUT
from .odds import at_odds
from .repro import staging, write_repro

LOCATING = f"{__package__}.locating_session"

EXECUTOR_NAME = "executor"
"""What our executor is called among runnables."""

_LOADING = 60.0  # seconds for reading and matching
_MOST_CAUSES = 2  # disagreements that are looked into

SECONDS = 60.0
"""For finding the first difference."""


@dataclass(frozen=True, slots=True)
class Looking:
    """How deep to look.

    Attributes:
        memory: bytes for values that are compared.
        timeout: seconds for one run of a runtime.
        repro: a folder for the smallest pair of models that differ; None: none is made.
        command: what the user asked for, for that folder's README.
    """

    memory: int = MEMORY
    timeout: float = TIMEOUT
    repro: Path | None = None
    command: str = ""


def look_into(
    report: Report, paths: tuple[Path, Path], formats: tuple[str | None, str | None], looking: Looking
) -> None:
    """Say in a report where its files part, and where a runtime parts with our executor over one of them."""
    for one in report.disagreements[:_MOST_CAUSES]:
        if EXECUTOR_NAME in (one.one, one.other):
            side = 0 if one.side == "a" else 1
            runtime = one.other if one.one == EXECUTOR_NAME else one.one
            try:
                one.cause = at_odds(paths[side], formats[side], runtime, one.inputs, looking.timeout)
            except Exception as error:  # the verdict stands without it
                report.reasons.append(f"{one.side.upper()}: looking for the operator failed: {type(error).__name__}")
            if one.cause is not None:
                report.reasons.append(f"{one.side.upper()}: {one.cause['text']}")
    if report.first is None:
        if looking.repro is not None:
            report.reasons.append(f"{looking.repro} was not made: there is no difference to show")
        return
    with staging(looking.repro) as staged:
        into = None if looking.repro is None else staged
        report.location, smallest = located(paths, formats, report.first.inputs, looking.memory, into=into)
        if report.location is None:
            report.reasons.append("our executor doesn't show where the files part, or not in time")
        if looking.repro is None:
            return
        if smallest is None:
            report.reasons.append(f"{looking.repro} was not made: no smaller pair of models shows the difference")
            return
        survives = write_repro(looking.repro, staged, smallest, report, looking.command)
        sizes = " and ".join(f"{after} of {before}" for before, after in smallest["operators"])
        report.reasons.append(f"{looking.repro}: two models of {sizes} operators; {survives}")


def located(
    paths: tuple[Path, Path],
    formats: tuple[str | None, str | None],
    inputs: Mapping[str, Any],
    memory: int = MEMORY,
    seconds: float = SECONDS,
    into: Path | None = None,
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Where two files part on inputs of the first, see `Location.to_json`; None where our executor sees no difference.

    Args:
        inputs: by A's names.
        memory: bytes for values that are compared.
        into: a folder for the smallest pair of models that differ so; what was written is given back, too.
    """
    options = {
        "other": str(paths[1].absolute()),
        "formats": list(formats),
        "memory": memory,
        "seconds": seconds,
        "into": "" if into is None else str(into.absolute()),
    }
    (outcome,) = drive(LOCATING, paths[0].absolute(), [dict(inputs)], 2 * seconds + _LOADING, math.inf, options)
    if outcome.outputs is None:
        return None, None
    location, smallest = (
        json.loads(str(outcome.outputs[name][0])) if name in outcome.outputs else None
        for name in ("location", "reduced")
    )
    return location, smallest
