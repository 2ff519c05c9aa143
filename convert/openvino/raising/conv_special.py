"""OpenVINO -> the hub: convolutions of bits, and at places that the model computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .sampling import in_float32, pixels
from .support import Results, cast, choice, constant, dimension, number, reckoned, shaped, sizes, steps
from .windows import same_pads, unpadded, window


def _pads(node: Node, x: Value, made: dict[str, Any], kernel: list[int] | None) -> list[int]:
    """The pads of a convolution, before each axis and then behind each, whatever `auto_pad` says.

    Raises:
        Unsupported: they depend on sizes that aren't known.
    """
    if "pads" in made:
        return list(made["pads"])
    count = len(made["strides"])
    if made["auto_pad"] == "VALID":
        return [0] * (2 * count)
    extents = sizes(x, range(2, count + 2))
    if extents is None or kernel is None:
        raise Unsupported(node, f"auto_pad {node.attributes.get('auto_pad')} of sizes that aren't known")
    return same_pads(made, extents, kernel)


@rule(DOMAIN, "BinaryConvolution")
def binary_convolution(op: Builder, node: Node) -> Results:
    """BinaryConvolution-1: bits stand for -1 and 1, in the image (1 above 0) as in the weights (u1).

    The pad counts as `pad_value` says: 0 leaves it out, 1 is a bit of 1, everything else one of 0. Bits of weights
    are taken from a byte as OpenVINO's CPU runtime does, the lowest first; its reference takes the highest first.
    """
    x, weights = given(node, 0), constant(given(node, 1))
    choice(node, "mode", "xnor-popcount", {"xnor-popcount": None})
    if weights is None:
        raise Unsupported(node, "weights of bits must be constant in ONNX")
    count = rank_of(node, x) - 2
    made = window(node, count, "strides", "dilations")
    one, other = number(op, 1, x), number(op, -1, x)
    signs = op.Where(op.Greater(x, number(op, 0, x)), one, other)
    pad = float(node.attributes.get("pad_value", 0.0))
    pads = _pads(node, x, made, list(weights.shape[2:])) if pad else []
    if any(pads):
        made = unpadded(made)
        outside = op.const([0, 0, *pads[:count], 0, 0, *pads[count:]])
        signs = op.Pad(signs, outside, one if pad == 1 else other)
    if given(node, 1).tensor.dtype is DType.UINT1:
        op.rewriter.notes.append(f"{node!r}: the lowest bit of a byte of weights is the first, as for the CPU runtime")
        lowest_first = np.unpackbits(np.packbits(weights.reshape(-1)), bitorder="little")[: weights.size]
        weights = lowest_first.reshape(weights.shape)
    both = (weights.astype(np.int64) * 2 - 1).astype((x.tensor.dtype or DType.FLOAT32).numpy)
    return op.Conv(signs, op.const(both), **made)


@rule(DOMAIN, "DeformableConvolution")
@in_float32
def deformable_convolution(op: Builder, node: Node) -> Results:
    """DeformableConvolution-1, -8 (a mask, `bilinear_interpolation_pad`).

    With `bilinear_interpolation_pad` it is ONNX's, which samples between the edge and the zeros around it, too; else
    what lies outside the image is 0 and the outermost pixels reach to the edge.
    """
    x, offset, weights, mask = given(node, 0), given(node, 1), given(node, 2), node.input(3)
    if any(rank_of(node, value) != 4 for value in (x, offset, weights)):
        raise InvalidModel(f"{node!r}: it needs images and weights of 4 dimensions")
    made = window(node, 2, "strides", "dilations")
    kernel = sizes(weights, [2, 3])
    made = unpadded(made) | {"pads": _pads(node, x, made, kernel)}
    groups, deformable = (int(node.attributes.get(name) or 1) for name in ("group", "deformable_group"))
    if node.version >= 8 and node.attributes.get("bilinear_interpolation_pad", False):
        return op.DeformConv(x, weights, offset, None, mask, group=groups, offset_group=deformable, **made)
    if kernel is None:
        raise Unsupported(node, "the size of the weights isn't known")
    columns = _columns(op, x, offset, mask, (kernel, deformable, made))
    outputs = reckoned(op, "Div", dimension(op, weights, 0), op.const([groups]))
    fan = reckoned(op, "Mul", dimension(op, weights, 1), op.const([kernel[0] * kernel[1]]))
    spread = shaped(op, weights, [op.const([groups]), outputs, fan])
    batch, *places = (dimension(op, offset, axis) for axis in (0, 2, 3))
    split = shaped(op, columns, [batch, op.const([groups]), fan, reckoned(op, "Mul", *places)])
    return shaped(op, op.MatMul(spread, split), [batch, dimension(op, weights, 0), *places])


def _columns(
    op: Builder, x: Value, offset: Value, mask: Value | None, how: tuple[list[int], int, dict[str, Any]]
) -> Value:
    """What every element of the kernel sees at each place: [batch, channels, kernel, rows, columns]."""
    kernel, deformable, made = how
    count = kernel[0] * kernel[1]
    groups, elements, single = op.const([deformable]), op.const([count]), op.const([1])
    batch, *places = (dimension(op, offset, axis) for axis in (0, 2, 3))
    moved = shaped(op, offset, [batch, groups, elements, op.const([2]), *places])
    table = pixels(op, x, [deformable])
    dtype = offset.tensor.dtype or DType.FLOAT32
    inside: list[Value] = []
    held: list[Value] = []
    extents = table.height, table.width

    def upright(line: Value) -> Value:
        known = line.data
        return op.const(known.numpy()[:, None]) if known is not None else op.Unsqueeze(line, op.const([1]))

    for axis, part in enumerate(op.Split(moved, axis=3, num_outputs=2, _outputs=2)):
        own = np.arange(count) // kernel[1] if axis == 0 else np.arange(count) % kernel[1]
        first = (own * made["dilations"][axis] - made["pads"][axis]).reshape(count, 1, 1)
        along = reckoned(op, "Mul", steps(op, places[axis]), op.const([made["strides"][axis]]))
        along = upright(along) if axis == 0 else along
        grid = cast(op, reckoned(op, "Add", op.const(first, DType.INT64), along), dtype)
        place = op.Add(op.Squeeze(part, op.const([3])), grid)
        within = op.Less(place, cast(op, extents[axis], dtype))
        inside.append(op.And(op.GreaterOrEqual(place, number(op, 0, place)), within))
        held.append(table.held(op, place, axis))
    plane = steps(op, reckoned(op, "Mul", batch, groups))
    plane = shaped(op, plane, [batch, groups, single, single, single])
    found = table.between(op, plane, *held)
    seen = op.Where(op.Unsqueeze(op.And(*inside), op.const([-1])), found, number(op, 0, found))
    if mask is not None:
        weight = shaped(op, mask, [batch, groups, elements, *places])
        seen = op.Mul(seen, op.Unsqueeze(weight, op.const([-1])))
    return op.Transpose(seen, perm=[0, 1, 5, 2, 3, 4])


RULES = collect(globals())
