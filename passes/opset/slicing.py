"""Slice and Split: parts that are cut out, at places known before or at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Node, Value
from ..protos import ENUMS
from ..types import DType, TensorType
from .build import StepBuilder
from .known import known_array
from .ranges import as_int64, counted
from .steps import (
    Made,
    Step,
    attribute,
    changed,
    constant,
    numbers,
    positive,
    put,
    rank,
    required,
    same,
    to_attributes,
    to_inputs,
)

_INT64_MAX = np.iinfo(np.int64).max
_SLICE = (("starts", 1), ("ends", 2), ("axes", 3))


def from_front(op: StepBuilder, data: Value, axes: Value) -> Value:
    """Axes of `data` given at run time, int64, those that count from the back counted from the front."""
    known = numbers(op, data.rank) if data.rank is not None else op.Shape(op.Shape(data))
    axes = as_int64(op, axes)
    return op.Where(op.Less(axes, op.const(0)), op.Add(axes, known), axes)


def named(op: StepBuilder, axes: Value, size: int) -> Value:
    """bool [size, axes]: whether an axis is the one that stands there, counted from the front, int64."""
    column, row = op.const(np.arange(size)[:, None], DType.INT64), op.Reshape(axes, numbers(op, [1, -1]))
    return op.Equal(column, row)


def spread(op: StepBuilder, mask: Value, values: Value, default: int) -> Value:
    """What is given for some axes, [.., axes], for all of them, [.., rank]; `mask` as `named` makes it."""
    last, zero = max(values.rank or 1, 2) - 1, op.const(0)
    found = op.ReduceSum(op.Where(mask, values, zero), axes=[last], keepdims=0)
    if not default:
        return found
    missing = op.Equal(op.ReduceSum(as_int64(op, mask), axes=[1], keepdims=0), zero)
    return op.Where(missing, op.const(default), found)


# Slice -------------------------------------------------------------------------------------------


def _axes_from_front(op: StepBuilder, node: Node) -> Made:
    """Slice: axes counted from the front only."""
    axes = constant(node, 3)
    if node.input(3) is None or (axes is not None and (axes >= 0).all()):
        return None
    data = required(node, 0)
    if axes is not None and data.rank is not None:
        made = numbers(op, axes.reshape(-1) % data.rank)
    else:
        made = from_front(op, data, required(node, 3))
    inputs = [None if value is None else as_int64(op, value) for value in node.formal_inputs[1:]]
    return changed(node, inputs=put([data, *inputs], 3, made))


def _to_attributes(op: StepBuilder, node: Node) -> Made:
    """Slice: places known before, and every element between them; others are gathered by index."""
    starts, steps = constant(node, 1), constant(node, 4)
    if node.input(4) is None or (steps is not None and (steps == 1).all()):
        given = [constant(node, index) for _, index in _SLICE if node.input(index) is not None]
        if all(array is not None for array in given):
            plain = changed(node, inputs=node.formal_inputs[:4])
            nowhere = starts is not None and not starts.size
            return required(node, 0) if nowhere else to_attributes(*_SLICE, empty=True)(op, plain)
    return _gathered(op, node)


def _gathered(op: StepBuilder, node: Node) -> Value:
    """Slice by an index vector for each axis."""
    data = required(node, 0)
    places, starts, ends, steps = _by_axis(op, node)
    orders = _known_orders(node, places) or _orders(op, data, places, starts, ends, steps)
    for axis, order in zip(places, orders, strict=True):
        data = op.Gather(data, numbers(op, order) if isinstance(order, np.ndarray) else order, axis=axis)
    return data


def _known_orders(node: Node, places: Sequence[int]) -> list[np.ndarray[Any, Any]] | None:
    """The index vectors where everything is known, sizes included."""
    starts, ends = constant(node, 1), constant(node, 2)
    steps = constant(node, 4) if node.input(4) is not None else np.ones(len(places), np.int64)
    dims = required(node, 0).tensor.shape
    if starts is None or ends is None or steps is None or dims is None:
        return None
    if node.input(3) is not None and constant(node, 3) is None:
        return None
    orders: list[np.ndarray[Any, Any]] = []
    for axis, *cut in zip(places, starts.tolist(), ends.tolist(), steps.tolist(), strict=True):
        size = dims[axis]
        if not isinstance(size, int):
            return None
        start, end, step = cut
        back = step < 0
        start, end = (place + size if place < 0 else place for place in (start, end))
        start, end = min(max(start, 0), size - back), min(max(end, -back), size - back)
        orders.append(np.arange(start, end, step))
    return orders


def _orders(
    op: StepBuilder, data: Value, places: Sequence[int], starts: Value, ends: Value, steps: Value | None
) -> list[Value]:
    """The index vectors as they are told at run time."""
    whole = op.Shape(data)
    sizes = whole if list(places) == list(range(data.rank or 0)) else op.Gather(whole, numbers(op, places))
    first, count = _bounds(op, starts, ends, steps, sizes)
    orders: list[Value] = []
    for index in range(len(places)):
        begin, number = (_item(op, value, index, len(places)) for value in (first, count))
        order = counted(op, number)
        if steps is not None:
            order = op.Mul(order, _item(op, steps, index, len(places)))
        orders.append(op.Add(order, begin))
    return orders


def _item(op: StepBuilder, values: Value, index: int, count: int) -> Value:
    """One element of a vector, as a vector."""
    if count == 1:
        return values
    return op.Slice(values, starts=[index], ends=[index + 1], axes=[0], _types=[TensorType(DType.INT64, (1,))])


def _by_axis(op: StepBuilder, node: Node) -> tuple[list[int], Value, Value, Value | None]:
    """The axes, and for each of them start, end and step (None: all of them 1), int64."""
    data = required(node, 0)
    starts, ends = (as_int64(op, required(node, index)) for index in (1, 2))
    given = constant(node, 4)
    ones = node.input(4) is None or (given is not None and bool((given == 1).all()))
    steps = None if ones else as_int64(op, required(node, 4))
    axes = node.input(3)
    known = constant(node, 3)
    if known is not None:
        return [int(axis) for axis in known.reshape(-1)], starts, ends, steps
    if axes is None:
        lengths = [value.tensor.static_shape for value in (starts, ends, steps) if value is not None]
        shape = next((shape for shape in lengths if shape), None)
        return list(range(shape[0] if shape else rank(node, data))), starts, ends, steps
    size = rank(node, data)
    mask = named(op, as_int64(op, axes), size)

    strides = None if steps is None else spread(op, mask, steps, 1)
    return list(range(size)), spread(op, mask, starts, 0), spread(op, mask, ends, _INT64_MAX), strides


def _bounds(op: StepBuilder, starts: Value, ends: Value, steps: Value | None, sizes: Value) -> tuple[Value, Value]:
    """The first place along each axis, and the number of them."""
    known = known_array(steps)
    zero, one = op.const(0), op.const(1)

    def at_least(value: Value, low: Value) -> Value:
        return op.Where(op.Less(value, low), low, value)

    def at_most(value: Value, high: Value) -> Value:
        return op.Where(op.Greater(value, high), high, value)

    starts, ends = (op.Where(op.Less(value, zero), op.Add(value, sizes), value) for value in (starts, ends))
    if steps is None or (known is not None and (known > 0).all()):
        first = at_most(at_least(starts, zero), sizes)
        span = op.Sub(at_most(ends, sizes), first)
        if steps is None:
            return first, at_least(span, zero)
        count = op.Add(op.Div(op.Sub(span, one), steps), one)
        return first, op.Where(op.Greater(span, zero), count, zero)
    back = op.Cast(op.Less(steps, zero), to=ENUMS[DType.INT64])  # 1 where it goes backwards
    lowest, highest = op.Neg(back), op.Sub(sizes, back)
    first = at_most(at_least(starts, zero), highest)
    span = op.Sub(at_most(at_least(ends, lowest), highest), first)
    sign = op.Sub(one, op.Add(back, back))
    count = op.Add(op.Div(op.Sub(span, sign), steps), one)
    return first, op.Where(op.Greater(op.Mul(span, sign), zero), count, zero)


# Split -------------------------------------------------------------------------------------------


def _lengths_attribute(op: StepBuilder, node: Node) -> Made:
    """The lengths could be an input of the data's type; then they must be constant, or the input comes back."""
    lengths = constant(node, 1)
    if node.input(1) is None:
        return None
    if lengths is not None:
        return changed(node, inputs=node.inputs[:1], split=[int(length) for length in lengths.reshape(-1)])
    later = op.at(13)
    made = later.Cast(required(node, 1), to=ENUMS[DType.INT64])
    axis = attribute(node, "axis", 0)
    return later.Split(required(node, 0), made, axis=axis, _outputs=len(node.outputs))


