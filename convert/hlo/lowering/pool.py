"""Hub -> HLO: pools, as reductions of windows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....passes.windows import Windows
from ..text.tree import WindowDim
from .reduce import larger
from .tools import (
    applied,
    broadcast,
    constant,
    convert,
    iota,
    like,
    limits,
    reshape,
    scalar,
    sizes_of,
    wide,
    window_fold,
)
from .windows import window_dims, windows_of


def _windows(node: Node, x: Value) -> Windows:
    return windows_of(node, sizes_of(node, x)[2:], list(node.attributes["kernel_shape"]))


def _over_channels(view: Windows) -> list[WindowDim]:
    return [WindowDim(1), WindowDim(1), *window_dims(view)]


@rule("", "MaxPool")
def max_pool(op: Builder, node: Node) -> Value | list[Value]:
    x = required(node, 0)
    window = _over_channels(_windows(node, x))
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


def _counts(view: Windows, axis: int, padded: bool) -> np.ndarray:
    """How many elements (or elements and pads) each window has along an axis."""
    low, high = view.pads[axis] if padded else (0, 0)
    first = np.arange(view.output[axis])[:, None] * view.strides[axis] - view.before[axis]
    places = first + np.arange(view.kernel[axis]) * view.dilations[axis]
    return ((places >= -low) & (places < view.spatial[axis] + high)).sum(1)


@rule("", "AveragePool")
def average_pool(op: Builder, node: Node) -> Value:
    """A sum of each window by the number of its elements, pads among them if they count."""
    x = required(node, 0)
    dtype = dtype_of(node, x)
    view = _windows(node, x)
    total = window_fold(op, node, convert(op, x, wide(dtype)), _over_channels(view), "add")
    counts = [_counts(view, axis, flag(node, "count_include_pad")) for axis in range(len(view.kernel))]
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


RULES = collect(globals())
