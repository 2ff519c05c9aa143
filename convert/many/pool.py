"""Jobs done by processes of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ...passes import limits
from ...passes.exit_codes import ExitCode
from .jobs import Job
from .results import Row, failed, row

_GRACE = 5.0  # seconds


class Worker:
    """A process that does one job after the other, and is replaced when one ends it or takes too long.

    Args:
        limit: seconds for one job.
        memory: bytes for what its models compute, see `passes.limits`.
    """

    def __init__(self, limit: float, memory: int) -> None:
        self.limits = limit, memory
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def do(self, job: Job) -> dict[str, Any]:
        """What the job gives, see `worker.done`; a result in any case."""
        process = self._started()
        if process is None:
            return failed("interrupted", ExitCode.INTERRUPTED)
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            _end(process)

        timer = threading.Timer(self.limits[0], stop)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps(job.to_json()) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            timer.cancel()
        if answer.endswith("\n"):
            return json.loads(answer)
        code = process.wait()
        self._process = None
        if self._closed:
            return failed("interrupted", ExitCode.INTERRUPTED)
        if late.is_set():
            return failed(f"it took more than {self.limits[0]:g} s")
        return failed(f"its process ended with {signal.Signals(-code).name if code < 0 else f'status {code}'}")

    def _started(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._closed:
                return None
            if self._process is None or self._process.poll() is not None:
                command = [sys.executable, "-P", "-m", f"{__package__}.worker"]
                pipe = subprocess.PIPE
                self._process = subprocess.Popen(
                    command,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    start_new_session=True,
                    env={**os.environ, limits.VARIABLE: str(self.limits[1])},
                )
            return self._process

    def ask_to_end(self) -> None:
        """Begin no further job, and let the process clear away what it has begun."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.terminate()

    def close(self) -> None:
        """End the process, whatever it does."""
        self.ask_to_end()
        with self._lock:
            if self._process is not None:
                _end(self._process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process, which has a moment to clear away what it has begun."""
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def on_this_machine(
    jobs: Sequence[Job], count: int, limit: float, began: Callable[[Job], None] = lambda job: None
) -> Generator[Row]:
    """The jobs' results in the order in which they are done, by so many processes at a time."""
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    rows: queue.SimpleQueue[Row | BaseException] = queue.SimpleQueue()
    workers = [Worker(limit, limits.memory()) for _ in range(max(1, min(count, len(jobs))))]

    def work(worker: Worker, name: str) -> None:
        try:
            while True:
                job = waiting.get_nowait()
                began(job)
                start = time.monotonic()
                found = worker.do(job)
                rows.put(row(job, found, time.monotonic() - start, name))
        except queue.Empty:
            return
        except BaseException as error:  # a fault of ours, which must not leave the others waiting
            rows.put(error)

    threads = [
        threading.Thread(target=work, args=(worker, f"process {number}"), daemon=True)
        for number, worker in enumerate(workers)
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in jobs:
            found = rows.get()
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        with contextlib.suppress(queue.Empty):
            while True:
                waiting.get_nowait()
        for worker in workers:
            worker.ask_to_end()
        for worker in workers:
            worker.close()
