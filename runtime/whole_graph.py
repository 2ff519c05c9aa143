"""When a whole graph's machine code is asked for: for inputs of one shape at a time."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..passes.errors import BackedgeError
from ..passes.graph import Graph
from ..passes.threads import ForkableLock
from ..passes.types import TensorType
from .machine_code import work, worth_loading

if TYPE_CHECKING:
    from .compiled import CompiledCode

log = logging.getLogger(__name__)

COMPILE_AFTER = 80_000
"""How much work of a graph's runs makes up for compiling it, for each of its operators: that takes 0.15 s each."""

LOAD_AFTER = 2_000_000, 200_000
"""The same if its machine code is on disk: before Numba is imported, and after."""

_MOST_OPERATORS = 1000
"""More take too long to compile, and their results are mostly used once."""

_OF_BYTES = frozenset(("", name) for name in ("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"))
"""Operators on 8-bit numbers that are faster one by one."""

_MOST_DECLINED = 3
_MOST_SHAPES = 8
"""For so many shapes of inputs there is machine code."""


@dataclass(slots=True)
class _Kind:
    """What is known of inputs of one kind.

    Attributes:
        done: the work of all runs so far.
        look_after: how much work makes it worth looking for machine code again.
        compiled: the machine code, once it is used.
        declined: how many inputs it couldn't go on with.
        is_settled: nothing more will be tried.
    """

    done: int = 0
    look_after: int = 0
    compiled: CompiledCode | None = None
    declined: int = 0
    is_settled: bool = False


class WholeGraph:
    """The machine code of a graph, used once the work of its runs makes up for getting it.

    Work is counted in calls of operators on few numbers, as that of loops is: see `machine_code.MachineCode`.

    Args:
        graph: a hub graph of tensors; it isn't changed.
    """

    def __init__(self, graph: Graph) -> None:
        nodes = [node for _, node in graph.walk()]
        self._graph = graph
        self._operators = len(nodes)
        self._work = sum(map(work, nodes))
        self._kinds: dict[tuple[Any, ...], _Kind] = {}
        self._lock = ForkableLock()

    @staticmethod
    def may_be(graph: Graph) -> bool:
        """Whether a graph may have machine code at all."""
        values = (*graph.inputs, *graph.outputs)
        operators = [node.op for _, node in graph.walk()]
        if not 1 < len(operators) <= _MOST_OPERATORS or _OF_BYTES.intersection(operators):
            return False
        return all(isinstance(value.type, TensorType) for value in values)

    def outputs(self, arguments: Sequence[Any]) -> list[Any] | None:
        """The graph's outputs from its machine code; None where it isn't worth it yet, or there is none for these
        inputs."""
        kind = self._kind(arguments)
        if kind is None or kind.is_settled:
            return None
        if kind.compiled is None:
            kind.done += self._work
            enough = COMPILE_AFTER * self._operators
            if kind.done < min(enough, max(kind.look_after, worth_loading(*LOAD_AFTER))):
                return None
            if not self._made(kind, arguments, kind.done < enough):
                return None
        assert kind.compiled is not None
        found = kind.compiled(list(arguments))
        if found is None:  # an index out of range, say: NumPy finds the words for it
            kind.declined += 1
            if kind.declined == _MOST_DECLINED:
                kind.compiled, kind.is_settled = None, True
        return found

    def prepare(self, arguments: Sequence[Any]) -> bool:
        """Compile, or load, the machine code for such inputs now; whether there is some."""
        kind = self._kind(arguments)
        return kind is not None and self._made(kind, arguments, only_loaded=False)

    def _kind(self, arguments: Sequence[Any]) -> _Kind | None:
        key = tuple([(one.dtype, one.shape) if isinstance(one, np.ndarray) else None for one in arguments])
        kind = self._kinds.get(key)
        if kind is None and None not in key and len(self._kinds) < _MOST_SHAPES:
            kind = self._kinds.setdefault(key, _Kind())
        return kind

    def _made(self, kind: _Kind, arguments: Sequence[Any], only_loaded: bool) -> bool:
        """Whether there is machine code, after it was looked for on disk, or made."""
        with self._lock:
            if kind.compiled is not None or kind.is_settled:
                return kind.compiled is not None
            names = [value.name for value in self._graph.inputs]
            compiled = self._compiled(dict(zip(names, (one.shape for one in arguments), strict=True)))
            if compiled is None:
                kind.is_settled = True
            elif not only_loaded or compiled.is_ready(list(arguments)):
                kind.compiled = compiled if compiled.prepare(list(arguments)) else None
                kind.is_settled = kind.compiled is None
                if kind.is_settled:
                    log.debug("%s is left to NumPy: %s", self._graph.name, compiled.reason)
            else:
                kind.look_after = 4 * kind.done  # looking takes some milliseconds
        return kind.compiled is not None

    def _compiled(self, shapes: Mapping[str, tuple[int, ...]]) -> CompiledCode | None:
        from ..passes.structure.fixed_shapes import with_shapes
        from .compiled import compile_graph

        try:
            return compile_graph(with_shapes(self._graph, shapes))
        except BackedgeError as error:  # a contradiction that a run needn't come to
            log.debug("%s is left to NumPy: %s", self._graph.name, error)
            return None
