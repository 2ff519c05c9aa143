"""The process in which a runtime runs: `python -m backedge.runtime.oracles.child MODULE`.

The first line on standard input is a JSON object (`path`, `directory`, `options`); the answer says
whether the model could be loaded. Every further line is a number k: the child reads `in.k` from the
directory, runs the model, writes `out.k` and answers with a line of JSON. Whatever the runtime prints
goes to standard error, so that standard output carries answers only.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import IO

from ...passes.errors import Endless, Unsupported
from ...passes.limits import machine_memory, room
from ...passes.workarounds import keeping_to_the_text
from .answer import Answer
from .outcome import one_line
from .transport import read_values, write_values

_OF_A_THREAD = 96 << 20
"""Bytes of the stacks and arenas that runtimes set aside for each processor."""

_LIBRARIES = 512 << 20
"""Bytes of what is imported later."""


def limit_resources() -> None:
    """No core dumps, and no more memory than models of this size need: an endless loop that stacks ends in an error.

    What the runtime has imported isn't counted, nor are the stacks and arenas of its threads.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = _data_so_far() + room() + _LIBRARIES + (os.cpu_count() or 1) * _OF_A_THREAD
        limit = min(most, machine_memory() * 3 // 4)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _data_so_far() -> int:
    """Bytes that the system counts against RLIMIT_DATA already; all of the memory where it doesn't say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData:"))
        return int(line.split()[1]) << 10
    return machine_memory()


def die_with_parent() -> None:
    """A parent that is killed can't end its children itself, and an endless model would run on for ever."""
    with contextlib.suppress(OSError, AttributeError):  # Linux only
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _describe(error: BaseException) -> str:
    text = one_line(str(error))
    return text or type(error).__name__


def full_name(module: str) -> str:
    """The name to import a session's module by: one without a dot is of this package."""
    return module if "." in module else f"{__package__}.{module}"


def serve(module: str) -> None:
    """Load a model and run it on request, with a session of this module, until standard input ends."""
    answers: IO[str] = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    limit_resources()
    die_with_parent()

    def tell(answer: Answer) -> None:
        answers.write(answer.line())
        answers.flush()

    request = json.loads(sys.stdin.readline())
    directory = Path(request["directory"])
    try:
        with keeping_to_the_text(request.get("faithful", False)):
            session = importlib.import_module(full_name(module)).open_session(Path(request["path"]), request["options"])
    except Exception as error:
        tell(Answer(_describe(error)))
        return
    tell(Answer(coarse=session.coarse, note=getattr(session, "note", "")))
    for line in sys.stdin:
        k = int(line)
        try:
            feeds = read_values(directory / f"in.{k}")
            start = time.perf_counter()
            outputs, fault = session.run(feeds)
            seconds = time.perf_counter() - start
        except Exception as error:
            stage = "load" if isinstance(error, Unsupported) else "timeout" if isinstance(error, Endless) else "run"
            tell(Answer(_describe(error), k, stage))
            if getattr(session, "is_spent", False):
                return
            continue
        try:
            write_values(directory / f"out.{k}", outputs)
        except OSError as error:  # a full disk, say: the model isn't to blame
            told = f"its outputs can't be written: {error.strerror}"
            tell(Answer(told, k, "crash", fault=told))
        except Exception as error:
            tell(Answer(_describe(error), k, "run"))
        else:
            tell(Answer("", k, seconds=seconds, fault=fault))


if __name__ == "__main__":
    serve(sys.argv[1])
