"""Array expressions of values and numbers, of sizes, of parts."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Value
from ..rewrite import Builder
from ..sizes import OpenSize
from ..types import DType, TensorType
from .expression import E, Expr, Inconsistent, Operand, computed, small_constant
from .open_sizes import size_scalar
from .values import Array, shape_vector

_MOST_COUNTED = 4096  # numbers counted at once; more are a Range


def expr(op: Builder, item: Value | Array | Sequence[Any] | float, dtype: DType | None = None) -> Expr:
    """A value (known where it is a constant of no more than 4096 elements), or given elements, or sizes.

    Args:
        dtype: that of the result. Without it, Python's integers are int64 and its floats float32.
    """
    if isinstance(item, list | tuple) and any(isinstance(one, OpenSize) for one in item):
        item = shape_vector(op, item)
    if isinstance(item, Value):
        made = Expr(op, item, small_constant(item))
        return made if dtype is None else made.cast(dtype)
    array = np.asarray(item)
    if dtype is None and not isinstance(item, np.ndarray | np.generic) and array.dtype == np.float64:
        dtype = DType.FLOAT32 if array.size else DType.INT64
    return Expr(op, array if dtype is None else array.astype(dtype.numpy))


def where(condition: E, then: Operand, otherwise: Operand) -> E:
    """`then` where the condition holds; a number among the two is of the other's element type.

    Where a condition of one element is known, the result is that side itself, not broadcast to the other; a number is
    of the other's shape.
    """
    like = next((condition.like(side) for side in (then, otherwise) if isinstance(side, Expr | Value)), None)
    assert like is not None, "one of the two says the element type"
    first, second = like.like(then), like.like(otherwise)
    if condition.item() is not None and (condition.rank or 0) <= 1:
        chosen, said, other = (first, then, second) if condition.item() else (second, otherwise, first)
        return other.full_like(said) if isinstance(said, int | float) else chosen
    if condition.array is not None and first.array is not None and second.array is not None:
        return condition.make(computed(np.where, condition.array, first.array, second.array))
    return condition.built("Where", [condition, first, second], first.dtype)


def concat(op: Builder, parts: Sequence[Operand], axis: int = 0) -> Expr:
    """Arrays one after the other along an axis; one alone stays itself."""
    like = next(part for part in parts if isinstance(part, Expr | Value))
    first = like if isinstance(like, Expr) else expr(op, like)
    found = [first.like(part) for part in parts]
    arrays = [part.array for part in found if part.array is not None]
    if len(arrays) == len(found):
        return Expr(op, computed(np.concatenate, arrays, axis))
    return found[0] if len(found) == 1 else Expr(op, op.Concat(*(part.value_in(op) for part in found), axis=axis))


# sizes ---------------------------------------------------------------------------------------------


def size_of(op: Builder, value: Value, axis: int) -> Expr:
    """The size of an axis as int64 [1], the axis counted from either end."""
    return Expr(op, value).size(axis)


def length_of(op: Builder, value: Value, axis: int) -> Expr:
    """The size of an axis as an int64 scalar, the axis counted from either end.

    Raises:
        Inconsistent: there is no such axis.
    """
    shape = value.tensor.shape
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise Inconsistent(f"{value.name!r} of rank {len(shape)} has no axis {axis}")
    size = None if shape is None else shape[axis]
    if isinstance(size, int):
        return Expr(op, np.asarray(size))
    return Expr(op, op.Gather(op.Shape(value), op.const(axis), axis=0))


def shape_of(op: Builder, value: Value, start: int = 0, end: int | None = None) -> Expr:
    """The sizes of the axes from `start` up to `end`, int64; known where all of them are."""
    return Expr(op, value).sizes(start, end)


def product(factors: Sequence[E]) -> E:
    return functools.reduce(operator.mul, factors)


def arange(op: Builder, count: Expr | Value | int) -> Expr:
    """0, 1 ... up to a count of one element, int64.

    Raises:
        Inconsistent: the count is known and isn't one element.
    """
    if isinstance(count, Value):
        count = expr(op, count)
    if isinstance(count, OpenSize):
        type = TensorType(DType.INT64, (count,))
        return Expr(op, op.Range(op.const(0), size_scalar(op, count), op.const(1), _types=[type]))
    known = count if isinstance(count, int) else count.item()
    if known is None and isinstance(count, Expr) and count.array is not None:
        raise Inconsistent(f"counted up to {count.array.size} numbers")
    if known is not None and known <= _MOST_COUNTED:
        return Expr(op, np.arange(known, dtype=np.int64))
    limit = op.const(count) if isinstance(count, int) else count.cast(DType.INT64)
    if isinstance(limit, Expr) and limit.rank != 0:
        limit = limit.reshape()
    return Expr(op, op.Range(op.const(0), limit, op.const(1)))
