"""Hardmax in steps."""

from __future__ import annotations

import numpy as np
import onnx
from backedge.convert import convert
from onnx.reference import ReferenceEvaluator


def test_of_nothing(tmp_path) -> None:
    """There is no largest element, nor a result's element that asks for it."""
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2,0] x) => (float[2,0] y) { y = Hardmax<axis=1>(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "m.json", verify=0, mdf_style="stateful")
    convert(tmp_path / "m.json", tmp_path / "back.onnx", verify=0)
    (found,) = ReferenceEvaluator(str(tmp_path / "back.onnx")).run(None, {"x": np.zeros((2, 0), np.float32)})
    assert found.shape == (2, 0) and found.dtype == np.float32
