"""A scatter into the flattened operand: for what ONNX's scatters can't express of axes, and for any computation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....passes.build import cast
from ....passes.graph import Graph, Value
from ....passes.loop import Carried, Sliced
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from .dimension_numbers import Label
from .index_computation import place, scaled, shifted, weighed
from .scatter_places import Put, Scatter, ordered, word
from .views import WIDE, along, broadcast_to, counted, cut, narrowed, padded, reshaped, sizes


def _flat_places(op: Builder, found: Scatter) -> tuple[Value, list[Label]]:
    """Where each element of the updates goes in the flattened operand (behind it: nowhere); the order of its labels."""
    steps = [math.prod(found.shape[axis + 1 :]) for axis in range(len(found.shape))]
    names: list[Label] = [*found.batches, *(label for label in found.labels if label[0] == "window")]
    extent = {("window", axis): size for axis, size in enumerate(found.window)}
    extent |= dict(zip(found.batches, found.starts.batch, strict=True))
    total = [extent[label] for label in names]
    ahead = [1] * (len(names) - len(found.starts.batch))
    places = reshaped(op, sizes(op, [0]), [1] * len(names))
    for label, step in zip(found.numbers.operand_labels(), steps, strict=True):
        if label not in names:
            continue
        offsets = scaled(op, counted(op, extent[label]), step)
        places = shifted(op, places, along(op, offsets, names.index(label), len(names)))
    starts = found.starts
    if starts.axes:
        weighted = weighed(op, place(op, starts.value), [steps[axis] for axis in starts.axes])
        places = shifted(op, reshaped(op, weighted, [*starts.batch, *ahead]), places)
    if found.valid is not None:
        inside = reshaped(op, found.valid, [*starts.batch, *ahead])
        places = op.Where(inside, places, op.const(math.prod(found.shape)))
    return reshaped(op, broadcast_to(op, places, total), [math.prod(total)]), names


def _flat_operand(op: Builder, found: Scatter, operand: Value) -> Value:
    flat = reshaped(op, operand, [math.prod(found.shape)])
    return flat if found.valid is None else padded(op, flat, [0], [1])


def _unflattened(op: Builder, found: Scatter, flat: Value) -> Value:
    return reshaped(op, cut(op, flat, [0], [math.prod(found.shape)]), found.shape)


def _flat_update(op: Builder, found: Scatter, update: Value, names: Sequence[Label]) -> Value:
    update = ordered(op, found, update, names)
    return reshaped(op, update, [math.prod(update.tensor.static_shape or ())])


def put_flat(op: Builder, found: Scatter) -> Put:
    """Into the flattened operand, each element at its own place."""
    places, names = _flat_places(op, found)

    def put(operand: Value, update: Value, way: str) -> Value:
        flat = _flat_operand(op, found, operand)
        made = op.ScatterElements(flat, places, _flat_update(op, found, update, names), reduction=word(way))
        return _unflattened(op, found, made)

    return put


def put_each(
    op: Builder, found: Scatter, region: Graph, operands: Sequence[Value], updates: Sequence[Value]
) -> list[Value]:
    """One update after the other, combined by a region that is no reduction of ONNX's.

    for place, *news in zip(places, *updates):
        results = region(*(operand[place] for operand in operands), *news)
        for operand, result in zip(operands, results): operand[place] = result
    """
    count = len(operands)
    places, names = _flat_places(op, found)
    dtypes = [value.tensor.dtype or DType.FLOAT32 for value in (*operands, *updates)]
    wide = [WIDE.get(dtype, dtype) for dtype in dtypes]
    moved = [cast(op, value, dtype) for value, dtype in zip((*operands, *updates), wide, strict=True)]
    fed = [_flat_operand(op, found, operand) for operand in moved[:count]]
    fed += [_flat_update(op, found, update, names) for update in moved[count:]]
    body = op.region("scatter")
    where = body.input("place", TensorType(DType.INT64, ()))
    news = [body.input("new", TensorType(dtype, ())) for dtype in wide[count:]]
    olds = [body.input("old", value.type) for value in fed[:count]]
    elements = [body.Gather(old, where, axis=0) for old in olds]
    results = body.inline(region, [_as(body, *pair) for pair in zip((*elements, *news), dtypes, strict=True)])
    where = reshaped(body, where, [1])
    body.graph.outputs = [
        body.ScatterElements(old, where, reshaped(body, cast(body, result, dtype), [1]), axis=0)
        for old, result, dtype in zip(olds, results, wide, strict=False)
    ]
    slots = [Sliced(), *(Sliced() for _ in news), *(Carried() for _ in olds)]
    made = op.loop(
        None, None, slots, [places, *fed[count:], *fed[:count]], body.graph, types=[value.type for value in fed[:count]]
    )
    return [_as(op, _unflattened(op, found, value), dtype) for value, dtype in zip(made, dtypes, strict=False)]


def _as(op: Builder, value: Value, dtype: DType) -> Value:
    """Back in the type that is moved about in a wider one."""
    return value if value.tensor.dtype is dtype else narrowed(op, value, dtype)
