"""What the rules for suppression, proposals and detections share: corners, overlap, suppression itself.

Corners are two values [..., 2], the near one and the far one of each box.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ....passes.graph import Value
from ....passes.loop import Captured, Carried, Condition, Stacked
from ....passes.rewrite import Builder
from ....passes.types import DType
from .rows import least_of
from .support import constant, dimension, number, scalar, steps, vector

Corners = tuple[Value, Value]
Lessen = Callable[..., Sequence[Value]]

# overlap -------------------------------------------------------------------------------------------


def suppress(
    op: Builder,
    boxes: Value,
    scores: Value,
    overlap: float,
    most: Value | None = None,
    least: float | None = None,
) -> Value:
    """[batch, class, box] of the boxes that overlap none that is kept by more than `overlap`, best first.

    `boxes` [batches, boxes, 4], `scores` [batches, classes, boxes], both float32; `most` int64 [1] for each class
    (None: all), `least` the score to be exceeded (None: any, but -inf). ONNX wants an overlap from 0 to 1: below that,
    only the best box of each class is kept; nothing ever overlaps by more than 1.
    """
    if most is None:
        most = dimension(op, scores, 2)
    if overlap < 0:
        most = least_of(op, most, 1)
    share = op.const([min(max(overlap, 0.0), 1.0)])
    return op.NonMaxSuppression(
        boxes, scores, most, share, op.const([float(np.finfo(np.float32).min) if least is None else least])
    )


def shares(op: Builder, mine: Corners, other: Corners, offset: float = 0.0) -> Value:
    """Intersection over union of boxes by their corners [..., 2], 0 where a box has no area; broadcast.

    `offset` 1: the far corner is the last pixel of a box, and boxes that only touch by that pixel don't overlap.
    """
    sides = op.Sub(op.Min(mine[1], other[1]), op.Max(mine[0], other[0]))
    zero = number(op, 0, sides)
    overlap = area(op, op.Max(longer(op, sides, offset), zero))
    areas = [area(op, longer(op, op.Sub(high, low), offset)) for low, high in (mine, other)]
    share = op.Div(overlap, op.Sub(op.Add(*areas), overlap))
    if offset:
        real = op.GreaterOrEqual(op.ReduceMin(sides, op.const([-1]), keepdims=0), zero)
    else:
        real = op.And(*(op.Greater(one, zero) for one in areas))
    return op.Where(real, share, zero)


def longer(op: Builder, sides: Value, offset: float) -> Value:
    return op.Add(sides, number(op, offset, sides)) if offset else sides


def area(op: Builder, sides: Value) -> Value:
    """The product of the sides [..., 2]."""
    return op.ReduceProd(sides, op.const([-1]), keepdims=0)


def greedily(
    op: Builder,
    parts: Sequence[Value],
    scores: Value,
    most: Value,
    lessen: Lessen,
    captured: Sequence[Value] = (),
    carried: Sequence[Value] = (),
) -> tuple[Value, Value]:
    """Suppression as ONNX's operator can't do it: each pass takes the best box of each batch and class.

    `parts` (corners, say) are [batches, boxes, ...], `scores` [batches, classes, boxes], -inf for boxes that are out;
    `most` is int64 [1]. `lessen(body, left, taken, all, *captured, *carried)` gives the scores that are left when a box
    is taken, and what is carried on: `left` is [batches, classes, boxes], each of the parts `taken` [batches, classes,
    1, ...], each of `all` [batches, 1, boxes, ...].
    Returns [batch, class, box] of the boxes taken, best first in each class, and their scores.
    """
    body = op.region("suppression")
    left, *fed = (body.input(value.name, value.type) for value in (scores, *parts, *captured, *carried))
    best = body.ArgMax(left, axis=2, keepdims=1)
    score = body.ReduceMax(left, body.const([2]), keepdims=1)
    mine, rest = fed[: len(parts)], fed[len(parts) :]
    taken = tuple(body.Unsqueeze(body.GatherND(part, best, batch_dims=1), body.const([2])) for part in mine)
    others = tuple(body.Unsqueeze(part, body.const([1])) for part in mine)
    kept, *going = lessen(body, left, taken, others, *rest)
    numbers = steps(body, dimension(body, left, 2))
    kept = body.Where(body.Equal(numbers, best), number(body, -math.inf, left), kept)
    more = body.Greater(body.ReduceMax(kept, keepdims=0), number(body, -math.inf, left))
    body.graph.outputs = [kept, *going, more, best, score]
    fixed = [Captured() for _ in (*parts, *captured)]
    slots = [Carried(), *fixed, *(Carried() for _ in carried), Condition(), Stacked(axis=3), Stacked(axis=3)]
    trip = scalar(op, least_of(op, most, dimension(op, scores, 2)))
    *_, bests, values = op.loop(trip, None, slots, [scores, *parts, *captured, *carried], body.graph)
    bests, values = (op.Squeeze(one, op.const([2])) for one in (bests, values))
    found = op.Greater(values, number(op, -math.inf, values))
    places = op.Transpose(op.NonZero(found), perm=[1, 0])
    where = op.Slice(places, op.const([0]), op.const([2]), op.const([1]))
    which = op.Unsqueeze(op.GatherND(bests, places), op.const([1]))
    return op.Concat(where, which, axis=1), op.GatherND(values, places)


def by_loop(
    op: Builder, corners: Corners, scores: Value, most: Value, overlap: float, offset: float
) -> tuple[Value, Value]:
    """`suppress` for boxes whose far corner is their last pixel; as `greedily`."""

    def lessen(body: Builder, left: Value, taken: Corners, others: Corners) -> list[Value]:
        share = shares(body, taken, others, offset)
        out = body.Greater(share, number(body, overlap, share))
        return [body.Where(out, number(body, -math.inf, left), left)]

    return greedily(op, corners, scores, most, lessen)


def proper(op: Builder, corners: Corners) -> Value:
    """[..., 4], boxes without area in place of those whose corners are the wrong way round: neither overlaps others."""
    low, high = corners
    return op.Concat(low, op.Max(low, high), axis=-1)


# coordinates ---------------------------------------------------------------------------------------


def halves(op: Builder, value: Value) -> Corners:
    """[..., 4] as two values [..., 2]."""
    return op.Split(value, axis=-1, num_outputs=2, _outputs=2)


def moved(
    op: Builder, corners: Corners, moves: Corners, offset: float = 0.0, inner: bool = False, most: float | None = None
) -> Corners:
    """Boxes whose centres are shifted by parts of their sides, and whose sides grow by exp(growth).

    `offset` 1: a side counts the last pixel; `inner`: so does the far corner of the result. `most` bounds the growth.
    """
    low, high = corners
    shift, growth = moves
    sides = longer(op, op.Sub(high, low), offset)
    half = number(op, 0.5, low)
    centre = op.Add(op.Mul(shift, sides), op.Add(low, op.Mul(sides, half)))
    if most is not None:
        growth = op.Min(growth, number(op, most, growth))
    reach = op.Mul(op.Mul(op.Exp(growth), sides), half)
    far = op.Add(centre, reach)
    return op.Sub(centre, reach), longer(op, far, -offset) if inner else far


def bounded(op: Builder, corners: Corners, limit: Value) -> Corners:
    """Corners between 0 and `limit` [..., 2]."""
    zero = number(op, 0, corners[0])
    low, high = (op.Max(op.Min(one, limit), zero) for one in corners)
    return low, high


# thresholds ----------------------------------------------------------------------------------------


def just_below(op: Builder, overlap: Value | None, most: Value) -> tuple[Value, Value]:
    """(threshold, most) by which ONNX drops the boxes that OpenVINO's CPU runtime does: those that overlap by `overlap`
    or more. At 0 that is every box but the best."""
    known = np.zeros(1, np.float32) if overlap is None else constant(overlap)
    if known is not None:
        threshold = np.float32(known.reshape(-1)[0])
        if threshold <= 0:
            return op.const([0.0]), least_of(op, most, 1)
        below = np.nextafter(threshold, np.float32(-math.inf))
        return op.const(np.minimum(below, np.float32(1)).reshape(1)), most
    assert overlap is not None
    threshold = vector(op, overlap, DType.FLOAT32)
    below = op.Sub(threshold, op.Mul(threshold, op.const(np.float32(0.6 * 2**-23))))
    zero, one = op.const(np.float32(0)), op.const(np.float32(1))
    most = op.Where(op.Greater(threshold, zero), most, least_of(op, most, 1))
    return op.Clip(below, zero, one), most
