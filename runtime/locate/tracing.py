"""A run watched node by node: which node, in which pass of each loop around it, gave what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...passes.graph import Node
from ...passes.loop import is_if
from ..control_flow import LoopCall
from ..kernels.base import scalar
from ..plan import Call

Passes = tuple[int, ...]
"""The pass of each loop around a node, outermost first, counted from 0."""

Saw = Callable[[Node, Passes, Any], None]
"""Is told what a node gave: a tuple of all outputs, or the value where there is one."""

Given = Callable[[Node, Passes, Sequence[Any]], None]
"""Is told what a node is given, before it is called."""

Turned = Callable[[Node, Passes, int], None]
"""Is told how many passes a loop made, or which branch was taken (1: then, 0: else)."""


class Tracer:
    """Tells of the calls of some nodes, and of all loops and branches; loops must be interpreted.

    Args:
        wanted: the nodes whose results are told.
        saw, turned, given: are told.

    Attributes:
        failed: the innermost node whose call failed, and its passes.
    """

    def __init__(
        self, wanted: Collection[Node], saw: Saw, turned: Turned = lambda *_: None, given: Given = lambda *_: None
    ) -> None:
        self._wanted, self._saw, self._turned, self._given = wanted, saw, turned, given
        self._around: list[tuple[LoopCall, int]] = []  # each loop that runs, and its passes before this run
        self.failed: tuple[Node, Passes] | None = None

    @property
    def passes(self) -> Passes:
        """Those that run now."""
        return tuple(loop.passes - before for loop, before in self._around)

    def watch(self, node: Node, call: Call) -> Call:
        """The call of a node, watched."""
        runs, is_wanted = self._runs(node, call), node in self._wanted

        def watched(*operands: Any) -> Any:
            if is_wanted:
                self._given(node, self.passes, operands)
            try:
                results = runs(*operands)
            except Exception:
                if self.failed is None:
                    self.failed = node, self.passes
                raise
            if is_wanted:
                self._saw(node, self.passes, results)
            return results

        return watched

    def _runs(self, node: Node, call: Call) -> Call:
        if isinstance(call, LoopCall):

            def loop(*operands: Any) -> Any:
                before = call.passes
                self._around.append((call, before))
                try:
                    return call(*operands)
                finally:
                    self._around.pop()
                    self._turned(node, self.passes, call.passes - before)

            return loop
        if is_if(node):

            def branch(condition: Any, *captured: Any) -> Any:
                self._turned(node, self.passes, int(bool(scalar(condition))))
                return call(condition, *captured)

            return branch
        return call
