"""How the command ends early: an exit code, one line, and where a fault of our own can be read about.

A refusal with `--json FILE` writes there what the report would have been:

    {"schema": 1, "verdict": null, "exit_code": n, "error": {"kind": "usage" | "invalid" | "unsupported" | "failed" |
     "internal" | "interrupted", "message": text, "traceback": path | null, "refusals": [text, ...],
     "hints": [text, ...]}}

`refusals`: each node, input or output that the target can't express, with the reason; empty where `message` is the only
one. `hints`: what can be done about it, where something is known.
"""

from __future__ import annotations

import contextlib
import errno
import tempfile
import traceback
from dataclasses import dataclass
from typing import Any

import click

from ..passes.errors import BackedgeError, InvalidModel, OverLimit, Unsupported, UnsupportedNodes
from ..passes.exit_codes import ExitCode
from .stopping import Stopped

_NO_ROOM = "failed to map segment"  # for a library, says the system's loader
_NO_THREAD = "can't start new thread"
_OF_THE_SYSTEM = frozenset(
    getattr(errno, name)
    for name in "EAGAIN EDQUOT EFBIG EIO EMFILE ENFILE ENOMEM ENOSPC EROFS".split()  # noqa: SIM905
    if hasattr(errno, name)
)
"""What the system can refuse to whoever does all right; EAGAIN: no further process."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What ended the work: the code, the kind and the words for people; the file that holds a fault's traceback."""

    code: int
    kind: str
    message: str
    traceback: str | None = None
    refusals: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        error: dict[str, Any] = {"kind": self.kind, "message": self.message, "traceback": self.traceback}
        error |= {"refusals": list(self.refusals), "hints": list(self.hints)}
        return {"schema": 1, "verdict": None, "exit_code": self.code, "error": error}


def ending(error: BaseException) -> Ending:
    """What an error means to who called the command.

    Whatever isn't an error of `passes.errors` is a fault of ours: its traceback goes to a file of the temporary
    folder, and the model isn't blamed.
    """
    match error:
        case click.exceptions.Abort() | KeyboardInterrupt():
            return Ending(ExitCode.INTERRUPTED, "interrupted", "interrupted")
        case Stopped():
            return Ending(error.exit_code, "interrupted", str(error))
        case click.ClickException():
            return Ending(ExitCode.UNUSABLE, "usage", _one_line(error.format_message()))
        case Unsupported():
            several = isinstance(error, UnsupportedNodes)
            texts = tuple(_one_line(str(one)) for one in error.refusals) if several else ()
            hints = tuple(getattr(error, "__notes__", ()))
            message = error.summary if several else _one_line(str(error))
            return Ending(error.exit_code, "unsupported", message, refusals=texts, hints=hints)
        case BackedgeError():
            kind = "invalid" if isinstance(error, InvalidModel) else "failed"
            return Ending(error.exit_code, kind, _one_line(str(error)))
        case OSError(errno=number) if number in _OF_THE_SYSTEM:
            where = f"{error.filename}: " if error.filename else ""
            return Ending(ExitCode.UNUSABLE, "failed", _one_line(f"{where}{error.strerror}"))
        case OverLimit():
            return Ending(ExitCode.UNUSABLE, "failed", _one_line(str(error)))
        case MemoryError() | ImportError() if isinstance(error, MemoryError) or _NO_ROOM in str(error):
            return Ending(ExitCode.UNUSABLE, "failed", "out of memory")
        case RuntimeError() if str(error) == _NO_THREAD:
            return Ending(ExitCode.UNUSABLE, "failed", "out of memory or processes: no thread can be started")
        case RecursionError():
            return Ending(ExitCode.UNUSABLE, "failed", "nested too deeply")
    saved = _saved(error)
    what = _one_line(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    where = f"; the traceback is in {saved}" if saved else ""
    return Ending(ExitCode.INTERNAL, "internal", f"a fault of backedge, not of the model: {what:.300}{where}", saved)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _saved(error: BaseException) -> str | None:
    """The file that holds the traceback; None where none can be written."""
    with (
        contextlib.suppress(OSError),
        tempfile.NamedTemporaryFile(
            "w", prefix="backedge-fault-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file,
    ):
        file.writelines(traceback.format_exception(error))
        return file.name
    return None
