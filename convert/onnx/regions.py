"""What the bodies of ONNX's Loop, Scan and If hand in and out."""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.protos import ENUMS
from ...passes.rewrite import Builder
from ...passes.schemas import since_version
from ...passes.types import DType, TensorType, Type


def version_of(name: str, opset: int, node: Node) -> int:
    """The version of Loop, Scan or If in an opset.

    Raises:
        Unsupported: it has none; `node` is what can't be expressed.
    """
    version = since_version("", name, opset)
    if version is None:
        raise Unsupported(node, f"opset {opset} has no {name}")
    return version


def as_it_was(scalar: Value | None, any_rank: bool = False) -> Value | None:
    """A trip count or condition without the Squeeze that made sure of its rank, where it turned out to be a scalar.

    Args:
        any_rank: it may be any tensor of one element, as an If's condition may.
    """
    node = scalar.producer if scalar is not None else None
    if node is None or node.op != ("", "Squeeze") or len(node.inputs) > 1 or node.inputs[0] is None:
        return scalar
    return node.inputs[0] if any_rank or node.inputs[0].rank == 0 else scalar


def finish(body: Builder, outputs: Sequence[Value]) -> None:
    """Set a body's outputs: each must be made inside it, by a node, and only once."""
    own: set[Value] = set()
    made: list[Value] = []
    for value in outputs:
        if value.producer is None or value in own:
            value = body.Identity(value, _types=[value.type])
        own.add(value)
        made.append(value)
    body.graph.outputs = made


# Opsets 13 to 15 have bfloat16, but their Loop, Scan and If don't take it: float32 holds it meanwhile.


def held_type(type: Type | None, opset: int) -> Type | None:
    """The type in which a value of `type` goes in and out."""
    if isinstance(type, TensorType) and type.dtype is DType.BFLOAT16 and opset < 16:
        return TensorType(DType.FLOAT32, type.shape)
    return type


def as_container(op: Builder, value: Value, opset: int) -> Value:
    """The value in the type in which it goes in and out."""
    return _cast(op, value, held_type(value.type, opset))


def let_go(op: Builder, value: Value, type: Type | None) -> Value:
    """The value in its own type again."""
    return _cast(op, value, type)


def _cast(op: Builder, value: Value, type: Type | None) -> Value:
    known = value.type
    if not isinstance(type, TensorType) or not isinstance(known, TensorType):
        return value
    if type.dtype is None or known.dtype in (None, type.dtype):
        return value
    return op.Cast(value, to=ENUMS[type.dtype], _types=[TensorType(type.dtype, known.shape)])
