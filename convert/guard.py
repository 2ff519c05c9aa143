"""Limits that hold in the process of a command itself: memory, time, and that a signal ends it at once.

A thread looks at the process many times a second. What is over a limit is told to the main thread by a signal, whose
handler raises `OverLimit` between two of Python's instructions. Where the main thread doesn't come to one, since it is
in machine code that runs on and on, the thread ends the process itself, by the words and the code that the error would
have given; that is also what becomes of Ctrl-C then.

Time is the processor time of the main thread within a stage of the work (`passes.progress`), so that neither a busy
machine nor runtimes in their own processes use it up; of a run of the model itself it is the clock's. Large files have
more: see `Limits`.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..passes import limits, progress
from ..passes.errors import OverLimit
from .budget import OWN
from .ending import Ending, ending
from .stopping import Stopped

_EACH = 0.05
"""Seconds between looks."""

_PATIENCE = 3.0
"""Seconds of processor time that the main thread may take to come to an end, once it knows; seconds for cleaning up."""

_ANSWER = 0.7
"""Seconds of processor time that it may take to take notice of a signal."""

_LONGEST = 6.0
"""Seconds by the clock that it may take for either."""

SECONDS_PER_MEGABYTE = 20.0
"""What a stage may take more for a model's files."""


@dataclass(frozen=True)
class Limits:
    """What a command may use.

    Attributes:
        memory: bytes, beside what there is when it begins, and beside `limits.FOLD` bytes for each byte of the model's
            files.
        seconds: of the main thread's processor time in one stage, beside `SECONDS_PER_MEGABYTE`.
        run: the same by the clock, of a run of the model in this process.
    """

    memory: int
    seconds: float
    run: float


@contextlib.contextmanager
def guarded(asked: Limits, tell: Callable[[Ending], None]) -> Iterator[None]:
    """Hold to limits while a command works.

    Args:
        tell: says how it ended where the main thread can't.

    Raises:
        OverLimit: it has used up its memory or its time.
    """
    limits.forget_stored()
    before = os.environ.get(limits.VARIABLE)
    os.environ[limits.VARIABLE] = str(asked.memory)
    try:
        if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
            yield
        else:
            with limits.one_call(), _Guard(asked, tell):
                yield
    finally:
        if before is None:
            os.environ.pop(limits.VARIABLE, None)
        else:
            os.environ[limits.VARIABLE] = before


def part(of: float) -> Callable[[], str]:
    """What tells, when it is called, whether the work since now has used up this part of a stage's processor time, or
    of the memory that is left: why it has, "" while it hasn't.

    Where nothing is guarded the limits are those of a command that nobody says otherwise of.
    """
    guard = _Guard.current
    asked = Limits(limits.memory(), OWN, OWN) if guard is None else guard.asked
    seconds, begun = of * _most(asked.seconds), time.thread_time()
    before = _private_memory()
    least = before if guard is None else guard.least
    memory = before + max(0, int(of * (limits.room() - (before - least))))

    def excess() -> str:
        if time.thread_time() - begun > seconds:
            return f"it takes longer than {seconds:.3g} s, {of:.0%} of what the work may take (--timeout)"
        if _private_memory() > memory:
            return f"it takes more memory than {limits.told(memory - before)}, {of:.0%} of what is left (--memory)"
        return ""

    return excess


def _most(seconds: float) -> float:
    """What a stage may take for the files that were read."""
    return seconds + SECONDS_PER_MEGABYTE * limits.stored() / 1e6


