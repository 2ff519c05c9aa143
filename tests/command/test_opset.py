"""The command between opsets: what the report lists, the lowest opset, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from .test_command import SAMPLES, run, save

LAYER_NORM = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float[4] scale = {1.0, 2.0, 3.0, 4.0}, int64[1] axes = {1}>
{
    n = LayerNormalization <axis = -1> (x, scale)
    r = Relu (n)
    y = Mul (r, r)
}
"""


def test_the_report_lists_what_was_changed_and_its_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = save(tmp_path / "m.onnx", LAYER_NORM)
    arguments = ["--opset", 13, "--verify", 8, "--json", tmp_path / "r.json"]
    code, out, _ = run(capsys, "convert", source, tmp_path / "m13.onnx", *arguments)
    assert code == 0
    assert "LayerNormalization-17" in out and "decomposed" in out and "equal" in out
    report = json.loads((tmp_path / "r.json").read_text())
    [change] = report["changes"]
    made = onnx.load(tmp_path / "m13.onnx")
    assert made.opset_import[0].version == 13 and made.ir_version == 7
    assert (change["operator"], change["version"], change["how"], change["count"]) == (
        "LayerNormalization",
        17,
        "decomposed",
        1,
    )
    assert change["cost"] == change["nodes"] - 1 > 3
    assert len(made.graph.node) == 3 + change["cost"]
    onnx.checker.check_model(made, full_check=True)


def test_a_loop_to_where_no_tool_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for opset in (9, 11, 13):
        target = tmp_path / f"{opset}.onnx"
        code, out, _ = run(capsys, "convert", SAMPLES / "triangular_sum.onnx", target, "--opset", opset, "--verify", 4)
        assert code == 0 and "equal" in out
        model = onnx.load(target)
        onnx.checker.check_model(model, full_check=True)
        assert model.opset_import[0].version == opset
        assert "Loop" in [node.op_type for node in model.graph.node]


def test_the_lowest_opset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = '<ir_version: 9, opset_import: ["" : 20]> g '
    source = save(tmp_path / "m.onnx", header + "(float[2, 2] x) => (float[2, 2] y) { t = Tanh (x) y = MatMul (t, x) }")
    code, out, _ = run(capsys, "convert", source, tmp_path / "low.onnx", "--opset", "min", "--verify", 2)
    assert code == 0 and "opset 1," in out
    assert onnx.load(tmp_path / "low.onnx").opset_import[0].version == 1
    text = header + "(string[2] x) => (string[2, n] y, int64[2] z) { y, z = StringSplit (x) }"
    source = save(tmp_path / "s.onnx", text)
    code, _, _ = run(capsys, "convert", source, tmp_path / "s_low.onnx", "--opset", "min", "--verify", 2)
    assert code == 0 and onnx.load(tmp_path / "s_low.onnx").opset_import[0].version == 20


def test_min_is_for_onnx_and_what_can_not_be_said_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = save(tmp_path / "m.onnx", LAYER_NORM)
    code, _, err = run(capsys, "convert", source, tmp_path / "m.xml", "--opset", "min")
    assert code == 2 and len(err.splitlines()) == 1
    code, _, err = run(capsys, "convert", source, tmp_path / "m.onnx2", "--to", "onnx", "--opset", "low")
    assert code == 2 and "neither a number nor min" in err
    text = '<ir_version: 10, opset_import: ["" : 21]> g (int4[2] x) => (int4[2] y) { y = Identity (x) }'
    code, _, err = run(capsys, "convert", save(tmp_path / "i.onnx", text), tmp_path / "i13.onnx", "--opset", 13)
    assert code == 3 and "Identity" in err and len(err.splitlines()) == 1
    assert not (tmp_path / "i13.onnx").exists()
