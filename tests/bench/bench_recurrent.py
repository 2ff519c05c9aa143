"""Recurrences as loops and as operators: time in ONNX Runtime and in OpenVINO (one thread each).

    python tests/bench/bench_recurrent.py

Answers are compared before anything is timed. Prints milliseconds for one run, and the ratio unfused / fused.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.files import load, to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.requested_passes import to_dialect_after
from backedge.passes.structure.recurrent import FuseRecurrent

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a program, tests/ isn't on the path
from recurrent import grus, lstms, models, runs
from recurrent.models import Case

RUNS = 15
SUFFIXES = {"onnx": ".onnx", "openvino": ".xml"}
SESSIONS: dict[str, Callable[[Path], Any]] = {"onnx": runs.onnxruntime_session, "openvino": runs.openvino_session}


@dataclass(frozen=True)
class Size:
    steps: int
    batch: int
    inputs: int
    units: int
    dynamic: str = ""


SIZES = [Size(100, 1, 64, 64), Size(100, 1, 64, 64, "TB"), Size(100, 8, 128, 256)]
CASES: list[Case] = [lstms.PYTORCH, lstms.FLAX, grus.CASES[0], next(c for c in grus.CASES if c.name == "rnn_tanh")]


def _timed(run: Callable[[], object]) -> float:
    """Milliseconds, the median of some runs."""
    run()
    times: list[float] = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def _measured(case: Case, size: Size, target: str, folder: Path) -> tuple[float, float]:
    models.INPUTS, models.UNITS = size.inputs, size.units
    path = folder / f"{case.name}.onnx"
    made = models.model(case, 0, size.steps, size.batch, size.dynamic)
    for tensor in made.graph.initializer:  # so that states don't run into their bounds
        array = onnx.numpy_helper.to_array(tensor) / np.sqrt(size.units)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array.astype(np.float32), tensor.name))
    onnx.save(made, path)
    inputs = models.inputs(made, 1, size.steps, size.batch)
    graph, form = load(path), FORMATS[target]
    times: list[float] = []
    answers: list[dict[str, np.ndarray]] = []
    for tag, lowered in (
        ("loop", to_dialect(graph, form) if target != "onnx" else graph),
        ("operator", to_dialect_after([FuseRecurrent()], graph, form)),
    ):
        file = folder / f"{case.name}_{tag}{SUFFIXES[target]}"
        form.write(lowered, file)
        session = SESSIONS[target](file)
        answers.append({name: np.array(value) for name, value in session(inputs).items()})
        times.append(_timed(lambda session=session: session(inputs)))
    for name, value in answers[0].items():
        np.testing.assert_allclose(answers[1][name], value, rtol=1e-3, atol=1e-4)
    return times[0], times[1]


@pytest.mark.bench
def test_recurrent() -> None:
    main()


def main() -> None:
    before = models.INPUTS, models.UNITS
    print(f"{'':28} steps batch units  sizes   runtime      loop  operator   ratio")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in CASES:
                for size in SIZES:
                    for target in SUFFIXES:
                        loop, operator = _measured(case, size, target, Path(folder))
                        sizes = "open" if size.dynamic else "fixed"
                        print(
                            f"{case.name:28}{size.steps:6}{size.batch:6}{size.units:6}{sizes:>7} {target:>9}"
                            f"{loop:8.2f}ms{operator:8.2f}ms{loop / operator:8.1f}",
                            flush=True,
                        )
    finally:
        models.INPUTS, models.UNITS = before


if __name__ == "__main__":
    main()
