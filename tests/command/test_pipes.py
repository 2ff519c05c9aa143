"""Standard input and output, inputs that are settled, and what doesn't overwrite its own source."""

from __future__ import annotations

import json
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import backedge
import numpy as np
import onnx
import onnxruntime
import pytest

from .starting import Start
from .test_command import run, save

SAMPLES = Path(__file__).parents[2] / "samples"
LCG = SAMPLES / "lcg.onnx"
OPEN = """<ir_version: 8, opset_import: ["" : 16]>
g (float[n, 3] x, int64 m, bool[2] flags, float[k] z) => (float[n, 3] y, float[k] z2, bool[2] f) {
    y = Loop (m, , x) <body = b (int64 i, bool c, float[n, 3] v) => (bool co, float[n, 3] vo) {
        co = Identity (c)  vo = Add (v, x) }>
    z2 = Neg (z)  f = Not (flags) }"""


def test_from_standard_input_to_standard_output(start: Start, tmp_path: Path) -> None:
    """The model alone goes to standard output, what people read to standard error."""
    done = start(tmp_path, "convert", "-", "-", "--to", "onnx@13", given=LCG.read_bytes())
    assert done.code == 0, done.err
    model = onnx.load_from_string(done.out)
    assert model.opset_import[0].version == 13
    feed = {one.name: np.array(3, np.int64) for one in model.graph.input}
    for a, b in zip(
        onnxruntime.InferenceSession(done.out).run(None, feed), backedge.run(LCG, feed).values(), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert done.err.startswith(b"<stdin> (onnx, 6 nodes) -> <stdout> (onnx opset 13, 6 nodes)\nproved   A <stdin>")
    assert start(tmp_path, "verify", LCG, "-", given=done.out).code == 0


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        (("convert", "-", "-"), LCG.read_bytes(), "for standard output --to says the format"),
        (("convert", LCG, "-", "--to", "onnx", "--json", "-"), b"", "can't both go to standard output"),
        (("convert", LCG, "-", "--to", "openvino"), b"", "such a model is of several files, model.xml, model.bin"),
        (("verify", "-", "-"), LCG.read_bytes(), "only one of both can come from standard input"),
        (("show", "-"), b"nothing of this", "<stdin>: of no known format"),
        (("show", "-"), b"", "<stdin>: empty"),
        (("show", "-"), (SAMPLES / "lstm_tensor_iterator.xml").read_bytes(), "its constants, model.bin, can't be read"),
        (("run", "-", "--from", "openvino"), LCG.read_bytes(), "<stdin>: "),
        (("verify", LCG, LCG, *("--from", "onnx") * 3), b"", "--from is given more often"),
    ],
)
def test_what_cannot_be_piped(
    arguments: tuple[Any, ...], given: bytes, said: str, start: Start, tmp_path: Path
) -> None:
    done = start(tmp_path, *arguments, given=given)
    assert done.code == 2 and len(done.lines) == 1 and said in done.lines[0]
    assert done.out == b"" or json.loads(done.out)["verdict"] is None


def test_what_else_reads_and_writes_pipes(start: Start, tmp_path: Path) -> None:
    data = LCG.read_bytes()
    assert start(tmp_path, "show", "-", given=data).out.startswith(b"graph lcg(seed: int64[], count: int64[])")
    assert start(tmp_path, "show", "-", "--svg", "-", given=data).out.startswith(b"<svg")
    made = start(tmp_path, "run", "-", "--output", "-", given=data)
    outputs = np.load(BytesIO(made.out))
    assert outputs.files and b"outputs (executor)" in made.err
    shutil.copy(LCG, tmp_path / "named.txt")
    assert start(tmp_path, "show", "named.txt", "--from", "onnx").code == 0
    (tmp_path / "wrong.txt").write_text("nothing of this")
    assert start(tmp_path, "show", "wrong.txt", "--from", "onnx").lines == [
        "backedge: wrong.txt: truncated, or no ONNX model"
    ]
    assert (
        start(tmp_path, "show", "wrong.txt")
        .lines[0]
        .endswith("name one of onnx, openvino, hlo, stablehlo, mdf with --from")
    )
    assert start(tmp_path, "convert", LCG, "wrong.txt").lines[0].endswith(" with --to")
    assert start(tmp_path, "verify", "named.txt", LCG, "--from", "onnx", "--trials", 3).code == 0
    assert start(tmp_path, "diff", LCG, "-", given=data).out.startswith(b"A " + str(LCG).encode() + b"\nB <stdin>\n")


def test_quiet_and_verbose(start: Start, tmp_path: Path) -> None:
    done = start(tmp_path, "convert", LCG, "a.onnx", "--opset", 13, "--quiet", "--verify", 3)
    assert (done.code, done.out, done.err) == (0, b"", b"")
    done = start(tmp_path, "convert", LCG, "a.onnx", "--opset", 13, "--verbose", "--no-proof", "--verify", 3)
    stages = done.err.decode()
    for stage in ("reading lcg.onnx", "converting to onnx", "writing a.onnx", "designing inputs", "trial 1 of "):
        assert f" s  {stage}" in stages
    done = start(tmp_path, "verify", LCG, SAMPLES / "newton_sqrt.onnx", "-q", "--trials", 3)
    assert done.code in (1, 4) and done.out == b""


