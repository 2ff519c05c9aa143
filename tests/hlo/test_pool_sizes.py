"""Pools whose last window would begin in the padding, which ONNX's inference before version 22 counts, and runtimes
don't: what the file declares, or inference found, is no hindrance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.runtime.oracles import run_file


@pytest.mark.parametrize("declared", ["n", "3"])
@pytest.mark.parametrize("pool", ["MaxPool", "AveragePool"])
def test_a_window_that_is_none(pool: str, declared: str, tmp_path: Path) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 13]> g (float[1, 1, 5] x) => (float[1, 1, {declared}] y) {{
        z = {pool} <kernel_shape = [1], strides = [3], ceil_mode = 1> (x) y = Neg (z) }}"""
    path, made, x = tmp_path / "m.onnx", tmp_path / "m.hlo", np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    onnx.save(onnx.parser.parse_model(text), path)
    (expected,) = onnxruntime.InferenceSession(path).run(None, {"x": x})
    assert expected.shape == (1, 1, 2)
    convert(path, made, verify=0)
    (outcome,) = run_file("xla", made, [{"x": x}])
    assert outcome.outputs is not None, outcome.error
    np.testing.assert_array_equal(outcome.outputs["y"], expected)


def test_what_is_declared_wins_elsewhere(tmp_path: Path) -> None:
    """Sizes beside a pool, and of one whose windows are all there, stay what they are declared to be."""
    text = """<ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 1, 5] x, float[n] s) => (float[1, 1, 3] y, float[7] t) {
        y = MaxPool <kernel_shape = [2], strides = [2], ceil_mode = 1> (x) t = Neg (s) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    hub = to_hub(load(tmp_path / "m.onnx"))
    assert [value.tensor.shape for value in hub.outputs] == [(1, 1, 3), (7,)]
