"""Indices as JAX writes them out: of those that count from the end, those that lie outside and those that repeat."""

from __future__ import annotations

import numpy as np

from ...graph import Node, Value
from ...types import DType
from .context import SHORT_FLOATS, Context, Table, certain, made_by, viewed, views_of

_CLIP_OF_INTEGERS, _RESIZE = 12, 11  # the opsets that brought them


def gather(context: Context, node: Node) -> Value | None:
    """Gather(x, Clip(Where(i < 0, i + n, i), 0, n - 1)) is Gather(x, Clip(i, -n, n - 1)), where x has n elements along
    the axis; nor need indices of 32 bits be converted."""
    data, indices = node.inputs
    cast, found = made_by(indices, "Cast"), indices
    if cast is not None and cast.inputs[0] is not None and cast.inputs[0].tensor.dtype is DType.INT32:
        found = cast.inputs[0]
    views, inner = views_of(found)
    clipped = made_by(inner, "Clip")
    bounds = [context.number(clipped.input(index)) for index in (1, 2)] if clipped is not None else []
    size = _size(data, node.attributes.get("axis", 0))
    if clipped is not None and size is not None and bounds == [0, size - 1]:
        within = _within(context, clipped.inputs[0], size)
        found = found if within is None else viewed(context, within, views)
    if found is indices:
        return None
    return context.op.call(node.op_type, data, found, _types=[node.output.type], **node.attributes)


def nearest(context: Context, node: Node) -> Value | None:
    """Two Gathers that repeat every element of two dimensions are a Resize to the nearest one."""
    inner = made_by(node.inputs[0], "Gather")
    if inner is None or node.output.tensor.dtype not in SHORT_FLOATS or context.opset < _RESIZE:
        return None
    x, axes = inner.inputs[0], [one.attributes.get("axis", 0) % (one.output.rank or 1) for one in (node, inner)]
    times = [_repeats(context, one) for one in (node, inner)]
    if x is None or x.rank is None or axes[0] == axes[1] or None in times or not context.used_once(inner.output):
        return None
    scales = np.ones(x.rank, np.float32)
    scales[axes] = times
    options = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return context.op.Resize(x, None, context.op.const(scales), _types=[node.output.type], **options)


def _repeats(context: Context, node: Node) -> int | None:
    """How many times a Gather has each element of a dimension, one after the other."""
    size, indices = _size(node.inputs[0], node.attributes.get("axis", 0)), context.constant(node.inputs[1])
    if size is None or indices is None or indices.ndim != 1 or len(indices) % size:
        return None
    times = len(indices) // size
    return times if times > 1 and (indices == np.arange(len(indices)) // times).all() else None


def is_within(context: Context, node: Node) -> Value | None:
    """i + n >= 0 where i < 0, and i <= n - 1: that Clip(i, -n, n - 1) is i."""
    low, high = made_by(node.inputs[0], "GreaterOrEqual"), made_by(node.inputs[1], "LessOrEqual")
    if low is None or high is None:
        low, high = made_by(node.inputs[1], "GreaterOrEqual"), made_by(node.inputs[0], "LessOrEqual")
    if low is None or high is None or low.inputs[0] is not high.inputs[0] or context.number(low.inputs[1]) != 0:
        return None
    last, shape = context.number(high.inputs[1]), certain(low.inputs[0])
    views, index = views_of(low.inputs[0])
    if last is None or shape is None or shape != certain(node.output):
        return None
    clipped = _within(context, index, int(last) + 1)
    bare = made_by(clipped, "Clip")
    if clipped is None or bare is None:
        return None
    return viewed(context, context.op.Equal(clipped, bare.inputs[0]), views)


def _within(context: Context, value: Value | None, size: int) -> Value | None:
    """Clip(i, -size, size - 1) in a view of i, for the same view of Where(i < 0, i + size, i)."""
    views, value = views_of(value)
    chosen = made_by(value, "Where")
    below = made_by(chosen.inputs[0], "Less") if chosen is not None else None
    total = made_by(chosen.inputs[1], "Add") if chosen is not None else None
    if chosen is None or below is None or total is None or context.opset < _CLIP_OF_INTEGERS:
        return None
    index, dtype = chosen.inputs[2], chosen.output.tensor.dtype
    if index is None or below.inputs[0] is not index or context.number(below.inputs[1]) != 0:
        return None
    added = [context.number(other) for one, other in (total.inputs, total.inputs[::-1]) if one is index]
    if size not in added or dtype not in (DType.INT32, DType.INT64) or certain(index) != certain(chosen.output):
        return None
    bounds = (context.op.const(bound, dtype) for bound in (-size, size - 1))
    return viewed(context, context.op.Clip(index, *bounds, _types=[index.type]), views)


def _size(data: Value | None, axis: int) -> int | None:
    shape = data.tensor.shape if data is not None else None
    size = shape[axis] if shape and -len(shape) <= axis < len(shape) else None
    return size if isinstance(size, int) and size else None


RULES: Table = {
    "And": [is_within],
    "Gather": [gather, nearest],
    "GatherElements": [gather],
}
