"""The process that does jobs: `python -m backedge.convert.many.worker`.

Each line on standard input is a job; the answer is a line of JSON. A model that takes the process with it takes nothing
else, and what jobs have in common (libraries, the processes of runtimes) is loaded once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ...passes.errors import InvalidModel, OverLimit
from ...passes.exit_codes import OF_VERDICT
from ...passes.limits import memory
from ...runtime.oracles.child import die_with_parent
from ..budget import OWN
from ..ending import Ending, ending
from ..guard import Limits, guarded
from ..stopping import Stopped, stoppable
from .jobs import Job


def done(job: Job, tell: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
    """What a job gives: verdict, exit code, message, refusals, report.

    Args:
        tell: says it where the limits are held by the end of the process.
    """
    try:
        with guarded(Limits(memory(), OWN, OWN), lambda end: None if tell is None else tell(_ended(end))):
            return _converted(job) if job.kind == "convert" else _verified(job)
    except (Exception, KeyboardInterrupt, OverLimit) as error:
        return _ended(ending(error))


def _ended(end: Ending) -> dict[str, Any]:
    return {"verdict": None, "exit_code": end.code, "message": end.message, "refusals": list(end.refusals)}


def _converted(job: Job) -> dict[str, Any]:
    from pathlib import Path

    from ..conversion import convert

    folder = Path(job.target).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidModel(f"{folder}: {error.strerror or error}") from None
    report = convert(job.source, job.target, **job.options)
    message = (report.refusal or report.reason) if report.exit_code else ""
    found = report.to_json()
    found["verification"] = _brief(found["verification"])
    return {"verdict": report.verdict, "exit_code": int(report.exit_code), "message": message, "report": found}


def _verified(job: Job) -> dict[str, Any]:
    from ..verification import verify

    report = verify(job.source, job.target, **job.options)
    code = int(OF_VERDICT[report.verdict])
    message = report.reason if code else ""
    return {"verdict": report.verdict, "exit_code": code, "message": message, "report": _brief(report.to_json())}


def _brief(report: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if report is None else {key: value for key, value in report.items() if key != "trials"}


def main() -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print
    die_with_parent()

    def tell(result: dict[str, Any]) -> None:
        answers.write(json.dumps(result) + "\n")
        answers.flush()

    try:
        with stoppable():
            for line in sys.stdin:
                tell(done(Job(**json.loads(line)), tell))
    except Stopped as error:
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
