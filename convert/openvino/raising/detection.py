"""OpenVINO -> the hub: the last layers of detectors, which decode, choose and list boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from . import detectron
from .boxes import halves, moved, proper, suppress
from .rows import (
    by_score,
    chosen,
    column,
    exactly,
    first_of_group,
    highest,
    reordered,
    stacked,
)
from .support import (
    Results,
    cast,
    choice,
    concatenated,
    dimension,
    integers,
    number,
    product,
    reckoned,
    required,
    shaped,
    steps,
)

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
    images: Value
    classes: Value
    priors: Value


def _single(op: Builder, node: Node) -> _Single:
    scores, priors = given(node, 1), given(node, 2)
    attributes = node.attributes
    normal = bool(attributes.get("normalized", False))
    size = 4 if normal else 5
    count = reckoned(op, "Div", dimension(op, priors, -1), op.const([size]))
    if node.version < 8:
        classes = op.const([int(required(node, "num_classes"))], DType.INT64)
    else:
        classes = reckoned(op, "Div", dimension(op, scores, 1), count)
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
        images=dimension(op, scores, 0),
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
    candidates = _candidates(op, wish, scores)
    if wish.shared:
        boxes = op.Squeeze(boxes, op.const([2]))
        places = suppress(op, proper(op, halves(op, boxes)), candidates, wish.overlap, None, _least(wish))
    else:
        boxes = op.Transpose(boxes, perm=[0, 2, 1, 3])
        groups = product(op, [wish.images, wish.classes])
        flat = shaped(op, boxes, [groups, wish.priors, op.const([4])])
        lines = shaped(op, candidates, [groups, op.const([1]), wish.priors])
        found = suppress(op, proper(op, halves(op, flat)), lines, wish.overlap, None, _least(wish))
        line, prior = column(op, found, 0), column(op, found, 2)
        places = stacked(op, op.Div(line, wish.classes), op.Mod(line, wish.classes), prior)
    score = op.GatherND(scores, places)
    if wish.keep >= 0:
        places, score = reordered(op, _kept(op, wish, places, score), places, score)
    corners = op.GatherND(boxes, op.Gather(places, op.const([0, 2]), axis=1) if wish.shared else places)
    if node.attributes.get("clip_after_nms", False):
        corners = op.Clip(corners, number(op, 0, corners), number(op, 1, corners))
    heads = op.Gather(places, op.const([0, 1]), axis=1)
    if wish.like_mxnet:
        heads = op.Sub(heads, op.const([0, 1]))
    rows = op.Concat(cast(op, heads, DType.FLOAT32), op.Unsqueeze(score, op.const([1])), corners, axis=1)
    ended = op.Concat(rows, op.const([[-1.0, 0, 0, 0, 0, 0, 0]]), axis=0)
    table = op.Unsqueeze(exactly(op, ended, _total(op, wish)), op.const([0, 1]))
    return cast(op, table, dtype_of(node, given(node, 1)))


def _least(wish: _Single) -> float:
    """MXNet's way takes a score that is equal to the threshold, Caffe's doesn't."""
    threshold = np.float32(wish.confidence)
    return float(np.nextafter(threshold, np.float32(-np.inf)) if wish.like_mxnet else threshold)


def _total(op: Builder, wish: _Single) -> Value:
    """How many rows the result has."""
    if wish.keep > 0:
        return product(op, [wish.images, op.const([wish.keep])])
    if wish.top_k > 0:
        return product(op, [wish.images, op.const([wish.top_k]), wish.classes])
    return product(op, [wish.images, wish.classes, wish.priors])


def _locations(op: Builder, node: Node, wish: _Single, index: int) -> Value:
    """Input `index`, float32 [images, priors, 1 or classes, 4]."""
    shape = concatenated(op, [op.const([0]), wish.priors, op.const([-1, 4])])
    return op.Reshape(cast(op, given(node, index), DType.FLOAT32), shape)


def _decoded(op: Builder, node: Node, wish: _Single) -> Value:
    """Corners [images, priors, 1 or classes, 4]."""
    priors = cast(op, given(node, 2), DType.FLOAT32)
    boxes = _priors(op, wish, op.Gather(priors, op.const(0), axis=1), wish.size)
    if wish.size == 5:
        boxes = op.Slice(boxes, op.const([1]), op.const([5]), op.const([3]))
    variances = None
    if wish.variances:
        given_variances = op.Gather(priors, op.const(1), axis=1)
        if wish.size == 5:
            count = product(op, [wish.priors, op.const([4])])
            given_variances = op.Slice(given_variances, op.const([0]), count, op.const([1]))
        variances = _priors(op, wish, given_variances, 4)
    if node.input(4) is not None:
        boxes = _decode(op, wish, boxes, _locations(op, node, wish, 4), variances)
    return _decode(op, wish, boxes, _locations(op, node, wish, 0), variances)


