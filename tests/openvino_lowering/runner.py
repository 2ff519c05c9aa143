"""OpenVINO in one long-lived child process: started anew when a model kills or hangs it."""

from __future__ import annotations

import multiprocessing
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.write import write
from backedge.passes.graph import Graph

Feeds = dict[str, Any]


def _serve(connection: Connection) -> None:
    from backedge.runtime.oracles.openvino_session import open_session

    while True:
        path, batches, options = connection.recv()
        try:
            session = open_session(path, options)
            answer: Any = [list(session.run(feeds)[0].values()) for feeds in batches]
        except Exception as error:
            answer = str(error).strip().splitlines() or ["no message"]
            answer = "; ".join(line.strip() for line in answer[-3:])
        connection.send(answer)


class Runner:
    """Runs IR files. `run` gives the outputs of each set of inputs, in order of the model's outputs."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._count = 0
        self._process: Any = None
        self._connection: Any = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = None

    def close(self) -> None:
        self.stop()
        self._folder.cleanup()

    def run(self, path: Path, batches: list[Feeds], timeout: float = 60.0, **options: Any) -> list[list[np.ndarray]]:
        """Raises RuntimeError with OpenVINO's message, or when it died or took too long."""
        if self._process is None:
            self._start()
        self._connection.send((path, batches, options))
        try:
            if not self._connection.poll(timeout):
                raise TimeoutError(f"OpenVINO took longer than {timeout} s")
            answer = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            raise RuntimeError(f"OpenVINO died with exit code {code}") from None
        except TimeoutError:
            self.stop()
            raise
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer

    def lowered(self, graph: Graph, batches: list[Feeds], **options: Any) -> list[list[np.ndarray]]:
        """Lower a hub graph, write it, run it."""
        self._count += 1
        path = Path(self._folder.name) / f"m{self._count}.xml"
        write(lower_graph(graph), path)
        return self.run(path, batches, **options)
