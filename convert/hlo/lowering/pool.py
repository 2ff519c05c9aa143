"""Hub -> HLO: pools, as reductions of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..text.tree import WindowDim
from .reduce import larger
from .tools import (
    applied,
    broadcast,
    constant,
    convert,
    fill,
    fold,
    ints_of,
    iota,
    kept,
    like,
    limits,
    pad,
    reshape,
    scalar,
    second,
    sizes_of,
    wide,
    window_fold,
)
from .windows import Axis, windows


def _axes(node: Node, x: Value) -> list[Axis]:
    return windows(node, list(sizes_of(node, x)[2:]), list(node.attributes["kernel_shape"]))


def _window(axes: Sequence[Axis]) -> list[WindowDim]:
    return [WindowDim(1), WindowDim(1), *(axis.window for axis in axes)]


@rule("", "MaxPool")
def max_pool(op: Builder, node: Node) -> Value | list[Value]:
    x = required(node, 0)
    window = _window(_axes(node, x))
    if len(node.outputs) < 2 or not node.outputs[1].name:
        return window_fold(op, node, x, window, "maximum")
    dtype = dtype_of(node, x)
    least = scalar(op, limits(dtype)[0], dtype)
    nowhere = scalar(op, np.iinfo(np.int64).max, DType.INT64)
    have = sizes_of(node, x)
    places = reshape(op, iota(op, (math.prod(have),), 0), have)
    region = {"to_apply": larger(op, dtype)}
    top, found = applied(op, "reduce-window", region, [x, places, least, nowhere], 2, window=tuple(window))
    return [top, _by_columns(op, node, found, have[2:]) if flag(node, "storage_order") else found]


def _by_columns(op: Builder, node: Node, places: Value, spatial: Sequence[int]) -> Value:
    """Places that count row by row, as places that count column by column: of equal elements the one that comes first
    by rows is meant all the same."""
    inside = op.remainder(places, like(op, node, max(math.prod(spatial), 1), places))
    made, left, weight = op.subtract(places, inside), inside, math.prod(spatial)
    for size in reversed(spatial):
        weight //= max(size, 1)
        by = like(op, node, max(size, 1), left)
        made = op.add(made, op.multiply(op.remainder(left, by), like(op, node, weight, left)))
        left = op.divide(left, by)
    return made


def _counts(axis: Axis, padded: bool) -> np.ndarray:
    """How many elements (or elements and pads) each window has."""
    first = np.arange(axis.out)[:, None] * axis.stride - axis.low
    places = first + np.arange(axis.kernel) * axis.dilation
    if padded:
        return ((places >= -axis.low) & (places < axis.size + axis.high)).sum(1)
    return ((places >= 0) & (places < axis.size)).sum(1)


@rule("", "AveragePool")
def average_pool(op: Builder, node: Node) -> Value:
    """A sum of each window by the number of its elements, pads among them if they count."""
    x = required(node, 0)
    dtype = dtype_of(node, x)
    axes = _axes(node, x)
    total = window_fold(op, node, convert(op, x, wide(dtype)), _window(axes), "add")
    counts = [_counts(axis, flag(node, "count_include_pad")) for axis in axes]
    shape = sizes_of(node, total)
    whole = math.prod(int(found[0]) for found in counts if (found == found[0]).all() and found.size)
    divisor: Value | None = None
    for at, found in enumerate(counts):
        if not (found == found[0]).all():
            factor = broadcast(op, constant(op, found.astype(wide(dtype).numpy), wide(dtype)), shape, (at + 2,))
            divisor = factor if divisor is None else op.multiply(divisor, factor)
    if divisor is None:
        divisor = like(op, node, whole, total)
    elif whole != 1:
        divisor = op.multiply(divisor, like(op, node, whole, total))
    return convert(op, op.divide(total, divisor), dtype)


def _powers(op: Builder, node: Node, x: Value) -> Value:
    p = node.attributes.get("p", 2)
    size = op.abs(x)
    return size if p == 1 else op.multiply(x, x) if p == 2 else op.power(size, like(op, node, p, size))


def _root(op: Builder, node: Node, x: Value) -> Value:
    p = node.attributes.get("p", 2)
    return x if p == 1 else op.sqrt(x) if p == 2 else op.power(x, like(op, node, 1 / p, x))


@rule("", "LpPool")
def lp_pool(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    dtype = dtype_of(node, x)
    powers = _powers(op, node, convert(op, x, wide(dtype)))
    return convert(op, _root(op, node, window_fold(op, node, powers, _window(_axes(node, x)), "add")), dtype)


@rule("", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(op: Builder, node: Node) -> Value:
    """A reduction of all spatial dimensions, which are kept."""
    x = required(node, 0)
    have, dtype = sizes_of(node, x), dtype_of(node, x)
    axes = list(range(2, len(have)))
    if node.op_type == "GlobalMaxPool":
        made = fold(op, node, x, axes, "maximum")
    elif node.op_type == "GlobalLpPool":
        made = _root(op, node, fold(op, node, _powers(op, node, convert(op, x, wide(dtype))), axes, "add"))
    else:
        total = fold(op, node, convert(op, x, wide(dtype)), axes, "add")
        made = op.divide(total, like(op, node, math.prod(have[2:]), total))
    return reshape(op, convert(op, made, dtype), kept(have, axes))


@rule("", "MaxUnpool")
def max_unpool(op: Builder, node: Node) -> Value:
    """A scatter of all elements by their places in the whole result."""
    x, places = required(node, 0), required(node, 1)
    have = sizes_of(node, x)
    counted = _unpooled(node, list(have))  # what the places count in
    wanted = ints_of(node, 2, "sizes") or counted
    if len(wanted) != len(have) or any(new < old for new, old in zip(wanted, counted, strict=True)):
        raise Unsupported(node, f"a result of shape {wanted}")
    dtype = dtype_of(node, x)
    empty = fill(op, scalar(op, 0, dtype), (math.prod(counted),))
    count = math.prod(have)
    made = applied(
        op,
        "scatter",
        {"to_apply": second(op, dtype)},
        [empty, reshape(op, places, (count, 1)), reshape(op, x, (count,))],
        update_window_dims=(),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    more = [(0, new - old) for new, old in zip(wanted, counted, strict=True)]
    made = reshape(op, made, counted)
    return pad(op, made, scalar(op, 0, dtype), more) if any(after for _, after in more) else made


def _unpooled(node: Node, have: list[int]) -> list[int]:
    """The shape from which a MaxPool with these attributes comes."""
    kernel = list(node.attributes["kernel_shape"])
    strides = node.attributes.get("strides") or [1] * len(kernel)
    pads = node.attributes.get("pads") or [0] * (2 * len(kernel))
    spatial = [
        (size - 1) * stride - pads[at] - pads[at + len(kernel)] + kernel[at]
        for at, (size, stride) in enumerate(zip(have[2:], strides, strict=True))
    ]
    return [*have[:2], *spatial]


RULES = collect(globals())
