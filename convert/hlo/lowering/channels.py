"""Hub -> HLO: what has channels: convolutions, pools (as reductions of windows), batch normalization."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....passes.attributes import NodeAttributes
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, flag, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ....passes.windows import POOLS, Windows, extent, transposed, windows
from ..text.tree import Labels, WindowDim
from .reduce import larger
from .tools import (
    Sizes,
    applied,
    broadcast,
    constant,
    convert,
    fill,
    iota,
    like,
    reshape,
    scalar,
    sizes_of,
    wide,
    window_fold,
)


def check_axes(node: Node, count: int, kernel: Sequence[int]) -> NodeAttributes:
    """The attributes of a node, of which those with entries for each spatial axis have as many.

    Raises:
        InvalidModel: one of them, or the kernel, has another number.
    """
    attrs = NodeAttributes(node)
    if len(kernel) != count:
        raise InvalidModel(f"{node!r}: a kernel of {len(kernel)} axes over {count}")
    for name, wanted in (("strides", count), ("dilations", count), ("output_padding", count), ("pads", 2 * count)):
        have = len(node.attributes.get(name) or [0] * wanted)
        if have != wanted:
            raise InvalidModel(f"{node!r}: {name} has {have} entries for {count} axes")
    return attrs


def windows_of(node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows over spatial axes of these sizes.

    Raises:
        InvalidModel: those of a convolution don't fit. There is none over an axis that is short of one step; over
            shorter ones ONNX's inference has as many as a division gives that rounds towards 0.
    """
    found = windows(check_axes(node, len(sizes), kernel), sizes, kernel)
    if node.op_type in POOLS:
        return found
    for size, pads, width, dilation, stride in zip(
        sizes, found.pads, kernel, found.dilations, found.strides, strict=True
    ):
        room = size + sum(pads) - extent(width, dilation)
        if room < 0 and room != -stride:
            raise InvalidModel(f"{node!r}: a window of {extent(width, dilation)} over {size} elements")
    return found


def window_dims(view: Windows) -> list[WindowDim]:
    """As HLO has them, for which the padding behind says how many positions there are."""
    axes = zip(view.kernel, view.strides, view.before, view.behind, view.dilations, strict=True)
    return [WindowDim(kernel, stride, low, high, 1, dilation) for kernel, stride, low, high, dilation in axes]


def convolution(
    op: Builder,
    node: Node,
    x: Value,
    w: Value,
    window: Sequence[WindowDim],
    groups: int,
    dtype: DType,
    kernel: str = "oi",
) -> Value:
    """`convolution` of [N, C, ...] by a kernel whose first two dimensions are `kernel`, summed up in `dtype`."""
    digits = "".join(map(str, range(len(window))))
    shape, weights = sizes_of(node, x), sizes_of(node, w)
    spatial = [dim.count(size) for size, dim in zip(shape[2:], window, strict=True)]
    return op.convolution(
        x,
        w,
        window=tuple(window) or None,
        dim_labels=Labels("bf" + digits, kernel + digits, "bf" + digits),
        feature_group_count=groups if groups != 1 else None,
        _types=[TensorType(dtype, (shape[0], weights[kernel.index("o")], *spatial))],
    )


def forwards(op: Builder, node: Node, x: Value, w: Value, dtype: DType) -> Value:
    """A convolution by a node's attributes, its kernel [O, I / groups, ...]."""
    have, weights = sizes_of(node, x), sizes_of(node, w)
    groups = node.attributes.get("group", 1)
    told = f"{list(have)} by a kernel {list(weights)} in {groups} groups"
    taken = weights[1] * groups
    if len(have) != len(weights) or (isinstance(have[1], int) and isinstance(taken, int) and have[1] != taken):
        raise InvalidModel(f"{node!r}: {told}")
    if have[1] != taken:
        raise Unsupported(node, f"whether its channels fit is known only when the model runs, {told}")
    view = windows_of(node, have[2:], list(node.attributes.get("kernel_shape") or weights[2:]))
    return convolution(op, node, x, w, window_dims(view), groups, dtype)


def with_bias(op: Builder, made: Value, bias: Value | None, shape: Sizes) -> Value:
    """A bias [C] added to each channel."""
    return made if bias is None else op.add(made, broadcast(op, bias, shape, (1,)))


@rule("", "Conv")
def conv(op: Builder, node: Node) -> Value:
    x, w, bias = required(node, 0), required(node, 1), node.input(2)
    dtype = dtype_of(node, x)
    made = forwards(op, node, x, w, wide(dtype))
    bias = None if bias is None else convert(op, bias, wide(dtype))
    return convert(op, with_bias(op, made, bias, sizes_of(node, made)), dtype)


@rule("", "ConvInteger")
def conv_integer(op: Builder, node: Node) -> Value:
    """ConvInteger-10 in int32; zero points are one for all, those of the kernel also one for each output channel."""
    moved: list[Value] = []
    for index in range(2):
        value, zero = convert(op, required(node, index), DType.INT32), node.input(index + 2)
        if zero is not None:
            have, zero = sizes_of(node, value), convert(op, zero, DType.INT32)
            single = sizes_of(node, zero) in ((), (1,))
            laid = fill(op, reshape(op, zero, ()), have) if single else broadcast(op, zero, have, (0,))
            value = op.subtract(value, laid)
        moved.append(value)
    return forwards(op, node, moved[0], moved[1], DType.INT32)


