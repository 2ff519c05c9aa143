"""Attention where all scores of a query are -inf, and of float64, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.runtime.executor import Executor
from onnx import parser

MODEL = """
<ir_version: 10, opset_import: ["": {opset}]>
g ({kind}[1, 1, 2, 4] q, {kind}[1, 1, 2, 4] k, {kind}[1, 1, 2, 4] v, {kind}[2, 2] m) => ({kind}[1, 1, 2, 4] y)
{{ y = Attention (q, k, v, m) }}
"""


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize("kind", ["float", "float16"])
@pytest.mark.parametrize(("masked", "keys"), [([0], []), ([0, 1], []), ([], [0, 1]), ([1], [0, 1]), ([], [1])])
def test_rows_without_a_key_are_zeros_and_rows_of_minus_infinity_nan(
    opset: int, kind: str, masked: list[int], keys: list[int]
) -> None:
    """Zeros where the mask takes all keys of a query; NaN where the keys themselves lead to -inf."""
    dtype = np.float32 if kind == "float" else np.float16
    random = np.random.default_rng(11)
    feeds = {name: np.abs(random.standard_normal((1, 1, 2, 4))).astype(dtype) for name in "qkv"}
    feeds["m"] = np.zeros((2, 2), dtype)
    feeds["m"][masked] = -np.inf
    feeds["k"][:, :, keys, 3] = -np.inf
    model = parser.parse_model(MODEL.format(opset=opset, kind=kind))
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    assert np.isnan(expected).any() == (len(keys) == 2 and len(masked) < 2)
    assert (expected[0, 0, masked] == 0).all()
    found = Executor(raise_graph(read_model(model))).run(feeds)["y"]
    np.testing.assert_allclose(found, expected, rtol=2e-3 if kind == "float16" else 1e-5)


@pytest.mark.parametrize("width", [4, 5, 24])
@pytest.mark.parametrize("attributes", ["", "<scale=0.5>", "<scale=0.3>"])
def test_the_root_of_the_scale_is_a_float32(width: int, attributes: str) -> None:
    """Of float64, too."""
    of = f"double[1, 2, 3, {width}]"
    model = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 23]> g ({of} q, {of} k, {of} v) => ({of} y)'
        f"{{ y = Attention {attributes} (q, k, v) }}"
    )
    random = np.random.default_rng(width)
    feeds = {name: random.standard_normal((1, 2, 3, width)) for name in "qkv"}
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(Executor(raise_graph(read_model(model))).run(feeds)["y"], expected, rtol=0, atol=1e-14)
