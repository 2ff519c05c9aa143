"""What the system refuses: a full disk, no home, no folder for temporary files, targets that are no files.

One line, a code of the contract, and the old target as it was.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from .starting import Start

SAMPLES = Path(__file__).parents[2] / "samples"
LCG = SAMPLES / "lcg.onnx"
RELU = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }'

_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
_TEMPORARY = "import os, tempfile; os.environ['TMPDIR'] = tempfile.tempdir = {!r}"
_NO_MEMORY = """
import sys
from backedge.convert import conversion
def convert(*arguments, **options):
    raise MemoryError
conversion.convert = convert
sys.modules["rich.markup"] = None
"""
_ADDRESSES = "import resource; resource.setrlimit(resource.RLIMIT_AS, ({0}, {0}))"
_NO_THREAD = """
import threading
def start(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
"""
_HOMELESS = "import os; os.environ.pop('HOME', None); os.environ.pop('XDG_CACHE_HOME', None)"


@dataclass(frozen=True)
class Case:
    """Arguments, what is done in the process before, exit code, a part of the one line on standard error (None where
    none is), the files that are written."""

    arguments: list[str]
    setup: str
    code: int
    message: str | None = None
    written: set[str] = field(default_factory=set)


FULL = "File too large"  # so the system says of a file's limit; a full disk takes the same way
CASES = {
    "onnx": Case(["convert", "m.onnx", "o.onnx", "--verify", "0"], _LIMIT.format(32), 2, f"o.onnx: {FULL}"),
    "ir": Case(["convert", "m.onnx", "o.xml", "--verify", "0"], _LIMIT.format(64), 2, f"o.xml: {FULL}"),
    "weights": Case(["convert", "heavy.onnx", "o.xml", "--verify", "0"], _LIMIT.format(50000), 2, f"o.xml: {FULL}"),
    "data": Case(["convert", "data.onnx", "o.onnx", "--verify", "0"], _LIMIT.format(50000), 2, f"o.onnx: {FULL}"),
    "hlo": Case(["convert", "heavy.onnx", "o.hlo", "--verify", "0"], _LIMIT.format(64), 2, f"o.hlo: {FULL}"),
    "mdf": Case(["convert", "m.onnx", "o.json", "--verify", "0"], _LIMIT.format(64), 2, f"o.json: {FULL}"),
    "npz": Case(["run", "m.onnx", "--output", "o.npz"], _LIMIT.format(64), 2, f"o.npz: {FULL}"),
    "svg": Case(["show", "m.onnx", "--svg", "o.svg"], _LIMIT.format(64), 2, f"o.svg: {FULL}"),
    "html": Case(["verify", "m.onnx", "m.onnx", "--trials", "1", "--html", "o.html"], _LIMIT.format(4000), 2, FULL),
    "certificate": Case(
        ["convert", "m.onnx", "o.onnx", "--opset", "22", "--certificate", "o.cert", "--verify", "1"],
        _LIMIT.format(150),
        2,
        FULL,
    ),
    "no memory to tell it well": Case(["convert", "m.onnx", "o.xml"], _NO_MEMORY, 2, "backedge: out of memory"),
    "few addresses": Case(["convert", "m.onnx", "o.xml"], _ADDRESSES.format(300 << 20), 2, "are too few"),
    "no thread": Case(["convert", "m.onnx", "o.xml"], _NO_THREAD, 2, "no thread can be started"),
    "no home": Case(["convert", "m.onnx", "o.xml"], _HOMELESS, 0, None, {"o.xml", "o.bin"}),
    "no home, a loop": Case(["run", str(LCG)], _HOMELESS, 0),
    "a home that isn't there": Case(["run", str(LCG)], "import os; os.environ['HOME'] = '/nowhere/at/all'", 0),
    "no temporary folder": Case(
        ["convert", "m.onnx", "o.xml"], _TEMPORARY.format("/nowhere"), 2, "no folder for temporary files can be made"
    ),
    "no temporary folder needed": Case(
        ["convert", "m.onnx", "o.xml", "--verify", "0"], _TEMPORARY.format("/nowhere"), 0, None, {"o.xml", "o.bin"}
    ),
    "circle": Case(["convert", "m.onnx", "circle.xml"], "", 2, "circle.xml: Too many levels of symbolic links"),
    "fifo": Case(["convert", "m.onnx", "fifo.xml"], "", 2, "fifo.xml: it is no regular file, and isn't replaced"),
    "device": Case(["convert", "m.onnx", "/dev/null", "--to", "onnx"], "", 2, "/dev/null: it is no regular file"),
    "socket": Case(["run", "m.onnx", "--output", "socket"], "", 2, "socket: it is no regular file"),
    "report to a circle": Case(["convert", "m.onnx", "o.xml", "--json", "circle.xml"], "", 2, "circle.xml: Too many"),
    "page to a folder": Case(["verify", "m.onnx", "m.onnx", "--html", "."], "", 2, "'.' is a directory"),
    "bin is a folder": Case(["convert", "m.onnx", "taken.xml", "--verify", "0"], "", 2, "taken.bin: it is no regular"),
    "/proc": Case(["convert", "m.onnx", "/proc/o.xml", "--verify", "0"], "", 2, "/proc/o.xml: "),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    onnx.save(parse_model(RELU), folder / "m.onnx")
    weights = onnx.numpy_helper.from_array(np.arange(64 * 512, dtype=np.float32).reshape(64, 512), "w")
    infos = [onnx.helper.make_tensor_value_info(*one) for one in (("x", 1, [2, 64]), ("y", 1, [2, 512]))]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", infos[:1], infos[1:], [weights]
    )
    heavy = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(heavy, folder / "heavy.onnx")
    onnx.save(heavy, folder / "data.onnx", save_as_external_data=True, location="data.bin")
    return folder


@pytest.fixture
def folder(models: Path, tmp_path: Path) -> Path:
    """The models, an old file for each target, and what is no file."""
    for path in models.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "circle.xml").symlink_to("circle.xml")
    os.mkfifo(tmp_path / "fifo.xml")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    (tmp_path / "taken.bin").mkdir()
    return tmp_path


OLD = [f"o.{suffix}" for suffix in ("onnx", "onnx.data", "xml", "bin", "hlo", "json", "npz", "svg", "html", "cert")]


@pytest.mark.parametrize("name", CASES)
def test_catalogue(name: str, folder: Path, start: Start) -> None:
    case = CASES[name]
    for old in OLD:
        (folder / old).write_text(f"old {old}")
    kinds = {path.name: stat.S_IFMT(path.lstat().st_mode) for path in folder.iterdir()}
    ended = start(folder, *case.arguments, setup=case.setup)
    assert ended.code == case.code, (ended.out, ended.lines)
    if case.message is None:
        assert ended.lines == []
    else:
        assert case.message in ended.message
    assert {path.name: stat.S_IFMT(path.lstat().st_mode) for path in folder.iterdir()} == kinds
    changed = {old for old in OLD if (folder / old).read_bytes() != f"old {old}".encode()}
    assert changed == case.written


def test_a_report_to_a_pipe(folder: Path, start: Start) -> None:
    """As in a shell's `--json >(jq .)`."""
    reader = subprocess.Popen(["cat", "fifo.xml"], cwd=folder, stdout=subprocess.PIPE)
    ended = start(folder, "convert", "m.onnx", "o.onnx", "--verify", 0, "--json", "fifo.xml")
    out, _ = reader.communicate(timeout=20)
    assert ended.code == 0 and json.loads(out)["exit_code"] == 0
    assert stat.S_ISFIFO((folder / "fifo.xml").stat().st_mode)


@pytest.mark.fuzz  # which takes long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_sweep_is_ended(number: int, code: int, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The processes of the jobs end, too, and clear away what they have begun; standard output says nothing of it."""
    temporary = tmp_path_factory.mktemp("temporary")
    wait = "import time\nfrom backedge.passes import rewrite\n\ndef slow(op, node):\n    open('began', 'a').close()\n"
    (folder / "wait.py").write_text(f"{wait}    time.sleep(60)\n\nslow = rewrite.rule('', 'Relu')(slow)\n")
    command = [sys.executable, "-m", "backedge", "convert", "m.onnx", "m2.onnx", "--to", "onnx", "--into", "out"]
    (folder / "m2.onnx").write_bytes((folder / "m.onnx").read_bytes())
    usual = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); signal.signal(signal.SIGHUP, 0)"
    starter = f"{usual}\nfrom backedge.convert.cli import main\nmain()"
    command[1:3] = ["-c", starter]
    with subprocess.Popen(
        [*command, "--pass", "wait.py:slow", "--jobs", "2"],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        end = time.monotonic() + 60
        while not (folder / "began").exists() and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    assert err.splitlines()[-1].startswith("backedge: ") and "Traceback" not in err
    assert [path.name for path in (folder / "out").iterdir()] == ["results.jsonl"]
    assert [path.name for path in temporary.iterdir() if path.name != ".ses"] == []
