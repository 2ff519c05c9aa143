"""The project's checks, each in an environment of its own: `nox` runs the first four, `nox -s corpus` one by name.

Arguments behind `--` go to pytest: `nox -s tests -- tests/opset`.
"""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "types", "tests", "docs"]
nox.options.reuse_existing_virtualenvs = True


def _pytest(session: nox.Session, *options: str) -> None:
    session.install("-e", ".[test]")
    session.run("pytest", *options, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, unused names, forbidden imports, format."""
    session.install("ruff>=0.11")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types of all modules."""
    session.install("-e", ".[test,dev]")
    session.run("pyright")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests that run in minutes: of files that take long a sample."""
    _pytest(session)


@nox.session
def full(session: nox.Session) -> None:
    """What `tests` leaves out."""
    _pytest(session, "-m", "full")


@nox.session
def fuzz(session: nox.Session) -> None:
    """Processes that are killed at random times."""
    _pytest(session, "-m", "fuzz")


@nox.session
def corpus(session: nox.Session) -> None:
    """Long runs over recorded models, and examples with frameworks."""
    session.install("flax", "equinox", "dm-haiku")
    _pytest(session, "-m", "corpus")


@nox.session
def bench(session: nox.Session) -> None:
    """Speed ratios against peers."""
    _pytest(session, "-m", "bench", "-n", "0", "-s")


@nox.session
def docs(session: nox.Session) -> None:
    """Whether docs/operators.md and docs/evidence.md are what the tables and data say, and the site (build/site)."""
    session.install(".[test,docs]")
    session.run("python", "docs/operators.py", "--check")
    session.run("python", "docs/evidence.py", "--check")
    session.run("mkdocs", "build", "--strict", "-f", "docs/mkdocs.yml")


@nox.session
def evidence(session: nox.Session) -> None:
    """Write docs/evidence.md from its data; `nox -s evidence -- --measure NAME...` measures figures anew."""
    session.install("-e", ".[test]")
    session.run("python", "docs/evidence.py", *session.posargs)
