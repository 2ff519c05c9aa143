"""Many models with one command: every one has exactly one result, whatever becomes of it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import onnx
import openvino
import pytest
from backedge.convert.cli import main
from backedge.convert.many.jobs import Job, models_in, pairs_of
from backedge.convert.many.pool import Worker, on_this_machine
from backedge.passes.errors import InvalidModel

from .models import LOOP, folder_of_models, save


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    captured = capfd.readouterr()
    return int(caught.value.code or 0), captured.out, captured.err


def rows_of(path: Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found = {row["name"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def test_sweep(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two targets, models that fail among them; then again, when nothing is left to do; then one that was changed."""
    monkeypatch.chdir(tmp_path)
    folder_of_models(tmp_path / "in")
    command = ["sweep", "in", "--to", "onnx@13,openvino", "--into", "out", "--jobs", 2, "--verify", 4]
    code, out, err = run(capfd, *command, "--junit", "report.xml", "--annotations", "--json", "all.json")
    rows = rows_of(tmp_path / "out" / "results.jsonl")
    names = ["add.onnx", "cut.onnx", "deep/SUB.ONNX", "deep/add.onnx", "sequence.onnx"]
    assert sorted(rows) == sorted(f"{name} -> {to}" for name in names for to in ("onnx@13", "openvino"))
    assert {rows[f"{name} -> openvino"]["verdict"] for name in ("add.onnx", "deep/SUB.ONNX", "deep/add.onnx")} <= {
        "proved",
        "equal",
    }
    cut, refused = rows["cut.onnx -> openvino"], rows["sequence.onnx -> openvino"]
    assert (cut["exit_code"], cut["verdict"]) == (2, None) and "truncated" in cut["message"]
    assert (refused["exit_code"], refused["verdict"]) == (3, None) and "2 reasons" in refused["message"]
    assert all("seq(" in reason for reason in refused["refusals"])
    assert code == 2  # the worst in the order of the exit codes
    written = sorted(
        str(path.relative_to("out")) for path in Path("out").rglob("*") if path.suffix in (".onnx", ".xml")
    )
    converted = ["add", "deep/SUB", "deep/add"]
    assert written == sorted(
        [f"onnx@13/{name}.onnx" for name in (*converted, "sequence")] + [f"openvino/{name}.xml" for name in converted]
    )
    assert onnx.load("out/onnx@13/deep/add.onnx").opset_import[0].version == 13
    assert len(openvino.Core().read_model("out/openvino/deep/add.xml").inputs) == 2
    assert "10 models: " in out and "truncated" in out and f"[10/{len(rows)}]" in err
    suite = ElementTree.parse("report.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("10", "2", "1")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["sequence.onnx -> openvino"]
    assert "::error file=in/cut.onnx,title=not read%3A cut.onnx -> openvino::" in out
    together = json.loads(Path("all.json").read_text())
    assert together["exit_code"] == 2 and len(together["results"]) == 10 and together["counts"]["refused"] == 1

    before = (tmp_path / "out" / "results.jsonl").read_text()
    code, out, err = run(capfd, *command)
    assert code == 2 and "10 of 10 are done already" in out and err == ""
    assert (tmp_path / "out" / "results.jsonl").read_text() == before
    save(tmp_path / "in" / "add.onnx", LOOP.format("Div"))
    Path("out/openvino/deep/add.xml").unlink()
    code, out, err = run(capfd, *command)
    assert "7 of 10 are done already" in out and err.count("\n") == 3 and "deep/add.onnx -> openvino" in err


def test_a_line_that_was_being_written_is_done_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "in" / "a.onnx", LOOP.format("Add"))
    save(tmp_path / "in" / "b.onnx", LOOP.format("Sub"))
    command = ["sweep", tmp_path / "in", "--to", "onnx@14", "--into", tmp_path / "out", "--verify", 0]
    assert run(capfd, *command)[0] == 0
    results = tmp_path / "out" / "results.jsonl"
    results.write_text(results.read_text()[:-40])
    code, out, _ = run(capfd, *command)
    assert code == 0 and "1 of 2 are done already" in out and len(rows_of(results)) == 2
    results.write_text("no JSON\n")
    code, _, err = run(capfd, *command)
    assert code == 2 and "results.jsonl, line 1: no result of version 1" in err
    assert run(capfd, *command, "--again")[0] == 0 and len(rows_of(results)) == 2


