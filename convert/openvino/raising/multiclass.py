"""OpenVINO -> the hub: suppression that lists the boxes of all classes of an image together, as Paddle has it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.loop import Captured, Iteration, Sliced, Stacked
from ....passes.preconditions import dtype_of, given, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType, tensor
from ..dialect import DOMAIN
from .boxes import Corners, area, greedily, halves, just_below, longer, proper, shares
from .nonstandard_opsets import EXTENSION, INTERNAL, elsewhere
from .rows import (
    again,
    chosen,
    column,
    first_of_group,
    highest,
    least_of,
    lists,
    order_of,
    reordered,
    stacked,
    tally,
)
from .support import (
    Results,
    cast,
    choice,
    concatenated,
    dimension,
    element_type,
    integers,
    number,
    product,
    scalar,
    shaped,
    steps,
)

_SORTS = {"none": "score", "score": "score", "classid": "class", "class": "class"}


@dataclass(slots=True)
class _Found:
    """Boxes, in the order of images, classes, scores."""

    images: Value  # how many, int64 [1]
    places: Value  # int64 [boxes, 3]: image, class, the index that the result has
    score: Value
    box: Value  # [boxes, 4]


def _listed(op: Builder, node: Node, found: _Found) -> list[Value]:
    """The boxes in the order that the attributes ask for, at most `keep_top_k` of each image."""
    places, score, box = reordered(op, _order(op, node, found), found.places, found.score, found.box)
    label, index = (op.Gather(places, op.const([place]), axis=1) for place in (1, 2))
    table = op.Concat(cast(op, label, DType.FLOAT32), op.Unsqueeze(score, op.const([1])), box, axis=1)
    image = column(op, places, 0)
    total, images = size_of_axis(node.outputs[0], 0), integers(found.images)
    if total is not None and images is not None:
        length = total // max(images[0], 1)
        table, index = (
            op.Reshape(lists(op, image, found.images, one, length, fill=-1), op.const([-1, width]))
            for one, width in ((table, 6), (index, 1))
        )
    kind = element_type(node, "output_type", "i64") or DType.INT64
    numbers = tally(op, image, found.images)
    return [cast(op, table, dtype_of(node, given(node))), cast(op, index, kind), cast(op, numbers, kind)]


def _order(op: Builder, node: Node, found: _Found) -> Value:
    """Which boxes, and in which order."""
    order = order_of(op, found.score)
    most = int(node.attributes.get("keep_top_k", -1))
    alone = integers(found.images) == [1]
    if most >= 0 and alone:
        order = op.Slice(order, op.const([0]), op.const([most]), op.const([0]))
    elif most >= 0:
        (image,) = reordered(op, order, column(op, found.places, 0))
        (order,) = chosen(op, first_of_group(op, image, found.images, op.const(most)), order)
    sort = choice(node, "sort_result_type", "none", _SORTS)
    unsorted = str(node.attributes.get("sort_result_type", "none")).lower() == "none"
    across = bool(node.attributes.get("sort_result_across_batch", False)) and not unsorted
    by_class = sort == "class" and (across or node.op_type != "MatrixNms")  # as OpenVINO obeys it
    by_image = not alone and (by_class or not across)
    keys = [1] * by_class + [0] * by_image
    for key in reversed(keys) if across else keys:
        order = again(op, order, column(op, found.places, key))
    return order


def _without_background(op: Builder, node: Node, scores: Value, axis: int) -> Value:
    """Scores with -inf for the background class."""
    background = int(node.attributes.get("background_class", -1))
    if background < 0:
        return scores
    labels = op.Unsqueeze(
        steps(op, dimension(op, scores, axis)), op.const(list(range(1, rank_of(node, scores) - axis)))
    )
    return op.Where(op.Equal(labels, op.const(background)), number(op, -np.inf, scores), scores)


# MulticlassNms -------------------------------------------------------------------------------------


@rule(DOMAIN, "MulticlassNms")
def multiclass_nms(op: Builder, node: Node) -> Results:
    """MulticlassNms-8, -9 (also boxes of each class, those of all images in one row, with their number in each image).

    Unlike ONNX's operator, it takes a score that is equal to the threshold, and drops a box that overlaps by the
    threshold.
    """
    boxes, scores = (cast(op, given(node, index), DType.FLOAT32) for index in range(2))
    scores = _without_background(op, node, scores, rank_of(node, scores) - 2)
    if rank_of(node, scores) == 3:
        return _listed(op, node, _of_shared(op, node, boxes, scores))
    if node.input(2) is None:
        raise InvalidModel(f"{node!r}: boxes of each class without their number in each image")
    return _listed(op, node, _of_classes(op, node, boxes, scores))


def _of_shared(op: Builder, node: Node, boxes: Value, scores: Value) -> _Found:
    """Boxes [images, boxes, 4] and scores [images, classes, boxes]."""
    places, score = _suppressed(op, node, boxes, scores)
    rows = op.GatherND(boxes, op.Gather(places, op.const([0, 2]), axis=1))
    return _Found(dimension(op, boxes, 0), _indexed(op, places, dimension(op, boxes, 1)), score, rows)


def _indexed(op: Builder, places: Value, count: Value) -> Value:
    """[image, class, box] with the boxes counted over all images, each of which has `count`."""
    shift = op.Mul(op.Gather(places, op.const([0]), axis=1), count)
    return op.Add(places, op.Mul(shift, op.const([0, 0, 1])))


def _of_classes(op: Builder, node: Node, boxes: Value, scores: Value) -> _Found:
    """Boxes [classes, boxes, 4] and scores [classes, boxes]; each image sees its own boxes only."""
    counts = cast(op, given(node, 2), DType.INT64)
    images, classes, count = dimension(op, counts, 0), dimension(op, boxes, 0), dimension(op, boxes, 1)
    ends = op.Unsqueeze(op.CumSum(op.Max(counts, op.const(0)), op.const(0)), op.const([1]))
    numbers = steps(op, count)
    owner = op.ReduceSum(cast(op, op.GreaterOrEqual(numbers, ends), DType.INT64), op.const([0]), keepdims=0)
    mine = op.Equal(owner, op.Unsqueeze(steps(op, images), op.const([1, 2])))
    lines = op.Where(mine, scores, number(op, -np.inf, scores))
    groups = product(op, [images, classes])
    lines = shaped(op, lines, [groups, op.const([1]), count])
    copies = op.Expand(boxes, concatenated(op, [images, op.Shape(boxes)]))
    copies = shaped(op, copies, [groups, count, op.const([4])])
    places, score = _suppressed(op, node, copies, lines)
    line, box = column(op, places, 0), column(op, places, 2)
    wide = scalar(op, classes)
    image, label = op.Div(line, wide), op.Mod(line, wide)
    rows = op.GatherND(boxes, stacked(op, label, box))
    return _Found(images, stacked(op, image, label, op.Add(op.Mul(box, wide), label)), score, rows)


def _suppressed(op: Builder, node: Node, boxes: Value, scores: Value) -> tuple[Value, Value]:
    """[batch, class, box] of the boxes kept among the `nms_top_k` best of each class, and their scores."""
    threshold = np.float32(node.attributes.get("score_threshold", 0.0))
    overlap = np.float32(node.attributes.get("iou_threshold", 0.0))
    eta = np.float32(node.attributes.get("nms_eta", 1.0))
    offset = 0.0 if node.attributes.get("normalized", True) else 1.0
    low, high = halves(op, boxes)
    corners = low, longer(op, high, offset)
    scores = highest(op, scores, dimension(op, scores, 2), int(node.attributes.get("nms_top_k", -1)))
    count = dimension(op, scores, 2)
    if 0 <= eta < 1 and overlap > 0.5:
        limit = op.GreaterOrEqual(scores, number(op, threshold, scores))
        alive = op.Where(limit, scores, number(op, -np.inf, scores))
        return _adapting(op, corners, alive, count, overlap, eta)
    least = op.const([float(np.nextafter(threshold, np.float32(-np.inf)))])
    above, most = just_below(op, op.const([float(overlap)]), count)
    places = op.NonMaxSuppression(proper(op, corners), scores, most, above, least)
    return places, op.GatherND(scores, places)


def _adapting(
    op: Builder, corners: Corners, scores: Value, count: Value, overlap: np.float32, eta: np.float32
) -> tuple[Value, Value]:
    """Suppression by a threshold that each box taken lowers by `eta`, until it is 0.5 or less.

    A box is dropped if it overlaps any box that was taken before by the threshold of its turn.
    """

    def lessen(body: Builder, left: Value, taken: Corners, others: Corners, most: Value, limit: Value) -> list[Value]:
        most = body.Max(most, shares(body, taken, others))
        lower = body.Greater(limit, body.const(np.float32(0.5)))
        limit = body.Where(lower, body.Mul(limit, body.const(eta)), limit)
        out = body.GreaterOrEqual(most, limit)
        return [body.Where(out, number(body, -math.inf, left), left), most, limit]

    nothing = op.Expand(number(op, 0, scores), op.Shape(scores))
    return greedily(op, corners, scores, count, lessen, carried=[nothing, op.const(overlap)])


# MatrixNms -----------------------------------------------------------------------------------------


@rule(DOMAIN, "MatrixNms")
def matrix_nms(op: Builder, node: Node) -> Results:
    """MatrixNms-8: every box's score is lessened by all better boxes that it overlaps; one pass for each class."""
    boxes, scores = (cast(op, given(node, index), DType.FLOAT32) for index in range(2))
    images, classes, count = (dimension(op, scores, axis) for axis in range(3))
    limit = int(node.attributes.get("nms_top_k", -1))
    most = count if limit < 0 else least_of(op, count, limit)
    lines = shaped(op, _without_background(op, node, scores, 1), [product(op, [images, classes]), count])
    body = op.region("class")
    turn = body.input("turn", tensor(DType.INT64))
    line, all_boxes, wide, best = (
        body.input(name, kind)
        for name, kind in (
            ("scores", TensorType(DType.FLOAT32, (size_of_axis(scores, 2),))),
            ("boxes", boxes.type),
            ("classes", tensor(DType.INT64)),
            ("most", tensor(DType.INT64, 1)),
        )
    )
    values, places = body.TopK(line, best, axis=0, _outputs=2)
    mine = body.Gather(body.Gather(all_boxes, body.Div(turn, wide), axis=0), places, axis=0)
    body.graph.outputs = [_decayed(body, node, values, halves(body, mine)), places]
    slots = [Iteration(), Sliced(), Captured(), Captured(), Captured(), Stacked(), Stacked()]
    outside = [lines, boxes, scalar(op, classes), most]
    values, places = op.loop(None, None, slots, outside, body.graph)
    values, places = (shaped(op, one, [images, classes, most]) for one in (values, places))
    where = op.Transpose(op.NonZero(op.Greater(values, number(op, -np.inf, values))), perm=[1, 0])
    image, label, box = column(op, where, 0), column(op, where, 1), op.GatherND(places, where)
    rows = op.GatherND(boxes, stacked(op, image, box))
    index = _indexed(op, stacked(op, image, label, box), count)
    return _listed(op, node, _Found(images, index, op.GatherND(values, where), rows))


