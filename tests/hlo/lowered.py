"""Hub graphs lowered to HLO and run by XLA, in one long-lived child process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.hlo.write import to_text
from backedge.passes.graph import Graph
from openvino_lowering.worker import Worker


def run_hlo(path: Path, batches: list[dict[str, Any]]) -> list[list[np.ndarray]]:
    """The outputs of an HLO file, for each set of inputs."""
    from backedge.runtime.oracles.xla_session import open_session

    session = open_session(path, {})
    return [list(session.run(feeds)[0].values()) for feeds in batches]  # type: ignore[arg-type]


class Xla:
    """Runs HLO: `run` a text, `lowered` a hub graph; the outputs of each set of inputs in the model's order."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._worker = Worker(run_hlo)

    def close(self) -> None:
        self._worker.stop()
        self._folder.cleanup()

    def run(self, text: str, *batches: dict[str, Any], timeout: float = 60.0) -> list[list[np.ndarray]]:
        """Raises RuntimeError with XLA's message, or when it died; TimeoutError."""
        path = Path(self._folder.name) / "model.hlo"
        path.write_text(text)
        return self._worker.ask(path, list(batches), timeout=timeout)

    def lowered(self, graph: Graph, *batches: dict[str, Any]) -> list[list[np.ndarray]]:
        return self.run(to_text(lower_graph(graph)), *batches)
