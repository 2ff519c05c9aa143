"""OpenVINO -> the hub: images as brightness and colour, and back.

Colour is given once for each block of 2 x 2 pixels. With the rows and columns of the image split into blocks and
places in a block, [batch, rows / 2, 2, columns / 2, 2, 1], it meets the brightness by broadcasting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, cast, dimension, reckoned, shaped

_TO_RGB = np.array([[0, -0.391, 2.018], [1.596, -0.813, 0]], np.float32)  # what u and v add to red, green and blue
_BRIGHT = np.float32(1.164)
_FROM_RGB = np.array([[0.257, -0.148, 0.439], [0.504, -0.291, -0.368], [0.098, 0.439, -0.071]], np.float32)
_BLACK = np.array([16, 128, 128], np.float32)


def _planes(op: Builder, node: Node, counts: Sequence[int]) -> tuple[list[Value], list[Value]]:
    """([batch, rows / 2, columns / 2], brightness and the planes of colour, in one input or each in its own).

    `counts` says how many numbers a plane has for each block.
    """
    inputs = [given(node, index) for index in range(len(node.formal_inputs))]
    x = inputs[0]
    if any(rank_of(node, value) != 4 for value in inputs) or len(inputs) not in (1, len(counts)):
        raise InvalidModel(f"{node!r}: it needs one image or {len(counts)} of 4 dimensions")
    two = op.const([2])
    batch, rows, columns = (dimension(op, x, axis) for axis in range(3))
    half = [reckoned(op, "Div", columns, two)]
    if len(inputs) == len(counts):
        return [batch, reckoned(op, "Div", rows, two), *half], inputs
    blocks = reckoned(op, "Div", rows, op.const([3]))
    cells = reckoned(op, "Mul", blocks, *half)
    sizes = [reckoned(op, "Mul", cells, op.const([count])) for count in counts]
    flat = shaped(op, x, [batch, reckoned(op, "Mul", cells, op.const([sum(counts)]))])
    ends = [sizes[0]]
    for extent in sizes[1:]:
        ends.append(reckoned(op, "Add", ends[-1], extent))
    starts, one = [op.const([0]), *ends[:-1]], op.const([1])
    return [batch, blocks, *half], [op.Slice(flat, start, end, one) for start, end in zip(starts, ends, strict=True)]


@rule(DOMAIN, "NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR")
def to_rgb(op: Builder, node: Node) -> Results:
    """NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8: in one plane or in two or three."""
    counts = [4, 2] if node.op_type.startswith("NV12") else [4, 1, 1]
    dtype = dtype_of(node, given(node))
    (batch, rows, columns), planes = _planes(op, node, counts)
    one, two = op.const([1]), op.const([2])
    y, *rest = (cast(op, plane, DType.FLOAT32) for plane in planes)
    y = shaped(op, y, [batch, rows, two, columns, two, one])
    last = op.const([(len(rest) == 1 and 2) or 1])
    colour = [shaped(op, plane, [batch, rows, one, columns, one, last]) for plane in rest]
    if len(colour) == 1:
        colour = op.Split(colour[0], axis=-1, num_outputs=2, _outputs=2)
    table = _TO_RGB if node.op_type.endswith("RGB") else _TO_RGB[:, ::-1]
    found = op.Mul(op.Sub(y, op.const(_BLACK[0])), op.const(_BRIGHT))
    for plane, weights in zip(colour, table, strict=True):
        found = op.Add(found, op.Mul(op.Sub(plane, op.const(_BLACK[1])), op.const(np.ascontiguousarray(weights))))
    doubled = [reckoned(op, "Mul", extent, two) for extent in (rows, columns)]
    return _whole(op, shaped(op, found, [batch, *doubled, op.const([3])]), dtype)


@rule(DOMAIN, "RGBtoNV12", "BGRtoNV12")
def to_nv12(op: Builder, node: Node) -> Results:
    """RGBtoNV12-17, BGRtoNV12-17: one plane, or brightness and colour as two outputs."""
    x = given(node)
    if rank_of(node, x) != 4:
        raise InvalidModel(f"{node!r}: an image of {rank_of(node, x)} dimensions")
    dtype, table = dtype_of(node, x), _FROM_RGB if node.op_type.startswith("RGB") else _FROM_RGB[::-1]
    mixed = op.MatMul(cast(op, x, DType.FLOAT32), op.const(np.ascontiguousarray(table)))
    found = _whole(op, op.Add(mixed, op.const(_BLACK)), dtype)
    y, colour = op.Split(found, op.const([1, 2]), axis=-1, _outputs=2)
    one, two = op.const([1]), op.const([2])
    batch, rows, columns = (dimension(op, x, axis) for axis in range(3))
    half = [reckoned(op, "Div", extent, two) for extent in (rows, columns)]
    each = shaped(op, cast(op, colour, DType.FLOAT32), [batch, half[0], two, half[1], two, two])
    colour = _whole(op, op.ReduceMean(each, op.const([2, 4]), keepdims=0), dtype)
    if not node.attributes.get("single_plane", True):
        return y, colour
    return op.Concat(y, shaped(op, colour, [batch, half[0], columns, one]), axis=1)


def _whole(op: Builder, value: Value, dtype: DType) -> Value:
    """float32 in the range of a colour as `dtype`; whole numbers rounded, halves upwards."""
    clipped = op.Clip(value, op.const(np.float32(0)), op.const(np.float32(255)))
    return cast(op, clipped if dtype.is_float else op.Floor(op.Add(clipped, op.const(np.float32(0.5)))), dtype)


RULES = collect(globals())