def _decayed(op: Builder, node: Node, values: Value, corners: Corners) -> Value:
    """What the scores of boxes [boxes, 2], best first, become; -inf where they don't pass a threshold.

    A better box lessens a score the more the two overlap, and the less the better one is itself overlapped.
    """
    attributes = node.attributes
    one, none = number(op, 1, values), number(op, -np.inf, values)
    share = _matrix(op, corners, 0.0 if attributes.get("normalized", True) else 1.0)
    order = steps(op, dimension(op, values, 0))
    better = op.And(op.Greater(op.Unsqueeze(order, op.const([1])), order), op.Not(op.IsNaN(share)))
    share = op.Where(better, share, number(op, 0, share))
    greatest = op.ReduceMax(share, op.const([1]), keepdims=0)
    if choice(node, "decay_function", "linear", {"linear": True, "gaussian": False}):
        decay = op.Div(op.Sub(one, share), op.Add(op.Sub(one, greatest), number(op, 1e-10, share)))
    else:
        sigma = number(op, float(attributes.get("gaussian_sigma", 2.0)), share)
        decay = op.Exp(op.Mul(op.Sub(op.Mul(greatest, greatest), op.Mul(share, share)), sigma))
    least = op.ReduceMin(op.Where(better, decay, one), op.const([1]), keepdims=0)
    lessened = op.Mul(least, values)
    before, after = (number(op, float(attributes.get(f"{name}_threshold", 0.0)), values) for name in ("score", "post"))
    return op.Where(op.And(op.Greater(values, before), op.Greater(lessened, after)), lessened, none)


