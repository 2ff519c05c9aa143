"""A hub graph with its exact, noisy and forced runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...passes.graph import Graph
from ...passes.types import DType
from ..executor import Executor
from ..plan import Watch
from .arithmetic import Wide
from .noise import Noise
from .steps import Forced, Recorder, Step

_DOUBLE = (DType.FLOAT64, DType.COMPLEX128)


def has_double(graph: Graph) -> bool:
    """Whether something in a graph is computed in float64."""
    computed = [value for inner in graph.graphs() for node in inner.nodes for value in node.outputs]
    return any(value.tensor.dtype in _DOUBLE for value in (*computed, *graph.inputs))


def computes_double(graph: Graph) -> bool:
    """Whether what a graph gives depends on how float64 is rounded: it computes in it, and gives other than float32."""
    narrow = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.COMPLEX64)
    return has_double(graph) and any(value.tensor.dtype not in narrow for value in graph.outputs)


DOUBLE = np.dtype(np.float64)

WIDEST = np.dtype(np.longdouble)
"""The widest type NumPy has; on some machines it is float64 itself."""


class WideModel:
    """One graph, run wider than it says.

    Args:
        graph: a hub graph.
        real: what its floats are held in.
        watch: sees the calls of nodes, see `Executor`.

    Raises:
        Unsupported, InvalidModel: as the executor does.
    """

    def __init__(self, graph: Graph, real: np.dtype[Any] = DOUBLE, watch: Watch | None = None) -> None:
        self._wide = Wide(real)
        self._executor = Executor(graph, arithmetic=self._wide, watch=watch)
        self.graph = graph

    @property
    def rounds_constants(self) -> bool:
        """Whether floats are computed from constants alone, which another file may hold rounded."""
        return self._wide.rounds_constants

    def exact(self, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], list[Step]]:
        """The outputs, their floats wide, and the steps on the way, in order."""
        recorder = Recorder()
        return self._run(inputs, None, recorder), recorder.steps

    def noisy(self, inputs: Mapping[str, Any], noise: Noise) -> dict[str, Any]:
        """The outputs of a run with rounding errors."""
        return self._run(inputs, noise, None)

    def forced(
        self, inputs: Mapping[str, Any], steps: list[Step], noise: Noise | None = None
    ) -> tuple[dict[str, Any], Forced]:
        """The outputs of a run whose steps come out as those of another run, and what the two had before them."""
        forced = Forced(steps)
        return self._run(inputs, noise, forced), forced

    @property
    def margins(self) -> list[float]:
        """Of the last run, see `Wide`."""
        return self._wide.margins

    def _run(self, inputs: Mapping[str, Any], noise: Noise | None, watch: Any) -> dict[str, Any]:
        self._wide.noise, self._wide.watch, self._wide.margins = noise, watch, []
        return self._executor.run(inputs)
