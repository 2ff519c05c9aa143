"""The public `run` on whole networks against ONNX Runtime (one thread each): how many times as fast.

    python -m bench.bench_networks [part of a name]      (from the folder tests; wheels are fetched)

As for loops (`bench_run`): timed in turns after what can be compiled is compiled, answers compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from backedge.convert import load
from backedge.runtime import prepare, run
from bench.bench_run import least, warmed_up
from real.models import MODELS

_TESTS = Path(__file__).parents[1]
_WARM_UP = 15.0  # seconds
_APART = 0.05  # of the largest number: a quantizer may round to another step
WANTED = {
    "rapidocr det": 0.6,
    "rapidocr cls": 0.6,
    "rapidocr rec": 0.6,
    "nudenet": 0.6,
    "magika": 0.6,
    "silero": 0.6,
    "basic pitch": 0.6,
    "ddddocr det": 0.6,
    "ddddocr common_old": 0.4,  # 8-bit weights
}


def measure(name: str) -> float:
    """How many times as fast a network is on its first inputs."""
    real = next(real for real in MODELS if real.name == name)
    path, feeds = real.fetch(), real.feeds()[0]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    graph = load(path)
    prepare(graph, feeds)
    found = warmed_up(lambda: run(graph, feeds), _WARM_UP)
    names = [value.name for value in graph.outputs]
    for key, value in zip(names, session.run(names, feeds), strict=True):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.abs(found[key] - value).max() <= _APART * np.abs(value).max()
    theirs, ours = least([lambda: session.run(names, feeds), lambda: run(graph, feeds)])
    return theirs / ours


def measure_alone(name: str) -> float:
    """`measure` in a process of its own, as NumPy's threads are set before it is imported."""
    command = [sys.executable, "-m", "bench.bench_networks", "--one", name]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=alone, cwd=_TESTS)
    return float(found.stdout.split()[-1])


def main(part: str = "") -> None:
    """Print the table."""
    print(f"{'':24}{'reached':>9}{'wanted':>9}   times as fast as ONNX Runtime {onnxruntime.__version__}")
    for name, wanted in WANTED.items():
        if part in name:
            print(f"{name:24}{measure_alone(name):9.2f}{wanted:9.1f}", flush=True)


@pytest.mark.bench
def test_networks() -> None:
    """Prints the figures; what they should be depends on the machine."""
    main()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(measure(sys.argv[2]))
    else:
        main(*sys.argv[1:])
