"""Superfluous operands: conversions there and back, sizes that broadcasting gives, numbers that change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...constants import same_truth
from ...graph import Node, Value
from ...protos import DTYPES, ENUMS
from ...types import DType, Shape, TensorType
from ...words import words
from .context import FLOATS, VIEWS, Context, Shorter, Table, certain, made_by

_BROADCASTING = words(
    "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or Pow Sub Sum Where Xor"
)

_NEVER_NEGATIVE = ("Abs", "Exp", "Sigmoid", "Softmax")
_AS_BOOL = frozenset(dtype for dtype in DType if dtype.is_integer and dtype.bits >= 8) | {*FLOATS}


def cast(context: Context, node: Node) -> Value | None:
    """A conversion after one into a type that holds all that the first one has."""
    before = made_by(node.inputs[0], "Cast")
    data = before.inputs[0] if before is not None else None
    between, to = node.inputs[0], DTYPES.get(node.attributes.get("to", 0))
    if data is None or between is None or to is None:
        return None
    first, middle = data.tensor.dtype, between.tensor.dtype
    if first is None or middle is None:
        return None
    if first is to and first.is_integer and middle.is_integer and middle.bits >= first.bits:
        return data  # the same bits, whatever they mean between
    if not middle.holds(first) or (to is DType.BOOL and first.is_float and first.bits < 16):
        return None  # ONNX Runtime takes -0 of 8 bits for true
    if first is to:
        return data
    types = [TensorType(to, data.tensor.shape)]
    return context.op.Cast(data, to=node.attributes["to"], saturate=node.attributes.get("saturate"), _types=types)


def broadcast(context: Context, node: Node) -> Value | None:
    """Operands as they are before Expand, or before axes of size 1 come or go in front, where broadcasting does it."""
    shape = node.output.tensor.shape
    if shape is None:
        return None
    inputs = list(node.inputs)
    for index, value in enumerate(inputs):
        bare = _bare(value)
        if bare is not None and _broadcasts([*inputs[:index], bare, *inputs[index + 1 :]], shape):
            inputs[index] = bare
    if inputs == node.inputs:
        return None
    return context.op.call(node.op_type, *inputs, _types=[node.output.type], **node.attributes)


def _bare(value: Value | None) -> Value | None:
    node = made_by(value, "Expand", "Reshape", "Squeeze", "Unsqueeze")
    data = node.inputs[0] if node is not None else None
    if node is None or data is None or node.op_type == "Expand":
        return data
    before, after = certain(data), certain(value)
    if before is None or after is None or before == after:
        return None
    most = max(len(before), len(after))
    return data if (1,) * (most - len(before)) + before == (1,) * (most - len(after)) + after else None


def _broadcasts(values: Sequence[Value | None], shape: Shape) -> bool:
    """Whether operands certainly broadcast to a shape; sizes that are open are equal where their names are."""
    shapes = [() if value is None else value.tensor.shape for value in values]
    known = [one for one in shapes if one is not None]
    if len(known) < len(shapes) or None in shape or max(map(len, known), default=0) != len(shape):
        return False
    return all(
        {one[-back] for one in known if back <= len(one)} - {1} == {shape[-back]} - {1}
        for back in range(1, len(shape) + 1)
    )


def _neutral(number: int, indices: Sequence[int]) -> Shorter:
    """A rule for x + 0, x * 1, x and true, and the like: the other operand, where it has the shape of the result.

    Floats aren't added to 0, which makes 0 of -0.
    """

    def rule(context: Context, node: Node) -> Value | None:
        for index in indices:
            other, array = node.inputs[1 - index], context.constant(node.inputs[index])
            if other is None or array is None or array.size > 1 or not _is(array, number):
                continue
            if number == 0 and node.op_type == "Add" and array.dtype.kind not in "iu":
                continue
            if array.ndim == 0 or (other.rank is not None and array.ndim <= other.rank):
                return other
        return None

    return rule


def _is(array: np.ndarray[Any, Any], number: int) -> bool:
    is_negative = array.dtype.kind == "f" and np.signbit(array).any()
    return array.size == 1 and bool(array.reshape(-1)[0] == number) and not (number == 0 and is_negative)


def negated(context: Context, node: Node) -> Value | None:
    """Not(Not(x))."""
    before = made_by(node.inputs[0], "Not")
    return before.inputs[0] if before is not None else None


def truth(context: Context, node: Node) -> Value | None:
    """Not(Equal(x, 0)) is a conversion into booleans, which makes true of NaN, too."""
    before = made_by(node.inputs[0], "Equal")
    if before is None or not context.used_once(before.output):
        return None
    for x, other in (before.inputs, before.inputs[::-1]):
        if x is None or context.number(other) != 0:
            continue
        if x.tensor.dtype in _AS_BOOL and certain(x) == certain(node.output) is not None:
            return context.op.Cast(x, to=ENUMS[DType.BOOL], _types=[node.output.type])
    return None


def chosen(context: Context, node: Node) -> Value | None:
    """Where of one condition for all elements, which is a constant: an operand that has the shape of the result."""
    holds = same_truth(context.constant(node.inputs[0]))
    if holds is None:
        return None
    operand = node.inputs[1 if holds else 2]
    return operand if certain(operand) == certain(node.output) is not None else None


def absolute(context: Context, node: Node) -> Value | None:
    """Abs of floats that are never negative, not even -0; the sign of a NaN says nothing."""
    if node.output.tensor.dtype not in FLOATS:
        return None
    x = summed = node.inputs[0]
    while (maker := made_by(summed, "ReduceSum", "ReduceMean", "ReduceMax", *VIEWS)) is not None:
        summed = maker.inputs[0]
    return x if made_by(summed, *_NEVER_NEGATIVE) is not None else None


def _is_never(context: Context, value: Value | None) -> bool:
    """Whether a condition certainly doesn't hold: that of Where(x == a, b, x) any is a, where a isn't b. So JAX keeps
    divisors from being 0."""
    compared = made_by(value, "Equal")
    for kept, number in (compared.inputs, compared.inputs[::-1]) if compared is not None else ():
        where = made_by(kept, "Where")
        inner = made_by(where.inputs[0], "Equal") if where is not None else None
        first, other = context.number(number), context.number(where.inputs[1]) if where is not None else None
        if where is None or inner is None or first is None or other is None or first == other:
            continue
        x = where.inputs[2]
        if any(one is x and context.number(two) == first for one, two in (inner.inputs, inner.inputs[::-1])):
            return True
    return False


def without_never(context: Context, node: Node) -> Value | None:
    """What is left of Or and Where of a condition that never holds, where it has the shape of the result."""
    if node.op_type == "Where":
        pairs = [(node.inputs[0], node.inputs[2])]
    else:
        pairs = [(node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])]
    for condition, other in pairs:
        if other is not None and certain(other) == certain(node.output) is not None and _is_never(context, condition):
            return other
    return None


RULES: Table = {
    "Abs": [absolute],
    "Where": [chosen, without_never],
    "Cast": [cast],
    "Not": [negated, truth],
    "Add": [_neutral(0, (0, 1))],
    "Sub": [_neutral(0, (1,))],
    "Mul": [_neutral(1, (0, 1))],
    "And": [_neutral(1, (0, 1))],
    "Or": [_neutral(0, (0, 1)), without_never],
    "Div": [_neutral(1, (1,))],
}
BROADCASTING: Table = {op_type: [broadcast] for op_type in _BROADCASTING}
