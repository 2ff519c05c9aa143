"""Values of a loop's body as vectors with named axes: where the batch stands, and what has but one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...types import Shape
from .algebra import NotRecurrent, Sum, constant

Array = np.ndarray[Any, Any]
Axis = str
"""time, batch, feature, one (an axis of one entry) or wide (all entries of the axis are the same)."""
Axes = tuple[Axis, ...]


def named(shape: Shape | None, feature: int, time: int | None = None) -> Axes:
    """What the axes of a step's input, a state, or (with `time`) a sequence are.

    Raises:
        NotRecurrent: the rank isn't known, or there is more than one that may be the batch.
    """
    if not shape:
        raise NotRecurrent("the rank of a state or a sequence isn't known, or it is a scalar")
    rank = len(shape)
    if rank == (time is not None):
        raise NotRecurrent("a state or a sequence is a scalar")
    kept = [axis for axis in range(rank) if time is None or axis != time % rank]
    feature = kept[-1 if feature < 0 else 0]
    axes: list[Axis] = ["one" if dim == 1 else "batch" for dim in shape]
    axes[feature] = "feature"
    if time is not None:
        axes[time % rank] = "time"
    if axes.count("batch") > 1:
        raise NotRecurrent("a state or a sequence has two axes that may be the batch")
    return tuple(axes)


@dataclass(frozen=True)
class Vector:
    """One feature vector for each entry of the other axes; `parts` stand one after the other along the features."""

    axes: Axes
    parts: tuple[Sum, ...]

    @property
    def feature(self) -> int:
        return self.axes.index("feature")

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    def axis(self, axis: int) -> int:
        """An axis counted from the front.

        Raises:
            NotRecurrent: there is no such axis.
        """
        if not -len(self.axes) <= axis < len(self.axes):
            raise NotRecurrent("an axis is out of range")
        return axis % len(self.axes)

    def with_axes(self, axes: Iterable[Axis]) -> Vector:
        return Vector(tuple(axes), self.parts)

    def each(self, change: Callable[[Sum], Sum]) -> Vector:
        """Every part changed."""
        return Vector(self.axes, tuple(change(part) for part in self.parts))

    def columns(self, start: int, stop: int) -> Vector:
        """Features `start` to `stop`.

        Raises:
            NotRecurrent: there are none.
        """
        start, stop = max(start, 0), min(stop, self.width)
        if start >= stop:
            raise NotRecurrent("it has vectors of no elements")
        return Vector(self.axes, tuple(pieces(self.parts, start, stop)))

    def through(self, matrix: Array) -> Vector:
        """The features multiplied by a matrix of [width, n].

        Raises:
            NotRecurrent: it doesn't fit.
        """
        if matrix.ndim != 2 or len(matrix) != self.width:
            raise NotRecurrent("a weight is no matrix that fits")
        total, start = constant(np.zeros(matrix.shape[1])), 0
        for part in self.parts:
            total = total.plus(part.through(matrix[start : start + part.width]))
            start += part.width
        return Vector(self.axes, (total,))


def pieces(parts: Sequence[Sum], start: int, stop: int) -> list[Sum]:
    """What columns `start` to `stop` are, cut where one of the parts ends."""
    found: list[Sum] = []
    first = 0
    for part in parts:
        low, high = max(start - first, 0), min(stop - first, part.width)
        if low < high:
            found.append(part.columns(low, high))
        first += part.width
    return found


def aligned(a: Vector, b: Vector) -> tuple[Axes, list[tuple[Sum, Sum]]]:
    """The axes of an elementwise result, and the parts that meet.

    Raises:
        NotRecurrent: the axes don't fit by what is known of them.
    """
    rank = max(len(a.axes), len(b.axes))
    ours, theirs = _padded(a.axes, rank), _padded(b.axes, rank)
    axes: list[Axis] = []
    for one, other in zip(ours, theirs, strict=True):
        if one != other and "one" not in (one, other):
            raise NotRecurrent("values with different axes are combined")
        axes.append(other if one == "one" else one)
    if axes.count("feature") > 1 or axes.count("batch") > 1:
        raise NotRecurrent("values with different axes are combined")
    if a.width != b.width:
        raise NotRecurrent("values of different widths are combined")
    indices = sorted({0, *_edges(a.parts), *_edges(b.parts)})
    spans = list(pairwise(indices))
    return tuple(axes), [(pieces(a.parts, *span)[0], pieces(b.parts, *span)[0]) for span in spans]


def _padded(axes: Axes, rank: int) -> Axes:
    ones: Axes = ("one",) * (rank - len(axes))
    return (*ones, *axes)


def _edges(parts: Sequence[Sum]) -> list[int]:
    return [int(edge) for edge in np.cumsum([part.width for part in parts])]


def like(array: Array, vector: Vector) -> Vector:
    """A constant as a vector that can be combined with another one.

    Raises:
        NotRecurrent: it isn't the same for all the batch.
    """
    rank = max(array.ndim, len(vector.axes))
    axes = _padded(vector.axes, rank)
    feature = axes.index("feature")
    array = array.reshape((1,) * (rank - array.ndim) + array.shape)
    for axis, size in enumerate(array.shape):
        if axis == feature or size == 1:
            continue
        if axes[axis] == "one" or not (array == array.take([0], axis)).all():
            raise NotRecurrent("a constant isn't the same for every entry of the batch")
        array = array.take([0], axis)
    row = array.reshape(-1).astype(np.float64)
    if len(row) == 1:
        row = np.repeat(row, vector.width)
    if len(row) != vector.width:
        raise NotRecurrent("values of different widths are combined")
    return Vector(axes, (constant(row),))
