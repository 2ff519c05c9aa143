"""`verify` on files that differ: where they part in the report, `--repro`, `--inputs` of a folder, `--memory`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.cli import main

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
TEXT = """(int64 m, float[6] x, float[6] k) => (float[6] y) {{
    y = Loop (m, , x) <body = b (int64 i, bool c, float[6] a) => (bool c2, float[6] a2) {{
        c2 = Identity (c)  two = Constant <value_int = 2> ()  more = Less (i, two)  t = Mul (a, k)
        a2 = If (more) <then_branch = t () => (float[6] u) {{ u = Add (t, x) }},
                       else_branch = e () => (float[6] v) {{ s = Tanh (t)  v = Sub ({}) }}> }}> }}"""


@pytest.fixture(name="files")
def _files(tmp_path: Path) -> tuple[str, str]:
    for name, operands in (("a", "s, k"), ("b", "k, s")):
        onnx.save(onnx.parser.parse_model(HEAD + TEXT.format(operands)), tmp_path / f"{name}.onnx")
    folder = tmp_path / "inputs"
    folder.mkdir()
    for name, trips in (("1", 1), ("2", 2), ("3", 5), ("4", 4)):
        x = np.linspace(-1, 1, 6, dtype=np.float32)
        np.savez(folder / f"{name}.npz", m=np.int64(trips), x=x, k=x[::-1] + np.float32(0.1))
    return str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["verify", *arguments])
    return int(ended.value.code or 0)


def test_samples_of_a_folder(files: tuple[str, str], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert run(*files, "--inputs", str(tmp_path / "inputs"), "--json", str(report)) == 1
    found = json.loads(report.read_text())
    assert found["counts"]["trials"] == 4 and (found["counts"]["equal"], found["counts"]["different"]) == (2, 2)
    assert found["first"]["trial"] == 2 and "trial 2 is of 3.npz" in found["reasons"]
    assert found["location"]["b"]["path"] == "/y@2/a2/else/v" and found["location"]["certain"]


def test_repro(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "repro"
    assert run(*files, "--inputs", str(tmp_path / "inputs"), "--repro", str(folder)) == 1
    assert {one.name for one in folder.iterdir()} == {
        *("a.onnx", "b.onnx", "inputs.npz", "expected.npz", "actual.npz", "run.py", "README.md")
    }
    models = [onnx.load(folder / f"{name}.onnx") for name in "ab"]
    assert [[node.op_type for node in model.graph.node] for model in models] == [["Sub"], ["Sub"]]
    assert list(models[0].graph.node[0].input) == list(reversed(models[1].graph.node[0].input))
    inputs = np.load(folder / "inputs.npz")
    assert {inputs[name].shape for name in inputs.files} == {(1,)}
    one, other = inputs[models[0].graph.node[0].input[0]], inputs[models[0].graph.node[0].input[1]]
    assert np.load(folder / "expected.npz")["output"] == one - other
    assert np.load(folder / "actual.npz")["output"] == other - one
    assert "the difference survives in onnxruntime" in " ".join(capsys.readouterr().out.split())
    done = subprocess.run([sys.executable, "run.py"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 2
    assert run(*files, "--repro", str(folder)) == 2  # there is something already


def test_no_difference(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "repro"
    inputs = str(tmp_path / "inputs" / "1.npz")
    assert run(*files, "--inputs", inputs, "--repro", str(folder)) == 0
    assert not folder.exists() and "there is no difference to show" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--inputs", "nothing"),
        ("--inputs", "empty"),
        ("--memory", "many"),
        ("--memory", "1"),
        ("--repro", "no/such/folder"),
    ],
)
def test_bad_usage(
    arguments: tuple[str, str], files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    option, value = arguments
    assert run(*files, option, value if option == "--memory" else str(tmp_path / value)) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and said[0].startswith("backedge: ")


def test_element_types_that_numpy_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A .npz file has their bytes only, of which the model says what they are. ONNX Runtime doesn't add them."""
    text = "(bfloat16[2] x, bfloat16[2] k) => (bfloat16[2] y) {{ s = Add (x, k)  y = {} (s) }}"
    for name, op in (("a", "Neg"), ("b", "Abs")):
        onnx.save(onnx.parser.parse_model(HEAD + text.format(op)), tmp_path / f"{name}.onnx")
    files = str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")
    x = np.array([1.5, 3], ml_dtypes.bfloat16)
    np.savez(tmp_path / "inputs.npz", x=x, k=x)
    with pytest.raises(SystemExit):
        main(["run", files[0], "--inputs", str(tmp_path / "inputs.npz"), "--output", str(tmp_path / "y.npz")])
    assert np.load(tmp_path / "y.npz")["y"].view(ml_dtypes.bfloat16).tolist() == [-3, -6]
    folder = tmp_path / "repro"
    assert run(*files, "--inputs", str(tmp_path / "inputs.npz"), "--repro", str(folder)) == 1
    assert "expected.npz" not in {one.name for one in folder.iterdir()}
    readme = (folder / "README.md").read_text()
    assert "onnxruntime gave no result for a.onnx and b.onnx" in readme
    assert ".npz: what the runtimes gave" not in readme
    shown = subprocess.run([sys.executable, "run.py"], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert "a.onnx" in shown and "-3" in shown.splitlines()[0] and "-3" not in shown.splitlines()[1]
