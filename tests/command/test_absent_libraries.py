"""What works without a library, and the one line that is said where it doesn't.

The library is absent for a child process and for all of that one's own children: Python's finder doesn't find it there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bson
import pytest
from backedge.passes.errors import InvalidModel
from backedge.passes.libraries import is_installed, missing, needed, require

SAMPLES = Path(__file__).parents[2] / "samples"
BALL = SAMPLES / "bouncing_ball.onnx"
_FINDER = '''
import os
import sys
from importlib.machinery import PathFinder

ABSENT = frozenset(os.environ["TEST_ABSENT"].split())


class Finder(PathFinder):
    """Python's own, but for packages that are absent."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in ABSENT else super().find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
'''
COMPILER = "numba llvmlite"
OPTIONAL = f"openvino onnxruntime onnxscript onnx_ir jax jaxlib modeci_mdf pymongo bson distributed {COMPILER}"
NO_OPENVINO = "OpenVINO isn't installed: pip install openvino"
NO_ONNXRUNTIME = "ONNX Runtime isn't installed: pip install onnxruntime"
NO_JAXLIB = 'jaxlib isn\'t installed: pip install "backedge[xla]"'
NO_ENGINE = 'modeci-mdf isn\'t installed: pip install "backedge[mdf]"'
NO_PYMONGO = 'BSON needs pymongo, which isn\'t installed: pip install "backedge[mdf]"'


def without(absent: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python, in a folder, with these arguments and without these packages."""
    hook = folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(_FINDER)
    path = os.pathsep.join([str(hook), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "TEST_ABSENT": absent, "COLUMNS": "300"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=folder, env=environment)


def backedge(absent: str, folder: Path, *words: str | Path) -> tuple[int, str, str]:
    """Exit code, output and errors of the command without these packages."""
    done = without(absent, folder, "-m", "backedge", *map(str, words))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def python(absent: str, folder: Path, text: str) -> str:
    """What a program prints without these packages; it says nothing on standard error."""
    done = without(absent, folder, "-c", text)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_without_any(tmp_path: Path) -> None:
    """Everything is read, converted and run that needs no library."""
    code, shown, _ = backedge(OPTIONAL, tmp_path, "formats")
    assert code == 0
    assert all(reason in shown for reason in (NO_ONNXRUNTIME, NO_OPENVINO, NO_JAXLIB, NO_ENGINE))
    code, report, errors = backedge(OPTIONAL, tmp_path, "convert", BALL, "b.xml", "--verify", "2")
    assert code == 4 and (tmp_path / "b.xml").is_file() and errors.count("\n") == 1
    assert f"openvino was not asked, because {NO_OPENVINO}" in report
    assert f"onnxruntime was not asked, because {NO_ONNXRUNTIME}" in report
    text = f"""
import backedge
ball = {{"height": 2, "velocity": 0, "step": 0.1, "restitution": 0.8, "steps": 30}}
for model in ({str(BALL)!r}, "b.xml"):
    print(backedge.run(model, ball)["bounces"])
for source, to in (({str(SAMPLES / "leaky_accumulators.json")!r}, "l.onnx"),
                   ({str(SAMPLES / "lstm_tensor_iterator.xml")!r}, "t.hlo"),
                   ({str(BALL)!r}, "b.yaml")):
    print(backedge.convert(source, to, verify=0).written)
"""
    assert python(OPTIONAL, tmp_path, text).split() == ["3", "3", "True", "True", "True"]


@pytest.mark.parametrize(
    ("package", "reason", "source", "target"),
    [
        ("openvino", NO_OPENVINO, SAMPLES / "lstm_tensor_iterator.xml", ["t.onnx"]),
        ("onnxruntime", NO_ONNXRUNTIME, BALL, ["b.onnx", "--opset", "9"]),
    ],
    ids=["openvino", "onnxruntime"],
)
def test_without_a_runtime(package: str, reason: str, source: Path, target: list[str], tmp_path: Path) -> None:
    """It is converted and unconfirmed; running there is refused."""
    code, report, errors = backedge(package, tmp_path, "convert", source, *target, "--verify", "2")
    assert code == 4 and (tmp_path / target[0]).is_file()
    assert "\nunconfirmed " in report
    assert report.count(f"- {package} was not asked, because {reason}\n") == 1
    assert errors.startswith(f"backedge: {target[0]} was written, but the check is unconfirmed: ")
    assert backedge(package, tmp_path, "run", BALL, "--on", package) == (2, "", f"backedge: {reason}\n")


def test_objects_of_openvino_without_it(tmp_path: Path) -> None:
    """It is said before anything is converted."""
    text = f"""
import backedge, onnx
try:
    backedge.convert(onnx.load({str(BALL)!r}), to="openvino")
except backedge.InvalidModel as error:
    print(error)
print(backedge.convert(onnx.load({str(BALL)!r}), "b.xml", verify=0).written)
"""
    reason = "to='openvino' needs OpenVINO, which isn't installed: pip install openvino, or convert to a file"
    assert python("openvino", tmp_path, text).splitlines() == [reason, "True"]


_LOOP = """
import numpy as np
import backedge
import onnx
from backedge.runtime import machine_code, native, whole_graph

for module in (machine_code, native, whole_graph):
    module.LOAD_AFTER, module.COMPILE_AFTER = (0, 0), {compile_after}

loop = backedge.load(onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 21]>
g (int64 n, float[2] x) => (float[2] y) {{
    t = Constant <value = bool {{1}}> ()
    y = Loop (n, t, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {{
        d = Identity (c)
        w = Add (v, x)
    }}>
}}'''))
conv = backedge.load(onnx.parser.parse_model('''<ir_version: 10, opset_import: ["": 21]>
g (float[1,1,3,3] x, float[1,1,2,2] w) => (float[1,1,2,2] y) {{
    z = Conv (x, w)
    y = Neg (z)
}}'''))
for _ in range(5):
    print(backedge.run(loop, {{"n": 300, "x": np.float32([1, 0.5])}})["y"].tolist())
    images, filters = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2), np.float32)
    print(backedge.run(conv, {{"x": images, "w": filters}})["y"].reshape(-1).tolist())
