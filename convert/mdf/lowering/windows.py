"""Convolutions and pooling: the windows are gathered, then multiplied or reduced."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder, Rule, collect, rule
from ....passes.types import DType
from ....passes.windows import Windows, extent, transposed, windows
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


RULES: dict[tuple[str, str], list[Rule]] = collect(globals())
