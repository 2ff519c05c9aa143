"""Images: resizing, sampling, regions, blocks of pixels."""

from __future__ import annotations

from ....passes.build import concat, expr, pad, slice_axes
from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.preconditions import given, rank_of
from ....passes.rewrite import Builder, collect, combine, rule
from ..dialect import DOMAIN
from . import resize
from .support import Results, choice, operand, vector

# sampling ------------------------------------------------------------------------------


@rule(DOMAIN, "Col2Im")
def col2im(op: Builder, node: Node) -> Results:
    """Col2Im-15: also without a batch."""
    x, target, kernel = operand(op, node), vector(op, given(node, 1)), vector(op, given(node, 2))
    alone = rank_of(node, given(node)) == 2
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
    image, count = operand(op, node), rank - 2
    batch, channels, *extents = (image.size(axis) for axis in range(rank))
    if to_space:
        depth, front = channels // block**count, [block] * count
        parts = [batch, *front, depth, *extents] if blocks_first else [batch, depth, *front, *extents]
        first_block, channel = (1, count + 1) if blocks_first else (2, 1)
        pairs = [place for axis in range(count) for place in (count + 2 + axis, first_block + axis)]
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
    x, rank = operand(op, node), rank_of(node, given(node))
    axis, group = int(node.attributes.get("axis", 1)) % rank, int(node.attributes.get("group", 1))
    sizes = [x.size(dim) for dim in range(rank)]
    split = x.reshape(*sizes[:axis], group, sizes[axis] // group, *sizes[axis + 1 :])
    return split.transpose(*range(axis), axis + 1, axis, *range(axis + 2, rank + 1)).reshape(*sizes).value()


@rule(DOMAIN, "BatchToSpace", "SpaceToBatch")
def batch_space(op: Builder, node: Node) -> Results:
    """BatchToSpace-2, SpaceToBatch-2: blocks of each dimension go into the batch, or come out of it."""
    x, rank = operand(op, node), rank_of(node, given(node))
    block, begin, end = (vector(op, given(node, index)) for index in range(1, 4))
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
    perm = [rank - 1, *(place for axis in range(1, rank) for place in (rank - 1 + axis, axis - 1))]
    grown = [batch // cells, *(extent * step for extent, step in zip(extents, steps, strict=True))]
    whole = split.transpose(*perm).reshape(*grown)
    return slice_axes(op, whole.value(), range(rank), [begin], [concat(op, grown) - end])


RULES = combine(collect(globals()), resize.RULES)
