"""StableHLO of branches and bodies whose sizes fit for some inputs only: XLA doesn't load them with others, entered or
not, where ONNX Runtime runs what isn't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.runtime.oracles import run_file

X = np.ones((2, 3), np.float32)

IF = """(bool c, float[n, m] x) => (float y) <int64[2] s = {2, 2}, int64[2] t = {1, -1}> {
    y = If (c) <then_branch = a () => (float u) { u = ReduceSum <keepdims = 0> (x) },
    else_branch = b () => (float v) { %s v = ReduceSum <keepdims = 0> (g) }> }"""
LOOP = """(int64 c, float[n, m] x) => (float y) <float z = {0}, int64[2] s = {2, 2}, int64[2] t = {1, -1}> {
    y = Loop (c, , z) <body = b (int64 i, bool go, float v) => (bool on, float w) {
    on = Identity (go) %s r = ReduceSum <keepdims = 0> (g) w = Add (v, r) }> }"""

UNFIT = {
    "reshape": "g = Reshape (x, s)",
    "product": "g = MatMul (x, x)",
    "concatenate": "e = Transpose (x) g = Concat <axis = 0> (x, e)",
    "convolution": "e = Transpose (x) f = Constant <value = int64[1] {0}> () d = Unsqueeze (e, f) "
    "h = Constant <value = float[2, 1, 1] {1, 1}> () g = ConvTranspose (d, h)",
}
FIT = {
    "reshape": "g = Reshape (x, t)",
    "product": "e = Transpose (x) g = MatMul (x, e)",
    "concatenate": "g = Concat <axis = 0> (x, x)",
    "slice": "e = Constant <value_ints = [0]> () f = Constant <value_ints = [5]> () g = Slice (x, e, f)",
}


def model(text: str, body: str, folder: Path) -> Path:
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> g {text % body}'), path)
    return path


@pytest.mark.parametrize(("text", "never"), [(IF, np.array(True)), (LOOP, np.array(0))], ids=["branch", "body"])
@pytest.mark.parametrize("name", UNFIT)
def test_what_fits_for_some_sizes_only_is_told(name: str, text: str, never: Any, tmp_path: Path) -> None:
    path, made = model(text, UNFIT[name], tmp_path), tmp_path / "m.mlir"
    session, feeds = (
        onnxruntime.InferenceSession(path),
        [{"c": never, "x": x} for x in (X, np.ones((2, 2), np.float32))],
    )
    expected = [session.run(None, feed)[0] for feed in feeds]
    assert expected == ([6, 4] if never.dtype == bool else [0, 0])
    (note,) = [note for note in convert(path, made, verify=0).notes if "XLA loads the file only where" in note]
    assert "'g'" in note and note.endswith("whether that is run or not")
    refused, taken = run_file("xla", made, feeds)
    assert refused.outputs is None
    assert taken.outputs is not None and taken.outputs["y"] == expected[1]


@pytest.mark.parametrize(("text", "never"), [(IF, np.array(True)), (LOOP, np.array(0))], ids=["branch", "body"])
@pytest.mark.parametrize("name", FIT)
def test_what_fits_for_all_sizes_is_written(name: str, text: str, never: Any, tmp_path: Path) -> None:
    path, made = model(text, FIT[name], tmp_path), tmp_path / "m.mlir"
    assert not any("XLA loads" in note for note in convert(path, made, verify=0).notes)
    session = onnxruntime.InferenceSession(path)
    entered = np.array(False) if never.dtype == bool else np.array(2)
    feeds = [{"c": c, "x": x} for c in (never, entered) for x in (X, np.ones((4, 1), np.float32))]
    for feed, outcome in zip(feeds, run_file("xla", made, feeds), strict=True):
        assert outcome.outputs is not None, outcome.error
        np.testing.assert_array_equal(outcome.outputs["y"], session.run(None, feed)[0])


def test_what_is_always_run_demands_its_sizes(tmp_path: Path) -> None:
    """No source runs with others."""
    path = model("(float[n, m] x) => (float[a, b] g) <int64[2] s = {2, 2}> { %s }", UNFIT["reshape"], tmp_path)
    convert(path, tmp_path / "m.mlir", verify=0)
    x = np.arange(4, dtype=np.float32).reshape(1, 4)
    (outcome,) = run_file("xla", tmp_path / "m.mlir", [{"x": x}])
    assert outcome.outputs is not None, outcome.error
    np.testing.assert_array_equal(outcome.outputs["g"], x.reshape(2, 2))
