"""Values seen in other shapes: reshaped, transposed, spread, cut. What changes nothing isn't written.

Several in a row become one, and what is one number everywhere stays an Expand of that number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ....passes.build import cast
from ....passes.graph import Node, Value
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, Rule, view
from ....passes.tensor import TensorData
from ....passes.types import DType, Shape, TensorType
from .support import Results

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
MOST_COUNTED = 4096  # elements of a constant that counts; longer ones are a Range
_MOST_MOVED = 4096  # elements of a constant that is transposed or cut here

_RESHAPES = ("Reshape", "Squeeze", "Unsqueeze")


def uniform(value: Value) -> Value | None:
    """The constant of one element that all elements of a value are, as far as that is plain to see."""
    if value.data is not None:
        return value if value.data.size == 1 else None
    source = _source(value, "Expand")
    return source if source is not None and source.data is not None and source.data.size == 1 else None


def _source(value: Value, *op_types: str) -> Value | None:
    """What an operator of one of these types made a value of."""
    node = value.producer
    return node.inputs[0] if node is not None and not node.domain and node.op_type in op_types else None


def sizes(op: Builder, numbers: Sequence[int]) -> Value:
    """int64 numbers: a shape, axes, places."""
    return op.const(list(numbers), DType.INT64)


def constant(op: Builder, data: TensorData, change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Value:
    """A small constant changed here."""
    return op.const(TensorData.of(np.asarray(change(data.numpy()), order="C"), data.dtype))


def broadcast_to(op: Builder, value: Value, shape: Sequence[int]) -> Value:
    """`value` broadcast to a shape by ONNX's rules; itself where it has that shape."""
    if value.tensor.shape == tuple(shape):
        return value
    one = uniform(value)
    if one is not None:
        value = _as_scalar(op, one)
    return op.Expand(value, sizes(op, shape), _types=[TensorType(value.tensor.dtype, tuple(shape))])


def _as_scalar(op: Builder, one: Value) -> Value:
    return one if one.rank == 0 or one.data is None else constant(op, one.data, lambda array: array.reshape(()))


def empty(op: Builder, dtype: DType, shape: Sequence[int]) -> Value:
    """A constant without elements."""
    return op.const(TensorData(dtype, tuple(shape), np.zeros(tuple(shape), dtype.numpy)))


def reshaped(op: Builder, value: Value, shape: Sequence[int]) -> Value:
    """`value` in a shape of known sizes, by Squeeze or Unsqueeze where only ones go or come."""
    shape = tuple(shape)
    if value.tensor.shape == shape:
        return value
    data, one = value.data, uniform(value)
    if data is not None:
        return op.const(TensorData(data.dtype, shape, load=lambda: data.numpy().reshape(shape)))
    if one is not None:
        return broadcast_to(op, one, shape)
    source = _source(value, *_RESHAPES)
    if source is not None and source.tensor.static_shape is not None:
        return reshaped(op, source, shape)
    found = _element(op, value, shape) or relabelled(op, value, shape)
    return found or op.Reshape(value, sizes(op, shape), allowzero=1 if 0 in shape else None)


def _element(op: Builder, value: Value, shape: Sequence[int]) -> Value | None:
    """What was cut out of one dimension as the element there that it is; None where that isn't all that was done."""
    maker = value.producer
    if maker is None or maker.op != ("", "Slice") or len(maker.inputs) != 4:  # no steps
        return None
    source, starts, _, axes = maker.inputs
    first, dims = (None if one is None else one.array() for one in (starts, axes))
    have = value.tensor.static_shape
    if source is None or have is None or first is None or dims is None or dims.size != 1:
        return None
    axis = int(dims[0])
    if have[axis] != 1 or (*have[:axis], *have[axis + 1 :]) != tuple(shape):
        return None
    return op.Gather(source, op.const(int(first[0])), axis=axis, _types=[TensorType(value.tensor.dtype, tuple(shape))])


def relabelled(op: Builder, value: Value, shape: Shape) -> Value | None:
    """`value` in a shape that only lacks ones or has more of them; None where that isn't so."""
    have = value.tensor.shape
    if have is None:
        return None
    more, fewer = _inserted(have, shape), _inserted(shape, have)
    if more:
        return op.Unsqueeze(value, sizes(op, more))
    if fewer:
        return op.Squeeze(value, sizes(op, fewer))
    return value if more == [] else None


def _inserted(short: Shape, long: Shape) -> list[int] | None:
    """At which places of `long` stand ones that make it of `short`; None where it isn't made so."""
    axes: list[int] = []
    matched = 0
    for axis, dim in enumerate(long):
        if matched < len(short) and short[matched] == dim:
            matched += 1
        elif dim == 1:
            axes.append(axis)
        else:
            return None
    return axes if matched == len(short) else None


def squeezed(op: Builder, value: Value, axes: Sequence[int]) -> Value:
    """`value` without some dimensions of size 1."""
    shape = value.tensor.static_shape
    assert shape is not None
    return reshaped(op, value, [size for axis, size in enumerate(shape) if axis not in axes])


def transposed(op: Builder, value: Value, perm: Sequence[int]) -> Value:
    """`value` with its dimensions in another order; reshaped where only ones change their places."""
    shape, data = value.tensor.shape, value.data
    if list(perm) == sorted(perm):
        return value
    assert shape is not None
    moved = [axis for axis in perm if shape[axis] != 1]
    whole = [size for axis in perm if isinstance(size := shape[axis], int)]
    if len(whole) == len(shape) and (moved == sorted(moved) or uniform(value) is not None):
        return reshaped(op, value, whole)
    if data is not None and data.size <= _MOST_MOVED:
        return constant(op, data, lambda array: array.transpose(perm))
    node = value.producer
    if node is not None and node.op == ("", "Transpose") and node.inputs[0] is not None:
        return transposed(op, node.inputs[0], [node.attributes["perm"][axis] for axis in perm])
    return op.Transpose(value, perm=list(perm))


