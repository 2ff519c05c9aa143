"""Eight threads against one: how many times as fast the same work is done.

    python -m bench.bench_threads [part of a name]      (from the folder tests)

Both sides do the same calls on one `Executor` (or the same conversions), in turns, after everything is loaded and
compiled; each thread does its share of them. The median of the rounds counts, and their least and greatest stand
beside it. Results are compared before.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backedge.convert import convert
from backedge.convert.files import to_hub
from backedge.convert.onnx.read import read_model
from backedge.runtime.executor import Executor
from bench import bench_run
from bench.bench_run import Arrays, warmed_up
from executor.test_threads import told

THREADS = 8
ROUNDS = 5
_SAMPLES = Path(__file__).parents[2] / "samples"
_PRODUCTS = """g (float[512, 512] x, float[512, 512] k) => (float[512, 512] y) {
  a = MatMul (x, k) b = Tanh (a) y = MatMul (b, k) }"""
_ELEMENTS = "g (float[n, m] x) => (float[n, m] y) { a = Exp (x) b = Tanh (a) y = Erf (b) }"


@dataclass(frozen=True)
class Row:
    """A name, the work by its number, and how many pieces of work make a round."""

    name: str
    work: Callable[[int], Any]
    count: int


def _runs(name: str, text: str | Path, inputs: Arrays, count: int) -> Row:
    executor = Executor(to_hub(read_model(bench_run.Row(name, text, inputs, 1).model())))
    warmed_up(lambda: executor.run(inputs))
    return Row(name, lambda _: executor.run(inputs), count)


def rows(folder: Path) -> Iterator[Row]:
    """From work that machine code does without the interpreter to work that only the interpreter does."""
    draw = np.random.default_rng(0)
    for passes, count in ((3_000_000, 24), (100_000, 200), (10_000, 1000), (100, 2000)):
        given = {"seed": np.array(3), "count": np.array(passes)}
        yield _runs(f"loop of {passes:,} passes", _SAMPLES / "lcg.onnx", given, count)
    million = {"x": draw.random((1000, 1000), np.float32)}
    yield _runs("operators on 10^6 elements", _ELEMENTS, million, 16)
    products = {name: draw.random((512, 512), np.float32) for name in "xk"}
    yield _runs("products of 512 x 512", _PRODUCTS, products, 32)
    samples = sorted(_SAMPLES.glob("*.onnx"))[:THREADS]
    for name, trials in (("conversions to IR", 0), ("conversions to IR, verified", 16)):
        yield Row(
            name,
            lambda k, trials=trials: convert(samples[k], folder / f"{k}.xml", verify=trials, proof=False).verdict,
            len(samples),
        )


def measure(row: Row) -> list[float]:
    """How many times as fast the threads are, in each of the rounds."""

    def share(first: int) -> list[Any]:
        return [row.work(k) for k in range(first, row.count, THREADS)]

    found: list[float] = []
    with ThreadPoolExecutor(THREADS) as pool:
        assert _told([share(first) for first in range(THREADS)]) == _told(pool.map(share, range(THREADS)))
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            for first in range(THREADS):
                share(first)
            between = time.perf_counter()
            list(pool.map(share, range(THREADS)))
            found.append((between - begin) / (time.perf_counter() - between))
    return found


def _told(results: Iterable[list[Any]]) -> list[list[Any]]:
    """What can be compared: verdicts, and arrays with their bits."""
    return [[one if isinstance(one, str) else told(one) for one in share] for share in results]


def main(part: str = "") -> None:
    """Print the table."""
    print(f"{'':32}{'median':>8}{'least':>8}{'most':>8}   times as fast as in turn, {THREADS} threads")
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(Path(folder)):
            if part in row.name:
                found = measure(row)
                print(f"{row.name:32}{statistics.median(found):8.2f}{min(found):8.2f}{max(found):8.2f}", flush=True)


@pytest.mark.bench
def test_threads() -> None:
    """Prints the figures; what they should be depends on the machine."""
    main()


if __name__ == "__main__":
    main(*sys.argv[1:])
