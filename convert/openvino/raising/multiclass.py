"""OpenVINO -> the hub: suppression that lists the boxes of all classes of an image together, as Paddle has it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....passes.build import Expr, arange, concat, expr, loop, product, where
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.loop import Captured, Iteration, Sliced, Stacked
from ....passes.preconditions import dtype_of, input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .boxes import (
    Corners,
    area,
    argsort,
    bincount,
    corners_of,
    greedy_suppression,
    inclusive_sides,
    indices_where,
    intersection_over_union,
    just_below,
    only_topk,
    ordered_corners,
    padded_groups,
    stable_sort_by,
    stack_columns,
    topk,
    topk_of_group,
)
from .nonstandard_opsets import EXTENSION, INTERNAL, under_other_opsets
from .support import Results, choice, element_type, operand, operands, scalar

_SORTS = {"none": "score", "score": "score", "classid": "class", "class": "class"}


@dataclass(slots=True)
class _Found:
    """Boxes, in the order of images, classes, scores."""

    images: Expr  # how many, int64 [1]
    indices: Expr  # int64 [boxes, 3]: image, class, the index that the result has
    score: Expr
    box: Expr  # [boxes, 4]


def _listed(op: Builder, node: Node, found: _Found) -> list[Value]:
    """The boxes in the order that the attributes ask for, at most `keep_top_k` of each image."""
    order = _order(node, found)
    indices, score, box = (one.gather(order) for one in (found.indices, found.score, found.box))
    index = indices[:, 2:3]
    table = concat(op, [indices[:, 1:2].cast(DType.FLOAT32), score[:, None], box], 1)
    total, images = size_of_axis(node.outputs[0], 0), found.images.item()
    if total is not None and images is not None:
        length = total // max(images, 1)
        table, index = (
            padded_groups(indices[:, 0], found.images, one, length, fill=-1).reshape(-1, width)
            for one, width in ((table, 6), (index, 1))
        )
    kind = element_type(node, "output_type", "i64") or DType.INT64
    numbers = bincount(indices[:, 0], found.images)
    return [table.cast(dtype_of(node, input_of(node))).value(), index.cast(kind).value(), numbers.cast(kind).value()]


def _order(node: Node, found: _Found) -> Expr:
    """Which boxes, and in which order."""
    order = argsort(found.score)
    most = int(node.attributes.get("keep_top_k", -1))
    alone = found.images.item() == 1
    if most >= 0:
        order = topk_of_group(order, found.indices[:, 0], found.images, most)
    sort = choice(node, "sort_result_type", "none", _SORTS)
    unsorted = str(node.attributes.get("sort_result_type", "none")).lower() == "none"
    across = bool(node.attributes.get("sort_result_across_batch", False)) and not unsorted
    by_class = sort == "class" and (across or node.op_type != "MatrixNms")  # as OpenVINO obeys it
    by_image = not alone and (by_class or not across)
    keys = [1] * by_class + [0] * by_image
    for key in reversed(keys) if across else keys:
        order = stable_sort_by(order, found.indices[:, key])
    return order


def _without_background(node: Node, scores: Expr, axis: int) -> Expr:
    """Scores with -inf for the background class."""
    background = int(node.attributes.get("background_class", -1))
    if background < 0:
        return scores
    labels = arange(scores.op, scores.size(axis)).unsqueeze(*range(1, rank_of(node, scores.value()) - axis))
    return where(labels.equals(background), -math.inf, scores)


# MulticlassNms -------------------------------------------------------------------------------------


@rule(DOMAIN, "MulticlassNms")
def multiclass_nms(op: Builder, node: Node) -> Results:
    """MulticlassNms-8, -9 (also boxes of each class, those of all images in one row, with their number in each image).

    Unlike ONNX's operator, it takes a score that is equal to the threshold, and drops a box that overlaps by the
    threshold.
    """
    boxes, scores = operands(op, node, 0, 1)
    rank = rank_of(node, scores.value())
    scores = _without_background(node, scores, rank - 2)
    if rank == 3:
        return _listed(op, node, _of_shared(op, node, boxes, scores))
    if node.input(2) is None:
        raise InvalidModel(f"{node!r}: boxes of each class without their number in each image")
    return _listed(op, node, _of_classes(op, node, boxes, scores))


def _of_shared(op: Builder, node: Node, boxes: Expr, scores: Expr) -> _Found:
    """Boxes [images, boxes, 4] and scores [images, classes, boxes]."""
    indices, score = _suppressed(op, node, boxes, scores)
    rows = boxes.call("GatherND", indices.gather([0, 2], axis=1))
    return _Found(boxes.size(0), _indexed(indices, boxes.size(1)), score, rows)


def _indexed(indices: Expr, count: Expr) -> Expr:
    """[image, class, box] with the boxes counted over all images, each of which has `count`."""
    return indices + indices[:, :1] * count * np.array([0, 0, 1])


def _of_classes(op: Builder, node: Node, boxes: Expr, scores: Expr) -> _Found:
    """Boxes [classes, boxes, 4] and scores [classes, boxes]; each image sees its own boxes only."""
    counts = operand(op, node, 2, DType.INT64)
    images, classes, count = counts.size(0), boxes.size(0), boxes.size(1)
    ends = counts.maximum(0).cumsum(0)[:, None]
    owner = (arange(op, count) >= ends).cast(DType.INT64).sum(0)
    mine = owner.equals(arange(op, images)[:, None, None])
    groups = product([images, classes])
    lines = where(mine, scores, -math.inf).reshape(groups, 1, count)
    copies = boxes.broadcast_to(images, boxes.sizes()).reshape(groups, count, 4)
    indices, score = _suppressed(op, node, copies, lines)
    line, box, wide = indices[:, 0], indices[:, 2], scalar(op, classes)
    image, label = line // wide, line % wide
    rows = boxes.call("GatherND", stack_columns(label, box))
    return _Found(images, stack_columns(image, label, box * wide + label), score, rows)


def _suppressed(op: Builder, node: Node, boxes: Expr, scores: Expr) -> tuple[Expr, Expr]:
    """[batch, class, box] of the boxes kept among the `nms_top_k` best of each class, and their scores."""
    threshold = np.float32(node.attributes.get("score_threshold", 0.0))
    overlap = np.float32(node.attributes.get("iou_threshold", 0.0))
    eta = np.float32(node.attributes.get("nms_eta", 1.0))
    low, high = corners_of(boxes)
    corners = low, inclusive_sides(high, 0.0 if node.attributes.get("normalized", True) else 1.0)
    scores = only_topk(scores, int(node.attributes.get("nms_top_k", -1)))
    count = scores.size(2)
    if 0 <= eta < 1 and overlap > 0.5:
        alive = where(scores >= float(threshold), scores, -math.inf)
        return _adapting(corners, alive, count, float(overlap), float(eta))
    least = op.const([float(np.nextafter(threshold, np.float32(-np.inf)))])
    above, most = just_below(op, op.const([float(overlap)]), count)
    indices = expr(op, op.NonMaxSuppression(ordered_corners(corners), scores, most, above, least))
    return indices, scores.call("GatherND", indices)


def _adapting(corners: Corners, scores: Expr, count: Expr, overlap: float, eta: float) -> tuple[Expr, Expr]:
    """Suppression by a threshold that each box taken lowers by `eta`, until it is 0.5 or less.

    A box is dropped if it overlaps any box that was taken before by the threshold of its turn.
    """

    def decay(left: Expr, taken: Corners, others: Corners, most: Expr, limit: Expr) -> list[Expr]:
        most = most.maximum(intersection_over_union(taken, others))
        limit = where(limit > 0.5, limit * eta, limit)
        return [where(most >= limit, -math.inf, left), most, limit]

    start = [scores.full_like(0), expr(scores.op, overlap)]
    return greedy_suppression(scores.op, corners, scores, count, decay, carried=start)


# MatrixNms -----------------------------------------------------------------------------------------


@rule(DOMAIN, "MatrixNms")
def matrix_nms(op: Builder, node: Node) -> Results:
    """MatrixNms-8: every box's score is lessened by all better boxes that it overlaps; one pass for each class."""
    boxes, scores = operands(op, node, 0, 1)
    images, classes, count = (scores.size(axis) for axis in range(3))
    limit = int(node.attributes.get("nms_top_k", -1))
    most = count if limit < 0 else count.minimum(limit)
    lines = _without_background(node, scores, 1).reshape(product([images, classes]), count)

    def step(turn: Expr, line: Expr, boxes: Expr, classes: Expr, most: Expr) -> list[Expr]:
        values, indices = topk(line, most, 0)
        mine = boxes.gather(turn // classes).gather(indices)
        return [_decayed(node, values, corners_of(mine)), indices]

    slots = [Iteration(), Sliced(), Captured(), Captured(), Captured(), Stacked(), Stacked()]
    results = loop(op, slots, [lines, boxes, scalar(op, classes), most], step, name="class")
    values, indices = (one.reshape(images, classes, most) for one in results)
    kept = indices_where(values > -math.inf)
    image, label, box = kept[:, 0], kept[:, 1], indices.call("GatherND", kept)
    rows = boxes.call("GatherND", stack_columns(image, box))
    index = _indexed(stack_columns(image, label, box), count)
    return _listed(op, node, _Found(images, index, values.call("GatherND", kept), rows))


def _decayed(node: Node, values: Expr, corners: Corners) -> Expr:
    """What the scores of boxes [boxes, 2], best first, become; -inf where they don't pass a threshold.

    A better box lessens a score the more the two overlap, and the less the better one is itself overlapped.
    """
    attributes = node.attributes
    share = _matrix(corners, 0.0 if attributes.get("normalized", True) else 1.0)
    order = arange(values.op, values.size(0))
    better = (order[:, None] > order) & ~share.call("IsNaN")
    share = where(better, share, 0)
    greatest = share.max(1)
    if choice(node, "decay_function", "linear", {"linear": True, "gaussian": False}):
        decay = (1 - share) / (1 - greatest + 1e-10)
    else:
        decay = ((greatest * greatest - share * share) * float(attributes.get("gaussian_sigma", 2.0))).exp()
    lessened = where(better, decay, 1).min(1) * values
    before, after = (float(attributes.get(f"{name}_threshold", 0.0)) for name in ("score", "post"))
    return where((values > before) & (lessened > after), lessened, -math.inf)


def _matrix(corners: Corners, offset: float) -> Expr:
    """Intersection over union of all pairs of boxes [boxes, 2]. A box whose corners are the wrong way round has no
    area, but what it has in common with others is computed all the same, as OpenVINO does."""
    low, high = corners
    mine = low[:, None], high[:, None]
    common = area(inclusive_sides(mine[1].minimum(high) - mine[0].maximum(low), offset))
    own = where((high - low).min(-1) >= 0, area(inclusive_sides(high - low, offset)), 0)
    share = common / (own[:, None] + own - common)
    apart = (high - mine[0]).minimum(mine[1] - low)
    return where(apart.min(-1) >= 0, share, 0)


# With a fixed number of rows, those of -1 following each image's own.
_INTERNAL = [("MulticlassNmsIEInternal", "MulticlassNms", 9), ("MatrixNms", "MatrixNms", 8)]

RULES = under_other_opsets(collect(globals()), _INTERNAL, (INTERNAL, EXTENSION))
