"""A Dask cluster of a real scheduler and three workers on loopback, of which one is killed in the middle."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from backedge.convert.cli import main
from backedge.convert.many.cluster import on_cluster
from backedge.convert.many.jobs import Job
from backedge.passes.errors import InvalidModel

from .models import LOOP, folder_of_models, save
from .test_many import rows_of, run

pytestmark = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="Dask isn't installed")


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """A scheduler and so many workers, processes of their own: the address, the workers."""
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "5"}
    log = (folder / "cluster.log").open("w+")

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
        return subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, text=True, env=environment, start_new_session=True
        )

    processes = [start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")]
    try:
        address = _wait(folder / "cluster.log", r"Scheduler at:\s*(tcp://[\d.:]+)")[0]
        plain = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        processes += [start("dask_worker", address, "--name", f"worker {n}", *plain) for n in range(workers)]
        _wait(folder / "cluster.log", r"Registered to:", workers)
        yield address, processes[1:]
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def _wait(log: Path, pattern: str, count: int = 1) -> list[str]:
    for _ in range(1200):
        found = re.findall(pattern, log.read_text())
        if len(found) >= count:
            return found
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_one_of_three_workers_is_killed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every model has exactly one result, and every file that a result tells of is there."""
    models = folder_of_models(tmp_path / "in")
    for number in range(10):
        save(models / "more" / f"m{number:02}.onnx", LOOP.format(("Add", "Sub", "Mul")[number % 3]))
    results = tmp_path / "out" / "results.jsonl"
    with cluster(tmp_path, 3) as (address, workers):
        watch = (
            "import sys, time, os, signal; from pathlib import Path; path = Path(sys.argv[1])\n"
            "while not path.exists() or path.read_text().count(chr(10)) < 4: time.sleep(0.02)\n"
            "os.killpg(int(sys.argv[2]), signal.SIGKILL)"
        )
        killer = subprocess.Popen([sys.executable, "-c", watch, str(results), str(workers[0].pid)])
        command = ["sweep", models, "--to", "openvino", "--into", tmp_path / "out", "--scheduler", address]
        code, out, _ = run(capfd, *command, "--verify", 4)
        assert killer.wait(30) == 0 and workers[0].poll() == -signal.SIGKILL
    rows = rows_of(results)
    assert len(rows) == 15 and code == 2 and "15 models: " in out
    assert {row["exit_code"] for row in rows.values()} == {0, 2, 3}
    assert sum(row["exit_code"] == 0 for row in rows.values()) == 13
    for row in rows.values():
        assert Path(row["target"]).is_file() == (row["exit_code"] == 0)
    assert len({row["worker"] for row in rows.values()}) >= 2


LARGE = """g (float x) => (float y)
<int64[1] n = {20000000}> { large = Expand (x, n) y = ReduceMax <keepdims = 0> (large) }"""


def test_limits_of_each_sweep_hold_on_its_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those that the sweep was told, also where another one came before."""
    save(tmp_path / "large.onnx", LARGE)
    with cluster(tmp_path, 1) as (address, _):
        for memory, code, message in ((1 << 30, 0, ""), (1 << 26, 2, "80 MB")):
            monkeypatch.setenv("BACKEDGE_MEMORY", str(memory))
            target = tmp_path / f"{memory}.xml"
            job = Job("convert", "large", str(tmp_path / "large.onnx"), str(target), {"verify": 0})
            (row,) = on_cluster([job], address, 60.0)
            assert (row["exit_code"], target.exists()) == (code, not code)
            assert message in row["message"]


def test_no_scheduler(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backedge.convert.many.cluster._PATIENCE", 1)
    save(tmp_path / "m.onnx", LOOP.format("Add"))
    with pytest.raises(SystemExit) as caught:
        main(
            [
                *("convert", str(tmp_path / "m.onnx"), "--to", "openvino", "--into", str(tmp_path / "out")),
                *("--scheduler", "tcp://127.0.0.1:1"),
            ]
        )
    assert caught.value.code == 2
    assert "tcp://127.0.0.1:1: no Dask scheduler answers" in capfd.readouterr().err


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidModel, match=r"pip install \"backedge\[cluster\]\""):
        next(iter(on_cluster([], "tcp://127.0.0.1:1", 1.0)))
