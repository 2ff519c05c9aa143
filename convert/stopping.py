"""SIGTERM and SIGHUP end the command as Ctrl-C does: what it has begun is cleared away, its processes end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

_STOPPING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_ONCE = 1.0  # seconds in which several signals mean the same: a terminal that is closed sends two
_AGAIN = 0.05  # seconds until a signal is repeated whose exception was lost


class Stopped(BaseException):
    """The process was asked to end.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"ended by {signal.Signals(number).name}")

    @property
    def exit_code(self) -> int:
        """What shells say of a process that a signal ended."""
        return 128 + self.number


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """While SIGTERM and SIGHUP raise `Stopped`; one that is ignored (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    last = -_ONCE

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now, before = time.monotonic(), last
        last = now
        if now - before >= _ONCE:
            raise Stopped(number)

    def lost(unraisable: sys.UnraisableHookArgs) -> None:
        """An exception was raised where none can be, in a `__del__` or a call from C: the signal is sent again."""
        nonlocal last
        number = _signal_of(unraisable.exc_value)
        if number is None:
            hook(unraisable)
            return
        last = -_ONCE
        again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    hook = sys.unraisablehook
    before = {number: signal.getsignal(number) for number in _STOPPING}
    taken = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    try:
        for number in taken:
            signal.signal(number, stop)
        sys.unraisablehook = lost
        yield
    finally:
        sys.unraisablehook = hook
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _signal_of(error: BaseException | None) -> int | None:
    if isinstance(error, Stopped):
        return error.number
    return signal.SIGINT if isinstance(error, KeyboardInterrupt) else None
