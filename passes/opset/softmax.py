"""Softmax, LogSoftmax, Hardmax: before version 13 over everything from an axis on, afterwards over one axis."""

from __future__ import annotations

import math

from ..graph import Node, Value
from ..preconditions import required
from .build import StepBuilder
from .steps import Made, Step, attribute, changed, numbers, positive, rank, rows


def _reshaped(op: StepBuilder, value: Value, like: Value) -> Value:
    """`value` in the shape of another of as many elements; where a size may be 0, that too."""
    shape = like.tensor.static_shape
    if shape is not None and all(shape):
        return op.Reshape(value, numbers(op, shape), _types=[like.type])
    return op.reshape(value, op.Shape(like), like.type)


def _one_axis(op: StepBuilder, node: Node) -> Made:
    """All axes from `axis` on as one, unless it is the last already."""
    x, axis = required(node, 0), attribute(node, "axis", 1)
    shape = x.tensor.shape
    if axis == -1:
        return changed(node, axis=-1)
    if shape is not None and -len(shape) <= axis < len(shape):
        behind = shape[axis % len(shape) + 1 :]
        if all(size == 1 for size in behind):
            return changed(node, axis=axis if behind else -1)
    flat = op.Flatten(x, axis=axis)
    return _reshaped(op, op.call(node.op_type, flat, axis=-1), x)


def _from_axis(op: StepBuilder, node: Node) -> Made:
    """The axis as the last one, where none but ones stand behind it; else it is brought there and back."""
    x, axis = required(node, 0), attribute(node, "axis", -1)
    size = rank(node, x)
    axis %= size
    behind = (x.tensor.shape or ())[axis + 1 :]
    if all(isinstance(dim, int) for dim in behind) and math.prod(dim for dim in behind if isinstance(dim, int)) == 1:
        return changed(node, axis=axis)
    order = [*range(axis), *range(axis + 1, size), axis]
    back = sorted(range(size), key=order.__getitem__)
    moved = op.call(node.op_type, op.Transpose(x, perm=order), axis=size - 1)
    return op.Transpose(moved, perm=back)


_NAMES = "Softmax LogSoftmax Hardmax"

ROWS = {**rows(_NAMES, 11, positive("axis")), **rows(_NAMES, 13, Step(_one_axis, _from_axis))}
