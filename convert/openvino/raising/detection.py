"""OpenVINO -> the hub: the last layers of detectors, which decode, choose and list boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....passes.build import Expr, arange, concat, expr, product, where
from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, given
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from . import detectron
from .boxes import halves, moved, proper, suppress
from .rows import best_of_group, by_score, columns, exactly, highest, topk
from .support import Results, choice, operand, required

# DetectionOutput -----------------------------------------------------------------------------------

_CODES = {"caffe.priorboxparameter.corner": False, "caffe.priorboxparameter.center_size": True}


@dataclass(slots=True)
class _Single:
    """A DetectionOutput: its attributes, and the sizes of its inputs as int64 [1]."""

    centred: bool
    shared: bool
    size: int  # numbers of each prior, 5 with its image first
    variances: bool
    background: int
    like_mxnet: bool
    clip_first: bool
    confidence: float
    overlap: float
    top_k: int
    keep: int
    pixels: tuple[float, float] | None  # width, height by which priors are divided
    images: Expr
    classes: Expr
    priors: Expr


def _single(op: Builder, node: Node) -> _Single:
    scores, priors = operand(op, node, 1), operand(op, node, 2)
    attributes = node.attributes
    normal = bool(attributes.get("normalized", False))
    size = 4 if normal else 5
    count = priors.size(-1) // size
    classes = expr(op, [int(required(node, "num_classes"))]) if node.version < 8 else scores.size(1) // count
    found = _Single(
        centred=choice(node, "code_type", "caffe.PriorBoxParameter.CORNER", _CODES),
        shared=bool(attributes.get("share_location", True)),
        size=size,
        variances=not attributes.get("variance_encoded_in_target", False),
        background=int(attributes.get("background_label_id", 0)),
        like_mxnet=bool(attributes.get("decrease_label_id", False)),
        clip_first=bool(attributes.get("clip_before_nms", False)),
        confidence=float(attributes.get("confidence_threshold", 0.0)),
        overlap=float(required(node, "nms_threshold")),
        top_k=int(attributes.get("top_k", -1)),
        keep=int(required(node, "keep_top_k")[0]),
        pixels=None if normal else (attributes.get("input_width", 1), attributes.get("input_height", 1)),
        images=scores.size(0),
        classes=classes,
        priors=count,
    )
    if found.like_mxnet and found.background != 0:
        raise Unsupported(node, "decrease_label_id with a background other than class 0, which OpenVINO doesn't run")
    return found


@rule(DOMAIN, "DetectionOutput")
def detection_output(op: Builder, node: Node) -> Results:
    """DetectionOutput-1 (the number of classes is an attribute), -8: rows [image, class, score, x1, y1, x2, y2].

    After the last detection comes a row that begins with -1, then rows of 0 up to a number known beforehand.
    """
    wish = _single(op, node)
    boxes, scores = _decoded(op, node, wish), _confidences(op, node, wish)
    candidates = _candidates(wish, scores)
    if wish.shared:
        boxes = boxes.squeeze(2)
        places = suppress(proper(halves(boxes)), candidates, wish.overlap, None, _least(wish))
    else:
        boxes = boxes.transpose(0, 2, 1, 3)
        groups = product([wish.images, wish.classes])
        lines = candidates.reshape(groups, 1, wish.priors)
        corners = halves(boxes.reshape(groups, wish.priors, 4))
        found = suppress(proper(corners), lines, wish.overlap, None, _least(wish))
        places = columns(found[:, 0] // wish.classes, found[:, 0] % wish.classes, found[:, 2])
    score = scores.call("GatherND", places)
    if wish.keep >= 0:
        kept = _kept(wish, places, score)
        places, score = places.gather(kept), score.gather(kept)
    corners = boxes.call("GatherND", places.gather([0, 2], axis=1) if wish.shared else places)
    if node.attributes.get("clip_after_nms", False):
        corners = corners.call("Clip", 0.0, 1.0)
    heads = places[:, :2] - np.array([0, 1]) if wish.like_mxnet else places[:, :2]
    rows = concat(op, [heads.cast(DType.FLOAT32), score[:, None], corners], 1)
    ended = concat(op, [rows, expr(op, [[-1.0, 0, 0, 0, 0, 0, 0]])])
    return exactly(ended, _total(wish))[None, None].cast(dtype_of(node, given(node, 1))).value()


def _least(wish: _Single) -> float:
    """MXNet's way takes a score that is equal to the threshold, Caffe's doesn't."""
    threshold = np.float32(wish.confidence)
    return float(np.nextafter(threshold, np.float32(-np.inf)) if wish.like_mxnet else threshold)


