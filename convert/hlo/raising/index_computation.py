"""Indices that a program computes: as int64, and within bounds where nothing says that they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build.values import INT64_MAX
from ....passes.constant_analysis import static_array
from ....passes.graph import Value
from ....passes.loops.ranges import Bounds, bounds, hull, limits, truth
from ....passes.rewrite import Builder
from ....passes.sizes import dims_of
from ....passes.types import DType
from ..dimension_numbers import GatherNumbers, Label
from .arrays import MOST_STATED, Array, arange, concat, listed


def as_index(op: Builder, value: Value) -> Array:
    """Integers of any type as int64; those of uint64 that it can't hold as its largest, which lies behind all ends."""
    known = static_array(value)
    if known is not None:
        known = np.minimum(known, np.uint64(INT64_MAX)) if known.dtype == np.uint64 else known
        return Array(op, known.astype(np.int64))
    found = Array(op, _uncast(_resolved(op, value)))
    if found.dtype is DType.UINT64 and bounds(found.value())[1] > INT64_MAX:
        found = found.minimum(INT64_MAX)
    return found.cast(DType.INT64)


def _uncast(value: Value) -> Value:
    """`value` as it was before casts to types that it fits in (a loop's counter comes as int64)."""
    node = value.producer
    source = node.inputs[0] if node is not None and node.op == ("", "Cast") else None
    if value.tensor.dtype is DType.INT64:
        return value
    if source is None or source.tensor.dtype is None or not source.tensor.dtype.is_integer:
        return value
    (low, high), (least, most) = bounds(source), limits(value.tensor.dtype)
    return _uncast(source) if least <= low and high <= most else value


def _resolved(op: Builder, value: Value) -> Value:
    """`value` without choices that are always made the same way (what counts negative indices from the end)."""
    node = value.producer
    if node is None or node.domain or value.tensor.static_shape is None:
        return value
    condition = node.inputs[0] if node.inputs else None
    if condition is None:
        return value
    if node.op_type == "Where":
        chosen = truth(condition)
        branch = None if chosen is None else node.inputs[1 if chosen else 2]
        return value if branch is None or branch.type != value.type else _resolved(op, branch)
    if node.op_type in ("Reshape", "Squeeze", "Unsqueeze") and condition.tensor.static_shape is not None:
        source = _resolved(op, condition)
        return value if source is condition else Array(op, source).reshape(*value.tensor.static_shape).value()
    if node.op_type == "Concat":
        parts = [one if one is None else _resolved(op, one) for one in node.inputs]
        return value if parts == node.inputs else op.Concat(*parts, axis=node.attributes["axis"])
    return value


def columns(value: Value, count: int) -> list[Bounds]:
    """The bounds of each of the `count` numbers in the last dimension."""
    array, node, parts = static_array(value), value.producer, parts_of(value, count)
    if array is not None and array.size:
        flat = array.reshape(-1, count)
        return [(int(low), int(high)) for low, high in zip(flat.min(0), flat.max(0), strict=True)]
    if node is not None and node.op == ("", "Cast") and node.inputs[0] is not None:
        least, most = limits(value.tensor.dtype)
        found = columns(node.inputs[0], count)
        return [(low, high) if least <= low and high <= most else (least, most) for low, high in found]
    return [bounds(value)] * count if parts is None else [bounds(one) for one in parts]


def parts_of(value: Value, count: int) -> list[Value] | None:
    """The values that are concatenated to the `count` numbers in the last dimension, one for each of them."""
    node = value.producer
    if node is None or node.op != ("", "Concat") or node.attributes["axis"] not in (-1, (value.rank or 0) - 1):
        return None
    parts = [one for one in node.inputs if one is not None]
    return parts if len(parts) == count and all((one.tensor.shape or (0,))[-1] == 1 for one in parts) else None


def inside(value: Value, last: Sequence[int]) -> bool:
    """Whether the numbers in the last dimension are certainly none below 0 and none behind `last`."""
    pairs = zip(columns(value, len(last)), last, strict=True)
    return all(low >= 0 and high <= hull(end)[0] for (low, high), end in pairs)


def comparable(op: Builder, value: Value) -> Array:
    """Integers as `clamped` takes them: in a type that ONNX Runtime compares."""
    if static_array(value) is not None:
        return as_index(op, value)
    value = _uncast(_resolved(op, value))
    dtype = value.tensor.dtype
    if dtype is None or dtype.bits < 32:
        return as_index(op, value)
    return Array(op, value, None if value.data is None else value.data.numpy())


