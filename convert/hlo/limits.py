"""The ends of an element type, and what leaves its values unchanged."""

from __future__ import annotations

import math

import numpy as np

from ...passes.types import DType


def largest(dtype: DType) -> float:
    """The largest finite number of a float type."""
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype.numpy).max)


def limits(dtype: DType) -> tuple[int | float, int | float]:
    """The least and the largest number of a type; the infinities where it has them."""
    if dtype is DType.BOOL:
        return 0, 1
    if dtype.is_integer:
        return (-(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1) if dtype.is_signed else (0, (1 << dtype.bits) - 1)
    with np.errstate(all="ignore"):
        infinite = np.asarray(math.inf).astype(dtype.numpy)
    if np.isinf(infinite.astype(np.float64)):
        return -math.inf, math.inf
    import ml_dtypes

    found = ml_dtypes.finfo(dtype.numpy)
    return float(found.min), float(found.max)


def neutral(kind: str, dtype: DType) -> int | float:
    """What an associative opcode leaves every value of a type unchanged with."""
    if kind == "and" and dtype.is_integer and dtype.is_signed:
        return -1
    if kind in ("and", "minimum"):
        return limits(dtype)[1]
    return limits(dtype)[0] if kind == "maximum" else int(kind == "multiply")
