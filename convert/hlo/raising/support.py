"""What the rules of all families share."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.types import DType


class CallsHost(Unsupported):
    """An instruction calls a function of the Python process that traced the model, which no file holds.

    JAX's checked errors are such calls, in branches that are taken where something went wrong.
    """


Results = Value | Sequence[Value] | None


def given(node: Node, index: int) -> Value:
    """Operand `index`.

    Raises:
        InvalidModel: there is none.
    """
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None:
        raise InvalidModel(f"{node!r}: it has no operand {index}")
    return value


def shape_of(node: Node, value: Value) -> tuple[int, ...]:
    """The sizes of a value.

    Raises:
        Unsupported: a size is only known when the model runs.
    """
    shape = value.tensor.static_shape
    if shape is None:
        raise Unsupported(node, f"{value.name!r} has a size that is only known when the model runs")
    return shape


def dtype_of(node: Node, value: Value) -> DType:
    """The element type of a value."""
    dtype = value.tensor.dtype
    if dtype is None:
        raise InvalidModel(f"{node!r}: {value.name!r} is no array")
    return dtype


def unspread(values: Sequence[Value], shape: Sequence[object]) -> list[Value]:
    """The operands of an operator that broadcasts by itself, without the Expands in front of them.

    The result of the operator must have the same `shape` afterwards; where nothing else gives it, one operand
    keeps its Expand. The Expands that nobody uses any more are taken away after the walk.
    """
    found = list(values)
    for index, value in enumerate(values):
        maker = value.producer
        if maker is None or maker.op != ("", "Expand"):
            continue
        source = maker.inputs[0]
        if source is None or source.tensor.static_shape is None:
            continue
        others = [other for place, other in enumerate(found) if place != index]
        if _broadcast([source, *others]) == tuple(shape):
            found[index] = source
    return found


def _broadcast(values: Sequence[Value]) -> tuple[object, ...] | None:
    """The shape that ONNX's broadcasting gives; None where it isn't certain."""
    result: list[object] = []
    for value in values:
        shape = value.tensor.shape
        if shape is None:
            return None
        result = [1] * (len(shape) - len(result)) + result
        for axis, dim in enumerate(reversed(shape), 1):
            here = result[-axis]
            if here == 1:
                result[-axis] = dim
            elif dim not in (1, here):
                return None
    return tuple(result)
