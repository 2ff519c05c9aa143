"""Activations as compositions, on every target that is lowered to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .cases import Target, check


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_a_shrunk_number_is_truncated_at_the_end(target: Target, dtype: Any) -> None:
    """0.75 is taken from integers as well: it isn't made 0 before."""
    x = np.array([0, 1, 2, 6, 100], dtype)
    check(target, "Shrink", x, domain="", version=9, bias=0.75, lambd=1.25)
