"""The `backedge` command; its exit codes stand in `passes.exit_codes`.

What a command needs is imported when it runs: help and completion answer at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Sequence

import click

from ..passes.errors import OverLimit
from ..passes.exit_codes import ExitCode
from ..passes.limits import too_few_addresses
from .commands import compare, convert, inspect
from .ending import Ending, ending
from .request import Request
from .stopping import Stopped, stoppable


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="backedge", message="%(prog)s %(version)s")
def cli() -> None:
    """Convert models with control flow between formats, and check that both files compute the same.

    Exit codes: 0 proved or equal (or done), 1 different (nothing is written), 2 bad usage or a file that can't be read,
    3 not expressible in the target, 4 unconfirmed or incomparable (convert has written), 70 a fault of backedge.
    """


for command in (
    convert.convert,
    compare.verify,
    convert.sweep,
    compare.diff,
    compare.check,
    inspect.run,
    inspect.show,
    inspect.formats,
    inspect.cache,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a locale has no character for is printed as its number
            with contextlib.suppress(OSError):  # it was exchanged under the stream
                stream.reconfigure(errors="backslashreplace")
    try:
        with stoppable():
            code = _code(arguments)
    except (KeyboardInterrupt, Stopped) as error:  # before the command has begun, or while its end is told
        code = _told_briefly(ending(error))
    if arguments is None:  # this is the process's work, and it is done: nothing is left to be interrupted
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


def _code(arguments: Sequence[str] | None) -> int:
    """Run the command, and say why it ended early if it did."""
    request = Request()
    if few := too_few_addresses():  # for what tells it well, too
        sys.stderr.write(f"backedge: {few}\n")
        return ExitCode.UNUSABLE
    try:
        return _run(arguments, request)
    except BrokenPipeError:  # the reader of our output has seen enough
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt, Stopped, OverLimit) as error:
        end = ending(error)
        try:
            from .terminal import tell

            tell(end, request)
        except (MemoryError, ImportError):  # there is no memory to load what tells it well
            return _told_briefly(end)
        return end.code


def _told_briefly(end: Ending) -> int:
    """Say what ended the work where nothing more can be loaded; its exit code."""
    sys.stderr.write(f"backedge: {end.message}\n")
    return end.code


def _run(arguments: Sequence[str] | None, request: Request) -> int:
    """The command's code. click's own `main` would turn a closed pipe into exit code 1."""
    if "_BACKEDGE_COMPLETE" in os.environ:
        cli.main(prog_name="backedge")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with cli.make_context("backedge", given, obj=request) as context:
            code = cli.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as exit:
        return exit.exit_code


if __name__ == "__main__":
    main()