def test_the_source_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    shutil.copy(LCG, path)
    (tmp_path / "link.onnx").symlink_to(path)
    for target in (path, tmp_path / "link.onnx"):
        code, _, err = run(capsys, "convert", path, target, "--opset", 13)
        assert code == 2 and "is the source itself; --force" in err
        assert path.read_bytes() == LCG.read_bytes()
    assert run(capsys, "convert", path, path, "--opset", 13, "--force")[0] == 0
    assert onnx.load(path).opset_import[0].version == 13


def test_links_and_modes(tmp_path: Path) -> None:
    """What a link leads to is written, and a file that is written again keeps its mode."""
    path = tmp_path / "t.onnx"
    shutil.copy(SAMPLES / "newton_sqrt.onnx", path)
    path.chmod(0o600)
    (tmp_path / "l.onnx").symlink_to("t.onnx")
    backedge.convert(LCG, tmp_path / "l.onnx", opset=14, verify=0)
    assert (tmp_path / "l.onnx").is_symlink() and path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in onnx.load(path).graph.input] == ["seed", "count"]


def test_inputs_of_another_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, arrays, said in (
        ("type", {"seed": np.float32(3), "count": np.int64(3)}, "type.npz: input 'seed' is int64[], not float32"),
        ("name", {"sed": np.int64(3), "count": np.int64(3)}, "name.npz: no input 'sed'; there are seed, count"),
    ):
        np.savez(tmp_path / name, **arrays)
        code, out, err = run(capsys, "verify", LCG, LCG, "--inputs", tmp_path / f"{name}.npz")
        assert code == 2 and said in err and err.count("\n") == 1 and out == ""


def test_suffixes_in_capitals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "convert", LCG, tmp_path / "m.xml")[0] == 0
    for suffix in ("xml", "bin"):
        (tmp_path / f"m.{suffix}").rename(tmp_path / f"M.{suffix.upper()}")
    code, out, _ = run(capsys, "verify", LCG, tmp_path / "M.XML")
    assert code == 0 and "openvino" in out and "M.XML" in out
    shutil.copy(LCG, tmp_path / "L.ONNX")
    assert run(capsys, "convert", tmp_path / "L.ONNX", tmp_path / "L.xml")[0] == 0


def test_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was an input is a constant, in the result and in what it is held against."""
    source = save(tmp_path / "m.onnx", OPEN)
    target = tmp_path / "o.onnx"
    code, out, _ = run(capsys, "convert", source, target, "--value", "m=3", "--value", "flags=true,false")
    assert code == 0 and "note: input 'm' is the constant 3" in out
    session = onnxruntime.InferenceSession(target)
    assert [one.name for one in session.get_inputs()] == ["x", "z"]
    x, z = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(2, np.float32)
    y, z2, flags = session.run(None, {"x": x, "z": z})
    np.testing.assert_array_equal(y, 4 * x)
    np.testing.assert_array_equal(z2, -z)
    np.testing.assert_array_equal(flags, [False, True])
    for value, said in {
        "q=3": "no input 'q'",
        "m=1.5": "input 'm': int64[] is expected (1.5 has other numbers)",
        "m=1,2": "input 'm' is int64[]",
        "flags=true": "input 'flags' is bool[2]",
        "x=a": "not of the form NAME=3",
        "=3": "not of the form NAME=3",
    }.items():
        code, _, err = run(capsys, "convert", source, tmp_path / "bad.onnx", "--value", value)
        assert code == 2 and said in err and not (tmp_path / "bad.onnx").exists(), value
    assert run(capsys, "convert", SAMPLES / "bouncing_ball.onnx", tmp_path / "b.hlo", "--value", "steps=4")[0] == 0


def test_values_of_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "convert", LCG, tmp_path / "m.xml")[0] == 0
    report = backedge.convert(tmp_path / "m.xml", to="onnx", values={"count": 4})
    assert report and [one.name for one in report.model.graph.input] == ["seed"]
    feed = {"seed": np.array(5, np.int64)}
    found = onnxruntime.InferenceSession(report.model.SerializeToString()).run(None, feed)
    for a, b in zip(found, backedge.run(LCG, {**feed, "count": np.array(4, np.int64)}).values(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_batch_and_static(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = save(tmp_path / "m.onnx", OPEN), tmp_path / "o.onnx"
    code, _, err = run(capsys, "convert", source, target, "--static", "--shape", "x=2,3")
    assert code == 2 and "these inputs have open sizes: z is float32[k]; settle them" in err
    assert run(capsys, "convert", source, target, "--batch", 4, "--static")[0] == 0
    shapes = {one.name: one.shape for one in onnxruntime.InferenceSession(target).get_inputs()}
    assert shapes == {"x": [4, 3], "m": [], "flags": [2], "z": [4]}
    code, _, err = run(capsys, "convert", target, tmp_path / "p.onnx", "--batch", 4)
    assert code == 2 and "no input has an open first size" in err
    code, _, err = run(
        capsys, "convert", LCG, tmp_path / "p.onnx", "--static", "--json", tmp_path / "why.json", "--opset", 13
    )
    assert code == 3 and "depend on the data" in err
    assert json.loads((tmp_path / "why.json").read_text())["error"]["kind"] == "unsupported"
