"""A lowered graph, computed by `jax.lax`: whatever traces these functions has the graph's derivatives and batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from . import control_flow, elementwise, products, reductions, shape
from .tools import Arrays, Run, result_type

_OPERATIONS: dict[str, Callable[[Node, Arrays], Any]] = {
    **elementwise.OPERATIONS,
    **products.OPERATIONS,
    **shape.OPERATIONS,
}
_APPLYING: dict[str, Callable[[Node, Arrays, Run], Any]] = {
    **control_flow.APPLYING,
    **reductions.APPLYING,
    **shape.APPLYING,
}


class Interpreter:
    """What computes graphs of dialect "hlo".

    Args:
        held: arrays that stand for constants.
        key: what random numbers are drawn with; None where the model draws none.
    """

    def __init__(self, held: Mapping[Value, Any], key: Any = None) -> None:
        self._held = held
        self._key = key
        self._drawn = 0

    def __call__(self, graph: Graph, arguments: Sequence[Any]) -> list[Any]:
        """The outputs of a graph.

        Raises:
            Unsupported: an operation that JAX has no function for.
        """
        values: dict[Value, Any] = dict(zip(graph.inputs, arguments, strict=True))
        for value in graph.constants:
            if value not in values:
                values[value] = self._held[value] if value in self._held else value.array()
        for node in graph.topological():
            operands = [values[value] for value in node.inputs if value is not None]
            made = self._made(node, operands)
            results = made if isinstance(made, list | tuple) else [made]
            values.update(zip(node.outputs, results, strict=True))
        return [values[value] for value in graph.outputs]

    def _made(self, node: Node, operands: Arrays) -> Any:
        name = node.op_type
        if name in elementwise.PLAIN:
            return elementwise.PLAIN[name](*operands)
        if name in _OPERATIONS:
            return _OPERATIONS[name](node, operands)
        if name in _APPLYING:
            return _APPLYING[name](node, operands, self)
        if name == "rng":
            return self._draw(node, operands)
        raise Unsupported(node, f"JAX has no function for HLO's {name} here")

    def _draw(self, node: Node, operands: Arrays) -> Any:
        type, (first, second) = result_type(node), operands
        self._drawn += 1
        key = jax.random.fold_in(self._key, self._drawn)
        if node.attributes["distribution"] == "rng_normal":
            return jax.random.normal(key, type.shape, type.dtype) * second + first
        return jax.random.uniform(key, type.shape, type.dtype, first, second)

    def draws(self, graph: Graph) -> bool:
        """Whether random numbers are drawn in a graph."""
        return draws(graph)

    def at(self, number: Any) -> Interpreter:
        """For a pass of a loop, or a branch: it draws other numbers than every other one."""
        if self._key is None:
            return self
        self._drawn += 1
        key = jax.random.fold_in(jax.random.fold_in(self._key, self._drawn), number)
        return Interpreter(self._held, key)


def draws(graph: Graph) -> bool:
    """Whether random numbers are drawn in a graph."""
    return any(node.op_type == "rng" for _, node in graph.walk())
