"""What the rules for suppression, proposals and detections share: corners, overlap, suppression itself.

Corners are two arrays [..., 2], the near one and the far one of each box.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....passes.build import Expr, arange, concat, expr, loop, where
from ....passes.build.values import pad
from ....passes.graph import Value
from ....passes.loop import Captured, Carried, Condition, Stacked
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from .support import vector

Corners = Sequence[Expr]
Decay = Callable[..., Sequence[Expr]]

# overlap -------------------------------------------------------------------------------------------


def suppress(
    boxes: Expr, scores: Expr, overlap: float, most: Expr | int | None = None, least: float | None = None
) -> Expr:
    """[batch, class, box] of the boxes that overlap none that is kept by more than `overlap`, best first.

    `boxes` [batches, boxes, 4], `scores` [batches, classes, boxes], both float32; `most` of each class (None: all),
    `least` the score to be exceeded (None: any, but -inf). ONNX wants an overlap from 0 to 1: below that, only the best
    box of each class is kept; nothing ever overlaps by more than 1.
    """
    op = scores.op
    most = scores.size(2) if most is None else expr(op, [most]) if isinstance(most, int) else most
    if overlap < 0:
        most = most.minimum(1)
    share = op.const([min(max(overlap, 0.0), 1.0)])
    limit = op.const([float(np.finfo(np.float32).min) if least is None else least])
    return expr(op, op.NonMaxSuppression(boxes, scores, most, share, limit))


def intersection_over_union(mine: Corners, other: Corners, offset: float = 0.0) -> Expr:
    """Intersection over union of boxes by their corners [..., 2], 0 where a box has no area; broadcast.

    `offset` 1: the far corner is the last pixel of a box, and boxes that only touch by that pixel don't overlap.
    """
    sides = mine[1].minimum(other[1]) - mine[0].maximum(other[0])
    overlap = area(inclusive_sides(sides, offset).maximum(0))
    areas = [area(inclusive_sides(high - low, offset)) for low, high in (mine, other)]
    share = overlap / (areas[0] + areas[1] - overlap)
    real = sides.min(-1) >= 0 if offset else (areas[0] > 0) & (areas[1] > 0)
    return where(real, share, 0)


def inclusive_sides(sides: Expr, offset: float) -> Expr:
    return sides + offset if offset else sides


def area(sides: Expr) -> Expr:
    """The product of the sides [..., 2]."""
    return sides.prod(-1)


def greedy_suppression(
    op: Builder,
    parts: Sequence[Expr],
    scores: Expr,
    most: Expr,
    decay: Decay,
    captured: Sequence[Expr] = (),
    carried: Sequence[Expr] = (),
) -> tuple[Expr, Expr]:
    """Suppression as ONNX's operator can't do it: each pass takes the best box of each batch and class.

    `parts` (corners, say) are [batches, boxes, ...], `scores` [batches, classes, boxes], -inf for boxes that are out;
    `most` is int64 [1]. `lessen(left, taken, all, *captured, *carried)` gives the scores that are left when a box
    is taken, and what is carried on: `left` is [batches, classes, boxes], each of the parts `taken` [batches, classes,
    1, ...], each of `all` [batches, 1, boxes, ...].
    Returns [batch, class, box] of the boxes taken, best first in each class, and their scores.
    """

    def step(left: Expr, *fed: Expr) -> list[Expr]:
        best = left.call("ArgMax", axis=2, keepdims=1)
        mine, rest = fed[: len(parts)], fed[len(parts) :]
        taken = tuple(part.call("GatherND", best, batch_dims=1)[:, :, None] for part in mine)
        kept, *going = decay(left, taken, tuple(part[:, None] for part in mine), *rest)
        kept = where(arange(left.op, left.size(2)).equals(best), -math.inf, kept)
        return [kept, *going, kept.max() > -math.inf, best, left.max(2, keepdims=True)]

    fixed, moving = [Captured() for _ in (*parts, *captured)], [Carried() for _ in carried]
    slots = [Carried(), *fixed, *moving, Condition(), Stacked(axis=3), Stacked(axis=3)]
    trip = most.minimum(scores.size(2)).reshape()
    *_, bests, values = loop(op, slots, [scores, *parts, *captured, *carried], step, trip, "suppression")
    bests, values = bests.squeeze(2), values.squeeze(2)
    indices = indices_where(values > -math.inf)
    which = bests.call("GatherND", indices)[:, None]
    return concat(op, [indices[:, :2], which], 1), values.call("GatherND", indices)


def suppress_by_loop(corners: Corners, scores: Expr, most: Expr, overlap: float, offset: float) -> tuple[Expr, Expr]:
    """`suppress` for boxes whose far corner is their last pixel; as `greedy_suppression`."""

    def decay(left: Expr, taken: Corners, others: Corners) -> list[Expr]:
        return [where(intersection_over_union(taken, others, offset) > overlap, -math.inf, left)]

    return greedy_suppression(scores.op, corners, scores, most, decay)


def ordered_corners(corners: Corners) -> Expr:
    """[..., 4], boxes without area in place of those whose corners are the wrong way round: neither overlaps others."""
    low, high = corners
    return concat(low.op, [low, low.maximum(high)], -1)


# coordinates ---------------------------------------------------------------------------------------


def corners_of(boxes: Expr) -> Corners:
    """[..., 4] as two arrays [..., 2]."""
    return boxes.split(2, -1)


def decoded(
    corners: Corners, moves: Corners, offset: float = 0.0, inner: bool = False, most: float | None = None
) -> Corners:
    """Boxes whose centres are shifted by parts of their sides, and whose sides grow by exp(growth).

    `offset` 1: a side counts the last pixel; `inner`: so does the far corner of the result. `most` bounds the growth.
    """
    low, high = corners
    shift, growth = moves
    sides = inclusive_sides(high - low, offset)
    centre = shift * sides + (low + sides * 0.5)
    reach = (growth if most is None else growth.minimum(most)).exp() * sides * 0.5
    return centre - reach, centre + reach - (offset if inner else 0.0)


def clip_corners(corners: Corners, limit: Any) -> Corners:
    """Corners between 0 and `limit` [..., 2]."""
    return [corner.minimum(limit).maximum(0) for corner in corners]


# thresholds ----------------------------------------------------------------------------------------


def just_below(op: Builder, overlap: Value | None, most: Expr) -> tuple[Expr, Expr]:
    """(threshold, most) by which ONNX drops the boxes that OpenVINO's CPU runtime does: those that overlap by `overlap`
    or more. At 0 that is every box but the best."""
    threshold = expr(op, [0.0]) if overlap is None else vector(op, overlap, DType.FLOAT32)
    if threshold.array is not None:
        known = np.float32(threshold.array[0])
        if known <= 0:
            return expr(op, [0.0]), most.minimum(1)
        return expr(op, np.minimum(np.nextafter(known, np.float32(-math.inf)), np.float32(1)).reshape(1)), most
    below = threshold - threshold * (0.6 * 2**-23)
    return below.call("Clip", 0.0, 1.0), where(threshold > 0, most, most.minimum(1))


# rows chosen, ordered, counted and brought to a fixed number: what lists of detections need --------


# orders --------------------------------------------------------------------------------------------


def topk(keys: Expr, count: Expr, axis: int, largest: bool = True) -> tuple[Expr, Expr]:
    """The `count` largest (or least) along an axis, in order, equal ones by position; and their positions."""
    values, indices = keys.op.TopK(keys, count, axis=axis, largest=None if largest else 0, _outputs=2)
    return expr(keys.op, values), expr(keys.op, indices)


def argsort(keys: Expr, largest: bool = True) -> Expr:
    """The indices that sort a vector, the largest (or the least) first, equal keys staying in their order."""
    return topk(keys, keys.sizes(), 0, largest)[1]


def argsort_by_score(scores: Expr, ties: Expr) -> Expr:
    """The indices that sort by score, the highest first, equal ones by `ties`, the lowest first."""
    first = argsort(ties, largest=False)
    return first.gather(argsort(scores.gather(first)))


def stable_sort_by(order: Expr, keys: Expr) -> Expr:
    """An order sorted again by keys, the lowest first, equal keys staying in their order."""
    return order.gather(argsort(keys.gather(order), largest=False))


def only_topk(scores: Expr, most: int) -> Expr:
    """The `most` highest of the last dimension, equal ones by position; -inf elsewhere."""
    length = scores.size(-1)
    if most < 0 or (length.item() is not None and length.item() <= most):
        return scores
    values, indices = topk(scores, length.minimum(most), -1)
    types = [scores.value().type]
    return scores.full_like(-math.inf).call("ScatterElements", indices, values, axis=-1, _types=types)


def stack_columns(*vectors: Expr) -> Expr:
    """Vectors as the columns of a matrix."""
    return concat(vectors[0].op, [vector[:, None] for vector in vectors], 1)


def indices_where(condition: Expr) -> Expr:
    """Where something is true: [positions, dimensions]."""
    return expr(condition.op, condition.op.Transpose(condition.op.NonZero(condition), perm=[1, 0]))


# groups --------------------------------------------------------------------------------------------


def _one_hot(groups: Expr, count: Expr) -> Expr:
    return groups[:, None].equals(arange(groups.op, count)).cast(DType.INT64)


def is_first_of_group(groups: Expr, count: Expr, most: int) -> Expr:
    """For rows in order: whether a row is among the first `most` of its group; groups are 0 ... count - 1."""
    hot = _one_hot(groups, count)
    return ((hot.cumsum(0) - hot) * hot).sum(1) < most


def topk_of_group(order: Expr, groups: Expr, count: Expr, most: int) -> Expr:
    """Of indices in order those of the first `most` of each group."""
    if count.item() == 1:
        return order[:most]
    return order.call("Compress", is_first_of_group(groups.gather(order), count, most), axis=0)


def bincount(groups: Expr, count: Expr) -> Expr:
    """How many rows there are of each group, int64 [count]."""
    return _one_hot(groups, count).sum(0)


# rows of a fixed number ----------------------------------------------------------------------------


def padded_to(rows: Expr, total: Expr | int, fill: float = 0) -> Expr:
    """The first `total` (a number or int64 [1]) rows, followed by rows of `fill` if there aren't as many."""
    op, shape = rows.op, rows.shape
    longer = pad(op, rows.value(), [0], [total], fill, [0])
    known = total if isinstance(total, int) else total.item()
    stated = TensorType(rows.dtype, (known, *shape[1:])) if known is not None and shape is not None else None
    end = op.const([total]) if isinstance(total, int) else total
    return expr(op, op.Slice(longer, op.const([0]), end, op.const([0]), _types=[stated]))


def padded_groups(
    groups: Expr, count: Expr, rows: Expr, length: int, last: list[list[float]] | None = None, fill: float = 0
) -> Expr:
    """The rows [rows, ...] of each group, one group after the other, as [count, length, ...]: after a group's own rows
    `last` [1, ...] once, then rows of `fill`."""
    op = rows.op
    extended = rows if last is None else concat(op, [rows, expr(op, last)])
    if count.item() == 1:
        return padded_to(extended, length, fill)[None]
    sizes = bincount(groups, count)
    starts, sizes = sizes.cumsum(0, exclusive=True)[:, None], sizes[:, None]
    indices, rest = arange(op, length), rows.sizes(0, 1)
    if last is not None:
        rest = rest + (indices > sizes).cast(DType.INT64)
    ended = padded_to(extended, extended.sizes(0, 1) + 1, fill)
    return ended.gather(where(indices < sizes, starts + indices, rest))
