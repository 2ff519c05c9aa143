"""Convolutions and pooling, and the windows that slide over an image in both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....passes.build import Expr, arange, expr, pad, reshape, shape_of, where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, call, choice, element_type, integers, operand, sizes, vector

# convolutions --------------------------------------------------------------------------------------


def _merged_groups(op: Builder, node: Node, weights: Value) -> tuple[Value, int]:
    """Weights [groups, a, b, ...] as [groups * a, b, ...], and the number of groups."""
    groups = size_of_axis(weights, 0)
    if groups is None:
        raise Unsupported(node, "the number of groups isn't known")
    return reshape(op, weights, [-1, shape_of(op, weights, 2)]), groups


@rule(DOMAIN, "Convolution", "GroupConvolution")
def convolution(op: Builder, node: Node) -> Results:
    """Convolution-1, GroupConvolution-1 (whose weights have the groups in a dimension of their own)."""
    x, weights, groups = input_of(node, 0), input_of(node, 1), 1
    count = spatial(node, x)
    if node.op_type == "GroupConvolution":
        weights, groups = _merged_groups(op, node, weights)
    inner, kernel = (sizes(value, range(2, count + 2)) for value in (x, weights))
    attributes = with_explicit_pads(window(node, count, "strides", "dilations"), inner, kernel)
    if is_same(attributes) and inner is None and kernel is not None and max(attributes["dilations"]) > 1:
        x, attributes = pad_as_same(op, x, attributes, kernel), without_pads(attributes)
    return call(op, "Conv", x, weights, group=groups, **attributes)


@rule(DOMAIN, "ConvolutionBackpropData", "GroupConvolutionBackpropData")
def transposed_convolution(op: Builder, node: Node) -> Results:
    """ConvolutionBackpropData-1, GroupConvolutionBackpropData-1.

    Without an output shape `auto_pad` other than "explicit" means no pads. With one, what is too much is cut off:
    "explicit" cuts off the pads in front and the rest behind, "valid" all behind, and of an odd pad "same_upper" has
    the larger part in front, the other way round than ONNX.
    """
    x, weights, groups = input_of(node, 0), input_of(node, 1), 1
    count = spatial(node, x)
    if node.op_type == "GroupConvolutionBackpropData":
        weights, groups = _merged_groups(op, node, weights)
    auto = choice(node, "auto_pad", "explicit", AUTO_PAD)
    attributes: dict[str, Any] = {name: numbers(node, name, 1, count) for name in ("strides", "dilations")}
    attributes["output_padding"] = numbers(node, "output_padding", 0, count)
    before = numbers(node, "pads_begin", 0, count) if auto == "NOTSET" else [0] * count
    goal = node.input(2)
    if goal is not None:
        shapes = integers(goal), sizes(x, range(2, count + 2)), sizes(weights, range(2, count + 2))
        pads = _pads_for(shapes, attributes, auto, before)
        if pads is None:
            full = call(op, "ConvTranspose", x, weights, group=groups, **attributes)
            return _cut(op, full, vector(op, goal), auto, before)
        attributes.update(pads)
    elif auto == "NOTSET":
        attributes["pads"] = before + numbers(node, "pads_end", 0, count)
    return call(op, "ConvTranspose", x, weights, group=groups, **attributes)


def _pads_for(
    shapes: Sequence[list[int] | None], window: dict[str, Any], auto: str, before: list[int]
) -> dict[str, Any] | None:
    """The attributes that give a transposed convolution its output shape; None where they depend on unknown sizes.

    `shapes` are the output shape, the sizes of the image and those of the kernel.
    """
    shape, inner, kernel = shapes
    if shape is None or inner is None or kernel is None:
        return None
    first, last, extra = [], [], []
    spans = dilated_extents(window, kernel)
    for axis, (extent, span, target) in enumerate(zip(inner, spans, shape, strict=True)):
        stride, padding = window["strides"][axis], window["output_padding"][axis]
        total = stride * (extent - 1) + span + padding - target
        if auto.startswith("SAME"):
            small = max(total, 0) // 2
            first.append(max(total, 0) - small if auto == "SAME_UPPER" else small)
        else:
            first.append(before[axis])
        rest = total - first[axis]
        last.append(max(rest, 0))
        extra.append(padding - min(rest, 0))
        if extra[axis] >= stride:  # more than ONNX adds
            return None
    return {"pads": first + last, "output_padding": extra}


def _cut(op: Builder, uncut: Value, shape: Expr, auto: str, before: list[int]) -> Value:
    """A transposed convolution without pads brought to an output shape: cut off, or filled with zeros behind."""
    axes = range(2, len(before) + 2)
    full = shape_of(op, uncut, 2)
    first = expr(op, before)
    if auto.startswith("SAME"):
        total = (full - shape).maximum(0)
        first = total - total // 2 if auto == "SAME_UPPER" else total // 2
    end = first + shape
    cut = op.Slice(uncut, first, end, op.const(list(axes)))
    return pad(op, cut, [0] * (len(before) + 2), [0, 0, (end - full).maximum(0)], 0)


# pooling -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pool:
    """A pooling's attributes, and how many windows follow on each axis that see nothing but pad (None: none)."""

    window: dict[str, Any]
    empty: Expr | None = None

    def finish(self, op: Builder, value: Value, filler: float | int) -> Value:
        """`value` with the empty windows behind the others."""
        if self.empty is None:
            return value
        return pad(op, value, [0] * (value.rank or 0), [0, 0, self.empty], filler)


