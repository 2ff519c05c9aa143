"""Images: resizing, sampling, regions, blocks of pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    Results,
    call,
    choice,
    constant,
    dimension,
    given,
    integers,
    joined,
    normal_axes,
    number,
    rank_of,
    shaped,
    sizes,
    vector,
)

# resizing ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Resize:
    """What an Interpolate of any version asks for."""

    mode: str  # nearest, linear, cubic
    coordinates: str
    nearest: str
    antialias: bool  # only "linear" obeys it
    cubic: float
    by_scales: bool
    pillow: bool = False


_MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "linear_onnx": "linear",
    "cubic": "cubic",
    "bilinear_pillow": "linear",
    "bicubic_pillow": "cubic",
}
_COORDINATES = {
    name: name for name in ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
}
_NEAREST = {name: name for name in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")}
_TF_NEAREST = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}
"""(x + 0.5) / scale rounded so is the half_pixel coordinate, half less, rounded otherwise."""


def _wish(node: Node) -> _Resize:
    attributes = node.attributes
    mode = choice(node, "mode", "nearest", _MODES)
    antialias = bool(attributes.get("antialias", False)) and str(attributes.get("mode")).lower() == "linear"
    if node.version < 4:
        aligned = bool(attributes.get("align_corners", True))
        return _Resize(mode, "align_corners" if aligned else "asymmetric", "floor", antialias, -0.75, False)
    coordinates = choice(node, "coordinate_transformation_mode", "half_pixel", _COORDINATES)
    cubic = float(attributes.get("cube_coeff", -0.75))
    pillow = str(attributes.get("mode")).lower().endswith("_pillow")
    if pillow:
        coordinates = "half_pixel"
    return _Resize(
        mode,
        coordinates,
        choice(node, "nearest_mode", "round_prefer_floor", _NEAREST),
        antialias,
        cubic,
        choice(node, "shape_calculation_mode", "sizes", {"sizes": False, "scales": True}),
        pillow,
    )


@rule(DOMAIN, "Interpolate")
def interpolate(op: Builder, node: Node) -> Results:
    """Interpolate-1, -4 (sizes and scales are inputs, one of them counts), -11 (one input for both)."""
    wish = _wish(node)
    x = _padded(op, node, given(node))
    rank = rank_of(node, x)
    named = node.attributes.get("axes") if node.version < 4 else None
    place = 3 if 4 <= node.version < 11 else 2
    if named is None and node.input(place) is not None and node.version >= 4:
        named = integers(given(node, place))
        if named is None:
            raise Unsupported(node, "the axes must be constant in ONNX")
    axes = normal_axes(node, list(named) if named is not None else list(range(rank)), rank)
    wanted = given(node, 2 if wish.by_scales and node.version < 11 else 1)
    if wish.mode == "nearest" and (wish.nearest == "simple" or wish.coordinates == "tf_half_pixel_for_nn"):
        if constant(wanted) is not None and sizes(x, axes) is not None:
            return _by_index(op, x, axes, wanted, wish)
        if wish.nearest not in _TF_NEAREST or wish.coordinates != "tf_half_pixel_for_nn":
            raise Unsupported(node, f"nearest by {wish.nearest} and {wish.coordinates} of sizes that aren't known")
        wish = replace(wish, coordinates="half_pixel", nearest=_TF_NEAREST[wish.nearest])
    if wish.coordinates == "tf_half_pixel_for_nn":
        raise Unsupported(node, "tf_half_pixel_for_nn of a mode other than nearest")
    smooth = wish.pillow or (wish.antialias and _smooths(node, x, axes, wanted, wish))
    goal = (vector(op, wanted, DType.FLOAT32), None) if wish.by_scales else (None, vector(op, wanted))
    return call(
        op,
        "Resize",
        x,
        None,
        *goal,
        axes=axes,
        mode=wish.mode,
        coordinate_transformation_mode=wish.coordinates,
        nearest_mode=wish.nearest if wish.mode == "nearest" else None,
        cubic_coeff_a=wish.cubic if wish.mode == "cubic" else None,
        antialias=1 if smooth else None,
        exclude_outside=1 if smooth else None,
    )


def _smooths(node: Node, x: Value, axes: list[int], wanted: Value, wish: _Resize) -> bool:
    """Whether the antialiasing of "linear" changes anything: not where nothing shrinks.

    Raises:
        Unsupported: one axis shrinks and another grows (whose filter would become narrower), or that isn't known.
    """
    goals, extents = constant(wanted), sizes(x, axes)
    if goals is None or extents is None:
        raise Unsupported(node, "antialias between sizes that aren't known")
    scales = [goal if wish.by_scales else goal / size for goal, size in zip(goals.reshape(-1), extents, strict=True)]
    if any(scale < 1 for scale in scales) and any(scale > 1 for scale in scales):
        raise Unsupported(node, "antialias where one axis shrinks and another grows")
    return any(scale < 1 for scale in scales)


def _padded(op: Builder, node: Node, x: Value) -> Value:
    before, after = (list(node.attributes.get(name) or []) for name in ("pads_begin", "pads_end"))
    if not any(before) and not any(after):
        return x
    rank = rank_of(node, x)
    pads = [(pad + [0] * rank)[:rank] for pad in (before, after)]
    return op.Pad(x, op.const(pads[0] + pads[1], DType.INT64), number(op, 0, x))


def _by_index(op: Builder, x: Value, axes: list[int], wanted: Value, wish: _Resize) -> Value:
    """Nearest in a way that Resize hasn't: each axis gathered by indices computed here, from sizes that are known."""
    goals, extents = constant(wanted), sizes(x, axes)
    assert goals is not None and extents is not None
    result = x
    for axis, extent, goal in zip(axes, extents, goals.reshape(-1).tolist(), strict=True):
        scale = float(goal) if wish.by_scales else goal / extent
        target = math.floor(extent * scale) if wish.by_scales else int(goal)
        if target == extent:
            continue
        indices = [_nearest(wish, index, scale, target, extent) for index in range(target)]
        result = op.Gather(result, op.const(indices, DType.INT64), axis=axis)
    return result if result is not x else op.Identity(x)


def _nearest(wish: _Resize, index: int, scale: float, target: int, extent: int) -> int:
    """Which input pixel is the nearest to an output pixel."""
    place = {
        "half_pixel": (index + 0.5) / scale - 0.5,
        "pytorch_half_pixel": (index + 0.5) / scale - 0.5 if target > 1 else 0.0,
        "asymmetric": index / scale,
        "tf_half_pixel_for_nn": (index + 0.5) / scale,
        "align_corners": 0.0 if target == 1 else index * (extent - 1) / (target - 1),
    }[wish.coordinates]
    found = {
        "round_prefer_floor": math.ceil(place - 0.5),
        "round_prefer_ceil": math.floor(place + 0.5),
        "floor": math.floor(place),
        "ceil": math.ceil(place),
        "simple": math.ceil(place) if scale < 1 else int(place),
    }[wish.nearest]
    return min(max(found, 0), extent - 1)


# sampling and regions ------------------------------------------------------------------------------


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
        x = op.Pad(x, joined(op, [begin, end]), number(op, 0, x))
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
    shape = joined(op, [batch, *grown])
    return op.Slice(whole, begin, op.Sub(shape, end), op.const(list(range(rank)), DType.INT64))


RULES = collect(globals())
