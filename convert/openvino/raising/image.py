"""Images: resizing, sampling, regions, blocks of pixels."""

from __future__ import annotations

from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.preconditions import given, rank_of
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from . import resize
from .support import Results, call, choice, concatenated, dimension, number, shaped, vector

# sampling ------------------------------------------------------------------------------


@rule(DOMAIN, "GridSample")
def grid_sample(op: Builder, node: Node) -> Results:
    """GridSample-9."""
    mode = choice(node, "mode", "bilinear", {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"})
    padding = choice(node, "padding_mode", "zeros", {name: name for name in ("zeros", "border", "reflection")})
    aligned = int(node.attributes.get("align_corners", False))
    return call(
        op, "GridSample", given(node, 0), given(node, 1), mode=mode, padding_mode=padding, align_corners=aligned
    )


@rule(DOMAIN, "Col2Im")
def col2im(op: Builder, node: Node) -> Results:
    """Col2Im-15: also without a batch."""
    x, target, kernel = given(node, 0), vector(op, given(node, 1)), vector(op, given(node, 2))
    alone = rank_of(node, x) == 2
    if alone:
        x = op.Unsqueeze(x, op.const([0]))
    lists = {name: [int(item) for item in node.attributes.get(name) or []] for name in ("strides", "dilations")}
    before, after = (list(node.attributes.get(name) or [0, 0]) for name in ("pads_begin", "pads_end"))
    found = op.Col2Im(x, target, kernel, pads=before + after, **{name: item or None for name, item in lists.items()})
    return op.Squeeze(found, op.const([0])) if alone else found


# blocks of pixels ----------------------------------------------------------------------------------


@rule(DOMAIN, "DepthToSpace", "SpaceToDepth")
def depth_space(op: Builder, node: Node) -> Results:
    """DepthToSpace-1, SpaceToDepth-1: ONNX's take images of two dimensions, SpaceToDepth in one order only."""
    x = given(node)
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
    count = rank - 2
    step = op.const([block])
    batch, channels, *extents = (dimension(op, x, axis) for axis in range(rank))
    cells = op.const([block**count])
    if to_space:
        depth = op.Div(channels, cells)
        front = [step] * count
        parts = [batch, *front, depth, *extents] if blocks_first else [batch, depth, *front, *extents]
        first_block, channel = (1, count + 1) if blocks_first else (2, 1)
        pairs = [place for axis in range(count) for place in (count + 2 + axis, first_block + axis)]
        turned = op.Transpose(shaped(op, x, parts), perm=[0, channel, *pairs])
        return shaped(op, turned, [batch, depth, *(op.Mul(extent, step) for extent in extents)])
    small = [op.Div(extent, step) for extent in extents]
    parts = [batch, channels, *(part for extent in small for part in (extent, step))]
    inner, outer = list(range(3, 2 * count + 2, 2)), list(range(2, 2 * count + 2, 2))
    perm = [0, *inner, 1, *outer] if blocks_first else [0, 1, *inner, *outer]
    turned = op.Transpose(shaped(op, x, parts), perm=perm)
    return shaped(op, turned, [batch, op.Mul(channels, cells), *small])


@rule(DOMAIN, "ShuffleChannels")
def shuffle_channels(op: Builder, node: Node) -> Results:
    """ShuffleChannels-1: one dimension as [group, rest], turned."""
    x = given(node)
    rank = rank_of(node, x)
    axis, group = int(node.attributes.get("axis", 1)) % rank, int(node.attributes.get("group", 1))
    sizes = [dimension(op, x, dim) for dim in range(rank)]
    rest = op.Div(sizes[axis], op.const([group]))
    split = shaped(op, x, [*sizes[:axis], op.const([group]), rest, *sizes[axis + 1 :]])
    perm = [*range(axis), axis + 1, axis, *range(axis + 2, rank + 1)]
    return shaped(op, op.Transpose(split, perm=perm), sizes)


@rule(DOMAIN, "BatchToSpace", "SpaceToBatch")
def batch_space(op: Builder, node: Node) -> Results:
    """BatchToSpace-2, SpaceToBatch-2: blocks of each dimension go into the batch, or come out of it."""
    x, block, begin, end = given(node, 0), *(vector(op, given(node, index)) for index in range(1, 4))
    rank = rank_of(node, x)
    steps_ = [op.Gather(block, op.const([axis])) for axis in range(rank)]
    cells = op.ReduceProd(block, keepdims=1)
    if node.op_type == "SpaceToBatch":
        x = op.Pad(x, concatenated(op, [begin, end]), number(op, 0, x))
        sizes = [dimension(op, x, axis) for axis in range(rank)]
        small = [op.Div(extent, step) for extent, step in zip(sizes[1:], steps_[1:], strict=True)]
        pairs = [part for extent, step in zip(small, steps_[1:], strict=True) for part in (extent, step)]
        split = shaped(op, x, [sizes[0], *pairs])
        perm = [*range(2, 2 * rank - 1, 2), 0, *range(1, 2 * rank - 1, 2)]
        return shaped(op, op.Transpose(split, perm=perm), [op.Mul(sizes[0], cells), *small])
    sizes = [dimension(op, x, axis) for axis in range(rank)]
    batch = op.Div(sizes[0], cells)
    split = shaped(op, x, [*steps_[1:], batch, *sizes[1:]])
    perm = [rank - 1, *(place for axis in range(1, rank) for place in (rank - 1 + axis, axis - 1))]
    grown = [op.Mul(extent, step) for extent, step in zip(sizes[1:], steps_[1:], strict=True)]
    whole = shaped(op, op.Transpose(split, perm=perm), [batch, *grown])
    shape = concatenated(op, [batch, *grown])
    return op.Slice(whole, begin, op.Sub(shape, end), op.const(list(range(rank)), DType.INT64))


RULES = combine(collect(globals()), resize.RULES)