def _total(wish: _Single) -> Expr:
    """How many rows the result has."""
    if wish.keep > 0:
        return wish.images * wish.keep
    if wish.top_k > 0:
        return wish.images * wish.top_k * wish.classes
    return product([wish.images, wish.classes, wish.priors])


def _decoded(op: Builder, node: Node, wish: _Single) -> Expr:
    """Corners [images, priors, 1 or classes, 4]."""
    priors = operand(op, node, 2, DType.FLOAT32)
    boxes = priors[:, 0].reshape(None, wish.priors, 1, wish.size)
    if wish.size == 5:
        boxes = boxes[..., 1:5]
    variances = None
    if wish.variances:
        numbers = priors[:, 1]
        if wish.size == 5:
            numbers = numbers[:, : wish.priors * 4]
        variances = numbers.reshape(None, wish.priors, 1, 4)
    for index in [4, 0] if node.input(4) is not None else [0]:
        moves = operand(op, node, index, DType.FLOAT32).reshape(None, wish.priors, -1, 4)
        boxes = _decode(wish, boxes, moves, variances)
    return boxes


def _decode(wish: _Single, priors: Expr, moves: Expr, variances: Expr | None) -> Expr:
    """Corners [..., 4] of priors that were moved."""
    if wish.pixels is not None and wish.pixels != (1, 1):
        priors = priors / np.array(wish.pixels * 2, np.float32)
    if variances is not None:
        moves = variances * moves
    found = concat(priors.op, moved(halves(priors), halves(moves)), -1) if wish.centred else priors + moves
    return found.call("Clip", 0.0, 1.0) if wish.clip_first else found


def _confidences(op: Builder, node: Node, wish: _Single) -> Expr:
    """Scores [images, classes, priors]; with the inputs of a refinement, priors that aren't likely to be an object
    are background."""
    scores = operand(op, node, 1, DType.FLOAT32).reshape(None, wish.priors, wish.classes)
    if node.input(3) is not None:
        likely = operand(op, node, 3, DType.FLOAT32).reshape(None, wish.priors, 2)[..., 1:2]
        background = arange(op, wish.classes).equals(wish.background).cast(DType.FLOAT32)
        scores = where(likely < float(node.attributes.get("objectness_score", 0.0)), background, scores)
    if wish.size == 5:
        # the first prior of image -1 and all that follow it are none (so a Proposal ends its list)
        image = operand(op, node, 2, DType.FLOAT32)[:, 0].reshape(None, wish.priors, 5)[..., :1]
        scores = where(image.equals(-1).cast(DType.FLOAT32).cumsum(1).equals(0), scores, -math.inf)
    return scores.transpose(0, 2, 1)


def _candidates(wish: _Single, scores: Expr) -> Expr:
    """The scores [images, classes, priors] of what may be a detection, -inf elsewhere."""
    labels = arange(scores.op, wish.classes)[:, None]
    if wish.background >= 0 or wish.like_mxnet:
        scores = where(labels.equals(wish.background), -math.inf, scores)
    if not wish.like_mxnet:
        return highest(scores, wish.top_k)
    scores = where(labels.equals(scores.call("ArgMax", axis=1, keepdims=1)), scores, -math.inf)
    if wish.top_k < 0:
        return scores
    flat = scores.reshape(None, 1, wish.classes * wish.priors)
    return highest(flat, wish.top_k).reshape(None, wish.classes, wish.priors)


def _kept(wish: _Single, places: Expr, score: Expr) -> Expr:
    """Which rows have the `keep` best scores of their image, equal ones by prior; in their old order."""
    order = best_of_group(by_score(score, places[:, 2]), places[:, 0], wish.images, wish.keep)
    return topk(order, order.sizes(), 0, largest=False)[0]


RULES = combine(collect(globals()), detectron.RULES)
