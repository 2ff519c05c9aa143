"""OpenVINO -> the hub: images cut into patches, and YOLO's two layers over cells of a grid."""

from __future__ import annotations

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import given, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    Results,
    choice,
    concatenated,
    dimension,
    number,
    product,
    reckoned,
    required,
    shape_part,
    shaped,
    steps,
)


def _image(node: Node) -> Value:
    """Input 0, an image [batch, channels, height, width]."""
    x = given(node)
    if rank_of(node, x) != 4:
        raise InvalidModel(f"{node!r}: an image of {rank_of(node, x)} dimensions")
    return x


# YOLO ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "RegionYolo")
def region_yolo(op: Builder, node: Node) -> Results:
    """RegionYolo-1: of each region's entries, the place in the cell and the confidence become probabilities.

    With `do_softmax` the classes are a softmax and the dimensions from `axis` to `end_axis` become one; without it the
    classes are probabilities, too, there is a region for each entry of `mask`, and the shape stays.
    """
    x = _image(node)
    coordinates, classes = int(required(node, "coords")), int(required(node, "classes"))
    soft = bool(node.attributes.get("do_softmax", True))
    regions = int(required(node, "num")) if soft else len(node.attributes.get("mask") or [])
    entries, channels = coordinates + classes + 1, size_of_axis(x, 1)
    if coordinates < 2:
        raise Unsupported(node, f"boxes of {coordinates} coordinates, two of which are places")
    if channels not in (None, regions * entries):
        raise Unsupported(node, f"{channels} channels for {regions} regions of {entries} entries")
    front, back = shape_part(op, x, 0, 1), shape_part(op, x, 2, 4)
    split = shaped(op, x, [front, op.const([regions, entries]), back])
    counts = [2, coordinates - 2, 1, classes] if soft else [2, coordinates - 2, 1 + classes]
    if not counts[1]:
        counts.pop(1)
    place, *extent, score = op.Split(split, op.const(counts), axis=2, _outputs=len(counts))
    parts = [op.Sigmoid(place), *extent, score]
    if soft:
        parts[-2:] = [op.Sigmoid(parts[-2]), op.Softmax(score, axis=2)]
    else:
        parts[-1] = op.Sigmoid(score)
    whole = op.Concat(*parts, axis=2)
    if not soft:
        return shaped(op, whole, [front, op.const([regions * entries]), back])
    first, last = int(node.attributes.get("axis", 1)) % 4, int(node.attributes.get("end_axis", -1)) % 4
    if last < first:
        raise InvalidModel(f"{node!r}: its end_axis {last} lies before its axis {first}")
    flat = product(op, [dimension(op, x, axis) for axis in range(first, last + 1)])
    kept = [shape_part(op, x, 0, first), flat, shape_part(op, x, last + 1, 4)]
    return shaped(op, whole, [part for part in kept if size_of_axis(part, 0)])


@rule(DOMAIN, "ReorgYolo")
def reorg_yolo(op: Builder, node: Node) -> Results:
    """ReorgYolo-2: space to depth, reckoned from the end backwards (as its gradient goes), whatever the sizes say."""
    x = _image(node)
    strides = [int(item) for item in required(node, "stride")]
    if len(strides) != 1 or strides[0] < 1:
        raise InvalidModel(f"{node!r}: its stride is {strides}")
    stride = strides[0]
    cells = stride * stride
    if (size_of_axis(x, 1) or 0) % cells:
        raise Unsupported(node, f"{size_of_axis(x, 1)} channels for blocks of {cells}")
    step, depth = op.const([stride]), op.const([cells])
    batch, channels, *extents = (dimension(op, x, axis) for axis in range(4))
    large = [reckoned(op, "Mul", extent, step) for extent in extents]
    small = [reckoned(op, "Div", extent, step) for extent in extents]
    whole = shaped(op, x, [batch, reckoned(op, "Div", channels, depth), *large])
    turned = op.SpaceToDepth(whole, blocksize=stride)
    return shaped(op, turned, [batch, reckoned(op, "Mul", channels, depth), *small])


# patches -------------------------------------------------------------------------------------------


def _pair(node: Node, name: str) -> list[int]:
    found = [int(item) for item in required(node, name)]
    if len(found) != 2 or min(found) < 1:
        raise InvalidModel(f"{node!r}: {name} is {found}")
    return found


@rule(DOMAIN, "ExtractImagePatches")
def extract_image_patches(op: Builder, node: Node) -> Results:
    """ExtractImagePatches-3: the rows and columns of all patches gathered from the padded image; the places in a patch
    come before the channels."""
    x = _image(node)
    auto = choice(node, "auto_pad", "valid", {"valid": None, "same_upper": 0, "same_lower": 1})
    batch, channels = dimension(op, x, 0), dimension(op, x, 1)
    kernel = _pair(node, "sizes")
    lists = zip(kernel, _pair(node, "strides"), _pair(node, "rates"), strict=True)
    windows = [_windows(op, x, axis, *numbers, auto) for axis, numbers in enumerate(lists, 2)]
    before, after, indices = zip(*windows, strict=True)
    zero = op.const([0, 0])
    pads = concatenated(op, [zero, *before, zero, *after])
    if pads.data is None or pads.data.numpy().any():
        x = op.Pad(x, pads, number(op, 0, x))
    x = op.Gather(op.Gather(x, indices[0], axis=2), indices[1], axis=4)  # [batch, channels, kh, rows, kw, columns]
    turned = op.Transpose(x, perm=[0, 2, 4, 1, 3, 5])
    depth = reckoned(op, "Mul", channels, op.const([kernel[0] * kernel[1]]))
    return shaped(op, turned, [batch, depth, *(dimension(op, one, 1) for one in indices)])


def _windows(
    op: Builder, x: Value, axis: int, width: int, stride: int, rate: int, auto: int | None
) -> tuple[Value, Value, Value]:
    """(pad before, pad after, indices [places of the window, windows]) along one axis of an image."""
    reach, step, zero = (width - 1) * rate + 1, op.const([stride]), op.const([0])
    extent = dimension(op, x, axis)
    more = stride - (reach if auto is None else 1)
    count = reckoned(op, "Div", reckoned(op, "Max", reckoned(op, "Add", extent, op.const([more])), zero), step)
    before = after = zero
    if auto is not None:
        last = reckoned(op, "Mul", reckoned(op, "Sub", count, op.const([1])), step)
        beyond = reckoned(op, "Sub", reckoned(op, "Add", last, op.const([reach])), extent)
        total = reckoned(op, "Max", beyond, zero)
        before = reckoned(op, "Div", reckoned(op, "Add", total, op.const([auto])), op.const([2]))
        after = reckoned(op, "Sub", total, before)
    starts = reckoned(op, "Mul", steps(op, count), step)
    return before, after, reckoned(op, "Add", op.const(np.arange(width)[:, None] * rate, DType.INT64), starts)


RULES = collect(globals())
