"""OpenVINO -> the hub: proposals of regions, from anchors that a network moves and rates."""

from __future__ import annotations

import math

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .boxes import Corners, bounded, by_loop, halves, longer, moved, suppress
from .nonstandard_opsets import OLD, elsewhere
from .rows import column, exactly, least_of, lists, tally
from .support import (
    Results,
    cast,
    choice,
    concatenated,
    dimension,
    element_type,
    integers,
    number,
    required,
    steps,
    vector,
)

_MOST_GROWTH = math.log(1000 / 16)
"""By which the sides of Detectron's boxes grow at most, as a logarithm."""


# anchors and their moves ---------------------------------------------------------------------------


def _grid(
    op: Builder, boxes: Value, extents: tuple[Value, Value], strides: tuple[Value, Value], start: float, turned: bool
) -> Value:
    """Boxes [boxes, 4] at each place of a grid: [height, width, boxes, 4].

    `extents` and `strides` are those of the height and the width; `turned`: rows move boxes along x, columns along y.
    """
    lines: list[Value] = []
    for axis, (count, step) in enumerate(zip(extents, strides, strict=True)):
        places = cast(op, steps(op, count), DType.FLOAT32)
        if start:
            places = op.Add(places, number(op, start, places))
        along_x = (axis == 1) != turned
        mask = op.Mul(step, op.const(np.array([1, 0, 1, 0] if along_x else [0, 1, 0, 1], np.float32)))
        lines.append(op.Mul(op.Unsqueeze(places, op.const([1, 2, 3] if axis == 0 else [1, 2])), mask))
    return op.Add(op.Add(boxes, lines[1]), lines[0])


def _by_place(op: Builder, value: Value, anchors: Value, width: int) -> Value:
    """[images, anchors * width, height, width] as [images, height * width * anchors, width]."""
    split = op.Reshape(value, concatenated(op, [op.const([0]), anchors, op.const([width, -1])]))
    return op.Reshape(op.Transpose(split, perm=[0, 3, 1, 2]), op.const([0, -1, width]))


def _rates_by_place(op: Builder, scores: Value) -> Value:
    """[images, anchors, height, width] as [images, height * width * anchors]."""
    return op.Reshape(op.Transpose(scores, perm=[0, 2, 3, 1]), op.const([0, -1]))


def _large(op: Builder, corners: Corners, least: Value, offset: float) -> Value:
    """1.0 for boxes whose sides are no shorter than `least`, else 0.0: [images, boxes]."""
    sides = longer(op, op.Sub(corners[1], corners[0]), offset)
    fits = cast(op, op.GreaterOrEqual(sides, least), DType.FLOAT32)
    return op.ReduceMin(fits, op.const([-1]), keepdims=0)


def _best(op: Builder, scores: Value, corners: Corners, most: int) -> tuple[Value, Corners, Value]:
    """The `most` best scores [images, boxes] in order, their corners, their places."""
    values, places = op.TopK(scores, least_of(op, dimension(op, scores, 1), most), axis=1, _outputs=2)
    index = op.Unsqueeze(places, op.const([2]))
    low, high = (op.GatherND(one, index, batch_dims=1) for one in corners)
    return values, (low, high), places


def _survivors(
    op: Builder, scores: Value, corners: Corners, overlap: float, most: int, offset: float
) -> tuple[Value, Value, Value]:
    """(image, corners [boxes, 4], score) of the boxes that overlap no better one, at most `most` of each image."""
    lines = op.Unsqueeze(scores, op.const([1]))
    if offset:
        places, values = by_loop(op, corners, lines, op.const([most]), overlap, offset)
    else:
        places = suppress(op, op.Concat(*corners, axis=2), lines, overlap, op.const([most]))
        values = op.GatherND(lines, places)
    where = op.Gather(places, op.const([0, 2]), axis=1)
    return column(op, places, 0), op.Concat(*(op.GatherND(one, where) for one in corners), axis=1), values


# Proposal ------------------------------------------------------------------------------------------


