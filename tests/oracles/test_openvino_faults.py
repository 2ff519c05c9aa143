"""Equal scores that OpenVINO sorts in an order of its own, and what it leaves undefined."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.runtime.oracles.openvino_faults import FEW, NO_IMAGE, TIES, Sorted, faults, tied


def watched(layer, among, boxes=0):
    return Sorted(0, among, layer, boxes)


@pytest.mark.parametrize(
    ("scores", "boxes", "expected"),
    [
        ([[1, 2, 1, 2]], 2, False),  # both boxes have the same scores, none has one twice
        ([[1, 1, 3, 4]], 2, True),
        ([[1, 2, 1, 2]], 0, True),
        ([[1, 2, 3, 4], [1, 2, 3, 4]], 2, False),
    ],
)
def test_classes_of_one_box(scores, boxes, expected):
    assert tied(watched("DetectionOutput", "box", boxes), np.float32(scores)) is expected


def test_the_foreground_of_proposals_only():
    scores = np.float32([[[[5]], [[5]], [[1]], [[2]]]])
    assert not tied(watched("Proposal", "image"), scores)
    scores[0, 3] = 1
    assert tied(watched("Proposal", "image"), scores)


def test_lines_of_a_class():
    scores = np.float32([[[1, 2], [1, 2]]])
    assert not tied(watched("MatrixNms", "line"), scores)
    assert tied(watched("MatrixNms", "line"), np.float32([[[1, 2], [3, 3]]]))


def test_a_single_image_without_a_dimension_for_it():
    assert tied(watched("ExperimentalDetectronTopKROIs", "image"), np.float32([1, 2, 1]))
    assert not tied(watched("ExperimentalDetectronTopKROIs", "image"), np.float32([1, 2, 3]))


def test_fewer_proposals_than_asked_for():
    rows = np.float32([[0, 1, 1, 2, 2], [0, 1, 1, 3, 3]])
    end = watched("Proposal", "end")
    assert faults([end], [rows]) == ""
    rows[1] = [-1, 0, 0, 0, 0]
    assert faults([end], [rows]) == FEW


@pytest.mark.parametrize(("image", "told"), [([9, 9, 0], ""), ([0, 9, 1], NO_IMAGE), ([9, 9, -1], NO_IMAGE)])
def test_an_image_without_size(image, told):
    assert faults([watched("Proposal", "size")], [np.float32(image)]) == told


def test_what_is_told():
    one, two = watched("MatrixNms", "line"), watched("MatrixNms", "line")
    plain, equal = np.float32([[[1, 2]]]), np.float32([[[2, 2]]])
    assert faults([one, two], [plain, equal]) == TIES
    assert faults([one, two], [plain, plain]) == ""
    assert faults([], []) == ""
