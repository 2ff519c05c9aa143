"""Many jobs, from the first to the report: what is done already is left out, one that fails stops no other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..budget import LIMIT
from ..terminal import err, out
from .cluster import on_cluster
from .jobs import Job
from .outputs import github_annotations, table, write_junit
from .pool import on_this_machine
from .results import Results, Row, outcome


@dataclass(frozen=True, slots=True)
class Ways:
    """How jobs are done and told.

    Attributes:
        jobs: processes on this machine.
        scheduler: the address of a Dask scheduler instead.
        limit: seconds for one model.
        results: the file for the results as JSON Lines, see `results`.
        again: do again what this file has.
        junit: a file for JUnit XML.
        github: whether to print annotations for GitHub Actions; None: if this is a run of it.
        quiet: print nothing but annotations.
    """

    jobs: int = 1
    scheduler: str = ""
    limit: float = LIMIT
    results: Path | None = None
    again: bool = False
    junit: Path | None = None
    github: bool | None = None
    quiet: bool = False


def run_jobs(jobs: Sequence[Job], ways: Ways, title: str) -> list[Row]:
    """Do all jobs, print a table, write what is asked for.

    Raises:
        InvalidModel: a file can't be written, or there is no scheduler.
    """
    results = Results(ways.results, ways.again)
    finished = {job.key: results.finished(job) for job in jobs}
    rows = {key: known for key, known in finished.items() if known is not None}
    missing = [job for job in jobs if job.key not in rows]
    if rows and not ways.quiet:
        out.print(f"{len(rows)} of {len(jobs)} are done already ({ways.results})")
    with contextlib.closing(_watched(missing, ways, title)) as watched:
        for found in watched:
            results.add(found)
            rows[found["key"]] = found
    ordered = [rows[job.key] for job in jobs]
    if ways.junit is not None:
        write_junit(ordered, ways.junit, title)
    if not ways.quiet:
        for part in table(ordered).renderables:
            out.print(part)
    if ways.github if ways.github is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in github_annotations(ordered):
            click.echo(line)
    return ordered


def _watched(jobs: Sequence[Job], ways: Ways, title: str) -> Generator[Row]:
    """The results, with a bar on a terminal that tells what is being done, else a line for each."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal or ways.quiet) as progress:
        task = progress.add_task(title, total=len(jobs))

        def began(job: Job) -> None:
            progress.update(task, description=job.name)

        done = (
            on_cluster(jobs, ways.scheduler, ways.limit, began)
            if ways.scheduler
            else on_this_machine(jobs, ways.jobs, ways.limit, began)
        )
        with contextlib.closing(done):
            for number, found in enumerate(done, 1):
                progress.advance(task)
                if not ways.quiet and not err.is_terminal:
                    text = f"[{number}/{len(jobs)}] {outcome(found)}  {found['name']}  {found['seconds']:.1f} s"
                    err.print(text, soft_wrap=True, markup=False)
                yield found
