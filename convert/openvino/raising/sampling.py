"""Values between the pixels of an image, at positions that the model computes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from ....passes.build import Expr, cast, where
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, Rule, view
from ....passes.types import HALVES, DType
from .support import operand


def in_float32(function: Rule) -> Rule:
    """A rule that is also right for numbers in half precision, which OpenVINO computes in single."""

    @functools.wraps(function)
    def compute(op: Builder, node: Node) -> Value | Sequence[Value] | None:
        dtype = input_of(node).tensor.dtype
        if dtype not in HALVES:
            return function(op, node)
        inputs = [
            cast(op, value, DType.FLOAT32) if value is not None and value.tensor.dtype in HALVES else value
            for value in node.inputs
        ]
        made = function(op, view(node, inputs))
        return cast(op, made, dtype) if isinstance(made, Value) else made

    return compute


class Pixels(NamedTuple):
    """An image's pixels as a table [planes * height * width], or [..., channels] where a pixel has several."""

    table: Expr
    extents: tuple[Expr, Expr]  # height and width, int64 [1]

    def between(self, plane: Expr, y: Expr, x: Expr) -> Expr:
        """Bilinear interpolation in planes, at positions brought onto the image: 0 to height - 1 and 0 to width - 1."""
        height, width = self.extents
        begin = plane * (height * width)
        y, x = (index.maximum(0).minimum(self.last(index, axis)) for axis, index in enumerate((y, x)))
        top, left = y.floor(), x.floor()
        down, right = y - top, x - left
        if self.table.rank == 2:  # a row of the table is one more axis of what is gathered
            down, right = down[..., None], right[..., None]
        columns = [one.cast(DType.INT64) for one in (left, x.ceil())]
        lines = []
        for row in (top, y.ceil()):
            line = begin + row.cast(DType.INT64) * width
            first, second = (self.table.gather(line + column) for column in columns)
            lines.append(first + (second - first) * right)
        return lines[0] + (lines[1] - lines[0]) * down

    def where(self, valid: Expr, found: Expr) -> Expr:
        """What was found at positions that are valid, 0 elsewhere."""
        return where(valid[..., None] if self.table.rank == 2 else valid, found, 0)

    def holds(self, index: Expr, axis: int) -> Expr:
        """Whether positions along the rows (0) or columns (1) lie on the image."""
        return (index >= 0) & (index <= self.last(index, axis))

    def last(self, like: Expr, axis: int) -> Expr:
        """The last row (0) or column (1), of the element type of `like`."""
        return (self.extents[axis] - 1).cast(like.dtype)


def pixel_table(x: Expr, groups: int = 0) -> Pixels:
    """The pixels of an image [batch, channels, height, width], all channels of one in a row.

    With `groups` the channels are so many groups of the rest each, and a plane is a group of an image.
    """
    planes, channels, height, width = (x.size(axis) for axis in range(4))
    if groups:
        channels, planes = channels // groups, planes * groups
        x = x.reshape(planes, channels, height, width)
    table = x.transpose(0, 2, 3, 1).reshape(planes * (height * width), channels)
    return Pixels(table, (height, width))


class Listed(NamedTuple):
    """Regions as rows (batch, x1, y1, x2, y2), every field [regions, 1].

    A list may end before its rows do, with a batch below 0.
    """

    batch: Expr  # int64, 0 behind the end
    corners: list[Expr]
    ended: Expr

    def live(self, value: Expr) -> Value:
        """`value`, [regions, ., ., .], with 0 for the regions behind the list's end."""
        return where(self.ended[:, :, None, None], 0, value).value()


def regions_of_rows(op: Builder, node: Node) -> Listed:
    """The regions in input 1, [regions, 5].

    Raises:
        InvalidModel: it has another shape.
    """
    boxes = input_of(node, 1)
    if rank_of(node, boxes) != 2 or size_of_axis(boxes, 1) not in (None, 5):
        raise InvalidModel(f"{node!r}: its regions aren't rows of 5 numbers")
    first, *corners = operand(op, node, 1).split(5, 1)
    batch = first.cast(DType.INT64)
    ended = (batch < 0).cast(DType.INT64).cumsum(0) > 0
    return Listed(batch.maximum(0), corners, ended)


def channel_planes(x: Expr) -> Pixels:
    """The pixels of an image [batch, channels, height, width], every channel a plane of its own."""
    return Pixels(x.reshape(-1), (x.size(2), x.size(3)))
