"""Runs of one graph, of which values are told apart by digests, or kept where there is memory for them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from ...passes.errors import BackedgeError
from ...passes.graph import Graph, Node, Value
from ..executor import Executor, never_compile
from ..wide.model import DOUBLE, WideModel
from ..wide.noise import Noise
from ..wide.spread import flat
from .tracing import Passes, Tracer

Key = tuple[Value, Passes]
"""A value in certain passes of the loops around it."""

Turn = tuple[Node, Passes]
"""A loop or a branch, in certain passes of the loops around it."""


class TooMany(Exception):
    """More passes than can be kept track of."""


def digest(value: Any) -> bytes:
    """What tells values apart: element types, shapes and elements."""
    found = hashlib.sha1(usedforsecurity=False)  # the quickest there is for large arrays
    for leaf in flat(value):
        found.update(f"{leaf.dtype}{leaf.shape}".encode())
        found.update(
            repr(leaf.tolist()).encode()
            if leaf.dtype == object
            else np.ascontiguousarray(leaf).reshape(-1).view(np.uint8).data
        )
    if isinstance(value, list | dict) or value is None:
        found.update(repr((type(value), None if value is None else len(value))).encode())
    return found.digest()[:8]


def size_of(value: Any) -> int:
    """Bytes."""
    return sum(leaf.nbytes for leaf in flat(value))


class Recorded:
    """What a run gave.

    Attributes:
        digests: of each value, and its bytes, in the order in which they came.
        turns: passes of loops and branches taken.
        error: why the run ended early; "" if it didn't.
        failed: the node that failed.
        outputs: of the run.
    """

    def __init__(self) -> None:
        self.digests: dict[Key, tuple[bytes, int]] = {}
        self.turns: dict[Turn, int] = {}
        self.error = ""
        self.failed: tuple[Node, Passes] | None = None
        self.outputs: dict[str, Any] = {}


class Runs:
    """One graph, run as often as is asked.

    Args:
        graph: a hub graph.
        feed: its inputs by name.
        values: those that are recorded.
    """

    def __init__(self, graph: Graph, feed: Mapping[str, Any], values: Collection[Value]) -> None:
        self.graph, self._feed = graph, feed
        self._values = values
        wanted = {value.producer for value in values if value.producer is not None}
        self._told: Callable[[Value, Passes, Any], None] = lambda *_: None
        self._turned: Callable[[Node, Passes, int], None] = lambda *_: None
        self._tracer = Tracer(wanted, self._saw, lambda *turn: self._turned(*turn))
        self._executor: Executor | None = None
        self._wide: WideModel | None = None

    def _saw(self, node: Node, passes: Passes, results: Any) -> None:
        several = results if isinstance(results, tuple) else (results,)
        for value, result in zip(node.outputs, several, strict=False):
            if value in self._values:
                self._told(value, passes, result)

    def recorded(self, chosen: Callable[[Passes], bool], most: int) -> Recorded:
        """Digests of all values in chosen passes.

        Raises:
            TooMany: there are more than `most`.
        """
        found = Recorded()

        def told(value: Value, passes: Passes, result: Any) -> None:
            if chosen(passes):
                if len(found.digests) >= most:
                    raise TooMany
                found.digests[value, passes] = digest(result), size_of(result)

        def turned(node: Node, passes: Passes, how: int) -> None:
            if chosen(passes):
                found.turns[node, passes] = how

        self._turned = turned
        self._tracer.failed = None
        try:
            found.outputs = self.run(told)
        except BackedgeError as error:
            if isinstance(error.__cause__, TooMany):
                raise TooMany from None
            found.error, found.failed = str(error), self._tracer.failed
        finally:
            self._turned = lambda *_: None
        return found

    def run(self, told: Callable[[Value, Passes, Any], None]) -> dict[str, Any]:
        """The outputs of a run as declared; `told` is given each value."""
        self._executor = self._executor or Executor(self.graph, never_compile, watch=self._tracer.watch)
        self._told = told
        return self._executor.run(self._feed)

    def turns(self) -> dict[Turn, int]:
        """Passes of loops and branches taken in a run in float64."""
        found: dict[Turn, int] = {}
        self._turned = lambda node, passes, how: found.__setitem__((node, passes), how)
        try:
            self.wide(lambda *_: None)
        finally:
            self._turned = lambda *_: None
        return found

    def wide(self, told: Callable[[Value, Passes, Any], None], noise: Noise | None = None) -> None:
        """A run in float64, with rounding errors if one asks for them; see `WideModel`."""
        self._wide = self._wide or WideModel(self.graph, DOUBLE, watch=self._tracer.watch)
        self._told = told
        if noise is None:
            self._wide.exact(self._feed)
        else:
            self._wide.noisy(self._feed, noise)
