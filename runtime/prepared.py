"""Executors of graphs that were run before: a graph is made ready once, and anew only after it was changed."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from typing import Any

from ..passes.depth import admit
from ..passes.graph import DEFAULT, Graph, Node, Value
from .executor import Executor

_OF_NODE = attrgetter("domain", "op_type", "version", "captured", "inputs", "outputs", "attributes", "regions")
_OF_VALUE = attrgetter("name", "type", "data")


class _State:
    """What the results of a graph depend on, its regions included. It doesn't hold the graph itself.

    All is compared in lists of tuples: that is ten times as fast as asking node by node.
    """

    def __init__(self, root: Graph) -> None:
        self._regions = [inner for inner in root.graphs() if inner is not root]
        self._interfaces, self._nodes = self._parts(root)
        used = chain(*self._interfaces, *([*node.inputs, *node.outputs] for node in self._nodes))
        self._values = list(dict.fromkeys(value for value in used if value is not None))
        self._of_nodes = list(map(_kept, self._nodes))
        self._of_values = list(map(_OF_VALUE, self._values))
        self._defaults = list(map(_default, root.inputs))

    def _parts(self, root: Graph) -> tuple[list[list[Value | None]], list[Node]]:
        """The inputs and outputs of each graph, and all nodes."""
        graphs = [root, *self._regions]
        nodes = [graph.nodes for graph in graphs]
        return [[*graph.inputs, None, *graph.outputs] for graph in graphs], list(chain.from_iterable(nodes))

    def is_still(self, root: Graph) -> bool:
        """Whether the graph's parts are the same objects, or equal plain values."""
        try:
            return (
                self._parts(root) == (self._interfaces, self._nodes)
                and list(map(_OF_NODE, self._nodes)) == self._of_nodes
                and list(map(_OF_VALUE, self._values)) == self._of_values
                and list(map(_default, root.inputs)) == self._defaults
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


_PREPARED: weakref.WeakKeyDictionary[Graph, tuple[_State, Executor]] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def executor_of(graph: Graph, ready: Callable[[Graph], Graph]) -> Executor:
    """The executor of a graph: the one of the last call, as long as the graph holds the same.

    Args:
        graph: of any dialect. It is compared with what it was: in time linear in its size, half a microsecond a node.
            Elements of constants that are changed in place aren't noticed.
        ready: a hub graph that means the same and isn't the graph itself.
    """
    found = _PREPARED.get(graph)
    if found is None or not found[0].is_still(graph):
        admit(graph)
        found = _State(graph), Executor(ready(graph))
        with _LOCK:
            _PREPARED[graph] = found
    return found[1]