class _Guard:
    """The thread, and what the main thread's handler says to it."""

    current: _Guard | None = None

    def __init__(self, asked: Limits, tell: Callable[[Ending], None]) -> None:
        self.asked, self._tell = asked, tell
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._main = threading.get_ident()
        self._stage, self._began = progress.begun(), self._now()
        self.least = _private_memory()
        self._reason = ""
        self._noticed = threading.Event()
        self._over = threading.Event()
        self._reading, self._writing = os.pipe()
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)
        self._thread = threading.Thread(target=self._watch, name="limits", daemon=True)

    def __enter__(self) -> None:
        self._handler: Any = signal.signal(signal.SIGXCPU, self._notice)
        self._wakeup = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._thread.start()
        _Guard.current = self

    def __exit__(self, *_: object) -> None:
        _Guard.current = None
        self._over.set()
        self._thread.join()  # before the handler goes, without which its signal would end the process
        signal.set_wakeup_fd(self._wakeup)
        signal.signal(signal.SIGXCPU, self._handler)
        os.close(self._reading)
        os.close(self._writing)

    def _notice(self, number: int, frame: FrameType | None) -> None:
        """In the main thread, between two instructions."""
        self._noticed.set()
        if self._reason and not self._over.is_set():
            reason, self._reason = self._reason, ""
            sys.unraisablehook = _be_silent
            raise OverLimit(reason)

    def _watch(self) -> None:
        while not self._over.is_set():
            for number in self._signals():
                if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) and not self._is_noticed():
                    self._end(ending(KeyboardInterrupt() if number == signal.SIGINT else Stopped(number)))
            reason = self._excess()
            if reason:
                self._reason = reason
                if not self._is_noticed() or not self._comes_to_an_end():
                    self._end(ending(OverLimit(reason)))
                return
            self._over.wait(_EACH)

    def _signals(self) -> bytes:
        """The numbers of the signals that came since the last look."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self._reading, 64)
        return b""

    def _is_noticed(self) -> bool:
        """Whether the main thread's handlers run, and so have run for every signal before."""
        self._noticed.clear()
        signal.pthread_kill(self._main, signal.SIGXCPU)
        return any(self._noticed.wait(_EACH) for _ in self._while_it_works(_ANSWER)) or self._over.is_set()

    def _comes_to_an_end(self) -> bool:
        return any(self._over.wait(_EACH) for _ in self._while_it_works(_PATIENCE)) or self._over.is_set()

    def _while_it_works(self, seconds: float) -> Iterator[None]:
        """Until the main thread has worked for so long, which takes by the clock what a busy machine makes of it, or
        has waited."""
        begun, until = time.clock_gettime(self._clock), time.monotonic() + _LONGEST
        while time.clock_gettime(self._clock) - begun < seconds and time.monotonic() < until:
            if self._over.is_set():
                return
            yield

    def _excess(self) -> str:
        """What is over its limit; "" where nothing is."""
        memory = _private_memory()
        self.least = min(self.least, memory)
        if memory - self.least > limits.room():
            return f"the work takes more memory than {limits.told(limits.room())} (--memory)"
        if progress.begun() != self._stage:
            self._stage, self._began = progress.begun(), self._now()
        now = self._now()
        asked = self.asked.run if progress.is_run() else self.asked.seconds
        most = _most(asked)
        if now - self._began > most:
            return f"the work takes longer than {most:.3g} s ({progress.current() or 'so far'}; --timeout)"
        return ""

    def _now(self) -> float:
        return time.monotonic() if progress.is_run() else time.clock_gettime(self._clock)

    def _end(self, end: Ending) -> None:
        """End the process in the main thread's place: its children, its temporary files, its last words."""
        sys.unraisablehook = threading.excepthook = _be_silent
        self._tell(end)
        cleaning = threading.Thread(target=_clean, daemon=True)
        cleaning.start()
        cleaning.join(_PATIENCE)
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(end.code)


def _be_silent(_: object) -> None:
    """Where the work is broken off nothing is said but that."""


def _clean() -> None:
    """What is done when a process ends: runtimes are ended, temporary folders removed."""
    with contextlib.suppress(Exception):
        atexit._run_exitfuncs()  # type: ignore[attr-defined]


def _private_memory() -> int:
    """Bytes of memory that the process alone has, files that are mapped aside; 0 where the system isn't Linux."""
    try:
        with open("/proc/self/statm", "rb") as file:
            _, resident, shared = file.read().split()[:3]
    except OSError:
        return 0
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
