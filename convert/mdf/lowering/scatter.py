"""Elements put where indices say, as choices: NumPy has no function that gives an array with others put into it."""

from __future__ import annotations

import math

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, given, rank_of
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder, Rule, collect, rule
from ....passes.types import DType

_INT64 = ENUMS[DType.INT64]
_MOST = 1 << 22  # comparisons of a place with a target


def _shapes(node: Node) -> list[tuple[int, ...]]:
    """The shapes of data, indices and updates.

    Raises:
        Unsupported: one isn't known.
    """
    found = [given(node, place).tensor.static_shape for place in range(3)]
    shapes = [shape for shape in found if shape is not None]
    if len(shapes) < len(found):
        raise Unsupported(node, "the shapes of its inputs aren't known before the model runs")
    return shapes


def _put(op: Builder, node: Node, data: Value, places: Value, updates: Value, axis: int) -> Value:
    """Data with updates at their places along an axis, of several for one place the last (or all of them reduced).

    Beside the axis, all three are of the same sizes, or the places' are 1.
    """
    reduction = node.attributes.get("reduction", "none")
    reduction = reduction.decode() if isinstance(reduction, bytes) else str(reduction)
    shape, count = data.tensor.static_shape or (), (places.tensor.static_shape or ())[axis]
    dtype, size = dtype_of(node, data), shape[axis]
    if not count:
        return data
    if size * math.prod(updates.tensor.static_shape or ()) > _MOST:
        raise Unsupported(node, "it compares too many places with too many targets")
    rows = np.arange(size).reshape([-1, *[1] * (len(shape) - axis)])
    hits = op.Equal(op.Unsqueeze(places, op.const([axis])), op.const(rows))  # place, update
    over = op.const([axis + 1])
    found = op.ReduceMax(op.Cast(hits, to=_INT64), over, keepdims=0)
    if reduction == "none":
        last = op.ArgMax(op.Cast(hits, to=_INT64), axis=axis + 1, keepdims=0, select_last_index=1)
        target = op.const([shape[place] if place != axis else size for place in range(len(shape))])
        chosen = op.GatherElements(updates, op.Expand(last, target), axis=axis)
        return op.Where(op.Cast(found, to=ENUMS[DType.BOOL]), chosen, data)
    combine, reduce, neutral = _reductions(node, dtype)[reduction]
    each = op.Where(hits, op.Unsqueeze(updates, op.const([axis])), op.const(neutral, dtype))
    return op.call(combine, data, op.call(reduce, each, over, keepdims=0))


def _reductions(node: Node, dtype: DType) -> dict[str, tuple[str, str, float]]:
    """For each reduction what joins two elements, what joins many, and what changes nothing."""
    if dtype is DType.BOOL:
        raise Unsupported(node, "of truth values, reduced")
    limits = (-np.inf, np.inf) if dtype.is_float else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
    return {
        "add": ("Add", "ReduceSum", 0),
        "mul": ("Mul", "ReduceProd", 1),
        "max": ("Max", "ReduceMax", limits[0]),
        "min": ("Min", "ReduceMin", limits[1]),
    }


@rule("", "ScatterElements")
def scatter_elements(op: Builder, node: Node) -> Value:
    data, indices, updates = (given(node, place) for place in range(3))
    shape, counts, _ = _shapes(node)
    axis = axis_of(node, int(node.attributes.get("axis", 0)), rank_of(node, data))
    if any(size != count for place, (size, count) in enumerate(zip(shape, counts, strict=True)) if place != axis):
        raise Unsupported(node, "its indices are of other sizes than its data beside the axis")
    return _put(op, node, data, _from_front(op, indices, [shape[axis]]), updates, axis)


@rule("", "ScatterND")
def scatter_tuples(op: Builder, node: Node) -> Value:
    """Index tuples become places in the data with all indexed axes in one."""
    data, indices, updates = (given(node, place) for place in range(3))
    shape, counts, _ = _shapes(node)
    width = counts[-1]
    indexed, rest = shape[:width], math.prod(shape[width:])
    strides = [math.prod(indexed[place + 1 :]) for place in range(width)]
    tuples = op.Reshape(_from_front(op, indices, indexed), op.const([math.prod(counts[:-1]), width]))
    places = op.ReduceSum(op.Mul(tuples, op.const(strides)), op.const([1]))
    flat = [op.Reshape(value, op.const([-1, rest] if rest else [count, 0])) for value, count in (
        (data, math.prod(indexed)), (updates, math.prod(counts[:-1]))
    )]  # fmt: skip
    return op.Reshape(_put(op, node, flat[0], places, flat[1], 0), op.const(list(shape)))


def _from_front(op: Builder, indices: Value, sizes: list[int] | tuple[int, ...]) -> Value:
    """Indices counted from the front of axes of these sizes."""
    wide = op.Cast(indices, to=_INT64)
    return op.Where(op.Less(wide, op.const(0)), op.Add(wide, op.const(list(sizes))), wide)


RULES: dict[tuple[str, str], list[Rule]] = collect(globals())
