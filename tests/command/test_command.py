"""The command: exit codes, one line for each error, nothing written when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert.cli import main
from onnx.parser import parse_model

SAMPLES = Path(__file__).parents[2] / "samples"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(caught.value.code or 0), captured.out, captured.err


def save(path: Path, text: str) -> Path:
    onnx.save(parse_model(text), path)
    return path


def power(path: Path, step: str) -> Path:
    return save(
        path,
        f"""
        <ir_version: 8, opset_import: ["" : 16]>
        g (int64 m, float[2] x) => (float[2] y, float[T, 2] all) <float[2] k = {{1.0, 2.0}}>
        {{
            y, all = Loop (m, , x) <body = b (int64 i, bool c, float[2] v) => (bool co, float[2] vo, float[2] s) {{
                co = Identity(c)  vo = {step} (v, k)  s = Identity(vo)
            }}>
        }}
        """,
    )


def test_convert_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = power(tmp_path / "m.onnx", "Add")
    code, out, _ = run(capsys, "convert", source, tmp_path / "m.xml", "--verify", 8, "--json", tmp_path / "report.json")
    assert code == 0 and "proved" in out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["verdict"] == "proved" and report["written"]
    runnables = {run["runnable"] for trial in report["verification"]["trials"] for run in (*trial["a"], *trial["b"])}
    assert runnables == {"executor", "onnxruntime", "openvino"}
    code, out, _ = run(capsys, "convert", tmp_path / "m.xml", tmp_path / "back.onnx", "--verify", 8)
    assert code == 0
    back = onnx.load(tmp_path / "back.onnx")
    assert back.opset_import[0].version == 21 and [node.op_type for node in back.graph.node].count("Loop") == 1
    code, out, _ = run(capsys, "verify", source, tmp_path / "back.onnx", "--trials", 8)
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.onnx", "m.bin", "m.onnx", "m.xml", "report.json"]


def test_different_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = power(tmp_path / "a.onnx", "Add"), power(tmp_path / "b.onnx", "Mul")
    code, out, _ = run(capsys, "verify", a, b, "--trials", 8, "--json", "-", "--html", tmp_path / "r.html")
    assert code == 1
    report = json.loads(out)
    assert report["verdict"] == "different"
    assert report["first"]["difference"]["output"] in ("y", "all")
    assert "<svg" in (tmp_path / "r.html").read_text()


def test_run_with_given_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = power(tmp_path / "m.onnx", "Add")
    np.savez(tmp_path / "in.npz", m=np.int64(3), x=np.array([10.0, 20.0], np.float32))
    expected = np.array([[11, 22], [12, 24], [13, 26]], np.float32)
    for on in ("executor", "onnxruntime"):
        code, _, _ = run(
            capsys, "run", source, "--inputs", tmp_path / "in.npz", "--on", on, "--output", tmp_path / "o.npz"
        )
        assert code == 0
        with np.load(tmp_path / "o.npz") as found:
            np.testing.assert_array_equal(found["all"], expected, strict=True)
            np.testing.assert_array_equal(found["y"], expected[-1], strict=True)


def test_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", power(tmp_path / "m.onnx", "Add"), "--hub")
    assert code == 0
    assert "carried  v: float32[2] = x <- vo" in out
    assert "stacked  all[axis=0] <- vo" in out  # the identity in between is gone


def test_formats(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "formats")
    assert code == 0 and "onnxruntime" in out and ".xml" in out


def test_what_the_target_cannot_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = save(
        tmp_path / "m.onnx",
        """
        <ir_version: 8, opset_import: ["" : 16, "acme" : 1]>
        g (float[2] x) => (float[2] y) { y = acme.Frobnicate (x) }
        """,
    )
    code, out, err = run(capsys, "convert", source, tmp_path / "m.xml")
    assert code == 3 and not out
    reason, hint = err.splitlines()
    assert "Frobnicate" in reason and "--pass" in hint
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "missing.onnx", "out.xml"],
        ["convert", "broken.onnx", "out.xml"],
        ["convert", "hostile.xml", "out.onnx"],
        ["convert", "m.onnx", "nowhere/out.xml"],
        ["convert", "m.onnx", "out.unknown"],
        ["convert", "m.onnx", "out.onnx", "--opset", "99"],
        ["convert", "m.onnx", "out.onnx", "--opset", "0"],
        ["convert", "m.onnx", "out.xml", "--shape", "x=a,b"],
        ["convert", "m.onnx", "out.xml", "--shape", "nobody=1"],
        ["convert", "m.onnx", "out.xml", "--shape", "x=3"],
        ["convert", "m.onnx"],
        ["verify", "m.onnx", "missing.xml"],
        ["verify", "m.onnx", "m.onnx", "--trials", "0"],
        ["verify", "m.onnx", "m.onnx", "--inputs", "broken.onnx"],
        ["run", "m.onnx", "--on", "abacus"],
        ["run", "m.onnx", "--inputs", "missing.npz"],
        ["show", "broken.onnx"],
        ["frobnicate"],
    ],
    ids=" ".join,
)
def test_bad_usage_and_bad_files(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    power(tmp_path / "m.onnx", "Add")
    (tmp_path / "broken.onnx").write_bytes((tmp_path / "m.onnx").read_bytes()[:50])
    entities = '<?xml version="1.0"?><!DOCTYPE net [<!ENTITY a "b">]><net version="11">&a;</net>'
    (tmp_path / "hostile.xml").write_text(entities)
    before = sorted(path.name for path in tmp_path.iterdir())
    code, out, err = run(capsys, *arguments)
    assert code == 2 and not out
    assert len(err.splitlines()) == 1 and "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["newton_sqrt", "triangular_sum", "bouncing_ball", "rnn_scan_both", "lcg"])
def test_sample_to_openvino(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "convert", SAMPLES / f"{name}.onnx", tmp_path / f"{name}.xml", "--verify", 6)
    assert (code, err) == (0, "")
    assert "equal" in out and (tmp_path / f"{name}.bin").exists()


def test_sample_from_openvino(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "lstm.onnx"
    code, out, err = run(capsys, "convert", SAMPLES / "lstm_tensor_iterator.xml", target, "--verify", 6)
    assert (code, err) == (0, "")
    assert "equal" in out
    assert "Scan" in {node.op_type for node in onnx.load(target).graph.node}


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two loops, what earlier versions left, and a file that isn't the cache's."""
    monkeypatch.setenv("BACKEDGE_CACHE", str(tmp_path))
    (tmp_path / "__pycache__").mkdir()
    sizes = {f"loop_{'a1' * 16}.code": 10, f"loop_{'b2' * 16}.code": 7}
    earlier = {f"loop_{'c3' * 16}.py": 64, f"__pycache__/loop_{'c3' * 16}.loop-5.py311.nbi": 20}
    for name, size in {**sizes, **earlier, "notes.py": 5}.items():
        (tmp_path / name).write_bytes(b" " * size)
    assert run(capsys, "cache", "where") == (0, f"{tmp_path}\n", "")
    assert run(capsys, "cache", "size") == (0, f"{sum(sizes.values())}\n", "")
    code, out, _ = run(capsys, "cache")
    assert code == 0 and "2 compiled loops" in out.replace("\n", " ")
    assert run(capsys, "cache", "clear")[:2] == (0, "removed 2 compiled loops, 0.0 MB\n")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["notes.py"]
    monkeypatch.setenv("BACKEDGE_CACHE", "")
    assert run(capsys, "cache", "where") == (0, "\n", "")
    assert run(capsys, "cache", "clear")[:2] == (0, "removed 0 compiled loops, 0.0 MB\n")
    code, _, err = run(capsys, "cache", "purge")
    assert code == 2 and "where" in err
