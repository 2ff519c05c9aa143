"""OpenVINO in one long-lived child process: started anew when a model kills or hangs it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.openvino.constant_layers import lower_graph
from backedge.convert.openvino.write import write
from backedge.passes.graph import Graph

from .worker import Worker

Feeds = dict[str, Any]


def run_ir(path: Path, batches: list[Feeds], options: dict[str, Any]) -> list[list[np.ndarray]]:
    """The outputs of an IR file, for each set of inputs."""
    from backedge.runtime.oracles.openvino_session import open_session

    session = open_session(path, options)
    return [list(session.run(feeds)[0].values()) for feeds in batches]  # type: ignore[arg-type]


class Runner:
    """Runs IR files. `run` gives the outputs of each set of inputs, in order of the model's outputs."""

    def __init__(self, outputs: Callable[[Path, list[Feeds], dict[str, Any]], Any] = run_ir) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._count = 0
        self._worker = Worker(outputs)

    def stop(self) -> None:
        self._worker.stop()

    def close(self) -> None:
        self.stop()
        self._folder.cleanup()

    def run(self, path: Path, batches: list[Feeds], timeout: float = 60.0, **options: Any) -> list[list[np.ndarray]]:
        """Raises RuntimeError with OpenVINO's message, or when it died or took too long."""
        return self._worker.ask(path, batches, options, timeout=timeout)

    def lowered(self, graph: Graph, batches: list[Feeds], **options: Any) -> list[list[np.ndarray]]:
        """Lower a hub graph, write it, run it."""
        self._count += 1
        path = Path(self._folder.name) / f"m{self._count}.xml"
        write(lower_graph(graph), path)
        return self.run(path, batches, **options)
