"""Convolutions of all kinds, and what undoes them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ...passes.windows import Windows, extent, steps, transposed, windows
from .activation import swish
from .base import Array, Attributes, Keep, Kernel, expect_shape, per_channel, to_ints, weighted, widened
from .linalg import EXACT_TERMS, centred
from .quant import quantized
from .shape import padded
from .windows import fold, patches


def convolve(x: Array, w: Array, view: Windows, group: int) -> Array:
    """`x` (N, C, *spatial) with the filters `w` (M, C/group, *kernel): (N, M, *output), in the dtype of both."""
    seen = patches(x, view)
    rank = len(view.kernel)
    kernel_last = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    columns = seen.transpose(kernel_last).reshape(
        x.shape[0], group, x.shape[1] // group * math.prod(view.kernel), math.prod(view.output)
    )
    filters = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:]))
    if filters.shape[2] != columns.shape[2]:
        raise ValueError(f"filters {list(w.shape)} in {group} groups don't fit {x.shape[1]} channels")
    return np.matmul(filters, columns).reshape(x.shape[0], w.shape[0], *view.output)


def conv(attrs: Attributes, x: Array, w: Array, bias: Array | None = None) -> Array:
    view = attrs.windows(x.shape[2:], w.shape[2:])
    return _convolved(attrs, x, w, bias, view, lambda make: attrs.prepared((1,), make, "packed"))


def _convolved(attrs: Attributes, x: Array, w: Array, bias: Array | None, view: Windows, keep: Keep) -> Array:
    """The convolution in the type of `x`, by machine code where there is any; `keep`: what that makes of `w`."""
    group = attrs.int("group")
    found = None if attrs.native is None else attrs.native.conv(x, w, bias, view, group, keep)
    if found is not None:
        return found
    result = convolve(widened(x), widened(w), view, group)
    if bias is not None:
        result = result + per_channel(bias, result)
    return result.astype(x.dtype, copy=False)


def accumulated(attrs: Attributes, places: tuple[int, int, int, int], given: Sequence[Array | None]) -> Array:
    """The exact integer convolution, int64, by way of floats that hold it.

    Args:
        places: of the input, the filters and their zero points among the operator's inputs.
    """
    x, w = given[places[0]], given[places[1]]
    assert x is not None and w is not None
    x_zero, w_zero = (given[place] if place < len(given) else None for place in places[2:])
    offsets = None if w_zero is None else w_zero.reshape((-1,) + (1,) * (w.ndim - 1))
    constants = places[1], places[3]
    filters = attrs.prepared(constants, lambda: centred(w, offsets, per_row=False))
    image = centred(x, x_zero, per_row=False)
    view, group = attrs.windows(x.shape[2:], w.shape[2:]), attrs.int("group")
    channels, each = w.shape[1], EXACT_TERMS // max(math.prod(w.shape[2:]), 1)
    if image.dtype != np.float32 or filters.dtype != np.float32 or (channels > each and (group > 1 or not each)):
        return convolve(image.astype(np.float64), filters.astype(np.float64), view, group).astype(np.int64)

    def part(start: int) -> Array:
        """The sum over so many channels as float32 adds it up exactly, in any order."""
        some = slice(start, start + each)
        seen, weights = (image, filters) if channels <= each else (image[:, some], filters[:, some])
        made = _convolved(
            attrs, seen, weights, None, view, lambda make: attrs.prepared(constants, make, f"from {start}")
        )
        return made.astype(np.int64)

    return sum((part(start) for start in range(each, channels, each)), part(0))


def conv_integer(attrs: Attributes, *inputs: Array | None) -> Array:
    """x, w, and their zero points if they have any: int32, wrapping."""
    return accumulated(attrs, (0, 1, 2, 3), inputs).astype(np.int32)


def qlinear_conv(attrs: Attributes, *inputs: Array) -> Array:
    """x and its scale and zero point, the same of w, scale and zero point of the result, and maybe a bias."""
    _, x_scale, _, _, w_scale, _, y_scale, y_zero, *bias = inputs
    total = accumulated(attrs, (0, 3, 2, 5), inputs)
    if bias and bias[0] is not None:
        total = total + per_channel(bias[0], total)
    w_scale = w_scale.reshape(()) if w_scale.size == 1 else per_channel(w_scale, total)
    scale = x_scale.reshape(()) * w_scale / y_scale.reshape(())
    return quantized(attrs, attrs.computed(total * scale, 4.0), y_zero, y_zero.dtype)


def conv_transpose(attrs: Attributes, x: Array, w: Array, bias: Array | None = None) -> Array:
    """The filters are (C, M/group, *kernel)."""
    rank, group, spatial, kernel = x.ndim - 2, attrs.int("group"), x.shape[2:], w.shape[2:]
    strides, dilations = steps(attrs, rank)
    whole = transposed(attrs, spatial, kernel)
    size, crop = [full for full, _, _ in whole], [(-before, -behind) for _, before, behind in whole]
    filters = widened(w).reshape(group, w.shape[0] // group, -1).swapaxes(1, 2)
    inputs = widened(x).reshape(x.shape[0], group, x.shape[1] // group, math.prod(spatial))
    columns = np.matmul(filters, inputs).reshape(x.shape[0], w.shape[1] * group, *kernel, *spatial)
    result = padded(fold(columns, strides, dilations, size), [(0, 0), (0, 0), *crop], "constant")
    if bias is not None:
        result = result + per_channel(bias, result)
    return result.astype(x.dtype, copy=False)


def col2im(attrs: Attributes, columns: Array, image: Array, block: Array) -> Array:
    """(N, C * block, windows) added up to (N, C, *image)."""
    size, kernel = to_ints(image), to_ints(block)
    rank = len(size)
    strides, dilations = steps(attrs, rank)
    pads = attrs.ints("pads", (0,) * (2 * rank))
    full = [n + a + b for n, a, b in zip(size, pads[:rank], pads[rank:], strict=True)]
    counts = [
        (n - extent(k, dilation)) // stride + 1
        for n, k, dilation, stride in zip(full, kernel, dilations, strides, strict=True)
    ]
    blocks = columns.reshape(columns.shape[0], -1, *kernel, *counts)
    crop = [(-a, -b) for a, b in zip(pads[:rank], pads[rank:], strict=True)]
    return padded(fold(blocks, strides, dilations, full), [(0, 0), (0, 0), *crop], "constant")


def interpolated(image: Array, taps: Sequence[Sequence[tuple[Array, Array]]]) -> Array:
    """`image` (C, *spatial) at points (...) between its elements: (C, ...).

    Args:
        taps: for each spatial axis the (index, weight) of each element that a point is made of, (...) both.
    """
    result = np.zeros((image.shape[0], *taps[0][0][0].shape), image.dtype)
    for corner in itertools.product(*taps):
        weight = math.prod((share for _, share in corner), start=np.ones((), image.dtype))
        result += weighted(image[(slice(None), *(index for index, _ in corner))], weight)
    return result


def linear_taps(points: Array, length: int) -> list[tuple[Array, Array]]:
    """Of one axis, linear between elements, zero outside."""
    low = np.floor(points).astype(np.int64)
    share = points - low
    return [
        (np.clip(place, 0, max(length - 1, 0)), np.where((place >= 0) & (place < length), part, 0))
        for place, part in ((low, 1 - share), (low + 1, share))
    ]


def deform_conv(
    attrs: Attributes, x: Array, w: Array, offset: Array, bias: Array | None = None, mask: Array | None = None
) -> Array:
    """Convolution whose windows' points are moved by `offset`, and weighted by `mask`, in any number of dimensions."""
    rank, kernel = x.ndim - 2, w.shape[2:]
    group, shared = attrs.int("group"), attrs.int("offset_group")
    view = windows(attrs, x.shape[2:], kernel)
    image, count = widened(x), math.prod(kernel)
    moved = widened(offset).reshape(x.shape[0], shared, count, rank, *view.output)
    weights = None if mask is None else widened(mask).reshape(x.shape[0], shared, count, *view.output)
    starts = np.indices(view.output) * np.reshape(view.strides, (-1,) + (1,) * rank)
    starts = starts - np.reshape(view.before, (-1,) + (1,) * rank)
    inside = np.indices(kernel).reshape(rank, count) * np.reshape(view.dilations, (-1, 1))
    points = starts[None] + inside.T.reshape(count, rank, *(1,) * rank)
    each = x.shape[1] // shared
    columns = np.zeros((x.shape[0], x.shape[1], count, *view.output), image.dtype)
    for n in range(x.shape[0]):
        for part in range(shared):
            channels = slice(part * each, (part + 1) * each)
            places = np.moveaxis(attrs.operated(points + moved[n, part]), 1, 0)
            seen = interpolated(image[n, channels], list(map(linear_taps, places, x.shape[2:])))
            columns[n, channels] = seen if weights is None else seen * weights[n, part]
    flat = columns.reshape(x.shape[0], group, -1, math.prod(view.output))
    result = np.matmul(widened(w).reshape(group, w.shape[0] // group, -1), flat)
    result = result.reshape(x.shape[0], w.shape[0], *view.output)
    if bias is not None:
        result = result + per_channel(bias, result)
    return result.astype(x.dtype, copy=False)


def causal_conv(
    attrs: Attributes, x: Array, w: Array, bias: Array | None = None, past: Array | None = None
) -> tuple[Array, Array]:
    """Depthwise over the last axis, each output seeing only the present and the past; the last k-1 inputs are kept."""
    reach = w.shape[2] - 1
    before = np.zeros((*x.shape[:2], reach), x.dtype) if past is None else past
    expect_shape("past_state", before, (*x.shape[:2], reach))
    line = np.concatenate([before, x], axis=2)
    size = x.shape[2]
    view = Windows((size + reach,), (reach + 1,), (1,), (1,), (0,), (0,), (size,))
    result = convolve(widened(line), widened(w), view, x.shape[1])
    if bias is not None:
        result = result + per_channel(widened(bias), result)
    mode = attrs.string("activation")
    if mode in ("silu", "swish"):
        result = swish(result, 1.0)
    elif mode != "none":
        raise ValueError(f"unknown activation {mode!r}")
    return result.astype(x.dtype, copy=False), line[:, :, line.shape[2] - reach :]


TABLE: dict[str, Kernel] = {
    "Conv": conv,
    "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "Col2Im": col2im,
    "CausalConvWithState": causal_conv,
}
