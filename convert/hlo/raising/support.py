"""What the rules of all families share: operands, and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.constants import constant_array
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.node import ORIGIN
from ....passes.sizes import dims_of
from ....runtime.oracles.hlo_names import last_step


class CallsHost(Unsupported):
    """An instruction calls a function of the Python process that traced the model, which no file holds.

    JAX's checked errors are such calls, in branches that are taken where something went wrong.
    """


def called(node: Node) -> str:
    """What a custom call calls: its target, after the operation of JAX that it is for where the file says that one."""
    target = str(node.attributes.get("custom_call_target", ""))
    operation = last_step((node.meta or {}).get(ORIGIN, ""))
    return f"{operation} ({target})" if operation else target


Results = Value | Sequence[Value] | None


def shape_of(node: Node, value: Value) -> tuple[int, ...]:
    """The sizes of a value, computed of the inputs' sizes where they are open.

    Raises:
        Unsupported: a size is only known when the model runs.
    """
    shape = dims_of(value.tensor.shape)
    if shape is None:
        raise Unsupported(node, f"{value.name!r} has a size that is only known when the model runs")
    return shape


# what is known of values -----------------------------------------------------------------------------


def made_by(value: Value | None, op_type: str) -> Node | None:
    """The node that makes a value, if it is this operator."""
    maker = None if value is None else value.producer
    return maker if maker is not None and maker.op == ("", op_type) else None


def _unexpanded(value: Value) -> Value:
    """What an Expand repeats."""
    maker = made_by(value, "Expand")
    return value if maker is None or maker.inputs[0] is None else maker.inputs[0]


def uniform(value: Value) -> Value | None:
    """The constant of one element that all elements of a value are, as far as that is plain to see."""
    source = value if value.data is not None else _unexpanded(value)
    return source if source.data is not None and source.data.size == 1 else None


def filled_with(value: Value) -> Any:
    """The one number that a constant, or an Expand of one, is filled with; None where there is none."""
    data = _unexpanded(value).data
    if data is None or not data.size or data.size > 1 << 16:
        return None
    array = data.numpy().reshape(-1)
    return array[0] if data.size == 1 or bool((array == array[0]).all()) else None


def constant(value: Value) -> np.ndarray[Any, Any] | None:
    """The array of a constant, or of what an Expand repeats; None where it isn't constant."""
    return constant_array(_unexpanded(value))


# operators that broadcast ----------------------------------------------------------------------------


def operands(node: Node, count: int) -> list[Value]:
    """The operands of an operator that broadcasts by itself, so without Expands where they change nothing.

    Raises:
        InvalidModel: their number is wrong.
    """
    values = [value for value in node.inputs if value is not None]
    if len(values) != count:
        raise InvalidModel(f"{node!r}: it has {len(values)} operands, not {count}")
    shape = node.output.tensor.shape
    return values if shape is None or count == 1 else _without_expands(values, shape)


def _without_expands(values: Sequence[Value], shape: Sequence[object]) -> list[Value]:
    """The operands of an operator that broadcasts by itself, without the Expands in front of them.

    The result of the operator must have the same `shape` afterwards; where nothing else gives it, one operand
    keeps its Expand. The Expands that nobody uses any more are taken away after the walk.
    """
    found = list(values)
    for index, value in enumerate(values):
        source = _unexpanded(value)
        if source is value or dims_of(source.tensor.shape) is None:
            continue
        others = [other for position, other in enumerate(found) if position != index]
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
