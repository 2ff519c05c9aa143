"""Loops of constants that OpenVINO would run while it compiles, and can't.

It runs a Loop whose inputs are all constants to put its results in its place, and fails where the body has a size that
is known at run time only: that of a stack of another Loop, or of a value that grows; and at some layers of float64. The
number of passes of such a Loop therefore depends on an input of the model, though it is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder
from ....passes.types import DType, tensor
from ..dialect import BODY_MAPS, InputMap
from ..origin import ORIGIN
from .context import Context
from .tools import nought_of, slice_axis, vector


def hide_constants(graph: Graph, builder: Callable[[Graph], Builder], context: Context) -> None:
    """Keep OpenVINO from running Loops of a lowered graph while it compiles.

    Raises:
        Unsupported: there is no input that the number of passes could depend on.
    """
    _Hiding(graph, builder, context).run()


@dataclass
class _Hiding:
    graph: Graph
    builder: Callable[[Graph], Builder]
    context: Context
    owners: dict[Graph, tuple[Graph, Node, str]] = field(default_factory=dict)
    noughts: dict[Graph, Value] = field(default_factory=dict)

    def run(self) -> None:
        found: list[tuple[Graph, Node]] = []
        for graph, node in self.graph.walk():
            for name, region in node.regions.items():
                self.owners[region] = graph, node, name
            if node.op_type == "Loop" and self._fails(node):
                found.append((graph, node))
        for graph, node in found:
            count = node.inputs[0]
            assert count is not None
            graph.set_input(node, 0, self.builder(graph).Add(count, self._nought(graph, node)))

    def _fails(self, node: Node) -> bool:
        """Whether it can't run a Loop then; of float64, some of which it can, only where there is an input."""
        if node.meta and ORIGIN in node.meta:  # as it was in the file
            return False
        if not all(value is None or self.context.is_known(value) for value in node.inputs):
            return False
        made = [value for _, inner in node.regions["body"].walk() for value in inner.outputs]
        if any(value.type is None or value.tensor.static_shape is None for value in made):
            return True
        doubles = any(value.tensor.dtype is DType.FLOAT64 for value in made)
        return doubles and any(map(_is_comparable, self.graph.inputs))

    def _nought(self, graph: Graph, node: Node) -> Value:
        """0 in a graph, i64 [], made of an input of the model."""
        if graph not in self.noughts:
            self.noughts[graph] = self._handed_in(graph, node) if graph in self.owners else self._made(node)
        return self.noughts[graph]

    def _made(self, node: Node) -> Value:
        op = self.builder(self.graph)
        source = next((value for value in self.graph.inputs if _is_comparable(value)), None)
        if source is None:
            raise Unsupported(
                node, "OpenVINO runs a loop of constants while it compiles, and fails at sizes known at run time only"
            )
        return nought_of(op, slice_axis(op, vector(op, source), 0, 1))

    def _handed_in(self, graph: Graph, node: Node) -> Value:
        """A new Parameter of a region; a port of its node feeds it."""
        outer, owner, name = self.owners[graph]
        value = Value(self.builder(graph).rewriter.names.fresh("nought"), tensor(DType.INT64))
        operand = self._nought(outer, node)
        maps = BODY_MAPS[name][0]
        entry = InputMap(len(owner.inputs), len(graph.inputs))
        owner.attributes[maps] = (*owner.attributes[maps], entry)
        outer.set_inputs(owner, [*owner.inputs, operand])
        graph.inputs.append(value)
        return value


def _is_comparable(value: Value) -> bool:
    dtype = value.tensor.dtype
    return value.data is None and dtype is not None and dtype is not DType.STRING and dtype.bits >= 8
