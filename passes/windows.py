"""Sliding windows: the geometry that convolution and pooling share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .attributes import NodeAttributes
from .graph import Node

POOLS = frozenset(("AveragePool", "LpPool", "MaxPool"))


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over the spatial axes: one entry per axis everywhere."""

    spatial: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def pads(self) -> list[tuple[int, int]]:
        return list(zip(self.before, self.after, strict=True))

    @property
    def behind(self) -> list[int]:
        """The padding behind each axis that the windows reach over; with it there are as many without ceil_mode."""
        return [
            max((count - 1) * stride + extent(kernel, dilation) - size - first, 0)
            for count, stride, kernel, dilation, size, first in zip(
                self.output, self.strides, self.kernel, self.dilations, self.spatial, self.before, strict=True
            )
        ]

    @property
    def overhang(self) -> list[tuple[int, int]]:
        """What the last windows need beyond the padding (with ceil_mode)."""
        return [(0, max(need - size, 0)) for need, size in zip(self.behind, self.after, strict=True)]


def extent(kernel: int, dilation: int) -> int:
    return (kernel - 1) * dilation + 1


def may_hang_over(attrs: NodeAttributes) -> bool:
    """Whether windows of a pool may need more than there is with the padding, over axes of some sizes."""
    kernel = attrs.ints("kernel_shape")
    rank, mode = len(kernel), attrs.string("auto_pad", "NOTSET")
    strides, dilations = steps(attrs, rank)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        return False
    pads = attrs.ints("pads", (0,) * (2 * rank)) if mode == "NOTSET" else [0] * (2 * rank)
    return any(
        stride > 1 and (attrs.flag("ceil_mode") or 1 + pads[axis] + pads[axis + rank] < extent(size, dilation))
        for axis, (size, stride, dilation) in enumerate(zip(kernel, strides, dilations, strict=True))
    )


def steps(attrs: NodeAttributes, rank: int) -> tuple[list[int], list[int]]:
    """Strides and dilations, 1 where none are given."""
    return attrs.ints("strides", (1,) * rank), attrs.ints("dilations", (1,) * rank)


def windows(attrs: NodeAttributes, spatial: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows that strides, dilations, pads, auto_pad and ceil_mode describe over axes of these sizes.

    Windows that would begin in the padding at the end are left out. A pool has one window over an axis that is short of
    it by less than a stride, with or without ceil_mode: ONNX's inference and ONNX Runtime divide towards 0. A
    convolution has none: ONNX Runtime refuses it.
    """
    rank = len(spatial)
    strides, dilations = steps(attrs, rank)
    mode = attrs.string("auto_pad", "NOTSET")
    given = attrs.ints("pads", (0,) * (2 * rank)) if mode == "NOTSET" else [0] * (2 * rank)
    before, after, output = [], [], []
    for axis, (size, stride) in enumerate(zip(spatial, strides, strict=True)):
        reach = extent(kernel[axis], dilations[axis])
        first, last = given[axis], given[axis + rank]
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            count = -(-size // stride)
            missing = max((count - 1) * stride + reach - size, 0)
            first = missing // 2 if mode == "SAME_UPPER" else missing - missing // 2
            last = missing - first
        elif mode in ("NOTSET", "VALID"):
            room = size + first + last - reach
            up = attrs.flag("ceil_mode") or (room < 0 and attrs.node.op_type in POOLS)
            count = (-(-room // stride) if up else room // stride) + 1
            if up and (count - 1) * stride >= size + first:
                count -= 1
        else:
            raise ValueError(f"unknown auto_pad {mode!r}")
        before.append(first)
        after.append(last)
        output.append(max(count, 0))
    return Windows(
        tuple(spatial), tuple(kernel), tuple(strides), tuple(dilations), tuple(before), tuple(after), tuple(output)
    )


def sizes_of_pool(node: Node) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The sizes along the spatial axes of what a pool gives that rounds up, and those that ONNX's inference before
    version 22 makes of them, which counts windows that would begin in the padding at the end, too; None where the data
    are of open sizes, or it doesn't round up, and for other operators."""
    if node.domain or node.op_type not in POOLS:
        return None
    attrs, shape = NodeAttributes(node), node.inputs[0].tensor.shape if node.inputs and node.inputs[0] else None
    if not attrs.flag("ceil_mode") or attrs.string("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or shape is None:
        return None
    spatial = [size for size in shape[2:] if isinstance(size, int)]
    kernel = attrs.ints("kernel_shape", ())
    if not spatial or len(spatial) < len(shape) - 2 or len(kernel) != len(spatial):
        return None
    view = windows(attrs, spatial, kernel)
    rooms = (
        size + first + last - extent(width, dilation)
        for size, first, last, width, dilation in zip(
            view.spatial, view.before, view.after, view.kernel, view.dilations, strict=True
        )
    )
    return view.output, tuple(-(-room // stride) + 1 for room, stride in zip(rooms, view.strides, strict=True))


def transposed(attrs: NodeAttributes, spatial: Sequence[int], kernel: Sequence[int]) -> list[tuple[int, int, int]]:
    """ConvTranspose along each axis: the size of the whole result, and how much of it goes in front and behind."""
    rank, mode = len(spatial), attrs.string("auto_pad", "NOTSET")
    strides, dilations = steps(attrs, rank)
    extra, pads = attrs.ints("output_padding", (0,) * rank), [0] * (2 * rank)
    wanted = attrs.ints("output_shape")[-rank:] if attrs.has("output_shape") else None
    if wanted is None and mode == "NOTSET":
        pads = attrs.ints("pads", pads)
    found: list[tuple[int, int, int]] = []
    for axis, size in enumerate(spatial):
        last = extent(kernel[axis], dilations[axis]) + extra[axis]
        whole = strides[axis] * (size - 1) + last
        before, behind = pads[axis], pads[axis + rank]
        if wanted is not None:
            before, behind = shared_out(whole - wanted[axis], mode)
        elif mode in ("SAME_UPPER", "SAME_LOWER"):
            before, behind = shared_out(same_padding(last, strides[axis]), mode)
        found.append((whole, before, behind))
    return found


def same_padding(last: int, stride: int) -> int:
    """What auto_pad SAME takes off the result of a ConvTranspose along one axis, of which `last` elements come of the
    last element. By ONNX's text the size is that of the input times the stride; where the stride is larger than what an
    element makes, ONNX's inference and ONNX Runtime add nothing to get there."""
    return max(last - stride, 0)


def shared_out(total: int, mode: str) -> tuple[int, int]:
    """How much of the padding of a ConvTranspose is in front and behind, the odd one behind with SAME_UPPER only."""
    return (total // 2, total - total // 2) if mode == "SAME_UPPER" else (total - total // 2, total // 2)
