"""Overlap of rotated boxes, for suppression: the common area of two convex polygons without searching its corners.

By Green's theorem an area is half the sum over its border of x dy - y dx. The border of what two polygons have in
common is the part of each one's edges that lies within the other; an edge is clipped by the other's four sides. Edges
that coincide would count twice: so one polygon counts its edges up to a little beyond the other's sides, the other one
its edges up to a little before them. All in float64, so that this can be very little.
"""

from __future__ import annotations

import numpy as np

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .boxes import greedily
from .support import cast, number

Parts = tuple[Value, ...]

_SIGNS = np.array([[-1, 1], [-1, -1], [1, -1], [1, 1]], np.float64)  # of half the width, half the height
_NEXT = np.roll(np.eye(4), 1, axis=1)  # takes corners to those that follow
_LEFT = np.array([[0, 1], [-1, 0]], np.float64)  # turns (x, y) to (-y, x)
_LITTLE = 1e-12


def rotated(
    op: Builder, boxes: Value, scores: Value, limits: tuple[Value, Value, Value], clockwise: bool
) -> tuple[Value, Value]:
    """Suppression of boxes [batches, boxes, (x, y, width, height, angle)] by `limits`: how many of each class (int64
    [1]), the overlap that is still allowed, the score to be exceeded.

    Returns [batch, class, box] of the boxes taken, best first in each class, and their scores.
    """
    most, overlap, least = limits
    centre, sides, angle = op.Split(boxes, op.const([2, 2, 1]), axis=2, _outputs=3)
    if not clockwise:
        angle = op.Neg(angle)
    cosine, sine = op.Cos(angle), op.Sin(angle)
    directions = op.Reshape(op.Concat(cosine, sine, op.Neg(sine), cosine, axis=2), op.const([0, 0, 2, 2]))
    centre, sides, directions = (cast(op, one, DType.FLOAT64) for one in (centre, sides, directions))
    axes = op.Mul(op.Mul(directions, op.Unsqueeze(sides, op.const([3]))), number(op, 0.5, directions))
    corners = op.MatMul(op.const(_SIGNS, DType.FLOAT64), axes)

    def lessen(body: Builder, left: Value, taken: Parts, others: Parts, limit: Value) -> list[Value]:
        out = body.Greater(_share(body, taken, others), limit)
        return [body.Where(out, number(body, -np.inf, left), left)]

    alive = op.Where(op.Greater(scores, least), scores, number(op, -np.inf, scores))
    return greedily(op, (centre, sides, corners), alive, most, lessen, [overlap])


def _share(op: Builder, one: Parts, other: Parts) -> Value:
    """Intersection over union (float32) of boxes, each a centre [..., 2], sides [..., 2], corners about the centre
    [..., 4, 2]."""
    away = op.Unsqueeze(op.Sub(other[0], one[0]), op.const([3]))
    first, second = one[2], op.Add(other[2], away)
    extents = [op.ReduceSumSquare(box[1], op.const([-1]), keepdims=0) for box in (one, other)]
    little = op.Mul(op.Add(*extents), number(op, _LITTLE, extents[0]))
    little = op.Unsqueeze(little, op.const([3, 4]))
    twice = op.Add(_along(op, first, second, little), _along(op, second, first, op.Neg(little)))
    common = op.Mul(twice, number(op, 0.5, twice))
    areas = [op.ReduceProd(box[1], op.const([-1]), keepdims=0) for box in (one, other)]
    zero = number(op, 0, common)
    real = op.And(*(op.Greater(area, zero) for area in areas))
    share = op.Where(real, op.Div(common, op.Sub(op.Add(*areas), common)), zero)
    return cast(op, share, DType.FLOAT32)


def _along(op: Builder, mine: Value, other: Value, slack: Value) -> Value:
    """The sum of x dy - y dx over the parts of `mine`'s edges that lie within `other`, moved outwards by `slack`."""
    following = op.const(_NEXT, DType.FLOAT64)
    left = op.const(_LEFT, DType.FLOAT64)
    inwards = op.MatMul(op.Sub(op.MatMul(following, other), other), left)
    offset = op.ReduceSum(op.Mul(other, inwards), op.const([-1]), keepdims=0)
    depth = op.Sub(op.MatMul(mine, op.Transpose(inwards, perm=[0, 1, 2, 4, 3])), op.Unsqueeze(offset, op.const([3])))
    start = op.Add(depth, slack)
    end = op.Gather(start, op.const([1, 2, 3, 0]), axis=3)
    zero, one = number(op, 0, start), number(op, 1, start)
    starts_outside, ends_outside = op.Less(start, zero), op.Less(end, zero)
    crossing = op.Div(start, op.Sub(start, end))
    enters = op.Where(starts_outside, op.Where(ends_outside, one, crossing), zero)
    leaves = op.Where(ends_outside, op.Where(starts_outside, zero, crossing), one)
    within = op.Sub(op.ReduceMin(leaves, op.const([-1]), keepdims=0), op.ReduceMax(enters, op.const([-1]), keepdims=0))
    turned = op.MatMul(mine, left)
    swept = op.ReduceSum(op.Mul(op.MatMul(following, mine), turned), op.const([-1]), keepdims=0)
    return op.ReduceSum(op.Mul(op.Max(within, zero), swept), op.const([-1]), keepdims=0)
