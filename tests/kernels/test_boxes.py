"""Suppression of boxes: what fits together."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.runtime.executor import ExecutionError

from kernels.one import f32, i64, run_op


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 1, 2)])
def test_a_score_for_each_box(shape: tuple[int, ...]) -> None:
    with pytest.raises(ExecutionError, match="boxes of shape"):
        run_op("NonMaxSuppression", np.zeros((1, 2, 4), np.float32), np.zeros(shape, np.float32), i64([1]))


def test_equal_scores_by_place() -> None:
    boxes, scores = f32([[[0, 0, 1, 1], [2, 2, 3, 3], [0, 0, 1, 1]]]), f32([[[0.5, 0.5, 0.5]]])
    found = run_op("NonMaxSuppression", boxes, scores, i64([3]), f32([0.5]), f32([0.0]))
    assert found.tolist() == [[0, 0, 0], [0, 0, 1]]
