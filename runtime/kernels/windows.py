"""What sliding windows see, and what they add up to; their geometry stands in `passes.windows`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...passes.windows import Windows
from .base import Array
from .shape import padded


def largest(x: Array, view: Windows, least: Any) -> Array:
    """The largest element that each window sees of `x`, NaN if it sees one: (N, C, *output).

    Axis by axis: a window of k elements costs about log2(k) maxima of whole arrays an axis, or k - 1 where it moves on
    by so much that fewer are needed.

    Args:
        least: what stands in the padding.
    """
    shape = (*x.shape[:2], *view.output)
    if 0 in shape:
        return np.empty(shape, x.dtype)
    seen = _with_pads(x, view, least)
    for axis, (count, kernel, stride, dilation) in enumerate(
        zip(view.output, view.kernel, view.strides, view.dilations, strict=True), 2
    ):
        seen = _running_maximum(seen, axis, count, kernel, stride, dilation)
    return seen


def _running_maximum(x: Array, axis: int, count: int, kernel: int, stride: int, dilation: int) -> Array:
    """The largest of `kernel` elements along an axis, `count` times."""

    def part(array: Array, start: int, size: int, step: int = 1) -> Array:
        return array[(*(slice(None),) * axis, slice(start, start + (size - 1) * step + 1, step))]

    if kernel - 1 <= stride * (kernel - 1).bit_length():
        found = part(x, 0, count, stride)
        for element in range(1, kernel):
            found = np.maximum(found, part(x, element * dilation, count, stride))
        return found
    width = 1  # of the windows whose maximum x holds
    while width < kernel:
        more = min(width, kernel - width)
        left = x.shape[axis] - more * dilation
        x = np.maximum(part(x, 0, left), part(x, more * dilation, left))
        width += more
    return part(x, 0, count, stride)


def _with_pads(x: Array, view: Windows, fill: Any) -> Array:
    """`x` with its padding, and what windows reach over beyond it."""
    pads = [(a, b + more) for (a, b), (_, more) in zip(view.pads, view.overhang, strict=True)]
    return padded(x, [(0, 0), (0, 0), *pads], "constant", fill)


def patches(x: Array, view: Windows, fill: Any = None) -> Array:
    """What each window sees of `x`: (N, C, *output, *kernel), padding filled (with zero by default). A view."""
    return _strided(np.ascontiguousarray(_with_pads(x, view, fill)), view)


def _strided(wide: Array, view: Windows) -> Array:
    steps = wide.strides[2:]
    return as_strided(
        wide,
        shape=(*wide.shape[:2], *view.output, *view.kernel),
        strides=(
            *wide.strides[:2],
            *(step * stride for step, stride in zip(steps, view.strides, strict=True)),
            *(step * dilation for step, dilation in zip(steps, view.dilations, strict=True)),
        ),
        writeable=False,
    )


def coverage(view: Windows, padding: bool) -> Array:
    """Which window positions lie on the tensor (or its declared padding): bool (1, 1, *output, *kernel)."""
    inside = np.ones((1, 1, *view.spatial), bool)
    inside = padded(inside, [(0, 0), (0, 0), *view.pads], "constant", padding)
    return _strided(padded(inside, [(0, 0), (0, 0), *view.overhang], "constant", False), view)


def offsets(kernel: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, kernel))


def fold(columns: Array, strides: Sequence[int], dilations: Sequence[int], size: Sequence[int]) -> Array:
    """Add window contents (N, C, *kernel, *counts) up where the windows stand: (N, C, *size)."""
    rank = len(size)
    kernel, counts = columns.shape[2 : 2 + rank], columns.shape[2 + rank :]
    result = np.zeros((*columns.shape[:2], *size), columns.dtype)
    for offset in offsets(kernel):
        place = tuple(
            slice(k * dilation, k * dilation + stride * (count - 1) + 1, stride)
            for k, dilation, stride, count in zip(offset, dilations, strides, counts, strict=True)
        )
        result[(slice(None), slice(None), *place)] += columns[(slice(None), slice(None), *offset)]
    return result
