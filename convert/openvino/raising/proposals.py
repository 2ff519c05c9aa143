"""OpenVINO -> the hub: proposals of regions, from anchors that a network moves and rates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.build import Expr, arange, concat, expr, where
from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .boxes import (
    Corners,
    bincount,
    clip_corners,
    corners_of,
    decoded,
    inclusive_sides,
    padded_groups,
    padded_to,
    suppress,
    suppress_by_loop,
    topk,
)
from .nonstandard_opsets import OLD, under_other_opsets
from .support import Results, choice, element_type, operand, operands, required

_MOST_GROWTH = math.log(1000 / 16)
"""By which the sides of Detectron's boxes grow at most, as a logarithm."""


# anchors and their moves ---------------------------------------------------------------------------


def _grid(boxes: Expr, extents: Sequence[Expr], strides: Sequence[Expr | float], start: float, turned: bool) -> Expr:
    """Boxes [boxes, 4] at each position of a grid: [height, width, boxes, 4].

    `extents` and `strides` are those of the height and the width; `turned`: rows move boxes along x, columns along y.
    """
    lines: list[Expr] = []
    for axis, (count, step) in enumerate(zip(extents, strides, strict=True)):
        indices = arange(boxes.op, count).cast(DType.FLOAT32)
        indices = indices + start if start else indices
        along_x = (axis == 1) != turned
        pace = boxes.like(np.array([1, 0, 1, 0] if along_x else [0, 1, 0, 1])) * step
        lines.append((indices[:, None, None, None] if axis == 0 else indices[:, None, None]) * pace)
    return boxes + lines[1] + lines[0]


def _by_position(values: Expr, anchors: Expr | int, width: int) -> Expr:
    """[images, anchors * width, height, width] as [images, height * width * anchors, width]."""
    return values.reshape(None, anchors, width, -1).transpose(0, 3, 1, 2).reshape(None, -1, width)


def _scores_by_position(scores: Expr) -> Expr:
    """[images, anchors, height, width] as [images, height * width * anchors]."""
    return scores.transpose(0, 2, 3, 1).reshape(None, -1)


def _large(corners: Corners, least: Expr | float, offset: float) -> Expr:
    """1.0 for boxes whose sides are no shorter than `least`, else 0.0: [images, boxes]."""
    return (inclusive_sides(corners[1] - corners[0], offset) >= least).cast(DType.FLOAT32).min(-1)


def _best(scores: Expr, corners: Corners, most: int) -> tuple[Expr, Corners, Expr]:
    """The `most` best scores [images, boxes] in order, their corners, their positions."""
    values, indices = topk(scores, scores.size(1).minimum(most), 1)
    return values, [one.call("GatherND", indices[:, :, None], batch_dims=1) for one in corners], indices


def _kept_boxes(scores: Expr, corners: Corners, overlap: float, most: int, offset: float) -> tuple[Expr, Expr, Expr]:
    """(image, corners [boxes, 4], score) of the boxes that overlap no better one, at most `most` of each image."""
    op, lines = scores.op, scores[:, None]
    if offset:
        indices, values = suppress_by_loop(corners, lines, expr(op, [most]), overlap, offset)
    else:
        indices = suppress(concat(op, corners, 2), lines, overlap, most)
        values = lines.call("GatherND", indices)
    which = indices.gather([0, 2], axis=1)
    return indices[:, 0], concat(op, [one.call("GatherND", which) for one in corners], 1), values


# Proposal ------------------------------------------------------------------------------------------


