"""OpenVINO -> the hub: pooling to a given number of windows.

Window i of n covers the indices from floor(i * size / n) up to, not including, ceil((i + 1) * size / n): windows of one
size where n divides it, which is plain pooling; else of several, which are gathered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ....passes.build import Expr, arange, concat, expr, product, where
from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.preconditions import input_of, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .sampling import in_float32
from .support import Results, element_type, operand, vector


class _Windows(NamedTuple):
    """The windows along one axis: `positions` and `inside`, [windows, longest].

    A window that is shorter than the longest repeats its last position, where `inside` is false (None: no window is).
    """

    positions: Expr
    inside: Expr | None


def _windows(extent: Expr, count: Expr) -> _Windows:
    """The windows of an axis, `extent` and `count` as int64 [1]."""
    index = arange(extent.op, count)[:, None]
    starts = index * extent // count
    ends = ((index + 1) * extent + (count - 1)) // count
    lengths = (ends - starts).reshape(-1)
    longest = concat(extent.op, [lengths, np.ones(1)]).call("ReduceMax", keepdims=1)
    positions = starts + arange(extent.op, longest)
    inside = positions < ends
    return _Windows(positions.minimum(ends - 1), None if inside.array is not None and inside.array.all() else inside)


class _Pool(NamedTuple):
    """An image and the sizes asked for: `extents` and `counts`, a vector of one for each spatial axis."""

    x: Expr
    rank: int
    extents: list[Expr]
    counts: list[Expr]

    @property
    def kernel(self) -> list[int] | None:
        """The windows' size, where all have the same."""
        pairs = [(extent.item(), count.item()) for extent, count in zip(self.extents, self.counts, strict=True)]
        if any(not size or not count or count < 1 or size % count for size, count in pairs):
            return None
        return [size // count for size, count in pairs]

    @property
    def axes(self) -> range:
        return range(2, self.rank)

    @property
    def is_whole(self) -> bool:
        """Whether one window is all of the image."""
        return all(count.item() == 1 for count in self.counts)


def _pool(op: Builder, node: Node) -> _Pool:
    x, rank = operand(op, node), rank_of(node, input_of(node))
    if not 3 <= rank <= 5:
        raise InvalidModel(f"{node!r}: an image of {rank} dimensions")
    wanted = vector(op, input_of(node, 1))
    length = wanted.size(0).item()
    if length not in (None, rank - 2):
        raise InvalidModel(f"{node!r}: {length} sizes for {rank - 2} axes")
    counts = [wanted.gather([position]) for position in range(rank - 2)]
    return _Pool(x, rank, [x.size(axis) for axis in range(2, rank)], counts)


@rule(DOMAIN, "AdaptiveAvgPool")
@in_float32
def adaptive_avg_pool(op: Builder, node: Node) -> Results:
    """AdaptiveAvgPool-8 of one to three axes: the mean along one axis after the other."""
    pool = _pool(op, node)
    if pool.is_whole:
        return pool.x.mean(*pool.axes, keepdims=True).value()
    if pool.kernel is not None:
        return op.AveragePool(pool.x, kernel_shape=pool.kernel, strides=pool.kernel)
    found = pool.x
    for axis, extent, count in zip(pool.axes, pool.extents, pool.counts, strict=True):
        windows = _windows(extent, count)
        each = found.gather(windows.positions, axis)
        if windows.inside is None:
            found = each.mean(axis + 1)
            continue
        inside = windows.inside.unsqueeze(*range(2, 2 + pool.rank - axis - 1))  # of the image behind this axis
        total = where(inside, each, 0).sum(axis + 1)
        found = total / inside.cast(total.dtype).sum(1)
    return found.value()


@rule(DOMAIN, "AdaptiveMaxPool")
def adaptive_max_pool(op: Builder, node: Node) -> Results:
    """AdaptiveMaxPool-8 of one to three axes, and where in the image of its channel each maximum first stands."""
    pool = _pool(op, node)
    dtype = element_type(node, "index_element_type", "i64") or DType.INT64
    kernel = pool.kernel
    if kernel is not None and not pool.is_whole:
        values, indices = op.MaxPool(pool.x, kernel_shape=kernel, strides=kernel, _outputs=2)
        return values, (expr(op, indices) % product(pool.extents).reshape()).cast(dtype).value()
    front = pool.x.sizes(0, 2)
    if pool.is_whole:
        values = pool.x.max(*pool.axes, keepdims=True).value()
        argmax = pool.x.reshape(front, product(pool.extents)).call("ArgMax", axis=2, keepdims=1)
        return values, argmax.reshape(front, *pool.counts).cast(dtype).value()
    each: Expr = pool.x
    positions: list[Expr] = []
    for extent, count in zip(pool.extents, pool.counts, strict=True):
        windows = _windows(extent, count)
        each = each.gather(windows.positions, axis=2 + 2 * len(positions))
        positions.append(windows.positions)
    values, argmax = _greatest(pool, each, positions)
    return values.value(), argmax.reshape(front, *pool.counts).cast(dtype).value()


def _greatest(pool: _Pool, each: Expr, positions: Sequence[Expr]) -> tuple[Expr, Expr]:
    """The greatest element of each window and its index; `each` is [batch, channels, windows, window, windows ...]."""
    count = len(positions)
    values = each.max(*(3 + 2 * axis for axis in range(count)))
    ordered = [*range(0, 2 * count, 2), *range(1, 2 * count, 2)]  # the windows before the positions in them
    shape = [*pool.counts, product([one.size(1) for one in positions])]
    front = pool.x.sizes(0, 2)
    if count > 1:
        each = each.transpose(0, 1, *(2 + axis for axis in ordered)).reshape(front, *shape)
    table = _flat_indices(pool, positions)
    if count > 1:
        table = table.transpose(*ordered).reshape(*shape)
    rows = table.broadcast_to(front, table.sizes())
    return values, rows.call("GatherElements", each.call("ArgMax", axis=-1, keepdims=1), axis=-1)


def _flat_indices(pool: _Pool, positions: Sequence[Expr]) -> Expr:
    """Where in the flattened image each element of each window stands: [windows, window, windows, window ...]."""
    others = [
        [position for position in range(2 * len(positions)) if position // 2 != axis] for axis in range(len(positions))
    ]
    total, *rest = (one.unsqueeze(*axes) for one, axes in zip(positions, others, strict=True))
    for extent, one in zip(pool.extents[1:], rest, strict=True):
        total = total * extent + one
    return total


RULES = collect(globals())
