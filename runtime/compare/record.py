"""What a comparison found, as data: the report that people and scripts read.

JSON schema of `Report.to_json()` (version 1; fields are only ever added):

    {"schema": 1,
     "verdict": "proved" | "equal" | "unconfirmed" | "different" | "incomparable",
     "proof": proof | null,                     what matching found, null where it wasn't tried
     "reasons": [text, ...],                    why, most important first
     "a": name, "b": name,                      the two models
     "tolerance": {"rtol": number | null, "atol": number | null},      null: each element type's own
     "inputs": matching, "outputs": matching | null,
     "interface": [{"where", "what", "name", "expected", "actual"}, ...],      what a caller sees and that differs
     "counts": {"trials": n, "asked": n,        asked for; there may be fewer, or more
                "confirmed": n,                 equal by runtimes that aren't ours, on both sides
                "failed": n,                    B's own runtime did, on inputs on which A's answered
                "parted": n,                    one runtime gives both files the same, A's own gives A something else
                "equal": n, "different": n, "only-a": n, "only-b": n, "neither": n, "unknown": n, "inconclusive": n},
     "coverage": {"a": coverage | null, "b": coverage | null},     see `coverage.summary`
     "first": finding | null,                   the first trial on which they differ
     "location": location | null,               the first value at which they part on it, see below
     "errors": [{"name", "type": text, "compared": trials, "differing": trials, "ulps": number | null, "worst": trial |
                 null, "exact": trials}, ...],      of each output, see `output_errors.OutputErrors`
     "disagreements": [{"side": "a" | "b", "one": runnable, "other": runnable, "trials": n, "first": n,
                        "difference": difference, "habit": text,
                        "cause": cause | null}, ...],    runnables of one side against each other
     "trials": [{"number": n, "status": status, "evidence": 0 | 1 | 2, "failed": bool, "units": number | null,
                 "inputs": {name: text},
                 "a": [run, ...], "b": [run, ...]}, ...]}
    proof      {"holds": bool, "outputs": {name: bool}, "lemmas": [operator], "tried": {operator: sets of inputs},
                "refuted": [operator], "matched": n, "of": n,
                "stops": {"a": [operator], "b": [operator]}, "why": text, "given_up": text}     see
                `convert.proof.Proof`
    matching   {"by": "name" | "position", "pairs": {name in A: name in B}, "missing": [name], "extra": [name]}
    finding    {"trial": n, "a": runnable, "b": runnable, "difference": difference, "profile": [number, ...],
                "text": text}                      text: how it stands to rounding
    difference {"kind", "output", "path", "index", "expected", "actual", "max_abs", "max_units", "count", "total",
                "iteration"}
    location   {"how": "value" | "shape" | "type" | "trip count" | "branch" | "failure",
                "a": place | null, "b": place | null, "expected", "actual", "index", "count", "total", "max_abs",
                "text": text, "certain": bool,      how it stands to rounding; false: rounding may explain it
                "before": {"a": [operator], "b": [operator]},   between this and values that agree
                "along": [[pass, A's, B's], ...],       the element that differs, in all passes of the innermost loop
                "operands_agree": bool, "values": {"compared": n, "agreed": n, "rounded": n}}
    cause      {"place": place, "runtime": runnable, "expected", "actual", "exact", "index", "iteration": n | null,
                "others": {runnable: value}, "runs": n, "text": text}     where a runtime parts with our executor
    place      {"path": text, "op": operator, "value": name,
                "steps": [{"op", "name", "region", "pass": n | null}, ...]}     from the model's graph inwards
    run        {"runnable": name, "status": "ok" | "load" | "run" | "crash" | "timeout" | "skipped", "seconds": number,
                "error": text, "fault": text, "own": bool}

NaN and infinities are the strings "nan", "inf", "-inf".
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from ..oracles import Batch, Values
from .interface import InterfaceDifference
from .matching import Matching
from .output_errors import ErrorTable
from .tolerance import Difference

Status = Literal["equal", "different", "only-a", "only-b", "neither", "unknown", "inconclusive"]
"""Of one trial: the sides agree, or not; only A answered although B tried (B fails); only B did (A refuses the input);
both refuse it; or nobody can tell, because a side has no usable answer for reasons of its runtimes, or because
rounding moves A's own outputs as far as the sides lie apart, or there was no time to tell."""

STATUSES: tuple[Status, ...] = get_args(Status)

Verdict = Literal["proved", "equal", "unconfirmed", "different", "incomparable"]
"""proved: every output is certain to be equal, bit for bit, as we read the files, and runtimes that aren't ours agree
on a few inputs. equal: on every side a runtime that isn't ours answered, and nothing differs beyond rounding.
unconfirmed: nothing differs, but a side was read by the executor only, or too few trials could be compared.
different. incomparable: nothing could be compared."""


@dataclass(slots=True)
class SideRun:
    """How one runnable did in one trial; `status` is "ok" or the stage at which it ended. `own`: not our executor."""

    runnable: str
    status: str
    seconds: float = 0.0
    error: str = ""
    fault: str = ""
    own: bool = True


@dataclass(slots=True)
class Trial:
    """One set of inputs.

    Attributes:
        units: the largest error as a share of what is allowed, more than 1 is a difference; None if nothing was
            compared. Allowed are 4 units in the last place; beyond them as many rounding errors as
            `compare.rounding` says.
        evidence: on how many sides the answers that decided came from a runtime that isn't ours.
        failed: B's own runtimes did on these inputs, A's own answered.
    """

    number: int
    status: Status
    units: float | None
    inputs: dict[str, str]
    a: list[SideRun] = field(default_factory=list)
    b: list[SideRun] = field(default_factory=list)
    evidence: int = 0
    failed: bool = False