def _anchors(node: Node, like_tensorflow: bool) -> np.ndarray:
    """The boxes [ratios * scales, 4] around the first position, computed in float32 as OpenVINO does."""
    one, half = np.float32(1), np.float32(0.5)
    offset = np.float32(0 if like_tensorflow else 1)
    base = np.float32(required(node, "base_size"))
    centre = half * (base - offset) - (half * base if like_tensorflow else np.float32(0))
    boxes: list[list[np.float32]] = []
    for ratio in np.array(required(node, "ratio"), np.float32):
        width = np.sqrt(base * base / ratio)
        if not like_tensorflow:
            width = np.floor(width + half)
        height = width * ratio
        if not like_tensorflow:
            height = np.floor(height + half)
        for scale in np.array(required(node, "scale"), np.float32):
            across, down = half * (width * scale - offset * one), half * (height * scale - offset * one)
            boxes.append([centre - across, centre - down, centre + across, centre + down])
    return np.array(boxes, np.float32)


@rule(DOMAIN, "Proposal")
def proposal(op: Builder, node: Node) -> Results:
    """Proposal-1 (boxes only), -4 (with their scores): rows [image, x1, y1, x2, y2], `post_nms_topn` of each image.

    Where there are fewer, a row follows that begins with -1, then rows of 0.
    """
    attributes = node.attributes
    turned = choice(node, "framework", "", {"": False, "tensorflow": True})
    offset = 0.0 if turned else 1.0
    scores, deltas, info = operands(op, node, 0, 1, 2)
    info = info.reshape(-1)
    limit = info.gather([0, 1] if turned else [1, 0])
    boxes = _anchors(node, turned)
    step, count = float(np.float32(required(node, "feat_stride"))), len(boxes)
    grid = _grid(expr(op, boxes), (scores.size(2), scores.size(3)), (step, step), 0, turned).reshape(-1, 4)
    corners = corners_of(grid)
    if turned:
        corners = clip_corners(corners, limit)
    scales = (float(attributes.get(name, 1.0)) for name in ("box_coordinate_scale", "box_size_scale"))
    moves = [move / scale for move, scale in zip(corners_of(_by_position(deltas, count, 4)), scales, strict=True)]
    corners = decoded(corners, moves, offset)
    if attributes.get("clip_before_nms", True):
        corners = clip_corners(corners, limit - offset)
    rates = _scores_by_position(scores[:, count:])
    least = int(required(node, "min_size"))
    if least:
        rates = rates * _large(corners, info.gather([-1, 2]) * least, offset)
    rates, corners, _ = _best(rates, corners, int(required(node, "pre_nms_topn")))
    most = int(required(node, "post_nms_topn"))
    image, rows, values = _kept_boxes(rates, corners, float(required(node, "nms_thresh")), most, offset)
    both = concat(op, [limit, limit])
    if attributes.get("clip_after_nms", False):
        rows = rows.minimum(both).maximum(0)
    if attributes.get("normalize", False):
        rows = rows / both
    rows = concat(op, [image.cast(DType.FLOAT32)[:, None], rows], 1)
    images, dtype = scores.size(0), dtype_of(node, input_of(node))
    table = padded_groups(image, images, rows, most, [[-1.0, 0, 0, 0, 0]]).reshape(-1, 5).cast(dtype).value()
    if node.version < 4:
        return table
    return table, padded_groups(image, images, values, most).reshape(-1).cast(dtype).value()


# Detectron and Paddle ------------------------------------------------------------------------------


