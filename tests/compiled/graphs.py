"""Hub graphs of one Loop each, built by hand, and how a compiled loop is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.loop import DOMAIN, Carried, Slot, Stacked
from backedge.passes.types import TensorType, tensor
from backedge.runtime.compiled import CompiledLoop, compile_loop

FLOAT = tensor("float32")
INT = tensor("int64")
BOOL = tensor("bool")


class Body:
    """A region under construction: `b.Add(x, y)` adds a node; Python numbers and arrays become constants.

    A Python float is float32, an int is int64.
    """

    def __init__(self, name: str = "body") -> None:
        self.graph = Graph("hub", name)

    def input(self, type: TensorType | None = None, name: str = "") -> Value:
        return self.graph.add_input(name or f"{self.graph.name}_in{len(self.graph.inputs)}", type)

    def value(self, item: Any) -> Value | None:
        if item is None or isinstance(item, Value):
            return item
        if type(item) is float:
            item = np.float32(item)
        return self.graph.add_constant(np.asarray(item), f"{self.graph.name}_k{len(self.graph.constants)}")

    def __getattr__(self, op_type: str) -> Any:
        def build(*inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
            names = [f"{self.graph.name}_{op_type}{len(self.graph)}_{k}" for k in range(outputs)]
            node = self.graph.add_node(op_type, [self.value(item) for item in inputs], names, attributes)
            return node.output if outputs == 1 else tuple(node.outputs)

        return build

    def loop(self, slots: Sequence[Slot], trip: Any, condition: Any, outside: Sequence[Any], body: Body) -> list[Value]:
        """A Loop inside this region; its results."""
        node = add_loop(self.graph, slots, [self.value(v) for v in (trip, condition, *outside)], body)
        return node.outputs

    def branch(self, condition: Value, captured: Sequence[Any], then: Body, otherwise: Body) -> list[Value]:
        """An If inside this region; its results."""
        regions = {"then": then.graph, "else": otherwise.graph}
        names = [f"{self.graph.name}_if{len(self.graph)}_{k}" for k in range(len(then.graph.outputs))]
        inputs = [condition, *map(self.value, captured)]
        return self.graph.add_node("If", inputs, names, domain=DOMAIN, regions=regions, captured=len(captured)).outputs

    def give(self, *outputs: Any) -> Body:
        """Set the outputs."""
        self.graph.outputs = [value for item in outputs if (value := self.value(item)) is not None]
        return self


def add_loop(graph: Graph, slots: Sequence[Slot], inputs: Sequence[Value | None], body: Body) -> Node:
    results = [
        (f"{graph.name}_loop{len(graph)}_{k}", None)
        for k in range(sum(isinstance(slot, Carried | Stacked) for slot in slots))
    ]
    return graph.add_node("Loop", inputs, results, {"slots": tuple(slots)}, domain=DOMAIN, regions={"body": body.graph})


def loop(
    slots: Sequence[Slot], body: Body, types: Sequence[TensorType | None], results: Sequence[TensorType | None] = ()
) -> Node:
    """A Loop over graph inputs of the given types (None: the input is left out); `results` declares its outputs."""
    graph = Graph("hub")
    inputs = [None if type is None else graph.add_input(f"x{k}", type) for k, type in enumerate(types)]
    node = add_loop(graph, slots, inputs, body)
    graph.outputs = list(node.outputs)
    for value, type in zip(node.outputs, results, strict=False):
        value.type = type
    return node


def compiled(node: Node) -> CompiledLoop:
    run = compile_loop(node)
    assert run is not None
    return run


def same(found: Sequence[np.ndarray] | None, *expected: Any) -> None:
    """Equal in number, dtype, shape and every bit that isn't a NaN's."""
    assert found is not None
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        b = np.asarray(b)
        assert isinstance(a, np.ndarray)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


def f32(*values: Any) -> np.ndarray:
    """A float32 scalar of one value, else a vector."""
    return np.array(values[0] if len(values) == 1 else values, np.float32)


def i64(*values: Any) -> np.ndarray:
    return np.array(values[0] if len(values) == 1 else values, np.int64)
