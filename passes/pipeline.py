"""Passes: what is done to a hub graph, whatever it came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .graph import Graph


@dataclass(frozen=True, slots=True)
class PassResult:
    """The graph after a pass (the same object, changed in place) and whether anything changed."""

    graph: Graph
    modified: bool


class Pass(Protocol):
    """A dataclass whose fields are its options."""

    def __call__(self, graph: Graph) -> PassResult: ...


@dataclass(frozen=True)
class Pipeline:
    """Passes one after the other. `check` is called on the graph after each (tests give it `verify`)."""

    passes: Sequence[Pass]
    check: Callable[[Graph], object] | None = None

    def __call__(self, graph: Graph) -> PassResult:
        modified = False
        for step in self.passes:
            result = step(graph)
            graph = result.graph
            modified |= result.modified
            if self.check is not None:
                self.check(graph)
        return PassResult(graph, modified)
