"""Balancing of matrices before their eigenvalues are sought: rows and columns of one size lose fewer digits."""

from __future__ import annotations

import math

import numpy as np

from ..types import DType
from .iterate import Made, Pass, iterate
from .matrix import Matrix, where

_ROUNDS = 20
_WORTH = 0.95  # of what a row and a column have together


def balanced(a: Matrix) -> tuple[Matrix, Matrix]:
    """(d^-1 a d; the diagonals d, powers of 2, as columns (batch ..., n, 1)): the scaling of LAPACK's gebal.

    Column and row are taken in turn, until none can be made smaller. No digit is lost.
    """
    batch, size, _ = a.sizes
    ones = a.real.filled(np.ones((*batch, size, 1)))
    if size == 1:
        return a, ones
    a, scale = a.of_size_one()
    most = 2.0 ** (60 if a.dtype is DType.FLOAT32 else 500)

    def step(now: Pass) -> Made:
        work, scales, quiet = now.state
        place = now.number % size
        column, row = (work.at(place, axis).abs1().sum(-2, -1) for axis in (-1, -2))
        known = (column > 0) & (row > 0)
        apart = where(known, row, 1).log() - where(known, column, 1).log()
        factor = (apart * (0.5 / math.log(2))).round().power_of_2()
        fresh = scales.at(place, -2) * factor
        known = known & (fresh.maximum(1 / fresh) <= most)
        known = known & (column * factor + row / factor < (column + row) * _WORTH)
        factors = where(work.rows().equals(place) & known, factor, 1)
        quiet = where(known.any(), 0, quiet + 1)
        return Made([work * factors.T / factors, scales * factors, quiet], go_on=quiet < size)

    made, scales, _ = iterate(a.op, _ROUNDS * size, step, [a, ones, a.constant(0)], name="balance")
    return made * scale, scales
