"""Rows chosen, ordered, counted and brought to a fixed number: what lists of detections need."""

from __future__ import annotations

import math

from ....passes.build import Expr, arange, concat, expr, where
from ....passes.build.values import pad
from ....passes.types import DType, TensorType

# orders --------------------------------------------------------------------------------------------


def topk(keys: Expr, count: Expr, axis: int, largest: bool = True) -> tuple[Expr, Expr]:
    """The `count` largest (or least) along an axis, in order, equal ones by place; and their places."""
    values, places = keys.op.TopK(keys, count, axis=axis, largest=None if largest else 0, _outputs=2)
    return expr(keys.op, values), expr(keys.op, places)


def argsort(keys: Expr, largest: bool = True) -> Expr:
    """The indices that sort a vector, the largest (or the least) first, equal keys staying in their order."""
    return topk(keys, keys.sizes(), 0, largest)[1]


def by_score(scores: Expr, ties: Expr) -> Expr:
    """The indices that sort by score, the highest first, equal ones by `ties`, the lowest first."""
    first = argsort(ties, largest=False)
    return first.gather(argsort(scores.gather(first)))


def sorted_again(order: Expr, keys: Expr) -> Expr:
    """An order sorted again by keys, the lowest first, equal keys staying in their order."""
    return order.gather(argsort(keys.gather(order), largest=False))


def highest(scores: Expr, most: int) -> Expr:
    """The `most` highest of the last dimension, equal ones by place; -inf elsewhere."""
    length = scores.size(-1)
    if most < 0 or (length.item() is not None and length.item() <= most):
        return scores
    values, places = topk(scores, length.minimum(most), -1)
    types = [scores.value().type]
    return scores.full_like(-math.inf).call("ScatterElements", places, values, axis=-1, _types=types)


def columns(*vectors: Expr) -> Expr:
    """Vectors as the columns of a matrix."""
    return concat(vectors[0].op, [vector[:, None] for vector in vectors], 1)


def places_where(condition: Expr) -> Expr:
    """Where something is true: [places, dimensions]."""
    return expr(condition.op, condition.op.Transpose(condition.op.NonZero(condition), perm=[1, 0]))


# groups --------------------------------------------------------------------------------------------


def _one_hot(groups: Expr, count: Expr) -> Expr:
    return groups[:, None].equals(arange(groups.op, count)).cast(DType.INT64)


def first_of_group(groups: Expr, count: Expr, most: int) -> Expr:
    """For rows in order: whether a row is among the first `most` of its group; groups are 0 ... count - 1."""
    hot = _one_hot(groups, count)
    return ((hot.cumsum(0) - hot) * hot).sum(1) < most


def best_of_group(order: Expr, groups: Expr, count: Expr, most: int) -> Expr:
    """Of indices in order those of the first `most` of each group."""
    if count.item() == 1:
        return order[:most]
    return order.call("Compress", first_of_group(groups.gather(order), count, most), axis=0)


def bincount(groups: Expr, count: Expr) -> Expr:
    """How many rows there are of each group, int64 [count]."""
    return _one_hot(groups, count).sum(0)


# rows of a fixed number ----------------------------------------------------------------------------


def exactly(rows: Expr, total: Expr | int, fill: float = 0) -> Expr:
    """The first `total` (a number or int64 [1]) rows, followed by rows of `fill` if there aren't as many."""
    op, shape = rows.op, rows.shape
    longer = pad(op, rows.value(), [0], [total], fill, [0])
    known = total if isinstance(total, int) else total.item()
    stated = TensorType(rows.dtype, (known, *shape[1:])) if known is not None and shape is not None else None
    end = op.const([total]) if isinstance(total, int) else total
    return expr(op, op.Slice(longer, op.const([0]), end, op.const([0]), _types=[stated]))


def lists(
    groups: Expr, count: Expr, rows: Expr, length: int, last: list[list[float]] | None = None, fill: float = 0
) -> Expr:
    """The rows [rows, ...] of each group, one group after the other, as [count, length, ...]: after a group's own rows
    `last` [1, ...] once, then rows of `fill`."""
    op = rows.op
    extended = rows if last is None else concat(op, [rows, expr(op, last)])
    if count.item() == 1:
        return exactly(extended, length, fill)[None]
    sizes = bincount(groups, count)
    starts, sizes = sizes.cumsum(0, exclusive=True)[:, None], sizes[:, None]
    places, rest = arange(op, length), rows.sizes(0, 1)
    if last is not None:
        rest = rest + (places > sizes).cast(DType.INT64)
    ended = exactly(extended, extended.sizes(0, 1) + 1, fill)
    return ended.gather(where(places < sizes, starts + places, rest))
