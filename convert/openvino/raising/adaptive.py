"""OpenVINO -> the hub: pooling to a given number of windows.

Window i of n covers the places from floor(i * size / n) up to, not including, ceil((i + 1) * size / n): windows of one
size where n divides it, which is plain pooling; else of several, which are gathered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .sampling import in_float32
from .support import (
    Results,
    cast,
    constant,
    dimension,
    element_type,
    integers,
    number,
    product,
    reckoned,
    shape_part,
    shaped,
    sizes,
    steps,
    vector,
)


class _Windows(NamedTuple):
    """The windows along one axis: `places` and `inside`, [windows, longest].

    A window that is shorter than the longest repeats its last place, where `inside` is false (None: no window is).
    """

    places: Value
    inside: Value | None


def _windows(op: Builder, extent: Value, count: Value) -> _Windows:
    """The windows of an axis, `extent` and `count` as int64 [1]."""
    sized, numbered = integers(extent), integers(count)
    if sized is not None and numbered is not None:
        size, number = sized[0], numbered[0]
        index = np.arange(number)
        starts, ends = index * size // number, -(-(index + 1) * size // number)
        within = np.arange(max(ends - starts, default=1))
        places = starts[:, None] + within
        inside = places < ends[:, None]
        held = np.minimum(places, ends[:, None] - 1)
        return _Windows(op.const(held, DType.INT64), None if inside.all() else op.const(inside))
    index, one = op.Unsqueeze(steps(op, count), op.const([1])), op.const([1])
    starts = op.Div(op.Mul(index, extent), count)
    over = op.Mul(op.Add(index, one), extent)
    ends = op.Div(op.Add(over, op.Sub(count, one)), count)
    longest = op.ReduceMax(op.Concat(op.Reshape(op.Sub(ends, starts), op.const([-1])), one, axis=0), keepdims=1)
    places = op.Add(starts, steps(op, longest))
    return _Windows(op.Min(places, op.Sub(ends, one)), op.Less(places, ends))


class _Pool(NamedTuple):
    """An image and the sizes asked for: `extents` and `counts`, a vector of one for each spatial axis."""

    x: Value
    rank: int
    extents: list[Value]
    counts: list[Value]

    @property
    def kernel(self) -> list[int] | None:
        """The windows' size, where all have the same."""
        pairs = [(integers(extent), integers(count)) for extent, count in zip(self.extents, self.counts, strict=True)]
        known = [(size[0], count[0]) for size, count in pairs if size and count]
        if len(known) < len(pairs) or any(count < 1 or size % count or not size for size, count in known):
            return None
        return [size // count for size, count in known]

    @property
    def axes(self) -> range:
        return range(2, self.rank)

    @property
    def is_whole(self) -> bool:
        """Whether one window is all of the image."""
        return all(integers(count) == [1] for count in self.counts)


def _pool(op: Builder, node: Node) -> _Pool:
    x, rank = given(node), rank_of(node, given(node))
    if not 3 <= rank <= 5:
        raise InvalidModel(f"{node!r}: an image of {rank} dimensions")
    asked = vector(op, given(node, 1))
    known = integers(asked)
    length = sizes(asked, [0])
    if length not in (None, [rank - 2]):
        raise InvalidModel(f"{node!r}: {length} sizes for {rank - 2} axes")
    if known is not None:
        counts = [op.const([count]) for count in known]
    else:
        counts = [op.Gather(asked, op.const([place])) for place in range(rank - 2)]
    return _Pool(x, rank, [dimension(op, x, axis) for axis in range(2, rank)], counts)


@rule(DOMAIN, "AdaptiveAvgPool")
@in_float32
def adaptive_avg_pool(op: Builder, node: Node) -> Results:
    """AdaptiveAvgPool-8 of one to three axes: the mean along one axis after the other."""
    pool = _pool(op, node)
    if pool.is_whole:
        return op.ReduceMean(pool.x, op.const(list(pool.axes)), keepdims=1)
    if pool.kernel is not None:
        return op.AveragePool(pool.x, kernel_shape=pool.kernel, strides=pool.kernel)
    found = pool.x
    for axis, extent, count in zip(pool.axes, pool.extents, pool.counts, strict=True):
        windows = _windows(op, extent, count)
        each, along = op.Gather(found, windows.places, axis=axis), op.const([axis + 1])
        if windows.inside is None:
            found = op.ReduceMean(each, along, keepdims=0)
            continue
        behind = list(range(2, 2 + pool.rank - axis - 1))  # axes of the image behind this one
        inside = op.Unsqueeze(windows.inside, op.const(behind)) if behind else windows.inside
        total = op.ReduceSum(op.Where(inside, each, number(op, 0, found)), along, keepdims=0)
        length = op.ReduceSum(cast(op, inside, total.tensor.dtype or DType.FLOAT32), op.const([1]), keepdims=0)
        found = op.Div(total, length)
    return found


@rule(DOMAIN, "AdaptiveMaxPool")
def adaptive_max_pool(op: Builder, node: Node) -> Results:
    """AdaptiveMaxPool-8 of one to three axes, and where in the image of its channel each maximum first stands."""
    pool = _pool(op, node)
    dtype = element_type(node, "index_element_type", "i64") or DType.INT64
    kernel = pool.kernel
    if kernel is not None and not pool.is_whole:
        values, indices = op.MaxPool(pool.x, kernel_shape=kernel, strides=kernel, _outputs=2)
        known = sizes(pool.x, pool.axes)
        return values, cast(op, op.Mod(indices, op.const(math.prod(known or []))), dtype)
    if pool.is_whole:
        front = shape_part(op, pool.x, 0, 2)
        values = op.ReduceMax(pool.x, op.const(list(pool.axes)), keepdims=1)
        flat = shaped(op, pool.x, [front, product(op, pool.extents)])
        found = op.ArgMax(flat, axis=2, keepdims=1)
        return values, cast(op, shaped(op, found, [front, *pool.counts]), dtype)
    each, places = pool.x, []
    for extent, count in zip(pool.extents, pool.counts, strict=True):
        windows = _windows(op, extent, count)
        each = op.Gather(each, windows.places, axis=2 + 2 * len(places))
        places.append(windows.places)
    return _greatest(op, pool, each, places, dtype)


def _greatest(op: Builder, pool: _Pool, each: Value, places: Sequence[Value], dtype: DType) -> tuple[Value, Value]:
    """The greatest element of each window and its index; `each` is [batch, channels, windows, window, windows ...]."""
    count = len(places)
    values = op.ReduceMax(each, op.const([3 + 2 * axis for axis in range(count)]), keepdims=0)
    ordered = [2 * axis for axis in range(count)] + [2 * axis + 1 for axis in range(count)]
    if count > 1:
        each = op.Transpose(each, perm=[0, 1, *(2 + axis for axis in ordered)])
    front = shape_part(op, pool.x, 0, 2)
    longest = [dimension(op, one, 1) for one in places]
    shape = [*pool.counts, product(op, longest)]
    flat = shaped(op, each, [front, *shape]) if count > 1 else each
    place = op.ArgMax(flat, axis=-1, keepdims=1)
    table = _flat_places(op, pool, places, ordered, shape)
    rows = op.Expand(table, op.Concat(front, op.Shape(table), axis=0))
    found = op.GatherElements(rows, place, axis=-1)
    return values, cast(op, shaped(op, found, [front, *pool.counts]), dtype)


def _flat_places(
    op: Builder, pool: _Pool, places: Sequence[Value], ordered: Sequence[int], shape: Sequence[Value]
) -> Value:
    """Where in the flattened image each element of each window stands, in `shape`: [windows ..., elements]."""
    count = len(places)
    total = None
    for axis, (extent, one) in enumerate(zip(pool.extents, places, strict=True)):
        spread = [place for place in range(2 * count) if place not in (2 * axis, 2 * axis + 1)]
        array = constant(one)
        if array is not None:
            part = op.const(np.expand_dims(array, spread), DType.INT64)
        else:
            part = op.Unsqueeze(one, op.const(spread)) if spread else one
        total = part if total is None else reckoned(op, "Add", reckoned(op, "Mul", total, extent), part)
    assert total is not None
    if count == 1:
        return total
    array = constant(total)
    if array is not None:
        turned = array.transpose(ordered)
        return op.const(turned.reshape(*turned.shape[:count], -1), DType.INT64)
    return shaped(op, op.Transpose(total, perm=list(ordered)), shape)


RULES = collect(globals())
