"""Sizes, and places in a flattened tensor: as numbers where they are known and as values elsewhere, at every opset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..build import Expr, Operand, concat, expr
from ..constant_analysis import static_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..tensor import TensorData
from ..types import DType, TensorType
from .build import StepBuilder
from .loops import looped
from .steps import as_int64, chained, dtype, numbers, rank

_VECTOR = TensorType(DType.INT64, (None,))
_MOST_COUNTED = 4096  # numbers counted before anything runs


def one_of(op: StepBuilder, value: Value) -> Value:
    """A tensor of one element as a vector of one."""
    known = static_array(value)
    kind = value.tensor.dtype
    if known is not None and known.size == 1:
        return op.const(known.reshape(1), kind)
    if value.tensor.shape == (1,):
        return value
    return op.Reshape(value, numbers(op, 1), _types=[TensorType(kind, (1,))])


def single(op: StepBuilder, value: Value) -> Value:
    """A tensor of one element as a scalar."""
    if value.rank == 0:
        return value
    return op.Reshape(value, numbers(op, []), _types=[TensorType(value.tensor.dtype, ())])


def counted(op: StepBuilder, count: Value) -> Value:
    """0, 1, 2 .. below a number of at least 0.

    Args:
        count: int64, a scalar or a vector of one.

    Returns:
        An int64 vector; it can be expressed at every opset.
    """
    known = static_array(count)
    if known is not None and known.size == 1 and known.item() <= _MOST_COUNTED:
        return numbers(op, np.arange(known.item()))
    if op.target >= 11:
        return op.at(11).Range(op.const(0), single(op, count), op.const(1), _types=[_VECTOR])
    if op.target < 9:
        return looped(op, single(op, count), [], [], lambda one: (None, [one.turn]))[0]
    early = op.at(9)
    ones = early.ConstantOfShape(one_of(op, count), value=TensorData.of(np.ones(1, np.int64)), _types=[_VECTOR])
    return early.Squeeze(early.NonZero(ones), axes=[0], _types=[_VECTOR])


# array expressions --------------------------------------------------------------------------------


def certain(op: StepBuilder, value: Value) -> Expr:
    """What a value holds, known where it is certain before anything runs."""
    array = static_array(value)
    return expr(op, value if array is None else array)


def arange(count: Expr) -> Expr:
    """0, 1, ... up to a number that isn't negative, int64, by operators of every opset."""
    op = count.op
    assert isinstance(op, StepBuilder)
    return expr(op, counted(op, count.value()) if count.array is None else np.arange(count.item()))


def largest(vector: Expr, least: float) -> Expr:
    """The largest element of a vector, or `least`, as a vector of one."""
    return concat(vector.op, [vector, np.asarray([least])]).max(0, keepdims=True)


def total(numbers: Expr) -> Expr:
    """The sum along the first axis, which is gone; how many, of bools (int64)."""
    return (numbers.cast(DType.INT64) if numbers.dtype is DType.BOOL else numbers).sum(0)


def remainder(number: Expr, divisor: Operand) -> Expr:
    """Of integers that aren't negative, by operators of every opset."""
    return number - number // divisor * divisor


def flattened(indices: Sequence[Expr], lengths: Sequence[Expr]) -> Expr:
    """Indices along each axis as one, counted row by row."""
    made = indices[0]
    for index, length in zip(indices[1:], lengths[1:], strict=True):
        made = made * length + index
    return made


def unravelled(index: Expr, lengths: Sequence[Expr]) -> list[Expr]:
    """The positions along each axis of elements counted row by row; of tensors without elements there are none."""
    found: list[Expr] = []
    for length in reversed(lengths[1:]):
        found.insert(0, remainder(index, length.maximum(1)))
        index = index // length.maximum(1)
    return [index, *found]


Size = int | Value
"""A number of elements: known, or an int64 scalar of the graph."""

_MOST = 1 << 16  # offsets that are written out
MOST_COMPARED = 1 << 14
"""How many elements are compared with each other at most."""


# sizes and strides --------------------------------------------------------------------------------


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
    shape = [-1 if index == axis else 1 for index in range(size)]
    if isinstance(count, int) and count <= _MOST:
        shape[axis] = count
        return op.const(np.arange(count, dtype=np.int64).reshape(shape))
    order = counted(op, scalar(op, count))
    return order if size == 1 else op.Reshape(order, numbers(op, shape))


def grid(op: StepBuilder, counts: Sequence[Size | None], steps: Sequence[Size]) -> Value | None:
    """The sum over the axes of position * step; None where there is nothing to count.

    Args:
        counts: how many positions each axis has; None: only one, the first.
        steps: what a position of each axis counts.

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
            known = known + np.arange(count).reshape([-1 if index == axis else 1 for index in range(size)]) * step
            continue
        order = along(op, count, axis, size)
        terms.append(order if step == 1 else op.Mul(order, scalar(op, step)))
    if known.shape != (1,) * size:
        terms.insert(0, op.const(known))
    return chained(op, "Add", terms) if terms else None


def plus(op: StepBuilder, one: Value, other: Value | None) -> Value:
    """The sum of positions and what `grid` makes, which may be nothing."""
    return one if other is None else op.Add(one, other)


def in_flat(op: StepBuilder, indices: Value, shape_of: Value, sizes: Sequence[Size], axis: int) -> Value:
    """Where in the flattened tensor the elements stand whose positions along one axis are given.

    Args:
        indices: int64, counted from the front, of the shape of `shape_of`.
        sizes: of the tensor.
    """
    steps = strides(op, sizes)
    counts = [None if index == axis else extent(op, shape_of, index) for index in range(len(sizes))]
    return plus(op, indices if steps[axis] == 1 else op.Mul(indices, scalar(op, steps[axis])), grid(op, counts, steps))


def nonnegative(node: Node, index: int) -> bool:
    """Whether an input can hold no negative number."""
    array = static_array(node.input(index))
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
    known = static_array(indices)
    whole = size if isinstance(size, int) else static_array(size)
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
        raise Unsupported(node, f"the number of indices for each element, the last size of {value.name!r}, isn't known")
    return dims[-1]
