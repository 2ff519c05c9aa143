"""What is lowered to: OpenVINO, and HLO for XLA."""

from __future__ import annotations

from typing import Any

import numpy as np
from backedge.passes.graph import Graph
from hlo.lowered import Xla
from openvino_lowering.runner import Runner


class OpenVINO:
    """A target of `check`."""

    holds_text = open_sizes = True
    exact = False

    def __init__(self, runner: Runner | None = None) -> None:
        self.runner = runner or Runner()

    def run(self, graph: Graph, feeds: dict[str, Any]) -> list[np.ndarray]:
        return self.runner.lowered(graph, [feeds])[0]


class OnXla:
    """A target of `check`."""

    holds_text = open_sizes = False
    exact = True

    def __init__(self) -> None:
        self.runner = Xla()

    def run(self, graph: Graph, feeds: dict[str, Any]) -> list[np.ndarray]:
        return self.runner.lowered(graph, feeds)[0]
