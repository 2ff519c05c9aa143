"""The results of many jobs: one JSON object a line, which later runs read to do only what is missing.

Schema of a line (version 1; fields are only ever added):

    {"schema": 1,
     "key": text,                  of the job: paths, sizes and times of its files, options
     "kind": "convert" | "verify",
     "name": text, "source": path, "target": path,
     "verdict": "proved" | "equal" | "unverified" | "unconfirmed" | "different" | "incomparable" | null,
     "exit_code": n,               as the command has them for one model; 70 where the process died or took too long
     "message": text,              why there is no verdict, or why it is what it is; "" where all is well
     "refusals": [text, ...],      each node that the target can't express, with the reason
     "seconds": number, "worker": text,
     "report": report | null}      `ConversionReport.to_json()` or `Report.to_json()`, without single trials
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...passes.errors import InvalidModel
from ...passes.exit_codes import ExitCode
from ...passes.outputs import output, writing
from .jobs import Job

SCHEMA = 1

Row = dict[str, Any]

_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.INTERNAL,
    ExitCode.DIFFERENT,
    ExitCode.UNUSABLE,
    ExitCode.NOT_EXPRESSIBLE,
    ExitCode.NOT_CONFIRMED,
)
_OUTCOMES = {
    ExitCode.UNUSABLE: "not read",
    ExitCode.NOT_EXPRESSIBLE: "refused",
    ExitCode.INTERNAL: "failed",
    ExitCode.INTERRUPTED: "interrupted",
}


def row(job: Job, found: Mapping[str, Any], seconds: float, worker: str) -> Row:
    """The line of a job."""
    return {
        "schema": SCHEMA,
        "key": job.key,
        "kind": job.kind,
        "name": job.name,
        "source": job.source,
        "target": job.target,
        "verdict": found.get("verdict"),
        "exit_code": int(found["exit_code"]),
        "message": found.get("message", ""),
        "refusals": list(found.get("refusals", ())),
        "seconds": round(seconds, 3),
        "worker": worker,
        "report": found.get("report"),
    }


def failed(message: str, code: ExitCode = ExitCode.INTERNAL) -> dict[str, Any]:
    """What a job gives whose process gave nothing."""
    return {"verdict": None, "exit_code": int(code), "message": message}


def outcome(one: Row) -> str:
    """The verdict, or in a word why there is none."""
    return one["verdict"] or _OUTCOMES.get(ExitCode(one["exit_code"]), "failed")


def exit_code(rows: Iterable[Row]) -> ExitCode:
    """Of all together: the worst, in the order 130, 70, 1, 2, 3, 4."""
    found = {one["exit_code"] for one in rows}
    return next((code for code in _WORST_FIRST if code in found), ExitCode.OK)


def counts(rows: Iterable[Row]) -> Counter[str]:
    """How many of each outcome."""
    return Counter(outcome(one) for one in rows)


class Results:
    """A file of results, to which each is added as soon as it is there.

    Args:
        path: the file; None keeps nothing.
        again: forget what is in it.

    Raises:
        InvalidModel: it can't be read or written, or holds something else.
    """

    def __init__(self, path: Path | None, again: bool = False) -> None:
        self.path = path
        self.known: dict[str, Row] = {}
        if path is None:
            return
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            if again or not path.exists():
                path.write_text("")
            lines = path.read_text(encoding="utf-8").split("\n")
        complete = lines[:-1]  # a line that nothing ends was being written when the run was ended
        for number, line in enumerate(complete, 1):
            self._take(line, number)
        if lines[-1]:
            with output(path) as file:
                file.write("".join(f"{line}\n" for line in complete).encode())

    def _take(self, line: str, number: int) -> None:
        try:
            found: Row = json.loads(line)
            ExitCode(found["exit_code"])
            is_ours = found["schema"] == SCHEMA and isinstance(found["key"], str)
        except (ValueError, KeyError, TypeError):
            found, is_ours = {}, False
        if not is_ours:
            raise InvalidModel(f"{self.path}, line {number}: no result of version {SCHEMA} of this format")
        self.known[found["key"]] = found

    def finished(self, job: Job) -> Row | None:
        """The result of a job that an earlier run has done; None for one that was interrupted or whose file is gone."""
        found = self.known.get(job.key)
        if found is None or found["exit_code"] == ExitCode.INTERRUPTED:
            return None
        written = found["kind"] == "convert" and found["verdict"] not in (None, "different")
        return None if written and not Path(found["target"]).is_file() else found

    def add(self, one: Row) -> None:
        """Keep a result."""
        self.known[one["key"]] = one
        if self.path is not None:
            with writing(self.path), self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one, allow_nan=False) + "\n")
