"""OpenVINO -> the hub: the last layers of detectors, which decode, choose and list boxes, Detectron's among them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....passes.build import Expr, arange, concat, expr, product, where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .boxes import (
    Corners,
    area,
    argsort_by_score,
    corners_of,
    decoded,
    only_topk,
    ordered_corners,
    padded_to,
    stack_columns,
    suppress,
    suppress_by_loop,
    topk,
    topk_of_group,
)
from .nonstandard_opsets import OLD, under_other_opsets
from .support import Results, choice, operand, operands, required

# DetectionOutput -----------------------------------------------------------------------------------

_CODES = {"caffe.priorboxparameter.corner": False, "caffe.priorboxparameter.center_size": True}


@dataclass(slots=True)
class _Request:
    """A DetectionOutput: its attributes, and the sizes of its inputs as int64 [1]."""

    shared: bool
    size: int  # numbers of each prior, 5 with its image first
    background: int
    like_mxnet: bool
    top_k: int
    keep: int
    images: Expr
    classes: Expr
    priors: Expr


def _request(op: Builder, node: Node) -> _Request:
    scores, priors = operand(op, node, 1), operand(op, node, 2)
    attributes = node.attributes
    size = 4 if attributes.get("normalized", False) else 5
    count = priors.size(-1) // size
    classes = expr(op, [int(required(node, "num_classes"))]) if node.version < 8 else scores.size(1) // count
    request = _Request(
        shared=bool(attributes.get("share_location", True)),
        size=size,
        background=int(attributes.get("background_label_id", 0)),
        like_mxnet=bool(attributes.get("decrease_label_id", False)),
        top_k=int(attributes.get("top_k", -1)),
        keep=int(required(node, "keep_top_k")[0]),
        images=scores.size(0),
        classes=classes,
        priors=count,
    )
    if request.like_mxnet and request.background != 0:
        raise Unsupported(node, "decrease_label_id with a background other than class 0, which OpenVINO doesn't run")
    return request


@rule(DOMAIN, "DetectionOutput")
def detection_output(op: Builder, node: Node) -> Results:
    """DetectionOutput-1 (the number of classes is an attribute), -8: rows [image, class, score, x1, y1, x2, y2].

    After the last detection comes a row that begins with -1, then rows of 0 up to a number known beforehand.
    """
    request = _request(op, node)
    boxes, scores = _decoded(op, node, request), _confidences(op, node, request)
    candidates, overlap = _candidates(request, scores), float(required(node, "nms_threshold"))
    threshold = np.float32(node.attributes.get("confidence_threshold", 0.0))
    if request.like_mxnet:  # MXNet's way takes a score that is equal to the threshold, Caffe's doesn't
        threshold = np.nextafter(threshold, np.float32(-np.inf))
    if request.shared:
        boxes = boxes.squeeze(2)
        positions = suppress(ordered_corners(corners_of(boxes)), candidates, overlap, None, float(threshold))
    else:
        boxes = boxes.transpose(0, 2, 1, 3)
        groups = product([request.images, request.classes])
        lines = candidates.reshape(groups, 1, request.priors)
        corners = corners_of(boxes.reshape(groups, request.priors, 4))
        by_class = suppress(ordered_corners(corners), lines, overlap, None, float(threshold))
        positions = stack_columns(by_class[:, 0] // request.classes, by_class[:, 0] % request.classes, by_class[:, 2])
    score = scores.call("GatherND", positions)
    if request.keep >= 0:
        kept = _kept(request, positions, score)
        positions, score = positions.gather(kept), score.gather(kept)
    corners = boxes.call("GatherND", positions.gather([0, 2], axis=1) if request.shared else positions)
    if node.attributes.get("clip_after_nms", False):
        corners = corners.call("Clip", 0.0, 1.0)
    heads = positions[:, :2] - np.array([0, 1]) if request.like_mxnet else positions[:, :2]
    rows = concat(op, [heads.cast(DType.FLOAT32), score[:, None], corners], 1)
    ended = concat(op, [rows, expr(op, [[-1.0, 0, 0, 0, 0, 0, 0]])])
    return padded_to(ended, _total(request))[None, None].cast(dtype_of(node, input_of(node, 1))).value()


def _total(request: _Request) -> Expr:
    """How many rows the result has."""
    if request.keep > 0:
        return request.images * request.keep
    if request.top_k > 0:
        return request.images * request.top_k * request.classes
    return product([request.images, request.classes, request.priors])


def _decoded(op: Builder, node: Node, request: _Request) -> Expr:
    """Corners [images, priors, 1 or classes, 4]."""
    priors = operand(op, node, 2, DType.FLOAT32)
    boxes = priors[:, 0].reshape(None, request.priors, 1, request.size)
    if request.size == 5:
        boxes = boxes[..., 1:5]
    variances = None
    if not node.attributes.get("variance_encoded_in_target", False):
        numbers = priors[:, 1]
        if request.size == 5:
            numbers = numbers[:, : request.priors * 4]
        variances = numbers.reshape(None, request.priors, 1, 4)
    for index in [4, 0] if node.input(4) is not None else [0]:
        moves = operand(op, node, index, DType.FLOAT32).reshape(None, request.priors, -1, 4)
        boxes = _decode(node, boxes, moves, variances)
    return boxes


def _decode(node: Node, priors: Expr, moves: Expr, variances: Expr | None) -> Expr:
    """Corners [..., 4] of priors that were moved."""
    attributes = node.attributes
    pixels = attributes.get("input_width", 1), attributes.get("input_height", 1)
    if not attributes.get("normalized", False) and pixels != (1, 1):
        priors = priors / np.array(pixels * 2, np.float32)
    if variances is not None:
        moves = variances * moves
    centred = choice(node, "code_type", "caffe.PriorBoxParameter.CORNER", _CODES)
    found = concat(priors.op, decoded(corners_of(priors), corners_of(moves)), -1) if centred else priors + moves
    return found.call("Clip", 0.0, 1.0) if attributes.get("clip_before_nms", False) else found


def _confidences(op: Builder, node: Node, request: _Request) -> Expr:
    """Scores [images, classes, priors]; with the inputs of a refinement, priors that aren't likely to be an object
    are background."""
    scores = operand(op, node, 1, DType.FLOAT32).reshape(None, request.priors, request.classes)
    if node.input(3) is not None:
        likely = operand(op, node, 3, DType.FLOAT32).reshape(None, request.priors, 2)[..., 1:2]
        background = arange(op, request.classes).equals(request.background).cast(DType.FLOAT32)
        scores = where(likely < float(node.attributes.get("objectness_score", 0.0)), background, scores)
    if request.size == 5:
        # the first prior of image -1 and all that follow it are none (so a Proposal ends its list)
        image = operand(op, node, 2, DType.FLOAT32)[:, 0].reshape(None, request.priors, 5)[..., :1]
        scores = where(image.equals(-1).cast(DType.FLOAT32).cumsum(1).equals(0), scores, -math.inf)
    return scores.transpose(0, 2, 1)


def _candidates(request: _Request, scores: Expr) -> Expr:
    """The scores [images, classes, priors] of what may be a detection, -inf elsewhere."""
    labels = arange(scores.op, request.classes)[:, None]
    if request.background >= 0 or request.like_mxnet:
        scores = where(labels.equals(request.background), -math.inf, scores)
    if not request.like_mxnet:
        return only_topk(scores, request.top_k)
    scores = where(labels.equals(scores.call("ArgMax", axis=1, keepdims=1)), scores, -math.inf)
    if request.top_k < 0:
        return scores
    flat = scores.reshape(None, 1, request.classes * request.priors)
    return only_topk(flat, request.top_k).reshape(None, request.classes, request.priors)


def _kept(request: _Request, positions: Expr, score: Expr) -> Expr:
    """Which rows have the `keep` best scores of their image, equal ones by prior; in their old order."""
    order = topk_of_group(argsort_by_score(score, positions[:, 2]), positions[:, 0], request.images, request.keep)
    return topk(order, order.sizes(), 0, largest=False)[0]


# Detectron: features of regions, detections --------------------------------------------------------


_CANONICAL_SIZE, _CANONICAL_LEVEL = 224.0, 2
"""A region of this size (the root of its area) is looked up on this level of a pyramid, one of twice the size on
the next."""


@rule(DOMAIN, "ExperimentalDetectronROIFeatureExtractor")
def roi_features(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronROIFeatureExtractor-6: RoiAlign of each region on the level that fits its size; also the
    regions as they came. A region without area has features of 0.

    OpenVINO takes regions as at least one pixel wide, aligned or not: so they are scaled and shifted before.
    """
    boxes, *maps = operands(op, node, *range(len(node.formal_inputs)))
    scales = [int(one) for one in required(node, "pyramid_scales")]
    if not maps or len(scales) < len(maps):
        raise InvalidModel(f"{node!r}: {len(scales)} pyramid_scales for {len(maps)} levels")
    for name in ("preserve_rois_order", "distribute_rois_between_levels"):  # of files of 2020
        if str(node.attributes.get(name, 1)) in ("0", "false"):
            raise Unsupported(node, f"{name} is off")
    extent, samples = int(required(node, "output_size")), int(required(node, "sampling_ratio"))
    levels = _levels(boxes, len(maps))
    positions: list[Expr] = []
    parts: list[Expr] = []
    for level, (features, scale) in enumerate(zip(maps, scales, strict=False)):
        here = levels.equals(level).call("NonZero").squeeze(0)
        mine = boxes.gather(here) * float(np.float32(1) / np.float32(scale))
        found = op.RoiAlign(
            features,
            mine - 0.5 if node.attributes.get("aligned", False) else mine,
            here - here,
            mode="avg",
            output_height=extent,
            output_width=extent,
            sampling_ratio=samples,
            spatial_scale=1.0,
            coordinate_transformation_mode="output_half_pixel",
        )
        parts.append(expr(op, found))
        positions.append(here)
    nothing = expr(op, 0.0).broadcast_to(boxes.size(0), maps[0].size(1), extent, extent)
    table = nothing.call("ScatterND", concat(op, positions)[:, None], concat(op, parts))
    return table.cast(dtype_of(node, input_of(node, 1))).value(), op.Identity(input_of(node, 0))


