"""A function in a process of its own, which OpenVINO now and then kills or hangs: started anew behind it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

_COMMON = [
    "backedge.convert.verification",
    "backedge.convert.hlo.lowering",
    "backedge.convert.openvino.lowering",
    "backedge.runtime.oracles.onnxruntime_session",
    "backedge.runtime.oracles.openvino_session",
]
"""What most of these functions import: one process does, and each worker is a fork of it, where the system has that."""


def _serve(connection: Connection, answer: Callable[..., Any]) -> None:
    while True:
        arguments = connection.recv()
        try:
            given: Any = answer(*arguments), ""
        except Exception as error:
            lines = str(error).strip().splitlines() or ["no message"]
            given = None, "; ".join(line.strip() for line in lines[-3:])
        connection.send(given)


class Worker:
    """Calls a function (of a module that can be imported) in another process."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self._answer = answer
        self._process: Any = None
        self._connection: Any = None

    def _start(self) -> None:
        has_forks = "forkserver" in multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("forkserver" if has_forks else "spawn")
        if has_forks:
            context.set_forkserver_preload(_COMMON)
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._answer), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = None

    def ask(self, *arguments: Any, timeout: float = 60.0) -> Any:
        """Raises RuntimeError with the message of what the function raised, or when it died; TimeoutError.

        A new process that gives no answer is replaced once: OpenVINO now and then hangs where it is first loaded.
        """
        is_new = self._process is None
        if is_new:
            self._start()
        self._connection.send(arguments)
        try:
            if is_new and not self._connection.poll(timeout):
                self.stop()
                self._start()
                self._connection.send(arguments)
            if not self._connection.poll(timeout):
                raise TimeoutError(f"no answer within {timeout} s")
            given, error = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            raise RuntimeError(f"the process died with exit code {code}") from None
        except TimeoutError:
            self.stop()
            raise
        if error:
            raise RuntimeError(error)
        return given
