"""Whatever can be asked for a model's outputs: the executor over a graph, a runtime over a file."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...passes.errors import Endless, Unsupported
from ..oracles import Batch, Outcome, Values, one_line, stream_file

Run = Callable[[Iterable[Batch]], Iterable[Outcome]]


@dataclass(frozen=True, slots=True)
class Runnable:
    """Something that runs one model.

    Attributes:
        name: who it is ("executor", "onnxruntime", ...).
        run: outcomes for sets of inputs, in order; it may make them one by one.
        own: it is the format's own runtime, not our reading of the file.
    """

    name: str
    run: Run
    own: bool = True


def outcomes_of(runnable: Runnable, batches: Sequence[Batch]) -> Generator[Outcome]:
    """One outcome for each batch, whatever the runnable does."""
    reason = "it gave no answer"
    done = 0
    try:
        for outcome in runnable.run(batches):
            yield outcome
            done += 1
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    for _ in range(done, len(batches)):
        yield Outcome(error=reason, stage="load")


class Asking:
    """A runnable asked for one set of inputs at a time, in one process for as long as it lives."""

    def __init__(self, run: Callable[[Iterable[Batch]], Iterable[Outcome]]) -> None:
        self._next: Batch = {}
        self._stream = iter(run(self._endless()))

    def _endless(self) -> Iterator[Batch]:
        while True:
            yield self._next

    def ask(self, batch: Batch) -> Outcome:
        self._next = batch
        return next(self._stream)

    def close(self) -> None:
        """End the process."""
        close = getattr(self._stream, "close", None)
        if close is not None:
            close()


def on_file(
    oracle: str,
    path: Path,
    timeout: float = 60.0,
    *,
    total: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Runnable:
    """A file on one of the `ORACLES`; the arguments are those of `run_file`."""
    return Runnable(oracle, lambda batches: stream_file(oracle, path, batches, timeout, total=total, options=options))


def in_process(name: str, call: Callable[[Batch], Mapping[str, Values]], timeout: float = 60.0) -> Runnable:
    """A function from inputs to outputs, run in this process, which is what the executor is.

    What it raises becomes an outcome. On the main thread a run is broken off after `timeout` seconds where
    that is possible, which it isn't inside compiled code.
    """

    def run(batches: Iterable[Batch]) -> Iterator[Outcome]:
        return (_attempt(call, batch, timeout) for batch in batches)

    return Runnable(name, run, own=False)


def _attempt(call: Callable[[Batch], Mapping[str, Values]], batch: Batch, timeout: float) -> Outcome:
    start = time.perf_counter()
    try:
        with alarm(timeout):
            outputs = dict(call(batch))
        return Outcome(outputs, seconds=time.perf_counter() - start)
    except TimeIsUp:
        return Outcome(error=f"no answer within {timeout:g} s", seconds=timeout, stage="timeout")
    except Unsupported as error:
        return Outcome(error=one_line(str(error)), stage="load")
    except Endless as error:
        return Outcome(error=str(error), stage="timeout")
    except MemoryError:
        return Outcome(error="out of memory", fault="out of memory", stage="run")
    except Exception as error:
        return Outcome(error=one_line(str(error)) or type(error).__name__, stage="run")


class TimeIsUp(BaseException):
    """Time is up. It is not an Exception, so that nothing on the way swallows it."""


@contextlib.contextmanager
def alarm(timeout: float) -> Iterator[None]:
    """Raise `TimeIsUp` in what takes longer than so many seconds: on the main thread, outside of compiled code."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, timeout)
    start = time.monotonic()
    try:
        yield
    finally:
        left = max(timer[0] - (time.monotonic() - start), 1e-3) if timer[0] else 0.0
        signal.setitimer(signal.ITIMER_REAL, left, timer[1])
        signal.signal(signal.SIGALRM, before)
