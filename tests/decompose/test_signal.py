"""Windows of signals by cosines, with NumPy as the judge."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.passes.decompose.library import decomposition
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import DType, TensorType
from backedge.runtime.executor import Executor, never_compile

WEIGHTS = {"BlackmanWindow": (0.42, -0.5, 0.08), "HammingWindow": (25 / 46, -21 / 46), "HannWindow": (0.5, -0.5)}


def made(name: str, size: np.ndarray, periodic: int, kind: int) -> np.ndarray:
    """What the decomposition of a window gives."""
    graph = Graph("hub", "g")
    op = Builder(Rewriter(HUB, {}), graph)
    given = op.input("n", TensorType(DType.of(size.dtype), ()))
    found = decomposition(op.call(name, given, periodic=periodic, output_datatype=kind).producer, [])
    assert found is not None
    assert name not in {node.op_type for _, node in found.walk()}
    return next(iter(Executor(found, never_compile).run({found.inputs[0].name: size}).values()))


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize(("kind", "dtype", "near"), [(1, np.float32, 1e-6), (11, np.float64, 1e-15)])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(name: str, kind: int, dtype: type, near: float, periodic: int) -> None:
    """The weights are those of float32, as ONNX's functions have them; one element that isn't periodic is 0 / 0."""
    for size in (0, 1, 2, 9):
        found = made(name, np.array(size, np.int32), periodic, kind)
        with np.errstate(invalid="ignore"):
            angle = 2 * np.pi * np.arange(size) / (size - 1 + periodic)
        wanted = sum(float(np.float32(weight)) * np.cos(k * angle) for k, weight in enumerate(WEIGHTS[name]))
        assert found.dtype == dtype
        assert found.shape == (size,)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=near)


def test_a_window_of_more_elements_than_float32_counts() -> None:
    size = 2**24 + 1
    assert made("HannWindow", np.array(size), 1, 10).shape == (size,)
