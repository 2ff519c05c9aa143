"""Sizes as values: parts of shapes taken and joined."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import cast

import numpy as np

from ...graph import Node, Value
from ...sizes import Size, size_of
from ...types import DType, tensor
from .context import Context, Table, certain, made_by, part_of_shape, permutation, static, unviewed


def _shape(context: Context, data: Value | None, start: int, end: int) -> Value:
    """Dimensions of a value as an int64 vector."""
    while end == start + 1 and (before := made_by(data, "Transpose")) is not None:
        perm = permutation(before)
        if perm is None:
            break
        data, start = before.inputs[0], perm[start]
        end = start + 1
    whole = data is not None and end == data.rank
    types = [tensor(DType.INT64, end - start)]
    return context.op.Shape(data, start=start or None, end=None if whole else end, _types=types)


def product(factors: Iterable[Size | None]) -> Size | None:
    """The product of sizes, None where one isn't known as a function of symbols."""
    known = list(factors)
    return None if None in known else math.prod(cast("list[int]", known))


def product_of_sizes(context: Context, value: Value | None) -> Size | None:
    """The number that a value is, which is computed of sizes by products alone."""
    value = unviewed(value)
    known = context.integers(value)
    if known is not None and len(known) == 1:
        return known[0]
    node = made_by(value, "Cast", "Mul", "ReduceProd", "Shape")
    if node is None:
        return None
    if node.op_type in ("Cast", "Mul"):
        return product(product_of_sizes(context, factor) for factor in node.inputs)
    shape = node if node.op_type == "Shape" else made_by(node.inputs[0], "Shape")
    part = part_of_shape(shape) if shape is not None else None
    sizes = certain(shape.inputs[0]) if shape is not None else None
    if sizes is None or part is None or (node is shape and part[1] - part[0] != 1):
        return None
    return product(map(size_of, sizes[part[0] : part[1]]))


def gather_of_shape(context: Context, node: Node) -> Value | None:
    """Neighbours among the sizes: Gather(Shape(x), [1, 2]) is Shape(x) {start: 1, end: 3}."""
    shape, indices = made_by(node.inputs[0], "Shape"), context.integers(node.inputs[1])
    part = part_of_shape(shape) if shape is not None else None
    if shape is None or part is None or not indices or node.inputs[1] is None or node.inputs[1].rank != 1:
        return None
    length = part[1] - part[0]
    indices = [index + length if index < 0 else index for index in indices]
    if indices != list(range(indices[0], indices[0] + len(indices))) or not 0 <= indices[0] <= indices[-1] < length:
        return None
    return _shape(context, shape.inputs[0], part[0] + indices[0], part[0] + indices[-1] + 1)


def slice_of_shape(context: Context, node: Node) -> Value | None:
    """The same for Slice(Shape(x), ...)."""
    shape = made_by(node.inputs[0], "Shape")
    part = part_of_shape(shape) if shape is not None else None
    listed = [context.integers(value) for value in node.inputs[1:]]
    if shape is None or part is None or None in listed or node.input(1) is None or node.input(2) is None:
        return None
    (start, *_), (end, *_), *rest = (entry or [0] for entry in listed)
    step = rest[1][0] if len(rest) > 1 else 1
    if step != 1:
        return None
    start, end, _ = slice(start, end).indices(part[1] - part[0])
    return _shape(context, shape.inputs[0], part[0] + start, part[0] + max(start, end))


def size_of_transposed(context: Context, node: Node) -> Value | None:
    """One size of a transposed value is a size of the value."""
    part = part_of_shape(node)
    if part is None or part[1] - part[0] != 1 or made_by(node.inputs[0], "Transpose") is None:
        return None
    return _shape(context, node.inputs[0], *part)


def unsqueezed_size(context: Context, node: Node) -> Value | None:
    """A size taken as a scalar and made a vector again: Unsqueeze(Gather(Shape(x), 1), [0])."""
    gather = made_by(node.inputs[0], "Gather")
    shape = made_by(gather.inputs[0], "Shape") if gather is not None else None
    if (
        gather is None
        or shape is None
        or gather.output.rank != 0
        or context.integers(node.inputs[1]) not in ([0], [-1])
    ):
        return None
    part, indices = part_of_shape(shape), context.integers(gather.inputs[1])
    if part is None or indices is None:
        return None
    index = indices[0] % max(part[1] - part[0], 1)
    return _shape(context, shape.inputs[0], part[0] + index, part[0] + index + 1)


def concat(context: Context, node: Node) -> Value | None:
    """One part is itself; parts without elements go; neighbours among the sizes of one value are one Shape."""
    axis = node.attributes.get("axis", 0)
    parts = [value for value in node.inputs if value is not None]
    left = [value for value in parts if not _is_empty(value, axis)] or parts[:1]
    joined: list[Value] = []
    for value in left:
        together = _together(context, joined[-1], value) if joined else None
        if together is None:
            joined.append(value)
        else:
            joined[-1] = together
    if len(joined) == 1:
        return joined[0]
    return context.op.Concat(*joined, axis=axis) if len(joined) < len(parts) else None


def _is_empty(value: Value, axis: int) -> bool:
    shape = value.tensor.shape
    return shape is not None and -len(shape) <= axis < len(shape) and shape[axis] == 0


def _together(context: Context, first: Value, second: Value) -> Value | None:
    one, other = made_by(first, "Shape"), made_by(second, "Shape")
    if one is None or other is None or one.inputs[0] is not other.inputs[0]:
        return None
    a, b = part_of_shape(one), part_of_shape(other)
    return _shape(context, one.inputs[0], a[0], b[1]) if a is not None and b is not None and a[1] == b[0] else None


def expand(context: Context, node: Node) -> Value | None:
    """To the sizes that are there already, or to no elements, since ONNX Runtime drops Expand by a constant of 0s and
    1s."""
    data, sizes = node.inputs[0], static(node.output)
    if data is not None and sizes is not None and static(data) == sizes:
        return data
    dtype = node.output.tensor.dtype
    if sizes is None or 0 not in sizes or dtype in (None, DType.STRING):
        return None
    return context.op.const(np.zeros(sizes), dtype)


def slice_of_all(context: Context, node: Node) -> Value | None:
    """Everything, in its order."""
    data, steps = node.inputs[0], node.input(4)
    listed = [1] if steps is None else context.integers(steps) or [-1]
    same = data is not None and static(data) is not None and static(data) == static(node.output)
    if (same and min(listed) > 0) or (set(listed) == {1} and _ends_at_sizes(context, node)):
        return data
    return None


def _ends_at_sizes(context: Context, node: Node) -> bool:
    """Whether a Slice begins at 0 and ends at the data's own sizes."""
    data, shape = node.inputs[0], made_by(node.inputs[2], "Shape")
    part = part_of_shape(shape) if shape is not None and shape.inputs[0] is data else None
    if part is None or data is None or not data.rank or any(context.integers(node.inputs[1]) or [1]):
        return False
    own = list(range(*part))
    axes = context.integers(node.input(3)) or [] if node.input(3) is not None else range(len(own))
    return [axis % data.rank for axis in axes] == own


def pad(context: Context, node: Node) -> Value | None:
    """By nothing."""
    pads = context.integers(node.inputs[1])
    return node.inputs[0] if pads is not None and not any(pads) else None


RULES: Table = {
    "Gather": [gather_of_shape],
    "Slice": [slice_of_all, slice_of_shape],
    "Shape": [size_of_transposed],
    "Unsqueeze": [unsqueezed_size],
    "Concat": [concat],
    "Expand": [expand],
    "Pad": [pad],
}
