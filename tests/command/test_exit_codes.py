"""The catalogue of exit codes: the command is started, and each code is what the table of `passes.exit_codes` says.

One line on stderr for everything but 0 (and for what the report on stdout says already), never a traceback, nothing
left behind, and the code in the JSON. Each case has a process of its own, forked from one that imported the command.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model

from .starting import Start

COMMAND = [sys.executable, "-m", "backedge.convert.cli"]


def model(
    path: Path, body: str, interface: str = "(float[2] x) => (float[2] y)", opset: int = 21, ir: int = 10
) -> None:
    imports = f'"" : {opset}, "acme" : 1'
    onnx.save(parse_model(f"<ir_version: {ir}, opset_import: [{imports}]> g {interface} {{ {body} }}"), path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Models of every kind that the catalogue needs."""
    model(tmp_path / "relu.onnx", "y = Relu (x)")
    model(tmp_path / "twice.onnx", "n = Neg (x)  p = Neg (n)  y = Relu (p)")
    model(tmp_path / "neg.onnx", "y = Neg (x)")
    model(tmp_path / "own.onnx", "y = acme.Frobnicate (x)")
    model(tmp_path / "other.onnx", "y = Reshape (x, s)", "(float[N] x, int64[R] s) => (float[A, B] y)")
    (tmp_path / "broken.onnx").write_bytes((tmp_path / "relu.onnx").read_bytes()[:40])
    (tmp_path / "entity.xml").write_text('<!DOCTYPE net [<!ENTITY a "b">]><net version="11">&a;</net>')
    np.savez(tmp_path / "x.npz", x=np.array([-1.0, 2.0], np.float32))
    os.mkfifo(tmp_path / "pipe.onnx")
    (tmp_path / "junk.npz").write_bytes(b"PK\3\4" + bytes(60))
    return tmp_path


@dataclass(frozen=True)
class Case:
    """Arguments, the code, a part of the line on stderr (None: there is none), and what is there afterwards."""

    arguments: Sequence[str]
    code: int
    message: str | None = None
    written: Sequence[str] = field(default=())
    setup: str = ""


_FAULT = "import backedge.convert.{0} as m\ndef boom(*a, **k): raise TypeError('two\\nlines')\nm.{1} = boom"
_REFUSED = (
    "import dataclasses, backedge.convert.conversion as m\n"
    "found = m.format_of\n"
    "def format_of(path, *name):\n"
    "    entry = found(path, *name)\n"
    "    check = dataclasses.replace(entry.check, objection=lambda path: 'no such thing', by_loading=False)\n"
    "    return dataclasses.replace(entry, check=check) if str(path).endswith('.xml') else entry\n"
    "m.format_of = format_of"
)
_VERDICT = (
    "import backedge.convert.{0} as m\n"
    "from backedge.runtime.compare.record import Report\n"
    "m.{1} = lambda *a, **k: Report('a', 'b', '{2}', ['because'])"
)

