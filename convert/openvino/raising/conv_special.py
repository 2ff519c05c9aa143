"""OpenVINO -> the hub: convolutions of bits, and at positions that the model computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....passes.build import Expr, arange, where
from ....passes.build.values import pad
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .conv import same_pads, window, without_pads
from .sampling import in_float32, pixel_table
from .support import Results, choice, constant, operand, sizes


def _pads(node: Node, x: Value, attributes: dict[str, Any], kernel: list[int] | None) -> list[int]:
    """The pads of a convolution, before each axis and then behind each, whatever `auto_pad` says.

    Raises:
        Unsupported: they depend on sizes that aren't known.
    """
    if "pads" in attributes:
        return list(attributes["pads"])
    count = len(attributes["strides"])
    if attributes["auto_pad"] == "VALID":
        return [0] * (2 * count)
    extents = sizes(x, range(2, count + 2))
    if extents is None or kernel is None:
        raise Unsupported(node, f"auto_pad {node.attributes.get('auto_pad')} of sizes that aren't known")
    return same_pads(attributes, extents, kernel)


@rule(DOMAIN, "BinaryConvolution")
def binary_convolution(op: Builder, node: Node) -> Results:
    """BinaryConvolution-1: bits stand for -1 and 1, in the image (1 above 0) as in the weights (u1).

    The pad counts as `pad_value` says: 0 leaves it out, 1 is a bit of 1, everything else one of 0. Bits of weights
    are taken from a byte as OpenVINO's CPU runtime does, the lowest first; its reference takes the highest first.
    """
    x, weights = input_of(node, 0), constant(input_of(node, 1))
    choice(node, "mode", "xnor-popcount", {"xnor-popcount": None})
    if weights is None:
        raise Unsupported(node, "weights of bits must be constant in ONNX")
    count = rank_of(node, x) - 2
    attributes = window(node, count, "strides", "dilations")
    image = operand(op, node)
    signs = where(image > 0, image.like(1), -1).value()
    filler = float(node.attributes.get("pad_value", 0.0))
    pads = _pads(node, x, attributes, list(weights.shape[2:])) if filler else []
    if any(pads):
        attributes = without_pads(attributes)
        signs = pad(op, signs, pads[:count], pads[count:], 1 if filler == 1 else -1, range(2, count + 2))
    if input_of(node, 1).tensor.dtype is DType.UINT1:
        op.rewriter.notes.append(f"{node!r}: the lowest bit of a byte of weights is the first, as for the CPU runtime")
        lowest_first = np.unpackbits(np.packbits(weights.reshape(-1)), bitorder="little")[: weights.size]
        weights = lowest_first.reshape(weights.shape)
    both = (weights.astype(np.int64) * 2 - 1).astype((x.tensor.dtype or DType.FLOAT32).numpy)
    return op.Conv(signs, op.const(both), **attributes)


@rule(DOMAIN, "DeformableConvolution")
@in_float32
def deformable_convolution(op: Builder, node: Node) -> Results:
    """DeformableConvolution-1, -8 (a mask, `bilinear_interpolation_pad`).

    With `bilinear_interpolation_pad` it is ONNX's, which samples between the edge and the zeros around it, too; else
    what lies outside the image is 0 and the outermost pixels reach to the edge.
    """
    x, offset, weights, mask = input_of(node, 0), input_of(node, 1), input_of(node, 2), node.input(3)
    if any(rank_of(node, value) != 4 for value in (x, offset, weights)):
        raise InvalidModel(f"{node!r}: it needs images and weights of 4 dimensions")
    attributes = window(node, 2, "strides", "dilations")
    kernel = sizes(weights, [2, 3])
    attributes = without_pads(attributes) | {"pads": _pads(node, x, attributes, kernel)}
    groups, deformable = (int(node.attributes.get(name) or 1) for name in ("group", "deformable_group"))
    if node.version >= 8 and node.attributes.get("bilinear_interpolation_pad", False):
        return op.DeformConv(x, weights, offset, None, mask, group=groups, offset_group=deformable, **attributes)
    if kernel is None:
        raise Unsupported(node, "the size of the weights isn't known")
    image, moves, filters = (operand(op, node, index) for index in range(3))
    weighted = None if mask is None else operand(op, node, 3)
    columns = _columns(image, moves, weighted, (kernel, deformable, attributes))
    fan = filters.size(1) * (kernel[0] * kernel[1])
    batch, *positions = (moves.size(axis) for axis in (0, 2, 3))
    split = columns.reshape(batch, groups, fan, positions[0] * positions[1])
    products = filters.reshape(groups, filters.size(0) // groups, fan).call("MatMul", split)
    return products.reshape(batch, filters.size(0), *positions).value()


def _columns(x: Expr, offset: Expr, mask: Expr | None, how: tuple[list[int], int, dict[str, Any]]) -> Expr:
    """What every element of the kernel sees at each position: [batch, channels, kernel, rows, columns]."""
    kernel, groups, attributes = how
    count = kernel[0] * kernel[1]
    batch, *extents = (offset.size(axis) for axis in (0, 2, 3))
    table = pixel_table(x, groups)
    positions: list[Expr] = []
    for axis, part in enumerate(offset.reshape(batch, groups, count, 2, *extents).split(2, 3)):
        own = np.arange(count) // kernel[1] if axis == 0 else np.arange(count) % kernel[1]
        first = (own * attributes["dilations"][axis] - attributes["pads"][axis]).reshape(count, 1, 1)
        along = arange(x.op, extents[axis]) * attributes["strides"][axis]
        grid = (along[:, None] if axis == 0 else along) + first
        positions.append(part.squeeze(3) + grid.cast(offset.dtype))
    y, x_ = positions
    height, width = (extent.cast(offset.dtype) for extent in table.extents)
    inside = ((y >= 0) & (y < height)) & ((x_ >= 0) & (x_ < width))
    plane = arange(x.op, batch * groups).reshape(batch, groups, 1, 1, 1)
    seen = table.where(inside, table.between(plane, y, x_))
    if mask is not None:
        seen = seen * mask.reshape(batch, groups, count, *extents)[..., None]
    return seen.transpose(0, 1, 5, 2, 3, 4)


RULES = collect(globals())
