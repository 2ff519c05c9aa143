"""`backedge convert --only-ops`: what is written, what is told, and what is refused with every node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.passes.errors import InvalidModel, NotLegal
from onnx.parser import parse_model

SAMPLES = Path(__file__).parents[2] / "samples"
COMMAND = [sys.executable, "-m", "backedge.convert.cli", "convert"]


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=300)


def operators(path: Path) -> set[str]:
    """Of all graphs of a file, its functions too."""

    def walk(nodes: Any) -> set[str]:
        found: set[str] = set()
        for node in nodes:
            found.add(node.op_type)
            for attribute in node.attribute:
                found |= walk(attribute.g.node)
        return found

    model = onnx.load(path)
    return walk(model.graph.node).union(*(walk(function.node) for function in model.functions))


@pytest.mark.full
def test_a_sample_of_core_operators_is_verified(tmp_path: Path) -> None:
    target = tmp_path / "g.onnx"
    report = convert(SAMPLES / "gru_decoder.onnx", target, only_ops="core")
    assert report.verdict == "equal"
    assert {"Sigmoid", "Split"} <= operators(SAMPLES / "gru_decoder.onnx")
    assert not {"Sigmoid", "Split"} & operators(target)
    assert {(change.operator, change.how) for change in report.changes} >= {("Sigmoid", "decomposed")}


def test_every_node_that_cannot_be_is_told(tmp_path: Path) -> None:
    file, report = tmp_path / "few.ops", tmp_path / "r.json"
    file.write_text("Add\nMatMul\n")
    ended = command(SAMPLES / "gru_decoder.onnx", tmp_path / "g.onnx", "--only-ops", file, "--json", report)
    assert ended.returncode == 3
    first, *lines = ended.stderr.splitlines()
    lines = [line for line in lines if not line.startswith("hint: ")]
    found = json.loads(report.read_text())["error"]
    assert found["kind"] == "unsupported" and len(found["refusals"]) == len(lines) > 3
    assert first == f"backedge: {len(lines)} nodes can't be written with the operators of the list"
    assert any("Tanh" in line and "few doesn't list Tanh" in line for line in lines)
    assert not (tmp_path / "g.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only-ops", "tensorrt9"], "tensorrt9: No such file or directory; there are the profiles core, opencv"),
        (["--only-ops", "rknn", "--opset", "9"], "rknn reads the opsets 12 to 19, not 9"),
        (["--only-ops", "rknn", "--opset", "min"], "--only-ops takes no opset min"),
        (["--only-ops", "rknn", "--to", "hlo"], "--only-ops is for ONNX, not for hlo"),
    ],
)
def test_bad_usage(arguments: list[str], said: str, tmp_path: Path) -> None:
    ended = command(SAMPLES / "gru_decoder.onnx", tmp_path / "g.onnx", *arguments)
    assert ended.returncode == 2
    assert said in ended.stderr and len(ended.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_the_opset_is_the_nearest_that_the_list_reads(tmp_path: Path) -> None:
    """lcg has opset 13, newton_sqrt 21."""
    for name, opset in (("lcg", 13), ("newton_sqrt", 17)):
        report = convert(SAMPLES / f"{name}.onnx", tmp_path / "m.onnx", only_ops="tensorrt8", verify=0)
        assert report.opset == opset


def test_from_openvino(tmp_path: Path) -> None:
    convert(SAMPLES / "gru_decoder.onnx", tmp_path / "g.xml", verify=0)
    report = convert(tmp_path / "g.xml", tmp_path / "g.onnx", only_ops="core")
    assert report.verdict == "equal"
    assert "Sigmoid" not in operators(tmp_path / "g.onnx")


NESTED = """
<ir_version: 8, opset_import: ["": 17, "my": 1]>
g (float[N, 4] x, bool c) => (float[N, 4] y)
<float[4] weight = {1, 2, 3, 4}, int64[1] axis = {1}>
{
  y = If (c) <
    then_branch = t () => (float[N, 4] a) {
      inner = If (c) <
        then_branch = tt () => (float[N, 4] b) { s = ReduceSum <keepdims = 1> (x, axis)  r = my.twice (x)
                                                 d = Sub (r, s)  b = Mul (d, weight) },
        else_branch = te () => (float[N, 4] e) { e = Identity (x) }
      >
      a = Abs (inner)
    },
    else_branch = f () => (float[N, 4] o) { o = Neg (x) }
  >
}
<domain: "my", opset_import: ["": 17]>
twice (v) => (w) { w = Sum (v, v) }
"""


def test_regions_captures_and_functions(tmp_path: Path) -> None:
    """Constants captured through two levels count as constants; a model's own functions are written in their place."""
    model = parse_model(NESTED)
    onnx.save(model, tmp_path / "a.onnx")
    listed = ["If", "Add", "Mul", "Max", "ReduceSum constant=1", "Identity"]
    report = convert(tmp_path / "a.onnx", tmp_path / "b.onnx", only_ops=listed)
    assert report.verdict == "equal"
    assert operators(tmp_path / "b.onnx") <= {"If", "Add", "Mul", "Max", "ReduceSum", "Identity", "Constant"}
    assert any("my.twice is inlined: the list has none" in note for note in report.notes)
    x = np.array([[1, -2, 3, -4], [0.5, 0, -0.5, np.inf]], np.float32)
    runs = []
    for name in ("a.onnx", "b.onnx"):
        session = onnxruntime.InferenceSession(tmp_path / name)
        runs.append([session.run(None, {"x": x, "c": np.array(c)})[0] for c in (True, False)])
    np.testing.assert_array_equal(runs[0], runs[1])


def test_refusals_in_regions_are_all_told(tmp_path: Path) -> None:
    onnx.save(parse_model(NESTED), tmp_path / "a.onnx")
    with pytest.raises(NotLegal) as refusal:
        convert(tmp_path / "a.onnx", tmp_path / "b.onnx", only_ops=["If", "Mul", "Identity"], verify=0)
    refused = {getattr(one.node, "op_type", "") for one in refusal.value.refusals}
    assert refused == {"ReduceSum", "Sub", "Abs", "Sum"}
    assert "4 nodes" in str(refusal.value)


def test_a_body_returns_its_input_by_an_identity_alone(tmp_path: Path) -> None:
    """Without one ONNX Runtime gives other memory."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[3] x) => (float[3] y) {
        y = Scan <num_scan_inputs = 1, body = b (float e) => (float o) { o = Identity (e) }> (x) }"""
    onnx.save(parse_model(text), tmp_path / "a.onnx")
    with pytest.raises(NotLegal, match="Identity"):
        convert(tmp_path / "a.onnx", tmp_path / "b.onnx", only_ops=["Scan"], verify=0)
    convert(tmp_path / "a.onnx", tmp_path / "b.onnx", only_ops=["Scan", "Identity"], verify=0)
    (y,) = onnxruntime.InferenceSession(tmp_path / "b.onnx").run(None, {"x": np.float32([5, 6, 7])})
    assert y.tolist() == [5, 6, 7]


def test_a_note_is_told_once(tmp_path: Path) -> None:
    report = convert(SAMPLES / "rnn_scan_forward.onnx", tmp_path / "b.onnx", only_ops="core", unroll=64, verify=0)
    assert len([note for note in report.notes if "isn't unrolled" in note]) == 1


def test_a_list_that_says_nothing_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidModel, match="it lists no operator"):
        convert(SAMPLES / "lcg.onnx", tmp_path / "b.onnx", only_ops=[])
    assert not list(tmp_path.iterdir())
