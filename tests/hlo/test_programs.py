"""JAX programs through the stages of the sweep: a sample by default, all of them under `-m corpus`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
pytest.importorskip("jax")

from openvino_lowering.worker import Worker

from .cases import case_of
from .programs import PROGRAMS
from .stages import GOOD, STAGES, THEIRS, asked, difference, judge

_SECONDS = 120
_STAGES = ("text", "executor", "onnx")
_MORE_STAGES = tuple(stage for stage in STAGES if stage != "openvino")  # which has faults of its own
SAMPLE = sorted(np.random.default_rng(0).choice(sorted(PROGRAMS), 32, replace=False))

FAULTS = {("arguments_special", "onnx"): "ONNX Runtime's ArgMax and ArgMin overlook a NaN that isn't the first element"}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker(judge)
    yield worker
    worker.stop()


def _hold(name: str, stages: tuple[str, ...], worker: Worker, folder: Path) -> None:
    case = case_of(PROGRAMS[name])
    for stage in stages:
        if asked(stage, case):
            verdict = worker.ask(stage, case, folder, timeout=_SECONDS)
            if (name, stage) in FAULTS:
                assert verdict.verdict == THEIRS, f"{stage}: {verdict.verdict}: {verdict.reason}"
                continue
            assert verdict.verdict in GOOD, f"{stage}: {verdict.verdict}: {verdict.reason}"


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name: str, worker: Worker, tmp_path: Path) -> None:
    _hold(name, _STAGES, worker, tmp_path)


@pytest.mark.corpus
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, worker: Worker, tmp_path: Path) -> None:
    _hold(name, _MORE_STAGES, worker, tmp_path)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (np.float32([1, np.nan]), np.float32([1, 2])),
        (np.float32([1, np.inf]), np.float32([1, -np.inf])),
        (np.float32([1, 1.0001]), np.float32([1, 1])),
        (np.float64([1]), np.float32([1])),
        (np.int32([1, 2]), np.int32([1, 3])),
        (np.zeros((1, 2), np.float32), np.zeros(2, np.float32)),
        (np.float32([[1, 2]]), np.complex64([1 + 3j])),
    ],
)
def test_the_judge_sees_a_difference(found: np.ndarray, wanted: np.ndarray) -> None:
    assert difference(found, wanted)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (np.float32([1, np.nan, -np.inf]), np.float32([1, np.nan, -np.inf])),
        (np.float32([1000, 0.001]), np.float32([1000.001, 0])),
        (np.float32([[1, 2]]), np.complex64([1 + 2j])),
        (np.zeros(0, np.int32), np.zeros(0, np.int32)),
    ],
)
def test_the_judge_allows_rounding(found: np.ndarray, wanted: np.ndarray) -> None:
    assert not difference(found, wanted)
