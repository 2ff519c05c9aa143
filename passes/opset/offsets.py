"""Positions in tensors as array expressions, computed at once where sizes are known, by operators of every opset."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Sequence

import numpy as np

from ..build import Expr, Operand, computed, concat, expr, length_of, product, size_of, taken, where
from ..constant_analysis import static_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..tensor import TensorData
from ..types import DType, TensorType
from .build import StepBuilder
from .loop_decompositions import looped

_VECTOR = TensorType(DType.INT64, (None,))
_MOST = 1 << 16  # numbers written out
MOST_COMPARED = 1 << 14
"""How many elements are compared with each other at most."""


# values as expressions ----------------------------------------------------------------------------


def certain(op: StepBuilder, value: Value) -> Expr:
    """What a value holds, known where it is certain before anything runs."""
    array = static_array(value)
    return expr(op.newest, value if array is None else array)


def deferred(known: Expr) -> Expr:
    """The same as if only a run told it: what is made of it, a table of two axes perhaps, isn't written out."""
    return Expr(known.op, known.value())


def common_rank(node: Node, *values: Value) -> int:
    """The rank that values share, which must be known of one."""
    return next((value.rank for value in values if value.rank is not None), None) or rank_of(node, values[0])


def sizes_of(op: StepBuilder, value: Value, axes: Iterable[int]) -> list[Expr]:
    """The sizes of axes, int64 [1] each."""
    return [size_of(op.newest, value, axis) for axis in axes]


def last_size(node: Node, value: Value) -> int:
    """The size of the last axis, which must be known."""
    dims = value.tensor.shape
    rank_of(node, value)
    if not dims or not isinstance(dims[-1], int):
        raise Unsupported(node, f"the number of indices for each element, the last size of {value.name!r}, isn't known")
    return dims[-1]


# counting -----------------------------------------------------------------------------------------


def arange(count: Expr) -> Expr:
    """0, 1, 2 .. below a number of one element that isn't negative, int64."""
    op, known = count.op, count.item()
    assert isinstance(op, StepBuilder)
    if known is not None and known <= _MOST:
        return expr(op, np.arange(known))
    if op.target >= 11:
        return Expr(op, op.at(11).Range(op.const(0), count.reshape(), op.const(1), _types=[_VECTOR]))
    if op.target < 9:
        return Expr(op, looped(op, count.reshape().value(), [], [], lambda one: (None, [one.turn]))[0])
    early = op.at(9)
    ones = early.ConstantOfShape(count.reshape(1), value=TensorData.of(np.ones(1, np.int64)), _types=[_VECTOR])
    return Expr(op, early.Squeeze(early.NonZero(ones), axes=[0], _types=[_VECTOR]))


def along(count: Expr, axis: int, rank: int) -> Expr:
    """0, 1, 2 .. along one axis of `rank`, the others being of one element."""
    return arange(count).reshape(*(-1 if index == axis else 1 for index in range(rank)))


def count_between(span: Expr, step: Expr, direction: Expr) -> Expr:
    """How many numbers, a step apart, lie in a span: ceil(span / step), and none where it leads the other way.

    Args:
        direction: the sign of the step.
    """
    ahead = span * direction
    if step.array is not None and step.array.size == 1 and abs(int(step.item())) == 1:
        return where(ahead > 0, ahead, 0)
    return where(ahead > 0, (span - direction) // step + 1, 0)


def largest(vector: Expr, least: float) -> Expr:
    """The largest element of a vector, or `least`, as a vector of one."""
    return concat(vector.op, [vector, np.asarray([least])]).max(0, keepdims=True)


def total(numbers: Expr, axis: int = 0) -> Expr:
    """The sum along an axis, which is gone; how many, of bools (int64)."""
    return (numbers.cast(DType.INT64) if numbers.dtype is DType.BOOL else numbers).sum(axis)


def remainder(number: Expr, divisor: Operand) -> Expr:
    """Of integers that aren't negative, by operators of every opset."""
    return number - number // divisor * divisor


def flattened(indices: Sequence[Expr], lengths: Sequence[Expr]) -> Expr:
    """Indices along each axis as one, counted row by row.

    Where the lengths are known, those of the indices that are known, too, are added up before anything runs, as long as
    that isn't long to write out.
    """
    made = indices[0]
    if any(length.array is None for length in lengths[1:]):
        for index, length in zip(indices[1:], lengths[1:], strict=True):
            made = made * length + index
        return made
    first, later = made.like(0), list[Expr]()
    for axis, index in enumerate(indices):
        term = index * product(lengths[axis + 1 :]) if axis + 1 < len(lengths) else index
        if term.array is not None and _stays_short(first, term):
            first = first + term
        else:
            later.append(term)
    return functools.reduce(operator.add, later, first)


def _stays_short(one: Expr, other: Expr) -> bool:
    """Whether the sum of known arrays is no longer than the longer one, or than what is written out."""
    sizes = one.known.size, other.known.size
    both = computed(np.broadcast_shapes, one.known.shape, other.known.shape)
    return math.prod(both.tolist()) <= max(*sizes, _MOST)


def unravelled(index: Expr, lengths: Sequence[Expr]) -> list[Expr]:
    """The positions along each axis of elements counted row by row; of tensors without elements there are none."""
    found: list[Expr] = []
    for length in reversed(lengths[1:]):
        found.insert(0, remainder(index, length.maximum(1)))
        index = index // length.maximum(1)
    return [index, *found]


# indices ------------------------------------------------------------------------------------------


def nonnegative(node: Node, index: int) -> bool:
    """Whether an input can hold no negative number."""
    array = static_array(node.input(index))
    kind = dtype_of(node, required(node, index))
    return not kind.is_signed or (array is not None and bool((array >= 0).all()))


def from_front(op: StepBuilder, node: Node, index: int, size: Expr) -> Expr:
    """An input of indices in int64, those that count from the back of `size` elements counted from the front.

    Args:
        size: what is broadcast to the indices.
    """
    given = required(node, index)
    if nonnegative(node, index):
        return expr(op.newest, given, DType.INT64)
    indices = certain(op, given).cast(DType.INT64)
    moved = indices + size
    if moved.array is None and op.target < 9:
        # nothing compares or chooses integers before version 9: the rest of a division that cuts off
        whole = size.maximum(1)  # an axis without elements has no indices, but its size divides all the same
        return moved - moved.call("Div", whole) * whole
    return where(indices < 0, moved, indices)


def gathered(op: StepBuilder, data: Value, index: Expr, axis: int = 0) -> Value:
    """The elements at positions along an axis that count from the front, as Gather-1 wants them."""
    return taken(op.at(9), data, index.value(), axis)


def in_flat(op: StepBuilder, indices: Expr, like: Value, sizes: Sequence[Expr], axis: int) -> Expr:
    """Where in the flattened tensor the elements stand whose positions along one axis are given.

    Args:
        indices: int64, counted from the front, of the shape of `like`.
        sizes: of the tensor.
    """
    size = len(sizes)
    lines = [
        indices if index == axis else along(length_of(op.newest, like, index), index, size) for index in range(size)
    ]
    return flattened(lines, sizes)