@rule(DOMAIN, "ExperimentalDetectronGenerateProposalsSingleImage")
def single_image(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronGenerateProposalsSingleImage-6: always `post_nms_count` boxes and scores, zeros at the end.

    A box that is too small is rated 0.
    """
    info, anchors, deltas, scores = operands(op, node, 0, 1, 2, 3)
    deltas, scores = deltas[None], scores[None]
    corners = _detectron(anchors, deltas, scores.size(1), info.reshape(-1).gather([1, 0]), 1.0)
    rates = _scores_by_position(scores) * _large(corners, float(required(node, "min_size")), 1.0)
    rates, corners, _ = _best(rates, corners, int(required(node, "pre_nms_count")))
    most = int(required(node, "post_nms_count"))
    _, rows, values = _kept_boxes(rates, corners, float(required(node, "nms_threshold")), most, 0.0)
    dtype = dtype_of(node, input_of(node, 1))
    return [padded_to(one, most).cast(dtype).value() for one in (rows, values)]


def _detectron(anchors: Expr, deltas: Expr, count: Expr, limit: Expr, offset: float) -> Corners:
    """Anchors [boxes, 4] moved by deltas [images, anchors * 4, height, width], within the image."""
    moves = corners_of(_by_position(deltas, count, 4))
    return clip_corners(decoded(corners_of(anchors), moves, offset, inner=True, most=_MOST_GROWTH), limit - offset)


@rule(DOMAIN, "GenerateProposals")
def generate_proposals(op: Builder, node: Node) -> Results:
    """GenerateProposals-9: boxes, scores, and how many there are of each image. A box that is too small is none."""
    offset = 0.0 if node.attributes.get("normalized", True) else 1.0
    overlap = float(required(node, "nms_threshold"))
    if float(node.attributes.get("nms_eta", 1.0)) != 1:
        raise Unsupported(node, "nms_eta isn't 1, which OpenVINO doesn't take either")
    info, anchors, deltas, scores = operands(op, node, 0, 1, 2, 3)
    limit = info.gather([1, 0], axis=1)[:, None]
    corners = _detectron(anchors.reshape(-1, 4), deltas, scores.size(1), limit, offset)
    least = info.gather([-1, 2], axis=1)[:, None] * float(required(node, "min_size"))
    large = _large(corners, least, offset)
    rates, corners, indices = _best(_scores_by_position(scores), corners, int(required(node, "pre_nms_count")))
    rates = where(large.call("GatherElements", indices, axis=1) > 0, rates, -math.inf)
    most = int(required(node, "post_nms_count"))
    image, rows, values = _kept_boxes(rates, corners, overlap, most, offset)
    dtype = dtype_of(node, input_of(node, 1))
    sizes = bincount(image, scores.size(0)).cast(element_type(node, "roi_num_type", "i64") or DType.INT64)
    return rows.cast(dtype).value(), values.cast(dtype).value(), sizes.value()


@rule(DOMAIN, "ExperimentalDetectronPriorGridGenerator")
def prior_grid(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronPriorGridGenerator-6: boxes around the middle of each position of a grid."""
    boxes, features, image = operand(op, node, 0, DType.FLOAT32), operand(op, node, 1), operand(op, node, 2)
    extents: list[Expr] = []
    strides: list[Expr | float] = []
    for axis, (extent, stride) in enumerate((("h", "stride_y"), ("w", "stride_x")), start=2):
        known, have = int(node.attributes.get(extent, 0)), size_of_axis(input_of(node, 1), axis)
        if known and have not in (None, known):
            raise Unsupported(node, f"{extent} is {known}, and the features are of {have}")
        extents.append(expr(op, [known]) if known else features.size(axis))
        over, under = image.size(axis).cast(DType.FLOAT32), extents[-1].cast(DType.FLOAT32)
        strides.append(float(node.attributes.get(stride, 0.0)) or over / under)
    grid = _grid(boxes, extents, strides, 0.5, False)
    if node.attributes.get("flatten", True):
        grid = grid.reshape(-1, 4)
    return grid.cast(dtype_of(node, input_of(node))).value()


@rule(DOMAIN, "ExperimentalDetectronTopKROIs")
def top_rois(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronTopKROIs-6: the `max_rois` boxes with the best scores; zeros follow if there are fewer."""
    boxes, scores = operand(op, node, 0), operand(op, node, 1, DType.FLOAT32)
    most = int(required(node, "max_rois"))
    count = scores.size(0).minimum(most)
    found = boxes.gather(topk(scores, count, 0)[1])
    return (found if count.item() == most else padded_to(found, most)).value()


_NAMES = (
    "ExperimentalDetectronGenerateProposalsSingleImage",
    "ExperimentalDetectronPriorGridGenerator",
    "ExperimentalDetectronTopKROIs",
    "Proposal",
)

RULES = under_other_opsets(collect(globals()), [(name, name, 6) for name in _NAMES], OLD)
