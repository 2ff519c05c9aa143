"""Many threads, and processes forked from one that has run models: the same results as one run after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import backedge
import numpy as np
import pytest
from backedge.convert.files import load, to_hub
from backedge.passes.threads import ForkableLock, without_warnings
from backedge.runtime.compiled import cache
from backedge.runtime.executor import Executor

SAMPLES = Path(__file__).parents[2] / "samples"
THREADS = 8


def told(arrays: Any) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    """Results with their element types, shapes and bits."""
    return [(name, array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()]


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Results of so many calls, which begin together in threads."""
    barrier = threading.Barrier(THREADS)

    def begin(number: int) -> Any:
        if number < THREADS:
            barrier.wait(timeout=60)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(count)))


def collatz() -> Executor:
    return Executor(to_hub(load(SAMPLES / "collatz.onnx")))


def test_threads_that_share_an_executor() -> None:
    executor = collatz()
    (name,) = [value.name for value in executor.graph.inputs]
    given = [{name: np.int64(20 + number)} for number in range(32)]
    alone = [told(collatz().run(one)) for one in given]
    assert at_once(32, lambda number: told(executor.run(given[number]))) == alone


def test_threads_that_each_convert_and_verify(tmp_path: Path) -> None:
    def work(number: int) -> tuple[str, bytes]:
        return _verified(number, tmp_path / f"{number}.xml")

    alone = [work(number) for number in range(2)]
    assert [verdict for verdict, _ in alone] == ["equal", "equal"]
    assert at_once(THREADS, work) == alone * 4


def _verified(number: int, made: Path) -> tuple[str, bytes]:
    """A verdict that both files' runtimes gave, in processes of their own, and the file."""
    source = SAMPLES / ("newton_sqrt.onnx", "lcg.onnx")[number % 2]
    return backedge.convert(source, made, proof=False, verify=2).verdict, made.read_bytes()


def _run_and_verified(number: int) -> tuple[list[tuple[str, str, tuple[int, ...], bytes]], str, bytes]:
    executor = collatz()
    (name,) = [value.name for value in executor.graph.inputs]
    with tempfile.TemporaryDirectory() as folder:
        verdict, made = _verified(number, Path(folder) / "made.xml")
    return told(executor.run({name: np.int64(20 + number)})), verdict, made


@pytest.mark.parametrize("method", ["fork", "spawn", pytest.param("forkserver", marks=pytest.mark.full)])
def test_processes_of_one_that_has_run_models(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    alone = [_run_and_verified(number) for number in range(2)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map_async(_run_and_verified, range(2)).get(timeout=120) == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_lock_is_free_in_a_child_that_is_forked_while_another_thread_holds_it() -> None:
    lock, held, done = ForkableLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(timeout=60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(timeout=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads, from Python 3.12 on
        child = os.fork()
    if not child:
        signal.alarm(60)
        with lock:
            os._exit(7)
    done.set()
    thread.join(timeout=60)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_thread_that_forks_while_it_holds_a_lock() -> None:
    """Its copy in the child gives the lock back, too, and may take it again."""
    lock = ForkableLock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            with lock:
                child = os.fork()
            if not child:
                signal.alarm(60)
                with lock:
                    os._exit(7)
        except RuntimeError:  # in the child: it was free already
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_waits_for_what_is_being_compiled() -> None:
    """The child would wait for Numba's locks for ever."""
    compiling, forked = threading.Event(), list[bool]()

    def compile() -> None:
        with cache._LOCK:
            compiling.set()
            threading.Event().wait(0.1)
            forked.append(False)

    thread = threading.Thread(target=compile)
    thread.start()
    compiling.wait(timeout=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        signal.alarm(60)
        with cache._LOCK:
            os._exit(5 if forked else 6)
    thread.join(timeout=60)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 5


def test_filters_of_warnings_are_restored() -> None:
    """Of threads that change and restore them in turn none leaves its own behind."""
    before = list(warnings.filters)

    def work(number: int) -> None:
        for _ in range(50):
            with without_warnings():
                warnings.warn("unseen", stacklevel=1)
                threading.Event().wait(0.0001)

    at_once(THREADS, work)
    assert list(warnings.filters) == before