CASES: dict[str, Case] = {
    "convert: equal": Case(["convert", "relu.onnx", "o.xml", "--verify", "3"], 0, None, ["o.bin", "o.xml"]),
    "convert: unverified": Case(
        ["convert", "relu.onnx", "o.onnx", "--opset", "9", "--verify", "0"], 0, None, ["o.onnx"]
    ),
    "convert: different": Case(
        ["convert", "relu.onnx", "o.xml", "--verify", "3"],
        1,
        "o.xml was not written: it would differ from relu.onnx",
        setup=_VERDICT.format("conversion", "verify_files", "different"),
    ),
    "convert: refused by its reader": Case(
        ["convert", "relu.onnx", "o.xml", "--verify", "3"],
        1,
        "o.xml was not written: OpenVINO refuses it: no such thing",
        setup=_REFUSED + "\n" + _VERDICT.format("conversion", "verify_files", "equal"),
    ),
    "convert: no source": Case(["convert", "none.onnx", "o.xml"], 2, "none.onnx: no such file"),
    "convert: broken": Case(["convert", "broken.onnx", "o.xml"], 2, "broken.onnx: truncated, or no ONNX model"),
    "convert: hostile": Case(["convert", "entity.xml", "o.onnx"], 2, "declares a document type or entities"),
    "convert: no folder": Case(["convert", "relu.onnx", "none/o.xml"], 2, "none/o.xml: no such folder"),
    "convert: no file can be made": Case(["convert", "relu.onnx", "/proc/o.xml"], 2, "/proc/o.xml"),
    "convert: a pipe": Case(
        ["convert", "relu.onnx", "pipe.onnx", "--opset", "9"], 2, "pipe.onnx: it is no regular file"
    ),
    "convert: no time": Case(["convert", "relu.onnx", "o.xml", "--timeout", "-3"], 2, "no finite number above 0"),
    "convert: not expressible": Case(["convert", "own.onnx", "o.xml"], 3, "Frobnicate"),
    "convert: unconfirmed": Case(
        ["convert", "relu.onnx", "o.xml", "--verify", "3"],
        4,
        "o.xml was written, but the check is unconfirmed: because",
        ["o.bin", "o.xml"],
        _VERDICT.format("conversion", "verify_files", "unconfirmed"),
    ),
    "convert: incomparable": Case(
        ["convert", "own.onnx", "o.onnx", "--opset", "20", "--verify", "2"],
        4,
        "o.onnx was written, but the check is incomparable",
        ["o.onnx"],
    ),
    "convert: our fault": Case(
        ["convert", "relu.onnx", "o.xml"],
        70,
        "a fault of backedge, not of the model: TypeError: two lines; the traceback is in ",
        setup=_FAULT.format("conversion", "to_dialect_after"),
    ),
    "verify: equal": Case(["verify", "relu.onnx", "twice.onnx", "--trials", "3"], 0),
    "verify: different": Case(["verify", "relu.onnx", "neg.onnx", "--trials", "3"], 1),
    "verify: broken": Case(["verify", "relu.onnx", "broken.onnx"], 2, "truncated"),
    "verify: no number": Case(["verify", "relu.onnx", "twice.onnx", "--rtol", "nan"], 2, "'nan' is no finite number"),
    "verify: no inputs": Case(["verify", "relu.onnx", "twice.onnx", "--inputs", "junk.npz"], 2, "no .npz file"),
    "verify: no page": Case(
        ["verify", "relu.onnx", "twice.onnx", "--html", "none/r.html"], 2, "none/r.html: no such folder"
    ),
    "verify: unconfirmed": Case(
        ["verify", "relu.onnx", "twice.onnx", "--trials", "3"],
        4,
        setup=_VERDICT.format("verification", "verify", "unconfirmed"),
    ),
    "verify: incomparable": Case(
        ["verify", "relu.onnx", "twice.onnx"], 4, setup=_VERDICT.format("verification", "verify", "incomparable")
    ),
    "verify: our fault": Case(
        ["verify", "relu.onnx", "twice.onnx"],
        70,
        "TypeError: two lines",
        setup=_FAULT.format("verification", "prove"),
    ),
    "run": Case(["run", "relu.onnx", "--inputs", "x.npz", "--output", "y.npz"], 0, None, ["y.npz"]),
    "run: inputs that it can't take": Case(["run", "other.onnx", "--inputs", "x.npz"], 2, "'s'"),
    "run: nowhere to write": Case(["run", "relu.onnx", "--output", "none/y.npz"], 2, "none/y.npz: no such folder"),
    "run: an operator nobody knows": Case(["run", "own.onnx", "--inputs", "x.npz"], 3, "Frobnicate"),
    "run: our fault": Case(
        ["run", "relu.onnx", "--inputs", "x.npz"],
        70,
        "TypeError: two lines",
        setup=_FAULT.format("running", "run_graph"),
    ),
    "show": Case(["show", "relu.onnx"], 0),
    "show: broken": Case(["show", "broken.onnx"], 2, "truncated"),
    "show: our fault": Case(["show", "relu.onnx"], 70, "TypeError: two lines", setup=_FAULT.format("files", "load")),
    "no such command": Case(["frobnicate"], 2, "frobnicate"),
}


