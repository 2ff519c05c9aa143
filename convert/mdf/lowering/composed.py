"""Operators that NumPy has no function for, composed of others.

Of convolutions and pooling the windows are gathered, then multiplied or reduced. Elements are put where indices say by
choices, as nothing gives an array with others put into it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.decompose.common import cast
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, given, rank_of
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder, Rule, collect, rule
from ....passes.types import DType
from ....passes.windows import Windows, extent, transposed, windows
from ....runtime.kernels.activation import ERF_STEP, erf_table
from ....runtime.kernels.base import Attributes
from ....runtime.kernels.windows import coverage


def _sizes(node: Node, index: int = 0) -> tuple[int, ...]:
    return _sizes_of(node, given(node, index))


def _sizes_of(node: Node, value: Value) -> tuple[int, ...]:
    shape = value.tensor.static_shape
    if shape is None:
        raise Unsupported(node, f"the shape of {value.name!r} isn't known before the model runs")
    return shape


def _view(node: Node, kernel: Sequence[int]) -> Windows:
    return windows(Attributes(node), _sizes(node)[2:], kernel)


def _kernel(node: Node) -> list[int]:
    return [int(size) for size in node.attributes["kernel_shape"]]


def _patches(op: Builder, x: Value, view: Windows, fill: float, last: bool) -> Value:
    """What each window sees: [N, C, *counts, *kernel], or [N, C, *kernel, *counts] unless `last`."""
    dtype, rank = x.tensor.dtype or DType.FLOAT32, len(view.kernel)
    if any(view.before) or any(view.behind):
        pads = op.const([0, 0, *view.before, 0, 0, *view.behind])
        x = op.Pad(x, pads, op.const(np.asarray(fill, dtype.numpy), dtype))
    for axis in reversed(range(rank)):
        starts = np.arange(view.output[axis])[:, None] * view.strides[axis]
        places = starts + np.arange(view.kernel[axis]) * view.dilations[axis]
        x = op.Gather(x, op.const(places), axis=2 + axis)
    counts, kernel = range(2, 2 + 2 * rank, 2), range(3, 3 + 2 * rank, 2)
    return op.Transpose(x, perm=[0, 1, *counts, *kernel] if last else [0, 1, *kernel, *counts])


def _over_kernel(view: Windows) -> list[int]:
    rank = len(view.kernel)
    return list(range(2 + rank, 2 + 2 * rank))


@rule("", "MaxPool")
def max_pool(op: Builder, node: Node) -> list[Value]:
    x, view = given(node), _view(node, _kernel(node))
    if any(value.name for value in node.outputs[1:]):
        raise Unsupported(node, "where the largest elements stand")
    dtype = dtype_of(node, x)
    least = -np.inf if dtype.is_float else np.iinfo(dtype.numpy).min
    seen = _patches(op, x, view, least, True)
    found = op.ReduceMax(seen, op.const(_over_kernel(view)), keepdims=0)
    return [found, *(Value("") for _ in node.outputs[1:])]


@rule("", "AveragePool")
def average_pool(op: Builder, node: Node) -> Value:
    x, view = given(node), _view(node, _kernel(node))
    total = op.ReduceSum(_patches(op, x, view, 0, True), op.const(_over_kernel(view)), keepdims=0)
    inside = coverage(view, padding=Attributes(node).flag("count_include_pad"))
    counts = np.sum(inside, axis=tuple(range(-len(view.kernel), 0)))
    return op.Div(total, op.const(counts, dtype_of(node, x)))


# convolutions ------------------------------------------------------------------------------------


def _multiplied(op: Builder, node: Node, x: Value, filters: Value, view: Windows) -> Value:
    """Windows of x [N, C, *spatial] times filters [group, M / group, C / group * kernel]: [N, M, *counts]."""
    batch, (group, outer, inner) = _sizes_of(node, x)[0], _sizes_of(node, filters)
    seen = _patches(op, x, view, 0, False)
    columns = op.Reshape(seen, op.const([batch, group, inner, math.prod(view.output)]))
    return op.Reshape(op.MatMul(filters, columns), op.const([batch, group * outer, *view.output]))


def _biased(op: Builder, node: Node, made: Value, index: int) -> Value:
    bias = node.input(index)
    rank = rank_of(node, given(node)) - 2
    return made if bias is None else op.Add(made, op.Reshape(bias, op.const([-1, *[1] * rank])))


def _convolved(op: Builder, node: Node, x: Value, w: Value, w_sizes: Sequence[int]) -> Value:
    group = int(node.attributes.get("group", 1))
    view = _view(node, w_sizes[2:])
    inner = math.prod(w_sizes[1:])
    filters = op.Reshape(w, op.const([group, w_sizes[0] // group, inner]))
    return _multiplied(op, node, x, filters, view)


@rule("", "Conv")
def conv(op: Builder, node: Node) -> Value:
    made = _convolved(op, node, given(node), given(node, 1), _sizes(node, 1))
    return _biased(op, node, made, 2)


@rule("", "ConvInteger")
def conv_integer(op: Builder, node: Node) -> Value:
    rank, moved = rank_of(node, given(node)), list[Value]()
    for place in range(2):
        value = op.Cast(given(node, place), to=ENUMS[DType.INT32])
        zero = node.input(2 + place)
        if zero is not None:
            offset = op.Cast(zero, to=ENUMS[DType.INT32])
            many = place == 1 and zero.rank == 1
            value = op.Sub(value, op.Reshape(offset, op.const([-1, *[1] * (rank - 1)] if many else [1] * rank)))
        moved.append(value)
    return _convolved(op, node, moved[0], moved[1], _sizes(node, 1))


@rule("", "ConvTranspose")
def conv_transpose(op: Builder, node: Node) -> Value:
    """A convolution of x, with zeros between its elements and around, by the filters turned round."""
    attributes, x, sizes, w_sizes = Attributes(node), given(node), _sizes(node), _sizes(node, 1)
    rank, group, kernel = len(sizes) - 2, attributes.int("group", 1), w_sizes[2:]
    strides, dilations = (attributes.ints(name, (1,) * rank) for name in ("strides", "dilations"))
    whole = transposed(attributes, sizes[2:], kernel)
    full = [size for size, _, _ in whole]
    reach = [extent(k, dilation) - 1 for k, dilation in zip(kernel, dilations, strict=True)]
    extra = attributes.ints("output_padding", (0,) * rank)
    for axis, (size, stride) in enumerate(zip(sizes[2:], strides, strict=True)):
        if stride > 1:
            places = np.arange((size - 1) * stride + 1)
            one_more = op.Pad(x, op.const([0, 1]), None, op.const([2 + axis]))
            x = op.Gather(one_more, op.const(np.where(places % stride, size, places // stride)), axis=2 + axis)
    around = op.const([0, 0, *reach, 0, 0, *(r + more for r, more in zip(reach, extra, strict=True))])
    x = op.Pad(x, around)
    w = given(node, 1)
    for axis, size in enumerate(kernel):
        w = op.Gather(w, op.const(np.arange(size)[::-1].copy()), axis=2 + axis)
    outer, inner = w_sizes[1], w_sizes[0] // group
    split = op.Reshape(w, op.const([group, inner, outer, math.prod(kernel)]))
    filters = op.Reshape(op.Transpose(split, perm=[0, 2, 1, 3]), op.const([group, outer, inner * math.prod(kernel)]))
    nothing, ones = (0,) * rank, (1,) * rank
    spatial = _sizes_of(node, x)[2:]
    view = Windows(spatial, tuple(kernel), ones, tuple(dilations), nothing, nothing, tuple(full))
    made = _multiplied(op, node, x, filters, view)
    crop = [0, 0, *(-before for _, before, _ in whole), 0, 0, *(-behind for _, _, behind in whole)]
    return _biased(op, node, op.Pad(made, op.const(crop)) if any(crop) else made, 2)


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


@rule("", "Erf")
def error_function(op: Builder, node: Node) -> Value:
    """A Taylor series around the nearest of many points, in float64."""
    x = given(node)
    values, rows = erf_table()
    wide = cast(op, node, x, DType.FLOAT64)
    known = op.Where(op.IsNaN(wide), op.const(0, DType.FLOAT64), wide)
    size = op.Min(op.Abs(known), op.const(6, DType.FLOAT64))
    step = op.const(ERF_STEP, DType.FLOAT64)
    index = op.Cast(op.Round(op.Div(size, step)), to=ENUMS[DType.INT64])
    h = op.Sub(size, op.Mul(op.Cast(index, to=ENUMS[DType.FLOAT64]), step))
    series = op.Gather(op.const(rows[-1]), index)
    for row in rows[-2::-1]:
        series = op.Add(op.Mul(series, h), op.Gather(op.const(row), index))
    found = op.Mul(op.Sign(wide), op.Add(op.Gather(op.const(values), index), op.Mul(series, h)))
    return cast(op, node, found, dtype_of(node, x))


RULES: dict[tuple[str, str], list[Rule]] = collect(globals())