def _anchors(node: Node, like_tensorflow: bool) -> np.ndarray:
    """The boxes [ratios * scales, 4] around the first place, computed in float32 as OpenVINO does."""
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
    scores, deltas, info = (cast(op, given(node, index), DType.FLOAT32) for index in range(3))
    info = vector(op, info, DType.FLOAT32)
    limit = op.Gather(info, op.const([0, 1] if turned else [1, 0]))
    boxes = _anchors(node, turned)
    count = op.const([len(boxes)], DType.INT64)
    step = op.const(np.float32(required(node, "feat_stride")))
    extents = dimension(op, scores, 2), dimension(op, scores, 3)
    grid = op.Reshape(_grid(op, op.const(boxes), extents, (step, step), 0, turned), op.const([-1, 4]))
    corners = halves(op, grid)
    if turned:
        corners = bounded(op, corners, limit)
    moves = halves(op, _by_place(op, deltas, count, 4))
    scales = [float(attributes.get(name, 1.0)) for name in ("box_coordinate_scale", "box_size_scale")]
    shift, growth = (
        op.Div(move, number(op, scale, move)) if scale != 1 else move for move, scale in zip(moves, scales, strict=True)
    )
    corners = moved(op, corners, (shift, growth), offset)
    if attributes.get("clip_before_nms", True):
        corners = bounded(op, corners, longer(op, limit, -offset))
    rates = _rates_by_place(op, op.Slice(scores, count, op.Shape(scores, start=1, end=2), op.const([1])))
    least = int(required(node, "min_size"))
    if least:
        smallest = op.Mul(op.Gather(info, op.const([-1, 2])), number(op, least, info))
        rates = op.Mul(rates, _large(op, corners, smallest, offset))
    rates, corners, _ = _best(op, rates, corners, int(required(node, "pre_nms_topn")))
    most = int(required(node, "post_nms_topn"))
    image, rows, values = _survivors(op, rates, corners, float(required(node, "nms_thresh")), most, offset)
    both = op.Concat(limit, limit, axis=0)
    if attributes.get("clip_after_nms", False):
        rows = op.Max(op.Min(rows, both), number(op, 0, rows))
    if attributes.get("normalize", False):
        rows = op.Div(rows, both)
    rows = op.Concat(op.Unsqueeze(cast(op, image, DType.FLOAT32), op.const([1])), rows, axis=1)
    images = dimension(op, scores, 0)
    table = lists(op, image, images, rows, most, op.const([[-1.0, 0, 0, 0, 0]]))
    dtype = dtype_of(node, given(node))
    boxes_out = cast(op, op.Reshape(table, op.const([-1, 5])), dtype)
    if node.version < 4:
        return boxes_out
    return boxes_out, cast(op, op.Reshape(lists(op, image, images, values, most), op.const([-1])), dtype)


# Detectron and Paddle ------------------------------------------------------------------------------


