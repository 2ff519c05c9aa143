"""Layers of which nothing but constants decides: OpenVINO computes them before a model runs."""

from __future__ import annotations

from collections.abc import Iterator

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.names import Names
from ....passes.types import DType
from ..dialect import OUTPUT_MAPS, OutputMap

_CONVERTED = (DType.BOOL, DType.FLOAT64)
_DRAWING = frozenset(["Multinomial", "RandomUniform", "ReadValue"])


def check_constants(lowered: Graph) -> None:
    """
    Raises:
        Unsupported: a layer that OpenVINO computes while compiling, and fails: text, which its CPU can't hold from then
            on, and what a loop without a limit stacks.
    """
    for inner in lowered.graphs():
        for node in of_constants(inner):
            _check(node)


def of_constants(graph: Graph) -> Iterator[Node]:
    """The layers whose operands are known before the model runs, each after those that feed it."""
    fixed: set[Value] = set()
    for node in graph.topological():
        inputs = [value for value in node.inputs if value is not None]
        if not inputs or node.op_type in _DRAWING:
            continue
        if told_sizes(node) is not None or all(value.data is not None or value in fixed for value in inputs):
            if not node.regions:
                fixed.update(node.outputs)
            yield node


def told_sizes(node: Node) -> tuple[int, ...] | None:
    """What a ShapeOf gives where the shape is known."""
    value = node.inputs[0] if node.op_type == "ShapeOf" else None
    return value.tensor.static_shape if value is not None else None


def separate_constants(lowered: Graph, names: Names) -> None:
    """Give loops and branches constants of their own: OpenVINO's process may die where one is a result, too, or where
    one of a type that its CPU converts has another reader."""
    for graph in lowered.graphs():
        results = {value.producer for value in graph.outputs} if graph is lowered else set()
        for known in list(graph.constants):
            uses = graph.uses(known)
            taken = [(node, index) for node, index in uses if node.regions]
            converted = known.tensor.dtype in _CONVERTED and len(uses) > 1
            for node, index in taken if converted or any(node in results for node, _ in uses) else ():
                graph.set_input(node, index, graph.add_constant(known.data, names.fresh(known.name)))


def _check(node: Node) -> None:
    if _stacks_without_limit(node):
        raise Unsupported(node, "a loop of constants only with no limit, which OpenVINO doesn't load")
    if node.op_type in ("StringTensorPack", "StringTensorUnpack"):
        raise Unsupported(node, "text of constants only, which isn't supported by OpenVINO's CPU")


def _stacks_without_limit(node: Node) -> bool:
    if node.op_type != "Loop":
        return False
    trip = node.inputs[0]
    maps: tuple[OutputMap, ...] = node.attributes[OUTPUT_MAPS]
    limited = trip is None or trip.data is None or int(trip.data.numpy().reshape(())) != -1
    return not limited and any(entry.axis is not None for entry in maps)