def _levels(boxes: Expr, count: int) -> Expr:
    """The level of each box as int64, `count` for a box without area."""
    low, high = corners_of(boxes)
    extent = area(high - low)
    size = extent.sqrt() / _CANONICAL_SIZE + 1e-6
    bounds = np.array([2.0 ** (level - _CANONICAL_LEVEL) for level in range(1, count)], np.float32)
    level = (size[:, None] >= bounds).cast(DType.INT64).sum(1)
    return where(extent > 0, level, count)


@rule(DOMAIN, "ExperimentalDetectronDetectionOutput")
def detectron_output(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronDetectionOutput-6: boxes, classes and scores, by class; by score if not all are kept.

    Class 0 is the background. Rows of 0 follow up to `max_detections_per_image`. Files of 2020 may have the image of
    each as a fourth output: there is only one.
    """
    boxes, deltas, scores = operands(op, node, 0, 1, 2)
    most = int(required(node, "max_detections_per_image"))
    corners, scores = _refined(node, boxes, deltas, scores)
    scores = where(scores > float(required(node, "score_threshold")), scores, -math.inf)
    each = int(required(node, "post_nms_count"))
    per_class = boxes.size(0) if each < 0 else expr(op, [each])
    overlap = float(required(node, "nms_threshold"))
    positions, values = suppress_by_loop(corners, scores[:, None], per_class, overlap, 1.0)
    total = values.sizes()
    order = where(total > most, argsort_by_score(values, positions[:, 2]), arange(op, total))[:most]
    positions, values = positions.gather(order), values.gather(order)
    which = positions.gather([0, 2], axis=1)
    rows = concat(op, [corner.call("GatherND", which) for corner in corners], 1)
    padded = [padded_to(one, most) for one in (rows, positions[:, 0] + 1, values)]
    kind = node.outputs[1].tensor.dtype or DType.INT32
    types = [dtype_of(node, input_of(node)), kind, dtype_of(node, input_of(node, 2))]
    results = [one.cast(dtype).value() for one, dtype in zip(padded, types, strict=True)]
    if len(node.outputs) == 4:
        results.append(op.const(np.zeros(most, kind.numpy), kind))
    return results


def _refined(node: Node, boxes: Expr, deltas: Expr, scores: Expr) -> tuple[Corners, Expr]:
    """Corners [classes - 1, boxes, 2] and scores [classes - 1, boxes]; all 0 for a box without area."""
    count = int(required(node, "num_classes"))
    low, high = corners_of(boxes[:, None])
    weights = np.array(required(node, "deltas_weights"), np.float32)
    moves = (deltas.reshape(-1, count, 4) / weights)[:, 1:count]
    real = (high - low).min(2, keepdims=True) > 0
    growth = float(required(node, "max_delta_log_wh"))
    found = decoded((low, high), corners_of(moves), 1.0, inner=True, most=growth)
    corners = [where(real, one.maximum(0), 0).transpose(1, 0, 2) for one in found]
    return corners, where(real.squeeze(2), scores[:, 1:count], 0).transpose(1, 0)


_NAMES = ("ExperimentalDetectronROIFeatureExtractor", "ExperimentalDetectronDetectionOutput")


RULES = under_other_opsets(collect(globals()), [(name, name, 6) for name in _NAMES], OLD)
