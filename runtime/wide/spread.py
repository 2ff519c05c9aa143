"""How far rounding carries each element of a value: the spread of noisy runs around the exact one.

    spread = sqrt((mean of (noisy - exact)^2 + median^2) / 2 + (u exact)^2)

The median is that of the tensor's own spreads that aren't 0: a few runs say little of a single element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...passes.types import DType
from ..kernels.base import Array
from .noise import UNITS, rounded_type, smallest


def flat(value: Any) -> list[Any]:
    """The tensors of a value, in order: of a sequence's items, of a map's entries by key."""
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in flat(item)]
    if isinstance(value, dict):
        return [leaf for key in sorted(value, key=str) for leaf in flat(value[key])]
    return [] if value is None else [np.asarray(value)]


def is_real(array: Array) -> bool:
    """Whether rounding has a size in it: floats that are computed in, and complex numbers."""
    return array.dtype.kind in "fc"


def alike(one: Sequence[Array], other: Sequence[Array]) -> bool:
    """Whether two values consist of tensors of the same shapes."""
    return len(one) == len(other) and all(a.shape == b.shape for a, b in zip(one, other, strict=True))


def scatter(exact: Array, runs: Sequence[Array]) -> Array:
    """How far noisy runs carry one tensor's elements, in the mean."""
    with np.errstate(all="ignore"):
        squares = np.mean([np.abs(run - exact) ** 2 for run in runs], axis=0) if runs else np.zeros(exact.shape)
        squares = np.where(np.isfinite(squares), squares, np.inf)
        moved = squares[(squares > 0) & np.isfinite(squares)]
        median = np.median(moved) if moved.size else 0.0
        return np.sqrt((squares + median) / 2)


def spread(exact: Array, runs: Sequence[Array], dtype: DType = DType.FLOAT32) -> Array:
    """The spread of one tensor's elements over its noisy runs; its type rounds them once more."""
    with np.errstate(all="ignore"):
        size = np.where(np.isfinite(exact), np.maximum(np.abs(exact), smallest(dtype)), 0.0)
        return np.sqrt(scatter(exact, runs) ** 2 + (UNITS[dtype] * size) ** 2)


def distance(exact: Array, other: Array, spreads: Array) -> Array:
    """How many spreads each element is away; infinite where one isn't finite and the other isn't the same."""
    with np.errstate(all="ignore"):
        apart = np.abs(other - exact)
        steps = np.where(apart == 0, 0.0, apart / spreads)
    same = (exact == other) | (np.isnan(exact) & np.isnan(other))
    return np.where(same, 0.0, np.where(np.isnan(steps), np.inf, steps))


def precision_of(dtype: DType | None, coarse: bool) -> DType:
    """The type that numbers are rounded to, float32 if what is declared isn't a float. `coarse`: see `rounded_type`."""
    kind = DType.FLOAT32 if dtype is None else rounded_type(dtype, coarse)
    return kind if kind in UNITS else DType.FLOAT32
