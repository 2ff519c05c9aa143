"""Hub -> HLO: reductions, searches for the largest, running sums."""

from __future__ import annotations

import numpy as np

from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..text.tree import WindowDim
from .open_sizes import items_of
from .tools import (
    applied,
    compare,
    convert,
    fold,
    ints_of,
    iota,
    kept,
    negative_counted,
    reshape,
    scalar,
    sizes_of,
    slice_axis,
    wide,
    window_fold,
)

_REDUCTIONS = {"ReduceMax": "maximum", "ReduceMin": "minimum", "ReduceProd": "multiply", "ReduceSum": "add"}


def _axes(node: Node, rank: int) -> list[int]:
    stated = ints_of(node, 1, "axes")
    if not stated:
        return [] if flag(node, "noop_with_empty_axes") else list(range(rank))
    axes = sorted(axis_of(node, axis, rank) for axis in stated)
    return axes if rank else []  # a scalar's one axis is none


@rule("", *_REDUCTIONS)
def reduce_(op: Builder, node: Node) -> Value:
    """Sums and products of short floats are taken in float32."""
    x, kind = required(node, 0), _REDUCTIONS[node.op_type]
    dtype, have = dtype_of(node, x), sizes_of(node, x)
    axes = _axes(node, len(have))
    folded = fold(op, node, convert(op, x, wide(dtype)) if kind in ("add", "multiply") else x, axes, kind)
    result = convert(op, folded, dtype)
    return reshape(op, result, kept(have, axes)) if flag(node, "keepdims", 1) else result


# the largest --------------------------------------------------------------------------------------


def _better(op: Builder, dtype: DType, direction: str, last: bool) -> Graph:
    """Of two (element, index) the one that is larger (NaN is), of equal ones the first, or the last."""
    region = op.region("better")
    kinds = (dtype, DType.INT64)
    a, i, b, j = (region.input(name, TensorType(kinds[at % 2], ())) for at, name in enumerate(("a", "i", "b", "j")))
    ahead = compare(region, a, b, direction)
    if dtype.is_float:
        ahead = region.call("or", ahead, compare(region, a, a, "NE"))
    tie = region.call("and", compare(region, a, b, "EQ"), compare(region, i, j, "GT" if last else "LT"))
    chosen = region.call("or", ahead, tie)
    region.graph.outputs = [region.select(ahead, a, b), region.select(chosen, i, j)]
    return region.graph


def larger(op: Builder, dtype: DType) -> Graph:
    """Of two (element, index) the one that is larger, of equal ones the first."""
    return _better(op, dtype, "GT", last=False)


@rule("", "ArgMax", "ArgMin")
def arg_max(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    have, dtype = sizes_of(node, x), dtype_of(node, x)
    axis = axis_of(node, node.attributes.get("axis", 0), len(have))
    if not have:
        return scalar(op, 0, DType.INT64)
    largest = node.op_type == "ArgMax"
    region = _better(op, dtype, "GT" if largest else "LT", flag(node, "select_last_index"))
    start = scalar(op, dtype.limits[0 if largest else 1], dtype)
    values = [x, iota(op, have, axis), start, scalar(op, 0, DType.INT64)]
    _, index = applied(op, "reduce", {"to_apply": region}, values, 2, dimensions=(axis,))
    return reshape(op, index, kept(have, [axis])) if flag(node, "keepdims", 1) else index


@rule("", "TopK")
def top_k(op: Builder, node: Node) -> list[Value]:
    """A stable sort with the positions beside, of which the first k are taken; -0 and 0 tie, and so do all NaN.

    They are the largest: in the total order those whose sign is set, which processors make of 0 / 0, are the least.
    """
    x = required(node, 0)
    have, dtype = sizes_of(node, x), dtype_of(node, x)
    axis = axis_of(node, node.attributes.get("axis", -1), len(have))
    wanted = ints_of(node, 1, "number of elements")
    assert wanted is not None
    region = op.region("before")
    a, b = (region.input(name, TensorType(dtype, ())) for name in ("a", "b"))
    for name in ("i", "j"):
        region.input(name, TensorType(DType.INT64, ()))
    total = None
    if dtype.is_float:
        zero, nan, total = scalar(region, 0, dtype), scalar(region, np.nan, dtype), "TOTALORDER"
        same = (region.select(compare(region, value, zero, "EQ"), zero, value) for value in (a, b))
        odd = (compare(region, value, value, "NE") for value in (a, b))
        a, b = (region.select(one, nan, value) for one, value in zip(odd, same, strict=True))
    direction = "GT" if flag(node, "largest", 1) else "LT"
    region.graph.outputs = [region.compare(a, b, direction=direction, type=total)]
    values = [x, iota(op, have, axis)]
    made = applied(op, "sort", {"to_apply": region.graph}, values, 2, dimensions=(axis,), is_stable=True)
    return [slice_axis(op, node, value, axis, 0, wanted[0]) for value in made]


# running sums -------------------------------------------------------------------------------------


@rule("", "CumSum", "CumProd")
def cumulative(op: Builder, node: Node) -> Value:
    """A window that reaches back to the beginning."""
    x, axis = required(node, 0), required(node, 1)
    rank, known = rank_of(node, x), items_of(axis)
    if known is None and rank == 1:
        known = [0]  # there is no other
    if known is not None:
        return _running(op, node, x, axis_of(node, known[0], rank))
    return _by_axis(op, node, x, axis)


def _running(op: Builder, node: Node, x: Value, axis: int) -> Value:
    dtype = dtype_of(node, x)
    size = sizes_of(node, x)[axis]
    if size == 0:
        return x
    exclusive = flag(node, "exclusive")
    ends = (size - 1 + exclusive, -int(exclusive))
    low, high = ends[::-1] if flag(node, "reverse") else ends
    window = [WindowDim(1)] * rank_of(node, x)
    window[axis] = WindowDim(size, 1, low, high)
    kind = "add" if node.op_type == "CumSum" else "multiply"
    return convert(op, window_fold(op, node, convert(op, x, wide(dtype)), window, kind), dtype)


def _by_axis(op: Builder, node: Node, x: Value, axis: Value) -> Value:
    """The sums along an axis that only a run tells."""
    rank = rank_of(node, x)
    domain, version = op.rewriter.dialect.resolve("conditional")
    chosen = Node(domain, "conditional", version)
    for at in range(rank):
        body = op.region(f"axis_{at}")
        body.graph.outputs = [_running(body, node, body.input("x", x.type), at)]
        chosen.regions[f"branch_{at}"] = body.graph
    index = convert(op, negative_counted(op, node, reshape(op, axis, ()), rank), DType.INT32)
    return op.insert(chosen, [index, *[x] * rank], {}, 1)


RULES = collect(globals())
