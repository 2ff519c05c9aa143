"""Values between the pixels of an image, at places that the model computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.types import DType
from .support import cast, dimension, number, reckoned, shaped


class Pixels(NamedTuple):
    """An image's pixels as a table [planes * height * width], or [..., channels] where a pixel has several."""

    table: Value
    height: Value  # int64 [1], like the width
    width: Value

    def between(self, op: Builder, plane: Value, y: Value, x: Value) -> Value:
        """Bilinear interpolation in planes, at places on the image: 0 to height - 1 and 0 to width - 1, as floats."""
        begin = op.Mul(plane, reckoned(op, "Mul", self.height, self.width))
        top, left = op.Floor(y), op.Floor(x)
        columns = [cast(op, one, DType.INT64) for one in (left, op.Ceil(x))]
        down, right = op.Sub(y, top), op.Sub(x, left)
        if self.table.rank == 2:  # a row of the table is one more axis of what is gathered
            down, right = (op.Unsqueeze(one, op.const([-1])) for one in (down, right))
        lines = []
        for row in (top, op.Ceil(y)):
            line = op.Add(begin, op.Mul(cast(op, row, DType.INT64), self.width))
            first, second = (op.Gather(self.table, op.Add(line, column), axis=0) for column in columns)
            lines.append(op.Add(first, op.Mul(op.Sub(second, first), right)))
        return op.Add(lines[0], op.Mul(op.Sub(lines[1], lines[0]), down))

    def held(self, op: Builder, place: Value, axis: int) -> Value:
        """Places along the rows (0) or columns (1) brought onto the image."""
        return op.Min(op.Max(place, number(op, 0, place)), self.last(op, place, axis))

    def last(self, op: Builder, like: Value, axis: int) -> Value:
        """The last row (0) or column (1), of the element type of `like`."""
        extent = (self.height, self.width)[axis]
        return cast(op, reckoned(op, "Sub", extent, op.const([1])), like.tensor.dtype or DType.FLOAT32)


def pixels(op: Builder, x: Value, groups: Sequence[int] = ()) -> Pixels:
    """The pixels of an image [batch, channels, height, width], all channels of one in a row.

    With `groups` the channels are so many groups of the rest each, and a plane is a group of an image.
    """
    batch, channels, height, width = (dimension(op, x, axis) for axis in range(4))
    planes = batch
    if groups:
        count = op.const(list(groups))
        channels, planes = reckoned(op, "Div", channels, count), reckoned(op, "Mul", batch, count)
        x = shaped(op, x, [planes, channels, height, width])
    rows = reckoned(op, "Mul", planes, reckoned(op, "Mul", height, width))
    return Pixels(shaped(op, op.Transpose(x, perm=[0, 2, 3, 1]), [rows, channels]), height, width)


def single(op: Builder, x: Value) -> Pixels:
    """The pixels of an image [batch, channels, height, width], every channel a plane of its own."""
    return Pixels(op.Reshape(x, op.const([-1])), dimension(op, x, 2), dimension(op, x, 3))
