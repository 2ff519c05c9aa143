"""Runs one file on many inputs in child processes that may crash, hang or be killed."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from ...passes.errors import BackedgeError
from ...passes.scratch import scratch
from ...passes.workarounds import is_faithful
from .answer import LONGEST, Answer
from .forks import start
from .outcome import Batch, Outcome, Stage, one_line
from .transport import read_values, write_values

MAX_CRASHES = 16
"""So many inputs may kill the process before the remaining ones are given up."""

MAX_TIMEOUTS = 3
"""So many inputs may hang before the remaining ones are given up."""


LOADING = 30.0
"""Seconds that loading may take at least: a runtime's import alone takes several on a busy machine."""

_PATIENCE = 10.0  # seconds that a process may still take to end when it has closed its output

_NO_ANSWER = "the process wrote something else than its answer"


class Timeout(Exception):
    """The child didn't answer in time and was killed."""


class Died(Exception):
    """The child is gone; the text says how."""


class Child:
    """One process with one loaded model."""

    def __init__(self, module: str, path: Path, options: dict[str, Any], directory: Path) -> None:
        self._log = open(directory / "log", "w+b")  # noqa: SIM115  closed in close()
        request = {"path": str(path), "directory": str(directory), "options": options, "faithful": is_faithful()}
        self._process = start(module, request, self._log, directory)
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._send(request)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # it is closed meanwhile, or no text comes
            while line := self._process.stdout.readline(LONGEST):
                self._answers.put(line)
        self._answers.put("")

    def _send(self, request: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # a dead child is noticed when its answer doesn't come
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def receive(self, timeout: float, k: int = -1) -> Answer:
        """The answer to input `k`, -1 for loading.

        Raises:
            Timeout, Died
        """
        try:
            line = self._answers.get(timeout=timeout)
        except queue.Empty:
            self.close()
            raise Timeout from None
        answer = Answer.of(line)
        if answer is not None and answer.input == k:
            return answer
        how = _NO_ANSWER if line else _how(self._status())
        said = self._last_words()
        self.close()
        raise Died(f"{how}{': ' if said else ''}{said}")

    def ask(self, k: int, timeout: float) -> Answer:
        """Let the child run input `k`.

        Raises:
            Timeout, Died
        """
        self._send(k)
        return self.receive(timeout, k)

    def _status(self) -> int | None:
        """The exit status of a process that has closed its output; None where it goes on."""
        limit = time.monotonic() + _PATIENCE
        while (status := self._process.poll()) is None and time.monotonic() < limit:
            time.sleep(0.01)
        return status

    def _last_words(self) -> str:
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 2000))
        lines = self._log.read().decode(errors="replace").splitlines()
        return one_line("\n".join(lines[-3:]), 200)

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _how(status: int | None) -> str:
    if status is None:
        return "the process has closed its output"
    if status >= 0:
        return f"the process ended with status {status}"
    try:
        return f"the process died of {signal.Signals(-status).name}"
    except ValueError:
        return f"the process died of signal {-status}"


def drive(
    module: str,
    path: Path,
    batches: Iterable[Batch],
    timeout: float,
    total: float,
    options: dict[str, Any],
) -> Iterator[Outcome]:
    """The outcome of each batch, in order; see `run_file`."""
    with scratch() as folder:
        runner = _Runner(module, path, folder, timeout, total, options)
        try:
            for k, batch in enumerate(batches):
                yield runner.run(k, batch)
        finally:
            runner.close()


class _Runner:
    """Keeps a child alive over the batches, and counts what went wrong."""

    def __init__(
        self, module: str, path: Path, directory: Path, timeout: float, total: float, options: dict[str, Any]
    ) -> None:
        self._make = lambda: Child(module, path, options, directory)
        self._directory = directory
        self._timeout = timeout
        self._left = total
        self._total = total
        self._child: Child | None = None
        self._coarse = False
        self._note = ""
        self._crashes = self._timeouts = 0
        self._has_failed = False
        self._refused: Outcome | None = None

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def run(self, k: int, batch: Batch) -> Outcome:
        if self._refused is not None:
            return Outcome(error=self._refused.error, stage=self._refused.stage, fault=self._refused.fault)
        started = time.monotonic()
        try:
            return self._run(k, batch)
        finally:
            self._left -= time.monotonic() - started
            if self._refused is None and self._left <= 0:
                self._give_up(f"not tried: the time limit of {self._total:g} s for all inputs is used up")

    def _run(self, k: int, batch: Batch) -> Outcome:
        into, out = self._directory / f"in.{k}", self._directory / f"out.{k}"
        try:
            write_values(into, batch)
        except TypeError as error:
            return Outcome(error=str(error), stage="run")
        except OSError as error:
            raise BackedgeError(f"the inputs of a run can't be written to {into.parent}: {error.strerror}") from None
        try:
            if self._child is None and not self._start():
                assert self._refused is not None
                return self._refused
            answer = self._ask(k)
            if answer.error:
                self._has_failed = True
                stage = cast(Stage, answer.stage)
                return Outcome(error=answer.error, stage=stage, fault=answer.fault, note=self._note)
            outputs = self._outputs(out)
            return Outcome(outputs, "", answer.seconds, answer.fault, coarse=self._coarse, note=self._note)
        except Timeout:
            self._child = None
            self._timeouts += 1
            if self._timeouts >= MAX_TIMEOUTS:
                self._give_up(f"not tried: {MAX_TIMEOUTS} inputs before it hung")
            return Outcome(error=f"no answer within {self._timeout:g} s", seconds=self._timeout, stage="timeout")
        except Died as death:
            self._child = None
            self._crashes += 1
            if self._crashes >= MAX_CRASHES:
                self._give_up(f"not tried: {MAX_CRASHES} inputs before it killed the process")
            return Outcome(error=str(death), fault=str(death), stage="crash")
        finally:
            for file in (into, out):
                file.unlink(missing_ok=True)

    def _outputs(self, file: Path) -> dict[str, Any]:
        """
        Raises:
            Died: the child hasn't written them, whatever it answered; it isn't asked again.
        """
        try:
            return read_values(file)
        except (OSError, ValueError) as error:
            self.close()
            raise Died(f"its outputs can't be read: {error}") from None

    def _ask(self, k: int) -> Answer:
        """The child's answer. One that dies, or ends, after it had failed on other inputs is started anew and asked
        once more: after some of its errors OpenVINO dies of the next inputs, whatever they are, or computes with
        memory that is freed.
        """
        assert self._child is not None
        try:
            return self._child.ask(k, self._timeout)
        except Died:
            if not self._has_failed or not self._start():
                raise
            return self._child.ask(k, self._timeout)

    def _start(self) -> bool:
        """A new child with the model loaded. If that fails, no further input is tried."""
        child = self._make()
        limit = max(self._timeout, LOADING)
        try:
            answer = child.receive(limit)
        except Timeout:
            self._refused = Outcome(error=f"not loaded within {limit:g} s", stage="load")
        except Died as death:
            self._refused = Outcome(error=f"while loading, {death}", stage="load", fault=str(death))
        else:
            if not answer.error:
                self._child, self._coarse, self._note = child, answer.coarse, answer.note
                self._has_failed = False
                return True
            self._refused = Outcome(error=answer.error, stage="load")
            child.close()
        return False

    def _give_up(self, reason: str) -> None:
        self.close()
        self._refused = Outcome(error=reason, stage="skipped")
