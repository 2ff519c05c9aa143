"""The command on HLO files: run, verify, convert and formats; names and suffixes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from backedge.convert import load
from backedge.convert.cli import main
from backedge.runtime import run as run_graph

needs_xla = pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib isn't installed")

COUNTED = """HloModule counted
go { p = (s32[], f32[2], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  n = s32[] get-tuple-element(p), index=2 ROOT r = pred[] compare(i, n), direction=LT }
step { p = (s32[], f32[2], s32[]) parameter(0) i = s32[] get-tuple-element(p), index=0
  x = f32[2] get-tuple-element(p), index=1 n = s32[] get-tuple-element(p), index=2 one = s32[] constant(1)
  j = s32[] add(i, one) y = f32[2] add(x, x) ROOT t = (s32[], f32[2], s32[]) tuple(j, y, n) }
ENTRY main { x.7 = f32[2] parameter(0) n.8 = s32[] parameter(1) z = s32[] constant(START)
  t = (s32[], f32[2], s32[]) tuple(z, x.7, n.8) w = (s32[], f32[2], s32[]) while(t), condition=go, body=step
  i = s32[] get-tuple-element(w), index=0 y = f32[2] get-tuple-element(w), index=1
  ROOT r = (s32[], f32[2]) tuple(i, y) }
"""


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return int(caught.value.code or 0), captured.out, captured.err


def counted(path: Path, start: int = 0) -> Path:
    path.write_text(COUNTED.replace("START", str(start)))
    return path


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (0, 0), (0, -3), (5, 3), (-2, 1), (5, -(2**31))])
def test_a_counter_ends_where_the_loop_does(start: int, stop: int, tmp_path: Path) -> None:
    """Also where its limit lies behind it from the start."""
    graph = load(counted(tmp_path / "m.hlo", start))
    found = run_graph(graph, {"x": np.array([1, -3], np.float32), "n": np.int32(stop)})
    passes = max(stop - start, 0)
    assert found["output_0"] == start + passes
    assert found["output_1"].tolist() == [2.0**passes, -3 * 2.0**passes]


@needs_xla
@pytest.mark.parametrize("name", ["m.hlo", "m.hlo.txt"])
def test_run_on_xla(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = counted(tmp_path / name)
    np.savez(tmp_path / "in.npz", n=np.int32(3), x=np.array([1, -2], np.float32))
    code, _, _ = command(
        capsys, "run", source, "--inputs", tmp_path / "in.npz", "--on", "xla", "--output", tmp_path / "out.npz"
    )
    assert code == 0
    with np.load(tmp_path / "out.npz") as found:
        assert found["output_0"] == 3 and found["output_1"].tolist() == [8, -16]


@needs_xla
def test_verify_across_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = counted(tmp_path / "a.hlo")
    assert command(capsys, "convert", source, tmp_path / "b.onnx", "--verify", 4)[0] == 0
    code, out, _ = command(capsys, "verify", tmp_path / "b.onnx", source, "--trials", 4)
    assert code == 0 and "equal" in out and "xla" in out and "onnxruntime" in out
    other = tmp_path / "other.hlo"
    other.write_text(COUNTED.replace("START", "0").replace("add(x, x)", "multiply(x, x)"))
    code, out, _ = command(capsys, "verify", tmp_path / "b.onnx", other, "--trials", 8)
    assert code == 1 and "different" in out


def test_formats_lists_both(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "formats")
    assert code == 0 and ".hlo.txt" in out and "stablehlo" in out and ".mlir" in out


def test_an_opset_means_nothing_to_hlo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = command(capsys, "convert", counted(tmp_path / "a.hlo"), tmp_path / "b.hlo", "--opset", 21)
    assert code == 2 and "opset" in err and not (tmp_path / "b.hlo").exists()
