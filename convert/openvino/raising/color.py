"""OpenVINO -> the hub: images as brightness and colour, and back.

Colour is given once for each block of 2 x 2 pixels. With the rows and columns of the image split into blocks and
places in a block, [batch, rows / 2, 2, columns / 2, 2, 1], it meets the brightness by broadcasting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.build import Expr, concat
from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, operand, operands

_TO_RGB = np.array([[0, -0.391, 2.018], [1.596, -0.813, 0]], np.float32)  # what u and v add to red, green and blue
_BRIGHT = np.float32(1.164)
_FROM_RGB = np.array([[0.257, -0.148, 0.439], [0.504, -0.291, -0.368], [0.098, 0.439, -0.071]], np.float32)
_BLACK = np.array([16, 128, 128], np.float32)


def _planes(op: Builder, node: Node, counts: Sequence[int]) -> tuple[list[Expr], list[Expr]]:
    """([batch, rows / 2, columns / 2], brightness and the planes of colour, in one input or each in its own).

    `counts` says how many numbers a plane has for each block.
    """
    inputs = operands(op, node, *range(len(node.formal_inputs)))
    if any(rank_of(node, value) != 4 for value in node.formal_inputs if value) or len(inputs) not in (1, len(counts)):
        raise InvalidModel(f"{node!r}: it needs one image or {len(counts)} of 4 dimensions")
    x = inputs[0]
    batch, rows, columns = (x.size(axis) for axis in range(3))
    if len(inputs) == len(counts):
        return [batch, rows // 2, columns // 2], inputs
    blocks, half = rows // 3, columns // 2
    cells = blocks * half
    flat = x.reshape(batch, cells * sum(counts))
    ends = np.cumsum(counts).tolist()
    return [batch, blocks, half], [
        flat[:, cells * (end - count) : cells * end] for end, count in zip(ends, counts, strict=True)
    ]


@rule(DOMAIN, "NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR")
def to_rgb(op: Builder, node: Node) -> Results:
    """NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8: in one plane or in two or three."""
    counts = [4, 2] if node.op_type.startswith("NV12") else [4, 1, 1]
    dtype = dtype_of(node, given(node))
    (batch, rows, columns), (y, *rest) = _planes(op, node, counts)
    y = y.reshape(batch, rows, 2, columns, 2, 1)
    last = 2 if len(rest) == 1 else 1
    colour = [plane.reshape(batch, rows, 1, columns, 1, last) for plane in rest]
    if len(colour) == 1:
        colour = colour[0].split(2, -1)
    table = _TO_RGB if node.op_type.endswith("RGB") else _TO_RGB[:, ::-1]
    found = (y - float(_BLACK[0])) * float(_BRIGHT)
    for plane, weights in zip(colour, table, strict=True):
        found = found + (plane - float(_BLACK[1])) * np.ascontiguousarray(weights)
    return _whole(found.reshape(batch, rows * 2, columns * 2, 3), dtype).value()


@rule(DOMAIN, "RGBtoNV12", "BGRtoNV12")
def to_nv12(op: Builder, node: Node) -> Results:
    """RGBtoNV12-17, BGRtoNV12-17: one plane, or brightness and colour as two outputs."""
    x = given(node)
    if rank_of(node, x) != 4:
        raise InvalidModel(f"{node!r}: an image of {rank_of(node, x)} dimensions")
    dtype, table = dtype_of(node, x), _FROM_RGB if node.op_type.startswith("RGB") else _FROM_RGB[::-1]
    mixed = operand(op, node, 0, DType.FLOAT32).call("MatMul", np.ascontiguousarray(table)) + _BLACK
    y, colour = _whole(mixed, dtype).split([1, 2], -1)
    batch, rows, columns = (mixed.size(axis) for axis in range(3))
    each = colour.cast(DType.FLOAT32).reshape(batch, rows // 2, 2, columns // 2, 2, 2)
    colour = _whole(each.mean(2, 4), dtype)
    if not node.attributes.get("single_plane", True):
        return y.value(), colour.value()
    return concat(op, [y, colour.reshape(batch, rows // 2, columns, 1)], 1).value()


def _whole(value: Expr, dtype: DType) -> Expr:
    """float32 in the range of a colour as `dtype`; whole numbers rounded, halves upwards."""
    clipped = value.call("Clip", 0.0, 255.0)
    return (clipped if dtype.is_float else (clipped + 0.5).floor()).cast(dtype)


RULES = collect(globals())
