"""Running and comparing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the oracles' processes import this package, and each would wait for networkx
    from ..passes.graph import Graph


def run(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs of a hub graph by name. See `Executor.run`."""
    from .executor import Executor

    return Executor(graph).run(inputs)
