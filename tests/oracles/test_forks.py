"""Sessions forked from a process that has imported their runtime."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.runtime.oracles import forks, run_file, stream_file
from backedge.runtime.oracles.driver import drive
from backedge.runtime.oracles.forks import warm_up
from onnx import parser

SAMPLE = Path(__file__).parents[2] / "samples" / "lstm_tensor_iterator.xml"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems start each session's process anew")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] y) { y = Exp(x) }'
    onnx.save(parser.parse_model(text), path)
    return path


@pytest.fixture(autouse=True)
def servers(monkeypatch):
    """Servers of the test's own, ended with it."""
    monkeypatch.delenv("BACKEDGE_FORK", raising=False)
    found = forks.Servers()
    monkeypatch.setattr(forks, "SERVERS", found)
    yield found
    found.close()


X = {"x": np.array([0.0, 1.0, -np.inf], np.float32)}


def test_sessions_side_by_side_answer_as_those_in_processes_started_anew(model, monkeypatch):
    streams = [stream_file("onnxruntime", model, [X, X]) for _ in range(3)]
    found = [next(stream) for stream in (*streams, *streams)]
    monkeypatch.setenv("BACKEDGE_FORK", "0")
    [anew] = run_file("onnxruntime", model, [X])
    assert len(forks.SERVERS.processes) == 1
    for outcome in found:
        np.testing.assert_array_equal(outcome.outputs["y"], anew.outputs["y"])


def test_a_session_sees_folder_and_environment_of_now(tmp_path, monkeypatch):
    (tmp_path / "seeing").mkdir()
    (tmp_path / "seeing" / "session.py").write_text(SEEING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(forks, "OURS", "seeing")
    for text in ("first", "second"):
        monkeypatch.setenv("BACKEDGE_SEEN", text)
        [outcome] = drive("seeing.session", tmp_path / "m", [{}], 20.0, 100.0, {})
        assert str(outcome.outputs["environment"]) == text
        assert Path(str(outcome.outputs["folder"])).parent.name.startswith("backedge-")
    assert len(forks.SERVERS.processes) == 1


SEEING = """
import os
import numpy as np

class Session:
    coarse = False

    def run(self, feeds):
        return {"environment": np.array(os.environ["BACKEDGE_SEEN"]), "folder": np.array(os.getcwd())}, ""

def open_session(path, options):
    return Session()
"""


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_without_a_server_a_process_is_started(model):
    [before] = run_file("onnxruntime", model, [X])
    (server,) = forks.SERVERS.processes
    server.kill()
    server.wait()
    [after] = run_file("onnxruntime", model, [X])
    [again] = run_file("onnxruntime", model, [X])
    for outcome in (after, again):
        np.testing.assert_array_equal(outcome.outputs["y"], before.outputs["y"])
    assert len(forks.SERVERS.processes) == 2  # a new one


def test_sessions_die_with_their_server(model):
    stream = stream_file("onnxruntime", model, [X, X])
    next(stream)
    (server,) = forks.SERVERS.processes
    server.kill()
    server.wait()
    [second] = [*stream]
    assert second.stage == "crash"


@pytest.mark.parametrize("asked", [b"", b"\x01", forks.NUMBER.pack(100), forks.NUMBER.pack(100) + b'{"module": '])
def test_a_server_outlives_who_asks_in_part(model, asked):
    """A process that is killed while it asks leaves the others' sessions as they are."""
    run_file("onnxruntime", model, [X])
    (server,) = forks.SERVERS.processes
    connection = forks.SERVERS.of("onnxruntime_session")
    ours, theirs = socket.socketpair()
    read, written = os.pipe()
    socket.send_fds(connection, [b"!"], [theirs.fileno(), read, written, written])
    ours.sendall(asked)
    for one in (ours, theirs):
        one.close()
    for handle in (read, written):
        os.close(handle)
    [found] = run_file("onnxruntime", model, [X])
    assert not found.error
    assert [one.pid for one in forks.SERVERS.processes] == [server.pid]


def test_imports_alone_make_no_session(model):
    warm_up("onnxruntime_session", model, {})
    (server,) = forks.SERVERS.processes
    [found] = run_file("onnxruntime", model, [X])
    assert not found.error
    assert not _children(server.pid)


def test_servers_end_with_the_process_that_asked(model, tmp_path):
    code = f"""
import numpy as np
from pathlib import Path
from backedge.runtime.oracles import forks, run_file
run_file("onnxruntime", Path({str(model)!r}), [{{"x": np.zeros(1, np.float32)}}])
print(forks.SERVERS.processes[0].pid, flush=True)
import os
os._exit(0)  # nothing is tidied up
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid = int(done.stdout)
    for _ in range(100):
        if not _is_running(pid):
            return
        time.sleep(0.1)
    pytest.fail("the server outlives its owner")


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_process_forked_from_the_owner_shares_the_servers(model):
    run_file("onnxruntime", model, [X])
    pid = os.fork()
    if not pid:
        status = 1
        try:
            [found] = run_file("onnxruntime", model, [X])
            status = int(bool(found.error)) or len(forks.SERVERS.processes) - 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    [found] = run_file("onnxruntime", model, [X])
    assert not found.error


@pytest.mark.parametrize("module", ["openvino_session", "reading"])
def test_openvino_starts_no_python_thread(module: str) -> None:
    """A process forked while another thread imports something may wait for that thread's lock for ever."""
    program = (
        "import pathlib, sys, threading\n"
        f"from backedge.runtime.oracles import {module} as session\n"
        "if len(sys.argv) > 1: session._openvino(pathlib.Path(sys.argv[1]))\n"
        "print(len(threading.enumerate()), 'openvino' in sys.modules)"
    )
    sample = [str(SAMPLE)] if module == "reading" else []
    found = subprocess.run([sys.executable, "-c", program, *sample], stdout=subprocess.PIPE, text=True, check=True)
    assert found.stdout.split() == ["1", "True"]
