"""Runs in which OpenVINO's answer isn't the model's, found by looking at what its layers are given.

Some layers sort by score with a sort that isn't stable: where two scores are equal, the answer is one of several right
ones, and must not count as the only one. Others leave part of their answer as it stood in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Among = Literal["image", "line", "box", "end", "size"]
"""What scores are sorted with: all of the image, the same class of it, those of the same box (other classes). "end":
they are rows, the first beyond the last one begins with -1. "size": they are the height and width of an image, and
scales."""

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
_IMAGE = 2  # input of Proposal

TIES = "OpenVINO leaves open which of equal scores comes first, and this run has some"
FEW = "OpenVINO leaves the scores of proposals undefined that there aren't, and this run has fewer than asked for"
NO_IMAGE = "OpenVINO proposes nothing for an image without a size"
LOOPS = {"Loop", "TensorIterator"}
ABSOLUTE = "OpenVINO gives the absolute values of what is joined to all that reads it, where one Abs does"


@dataclass(frozen=True, slots=True)
class Sorted:
    """Scores that a layer sorts: which result of the model they are, and how they are to be seen."""

    result: int
    among: Among
    layer: str
    boxes: int  # of each image, 0 where that isn't known


def layers(model: Any) -> Iterator[tuple[Any, str]]:
    """Every layer of an OpenVINO model and its type, those in bodies and branches included."""
    for node in model.get_ops():
        kind = node.get_type_name()
        yield node, kind
        bodies = ((0,), (1,)) if kind == "If" else ((),) if kind in LOOPS else ()
        for body in bodies:
            yield from layers(node.get_function(*body))


def spoils_joined(model: Any) -> bool:
    """Whether an Abs, outside of bodies or in one, reads a Concat that something else reads, too."""
    read = (node.input_value(0) for node, kind in layers(model) if kind == "Abs")
    return any(one.node.get_type_name() == "Concat" and len(one.get_target_inputs()) > 1 for one in read)


def watch(model: Any) -> list[Sorted]:
    """Make the scores that the layers of an OpenVINO model sort results of it, too."""
    found: list[Sorted] = []
    for node in list(model.get_ordered_ops()):
        layer = node.get_type_name()
        if layer not in _SORTED:
            continue
        index, among = _SORTED[layer]
        found.append(Sorted(_result(model, node.input_value(index)), among, layer, _boxes(node)))
        if layer == "Proposal":
            found.append(Sorted(_result(model, node.input_value(_IMAGE)), "size", layer, 0))
        if layer == "Proposal" and len(node.outputs()) > 1 and node.output(1).get_target_inputs():
            found.append(Sorted(_result(model, node.output(0)), "end", layer, 0))
    return found


def _result(model: Any, value: Any) -> int:
    """The place of a value among the model's results, of which it becomes one."""
    (made,) = model.add_outputs([value])
    return model.get_result_index(made)


def _boxes(node: Any) -> int:
    """The number of boxes whose scores stand in a row, class after class; 1 where each has a row of its own."""
    if node.get_type_name() != "DetectionOutput":
        return 1
    length = node.input_value(_PRIORS).partial_shape[2]
    if length.is_dynamic:
        return 0
    return length.get_length() // (4 if node.get_attributes()["normalized"] else 5)


def tied(watched: Sorted, scores: np.ndarray[Any, Any]) -> bool:
    """Whether two scores are equal that the layer sorts together, or what else makes its answer no answer."""
    if watched.among == "end":
        return bool((scores[:, 0] == -1).any())
    if watched.among == "size":
        return bool((scores.reshape(-1)[:2] <= 0).any() or (scores < 0).any())
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


def faults(watched: Sequence[Sorted], scores: Sequence[np.ndarray[Any, Any]]) -> str:
    """One line if a layer was given what it has no one answer to, else ""."""
    for one, found in zip(watched, scores, strict=True):
        if tied(one, found):
            return {"end": FEW, "size": NO_IMAGE}.get(one.among, TIES)
    return ""