@pytest.mark.parametrize("name", CASES)
def test_catalogue(name: str, folder: Path, start: Start) -> None:
    case = CASES[name]
    before = {path.name for path in folder.iterdir()}
    told_as_json = case.arguments[0] in ("convert", "verify")
    ended = start(folder, *case.arguments, *(["--json", "r.json"] if told_as_json else []), setup=case.setup)
    assert ended.code == case.code, (ended.out, ended.lines)
    if case.message is None:
        assert ended.lines == []
    else:
        assert case.message in ended.message
    assert {path.name for path in folder.iterdir()} - before - {"r.json"} == set(case.written)
    if told_as_json:
        _check_json(json.loads((folder / "r.json").read_text()), case)
    if case.code == 70:
        saved = Path(ended.message.rsplit(" ", 1)[1])
        assert "in boom" in saved.read_text() and "TypeError: two" in saved.read_text()
        saved.unlink()


def _check_json(report: dict[str, Any], case: Case) -> None:
    assert (report["schema"], report["exit_code"]) == (1, case.code)
    if case.code in (0, 1, 4):
        verdicts = {0: ("proved", "equal", "unverified"), 1: ("different",), 4: ("unconfirmed", "incomparable")}
        assert report["verdict"] in verdicts[case.code]
        assert report.get("written", bool(case.written)) == bool(case.written)
        return
    assert report["verdict"] is None
    kinds = {2: ("invalid", "usage"), 3: ("unsupported",), 70: ("internal",)}
    assert report["error"]["kind"] in kinds[case.code]
    assert case.message is not None and case.message in report["error"]["message"]
    assert (report["error"]["traceback"] is not None) == (case.code == 70)


@pytest.mark.parametrize(
    ("verb", "number", "code", "message"),
    [("convert", signal.SIGTERM, 143, "ended by SIGTERM"), ("verify", signal.SIGINT, 130, "interrupted")],
)
def test_interrupted(verb: str, number: int, code: int, message: str, folder: Path) -> None:
    others = {"convert": ["o.xml"], "verify": ["twice.onnx"]}[verb]
    before = {path.name for path in folder.iterdir()}
    module = {"convert": "conversion", "verify": "verification"}[verb]
    name = {"convert": "verify_files", "verify": "compare_sides"}[verb]
    wait = "def wait(*a, **k):\n print('now', flush=True)\n time.sleep(60)"
    usual = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell's background jobs inherit none
    patch = f"from backedge.convert import cli, {module} as m\n{wait}\nm.{name} = wait"
    script = f"import signal, time; {usual}\n{patch}\ncli.main()"
    with subprocess.Popen(
        [sys.executable, "-c", script, verb, "relu.onnx", *others],
        cwd=folder,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "now\n"
        time.sleep(0.1)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert err.splitlines() == [f"backedge: {message}"]
    assert {path.name for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
        (signal.SIGINT, 130, "interrupted"),
    ],
)
@pytest.mark.parametrize(
    "where",
    [
        pytest.param("cli.too_few_addresses", id="before the command"),
        pytest.param("cli._run", id="begun"),
        pytest.param("terminal.tell", id="while its end is told"),
    ],
)
def test_interrupted_at_any_time(where: str, number: int, code: int, message: str, folder: Path) -> None:
    """A signal right before the command's own work, or after it, ends it as one in its midst."""
    usual = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    patch = f"from backedge.convert import cli, terminal\ndef sent(*a):\n os.kill(os.getpid(), {number:d})"
    script = f"import os, signal\n{usual}\n{patch}\n{where} = sent\ncli.main()"
    command = [sys.executable, "-c", script, "show", "no such file.onnx"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr.splitlines()) == (code, [f"backedge: {message}"])


def test_a_reader_that_stops_reading(folder: Path) -> None:
    big = "  ".join(f"y{k} = Relu (x)" for k in range(3000))
    model(folder / "big.onnx", f"{big}  y = Neg (x)")
    with subprocess.Popen([*COMMAND, "show", "big.onnx"], cwd=folder, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (0, "")
