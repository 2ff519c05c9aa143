"""Stochastic rounding: results off by a random share of what rounding may do to them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...passes.types import HALVES, DType
from ..kernels.base import Array

UNITS: dict[DType, float] = {
    DType.FLOAT16: 2.0**-11,
    DType.BFLOAT16: 2.0**-8,
    DType.FLOAT32: 2.0**-24,
    DType.FLOAT64: 2.0**-53,
    DType.COMPLEX64: 2.0**-24,
    DType.COMPLEX128: 2.0**-53,
}
"""Half the distance from 1 to the next number."""

_COARSE = {DType.FLOAT64: DType.FLOAT32, DType.COMPLEX128: DType.COMPLEX64}
_INSIDE = 6.0  # query, key, scale, probabilities and value are each rounded


class Noise:
    """The rounding errors of one run.

    Args:
        seed: which ones.
        scale: so many times as large.
        coarse: float64 is computed as float32, as OpenVINO does.
        in_constants: only what is computed from constants alone is rounded, once for all passes of a loop.
        is_drawn: otherwise everything is rounded to the nearest number of its type, inputs and constants as well: what
            random errors never make equal becomes so.
    """

    def __init__(
        self,
        seed: int,
        scale: float = 1.0,
        coarse: bool = False,
        in_constants: bool = False,
        is_drawn: bool = True,
    ) -> None:
        self._random = np.random.default_rng([seed, 11])
        self._scale = scale
        self.coarse, self.in_constants, self.is_drawn = coarse, in_constants, is_drawn

    def rounded_type(self, dtype: DType) -> DType:
        """The type that numbers of a type are rounded to."""
        return rounded_type(dtype, self.coarse)

    def result(
        self, value: Array, dtype: DType, size: float, least: Array | float = 0.0, rounded: Array | None = None
    ) -> Array:
        """A result of a declared type, off by up to `size` units of its precision (halves: one) where it is inexact.

        Args:
            least: units of this where the result is less.
            rounded: which elements are only near what they are given as.
        """
        kind = self.rounded_type(dtype)
        if kind not in UNITS:
            return value
        if not self.is_drawn:
            return nearest(value, kind)
        inexact = is_inexact(value, kind) if rounded is None else is_inexact(value, kind) | rounded
        if not inexact.any():
            return value
        far = self._far(value.shape, 1.0 if kind in HALVES else size, kind)
        magnitude = np.maximum(np.abs(value), np.maximum(least, smallest(kind)))
        moved = value + magnitude * self._turned(value, far)
        return np.where(inexact, moved, value).astype(value.dtype, copy=False)

    def exact(self, value: Array, dtype: DType) -> Array:
        """Which elements are held as they are."""
        kind = self.rounded_type(dtype)
        return ~is_inexact(value, kind) if kind in UNITS else np.ones(value.shape, bool)

    def terms(self, value: Array, dtype: DType, count: float, inside: bool = False) -> Array:
        """The terms of a sum, each off as the sum of `count` of them is; sums of halves are made in float32.

        Args:
            inside: what comes between is held in the type of the terms, and rounded more than once, and so are factors
                common to all of them.
        """
        if not self.is_drawn:
            return value
        kind = self.rounded_type(dtype)
        if kind in HALVES:
            kind, count = (kind, 1.0) if inside else (DType.FLOAT32, count)
        if kind not in UNITS:
            return value
        far = self._far(value.shape, (_INSIDE if inside else 2.0) * growth(count), kind)
        if inside:
            far = far + self._far((), _INSIDE, kind)
        moved = value + np.where(np.isfinite(value), np.abs(value), 0) * self._turned(value, far)
        return moved.astype(value.dtype, copy=False)

    def scaled(self, value: Array) -> Array:
        """Results times one factor that is held in float32, whatever their type is."""
        if not self.is_drawn:
            return value
        return (value * (1 + self._far((), 1.0, DType.FLOAT32))).astype(value.dtype, copy=False)

    def half_of(self, shape: Sequence[int]) -> Array:
        """A random choice among elements."""
        return self._random.random(shape) < 0.5

    def rounded(self, value: Array, dtype: DType) -> Array:
        """A value handed over in float64 to one that takes float32 only."""
        return self.result(value, dtype, 1.0) if self.coarse and self.rounded_type(dtype) is not dtype else value

    def _far(self, shape: Sequence[int], size: float, dtype: DType) -> Array:
        return self._random.uniform(-1.0, 1.0, shape) * (self._scale * size * UNITS[dtype])

    def _turned(self, value: Array, far: Array) -> Any:
        """The errors of complex numbers point anywhere."""
        if value.dtype.kind != "c":
            return far
        return far * np.exp(2j * math.pi * self._random.uniform(0.0, 1.0, value.shape))


def rounded_type(dtype: DType, coarse: bool) -> DType:
    """The type that numbers of a type are rounded to. `coarse`: float64 to float32."""
    return _COARSE.get(dtype, dtype) if coarse else dtype


@functools.cache
def smallest(dtype: DType) -> float:
    """The least normal number of a type: below it, numbers are as far apart as there."""
    return float(ml_dtypes.finfo(dtype.numpy).smallest_normal)


def growth(count: float) -> float:
    """How much larger the error of a sum of so many terms is than that of one addition."""
    return max(1.0, math.sqrt(count) / 4)


def is_inexact(value: Array, dtype: DType) -> Array:
    """Which elements a type doesn't hold: what it holds was rounded nowhere, an index or a one among zeros."""
    return nearest(value, dtype) != value


def is_another_product(quotient: Array, divisor: Array, dtype: DType) -> Array:
    """Which quotients the product with the divisor's reciprocal, which some runtimes compute, gives as other numbers
    of a type: 21 / 7 isn't 3. Halves are computed in float32."""
    inner = DType.FLOAT32 if dtype in HALVES else dtype
    with np.errstate(all="ignore"):
        product = nearest(quotient * divisor * nearest(1 / divisor, inner), inner)
        return np.isfinite(product) & (nearest(product, dtype) != nearest(quotient, dtype))


def nearest(value: Array, dtype: DType) -> Array:
    """The nearest numbers of a type, held as they were."""
    with np.errstate(all="ignore"):
        return value.astype(dtype.numpy).astype(value.dtype)