def cut(
    op: Builder, value: Value, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int] | None = None
) -> Value:
    """`value[start:stop:step, ...]`, places counted from the front, every dimension's size known where it is cut."""
    shape = value.tensor.shape
    assert shape is not None
    steps = steps or [1] * len(shape)
    axes = [axis for axis, size in enumerate(shape) if (starts[axis], stops[axis], steps[axis]) != (0, size, 1)]
    if not axes:
        return value
    size = [
        len(range(starts[axis], stops[axis], steps[axis])) if axis in axes else dim for axis, dim in enumerate(shape)
    ]
    one, data = uniform(value), value.data
    whole = [dim for dim in size if isinstance(dim, int)]
    if one is not None and len(whole) == len(size):
        return broadcast_to(op, one, whole)
    if data is not None and data.size <= _MOST_MOVED:
        return constant(op, data, lambda array: array[tuple(map(slice, starts, stops, steps))])
    picked = [[numbers[axis] for axis in axes] for numbers in (starts, stops, steps)]
    step = None if set(picked[2]) == {1} else sizes(op, picked[2])
    made = TensorType(value.tensor.dtype, tuple(size))
    return op.Slice(value, sizes(op, picked[0]), sizes(op, picked[1]), sizes(op, axes), step, _types=[made])


_NO_PAD = {DType.BFLOAT16: DType.FLOAT32, DType.INT16: DType.INT32, DType.UINT16: DType.INT32}
"""Types that ONNX's Pad takes and ONNX Runtime 1.31 doesn't, and wider ones."""


def padded(op: Builder, x: Value, before: Sequence[int], behind: Sequence[int], value: Value | None = None) -> Value:
    """`x` with elements before and behind it in each dimension: 0, or `value`."""
    if not any(before) and not any(behind):
        return x
    data, dtype = value.data if value is not None else None, x.tensor.dtype
    if value is None or (data is not None and not any(data.numpy().tobytes())):
        value = None
    wide = _NO_PAD.get(dtype) if dtype is not None else None
    if wide is None or dtype is None:
        return op.Pad(x, sizes(op, [*before, *behind]), value)
    return cast(op, padded(op, cast(op, x, wide), before, behind, value and cast(op, value, wide)), dtype)


def counted(op: Builder, count: int) -> Value:
    """0, 1 ... count - 1 as int64."""
    if count <= MOST_COUNTED:
        return sizes(op, range(count))
    return op.Range(op.const(0), op.const(count), op.const(1))


def along(op: Builder, vector: Value, axis: int, rank: int) -> Value:
    """A vector as dimension `axis` of `rank`, ones around it."""
    shape = [1] * rank
    count = vector.tensor.static_shape
    assert count is not None
    shape[axis] = count[0]
    return reshaped(op, vector, shape[axis:])  # ones in front come by themselves


def arranged(op: Builder, value: Value, labels: Sequence[Hashable], wanted: Sequence[Hashable]) -> Value:
    """`value`, whose dimensions bear `labels`, as `wanted`: in that order, a 1 for each that it hasn't."""
    value = transposed(op, value, [labels.index(label) for label in wanted if label in labels])
    shape = value.tensor.static_shape
    assert shape is not None
    left = iter(shape)
    return reshaped(op, value, [next(left) if label in labels else 1 for label in wanted])


# element types that ONNX's operators don't move ------------------------------------------------------

WIDE: dict[DType, DType] = {
    DType.INT2: DType.INT8,
    DType.INT4: DType.INT8,
    DType.UINT2: DType.UINT8,
    DType.UINT4: DType.UINT8,
    DType.FLOAT4E2M1: DType.FLOAT32,
    DType.FLOAT8E4M3FN: DType.FLOAT32,
    DType.FLOAT8E4M3FNUZ: DType.FLOAT32,
    DType.FLOAT8E5M2: DType.FLOAT32,
    DType.FLOAT8E5M2FNUZ: DType.FLOAT32,
    DType.FLOAT8E8M0: DType.FLOAT32,
}


def narrowed(op: Builder, value: Value, dtype: DType) -> Value:
    """Back to a type that holds every element: nothing saturates, an infinity stays one."""
    exact = None if dtype.is_integer else 0
    return op.Cast(value, to=enum_of(dtype, value.name), saturate=exact)


def widely(moving: Rule) -> Rule:
    """A rule that only moves elements, for the narrow types too: they move in a wider one that operators take."""

    def widened(op: Builder, node: Node) -> Results:
        narrow = {dtype for value in node.outputs if (dtype := value.tensor.dtype) in WIDE}
        if not narrow:
            return moving(op, node)
        inputs = [
            cast(op, value, WIDE[dtype])
            if value is not None and (dtype := value.tensor.dtype) in narrow and dtype is not None
            else value
            for value in node.inputs
        ]
        wide = view(node, inputs)
        wide.outputs = [_twin(value) for value in node.outputs]
        made = moving(op, wide)
        assert made is not None
        results = [made] if isinstance(made, Value) else list(made)
        return [
            narrowed(op, new, dtype) if (dtype := old.tensor.dtype) in narrow and dtype is not None else new
            for old, new in zip(node.outputs, results, strict=True)
        ]

    return widened


def _twin(value: Value) -> Value:
    """An output as its rule is to see it, in the wider type."""
    dtype = value.tensor.dtype
    if dtype not in WIDE:
        return value
    return Value(value.name, replace(value.tensor, dtype=WIDE[dtype]), value.producer, value.index)
