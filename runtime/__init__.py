"""Running and comparing.

>>> import numpy as np
>>> from backedge.passes.graph import Graph
>>> from backedge.passes.types import tensor
>>> from backedge.runtime import loop, run
>>> graph = Graph("hub")
>>> x = graph.add_input("x", tensor("float32", 2))
>>> graph.outputs.append(graph.add_node("Add", [x, x], [("y", tensor("float32", 2))]).output)
>>> run(graph, {"x": np.ones(2, np.float32)})
{'y': array([2., 2.], dtype=float32)}
>>> loop(5, True, 1, body=lambda i, cond, x: (cond, 2 * x, x))
(array(32), array([ 1,  2,  4,  8, 16]))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..passes.errors import InvalidModel

if TYPE_CHECKING:  # the runtimes' processes start without networkx
    from ..passes.graph import Graph
    from .loop_function import loop


def run(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Run a graph on the executor.

    A graph is made ready to run on the first call, and again only after it was changed; loops that were compiled stay
    compiled.

    Args:
        graph: as `load` gave it, or of the hub's dialect; it stays as it is.
        inputs: input name -> array of the declared dtype and shape (a list for a sequence, None for an empty optional).

    Returns:
        Output name -> array (or list, or None), in the order of the graph's outputs.

    Raises:
        InvalidModel: inputs that are missing, unknown or of another dtype or shape.
        Unsupported: an operator that the executor can't run.
    """
    from .prepared import executor_of

    return executor_of(graph, _to_hub).run(inputs)


def prepare(graph: Graph, inputs: Mapping[str, Any]) -> bool:
    """Compile a whole graph for inputs of such element types and shapes, for all runs to come.

    It takes about 0.2 s an operator, once on a machine: the machine code is kept on disk. Without it a graph is
    compiled after so many runs that they took as long.

    Args:
        graph: as for `run`.
        inputs: as for `run`.

    Returns:
        Whether there is machine code now: not for sequences and strings, sizes that only a run tells, and operators
        without code. `run` works as well without.

    Raises:
        InvalidModel, Unsupported: as `run` does.
    """
    from .prepared import executor_of

    return executor_of(graph, _to_hub).prepare(inputs)


def _to_hub(graph: Graph) -> Graph:
    """A copy, of the hub's dialect."""
    from ..passes.graph import RAISER

    if graph.dialect == "hub":
        return graph.copy()
    if RAISER not in graph.meta:
        raise InvalidModel(f"a graph of dialect {graph.dialect} must be raised to the hub before it can run")
    return graph.meta[RAISER](graph)


def __getattr__(name: str) -> Any:
    if name != "loop":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .loop_function import loop

    return loop


__all__ = ["loop", "prepare", "run"]
