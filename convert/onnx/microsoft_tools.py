"""What the rules for ONNX Runtime's operators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.preconditions import rank_of
from ...passes.rewrite import Builder

DOMAIN = "com.microsoft"


def picked(node: Node, *names: str) -> dict[str, Any]:
    """The attributes of these names that the node has."""
    return {name: node.attributes[name] for name in names if name in node.attributes}


def only_first(node: Node) -> None:
    """Unsupported where anything but the first output is wanted."""
    if any(value.name for value in node.outputs[1:]):
        raise Unsupported(node, "more than its first output")


def scalar_of(op: Builder, value: Value) -> Value:
    """A value of one element as a scalar."""
    if value.rank == 0:
        return value
    if value.data is not None:
        return op.const(value.data.numpy().reshape(()), value.data.dtype)
    return op.Reshape(value, op.const([], None))


def swapped(op: Builder, node: Node, value: Value) -> Value:
    """The last two dimensions swapped; a vector stays as it is."""
    rank = rank_of(node, value)
    return value if rank < 2 else op.Transpose(value, perm=[*range(rank - 2), rank - 1, rank - 2])


def channels_first(op: Builder, node: Node, value: Value, build: Callable[[Value], Value]) -> Value:
    """What `build` makes of a value whose channels are brought to the front, and taken back to the end."""
    rank = rank_of(node, value)
    front = op.Transpose(value, perm=[0, rank - 1, *range(1, rank - 1)])
    return op.Transpose(build(front), perm=[0, *range(2, rank), 1])