def _count(op: StepBuilder, node: Node) -> Made:
    """Equal parts had no number but that of the outputs."""
    return None if node.input(1) is not None else changed(node, num_outputs=len(node.outputs))


def _lengths(op: StepBuilder, node: Node) -> Made:
    """`num_outputs` may leave a smaller last part: the lengths are written out unless all are equal."""
    count = attribute(node, "num_outputs")
    if count is None:
        return None
    data = required(node, 0)
    axis = attribute(node, "axis", 0)
    size = data.tensor.shape[axis] if data.tensor.shape is not None else None
    plain = changed(node, without=("num_outputs",))
    if isinstance(size, int):
        part = -(-size // count)
        lengths = numbers(op, [part] * (count - 1) + [size - part * (count - 1)])
        return changed(plain, inputs=[data, lengths]) if size % count else plain
    whole = op.Gather(op.Shape(data), numbers(op, axis))
    each = op.Div(op.Add(whole, op.const(count - 1)), op.const(count))
    last = op.Sub(whole, op.Mul(each, op.const(count - 1)))
    return changed(plain, inputs=[data, op.Concat(*[each] * (count - 1), last, axis=0)])


def _cut_parts(op: StepBuilder, node: Node) -> Made:
    """Lengths given at run time: each part is cut out by itself."""
    if node.input(1) is None or constant(node, 1) is not None:
        return to_attributes(("split", 1))(op, node)
    data, lengths, axis = required(node, 0), required(node, 1), numbers(op, attribute(node, "axis", 0))
    parts: list[Value] = []
    end = numbers(op, 0)
    for index in range(len(node.outputs)):
        length = op.Slice(lengths, numbers(op, index), numbers(op, index + 1))
        start, end = end, length if not index else op.Add(end, length)
        parts.append(op.Slice(data, start, end, axis))
    return parts


ROWS = {
    ("Slice", 10): Step(to_inputs(*_SLICE, empty=True), _to_attributes),
    ("Slice", 11): Step(same, _axes_from_front),
    ("Split", 2): Step(_lengths_attribute, same),
    ("Split", 11): positive("axis"),
    ("Split", 13): Step(to_inputs(("split", 1)), _cut_parts),
    ("Split", 18): Step(_count, _lengths),
}