@rule("", "ConvTranspose")
def conv_transpose(op: Builder, node: Node) -> Value:
    """The elements `strides` apart, the kernel turned round."""
    x, w, bias = required(node, 0), required(node, 1), node.input(2)
    dtype = dtype_of(node, x)
    have, weights = sizes_of(node, x), sizes_of(node, w)
    count, groups = len(have) - 2, node.attributes.get("group", 1)
    kernel = weights[2:]
    attrs = check_axes(node, count, kernel)
    ones = [1] * count
    strides, dilations = attrs.ints("strides", ones), attrs.ints("dilations", ones)
    window: list[WindowDim] = []
    for at, (whole, before, behind) in enumerate(transposed(attrs, have[2:], kernel)):
        low = (kernel[at] - 1) * dilations[at]
        high = whole - (have[2 + at] - 1) * strides[at] - 1
        window.append(WindowDim(kernel[at], 1, low - before, high - behind, strides[at], dilations[at]))
    turned = tuple(at + 2 for at, size in enumerate(kernel) if size > 1)
    if turned:
        w = op.reverse(w, dimensions=turned)
    if groups > 1:
        inner, outer = weights[0] // groups, weights[1]
        w = reshape(op, w, (groups, inner, outer, *kernel))
        w = op.transpose(w, dimensions=(1, 0, *range(2, count + 3)))
        w = reshape(op, w, (inner, groups * outer, *kernel))
    made = convolution(op, node, x, w, window, groups, wide(dtype), "io")
    bias = None if bias is None else convert(op, bias, wide(dtype))
    return convert(op, with_bias(op, made, bias, sizes_of(node, made)), dtype)


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
    least = scalar(op, dtype.limits[0], dtype)
    nowhere = scalar(op, np.iinfo(np.int64).max, DType.INT64)
    have = sizes_of(node, x)
    indices = reshape(op, iota(op, (math.prod(have),), 0), have)
    region = {"to_apply": larger(op, dtype)}
    top, found = applied(op, "reduce-window", region, [x, indices, least, nowhere], 2, window=tuple(window))
    return [top, _by_columns(op, node, found, have[2:]) if flag(node, "storage_order") else found]


def _by_columns(op: Builder, node: Node, indices: Value, spatial: Sequence[int]) -> Value:
    """Indices that count row by row, as indices that count column by column: of equal elements the one that comes first
    by rows is meant all the same."""
    inside = op.remainder(indices, like(op, node, max(math.prod(spatial), 1), indices))
    made, left, weight = op.subtract(indices, inside), inside, math.prod(spatial)
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
    indices = first + np.arange(view.kernel[axis]) * view.dilations[axis]
    return ((indices >= -low) & (indices < view.spatial[axis] + high)).sum(1)


@rule("", "AveragePool")
def average_pool(op: Builder, node: Node) -> Value:
    """A sum of each window by the number of its elements, pads among them if they count."""
    x = required(node, 0)
    dtype = dtype_of(node, x)
    view = _windows(node, x)
    for size in view.output:
        if isinstance(size, str):
            raise Unsupported(node, f"how many elements each of {size} windows has is only known when the model runs")
    total = window_fold(op, node, convert(op, x, wide(dtype)), _over_channels(view), "add")
    counts = [_counts(view, axis, flag(node, "count_include_pad")) for axis in range(len(view.kernel))]
    shape = sizes_of(node, total)
    whole, divisor = 1, None
    for at, found in enumerate(counts):
        if (found == found[:1]).all():
            whole *= math.prod(found[:1].tolist())
        else:
            factor = broadcast(op, constant(op, found.astype(wide(dtype).numpy), wide(dtype)), shape, (at + 2,))
            divisor = factor if divisor is None else op.multiply(divisor, factor)
    if divisor is None:
        divisor = like(op, node, whole, total)
    elif whole != 1:
        divisor = op.multiply(divisor, like(op, node, whole, total))
    return convert(op, op.divide(total, divisor), dtype)


@rule("", "BatchNormalization")
def batch_normalization(op: Builder, node: Node) -> Sequence[Value] | None:
    """BatchNormalization-15 over the statistics that are given.

    In training it is decomposed: XLA's `batch-norm-training` takes the mean of the squares less the square of the mean
    for the variance, which loses the digits of numbers far from 0.
    """
    if flag(node, "training_mode"):
        return None
    x = required(node, 0)
    dtype = dtype_of(node, x)
    inside = [convert(op, required(node, index), wide(dtype)) for index in range(5)]
    epsilon = NodeAttributes(node).float("epsilon")
    return [convert(op, op.call("batch-norm-inference", *inside, epsilon=epsilon, feature_index=1), dtype)]


RULES = collect(globals())
