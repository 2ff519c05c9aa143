"""OpenVINO -> the hub: suppression of overlapping boxes, rotated ones, too."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ....passes.build import Expr, concat, expr, where
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of, size_of_axis
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from . import multiclass
from .boxes import (
    Corners,
    area,
    argsort,
    corners_of,
    greedy_suppression,
    intersection_over_union,
    just_below,
    padded_to,
)
from .nonstandard_opsets import EXTENSION, INTERNAL, typed
from .support import Results, choice, constant, element_type, integers, operands, vector


@dataclass(slots=True)
class _Request:
    """What a suppression of any version asks for."""

    sort: bool
    index_type: DType
    centred: bool = False
    clockwise: bool | None = None  # None: the boxes aren't rotated


@rule(DOMAIN, "NonMaxSuppression")
def nms(op: Builder, node: Node) -> Results:
    """NonMaxSuppression-1, -3, -4 (the indices only), -5, -9 (with the scores and their number)."""
    centred = choice(node, "box_encoding", "corner", {"corner": False, "center": True})
    sort = bool(node.attributes.get("sort_result_descending", True))
    request = _Request(sort, element_type(node, "output_type", "i64") or DType.INT64, centred)
    found = _suppressed(op, node, request)
    return found[:1] if node.version < 5 else found


@rule(DOMAIN, "NMSRotated")
def nms_rotated(op: Builder, node: Node) -> Results:
    """NMSRotated-13: boxes are [x, y, width, height, angle]."""
    sort = bool(node.attributes.get("sort_result_descending", True))
    clockwise = bool(node.attributes.get("clockwise", True))
    return _suppressed(
        op, node, _Request(sort, element_type(node, "output_type", "i64") or DType.INT64, clockwise=clockwise)
    )


_ROTATIONS = {"0": None, "1": True, "2": False}


@rule(INTERNAL, "NonMaxSuppressionIEInternal")
@rule(EXTENSION, "NonMaxSuppressionIEInternal")
def nms_internal(op: Builder, node: Node) -> Results:
    """NonMaxSuppressionIEInternal, which OpenVINO makes of NonMaxSuppression and NMSRotated."""
    layer = typed(node, "NonMaxSuppression", 9)
    centred = str(layer.attributes.get("center_point_box", 0)) != "0"
    sort = bool(layer.attributes.get("sort_result_descending", True))
    clockwise = choice(layer, "rotation", "0", _ROTATIONS)
    kind = element_type(layer, "output_type", "i64") or DType.INT64
    return _suppressed(op, node, _Request(sort, kind, centred, clockwise))


def _suppressed(op: Builder, node: Node, request: _Request) -> list[Value]:
    """Indices, scores and their number. Where the file fixes the number of rows, rows of -1 follow.

    OpenVINO's CPU runtime drops boxes that overlap by the threshold, not only by more, in all versions of
    NonMaxSuppression, but not in NMSRotated.
    """
    boxes, scores = operands(op, node, 0, 1)
    limits = [node.input(index) for index in range(2, 6)]
    most = expr(op, [0]) if limits[0] is None else vector(op, limits[0])
    least = expr(op, [0.0]) if limits[2] is None else vector(op, limits[2], DType.FLOAT32)
    sigma = 0.0 if limits[3] is None else _number(node, limits[3])
    if request.clockwise is not None:
        overlap = vector(op, input_of(node, 3), DType.FLOAT32)
        picked, values = rotated(boxes, scores, (most, overlap, least), request.clockwise)
    elif sigma > 0:
        picked, values = _softly(boxes, scores, (most, least, sigma), request.centred)
    else:
        overlap, most = just_below(op, limits[1], most)
        found = op.NonMaxSuppression(boxes, scores, most, overlap, least, center_point_box=int(request.centred))
        picked = expr(op, found)
        values = scores.call("GatherND", picked)
    if request.sort:
        order = argsort(values)
        picked, values = picked.gather(order), values.gather(order)
    count = values.sizes().cast(request.index_type)
    table = concat(op, [picked[:, :2].cast(DType.FLOAT32), values[:, None]], 1)
    score_type = node.outputs[1].tensor.dtype if len(node.outputs) > 1 else None
    results = [picked.cast(request.index_type), table.cast(score_type or dtype_of(node, input_of(node, 1)))]
    rows = _fixed_rows(node, scores, most)
    if rows is not None:
        results = [padded_to(one, rows, -1) for one in results]
    return [one.value() for one in (*results, count)]


def _fixed_rows(node: Node, scores: Expr, most: Expr) -> int | None:
    """How many rows the file gives the indices, None where that isn't known.

    Files of 2021 give NonMaxSuppression-5 as many as may be found, what is known today to be the most. Fewer than that
    is a mistake that OpenVINO doesn't look at: nor does what is built here.
    """
    rows, counts = size_of_axis(node.outputs[0], 0), integers(scores.sizes())
    limit = integers(most)
    if rows is None or node.version in (1, 3, 4) or counts is None or limit is None:
        return rows
    if rows >= counts[0] * counts[1] * min(counts[2], max(limit[0], 0)):
        return rows
    node.outputs = [Value(old.name, TensorType(old.tensor.dtype), old.producer, old.index) for old in node.outputs]
    return None


def _number(node: Node, value: Value) -> float:
    """A constant number.

    Raises:
        Unsupported: it isn't constant.
    """
    array = constant(value)
    if array is None:
        raise Unsupported(node, "soft_nms_sigma isn't constant")
    return float(array.reshape(-1)[0])


def _softly(boxes: Expr, scores: Expr, limits: tuple[Expr, Expr, float], centred: bool) -> tuple[Expr, Expr]:
    """Soft suppression: each pass takes the best box of each batch and class, and lessens the scores of those that
    overlap it by exp(-share^2 / (2 sigma)); those no longer above the threshold are out.

    Returns [batch, class, box] of the boxes taken, and their scores.
    """
    most, least, sigma = limits
    first, second = corners_of(boxes)
    corners = first.minimum(second), first.maximum(second)
    if centred:
        corners = first - second * 0.5, first + second * 0.5

    def decay(left: Expr, taken: Corners, others: Corners, least: Expr) -> list[Expr]:
        share = intersection_over_union(taken, others)
        lessened = left * (share * share * (-0.5 / sigma)).exp()
        return [where(lessened > least, lessened, -math.inf)]

    alive = where(scores > least, scores, -math.inf)
    return greedy_suppression(scores.op, corners, alive, most, decay, [least])


# overlap of rotated boxes: the common area of two convex polygons without searching its corners ----
#
# By Green's theorem an area is half the sum over its border of x dy - y dx. The border of what two polygons have in
# common is the part of each one's edges that lies within the other; an edge is clipped by the other's four sides.
# Edges that coincide would count twice: so one polygon counts its edges up to a little beyond the other's sides, the
# other one its edges up to a little before them. All in float64, so that this can be very little.


Parts = tuple[Expr, ...]

_SIGNS = np.array([[-1, 1], [-1, -1], [1, -1], [1, 1]], np.float64)  # of half the width, half the height
_NEXT = np.roll(np.eye(4), 1, axis=1)  # takes corners to those that follow
_LEFT = np.array([[0, 1], [-1, 0]], np.float64)  # turns (x, y) to (-y, x)
_LITTLE = 1e-12


def rotated(boxes: Expr, scores: Expr, limits: tuple[Expr, Expr, Expr], clockwise: bool) -> tuple[Expr, Expr]:
    """Suppression of boxes [batches, boxes, (x, y, width, height, angle)] by `limits`: how many of each class (int64
    [1]), the overlap that is still allowed, the score to be exceeded.

    Returns [batch, class, box] of the boxes taken, best first in each class, and their scores.
    """
    op, (most, overlap, least) = boxes.op, limits
    centre, sides, angle = boxes.split([2, 2, 1], 2)
    cosine, sine = angle.cos(), angle.sin() if clockwise else -angle.sin()
    directions = concat(op, [cosine, sine, -sine, cosine], 2).reshape(None, None, 2, 2)
    centre, sides, directions = (one.cast(DType.FLOAT64) for one in (centre, sides, directions))
    corners = expr(op, _SIGNS).call("MatMul", directions * sides[:, :, :, None] * 0.5)

    def decay(left: Expr, taken: Parts, others: Parts, limit: Expr) -> list[Expr]:
        return [where(_share(taken, others) > limit, -math.inf, left)]

    alive = where(scores > least, scores, -math.inf)
    return greedy_suppression(op, (centre, sides, corners), alive, most, decay, [overlap])


def _share(one: Parts, other: Parts) -> Expr:
    """Intersection over union (float32) of boxes, each a centre [..., 2], sides [..., 2], corners about the centre
    [..., 4, 2]."""
    first, second = one[2], other[2] + (other[0] - one[0])[:, :, :, None]
    extents = [box[1].call("ReduceSumSquare", expr(first.op, [-1]), keepdims=0) for box in (one, other)]
    little = ((extents[0] + extents[1]) * _LITTLE)[:, :, :, None, None]
    common = (_along(first, second, little) + _along(second, first, -little)) * 0.5
    areas = [area(box[1]) for box in (one, other)]
    share = common / (areas[0] + areas[1] - common)
    return where((areas[0] > 0) & (areas[1] > 0), share, 0).cast(DType.FLOAT32)


def _along(mine: Expr, other: Expr, slack: Expr) -> Expr:
    """The sum of x dy - y dx over the parts of `mine`'s edges that lie within `other`, moved outwards by `slack`."""
    following = expr(mine.op, _NEXT)
    inwards = (following.call("MatMul", other) - other).call("MatMul", _LEFT)
    depth = mine.call("MatMul", inwards.transpose(0, 1, 2, 4, 3)) - (other * inwards).sum(-1)[:, :, :, None]
    start = depth + slack
    end = start.gather([1, 2, 3, 0], axis=3)
    crossing = start / (start - end)
    enters = where(start < 0, where(end < 0, 1, crossing), 0)
    leaves = where(end < 0, where(start < 0, 0, crossing), 1)
    within = leaves.min(-1) - enters.max(-1)
    swept = (following.call("MatMul", mine) * mine.call("MatMul", _LEFT)).sum(-1)
    return (within.maximum(0) * swept).sum(-1)


RULES = combine(collect(globals()), multiclass.RULES)
