"""Hub -> HLO: convolutions, channels first on both sides."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..infer_tools import bound, windowed
from ..text.tree import Labels, WindowDim
from .tools import Sizes, broadcast, convert, reshape, sizes_of, wide, word
from .windows import listed, windows


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
    spatial = [bound(windowed(size, dim)) for size, dim in zip(shape[2:], window, strict=True)]
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
    axes = windows(node, list(have[2:]), list(node.attributes.get("kernel_shape") or weights[2:]))
    return convolution(op, node, x, w, [axis.window for axis in axes], groups, dtype)


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


@rule("", "ConvTranspose")
def conv_transpose(op: Builder, node: Node) -> Value:
    """The elements `strides` apart, the kernel turned round."""
    x, w, bias = required(node, 0), required(node, 1), node.input(2)
    dtype = dtype_of(node, x)
    have, weights = sizes_of(node, x), sizes_of(node, w)
    count, groups = len(have) - 2, node.attributes.get("group", 1)
    kernel = weights[2:]
    strides, dilations = listed(node, "strides", count, 1), listed(node, "dilations", count, 1)
    window = []
    for at, (low, high, extra) in enumerate(_pads_of_transposed(node, have[2:], kernel, strides, dilations)):
        rest = (kernel[at] - 1) * dilations[at]
        window.append(WindowDim(kernel[at], 1, rest - low, rest - high + extra, strides[at], dilations[at]))
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


def _pads_of_transposed(
    node: Node, sizes: Sizes, kernel: Sizes, strides: Sequence[int], dilations: Sequence[int]
) -> list[tuple[int, int, int]]:
    """What is cut off before and behind the result along each axis, and what is added behind."""
    count, mode = len(sizes), word(node, "auto_pad", "NOTSET")
    extra, pads = listed(node, "output_padding", count, 0), listed(node, "pads", 2 * count, 0)
    wanted = node.attributes.get("output_shape")
    if not wanted and not mode.startswith("SAME"):
        if mode == "VALID":
            pads = [0] * (2 * count)
        return [(pads[at], pads[at + count], extra[at]) for at in range(count)]
    found = []
    for at, size in enumerate(sizes):
        target = wanted[at - count] if wanted else size * strides[at]
        total = strides[at] * (size - 1) + extra[at] + (kernel[at] - 1) * dilations[at] + 1 - target
        low = total // 2 if mode == "SAME_UPPER" else total - total // 2
        found.append((low, total - low, extra[at]))
    return found


RULES = collect(globals())
