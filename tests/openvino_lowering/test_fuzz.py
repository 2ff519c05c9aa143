"""Random nested loops and branches: the executor and OpenVINO agree."""

from __future__ import annotations

import pytest

from .fuzz import check
from .runner import Runner


@pytest.mark.parametrize("seed", range(12))
def test_few(openvino: Runner, seed: int) -> None:
    assert not check(seed, openvino)


@pytest.mark.corpus
@pytest.mark.timeout(3600)
def test_many(openvino: Runner) -> None:
    assert {seed: reason for seed in range(12, 1000) if (reason := check(seed, openvino))} == {}
