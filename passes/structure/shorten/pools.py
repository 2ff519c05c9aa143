"""Pools: averages that are written as sums and a division, images whose batch and channels are seen otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...graph import Node, Value
from ...types import Shape
from .context import SHORT_FLOATS, Array, Context, Table, certain, made_by, unviewed, viewed, views_of


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
    if node.output.tensor.dtype not in SHORT_FLOATS or certain(node.inputs[0]) != certain(node.output):
        return None  # the divisor has dimensions of its own
    x = _with_channels_of(node.output, conv)
    x, views = (conv.inputs[0], views) if x is None else (x, [])
    strides = conv.attributes.get("strides") or [1] * len(window)
    pads = conv.attributes.get("pads") or [0] * (2 * len(window))
    if any(pad >= size for pad, size in zip(pads, window * 2, strict=True)):
        return None  # a window of nothing but padding, which pools don't have
    is_whole = bool((divisor == math.prod(window)).all())
    if not is_whole and (views or not _counts(divisor, certain(conv.inputs[0]), window, strides, pads)):
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


def _counts(
    divisor: Array,
    image: Shape | None,
    window: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
) -> bool:
    """Whether a divisor says how many elements of an image are in each window."""
    count = np.ones(())
    for axis, (extent, size, stride) in enumerate(zip((image or ())[2:], window, strides, strict=False)):
        if not isinstance(extent, int):
            return False
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
