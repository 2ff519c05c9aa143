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


@pytest.mark.parametrize("operator", ["ThresholdedRelu", "Shrink"])
def test_halves_are_compared_with_an_attribute_of_float32(target: Target, operator: str) -> None:
    """0.01 as a half is above 0.01 as a float32, 0.02 isn't; ONNX's own body of ThresholdedRelu takes them as equal."""
    x = np.array([0.01, -0.01, 0.02, 0.5, 0, np.nan, np.inf, -np.inf], np.float16)
    name = "alpha" if operator == "ThresholdedRelu" else "lambd"
    for limit in (0.01, 0.02):
        check(target, operator, x, domain="", version=10, **{name: limit})
