"""The report as one HTML page that needs nothing else: verdict and evidence first, then where and how much."""

from __future__ import annotations

import functools
import math
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from ..locate.telling import lines as location_lines
from ..oracles import ORACLES, version_of
from .chart import chart, lines_chart
from .record import Report, Status
from .report import STATUSES, columns, finding_lines, rows

_TONES = {"proved": "good", "equal": "good", "different": "bad", "unconfirmed": "open", "incomparable": "open"}
_STATUS_TONES: dict[Status, str] = {"equal": "good", "different": "bad", "only-a": "bad"}
_MOST_TRIALS = 400


class Card(NamedTuple):
    """One piece of evidence: what it is, how much there is of it, and what belongs to that."""

    label: str
    value: str
    more: str
    tone: str = ""


@functools.cache
def _templates() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True)


def render(name: str, **content: Any) -> str:
    """A page of a template; what is put in is escaped unless it is a picture of ours."""
    return _templates().get_template(name).render(content)


def html(report: Report, picture: str = "", command: str = "") -> str:
    """The page as text.

    Args:
        picture: an SVG of B.
        command: what made the report.
    """
    first, location = report.first, report.location
    errors = [(trial.number, trial.units) for trial in report.trials if trial.units is not None]
    return render(
        "report.html",
        report=report,
        tone=_TONES[report.verdict],
        cards=list(_cards(report)),
        location=[] if location is None else list(location_lines(location)),
        values="" if location is None else lines_chart([tuple(point) for point in location.get("along", ())], "pass"),
        finding=[] if first is None else [*finding_lines(first), *_inputs(report, first.trial)],
        profile=chart(list(enumerate(first.profile)), "iteration") if first is not None and first.profile else "",
        picture=re.sub(r' xmlns="[^"]*"', "", picture),
        outputs=[{**row, "ulps": _ulps(row)} for row in report.errors.to_json()],
        errors=chart(errors, "trial") if errors else "",
        columns=columns(report) if report.trials else [],
        trials=[
            {"status": STATUSES[row.status][0], "tone": _STATUS_TONES.get(row.status, "soft"), "texts": row.texts}
            for row in (rows(report) if report.trials else ())
        ],
        all_trials=[
            {
                "number": trial.number,
                "tone": _STATUS_TONES.get(trial.status, "soft"),
                "inputs": ", ".join(f"{name}: {text}" for name, text in trial.inputs.items()),
            }
            for trial in report.trials[:_MOST_TRIALS]
        ],
        command=command,
        versions=_versions(report),
    )


def _inputs(report: Report, number: int) -> Iterator[tuple[str, str]]:
    trial = next(trial for trial in report.trials if trial.number == number)
    yield from ((f"input {name}", text) for name, text in trial.inputs.items())


def _cards(report: Report) -> Iterator[Card]:
    """What the verdict rests on."""
    proof = report.proof
    if proof is not None:
        outputs = sum(proof["outputs"].values())
        more = f"{outputs} of {len(proof['outputs'])} outputs" + (", modulo lemmas" if proof["lemmas"] else "")
        yield Card("proved", f"{proof['matched']} of {proof['of']} operators", more, "good" if proof["holds"] else "")
    counts = report.counts
    told = [f"{counts[status]} {STATUSES[status][0]}" for status in counts if counts[status] and status != "equal"]
    if report.trials:
        worst = "bad" if counts["different"] or counts["only-a"] else "good" if counts["equal"] else ""
        yield Card("trials", f"{counts['equal']} of {len(report.trials)} agree", ", ".join(told) or "all", worst)
        own = {
            side: sorted({run.runnable for trial in report.trials for run in getattr(trial, side) if run.own})
            for side in ("a", "b")
        }
        yield Card(
            "runtimes",
            f"{report.confirmed} confirmed",
            "; ".join(f"{side.upper()}: {', '.join(names) or 'our executor only'}" for side, names in own.items()),
        )
    units = [trial.units for trial in report.trials if trial.units is not None and math.isfinite(trial.units)]
    if units:
        yield Card("largest error", f"{max(units):.2g}", "in units of what is allowed", "bad" if max(units) > 1 else "")
    yield from _coverage(report.coverage)


def _coverage(coverage: Mapping[str, Any]) -> Iterator[Card]:
    of_a = coverage.get("a")
    if not of_a or not (of_a["regions"] or of_a["sides"]):
        return
    entered = sum(1 for count in of_a["regions"].values() if count)
    passes = sorted({count for counts in of_a["trips"].values() for count in counts})
    seen = f"trip counts {passes[0]} to {passes[-1]}" if passes else "no loops"
    never = len(of_a["never"])
    more = f"{seen}; {never} {'places' if never != 1 else 'place'} never reached" if never else seen
    yield Card("coverage of A", f"{entered} of {len(of_a['regions'])} regions", more)


def _ulps(row: Mapping[str, Any]) -> str:
    far = row["ulps"]
    if far is None:
        return "no numbers"
    if math.isinf(far):
        return f"not finite (trial {row['worst']})"
    unit = "" if "int" in row["type"] or "bool" in row["type"] else " ULP"
    return f"{far:,.0f}{unit}" + (f" (trial {row['worst']})" if far else "")


def _versions(report: Report) -> str:
    names = {run.runnable for trial in report.trials for run in (*trial.a, *trial.b)}
    packages = ["backedge", "numpy", *(ORACLES[name].package for name in sorted(names) if name in ORACLES)]
    found = map(version_of, dict.fromkeys(packages))
    return ", ".join([f"Python {platform.python_version()}", *found, f"{platform.system()} {platform.machine()}"])
