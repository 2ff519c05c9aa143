"""What commands on many models share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..request import request

if TYPE_CHECKING:
    from ..many.jobs import Job
    from ..many.run import Ways

RESULTS = "results.jsonl"
"""The file of results in the folder of `--into`."""


def ways_of(options: Mapping[str, Any], folder: Path | None) -> Ways:
    """How the options of `many_options` say that jobs are done."""
    from ..many.run import Ways

    default = None if folder is None else folder / RESULTS
    return Ways(
        options["jobs"],
        options["scheduler"],
        options["limit"],
        options["results"] or default,
        options["again"],
        options["junit"],
        options["annotations"],
        request().quiet or request().json_file == "-",
    )


def done(jobs: Sequence[Job], ways: Ways, title: str, json_file: str | None) -> int:
    """Do all jobs; the exit code."""
    from ..many.results import SCHEMA, counts, exit_code
    from ..many.run import run_jobs
    from ..terminal import write_json

    rows = run_jobs(jobs, ways, title)
    code = exit_code(rows)
    if json_file is not None:
        content = {"schema": SCHEMA, "exit_code": int(code), "counts": dict(counts(rows)), "results": rows}
        write_json(content, json_file)
    return code
