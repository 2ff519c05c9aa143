"""Windows at their edges, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
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
