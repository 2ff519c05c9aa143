"""Places that a program computes: as int64, and within bounds where nothing says that they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.build import cast
from ....passes.constant_analysis import known_array
from ....passes.graph import Value
from ....passes.loops.ranges import Bounds, bounds, limits, truth
from ....passes.rewrite import Builder
from ....passes.types import DType
from .views import INT64_MAX, along, broadcast_to, counted, reshaped, sizes

_MOST_STATED = 100_000  # elements of a constant of coordinates


def place(op: Builder, value: Value) -> Value:
    """Integers of any type as int64; those of uint64 that it can't hold as its largest, which lies behind all ends."""
    array = known_array(value)
    if array is not None:
        array = np.minimum(array, np.uint64(INT64_MAX)) if array.dtype == np.uint64 else array
        return op.const(array.astype(np.int64), DType.INT64)
    value = _uncast(_resolved(op, value))
    if value.tensor.dtype is DType.UINT64 and bounds(value)[1] > INT64_MAX:
        value = op.Min(value, op.const(INT64_MAX, DType.UINT64))
    return cast(op, value, DType.INT64)


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
        return value if source is condition else reshaped(op, source, value.tensor.static_shape)
    if node.op_type == "Concat":
        parts = [one if one is None else _resolved(op, one) for one in node.inputs]
        return value if parts == node.inputs else op.Concat(*parts, axis=node.attributes["axis"])
    return value


def columns(value: Value, count: int) -> list[Bounds]:
    """The bounds of each of the `count` numbers in the last dimension."""
    array, node, parts = known_array(value), value.producer, parts_of(value, count)
    if array is not None and array.size:
        flat = array.reshape(-1, count)
        return [(int(low), int(high)) for low, high in zip(flat.min(0), flat.max(0), strict=True)]
    if node is not None and node.op == ("", "Cast") and node.inputs[0] is not None:
        least, most = limits(value.tensor.dtype)
        found = columns(node.inputs[0], count)
        return [(low, high) if least <= low and high <= most else (least, most) for low, high in found]
    return [bounds(value)] * count if parts is None else [bounds(one) for one in parts]


def parts_of(value: Value, count: int) -> list[Value] | None:
    """The values that are joined to the `count` numbers in the last dimension, one for each of them."""
    node = value.producer
    if node is None or node.op != ("", "Concat") or node.attributes["axis"] not in (-1, (value.rank or 0) - 1):
        return None
    parts = [one for one in node.inputs if one is not None]
    return parts if len(parts) == count and all((one.tensor.shape or (0,))[-1] == 1 for one in parts) else None


def inside(value: Value, last: Sequence[int]) -> bool:
    """Whether the numbers in the last dimension are certainly none below 0 and none behind `last`."""
    pairs = zip(columns(value, len(last)), last, strict=True)
    return all(low >= 0 and high <= end for (low, high), end in pairs)


def compared(op: Builder, value: Value) -> Value:
    """Integers as `clamped` takes them: in a type that ONNX Runtime compares."""
    value = _uncast(_resolved(op, value)) if known_array(value) is None else place(op, value)
    dtype = value.tensor.dtype
    return place(op, value) if dtype is None or dtype.bits < 32 else value


def clamped(op: Builder, value: Value, last: Sequence[int]) -> Value:
    """Integers moved to where they lie from 0 to `last`, which has an end for each in the last dimension.

    Before they are cast to int64: ONNX Runtime's Min, Max and Clip take some int64 for smaller than they are.
    """
    dtype, found = value.tensor.dtype, columns(value, len(last))
    same = len(set(last)) == 1
    ends = last[0] if same else list(last)
    if value.data is not None:
        return op.const(np.clip(value.data.numpy(), 0, ends), DType.INT64)
    low = any(below < 0 for below, _ in found)
    high = any(above > end for (_, above), end in zip(found, last, strict=True))
    if low and high and same:
        return op.Clip(value, op.const(0, dtype), op.const(ends, dtype))
    if low:
        value = op.Max(value, op.const(0, dtype))
    return op.Min(value, op.const(ends, dtype)) if high else value


def within(op: Builder, value: Value, last: int) -> Value:
    """Integers of any type as int64 from 0 to `last`: what lies outside moves to the nearer end."""
    return place(op, clamped(op, compared(op, value), [last]))


def grid(op: Builder, vectors: Sequence[Value]) -> Value:
    """The coordinates of every element that the vectors' elements cross at: [n0, n1, ..., how many vectors]."""
    counts = [shape[0] for one in vectors if (shape := one.tensor.static_shape)]
    rank = len(counts)
    arrays = [one.data.numpy() for one in vectors if one.data is not None]
    if len(arrays) == rank and math.prod(counts) * rank <= _MOST_STATED:
        return op.const(np.stack(np.meshgrid(*arrays, indexing="ij"), -1), DType.INT64)
    parts = [
        reshaped(op, broadcast_to(op, along(op, one, axis, rank), counts), [*counts, 1])
        for axis, one in enumerate(vectors)
    ]
    return parts[0] if rank == 1 else op.Concat(*parts, axis=rank)


def shifted(op: Builder, value: Value, by: Value) -> Value:
    """The sum of two int64 values, reckoned here where both are known."""
    if value.data is None or by.data is None:
        return op.Add(value, by)
    return op.const(value.data.numpy() + by.data.numpy(), DType.INT64)


def with_windows(op: Builder, starts: Value, size: Sequence[int]) -> Value:
    """The coordinates of all elements of windows: [.., n] -> [.., sizes above 1 .., n], a size for each of n axes."""
    if all(part == 1 for part in size):
        return starts
    wide = [part for part in size if part > 1]
    offsets = reshaped(op, grid(op, [counted(op, part) for part in size]), [*wide, len(size)])
    shape = starts.tensor.static_shape
    assert shape is not None
    return shifted(op, reshaped(op, starts, [*shape[:-1], *[1] * len(wide), len(size)]), offsets)


def scaled(op: Builder, value: Value, by: int) -> Value:
    """`value * by`."""
    if by == 1:
        return value
    return op.Mul(value, op.const(by)) if value.data is None else op.const(value.data.numpy() * by, DType.INT64)


def weighed(op: Builder, value: Value, weights: Sequence[int]) -> Value:
    """The sum of the numbers in the last dimension, each times its weight: [.., n] -> [..]."""
    shape = value.tensor.static_shape
    assert shape is not None
    if value.data is not None:
        return op.const((value.data.numpy() * np.array(weights, np.int64)).sum(-1), DType.INT64)
    if len(weights) == 1:
        return scaled(op, reshaped(op, value, shape[:-1]), weights[0])
    return op.ReduceSum(op.Mul(value, sizes(op, weights)), sizes(op, [len(shape) - 1]), keepdims=0)