def _matrix(op: Builder, corners: Corners, offset: float) -> Value:
    """Intersection over union of all pairs of boxes [boxes, 2]. A box whose corners are the wrong way round has no
    area, but what it has in common with others is reckoned all the same, as OpenVINO does."""
    low, high = corners
    one = op.const([1])
    mine = op.Unsqueeze(low, one), op.Unsqueeze(high, one)
    sides = op.Sub(op.Min(mine[1], high), op.Max(mine[0], low))
    common = area(op, longer(op, sides, offset))
    zero = number(op, 0, sides)
    own = op.Sub(high, low)
    real = op.GreaterOrEqual(op.ReduceMin(own, op.const([-1]), keepdims=0), zero)
    own = op.Where(real, area(op, longer(op, own, offset)), zero)
    share = op.Div(common, op.Sub(op.Add(op.Unsqueeze(own, one), own), common))
    apart = op.Min(op.Sub(high, mine[0]), op.Sub(mine[1], low))
    meets = op.GreaterOrEqual(op.ReduceMin(apart, op.const([-1]), keepdims=0), zero)
    return op.Where(meets, share, zero)


# With a fixed number of rows, those of -1 following each image's own.
_INTERNAL = [("MulticlassNmsIEInternal", "MulticlassNms", 9), ("MatrixNms", "MatrixNms", 8)]

RULES = elsewhere(collect(globals()), _INTERNAL, (INTERNAL, EXTENSION))
