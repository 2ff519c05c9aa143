"""Activations as compositions, on every target that is lowered to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model

from .cases import Target, check, model


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


def test_a_line_of_halves_is_computed_in_the_type_of_its_parameters(target: Target) -> None:
    """1/6 as a half leaves 1.2e-4 of the 0 that the line has at -3; ONNX Runtime has no such kernel of halves."""
    x = np.array([-3, -2.998, -2.9, -1, 0, 1.5, 2.998, 3, np.inf, -np.inf, np.nan], np.float16)
    sixth = np.float32(1 / 6)
    wanted = np.clip(x.astype(np.float32) * sixth + np.float32(0.5), 0, 1).astype(np.float16)
    made = model("HardSigmoid", x, 1, 6, domain="", open_sizes=target.open_sizes, alpha=float(sixth), beta=0.5)
    (found,) = target.run(raise_graph(read_model(made)), {"x0": x})
    assert found.dtype == np.float16
    np.testing.assert_allclose(found[:-1].astype(float), wanted[:-1].astype(float), rtol=2.0**-10, atol=2.0**-24)
    assert target.exact <= np.isnan(found[-1])  # OpenVINO's takes the bound for NaN