def clamped(x: Array, last: Sequence[int]) -> Array:
    """Integers moved to where they lie from 0 to `last`, which has an end for each in the last dimension.

    Before they are cast to int64: ONNX Runtime's Min, Max and Clip take some int64 for smaller than they are.
    """
    known = [end for end in last if isinstance(end, int)]
    if x.array is not None and len(known) == len(last):
        return x.make(np.clip(x.array, 0, known[0] if len(set(known)) == 1 else np.array(known)).astype(np.int64))
    found = columns(x.value(), len(last))
    low = any(below < 0 for below, _ in found)
    high = any(above > hull(end)[0] for (_, above), end in zip(found, last, strict=True))
    if low and high and len(set(last)) == len(set(known)) == 1:
        return x.call("Clip", 0, known[0])
    x = x.maximum(0) if low else x
    if not high:
        return x
    ends = listed(x.op, last)
    return x.minimum(last[0] if len(set(last)) == 1 else ends.cast(x.dtype) if isinstance(ends, Array) else ends)


def within(op: Builder, value: Value, last: Sequence[int]) -> Array:
    """Integers of any type as int64 from 0 to `last`: what lies outside moves to the nearer end."""
    return as_index(op, clamped(comparable(op, value), last).value())


def grid(vectors: Sequence[Array]) -> Array:
    """The coordinates of every element that the vectors' elements cross at: [n0, n1, ..., how many vectors]."""
    counts = [one.sizes_known[0] for one in vectors]
    rank = len(counts)
    known = [count for count in counts if isinstance(count, int)]
    if len(known) < rank or math.prod(known) * rank > MOST_STATED:
        vectors = [Array(one.op, one.value()) for one in vectors]
    whole = (one.along(axis, rank).broadcast_to(*counts) for axis, one in enumerate(vectors))
    return concat([one.reshape(*counts, 1) for one in whole], rank)


def with_windows(starts: Array, size: Sequence[int]) -> Array:
    """The coordinates of all elements of windows: [.., n] -> [.., sizes above 1 .., n], a size for each of n axes."""
    wide = [part for part in size if part != 1]
    if not wide:
        return starts
    offsets = grid([arange(starts.op, part) for part in size]).reshape(*wide, len(size))
    *batch, count = starts.sizes_known
    return starts.reshape(*batch, *[1] * len(wide), count) + offsets


@dataclass(frozen=True, slots=True)
class Starts:
    """Where the windows start: integers [batch dimensions ..., one for each axis of `axes`], of any type."""

    value: Value
    axes: tuple[int, ...]

    @property
    def batch(self) -> tuple[int, ...]:
        """The sizes of the batch dimensions."""
        shape = dims_of(self.value.tensor.shape)
        assert shape is not None
        return shape[:-1]

    @property
    def batch_labels(self) -> list[Label]:
        return [("batch", axis) for axis in range(len(self.batch))]

    def only(self, op: Builder, axes: Sequence[int]) -> Starts:
        """The numbers of some axes, in this order."""
        if tuple(axes) == self.axes:
            return self
        picked = [self.axes.index(axis) for axis in axes]
        parts = parts_of(self.value, len(self.axes))
        array = static_array(self.value)
        if array is not None:
            value = op.const(array[..., picked], self.value.tensor.dtype)
        elif parts is not None:
            value = parts[picked[0]] if len(picked) == 1 else op.Concat(*(parts[at] for at in picked), axis=-1)
        else:
            value = op.Gather(self.value, op.const(picked), axis=len(self.batch))
        return Starts(value, tuple(axes))

    def line(self, op: Builder) -> Value:
        """The numbers of the only axis: [batch dimensions ...]."""
        return Array.of(op, self.value).reshape(*self.batch).value()


def starts_of(op: Builder, numbers: GatherNumbers, indices: Value) -> Starts:
    """The indices with their vectors in the last dimension."""
    x = Array(op, indices)
    shape, vector = x.sizes_known, numbers.vector
    if vector == len(shape):
        return Starts(x.reshape(*shape, 1).value(), numbers.mapped)
    others = [axis for axis in range(len(shape)) if axis != vector]
    return Starts(x.transpose(*others, vector).value(), numbers.mapped)
