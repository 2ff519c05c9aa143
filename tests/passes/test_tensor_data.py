"""Constants have the element type that they say."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (-128, DType.INT8, np.int8(-128)),
        (7, DType.INT4, 7),
        (2.0, DType.INT64, np.int64(2)),
        (1, DType.BOOL, np.bool_(True)),
        (0.1, DType.FLOAT16, np.float16(0.1)),
        (1e300, DType.FLOAT32, np.float32(np.inf)),
        (3, DType.COMPLEX64, np.complex64(3)),
        (2**64 - 1, DType.UINT64, np.uint64(2**64 - 1)),
    ],
)
def test_the_array_has_the_type(value: object, dtype: DType, wanted: object) -> None:
    data = TensorData.of(value, dtype)
    assert data.numpy().dtype == dtype.numpy
    assert data.numpy()[()] == wanted


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (128, DType.INT8),
        (8, DType.INT4),
        (1.5, DType.INT64),
        (2, DType.BOOL),
        (-1, DType.UINT64),
        (2**63, DType.INT64),
        (np.nan, DType.INT32),
        (1 + 2j, DType.INT32),
        ([1, 300], DType.UINT8),
    ],
)
def test_a_number_that_the_type_lacks_is_refused(value: object, dtype: DType) -> None:
    with pytest.raises(ValueError, match=f"has numbers that {dtype.value} doesn't"):
        TensorData.of(value, dtype)
