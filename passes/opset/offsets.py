"""Places in a flattened tensor: sizes, strides and indices, as numbers where they are known and as values elsewhere.

All of it can be expressed at every opset; `folding` has the arithmetic of floats, comparisons and choices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..constant_analysis import known_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..types import DType, TensorType
from .build import StepBuilder
from .counting import counted, one_of
from .steps import as_int64, chained, dtype, numbers, rank

Size = int | Value
"""A number of elements: known, or an int64 scalar of the graph."""

_MOST = 1 << 16  # offsets that are written out
MOST_COMPARED = 1 << 14
"""How many elements are compared with each other at most."""


def extent(op: StepBuilder, value: Value, axis: int) -> Size:
    """The size of an axis, which may count from the back."""
    dims = value.tensor.shape
    if dims is not None:
        axis %= len(dims)
        size = dims[axis]
        if isinstance(size, int):
            return size
    return op.at(9 if axis >= 0 else 11).Gather(op.Shape(value), op.const(axis), axis=0)


def extents(op: StepBuilder, value: Value, size: int) -> list[Size]:
    """The sizes of all axes, of which there are `size`."""
    return [extent(op, value, axis) for axis in range(size)]


def common_rank(node: Node, *values: Value) -> int:
    """The rank that values share, which must be known of one."""
    return next((value.rank for value in values if value.rank is not None), None) or rank(node, values[0])


def scalar(op: StepBuilder, size: Size) -> Value:
    """A size as an int64 scalar."""
    return op.const(size, DType.INT64) if isinstance(size, int) else size


def vector(op: StepBuilder, sizes: Sequence[Size]) -> Value:
    """Sizes as an int64 vector."""
    if all(isinstance(size, int) for size in sizes):
        return numbers(op, np.asarray(sizes, np.int64))
    parts = [one_of(op, scalar(op, size)) for size in sizes]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def times(op: StepBuilder, one: Size, other: Size) -> Size:
    """The product of two sizes."""
    if isinstance(one, int) and isinstance(other, int):
        return one * other
    if 1 in (one, other):
        return other if one == 1 else one
    return op.Mul(scalar(op, one), scalar(op, other))


def total_of(op: StepBuilder, sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    made: Size = 1
    for size in sizes:
        made = times(op, made, size)
    return made


def strides(op: StepBuilder, sizes: Sequence[Size]) -> list[Size]:
    """How far apart neighbours along each axis stand in row-major order."""
    found: list[Size] = [1]
    for size in reversed(sizes[1:]):
        found.append(times(op, found[-1], size))
    return found[::-1][: len(sizes)]


def shaped(op: StepBuilder, value: Value, sizes: Sequence[Size]) -> Value:
    """Reshape to these sizes."""
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes) and 0 not in known:
        return op.Reshape(value, vector(op, sizes))
    kind = value.tensor.dtype
    if len(known) == len(sizes) and kind is not None:  # where a 0 stands Reshape would copy a size
        return op.const(np.zeros(known, kind.numpy), kind)
    dims = tuple(size if isinstance(size, int) else None for size in sizes)
    return op.reshape(value, vector(op, sizes), TensorType(value.tensor.dtype, dims))


def flat(op: StepBuilder, value: Value) -> Value:
    """All elements in a row."""
    return value if value.rank == 1 else op.Reshape(value, numbers(op, -1))


def along(op: StepBuilder, count: Size, axis: int, size: int) -> Value:
    """0, 1, 2 .. along one axis of `size` of them, the others being of one element."""
    shape = [-1 if place == axis else 1 for place in range(size)]
    if isinstance(count, int) and count <= _MOST:
        shape[axis] = count
        return op.const(np.arange(count, dtype=np.int64).reshape(shape))
    order = counted(op, scalar(op, count))
    return order if size == 1 else op.Reshape(order, numbers(op, shape))


def grid(op: StepBuilder, counts: Sequence[Size | None], steps: Sequence[Size]) -> Value | None:
    """The sum over the axes of place * step; None where there is nothing to count.

    Args:
        counts: how many places each axis has; None: only one, the first.
        steps: what a place of each axis counts.

    Returns:
        int64, of one element along the axes without a count.
    """
    size = len(counts)
    known = np.zeros((1,) * size, np.int64)
    terms: list[Value] = []
    for axis, (count, step) in enumerate(zip(counts, steps, strict=True)):
        if count is None:
            continue
        if isinstance(count, int) and isinstance(step, int) and known.size * count <= _MOST:
            known = known + np.arange(count).reshape([-1 if place == axis else 1 for place in range(size)]) * step
            continue
        order = along(op, count, axis, size)
        terms.append(order if step == 1 else op.Mul(order, scalar(op, step)))
    if known.shape != (1,) * size:
        terms.insert(0, op.const(known))
    return chained(op, "Add", terms) if terms else None


def plus(op: StepBuilder, one: Value, other: Value | None) -> Value:
    """The sum of places and what `grid` makes, which may be nothing."""
    return one if other is None else op.Add(one, other)


def in_flat(op: StepBuilder, places: Value, shape_of: Value, sizes: Sequence[Size], axis: int) -> Value:
    """Where in the flattened tensor the elements stand whose places along one axis are given.

    Args:
        places: int64, counted from the front, of the shape of `shape_of`.
        sizes: of the tensor.
    """
    steps = strides(op, sizes)
    counts = [None if place == axis else extent(op, shape_of, place) for place in range(len(sizes))]
    return plus(op, places if steps[axis] == 1 else op.Mul(places, scalar(op, steps[axis])), grid(op, counts, steps))


def nonnegative(node: Node, index: int) -> bool:
    """Whether an input can hold no negative number."""
    array = known_array(node.input(index))
    kind = dtype(node, node.input(index))
    return not kind.is_signed or (array is not None and bool((array >= 0).all()))


def from_front(op: StepBuilder, node: Node, index: int, size: Size | Value) -> Value:
    """An input of indices in int64, those that count from the back of `size` elements counted from the front.

    Args:
        size: a number, or a value that is broadcast to the indices.
    """
    indices = required(node, index)
    if nonnegative(node, index):
        return as_int64(op, indices)
    known = known_array(indices)
    whole = size if isinstance(size, int) else known_array(size)
    if known is not None and whole is not None:
        known = known.astype(np.int64)
        return op.const(np.where(known < 0, known + whole, known))
    indices, total = as_int64(op, indices), scalar(op, size)
    moved = op.Add(indices, total)
    if op.target >= 9:
        return op.Where(op.Less(indices, op.const(0)), moved, indices)
    # nothing compares or chooses integers before version 9: the rest of a division that cuts off
    return op.Sub(moved, op.Mul(op.Div(moved, total), total))


def last_size(node: Node, value: Value) -> int:
    """The size of the last axis, which must be known."""
    dims = value.tensor.shape
    rank(node, value)
    if not dims or not isinstance(dims[-1], int):
        raise Unsupported(node, f"the number of indices for each place, the last size of {value.name!r}, isn't known")
    return dims[-1]
