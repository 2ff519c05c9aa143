"""Slices backwards from before the first element: ONNX Runtime, OpenVINO and ONNX's text begin at the first one, where
NumPy, and onnx's reference with it, take nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert, load, to_hub
from backedge.runtime.executor import Executor
from backedge.runtime.oracles import run_file

X = np.arange(1, 4, dtype=np.float32)
BOUNDS = [(-4, -9, -1), (-7, -9, -2), (-9, -(2**62), -1), (-4, 0, -1), (-3, -9, -1), (2, -4, -2), (-9, 9, 1)]


def saved(folder: Path, text: str) -> Path:
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    return path


def onnxruntime_gives(path: Path, feeds: dict[str, Any]) -> Any:
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


def with_known_bounds(folder: Path, size: str, start: int, end: int, step: int) -> Path:
    bounds = f"int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{0}}, int64[1] t = {{{step}}}"
    return saved(folder, f"g (float[{size}] x) => (float[m] y) <{bounds}> {{ y = Slice (x, s, e, a, t) }}")


@pytest.mark.parametrize(("start", "end", "step"), BOUNDS)
@pytest.mark.parametrize("size", ["3", "n"])
def test_bounds_that_are_known(tmp_path: Path, start: int, end: int, step: int, size: str) -> None:
    path = with_known_bounds(tmp_path, size, start, end, step)
    wanted = onnxruntime_gives(path, {"x": X})
    assert np.asarray(Executor(to_hub(load(path))).run({"x": X})["y"]).tolist() == wanted.tolist()
    convert(path, tmp_path / "m9.onnx", opset=9, verify=0)
    assert onnxruntime_gives(tmp_path / "m9.onnx", {"x": X}).tolist() == wanted.tolist()
    convert(path, tmp_path / "m.xml", verify=0)
    [found] = run_file("openvino", tmp_path / "m.xml", [{"x": X}])
    assert found.outputs is not None and np.asarray(found.outputs["y"]).tolist() == wanted.tolist()


@pytest.mark.parametrize(("start", "end", "step"), BOUNDS)
def test_bounds_that_are_known_to_xla(tmp_path: Path, start: int, end: int, step: int) -> None:
    pytest.importorskip("jaxlib")
    path = with_known_bounds(tmp_path, "3", start, end, step)
    convert(path, tmp_path / "m.hlo", verify=0)
    [found] = run_file("xla", tmp_path / "m.hlo", [{"x": X}])
    assert found.outputs is not None
    (made,) = found.outputs.values()
    assert np.asarray(made).tolist() == onnxruntime_gives(path, {"x": X}).tolist()


@pytest.mark.parametrize(("start", "end", "step"), BOUNDS)
def test_bounds_that_a_compiled_loop_is_given(tmp_path: Path, start: int, end: int, step: int) -> None:
    text = f"""g (float[3] x, int64 m, int64[1] s, int64[1] e) => (float y) {{
        a = Constant <value_ints = [0]> () t = Constant <value_ints = [{step}]> () z = Constant <value_float = 0.0> ()
        c = Constant <value: tensor = bool {{1}}> ()
        y = Loop (m, c, z) <body = b (int64 i, bool k, float v) => (bool k2, float w) {{
            k2 = Identity (k) p = Slice (x, s, e, a, t) q = ReduceSum <keepdims = 0> (p) w = Add (v, q) }}> }}"""
    path = saved(tmp_path, text)
    feeds = {"x": X, "m": np.array(3), "s": np.array([start]), "e": np.array([end])}
    found = Executor(to_hub(load(path))).run(feeds)["y"]
    assert np.asarray(found).tolist() == onnxruntime_gives(path, feeds).tolist()
