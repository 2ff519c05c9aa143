"""Optimizers as compositions, against their formulas, on every target that is lowered to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model

from .cases import Target, model

RATE, X, G, V, H = (np.array(values, np.float32) for values in (0.1, [1.0, -2.0], [0.5, 3.0], [0.2, 0.1], [1.5, 0.3]))
DOMAIN = "ai.onnx.preview.training"


def stepped(target: Target, op_type: str, count: int, *states: np.ndarray, **attributes: Any) -> list[np.ndarray]:
    inputs = [RATE, np.array(count, np.int64), X, G, *states]
    outputs = 1 + len(states)
    made = model(op_type, inputs[0], outputs, 1, *inputs[1:], domain=DOMAIN, open_sizes=target.open_sizes, **attributes)
    feeds = {f"x{index}": array for index, array in enumerate(inputs)}
    return target.run(raise_graph(read_model(made)), feeds)


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_adam(target: Target, count: int) -> None:
    """The corrections of the first steps are small differences: 1 - 0.999."""
    v, h = 0.9 * V + 0.1 * G, 0.999 * H + 0.001 * G * G
    rate = 0.1 * np.sqrt(1 - 0.999**count) / (1 - 0.9**count) if count else 0.1
    found = stepped(target, "Adam", count, V, H, alpha=0.9, beta=0.999, epsilon=1e-6)
    rtol = 1e-4 if target.open_sizes and count == 1 else 1e-6  # OpenVINO has no doubles
    for one, wanted in zip(found, (X - rate * v / (np.sqrt(h) + 1e-6), v, h), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=rtol)


@pytest.mark.parametrize("count", [0, 7])
def test_adagrad(target: Target, count: int) -> None:
    regular = 0.01 * X + G
    h = H + regular * regular
    wanted = X - 0.1 / (1 + count * 0.1) * regular / (np.sqrt(h) + 1e-5)
    found = stepped(target, "Adagrad", count, H, decay_factor=0.1, epsilon=1e-5, norm_coefficient=0.01)
    np.testing.assert_allclose(found, [wanted, h], rtol=1e-6)


@pytest.mark.parametrize("mode", ["standard", "nesterov"])
@pytest.mark.parametrize("count", [0, 3])
def test_momentum(target: Target, mode: str, count: int) -> None:
    """The first gradient has its full weight."""
    v = 0.95 * V + (0.1 if count else 1.0) * G
    wanted = X - 0.1 * (G + 0.95 * v if mode == "nesterov" else v)
    found = stepped(target, "Momentum", count, V, alpha=0.95, beta=0.1, norm_coefficient=0.0, mode=mode)
    np.testing.assert_allclose(found, [wanted, v], rtol=1e-6)
