"""Hub -> HLO: convolutions, channels first on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ....passes.windows import transposed
from ..text.tree import Labels, WindowDim
from .tools import Sizes, broadcast, convert, fill, reshape, sizes_of, wide
from .windows import check_axes, window_dims, windows_of


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
    if len(have) != len(weights) or have[1] != weights[1] * groups:
        raise InvalidModel(f"{node!r}: {list(have)} by a kernel {list(weights)} in {groups} groups")
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


RULES = collect(globals())
