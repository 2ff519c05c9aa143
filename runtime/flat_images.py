"""Images with their padding in one run of memory, in which windows are shifts, see `compiled.windows`."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..passes.windows import Windows
from .kernels.base import Array

_AT_ONCE = 256
"""More elements than are read at once."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How the images of one size lie flat under windows of one kind.

    Attributes:
        phases: the steps of the windows: an image of its own for each position among so many rows and columns.
        size: of the image of a phase, padding included.
        offsets: by how far output positions are shifted for each element of a window, int64.
        output: the sizes of the result; of the positions, `size[1]` in a row, the first ones belong to it.
    """

    phases: tuple[int, int]
    size: tuple[int, int]
    offsets: Array
    output: tuple[int, int]

    @property
    def each(self) -> int:
        """Elements of a channel."""
        return math.prod((*self.phases, *self.size))

    @property
    def positions(self) -> int:
        """Of the output, in each channel, those between its rows among them."""
        return self.output[0] * self.size[1]

    def cut(self, found: Array, images: int) -> Array:
        """The result, of what was computed at all positions."""
        rows, columns = self.output
        return np.ascontiguousarray(found.reshape(images, -1, rows, self.size[1])[..., :columns])


def two_axes(sizes: Sequence[int], missing: int = 1) -> tuple[int, int]:
    """What is said of one axis or two, of two."""
    first, second = (*(missing,) * (2 - len(sizes)), *sizes)
    return first, second


@functools.lru_cache(maxsize=1024)
def layout(view: Windows) -> Layout:
    """For images of one axis or two."""
    kernel, steps, dilations = (two_axes(sizes) for sizes in (view.kernel, view.strides, view.dilations))
    output = two_axes(view.output)
    reach = [(count - 1) * dilation for count, dilation in zip(kernel, dilations, strict=True)]
    rows, columns = (count + far // step for count, far, step in zip(output, reach, steps, strict=True))
    offsets = [
        ((i * dilations[0] % steps[0] * steps[1] + j * dilations[1] % steps[1]) * rows + i * dilations[0] // steps[0])
        * columns
        + j * dilations[1] // steps[1]
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    return Layout(steps, (rows, columns), np.array(offsets, np.int64), output)


def lies_flat(view: Windows) -> bool:
    """Whether images lie as `Layout` has them in memory already, but for what is behind."""
    made = layout(view)
    return made.phases == (1, 1) and not any(view.before) and made.each == math.prod(view.spatial)


def flat(x: Array, view: Windows, made: Layout) -> Array:
    """The images (N, C, *spatial) in a row, each channel's phases one after the other, and more behind.

    Windows at the positions between the last rows reach over the end: by less than a row, and what is read at once.
    """
    count = math.prod(x.shape[:2])
    images = x.reshape(count, *two_axes(x.shape[2:]))
    length = count * made.each + made.size[1] + _AT_ONCE
    whole = np.zeros(length, x.dtype)
    goal = whole[: count * made.each].reshape(count, *made.phases, *made.size)
    for places, sources in _copies(view):
        goal[places] = images[sources]
    return whole


_Places = tuple[slice | int, ...]


@functools.lru_cache(maxsize=1024)
def _copies(view: Windows) -> list[tuple[_Places, _Places]]:
    """For each phase, which of its elements lie in the images, and which of the images they are."""
    made, every = layout(view), slice(None)
    axes = zip(two_axes(view.before, 0), made.phases, made.size, two_axes(view.spatial), strict=True)
    rows, columns = ([_overlap(phase, *axis) for phase in range(axis[1])] for axis in axes)
    return [
        ((every, a, b, row_places, column_places), (every, row_sources, column_sources))
        for a, (row_places, row_sources) in enumerate(rows)
        for b, (column_places, column_sources) in enumerate(columns)
    ]


def _overlap(phase: int, before: int, step: int, size: int, length: int) -> tuple[slice, slice]:
    """Which elements of a phase's axis lie in the image, and which of the image they are."""
    first = max(0, -((phase - before) // step))
    last = max(min(size, (length - 1 + before - phase) // step + 1), first)
    start = first * step + phase - before
    return slice(first, last), slice(start, start + (last - first) * step, step) if last > first else slice(0, 0)


@functools.lru_cache(maxsize=1024)
def channel_offsets(view: Windows, channels: int) -> Array:
    """By how far positions are shifted for each element of a filter over so many channels."""
    made = layout(view)
    return (np.arange(channels)[:, None] * made.each + made.offsets).reshape(-1)


def packed_filters(w: Array, groups: int) -> Array:
    """The filters as `compiled.windows.convolve_tiles` takes them."""
    from .compiled.products import ROWS, STEPS

    each, size = w.shape[0] // groups, math.prod(w.shape[1:])
    parts, down = -(-size // STEPS), -(-each // ROWS)
    steps = -(-size // parts)
    made = np.zeros((groups, down * ROWS, parts * steps), w.dtype)
    made[:, :each, :size] = w.reshape(groups, each, size)
    return np.ascontiguousarray(made.reshape(groups, down, ROWS, parts, steps).transpose(0, 3, 1, 4, 2))
