"""Overlap of rotated boxes, for suppression: the common area of two convex polygons without searching its corners.

By Green's theorem an area is half the sum over its border of x dy - y dx. The border of what two polygons have in
common is the part of each one's edges that lies within the other; an edge is clipped by the other's four sides. Edges
that coincide would count twice: so one polygon counts its edges up to a little beyond the other's sides, the other one
its edges up to a little before them. All in float64, so that this can be very little.
"""

from __future__ import annotations

import math

import numpy as np

from ....passes.build import Expr, concat, expr, where
from ....passes.types import DType
from .boxes import area, greedily

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

    def lessen(left: Expr, taken: Parts, others: Parts, limit: Expr) -> list[Expr]:
        return [where(_share(taken, others) > limit, -math.inf, left)]

    alive = where(scores > least, scores, -math.inf)
    return greedily(op, (centre, sides, corners), alive, most, lessen, [overlap])


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
