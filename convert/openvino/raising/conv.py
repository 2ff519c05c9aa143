"""Convolutions and pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, combine, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from . import conv_special
from .support import (
    Results,
    call,
    cast,
    choice,
    element_type,
    integers,
    limits,
    number,
    reshaped,
    sizes,
    vector,
    volume,
    with_front,
)
from .windows import AUTO_PAD, around, is_same, numbers, reach, resolved, spatial, unpadded, window

# convolutions --------------------------------------------------------------------------------------


def _merged_groups(op: Builder, node: Node, weights: Value) -> tuple[Value, int]:
    """Weights [groups, a, b, ...] as [groups * a, b, ...], and the number of groups."""
    groups = size_of_axis(weights, 0)
    if groups is None:
        raise Unsupported(node, "the number of groups isn't known")
    rest = sizes(weights, range(2, rank_of(node, weights)))
    if rest is not None:
        return reshaped(op, weights, [-1, *rest]), groups
    return with_front(op, weights, [op.const([-1])], 2), groups


@rule(DOMAIN, "Convolution", "GroupConvolution")
def convolution(op: Builder, node: Node) -> Results:
    """Convolution-1, GroupConvolution-1 (whose weights have the groups in a dimension of their own)."""
    x, weights, groups = given(node, 0), given(node, 1), 1
    count = spatial(node, x)
    if node.op_type == "GroupConvolution":
        weights, groups = _merged_groups(op, node, weights)
    inner, kernel = (sizes(value, range(2, count + 2)) for value in (x, weights))
    made = resolved(window(node, count, "strides", "dilations"), inner, kernel)
    if is_same(made) and inner is None and kernel is not None and max(made["dilations"]) > 1:
        x, made = around(op, x, made, kernel), unpadded(made)
    return call(op, "Conv", x, weights, group=groups, **made)


@rule(DOMAIN, "ConvolutionBackpropData", "GroupConvolutionBackpropData")
def transposed_convolution(op: Builder, node: Node) -> Results:
    """ConvolutionBackpropData-1, GroupConvolutionBackpropData-1.

    Without an output shape `auto_pad` other than "explicit" means no pads. With one, what is too much is cut off:
    "explicit" cuts off the pads in front and the rest behind, "valid" all behind, and of an odd pad "same_upper" has
    the larger part in front, the other way round than ONNX.
    """
    x, weights, groups = given(node, 0), given(node, 1), 1
    count = spatial(node, x)
    if node.op_type == "GroupConvolutionBackpropData":
        weights, groups = _merged_groups(op, node, weights)
    auto = choice(node, "auto_pad", "explicit", AUTO_PAD)
    made: dict[str, Any] = {name: numbers(node, name, 1, count) for name in ("strides", "dilations")}
    made["output_padding"] = numbers(node, "output_padding", 0, count)
    before = numbers(node, "pads_begin", 0, count) if auto == "NOTSET" else [0] * count
    goal = node.input(2)
    if goal is not None:
        known = integers(goal), sizes(x, range(2, count + 2)), sizes(weights, range(2, count + 2))
        pads = _pads_for(known, made, auto, before)
        if pads is None:
            whole = call(op, "ConvTranspose", x, weights, group=groups, **made)
            return _cut(op, whole, vector(op, goal), auto, before)
        made.update(pads)
    elif auto == "NOTSET":
        made["pads"] = before + numbers(node, "pads_end", 0, count)
    return call(op, "ConvTranspose", x, weights, group=groups, **made)


def _pads_for(
    known: Sequence[list[int] | None], window: dict[str, Any], auto: str, before: list[int]
) -> dict[str, Any] | None:
    """The attributes that give a transposed convolution its output shape; None where they depend on unknown sizes.

    `known` is the output shape, the sizes of the image and those of the kernel.
    """
    shape, inner, kernel = known
    if shape is None or inner is None or kernel is None:
        return None
    first, last, extra = [], [], []
    spans = reach(window, kernel)
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


def _cut(op: Builder, whole: Value, shape: Value, auto: str, before: list[int]) -> Value:
    """A transposed convolution without pads brought to an output shape: cut off, or filled with zeros behind."""
    count, zero = len(before), op.const([0])
    full = op.Shape(whole, start=2)
    first = op.const(before, DType.INT64)
    if auto.startswith("SAME"):
        total = op.Max(op.Sub(full, shape), zero)
        first = op.Div(total, op.const([2]))
        first = op.Sub(total, first) if auto == "SAME_UPPER" else first
    end = op.Add(first, shape)
    cut = op.Slice(whole, first, end, op.const(list(range(2, count + 2))))
    behind = op.Max(op.Sub(end, full), zero)
    return op.Pad(cut, op.Concat(op.const([0] * (count + 4)), behind, axis=0), number(op, 0, whole))


# pooling -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pool:
    """A pooling's attributes, and how many windows follow on each axis that see nothing but pad (None: none)."""

    window: dict[str, Any]
    empty: Value | None = None

    def finish(self, op: Builder, value: Value, filler: float | int) -> Value:
        """`value` with the empty windows behind the others."""
        if self.empty is None:
            return value
        return op.Pad(
            value, op.Concat(op.const([0] * ((value.rank or 0) + 2)), self.empty, axis=0), number(op, filler, value)
        )


