"""Layers that OpenVINO sorts by score with a sort that isn't stable: where two scores are equal, its answer is one of
several right ones, and must not count as the only one (runs in a child process).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Among = Literal["image", "line", "box"]
"""What scores are sorted with: all of the image, the same class of it, those of the same box (other classes)."""

_SORTED: dict[str, tuple[int, Among]] = {
    "DetectionOutput": (1, "box"),
    "ExperimentalDetectronDetectionOutput": (2, "box"),
    "ExperimentalDetectronGenerateProposalsSingleImage": (3, "image"),
    "ExperimentalDetectronTopKROIs": (1, "image"),
    "GenerateProposals": (3, "image"),
    "MatrixNms": (1, "line"),
    "Proposal": (0, "image"),
}
_SINGLE = ("ExperimentalDetectronGenerateProposalsSingleImage", "ExperimentalDetectronTopKROIs")
_PRIORS = 2  # input of DetectionOutput

TIES = "OpenVINO leaves open which of equal scores comes first, and this run has some"


@dataclass(frozen=True, slots=True)
class Sorted:
    """Scores that a layer sorts: which result of the model they are, and how they are to be seen."""

    result: int
    among: Among
    layer: str
    boxes: int  # of each image, 0 where that isn't known


def watch(model: Any) -> list[Sorted]:
    """Make the scores that the layers of an OpenVINO model sort results of it, too."""
    found: list[Sorted] = []
    for node in list(model.get_ordered_ops()):
        layer = node.get_type_name()
        if layer not in _SORTED:
            continue
        index, among = _SORTED[layer]
        (made,) = model.add_outputs([node.input_value(index)])
        found.append(Sorted(model.get_result_index(made), among, layer, _boxes(node) if among == "box" else 0))
    return found


def _boxes(node: Any) -> int:
    """The number of boxes whose scores stand in a row, class after class; 1 where each has a row of its own."""
    if node.get_type_name() != "DetectionOutput":
        return 1
    length = node.input_value(_PRIORS).partial_shape[2]
    if length.is_dynamic:
        return 0
    return length.get_length() // (4 if node.get_attributes()["normalized"] else 5)


def tied(watched: Sorted, scores: np.ndarray[Any, Any]) -> bool:
    """Whether two scores are equal that the layer sorts together."""
    if watched.layer == "Proposal":
        scores = scores[:, scores.shape[1] // 2 :]
    if watched.layer in _SINGLE:
        scores = scores.reshape(1, -1)
    if watched.among == "line":
        rows = scores.reshape(-1, scores.shape[-1])
    elif watched.among == "box" and watched.boxes:
        rows = scores.reshape(scores.shape[0] * watched.boxes, -1)
    else:
        rows = scores.reshape(scores.shape[0], -1)
    return bool((np.diff(np.sort(rows, axis=1), axis=1) == 0).any())


def ties(watched: Sequence[Sorted], scores: Sequence[np.ndarray[Any, Any]]) -> str:
    """One line if a layer had equal scores to sort, else ""."""
    return TIES if any(tied(one, found) for one, found in zip(watched, scores, strict=True)) else ""
