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


def patches(x: Array, view: Windows, fill: Any = None) -> Array:
    """What each window sees of `x`: (N, C, *output, *kernel), padding filled (with zero by default). A view."""
    pads = [(a, b + more) for (a, b), (_, more) in zip(view.pads, view.overhang, strict=True)]
    wide = np.ascontiguousarray(padded(x, [(0, 0), (0, 0), *pads], "constant", fill))
    return _strided(wide, view)


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
