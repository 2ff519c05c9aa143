"""OpenVINO -> the hub: images cut into patches, and YOLO's two layers over cells of a grid."""

from __future__ import annotations

import numpy as np

from ....passes.build import Expr, arange, concat, expr, product
from ....passes.build.values import pad
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.preconditions import given, rank_of
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from .support import Results, choice, operand, required


def _image(op: Builder, node: Node) -> Expr:
    """Input 0, an image [batch, channels, height, width]."""
    rank = rank_of(node, given(node))
    if rank != 4:
        raise InvalidModel(f"{node!r}: an image of {rank} dimensions")
    return operand(op, node)


# YOLO ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "RegionYolo")
def region_yolo(op: Builder, node: Node) -> Results:
    """RegionYolo-1: of each region's entries, the place in the cell and the confidence become probabilities.

    With `do_softmax` the classes are a softmax and the dimensions from `axis` to `end_axis` become one; without it the
    classes are probabilities, too, there is a region for each entry of `mask`, and the shape stays.
    """
    x = _image(op, node)
    coordinates, classes = int(required(node, "coords")), int(required(node, "classes"))
    soft = bool(node.attributes.get("do_softmax", True))
    regions = int(required(node, "num")) if soft else len(node.attributes.get("mask") or [])
    entries, channels = coordinates + classes + 1, x.size(1).item()
    if coordinates < 2:
        raise Unsupported(node, f"boxes of {coordinates} coordinates, two of which are places")
    if channels not in (None, regions * entries):
        raise Unsupported(node, f"{channels} channels for {regions} regions of {entries} entries")
    split = x.reshape(None, regions, entries, x.sizes(2, 4))
    counts = [2, coordinates - 2, 1, classes] if soft else [2, coordinates - 2, 1 + classes]
    if not counts[1]:
        counts.pop(1)
    place, *extent, score = split.split(counts, 2)
    parts = [place.call("Sigmoid"), *extent, score]
    if soft:
        parts[-2:] = [parts[-2].call("Sigmoid"), score.call("Softmax", axis=2)]
    else:
        parts[-1] = score.call("Sigmoid")
    whole = concat(op, parts, 2)
    if not soft:
        return whole.reshape(None, regions * entries, x.sizes(2, 4)).value()
    first, last = int(node.attributes.get("axis", 1)) % 4, int(node.attributes.get("end_axis", -1)) % 4
    if last < first:
        raise InvalidModel(f"{node!r}: its end_axis {last} lies before its axis {first}")
    flat = product([x.size(axis) for axis in range(first, last + 1)])
    return whole.reshape(x.sizes(0, first), flat, x.sizes(last + 1, 4)).value()


@rule(DOMAIN, "ReorgYolo")
def reorg_yolo(op: Builder, node: Node) -> Results:
    """ReorgYolo-2: space to depth, reckoned from the end backwards (as its gradient goes), whatever the sizes say."""
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
    """ExtractImagePatches-3: the rows and columns of all patches gathered from the padded image; the places in a patch
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
    """(pad before, pad after, indices [places of the window, windows]) along one axis of an image."""
    reach, extent = (width - 1) * rate + 1, x.size(axis)
    count = (extent + (stride - (reach if auto is None else 1))).maximum(0) // stride
    before = after = extent.like(np.zeros(1))
    if auto is not None:
        total = ((count - 1) * stride + reach - extent).maximum(0)
        before = (total + auto) // 2
        after = total - before
    return before, after, arange(x.op, count) * stride + np.arange(width)[:, None] * rate


RULES = collect(globals())
