"""What a call of the command asks for, whatever command it is."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(slots=True)
class Request:
    """What is asked for.

    Attributes:
        json_file: where a report goes, or why there is none.
        quiet: nothing is printed but errors.
        verbose: each stage of the work is printed with its time.
        to_stdout: the result itself goes to standard output, and what people read to standard error.
    """

    json_file: str | None = None
    quiet: bool = False
    verbose: bool = False
    to_stdout: bool = False


def request() -> Request:
    """That of the call that is being worked on."""
    context = click.get_current_context(silent=True)
    return context.obj if context is not None and isinstance(context.obj, Request) else Request()
