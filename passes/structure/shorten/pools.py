"""Pools: averages that are written as sums and a division, images whose batch and channels are seen otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...graph import Node, Value
from .context import SHORT_FLOATS, Array, Context, Table, certain, made_by, static, unviewed, viewed, views_of


def average_pool(context: Context, node: Node) -> Value | None:
    """The sums of windows over the number of their elements: Conv(x, ones) / n, each channel by itself, which may be
    seen as one of a batch or as one of many channels. n may be less for windows that reach into the padding."""
    views, sums = views_of(node.inputs[0])
    conv, divisor = made_by(sums, "Conv"), context.constant(node.inputs[1])
    weights = context.constant(conv.inputs[1]) if conv is not None else None
    if conv is None or weights is None or divisor is None or conv.input(2) is not None:
        return None
    group, window = conv.attributes.get("group", 1), weights.shape[2:]
    dilations, padding = conv.attributes.get("dilations", [1]), conv.attributes.get("auto_pad", "NOTSET")
    are_sums = (weights == 1).all() and weights.shape[:2] == (group, 1)
    if padding != "NOTSET" or {*dilations} != {1} or not are_sums or not context.used_once(conv.output):
        return None
    x = _with_channels_of(node.output, conv)
    x, views = (conv.inputs[0], views) if x is None else (x, [])
    pads, strides = (conv.attributes.get(name, [one] * len(window) * (1 + (one == 0))) for name, one in _WINDOW)
    is_whole = bool((divisor == math.prod(window)).all())
    if (views and not is_whole) or node.output.tensor.dtype not in SHORT_FLOATS or not _is_count(node, divisor):
        return None
    if not is_whole and not _counts(divisor, static(conv.inputs[0]), window, strides, pads):
        return None
    pooled = context.op.AveragePool(
        x,
        kernel_shape=list(window),
        strides=conv.attributes.get("strides"),
        pads=list(pads) if any(pads) else None,
        count_include_pad=1 if any(pads) and is_whole else None,
        _types=[conv.output.type if views else node.output.type],
    )
    return viewed(context, pooled, views)


_WINDOW = (("pads", 0), ("strides", 1))


def _is_count(node: Node, divisor: Array) -> bool:
    """Whether a divisor has no more dimensions than what it divides, and none that this is broadcast along."""
    shape = node.output.tensor.shape
    return shape is not None and node.inputs[0] is not None and node.inputs[0].tensor.shape == shape


def _counts(
    divisor: Array,
    image: tuple[int, ...] | None,
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> bool:
    """Whether a divisor says how many elements of an image are in each window."""
    if image is None:
        return False
    count = np.ones(())
    for axis, (extent, size, stride) in enumerate(zip(image[2:], window, strides, strict=True)):
        inside = np.pad(np.ones(extent), (pads[axis], pads[axis + len(window)]))
        count = count[..., None] * np.lib.stride_tricks.sliding_window_view(inside, size).sum(-1)[::stride]
    own = divisor.reshape((1,) * (count.ndim + 2 - divisor.ndim) + divisor.shape)
    return own.shape == (1, 1, *count.shape) and bool((own == count).all())


def pool(context: Context, node: Node) -> Value | None:
    """Reshape(MaxPool(Reshape(x))), or of AveragePool, that sees batch and channels otherwise for the time."""
    inner = made_by(node.inputs[0], "MaxPool", "AveragePool")
    if inner is None or len(inner.outputs) > 1 or not context.used_once(inner.output):
        return None
    x = _with_channels_of(node.output, inner)
    if x is None or x is inner.inputs[0]:
        return None
    return context.op.call(inner.op_type, x, _types=[node.output.type], **inner.attributes)


def _with_channels_of(result: Value, conv: Node) -> Value | None:
    """The image of a convolution or a pool with the batch and the channels that a view of its result has."""
    image, shape, made = conv.inputs[0], certain(result), certain(conv.output)
    if image is None or shape is None or made is None:
        return None
    if shape == made:
        return image
    before, x = certain(image), unviewed(image)
    own = certain(x)
    if before is None or own is None or own[:2] != shape[:2]:
        return None
    return x if (own[2:], shape[2:]) == (before[2:], made[2:]) and len(own) == len(before) else None


RULES: Table = {"Div": [average_pool], "Reshape": [pool]}