@dataclass(slots=True)
class Finding:
    """Where the sides first differ: the trial, who computed the two values, and its inputs.

    `profile` is the error of each iteration (in units of what is allowed) if the output is stacked over iterations;
    `text` says how the difference stands to rounding.
    """

    trial: int
    difference: Difference
    a: str
    b: str
    profile: tuple[float, ...] = ()
    inputs: Batch = field(default_factory=dict)
    text: str = ""


@dataclass(slots=True)
class Disagreement:
    """Two runnables of one side that contradict each other on `trials` trials, first on trial `first`; `habit`: what
    one of them is known to do with special values that were met where they are furthest apart; `inputs`: of the trial,
    by the side's own names; `cause`: what was found of it, see `runtime.locate.odds`."""

    side: str
    one: str
    other: str
    first: int
    difference: Difference
    trials: int = 0
    habit: str = ""
    inputs: Batch = field(default_factory=dict)
    cause: dict[str, Any] | None = None


@dataclass(slots=True)
class Report:
    """The result of comparing side `a` with side `b`; true if the verdict is "proved" or "equal".

    Attributes:
        reasons: why the verdict is what it is, most important first.
        asked: sets of inputs that were asked for; fewer may have been had, and more may have been added to them.
        interface: in what the declared inputs and outputs differ.
        parted: trials on which one runtime gives both files the same, and other than A's own runtime gives A.
        errors: how far apart each output lies.
        location: where the files part first on the inputs of `first`, see `runtime.locate`.
        proof: what matching the files found, see `convert.proof`; None where it wasn't tried.
        coverage: "a" and "b" -> what the trials reached in each model, see `coverage.summary`; empty if nobody looked.
    """

    a: str
    b: str
    verdict: Verdict = "incomparable"
    reasons: list[str] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    first: Finding | None = None
    disagreements: list[Disagreement] = field(default_factory=list)
    inputs: Matching | None = None
    outputs: Matching | None = None
    rtol: float | None = None
    atol: float | None = None
    asked: int = 0
    interface: list[InterfaceDifference] = field(default_factory=list)
    parted: int = 0
    coverage: dict[str, Any] = field(default_factory=dict)
    proof: dict[str, Any] | None = None
    location: dict[str, Any] | None = None
    errors: ErrorTable = field(default_factory=ErrorTable)

    def __bool__(self) -> bool:
        return self.verdict in ("proved", "equal")

    def __str__(self) -> str:
        """As the command prints it, without colours."""
        from .report import as_text, rendered

        return as_text(rendered(self))

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from .report import as_html, rendered

        return as_html(rendered(self))

    @property
    def reason(self) -> str:
        """The most important reason; "" where there is none."""
        return self.reasons[0] if self.reasons else ""

    @property
    def confirmed(self) -> int:
        """Trials that are equal by the word of runtimes that aren't ours, on both sides."""
        return sum(trial.status == "equal" and trial.evidence == 2 for trial in self.trials)

    @property
    def failed(self) -> int:
        """Trials on which B's own runtime failed and A's own didn't."""
        return sum(trial.failed for trial in self.trials)

    @property
    def counts(self) -> dict[Status, int]:
        """How many trials have each status."""
        found = Counter(trial.status for trial in self.trials)
        return {status: found[status] for status in STATUSES}

    def to_json(self) -> dict[str, Any]:
        """As JSON values; the schema stands at the top of this module."""
        first = None
        if self.first is not None:
            first = _without_inputs(self.first)
        return _plain(
            {
                "schema": 1,
                "verdict": self.verdict,
                "proof": self.proof,
                "reasons": self.reasons,
                "a": self.a,
                "b": self.b,
                "tolerance": {"rtol": self.rtol, "atol": self.atol},
                "inputs": None if self.inputs is None else asdict(self.inputs),
                "outputs": None if self.outputs is None else asdict(self.outputs),
                "interface": [asdict(one) for one in self.interface],
                "counts": {
                    "trials": len(self.trials),
                    "asked": self.asked,
                    "confirmed": self.confirmed,
                    "failed": self.failed,
                    "parted": self.parted,
                    **self.counts,
                },
                "coverage": self.coverage,
                "first": first,
                "location": self.location,
                "errors": self.errors.to_json(),
                "disagreements": [_without_inputs(one) for one in self.disagreements],
                "trials": [asdict(trial) for trial in self.trials],
            }
        )


def _without_inputs(found: Finding | Disagreement) -> dict[str, Any]:
    fields = asdict(replace(found, inputs={}))
    del fields["inputs"]
    return fields


def plural(count: int, what: str) -> str:
    """1 trial, 20 trials"""
    return f"{count} {what}{'' if count == 1 else 's'}"


def describe(value: Values) -> str:
    """`int64 3`, `float32[2, 3]`, `[float32[2], ...]`."""
    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"[{', '.join(describe(item) for item in value[:4])}{', ...' if len(value) > 4 else ''}]"
    array: np.ndarray[Any, Any] = np.asarray(value)
    name = "string" if array.dtype.kind in "OUS" else str(array.dtype)
    return f"{name} {array[()]}" if not array.ndim else f"{name}{list(array.shape)}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
