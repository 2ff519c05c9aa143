"""OpenVINO -> the hub: images resized and sampled, as blocks of pixels, as brightness and colour, cut into patches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.build import Expr, arange, concat, expr, pad, product, slice_axes
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of, rank_of
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from . import resize
from .support import Results, choice, operand, operands, required, vector

# sampling ------------------------------------------------------------------------------


@rule(DOMAIN, "Col2Im")
def col2im(op: Builder, node: Node) -> Results:
    """Col2Im-15: also without a batch."""
    x, target, kernel = operand(op, node), vector(op, input_of(node, 1)), vector(op, input_of(node, 2))
    alone = rank_of(node, input_of(node)) == 2
    lists = {name: [int(item) for item in node.attributes.get(name) or []] for name in ("strides", "dilations")}
    before, after = (list(node.attributes.get(name) or [0, 0]) for name in ("pads_begin", "pads_end"))
    found = op.Col2Im(
        x[None] if alone else x,
        target,
        kernel,
        pads=before + after,
        **{name: item or None for name, item in lists.items()},
    )
    return op.Squeeze(found, op.const([0])) if alone else found


# blocks of pixels ----------------------------------------------------------------------------------


@rule(DOMAIN, "DepthToSpace", "SpaceToDepth")
def depth_space(op: Builder, node: Node) -> Results:
    """DepthToSpace-1, SpaceToDepth-1: ONNX's take images of two dimensions, SpaceToDepth in one order only."""
    x = input_of(node)
    block = int(node.attributes.get("block_size", 1))
    blocks_first = choice(node, "mode", "blocks_first", {"blocks_first": True, "depth_first": False})
    rank = rank_of(node, x)
    if rank < 3 or block < 1:
        raise InvalidModel(f"{node!r}: blocks of {block} in {rank} dimensions")
    to_space = node.op_type == "DepthToSpace"
    if rank == 4 and to_space:
        return op.DepthToSpace(x, blocksize=block, mode="DCR" if blocks_first else "CRD")
    if rank == 4 and blocks_first:
        return op.SpaceToDepth(x, blocksize=block)
    image, count = operand(op, node), rank - 2
    batch, channels, *extents = (image.size(axis) for axis in range(rank))
    if to_space:
        depth, front = channels // block**count, [block] * count
        parts = [batch, *front, depth, *extents] if blocks_first else [batch, depth, *front, *extents]
        first_block, channel = (1, count + 1) if blocks_first else (2, 1)
        pairs = [index for axis in range(count) for index in (count + 2 + axis, first_block + axis)]
        turned = image.reshape(*parts).transpose(0, channel, *pairs)
        return turned.reshape(batch, depth, *(extent * block for extent in extents)).value()
    small = [extent // block for extent in extents]
    split = image.reshape(batch, channels, *(part for extent in small for part in (extent, block)))
    inner, outer = list(range(3, 2 * count + 2, 2)), list(range(2, 2 * count + 2, 2))
    perm = [0, *inner, 1, *outer] if blocks_first else [0, 1, *inner, *outer]
    return split.transpose(*perm).reshape(batch, channels * block**count, *small).value()


@rule(DOMAIN, "ShuffleChannels")
def shuffle_channels(op: Builder, node: Node) -> Results:
    """ShuffleChannels-1: one dimension as [group, rest], turned."""
    x, rank = operand(op, node), rank_of(node, input_of(node))
    axis, group = int(node.attributes.get("axis", 1)) % rank, int(node.attributes.get("group", 1))
    sizes = [x.size(dim) for dim in range(rank)]
    split = x.reshape(*sizes[:axis], group, sizes[axis] // group, *sizes[axis + 1 :])
    return split.transpose(*range(axis), axis + 1, axis, *range(axis + 2, rank + 1)).reshape(*sizes).value()


@rule(DOMAIN, "BatchToSpace", "SpaceToBatch")
def batch_space(op: Builder, node: Node) -> Results:
    """BatchToSpace-2, SpaceToBatch-2: blocks of each dimension go into the batch, or come out of it."""
    x, rank = operand(op, node), rank_of(node, input_of(node))
    block, begin, end = (vector(op, input_of(node, index)) for index in range(1, 4))
    steps, cells = [block[axis : axis + 1] for axis in range(1, rank)], block.prod(keepdims=True)
    if node.op_type == "SpaceToBatch":
        x = expr(op, pad(op, x.value(), [begin], [end], 0))
        batch, *extents = (x.size(axis) for axis in range(rank))
        small = [extent // step for extent, step in zip(extents, steps, strict=True)]
        split = x.reshape(batch, *(part for pair in zip(small, steps, strict=True) for part in pair))
        perm = [*range(2, 2 * rank - 1, 2), 0, *range(1, 2 * rank - 1, 2)]
        return split.transpose(*perm).reshape(batch * cells, *small).value()
    batch, *extents = (x.size(axis) for axis in range(rank))
    split = x.reshape(*steps, batch // cells, *extents)
    perm = [rank - 1, *(position for axis in range(1, rank) for position in (rank - 1 + axis, axis - 1))]
    grown = [batch // cells, *(extent * step for extent, step in zip(extents, steps, strict=True))]
    whole = split.transpose(*perm).reshape(*grown)
    kept = [size - end[axis : axis + 1] for axis, size in enumerate(grown)]
    return slice_axes(op, whole.value(), range(rank), [begin[axis : axis + 1] for axis in range(rank)], kept)


# images as brightness and colour, and back ---------------------------------------------------------
#
# Colour is given once for each block of 2 x 2 pixels. With the rows and columns of the image split into blocks and
# positions in a block, [batch, rows / 2, 2, columns / 2, 2, 1], it meets the brightness by broadcasting.


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
    dtype = dtype_of(node, input_of(node))
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
    return _as_pixels(found.reshape(batch, rows * 2, columns * 2, 3), dtype).value()


@rule(DOMAIN, "RGBtoNV12", "BGRtoNV12")
def to_nv12(op: Builder, node: Node) -> Results:
    """RGBtoNV12-17, BGRtoNV12-17: one plane, or brightness and colour as two outputs."""
    x = input_of(node)
    if rank_of(node, x) != 4:
        raise InvalidModel(f"{node!r}: an image of {rank_of(node, x)} dimensions")
    dtype, table = dtype_of(node, x), _FROM_RGB if node.op_type.startswith("RGB") else _FROM_RGB[::-1]
    mixed = operand(op, node, 0, DType.FLOAT32).call("MatMul", np.ascontiguousarray(table)) + _BLACK
    y, colour = _as_pixels(mixed, dtype).split([1, 2], -1)
    batch, rows, columns = (mixed.size(axis) for axis in range(3))
    each = colour.cast(DType.FLOAT32).reshape(batch, rows // 2, 2, columns // 2, 2, 2)
    colour = _as_pixels(each.mean(2, 4), dtype)
    if not node.attributes.get("single_plane", True):
        return y.value(), colour.value()
    return concat(op, [y, colour.reshape(batch, rows // 2, columns, 1)], 1).value()


def _as_pixels(value: Expr, dtype: DType) -> Expr:
    """float32 in the range of a colour as `dtype`; integers rounded, halves upwards."""
    clipped = value.call("Clip", 0.0, 255.0)
    return (clipped if dtype.is_float else (clipped + 0.5).floor()).cast(dtype)


# patches, and YOLO's two layers over cells of a grid -----------------------------------------------


def _image(op: Builder, node: Node) -> Expr:
    """Input 0, an image [batch, channels, height, width]."""
    rank = rank_of(node, input_of(node))
    if rank != 4:
        raise InvalidModel(f"{node!r}: an image of {rank} dimensions")
    return operand(op, node)


# YOLO ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "RegionYolo")
def region_yolo(op: Builder, node: Node) -> Results:
    """RegionYolo-1: of each region's entries, the position in the cell and the confidence become probabilities.

    With `do_softmax` the classes are a softmax and the dimensions from `axis` to `end_axis` become one; without it the
    classes are probabilities, too, there is a region for each entry of `mask`, and the shape stays.
    """
    x = _image(op, node)
    coordinates, classes = int(required(node, "coords")), int(required(node, "classes"))
    soft = bool(node.attributes.get("do_softmax", True))
    regions = int(required(node, "num")) if soft else len(node.attributes.get("mask") or [])
    entries, channels = coordinates + classes + 1, x.size(1).item()
    if coordinates < 2:
        raise Unsupported(node, f"boxes of {coordinates} coordinates, two of which are positions")
    if channels not in (None, regions * entries):
        raise Unsupported(node, f"{channels} channels for {regions} regions of {entries} entries")
    split = x.reshape(None, regions, entries, x.sizes(2, 4))
    counts = [2, coordinates - 2, 1, classes] if soft else [2, coordinates - 2, 1 + classes]
    if not counts[1]:
        counts.pop(1)
    index, *extent, score = split.split(counts, 2)
    parts = [index.call("Sigmoid"), *extent, score]
    if soft:
        parts[-2:] = [parts[-2].call("Sigmoid"), score.call("Softmax", axis=2)]
    else:
        parts[-1] = score.call("Sigmoid")
    output = concat(op, parts, 2)
    if not soft:
        return output.reshape(None, regions * entries, x.sizes(2, 4)).value()
    first, last = int(node.attributes.get("axis", 1)) % 4, int(node.attributes.get("end_axis", -1)) % 4
    if last < first:
        raise InvalidModel(f"{node!r}: its end_axis {last} is before its axis {first}")
    flat = product([x.size(axis) for axis in range(first, last + 1)])
    return output.reshape(x.sizes(0, first), flat, x.sizes(last + 1, 4)).value()


@rule(DOMAIN, "ReorgYolo")
def reorg_yolo(op: Builder, node: Node) -> Results:
    """ReorgYolo-2: space to depth, computed from the end backwards (as its gradient goes), whatever the sizes say."""
    x = _image(op, node)
    strides = [int(item) for item in required(node, "stride")]
    if len(strides) != 1 or strides[0] < 1:
        raise InvalidModel(f"{node!r}: its stride is {strides}")
    stride = strides[0]
    cells = stride * stride
    if (x.size(1).item() or 0) % cells:
        raise Unsupported(node, f"{x.size(1).item()} channels for blocks of {cells}")
    batch, channels, *extents = (x.size(axis) for axis in range(4))
    whole = x.reshape(batch, channels // cells, *(extent * stride for extent in extents))
    turned = whole.call("SpaceToDepth", blocksize=stride)
    return turned.reshape(batch, channels * cells, *(extent // stride for extent in extents)).value()


# patches -------------------------------------------------------------------------------------------


def _pair(node: Node, name: str) -> list[int]:
    found = [int(item) for item in required(node, name)]
    if len(found) != 2 or min(found) < 1:
        raise InvalidModel(f"{node!r}: {name} is {found}")
    return found


@rule(DOMAIN, "ExtractImagePatches")
def extract_image_patches(op: Builder, node: Node) -> Results:
    """ExtractImagePatches-3: the rows and columns of all patches gathered from the padded image; the indices in a patch
    come before the channels."""
    x = _image(op, node)
    auto = choice(node, "auto_pad", "valid", {"valid": None, "same_upper": 0, "same_lower": 1})
    batch, channels = x.size(0), x.size(1)
    kernel = _pair(node, "sizes")
    lists = zip(kernel, _pair(node, "strides"), _pair(node, "rates"), strict=True)
    windows = [_windows(x, axis, *numbers, auto) for axis, numbers in enumerate(lists, 2)]
    before, after, indices = zip(*windows, strict=True)
    padded = expr(op, pad(op, x.value(), before, after, 0, [2, 3]))
    each = padded.gather(indices[0], 2).gather(indices[1], 4)  # [batch, channels, kh, rows, kw, columns]
    depth = channels * (kernel[0] * kernel[1])
    return each.transpose(0, 2, 4, 1, 3, 5).reshape(batch, depth, *(one.size(1) for one in indices)).value()


def _windows(x: Expr, axis: int, width: int, stride: int, rate: int, auto: int | None) -> tuple[Expr, Expr, Expr]:
    """(pad before, pad after, indices [positions of the window, windows]) along one axis of an image."""
    reach, extent = (width - 1) * rate + 1, x.size(axis)
    count = (extent + (stride - (reach if auto is None else 1))).maximum(0) // stride
    before = after = extent.like(np.zeros(1))
    if auto is not None:
        total = ((count - 1) * stride + reach - extent).maximum(0)
        before = (total + auto) // 2
        after = total - before
    return before, after, arange(x.op, count) * stride + np.arange(width)[:, None] * rate


RULES = combine(collect(globals()), resize.RULES)
