"""Products of vectors and matrices, as NumPy has them."""

from __future__ import annotations

import math

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.rewrite import Builder
from ....passes.types import DType
from .numpy_values import Number, applied, broadcast, cast, common_type, reshaped
from .ufuncs import UFUNCS


def matmul(op: Builder, a: Number, b: Number, where: str) -> Number:
    """`a @ b`

    Raises:
        InvalidModel: one has no axes, or the sizes don't go together.
    """
    if not a.rank or not b.rank:
        raise InvalidModel(f"{where}: a matrix product with a number that is no array")
    _check_sizes(a, b, where)
    columns = b.shape[-1] if b.rank > 1 else 1
    broadcast([(*a.shape[:-1], 1), (*b.shape[:-2], 1, columns)], where)
    dtype = common_type([a.dtype, b.dtype], where)
    if dtype is not DType.BOOL:
        return Number(op.MatMul(cast(op, a, dtype, where), cast(op, b, dtype, where)))
    counted = op.MatMul(cast(op, a, DType.INT64, where), cast(op, b, DType.INT64, where))
    return Number(op.Greater(counted, op.const(0)))


def _check_sizes(a: Number, b: Number, where: str) -> None:
    if a.shape[-1] != b.shape[-2 if b.rank > 1 else 0]:
        raise InvalidModel(f"{where}: no matrix product of the shapes {a.shape} and {b.shape}")


def dot(op: Builder, a: Number, b: Number, where: str) -> Number:
    """`numpy.dot`: of a number the product, of arrays the sum over the last axis of `a` and the last but one of `b`."""
    if not a.rank or not b.rank:
        return _scaled(op, a, b, where)
    if b.rank <= 2:
        return matmul(op, a, b, where)
    _check_sizes(a, b, where)
    order = [b.rank - 2, *range(b.rank - 2), b.rank - 1]
    kept = [b.shape[axis] for axis in order[1:]]
    moved = op.Transpose(b.value, perm=order)
    flat = Number(reshaped(op, moved, (b.shape[-2], math.prod(kept))))
    rows = Number(reshaped(op, a.value, (math.prod(a.shape[:-1]), a.shape[-1])))
    made = matmul(op, rows, flat, where)
    return Number(reshaped(op, made.value, (*a.shape[:-1], *kept)))


def _scaled(op: Builder, a: Number, b: Number, where: str) -> Number:
    """A product with a number. Of floats it is added to nothing: there is no -0 in it, and nothing times 0 is 0."""
    made = applied(op, UFUNCS["multiply"], [a, b], where)
    if not made.dtype.is_float or made.size < 2:
        return made
    zero = op.const(np.zeros((), made.dtype.numpy))
    factor = cast(op, b if a.rank else a, made.dtype, where)
    return Number(op.Where(op.Equal(factor, zero), zero, op.Add(made.value, zero)))


def inner(op: Builder, a: Number, b: Number, where: str) -> Number:
    """`numpy.inner`: the sum over the last axes."""
    if not a.rank or not b.rank:
        return _scaled(op, a, b, where)
    if b.rank == 1:
        return matmul(op, a, b, where)
    order = [*range(b.rank - 2), b.rank - 1, b.rank - 2]
    return dot(op, a, Number(op.Transpose(b.value, perm=order)), where)


def vdot(op: Builder, a: Number, b: Number, where: str) -> Number:
    """`numpy.vdot`: the sum of all products."""
    a, b = (Number(reshaped(op, part.value, (part.size,))) for part in (a, b))
    return matmul(op, a, b, where)


def outer(op: Builder, a: Number, b: Number, where: str) -> Number:
    """`numpy.outer`: every element of `a` with every one of `b`."""
    column = Number(reshaped(op, a.value, (a.size, 1)))
    row = Number(reshaped(op, b.value, (1, b.size)))
    return applied(op, UFUNCS["multiply"], [column, row], where)