def _priors(op: Builder, wish: _Single, rows: Value, size: int) -> Value:
    return op.Reshape(rows, concatenated(op, [op.const([0]), wish.priors, op.const([1, size])]))


def _decode(op: Builder, wish: _Single, priors: Value, moves: Value, variances: Value | None) -> Value:
    """Corners [..., 4] of priors that were moved."""
    if wish.pixels is not None and wish.pixels != (1, 1):
        priors = op.Div(priors, op.const([float(extent) for extent in wish.pixels * 2]))
    if variances is not None:
        moves = op.Mul(variances, moves)
    if wish.centred:
        found = op.Concat(*moved(op, halves(op, priors), halves(op, moves)), axis=-1)
    else:
        found = op.Add(priors, moves)
    return op.Clip(found, number(op, 0, found), number(op, 1, found)) if wish.clip_first else found


def _confidences(op: Builder, node: Node, wish: _Single) -> Value:
    """Scores [images, classes, priors]; with the inputs of a refinement, priors that aren't likely to be an object
    are background."""
    shape = concatenated(op, [op.const([0]), wish.priors, wish.classes])
    scores = op.Reshape(cast(op, given(node, 1), DType.FLOAT32), shape)
    if node.input(3) is not None:
        pairs = concatenated(op, [op.const([0]), wish.priors, op.const([2])])
        likely = op.Reshape(cast(op, given(node, 3), DType.FLOAT32), pairs)
        likely = op.Slice(likely, op.const([1]), op.const([2]), op.const([2]))
        limit = number(op, float(node.attributes.get("objectness_score", 0.0)), likely)
        background = op.Equal(steps(op, wish.classes), op.const(wish.background))
        scores = op.Where(op.Less(likely, limit), cast(op, background, DType.FLOAT32), scores)
    if wish.size == 5:
        scores = _of_real_priors(op, node, wish, scores)
    return op.Transpose(scores, perm=[0, 2, 1])


def _of_real_priors(op: Builder, node: Node, wish: _Single, scores: Value) -> Value:
    """The first prior of image -1 and all that follow it are none (so a Proposal ends its list)."""
    rows = op.Gather(cast(op, given(node, 2), DType.FLOAT32), op.const(0), axis=1)
    table = op.Reshape(rows, concatenated(op, [op.const([0]), wish.priors, op.const([5])]))
    image = op.Slice(table, op.const([0]), op.const([1]), op.const([2]))
    end = cast(op, op.Equal(image, number(op, -1, image)), DType.FLOAT32)
    real = op.Equal(op.CumSum(end, op.const(1)), number(op, 0, end))
    return op.Where(real, scores, number(op, -np.inf, scores))


def _candidates(op: Builder, wish: _Single, scores: Value) -> Value:
    """The scores [images, classes, priors] of what may be a detection, -inf elsewhere."""
    none = number(op, -np.inf, scores)
    labels = op.Unsqueeze(steps(op, wish.classes), op.const([1]))
    if wish.background >= 0 or wish.like_mxnet:
        scores = op.Where(op.Equal(labels, op.const(wish.background)), none, scores)
    if not wish.like_mxnet:
        return highest(op, scores, wish.priors, wish.top_k)
    scores = op.Where(op.Equal(labels, op.ArgMax(scores, axis=1, keepdims=1)), scores, none)
    if wish.top_k < 0:
        return scores
    flat = op.Reshape(scores, op.const([0, 1, -1]))
    best = highest(op, flat, product(op, [wish.classes, wish.priors]), wish.top_k)
    return op.Reshape(best, concatenated(op, [op.const([0]), wish.classes, wish.priors]))


def _kept(op: Builder, wish: _Single, places: Value, score: Value) -> Value:
    """Which rows have the `keep` best scores of their image, equal ones by prior; in their old order."""
    order = by_score(op, score, column(op, places, 2))
    if integers(wish.images) == [1]:
        order = op.Slice(order, op.const([0]), op.const([wish.keep]), op.const([0]))
    else:
        (groups,) = reordered(op, order, column(op, places, 0))
        (order,) = chosen(op, first_of_group(op, groups, wish.images, op.const(wish.keep)), order)
    return op.TopK(order, op.Shape(order), axis=0, largest=0, _outputs=2)[0]


RULES = combine(collect(globals()), detectron.RULES)
