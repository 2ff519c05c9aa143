"""Executors of graphs that were run before: a graph is made ready once, and anew only after it was changed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

from ..passes.graph import DEFAULT, Graph, Node, Value
from .executor import Executor

_OF_NODE = attrgetter("domain", "op_type", "version", "captured", "inputs", "outputs", "attributes", "regions")
_OF_VALUE = attrgetter("name", "type", "data")


class _Region:
    """What results depend on in one graph, without the regions inside it. It doesn't hold the graph.

    All is compared in lists of tuples: that is ten times as fast as asking node by node.
    """

    def __init__(self, graph: Graph) -> None:
        self._inputs, self._outputs, self._nodes = list(graph.inputs), list(graph.outputs), graph.nodes
        used = chain(graph.inputs, graph.outputs, *([*node.inputs, *node.outputs] for node in self._nodes))
        self._values = list(dict.fromkeys(value for value in used if value is not None))
        self._of_nodes = list(map(_kept, self._nodes))
        self._of_values = list(map(_OF_VALUE, self._values))
        self._defaults = list(map(_default, self._inputs))

    def is_still(self, graph: Graph) -> bool:
        """Whether the graph's parts are the same objects, or equal plain values."""
        same = graph.inputs == self._inputs and graph.outputs == self._outputs and graph.nodes == self._nodes
        try:
            return (
                same
                and list(map(_OF_NODE, self._nodes)) == self._of_nodes
                and list(map(_OF_VALUE, self._values)) == self._of_values
                and list(map(_default, self._inputs)) == self._defaults
            )
        except ValueError:  # two arrays, which aren't compared
            return False


def _kept(node: Node) -> tuple[Any, ...]:
    """What `_OF_NODE` gives, with lists and dicts as they are now."""
    *plain, inputs, outputs, attributes, regions = _OF_NODE(node)
    attributes = {name: list(value) if isinstance(value, list) else value for name, value in attributes.items()}
    return (*plain, list(inputs), list(outputs), attributes, dict(regions))


def _default(value: Value) -> Any:
    return (value.meta or {}).get(DEFAULT)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What a graph was when its executor was made: itself, and the regions inside it."""

    root: _Region
    regions: list[tuple[Graph, _Region]]
    executor: Executor

    def is_of(self, graph: Graph) -> bool:
        """Whether the graph is as it was."""
        return self.root.is_still(graph) and all(region.is_still(inner) for inner, region in self.regions)


_PREPARED: weakref.WeakKeyDictionary[Graph, _Prepared] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def executor_of(graph: Graph, ready: Callable[[Graph], Graph]) -> Executor:
    """The executor of a graph: the one of the last call, as long as the graph holds the same.

    Args:
        graph: of any dialect. It is compared with what it was: in time linear in its size, half a microsecond a node.
            Elements of constants that are changed in place aren't noticed.
        ready: a hub graph that means the same and isn't the graph itself.
    """
    found = _PREPARED.get(graph)
    if found is None or not found.is_of(graph):
        regions = [(inner, _Region(inner)) for inner in graph.graphs() if inner is not graph]
        found = _Prepared(_Region(graph), regions, Executor(ready(graph)))
        with _LOCK:
            _PREPARED[graph] = found
    return found.executor
