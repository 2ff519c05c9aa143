"""Gemm with beta = 0, which doesn't add C at all, be it NaN, as in ONNX Runtime and onnx's reference: in each target's
runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.oracles import run_file
from onnx.reference import ReferenceEvaluator

TEXT = """<ir_version: 8, opset_import: ["" : 13]>
g (float[2, 2] a, float[2, 2] c) => (float[2, 2] y, float[2, 2] z) {
    y = Gemm <beta = 0.0, alpha = 0.5, transB = 1> (a, a, c)
    z = Gemm <beta = 0.0> (a, a, c)
}"""
FEEDS = {"a": np.float32([[1, 2], [3, 4]]), "c": np.float32([[np.nan, np.inf], [-np.inf, 5]])}
TARGETS = {"m.xml": "openvino", "m.hlo": "xla", "m.mlir": "xla", "m.json": "mdf", "m.onnx": "onnxruntime"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gemm") / "source.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return path


def _expected(source: Path) -> list[np.ndarray]:
    found = onnxruntime.InferenceSession(source).run(None, FEEDS)
    for one, other in zip(found, ReferenceEvaluator(onnx.load(source)).run(None, FEEDS), strict=True):
        np.testing.assert_array_equal(one, other)
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_added_0_times(target: str, source: Path, tmp_path: Path) -> None:
    more = {"opset": 9} if target == "m.onnx" else {"mdf_style": "stateful"} if target == "m.json" else {}
    convert(source, tmp_path / target, verify=0, **more)
    (outcome,) = run_file(TARGETS[target], tmp_path / target, [FEEDS])
    assert outcome.outputs is not None, outcome.error
    for found, expected in zip(outcome.outputs.values(), _expected(source), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_in_the_executor(source: Path) -> None:
    made = Executor(to_hub(load(source)), never_compile).run(FEEDS)
    for found, expected in zip(made.values(), _expected(source), strict=True):
        np.testing.assert_array_equal(found, expected)
