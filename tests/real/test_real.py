"""Models that people use: ONNX -> IR -> ONNX, each step equal to the original under its runtime (fetched, long)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .journey import travel
from .models import MODELS, Real


@pytest.mark.corpus
@pytest.mark.timeout(900)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_there_and_back(tmp_path: Path, model: Real) -> None:
    journey = travel(model, tmp_path)
    assert journey.to_ir.right, journey.to_ir
    assert journey.back.right, journey.back
