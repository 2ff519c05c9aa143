"""Dead code and what does nothing: identities, scalars reshaped to scalars, axes put in and taken away."""

from __future__ import annotations

from dataclasses import dataclass

from ..constants import constant_array
from ..graph import Graph, Node, Value
from ..pipeline import PassResult
from ..protos import ENUMS
from ..types import TensorType
from .elements import cancels


def identity_input(node: Node) -> Value | None:
    """The input that an operator hands on unchanged; None where it does something."""
    value = node.inputs[0] if node.inputs else None
    if value is None or node.domain or len(node.outputs) != 1:
        return None
    if node.op_type == "Identity":
        return value
    if node.op_type in ("Squeeze", "Unsqueeze"):
        return cancels(node)
    if node.op_type == "Reshape" and value.rank == 0 and len(node.inputs) > 1:
        shape = constant_array(node.inputs[1])
        return value if shape is not None and not shape.size else None
    if node.op_type == "Cast" and isinstance(value.type, TensorType) and value.type.dtype is not None:
        return value if ENUMS.get(value.type.dtype) == node.attributes.get("to") else None
    return None


@dataclass(frozen=True)
class Simplify:
    """Let uses pass by operators that do nothing.

    Before::

        a: float32[] = Identity(x)
        b: float32[] = Reshape(a, [])
        y: float32[] = Neg(b)

    After::

        y: float32[] = Neg(x)

    What the model hands out stays the output of a node of its own; what a region hands out need not be.
    """

    def __call__(self, graph: Graph) -> PassResult:
        modified = False
        for inner in graph.graphs():
            handed_out = set(inner.outputs) if inner is graph else set[Value]()
            for node in inner.topological():
                value = identity_input(node)
                if value is None or node.output in handed_out:
                    continue
                inner.replace_uses(node.output, value)
                inner.remove_node(node)
                modified = True
        return PassResult(graph, modified)


@dataclass(frozen=True)
class RemoveDead:
    """Take out nodes and constants that nothing uses.

    Before::

        graph main(x: float32[]) {
          a: float32[] = Exp(x)
          y: float32[] = Neg(x)
        } -> (y)

    After::

        graph main(x: float32[]) {
          y: float32[] = Neg(x)
        } -> (y)
    """

    def __call__(self, graph: Graph) -> PassResult:
        return PassResult(graph, any([remove_dead(inner) for inner in graph.graphs()]))


def remove_dead(graph: Graph) -> bool:
    """Take out what nothing uses of one graph, not of its regions; whether there was anything."""
    live = set(graph.outputs)
    dead: list[Node] = []
    for node in reversed(graph.topological()):
        if any(value in live for value in node.outputs):
            live.update(value for value in node.inputs if value is not None)
        else:
            dead.append(node)
    graph.remove_nodes(dead)
    live.update(graph.inputs)
    alive = [value for value in graph.constants if value in live]
    modified = bool(dead) or len(alive) < len(graph.constants)
    graph.constants = alive
    return modified
