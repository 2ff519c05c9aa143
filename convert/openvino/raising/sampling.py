"""Values between the pixels of an image, at places that the model computes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import given, rank_of, size_of_axis
from ....passes.rewrite import Builder, Rule
from ....passes.types import DType
from .support import cast, dimension, number, reckoned, shaped

_HALF = (DType.FLOAT16, DType.BFLOAT16)


def in_float32(function: Rule) -> Rule:
    """A rule that is also right for images in half precision, which OpenVINO computes in single."""

    @functools.wraps(function)
    def compute(op: Builder, node: Node) -> Value | Sequence[Value] | None:
        dtype = given(node).tensor.dtype
        if dtype not in _HALF:
            return function(op, node)
        node.inputs = [
            cast(op, value, DType.FLOAT32) if value is not None and value.tensor.dtype in _HALF else value
            for value in node.inputs
        ]
        made = function(op, node)
        return cast(op, made, dtype) if isinstance(made, Value) else made

    return compute


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

    def holds(self, op: Builder, place: Value, axis: int) -> Value:
        """Whether places along the rows (0) or columns (1) lie on the image."""
        return op.And(op.GreaterOrEqual(place, number(op, 0, place)), op.LessOrEqual(place, self.last(op, place, axis)))

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


class Listed(NamedTuple):
    """Regions as rows (batch, x1, y1, x2, y2), every field [regions, 1].

    A list may end before its rows do, with a batch below 0.
    """

    batch: Value  # int64, 0 behind the end
    corners: list[Value]
    ended: Value

    def live(self, op: Builder, value: Value) -> Value:
        """`value`, [regions, ., ., .], with 0 for the regions behind the list's end."""
        ended = op.Unsqueeze(self.ended, op.const([2, 3]))
        return op.Where(ended, number(op, 0, value), value)


def listed(op: Builder, node: Node, boxes: Value) -> Listed:
    """The regions in `boxes`, [regions, 5].

    Raises:
        InvalidModel: it has another shape.
    """
    if rank_of(node, boxes) != 2 or size_of_axis(boxes, 1) not in (None, 5):
        raise InvalidModel(f"{node!r}: its regions aren't rows of 5 numbers")
    first, *corners = op.Split(boxes, axis=1, num_outputs=5, _outputs=5)
    batch, zero = cast(op, first, DType.INT64), op.const([0])
    below = cast(op, op.Less(batch, zero), DType.INT64)
    ended = op.Greater(op.CumSum(below, op.const(0)), zero)
    return Listed(op.Max(batch, zero), list(corners), ended)


def single(op: Builder, x: Value) -> Pixels:
    """The pixels of an image [batch, channels, height, width], every channel a plane of its own."""
    return Pixels(op.Reshape(x, op.const([-1])), dimension(op, x, 2), dimension(op, x, 3))