@rule(DOMAIN, "ExperimentalDetectronGenerateProposalsSingleImage")
def single_image(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronGenerateProposalsSingleImage-6: always `post_nms_count` boxes and scores, zeros at the end.

    A box that is too small is rated 0.
    """
    info, anchors, deltas, scores = (cast(op, given(node, index), DType.FLOAT32) for index in range(4))
    deltas, scores = (op.Unsqueeze(one, op.const([0])) for one in (deltas, scores))
    limit = op.Gather(vector(op, info, DType.FLOAT32), op.const([1, 0]))
    corners = _detectron(op, anchors, deltas, dimension(op, scores, 1), limit, 1.0)
    rates = _rates_by_place(op, scores)
    least = float(required(node, "min_size"))
    rates = op.Mul(rates, _large(op, corners, number(op, least, rates), 1.0))
    rates, corners, _ = _best(op, rates, corners, int(required(node, "pre_nms_count")))
    most = int(required(node, "post_nms_count"))
    _, rows, values = _survivors(op, rates, corners, float(required(node, "nms_threshold")), most, 0.0)
    dtype = dtype_of(node, given(node, 1))
    return [cast(op, exactly(op, one, op.const([most])), dtype) for one in (rows, values)]


def _detectron(op: Builder, anchors: Value, deltas: Value, count: Value, limit: Value, offset: float) -> Corners:
    """Anchors [boxes, 4] moved by deltas [images, anchors * 4, height, width], within the image."""
    moves = halves(op, _by_place(op, deltas, count, 4))
    corners = moved(op, halves(op, anchors), moves, offset, inner=True, most=_MOST_GROWTH)
    return bounded(op, corners, longer(op, limit, -offset))


@rule(DOMAIN, "GenerateProposals")
def generate_proposals(op: Builder, node: Node) -> Results:
    """GenerateProposals-9: boxes, scores, and how many there are of each image. A box that is too small is none."""
    offset = 0.0 if node.attributes.get("normalized", True) else 1.0
    overlap = float(required(node, "nms_threshold"))
    if float(node.attributes.get("nms_eta", 1.0)) != 1:
        raise Unsupported(node, "nms_eta isn't 1, which OpenVINO doesn't take either")
    info, anchors, deltas, scores = (cast(op, given(node, index), DType.FLOAT32) for index in range(4))
    limit = op.Unsqueeze(op.Gather(info, op.const([1, 0]), axis=1), op.const([1]))
    anchors = op.Reshape(anchors, op.const([-1, 4]))
    corners = _detectron(op, anchors, deltas, dimension(op, scores, 1), limit, offset)
    least = op.Unsqueeze(op.Gather(info, op.const([-1, 2]), axis=1), op.const([1]))
    least = op.Mul(least, number(op, float(required(node, "min_size")), least))
    large = _large(op, corners, least, offset)
    rates = _rates_by_place(op, scores)
    rates, corners, places = _best(op, rates, corners, int(required(node, "pre_nms_count")))
    kept = op.Greater(op.GatherElements(large, places, axis=1), number(op, 0, rates))
    rates = op.Where(kept, rates, number(op, -np.inf, rates))
    most = int(required(node, "post_nms_count"))
    image, rows, values = _survivors(op, rates, corners, overlap, most, offset)
    dtype = dtype_of(node, given(node, 1))
    sizes = tally(op, image, dimension(op, scores, 0))
    number_type = element_type(node, "roi_num_type", "i64") or DType.INT64
    return cast(op, rows, dtype), cast(op, values, dtype), cast(op, sizes, number_type)


@rule(DOMAIN, "ExperimentalDetectronPriorGridGenerator")
def prior_grid(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronPriorGridGenerator-6: boxes around the middle of each place of a grid."""
    boxes, features, image = cast(op, given(node, 0), DType.FLOAT32), given(node, 1), given(node, 2)
    extents: list[Value] = []
    strides: list[Value] = []
    for axis, (extent, stride) in enumerate((("h", "stride_y"), ("w", "stride_x")), start=2):
        known = int(node.attributes.get(extent, 0))
        if known and size_of_axis(features, axis) not in (None, known):
            raise Unsupported(node, f"{extent} is {known}, and the features are of {size_of_axis(features, axis)}")
        count = op.const([known], DType.INT64) if known else dimension(op, features, axis)
        extents.append(count)
        step = float(node.attributes.get(stride, 0.0))
        sizes = [cast(op, one, DType.FLOAT32) for one in (dimension(op, image, axis), count)]
        strides.append(op.const([step]) if step else op.Div(*sizes))
    grid = _grid(op, boxes, (extents[0], extents[1]), (strides[0], strides[1]), 0.5, False)
    if node.attributes.get("flatten", True):
        grid = op.Reshape(grid, op.const([-1, 4]))
    return cast(op, grid, dtype_of(node, given(node)))


@rule(DOMAIN, "ExperimentalDetectronTopKROIs")
def top_rois(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronTopKROIs-6: the `max_rois` boxes with the best scores; zeros follow if there are fewer."""
    boxes, scores = given(node, 0), cast(op, given(node, 1), DType.FLOAT32)
    most = int(required(node, "max_rois"))
    count = least_of(op, dimension(op, scores, 0), most)
    _, order = op.TopK(scores, count, axis=0, _outputs=2)
    found = op.Gather(boxes, order, axis=0)
    return found if integers(count) == [most] else exactly(op, found, op.const([most]))


_NAMES = (
    "ExperimentalDetectronGenerateProposalsSingleImage",
    "ExperimentalDetectronPriorGridGenerator",
    "ExperimentalDetectronTopKROIs",
    "Proposal",
)

RULES = elsewhere(collect(globals()), [(name, name, 6) for name in _NAMES], OLD)