print(backedge.prepare(conv, {{"x": images, "w": filters}}))
"""
_LOOP_PRINTS = ["[301.0, 150.5]", "[-8.0, -12.0, -20.0, -24.0]"] * 5 + ["False"]


@pytest.mark.parametrize("compile_after", [0, 10**12])
def test_without_numba(compile_after: int, tmp_path: Path) -> None:
    """All is interpreted: where machine code would be made, and where it would be looked for on disk."""
    printed = python(COMPILER, tmp_path, _LOOP.format(compile_after=compile_after))
    assert printed.splitlines() == _LOOP_PRINTS


@pytest.mark.parametrize("compile_after", [0, 10**12])
def test_with_a_numba_that_cannot_be_imported(compile_after: int, tmp_path: Path) -> None:
    """As it is with a NumPy that is newer than it."""
    package = tmp_path / "hook" / "numba"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('Numba needs NumPy 1.0 or less')\n")
    printed = python("none", tmp_path, _LOOP.format(compile_after=compile_after))
    assert printed.splitlines() == _LOOP_PRINTS


def test_without_onnx_script(tmp_path: Path) -> None:
    """Objects of onnx don't need it, but for the largest."""
    text = f"""
import onnx
import backedge
from backedge.convert.onnx import objects

model = onnx.load({str(BALL)!r})
print(type(backedge.convert(model, to="onnx", opset=9, verify=0).model).__name__)
print(backedge.load(model.SerializeToString()).opsets[""])
try:
    backedge.load(3)
except TypeError as error:
    print("onnxscript.OnnxFunction" in str(error))
objects._LARGEST = 100
try:
    backedge.load(model)
except backedge.InvalidModel as error:
    print(error)
"""
    *lines, refusal = python("onnxscript onnx_ir", tmp_path, text).splitlines()
    assert lines == ["ModelProto", "21", "True"]
    assert refusal == "a ModelProto of more than 2 GiB needs onnx-ir, which isn't installed: pip install onnx-ir"


def test_without_pymongo(tmp_path: Path) -> None:
    """MDF as JSON and YAML needs none, and BSON is told by its content."""
    (tmp_path / "m.bson").write_bytes(bson.encode({"m": {"format": "ModECI MDF v0.4"}}))
    accumulators = SAMPLES / "leaky_accumulators.json"
    absent = "bson pymongo"
    written = backedge(absent, tmp_path, "convert", accumulators, "l.bson")
    assert written == (2, "", f"backedge: {NO_PYMONGO}\n") and not (tmp_path / "l.bson").exists()
    text = f"""
import backedge
from backedge.convert.objects import format_of_content

data = open("m.bson", "rb").read()
entry, suffix = format_of_content(data, None, "m")
print(entry.name, suffix)
for source in ("m.bson", data):
    try:
        backedge.load(source)
    except backedge.InvalidModel as error:
        print(error)
print(backedge.convert({str(accumulators)!r}, "l.yaml", verify=0).written)
print(backedge.load(open("l.yaml", "rb").read()).dialect)
"""
    assert python(absent, tmp_path, text).splitlines() == [
        "mdf .bson",
        f"m.bson: {NO_PYMONGO}",
        f"<bytes>: {NO_PYMONGO}",
        "True",
        "mdf",
    ]


def test_what_counts_as_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that happens to have the name doesn't."""
    assert is_installed("onnx") and missing("onnx") == ""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "some_folder").mkdir()
    assert not is_installed("some_folder")
    assert missing("some_folder") == "some_folder isn't installed: pip install some_folder"
    with pytest.raises(InvalidModel, match=r"^this needs some_folder, which isn't installed: pip install some_folder$"):
        require("some_folder", "this")
    (tmp_path / "broken.py").write_text("import some_module_that_is_not_there\n")
    with (
        pytest.raises(InvalidModel, match=r"^this needs broken, which can't be imported: No module named 'some_mod"),
        needed("broken", "this"),
    ):
        __import__("broken")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert not is_installed("onnx")