_ROUNDING = {"floor": 0, "ceil": 1, "ceil_torch": 2}


def _rounded(op: Builder, node: Node, x: Value, window: dict[str, Any], kernel: list[int]) -> _Pool:
    """A pooling with its `rounding_type`: "ceil_torch" is ONNX's ceil_mode, where no window starts in the pad behind.

    With "ceil" one may, and sees pad only.
    """
    kind = choice(node, "rounding_type", "floor", _ROUNDING)
    count = len(kernel)
    if is_same(window):
        return _Pool(resolved(window, sizes(x, range(2, count + 2)), kernel))
    if not kind:
        return _Pool(window)
    ceiled = {**window, "ceil_mode": 1}
    pads = window.get("pads") or [0] * (2 * count)
    strides, spans = window["strides"], reach(window, kernel)
    apart = any(after + stride > width for after, stride, width in zip(pads[count:], strides, spans, strict=True))
    if kind == 2 or not apart:
        return _Pool(ceiled)
    extents = sizes(x, range(2, count + 2))
    if extents is None:
        begin = op.Add(op.Shape(x, start=2), op.const(pads[:count]))
        step = op.const(strides)
        over = op.Sub(op.Add(op.Add(begin, op.const(pads[count:])), step), op.const([one + 1 for one in spans]))
        last = op.Mul(op.Div(over, step), step)
        return _Pool(ceiled, cast(op, op.GreaterOrEqual(last, begin), DType.INT64))
    empty = []
    for axis, extent in enumerate(extents):
        begin = extent + pads[axis]
        last = -(-(begin + pads[count + axis] - spans[axis]) // strides[axis]) * strides[axis]
        empty.append(int(last >= begin))
    return _Pool(ceiled, op.const(empty) if any(empty) else None)


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
        more = [min(size, span - 1) for size, span in zip(more, reach(window, kernel), strict=True)]
    return op.Pad(x, op.const([0, 0, *pads[:count], 0, 0, *more]), number(op, 0, x))


@rule(DOMAIN, "AvgPool")
def avg_pool(op: Builder, node: Node) -> Results:
    """AvgPool-1, -14 ("ceil_torch"), -16 (dilations). A window of pad is 0 / 0 where pad doesn't count."""
    x = given(node)
    kernel = numbers(node, "kernel", 1, spatial(node, x))
    include = not node.attributes.get("exclude-pad", True)
    made = window(node, len(kernel), "strides", "dilations")
    if is_same(made) and max(made["dilations"]) > 1 and sizes(x, range(2, len(kernel) + 2)) is None:
        how = {"kernel_shape": kernel, **unpadded(made)}  # ONNX Runtime's automatic pads don't know of dilations
        found = call(op, "AveragePool", around(op, x, made, kernel), **how)
        ones = op.Expand(number(op, 1, x), op.Shape(x))
        return found if include else op.Div(found, call(op, "AveragePool", around(op, ones, made, kernel), **how))
    dilated = any(step > 1 for step in made.get("dilations") or ())
    if include and node.attributes.get("rounding_type", "floor") != "floor" and not is_same(made) and not dilated:
        return call(op, "AveragePool", _lengthened(op, node, x, made, kernel), kernel_shape=kernel, **unpadded(made))
    pool = _rounded(op, node, x, made, kernel)
    made = call(op, "AveragePool", x, kernel_shape=kernel, count_include_pad=int(include), **pool.window)
    return pool.finish(op, made, 0 if include or not dtype_of(node, x).is_float else math.nan)


@rule(DOMAIN, "MaxPool")
def max_pool(op: Builder, node: Node) -> Results:
    """MaxPool-1, -8, -14: the indices count within the dimensions from `axis` on, ONNX's over all of them.

    A window of pad gives the lowest number, at its channel's first index.
    """
    x = given(node)
    rank = spatial(node, x) + 2
    kernel = numbers(node, "kernel", 1, rank - 2)
    pool = _rounded(op, node, x, window(node, len(kernel), "strides", "dilations"), kernel)
    count = min(len(node.outputs), 2)
    made = call(op, "MaxPool", x, _outputs=count, kernel_shape=kernel, **pool.window)
    values = pool.finish(op, made if count == 1 else made[0], limits(dtype_of(node, x))[0])
    if count == 1:
        return values
    indices = pool.finish(op, made[1], 0)
    if pool.empty is not None:
        planes = op.ReduceProd(op.Shape(x, end=2), keepdims=0)
        each = op.Mul(op.Range(op.const(0), planes, op.const(1)), op.ReduceProd(op.Shape(x, start=2), keepdims=0))
        ones = op.const([1] * (rank - 2), DType.INT64)
        indices = op.Max(indices, op.Reshape(each, op.Concat(op.Shape(x, end=2), ones, axis=0)))
    axis = int(node.attributes.get("axis", 0)) % rank
    if axis:
        within = sizes(x, range(axis, rank))
        if within is not None:
            span = op.const(volume(within))
        else:
            span = op.ReduceProd(op.Shape(x, start=axis), keepdims=0)
        indices = op.Mod(indices, span)
    return values, cast(op, indices, element_type(node, "index_element_type", "i64") or DType.INT64)


RULES = combine(collect(globals()), conv_special.RULES)
