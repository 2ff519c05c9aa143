"""Sliding windows: the geometry that convolution and pooling share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .base import Array, Attributes
from .shape import padded


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over the spatial axes: one entry per axis everywhere."""

    spatial: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def pads(self) -> list[tuple[int, int]]:
        return list(zip(self.before, self.after, strict=True))

    @property
    def overhang(self) -> list[tuple[int, int]]:
        """What the last windows need beyond the padding (with ceil_mode)."""
        needed = [
            (count - 1) * stride + (kernel - 1) * dilation + 1
            for count, stride, kernel, dilation in zip(
                self.output, self.strides, self.kernel, self.dilations, strict=True
            )
        ]
        sizes = zip(self.spatial, self.before, self.after, strict=True)
        return [(0, max(need - sum(size), 0)) for need, size in zip(needed, sizes, strict=True)]


def extent(kernel: int, dilation: int) -> int:
    return (kernel - 1) * dilation + 1


def steps(attrs: Attributes, rank: int) -> tuple[list[int], list[int]]:
    """Strides and dilations, 1 where none are given."""
    return attrs.ints("strides", (1,) * rank), attrs.ints("dilations", (1,) * rank)


def windows(attrs: Attributes, spatial: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows that strides, dilations, pads, auto_pad and ceil_mode describe over axes of these sizes.

    Windows that would begin in the padding at the end are left out.
    """
    rank = len(spatial)
    strides, dilations = steps(attrs, rank)
    mode = attrs.string("auto_pad", "NOTSET")
    given = attrs.ints("pads", (0,) * (2 * rank)) if mode == "NOTSET" else [0] * (2 * rank)
    before, after, output = [], [], []
    for axis, (size, stride) in enumerate(zip(spatial, strides, strict=True)):
        reach = extent(kernel[axis], dilations[axis])
        first, last = given[axis], given[axis + rank]
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-size // stride)
            missing = max((count - 1) * stride + reach - size, 0)
            first = missing // 2 if mode == "SAME_UPPER" else missing - missing // 2
            last = missing - first
        elif mode in ("NOTSET", "VALID"):
            room = size + first + last - reach
            count = (-(-room // stride) if attrs.flag("ceil_mode") else room // stride) + 1
            if attrs.flag("ceil_mode") and (count - 1) * stride >= size + first:
                count -= 1
        else:
            raise ValueError(f"unknown auto_pad {mode!r}")
        before.append(first)
        after.append(last)
        output.append(max(count, 0))
    return Windows(
        tuple(spatial), tuple(kernel), tuple(strides), tuple(dilations), tuple(before), tuple(after), tuple(output)
    )


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
