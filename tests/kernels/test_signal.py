"""Windows at their edges, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from backedge.runtime.kernels.base import ExecutionError
from onnx import parser

from kernels.one import run_op


@pytest.mark.parametrize("operator", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_smallest_windows(operator: str, periodic: int) -> None:
    """One that isn't periodic, of one element, is NaN: 0 / 0."""
    text = f"g (int64 n) => (float[N] y) {{ y = {operator} <periodic = {periodic}> (n) }}"
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{text}')
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for size in range(4):
        n = np.array(size, np.int64)
        wanted = np.asarray(session.run(None, {"n": n})[0])
        found = run_op(operator, n, periodic=periodic)
        assert found.dtype == np.float32 and found.shape == wanted.shape == (size,)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-7)


def test_frames_longer_than_the_signal() -> None:
    """ONNX Runtime and onnx's reference refuse them."""
    x = np.ones((1, 4, 1), np.float32)
    assert run_op("STFT", x, np.array(3), None, np.array(4)).shape == (1, 1, 3, 2)
    with pytest.raises(ExecutionError, match="frames of 6 for a signal of 4"):
        run_op("STFT", x, np.array(3), None, np.array(6))