def test_convert_into(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = (save(tmp_path / f"{name}.onnx", LOOP.format(name)) for name in ("Add", "Sub"))
    code, out, _ = run(capfd, "convert", a, b, "--to", "openvino", "--into", tmp_path / "ir", "--verify", 4)
    assert code == 0 and "2 models: " in out
    assert {path.name for path in (tmp_path / "ir").iterdir()} >= {"Add.xml", "Sub.xml", "results.jsonl"}
    again = save(tmp_path / "other" / "Add.onnx", LOOP.format("Add"))
    for arguments, said in {
        ("convert", a, again, "--to", "openvino", "--into", tmp_path / "x"): "would be written twice",
        ("convert", a, b, "--into", tmp_path / "x"): "--into DIR needs --to",
        ("convert", a, b, again): "--into DIR for several sources",
        ("convert", a, "--to", "onnx@x", "--into", tmp_path / "x"): "after @ stands an opset",
        ("convert", a, "--to", "onxx", "--into", tmp_path / "x"): "no format 'onxx'",
        ("verify", tmp_path / "ir", tmp_path / "ir"): "is a folder; verify --pairs A B,",
        ("sweep", tmp_path / "none", "--to", "onnx", "--into", tmp_path / "x"): "no such folder",
    }.items():
        code, _, err = run(capfd, *arguments)
        assert code == 2 and said in err and err.count("\n") == 1, err
    assert not (tmp_path / "x").exists()


def test_pairs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Folders by name, whatever the format; a list by lines. One pair that differs makes the exit code 1."""
    for name in ("Add", "Sub"):
        save(tmp_path / "a" / f"{name}.onnx", LOOP.format(name))
    save(tmp_path / "b" / "Add.onnx", LOOP.format("Add").replace("(v, x)", "(x, v)"))
    save(tmp_path / "b" / "Sub.onnx", LOOP.format("Add"))
    junit = tmp_path / "junit.xml"
    command = ["verify", "--pairs", tmp_path / "a", tmp_path / "b", "--trials", 4, "--annotations", "--junit", junit]
    code, out, _ = run(capfd, *command)
    failure = ElementTree.parse(junit).getroot().find(".//failure")
    assert failure is not None and "\noperator: Add " in str(failure.text) and "; in A it is Sub " in str(failure.text)
    assert "%0Aoperator: Add " in out
    assert code == 1 and re.search("2 models: (1 proved, 1 different|1 different, 1 proved)", out), out
    (tmp_path / "pairs.txt").write_text("# models\na/Add.onnx b/Add.onnx\n\na/Sub.onnx, a/Sub.onnx  # itself\n")
    results = tmp_path / "r.jsonl"
    code, out, _ = run(capfd, "verify", "--pairs", tmp_path / "pairs.txt", "--trials", 4, "--results", results)
    assert code == 0 and "2 models: 2 proved" in out
    assert {row["report"]["verdict"] for row in rows_of(results).values()} == {"proved"}
    (tmp_path / "bad.txt").write_text("one\n")
    assert "bad.txt, line 1: not two paths" in run(capfd, "verify", "--pairs", tmp_path / "bad.txt")[2]
    (tmp_path / "b" / "Sub.onnx").unlink()
    with pytest.raises(InvalidModel, match=r"no model of that name in the other folder: .*Sub\.onnx"):
        pairs_of(tmp_path / "a", tmp_path / "b")


def test_models_in_a_folder(tmp_path: Path) -> None:
    folder_of_models(tmp_path)
    found = [str(path.relative_to(tmp_path)) for path in models_in(tmp_path)]
    assert found == ["add.onnx", "cut.onnx", "deep/SUB.ONNX", "deep/add.onnx", "sequence.onnx"]


DYING = """
import os, sys
from pathlib import Path
for line in sys.stdin:
    flag = Path({flag!r})
    if not flag.exists():
        flag.touch()
        os.kill(os.getpid(), 11)
    print('{{"verdict": "equal", "exit_code": 0}}', flush=True)
"""


def job(name: str, folder: Path) -> Job:
    return Job("convert", name, str(folder / name), str(folder / f"{name}.out"))


def test_a_process_that_dies_takes_one_model_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that hangs as well: the next model gets a new process."""
    text = DYING.format(flag=str(tmp_path / "died"))
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: start([sys.executable, "-c", text], **options))
    found = list(on_this_machine([job(name, tmp_path) for name in "abc"], 1, 60.0))
    assert [(row["exit_code"], row["verdict"]) for row in found] == [(70, None), (0, "equal"), (0, "equal")]
    assert found[0]["message"] == "its process ended with SIGSEGV"
    text = "import time; time.sleep(100)"
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: start([sys.executable, "-c", text], **options))
    worker = Worker(0.5, 1 << 30)
    assert worker.do(job("d", tmp_path)) == {"verdict": None, "exit_code": 70, "message": "it took more than 0.5 s"}
    worker.close()
    assert worker.do(job("e", tmp_path))["exit_code"] == 130


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def _processes_in(folder: Path) -> list[str]:
    """The processes that work in a folder."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            found += [process.name] * (os.readlink(process / "cwd") == str(folder))
    return found


def test_interrupted_and_resumed(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a sweep: what is done is kept, nothing is done twice, no process is left behind."""
    for number in range(10):
        save(tmp_path / "in" / f"m{number}.onnx", LOOP.format("Add"))
    command = [sys.executable, "-m", "backedge", "sweep", "in", "--to", "openvino", "--into", "out", "--verify", "16"]
    command.append("--no-proof")
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    results = tmp_path / "out" / "results.jsonl"
    while first.poll() is None and not (results.exists() and results.read_text().count("\n") >= 1):
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=60)
    assert first.returncode == 130 and "interrupted" in err
    done = rows_of(results)
    assert 1 <= len(done) < 10
    assert not _processes_in(tmp_path)
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert second.returncode == 0 and f"{len(done)} of 10 are done already" in second.stdout
    assert len(rows_of(results)) == 10
