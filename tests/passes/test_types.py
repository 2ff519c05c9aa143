"""Element types: the least and the largest number of each, as ml_dtypes has them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.types import DType

INTEGERS = [dtype for dtype in DType if dtype.is_integer and dtype.numpy != np.uint8]
FLOATS = [dtype for dtype in DType if dtype.is_float and dtype.numpy.kind in "fV" and dtype.numpy != np.uint8]
INFINITE = ("float16", "bfloat16", "float32", "float64", "float8e5m2", "float8e4m3", "float8e3m4")


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.value)
def test_limits_of_integers(dtype: DType) -> None:
    info = ml_dtypes.iinfo(dtype.numpy)
    assert dtype.limits == dtype.finite_limits == dtype.integer_limits == (info.min, info.max)


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.value)
def test_limits_of_floats(dtype: DType) -> None:
    info = ml_dtypes.finfo(dtype.numpy)
    assert dtype.finite_limits == (float(info.min), float(info.max))
    assert dtype.limits == ((-np.inf, np.inf) if dtype.value in INFINITE else dtype.finite_limits)


def test_limits_of_others() -> None:
    assert DType.BOOL.limits == (0, 1)
    assert DType.UINT8.limits == (0, 255)
    assert DType.UINT3.limits == (0, 7)  # of which NumPy holds codes
