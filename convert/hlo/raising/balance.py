"""Balancing of matrices before their eigenvalues are sought: rows and columns of one size lose fewer digits."""

from __future__ import annotations

import math

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .algebra import Algebra, Number, sizes
from .repeat import Made, Pass, repeat
from .support import cast

_ROUNDS = 20
_WORTH = 0.95  # of what a row and a column have together


def balanced(op: Builder, a: Number) -> tuple[Number, Value]:
    """(d^-1 a d; the diagonals d, powers of 2, as columns (batch ..., n, 1)): the scaling of gebal.

    Column and row are taken in turn, until none can be made smaller. No digit is lost.
    """
    batch, size, _ = sizes(a)
    ones = op.const(np.ones((*batch, size, 1), (a[0].tensor.dtype or DType.FLOAT32).numpy))
    if size == 1:
        return a, ones
    a, scale = Algebra(op).of_size_one(a)
    most = 2.0 ** (60 if a[0].tensor.dtype is DType.FLOAT32 else 500)

    def step(now: Pass) -> Made:
        op, m = now.op, Algebra(now.op)
        work, scales, quiet = tuple(now.carried[:-2]), now.carried[-2], now.carried[-1]
        zero, one = m.scalar(0.0, work), m.scalar(1.0, work)
        place, whole = op.Mod(now.number, op.const(size)), op.const([-2, -1])
        here = op.Unsqueeze(place, op.const([0]))
        column, row = (op.ReduceSum(m.weight(m.at(work, here, axis)), whole, keepdims=1) for axis in (-1, -2))
        known = op.And(op.Greater(column, zero), op.Greater(row, zero))
        apart = op.Sub(op.Log(op.Where(known, row, one)), op.Log(op.Where(known, column, one)))
        factor = op.Pow(m.scalar(2.0, work), op.Round(op.Mul(apart, m.scalar(0.5 / math.log(2), work))))
        fresh = op.Mul(m.at((scales,), here, axis=-2)[0], factor)
        known = op.And(known, op.LessOrEqual(op.Max(fresh, op.Div(one, fresh)), m.scalar(most, work)))
        less = op.Add(op.Mul(column, factor), op.Div(row, factor))
        known = op.And(known, op.Less(less, op.Mul(op.Add(column, row), m.scalar(_WORTH, work))))
        chosen = op.Equal(op.const([[number] for number in range(size)]), place)
        factors = op.Where(op.And(chosen, known), factor, one)
        work = m.over(m.scaled(work, m.transposed((factors,))[0]), factors)
        some = cast(op, op.ReduceMax(cast(op, known, DType.INT32), keepdims=0), DType.BOOL)
        quiet = op.Where(some, op.const(0), op.Add(quiet, op.const(1)))
        return Made([*work, op.Mul(scales, factors), quiet], go_on=op.Less(quiet, op.const(size)))

    *made, scales, _ = repeat(op, _ROUNDS * size, step, [*a, ones, op.const(0)], name="balance")
    return Algebra(op).scaled(tuple(made), scale), scales