_ROUNDING = {"floor": 0, "ceil": 1, "ceil_torch": 2}


def _rounded(op: Builder, node: Node, x: Value, window: dict[str, Any], kernel: list[int]) -> _Pool:
    """A pooling with its `rounding_type`: "ceil_torch" is ONNX's ceil_mode, where no window starts in the pad behind.

    With "ceil" one may, and sees pad only.
    """
    kind = choice(node, "rounding_type", "floor", _ROUNDING)
    count = len(kernel)
    if is_same(window):
        return _Pool(with_explicit_pads(window, sizes(x, range(2, count + 2)), kernel))
    if not kind:
        return _Pool(window)
    ceiled = {**window, "ceil_mode": 1}
    pads = window.get("pads") or [0] * (2 * count)
    strides, spans = window["strides"], dilated_extents(window, kernel)
    apart = any(after + stride > width for after, stride, width in zip(pads[count:], strides, spans, strict=True))
    if kind == 2 or not apart:
        return _Pool(ceiled)
    begin = shape_of(op, x, 2) + np.array(pads[:count])
    over = begin + (np.array(pads[count:]) + strides - np.array(spans) - 1)  # rounded up when it is divided
    empty = (over // np.array(strides) * np.array(strides) >= begin).cast(DType.INT64)
    return _Pool(ceiled, None if empty.array is not None and not empty.array.any() else empty)


def _wide_pads_apart(
    op: Builder, node: Node, x: Value, window: dict[str, Any], kernel: list[int], fill: float | None
) -> tuple[Value, dict[str, Any]]:
    """An image and how a window slides over it: pads that reach as far as the kernel, which ONNX Runtime's pools don't
    take, become elements of the image.

    Args:
        fill: what they are; None: there is no such number.
    """
    pads, count = window.get("pads") or [], len(kernel)
    if not any(amount >= width for amount, width in zip(pads, kernel * 2, strict=False)):
        return x, window
    if fill is None or choice(node, "rounding_type", "floor", _ROUNDING):
        raise Unsupported(node, f"its pads {pads} reach as far as its kernel {kernel}, which ONNX Runtime doesn't take")
    return pad(op, x, [0, 0, *pads[:count]], [0, 0, *pads[count:]], fill), {**window, "pads": [0] * len(pads)}


def _lengthened(op: Builder, node: Node, x: Value, window: dict[str, Any], kernel: list[int]) -> Value:
    """An image with its pad, and as much behind that the last window, which may begin but not end there, is full.

    OpenVINO's CPU counts all that such a window spans, if it isn't dilated; ONNX, with ceil_mode, none that lies behind
    the pad.
    """
    kind = choice(node, "rounding_type", "floor", _ROUNDING)
    count = len(kernel)
    pads = window.get("pads") or [0] * (2 * count)
    more = [after + stride - 1 for after, stride in zip(pads[count:], window["strides"], strict=True)]
    if kind == 2:  # no window begins in the pad
        more = [min(size, span - 1) for size, span in zip(more, dilated_extents(window, kernel), strict=True)]
    return pad(op, x, [0, 0, *pads[:count]], [0, 0, *more], 0)


@rule(DOMAIN, "AvgPool")
def avg_pool(op: Builder, node: Node) -> Results:
    """AvgPool-1, -14 ("ceil_torch"), -16 (dilations). A window of pad is 0 / 0 where pad doesn't count."""
    x = input_of(node)
    kernel = numbers(node, "kernel", 1, spatial(node, x))
    include = not node.attributes.get("exclude-pad", True)
    attributes = window(node, len(kernel), "strides", "dilations")
    if is_same(attributes) and max(attributes["dilations"]) > 1 and sizes(x, range(2, len(kernel) + 2)) is None:
        # ONNX Runtime's automatic pads don't know of dilations
        unpadded = {"kernel_shape": kernel, **without_pads(attributes)}
        means = call(op, "AveragePool", pad_as_same(op, x, attributes, kernel), **unpadded)
        if include:
            return means
        ones = pad_as_same(op, operand(op, node).full_like(1).value(), attributes, kernel)
        return op.Div(means, call(op, "AveragePool", ones, **unpadded))
    dilated = any(step > 1 for step in attributes.get("dilations") or ())
    if include and node.attributes.get("rounding_type", "floor") != "floor" and not is_same(attributes) and not dilated:
        lengthened = _lengthened(op, node, x, attributes, kernel)
        return call(op, "AveragePool", lengthened, kernel_shape=kernel, **without_pads(attributes))
    x, attributes = _wide_pads_apart(op, node, x, attributes, kernel, 0 if include else None)
    pool = _rounded(op, node, x, attributes, kernel)
    means = call(op, "AveragePool", x, kernel_shape=kernel, count_include_pad=int(include), **pool.window)
    return pool.finish(op, means, 0 if include or not dtype_of(node, x).is_float else math.nan)


@rule(DOMAIN, "MaxPool")
def max_pool(op: Builder, node: Node) -> Results:
    """MaxPool-1, -8, -14: the indices count within the dimensions from `axis` on, ONNX's over all of them.

    A window of pad gives the lowest number, at its channel's first index.
    """
    x = input_of(node)
    rank = spatial(node, x) + 2
    kernel = numbers(node, "kernel", 1, rank - 2)
    count = min(len(node.outputs), 2)
    lowest = dtype_of(node, x).finite_limits[0]
    attributes = window(node, len(kernel), "strides", "dilations")
    image, attributes = _wide_pads_apart(op, node, x, attributes, kernel, lowest)
    pool = _rounded(op, node, image, attributes, kernel)
    results = call(op, "MaxPool", image, _outputs=count, kernel_shape=kernel, **pool.window)
    values = pool.finish(op, results if count == 1 else results[0], lowest)
    if count == 1:
        return values
    indices = expr(op, pool.finish(op, results[1], 0))
    if image is not x:
        indices = _without_pads(indices, x, numbers(node, "pads_begin", 0, rank - 2), image)
    front, back = shape_of(op, x, 0, 2), shape_of(op, x, 2)
    if pool.empty is not None:
        each = arange(op, front.prod()) * back.prod()
        indices = indices.maximum(each.reshape(front, *[1] * (rank - 2)))
    axis = int(node.attributes.get("axis", 0)) % rank
    if axis:
        indices = indices % shape_of(op, x, axis).prod()
    return values, indices.cast(element_type(node, "index_element_type", "i64") or DType.INT64).value()


def _without_pads(indices: Expr, x: Value, before: Sequence[int], padded: Value) -> Expr:
    """Places in an image of what are places in the padded one; those of pads are the first of their channel."""
    inner, outer = shape_of(indices.op, x, 2), shape_of(indices.op, padded, 2)
    place, is_inside = indices.full_like(0), indices.equals(indices)
    for axis, first in enumerate(before):
        coordinate = indices // outer[axis + 1 :].prod() % outer[axis] - first
        is_inside = is_inside & (coordinate >= 0) & (coordinate < inner[axis])
        place = place * inner[axis] + coordinate
    return indices // outer.prod() * inner.prod() + where(is_inside, place, 0)


# windows -------------------------------------------------------------------------------------------


AUTO_PAD = {
    "explicit": "NOTSET",
    "notset": "NOTSET",
    "same_upper": "SAME_UPPER",
    "same_lower": "SAME_LOWER",
    "valid": "VALID",
}


def numbers(node: Node, name: str, default: int, count: int) -> list[int]:
    """A list attribute, one entry for each spatial axis, as `attribute_values` has seen."""
    return [int(item) for item in node.attributes.get(name) or [default] * count]


def spatial(node: Node, x: Value) -> int:
    """The number of spatial axes."""
    rank = rank_of(node, x)
    if rank < 3:
        raise InvalidModel(f"{node!r}: an image of {rank} dimensions")
    return rank - 2


def window(node: Node, count: int, *names: str) -> dict[str, Any]:
    """The attributes that all sliding windows share, as ONNX has them."""
    auto = choice(node, "auto_pad", "explicit", AUTO_PAD)
    attributes: dict[str, Any] = {name: numbers(node, name, 1, count) for name in names}
    if auto == "NOTSET":
        attributes["pads"] = numbers(node, "pads_begin", 0, count) + numbers(node, "pads_end", 0, count)
    else:
        attributes["auto_pad"] = auto
    return attributes


def dilated_extents(window: dict[str, Any], kernel: Sequence[int]) -> list[int]:
    """How many pixels a dilated window spans along each axis."""
    dilations = window.get("dilations") or [1] * len(kernel)
    return [(width - 1) * dilation + 1 for width, dilation in zip(kernel, dilations, strict=True)]


def same_pads(window: dict[str, Any], extents: Sequence[int], kernel: Sequence[int]) -> list[int]:
    """The pads that `auto_pad` means with SAME_UPPER or SAME_LOWER, before each axis and then behind each."""
    total = [
        max((-(-extent // stride) - 1) * stride + span - extent, 0)
        for extent, stride, span in zip(extents, window["strides"], dilated_extents(window, kernel), strict=True)
    ]
    less, more = [item // 2 for item in total], [item - item // 2 for item in total]
    return less + more if window["auto_pad"] == "SAME_UPPER" else more + less


def is_same(window: dict[str, Any]) -> bool:
    """Whether the pads follow from the sizes of the image."""
    return str(window.get("auto_pad", "")).startswith("SAME")


def with_explicit_pads(
    window: dict[str, Any], extents: Sequence[int] | None, kernel: Sequence[int] | None
) -> dict[str, Any]:
    """A window with pads in numbers where `auto_pad` meets dilations, which ONNX Runtime doesn't take together."""
    if not is_same(window) or extents is None or kernel is None or max(window["dilations"]) == 1:
        return window
    return without_pads(window) | {"pads": same_pads(window, extents, kernel)}


def without_pads(window: dict[str, Any]) -> dict[str, Any]:
    """The same window without pads."""
    return {name: item for name, item in window.items() if name not in ("pads", "auto_pad")}


def pad_as_same(op: Builder, x: Value, window: dict[str, Any], kernel: Sequence[int]) -> Value:
    """An image of unknown sizes with the zeros around it that `auto_pad` means with SAME_UPPER or SAME_LOWER."""
    step, extents = np.array(window["strides"]), shape_of(op, x, 2)
    needed = ((extents + (step - 1)) // step - 1) * step + np.array(dilated_extents(window, kernel))
    total = (needed - extents).maximum(0)
    less = total // 2
    before, behind = (less, total - less) if window["auto_pad"] == "SAME_UPPER" else (total - less, less)
    return pad(op, x, [0, 0, before], [0, 0, behind], 0)


RULES = collect(globals())
