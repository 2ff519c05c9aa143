"""Operators that NumPy has no function for, composed of others.

Of convolutions and pooling the windows are gathered, then multiplied or reduced. Elements are put where indices say by
choices, as nothing gives an array with others put into it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.attributes import NodeAttributes
from ....passes.build import expr, reshape, where
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, input_of, rank_of
from ....passes.rewrite import Builder, Rule, collect, rule
from ....passes.types import DType
from ....passes.windows import Windows, extent, steps, transposed, windows
from ....runtime.kernels.activation import ERF_STEP, erf_table
from ....runtime.kernels.windows import coverage

_MOST = 1 << 22  # comparisons of a position with a target


def _sizes(node: Node, index: int = 0) -> tuple[int, ...]:
    """The sizes of an input.

    Raises:
        Unsupported: one isn't known.
    """
    value = input_of(node, index)
    shape = value.tensor.static_shape
    if shape is None:
        raise Unsupported(node, f"the shape of {value.name!r} isn't known before the model runs")
    return shape


# windows ------------------------------------------------------------------------------------------


def _patches(op: Builder, x: Value, view: Windows, fill: float, last: bool) -> Value:
    """What each window sees: [N, C, *counts, *kernel], or [N, C, *kernel, *counts] unless `last`."""
    dtype, rank = x.tensor.dtype or DType.FLOAT32, len(view.kernel)
    if any(view.before) or any(view.behind):
        pads = op.const([0, 0, *view.before, 0, 0, *view.behind])
        x = op.Pad(x, pads, op.const(np.asarray(fill, dtype.numpy), dtype))
    for axis in reversed(range(rank)):
        starts = np.arange(view.output[axis])[:, None] * view.strides[axis]
        indices = starts + np.arange(view.kernel[axis]) * view.dilations[axis]
        x = op.Gather(x, op.const(indices), axis=2 + axis)
    counts, kernel = range(2, 2 + 2 * rank, 2), range(3, 3 + 2 * rank, 2)
    return op.Transpose(x, perm=[0, 1, *counts, *kernel] if last else [0, 1, *kernel, *counts])


def _pooled(op: Builder, node: Node, reduction: str, fill: float) -> tuple[Value, Windows]:
    """What a reduction makes of each window, and the windows."""
    attributes = NodeAttributes(node)
    view = windows(attributes, _sizes(node)[2:], attributes.ints("kernel_shape"))
    rank = len(view.kernel)
    seen = _patches(op, input_of(node), view, fill, True)
    return op.call(reduction, seen, op.const(list(range(2 + rank, 2 + 2 * rank))), keepdims=0), view


@rule("", "MaxPool")
def max_pool(op: Builder, node: Node) -> list[Value]:
    if any(value.name for value in node.outputs[1:]):
        raise Unsupported(node, "where the largest elements stand")
    found, _ = _pooled(op, node, "ReduceMax", dtype_of(node, input_of(node)).limits[0])
    return [found, *(Value("") for _ in node.outputs[1:])]


@rule("", "AveragePool")
def average_pool(op: Builder, node: Node) -> Value:
    total, view = _pooled(op, node, "ReduceSum", 0)
    inside = coverage(view, padding=NodeAttributes(node).flag("count_include_pad"))
    counts = np.sum(inside, axis=tuple(range(-len(view.kernel), 0)))
    return op.Div(total, op.const(counts, dtype_of(node, input_of(node))))


@rule("", "Conv")
def conv(op: Builder, node: Node) -> Value:
    """The windows of x [N, C, *spatial] times the filters [M, C / group, *kernel]."""
    attributes, (batch, _, *spatial), (outer, *inner) = NodeAttributes(node), _sizes(node), _sizes(node, 1)
    group, view = attributes.int("group", 1), windows(attributes, spatial, inner[1:])
    filters = reshape(op, input_of(node, 1), [group, outer // group, math.prod(inner)])
    seen = _patches(op, input_of(node), view, 0, False)
    columns = reshape(op, seen, [batch, group, math.prod(inner), math.prod(view.output)])
    made = reshape(op, op.MatMul(filters, columns), [batch, outer, *view.output])
    bias = node.input(2)
    return made if bias is None else op.Add(made, reshape(op, bias, [outer, *[1] * len(spatial)]))


@rule("", "ConvTranspose")
def conv_transpose(op: Builder, node: Node) -> Value:
    """A convolution of x, with zeros between its elements and around, by the filters turned round."""
    attributes, x, (_, _, *spatial) = NodeAttributes(node), input_of(node), _sizes(node)
    channels, outer, *kernel = _sizes(node, 1)
    rank, group, (strides, dilations) = len(kernel), attributes.int("group", 1), steps(attributes, len(kernel))
    for axis, (size, stride) in enumerate(zip(spatial, strides, strict=True)):
        if stride > 1:
            indices = np.arange((size - 1) * stride + 1)
            one_more = op.Pad(x, op.const([0, 1]), None, op.const([2 + axis]))
            x = op.Gather(one_more, op.const(np.where(indices % stride, size, indices // stride)), axis=2 + axis)
    parts = expr(op, input_of(node, 1)).reshape(group, channels // group, outer, *kernel)
    turned = parts.transpose(0, 2, 1, *range(3, 3 + rank))[(..., *[slice(None, None, -1)] * rank)]
    filters = turned.reshape(group * outer, channels // group, *kernel)
    reach = [extent(size, dilation) - 1 for size, dilation in zip(kernel, dilations, strict=True)]
    whole = transposed(attributes, spatial, kernel)
    extra = attributes.ints("output_padding", (0,) * rank)
    pads = [size - before for size, (_, before, _) in zip(reach, whole, strict=True)]
    pads += [size + more - behind for size, more, (_, _, behind) in zip(reach, extra, whole, strict=True)]
    return op.Conv(x, filters, node.input(2), group=group, dilations=dilations, pads=pads)


# scatter ------------------------------------------------------------------------------------------


def _scattered(op: Builder, node: Node, data: Value, indices: Value, updates: Value, axis: int) -> Value:
    """Data with updates at their indices along an axis, of several for one index the last (or all of them reduced).

    Beside the axis, all three are of the same sizes, or the positions' are 1.
    """
    reduction = NodeAttributes(node).string("reduction", "none")
    shape, count = data.tensor.static_shape or (), (indices.tensor.static_shape or ())[axis]
    dtype, size = dtype_of(node, data), shape[axis]
    if not count:
        return data
    if size * math.prod(updates.tensor.static_shape or ()) > _MOST:
        raise Unsupported(node, "it compares too many indices with too many targets")
    rows = np.arange(size).reshape([-1, *[1] * (len(shape) - axis)])
    hits = expr(op, indices).unsqueeze(axis).equals(rows)  # position, update
    if reduction == "none":
        hit = hits.cast(DType.INT64)
        last = hit.call("ArgMax", axis=axis + 1, keepdims=0, select_last_index=1).broadcast_to(*shape)
        chosen = op.GatherElements(updates, last, axis=axis)
        return where(hit.max(axis + 1).cast(DType.BOOL), chosen, data).value()
    combine, reduce, neutral = _reductions(node, dtype)[reduction]
    each = where(hits, expr(op, updates).unsqueeze(axis), op.const(neutral, dtype))
    return op.call(combine, data, op.call(reduce, each, op.const([axis + 1]), keepdims=0))


def _reductions(node: Node, dtype: DType) -> dict[str, tuple[str, str, float]]:
    """For each reduction what joins two elements, what joins many, and what changes nothing."""
    if dtype is DType.BOOL:
        raise Unsupported(node, "of truth values, reduced")
    low, high = dtype.limits
    return {
        "add": ("Add", "ReduceSum", 0),
        "mul": ("Mul", "ReduceProd", 1),
        "max": ("Max", "ReduceMax", low),
        "min": ("Min", "ReduceMin", high),
    }


@rule("", "ScatterElements")
def scatter_elements(op: Builder, node: Node) -> Value:
    data, indices, updates = (input_of(node, index) for index in range(3))
    shape, counts, _ = (_sizes(node, index) for index in range(3))
    axis = axis_of(node, int(node.attributes.get("axis", 0)), rank_of(node, data))
    if any(size != count for index, (size, count) in enumerate(zip(shape, counts, strict=True)) if index != axis):
        raise Unsupported(node, "its indices and its data have different sizes apart from the axis")
    return _scattered(op, node, data, _from_front(op, indices, [shape[axis]]), updates, axis)


@rule("", "ScatterND")
def scatter_tuples(op: Builder, node: Node) -> Value:
    """Index tuples become positions in the data with all indexed axes in one."""
    data, indices, updates = (input_of(node, index) for index in range(3))
    shape, (*counts, width), _ = (_sizes(node, index) for index in range(3))
    indexed, rest, count = shape[:width], math.prod(shape[width:]), math.prod(counts)
    strides = [math.prod(indexed[index + 1 :]) for index in range(width)]
    tuples = expr(op, _from_front(op, indices, indexed)).reshape(count, width)
    positions = (tuples * np.array(strides)).sum(1, keepdims=True)
    flat = reshape(op, data, [math.prod(indexed), rest]), reshape(op, updates, [count, rest])
    return reshape(op, _scattered(op, node, flat[0], positions.value(), flat[1], 0), shape)


def _from_front(op: Builder, indices: Value, sizes: Sequence[int]) -> Value:
    """Indices counted from the front of axes of these sizes."""
    wide = expr(op, indices, DType.INT64)
    return where(wide < 0, wide + np.array(sizes), wide).value()


# error function -----------------------------------------------------------------------------------


@rule("", "Erf")
def error_function(op: Builder, node: Node) -> Value:
    """A Taylor series around the nearest of many points, in float64."""
    x = input_of(node)
    values, rows = erf_table()
    wide = expr(op, x, DType.FLOAT64)
    size = where(expr(op, op.IsNaN(wide)), 0, wide).abs().minimum(6)
    index = (size / ERF_STEP).rint().cast(DType.INT64)
    h = size - index.cast(DType.FLOAT64) * ERF_STEP
    series = expr(op, op.Gather(op.const(rows[-1]), index))
    for row in rows[-2::-1]:
        series = series * h + op.Gather(op.const(row), index)
    found = wide.sign() * (series * h + op.Gather(op.const(values), index))
    return found.cast(dtype_of(node, x)).value()


RULES: dict[tuple[str, str], list[Rule]] = collect(globals())
