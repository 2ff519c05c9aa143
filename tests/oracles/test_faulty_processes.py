"""Processes of runtimes that do what they shouldn't: each costs its own input, and none an error of ours."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from backedge.passes.errors import BackedgeError
from backedge.runtime.oracles import driver
from backedge.runtime.oracles.answer import Answer
from backedge.runtime.oracles.driver import drive
from backedge.runtime.oracles.transport import read_values, write_values

SESSION = '''
"""A runtime that does to its process what its input says, and gives it back."""

import json, os, sys, time
from pathlib import Path

coarse = False


def open_session(path, options):
    if path.name != "m":
        misbehave(path.name)
    return sys.modules[__name__]


def everywhere(data):
    for handle in map(int, os.listdir("/proc/self/fd")):
        if handle > 2:
            try:
                os.write(handle, data)
            except OSError:
                pass


def misbehave(text):
    answer = {"error": "", "input": 0, "stage": "", "seconds": 0.0, "fault": "", "coarse": False, "note": ""}
    match text:
        case "garbage":
            everywhere(b"\\xff\\0garbage\\n")
        case "a line without end":
            everywhere(b"[" * 300_000)
        case "another's answer":
            everywhere(json.dumps(answer | {"input": 77}).encode() + b"\\n")
        case "an answer of other types":
            everywhere(json.dumps(answer | {"seconds": "soon"}).encode() + b"\\n")
        case "no outputs":
            everywhere(json.dumps(answer | {"input": int(next(Path().glob("in.*")).suffix[1:])}).encode() + b"\\n")
            time.sleep(60)
        case "closes and goes on":
            for handle in map(int, os.listdir("/proc/self/fd")):
                if handle > 2:
                    try:
                        os.close(handle)
                    except OSError:
                        pass
            time.sleep(60)
        case "dies":
            os.kill(os.getpid(), 9)
        case "hangs":
            time.sleep(60)


def run(feeds):
    misbehave(str(feeds["x"]))
    return feeds, ""
'''

KINDS = {
    "garbage": "wrote something else",
    "a line without end": "wrote something else",
    "another's answer": "wrote something else",
    "an answer of other types": "wrote something else",
    "no outputs": "outputs can't be read",
    "closes and goes on": "closed its output",
    "dies": "SIGKILL",
    "hangs": "no answer within",
}


@pytest.fixture(autouse=True)
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faulty").mkdir()
    (tmp_path / "faulty" / "session.py").write_text(SESSION)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(driver, "_PATIENCE", 0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_that_makes_it_misbehave_loses_no_other(tmp_path: Path, kind: str) -> None:
    feeds = [{"x": np.array(text)} for text in ("good", kind, "good")]
    first, faulty, last = drive("faulty.session", tmp_path / "m", feeds, 1.0 if kind == "hangs" else 20.0, 100.0, {})
    assert first.outputs == last.outputs == {"x": np.array("good")}
    assert faulty.outputs is None and KINDS[kind] in faulty.error
    assert faulty.stage == ("timeout" if kind == "hangs" else "crash")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("hangs", "no outputs")])
def test_a_model_that_makes_it_misbehave_is_not_loaded(tmp_path: Path, kind: str) -> None:
    feeds = [{"x": np.array("good")}] * 2
    for outcome in drive("faulty.session", tmp_path / kind, feeds, 20.0, 100.0, {}):
        assert outcome.stage == "load" and KINDS[kind] in outcome.error


@pytest.mark.parametrize(
    "line",
    [
        "",
        "null",
        "3",
        "[]",
        "{}",
        '{"error": ""}',
        "[" * 30_000,
        Answer().line().replace('"input": -1', '"input": true'),
        Answer().line().replace('"error": ""', '"error": null'),
        Answer().line().replace("}", ', "more": 1}'),
        Answer().line()[:-3],
    ],
)
def test_lines_that_are_no_answers(line: str) -> None:
    assert Answer.of(line) is None


def test_lines_that_are() -> None:
    answer = Answer('"\n\ud800', 3, "run", 0.5, "fault", True, "note")
    assert Answer.of(answer.line()) == answer


def test_no_damage_to_a_file_of_values_is_an_error_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "values"
    values = {"x": np.arange(3, dtype=np.int16), "s": np.array(["a", "b"]), "q": [None, {"k": np.float32(1)}]}
    write_values(path, values)
    whole = path.read_bytes()
    header = 16 + int.from_bytes(whole[8:16], "little")
    for place in range(header):
        for byte in (0, 0xFF, ord("9"), ord("["), ord('"')):
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            try:
                read_values(path)
            except ValueError:
                continue
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError):
            read_values(path)


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, values: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(driver, "write_values", full)
    with pytest.raises(BackedgeError, match="No space left"):
        list(drive("faulty.session", tmp_path / "m", [{"x": np.array("good")}], 20.0, 100.0, {}))
