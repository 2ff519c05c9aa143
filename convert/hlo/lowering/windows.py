"""Hub -> HLO: windows of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.attributes import NodeAttributes
from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.windows import Windows, extent, windows
from ..text.tree import WindowDim


def check_axes(node: Node, count: int, kernel: Sequence[int]) -> NodeAttributes:
    """The attributes of a node, of which those with entries for each spatial axis have as many.

    Raises:
        InvalidModel: one of them, or the kernel, has another number.
    """
    attrs = NodeAttributes(node)
    if len(kernel) != count:
        raise InvalidModel(f"{node!r}: a kernel of {len(kernel)} axes over {count}")
    for name, wanted in (("strides", count), ("dilations", count), ("output_padding", count), ("pads", 2 * count)):
        have = len(node.attributes.get(name) or [0] * wanted)
        if have != wanted:
            raise InvalidModel(f"{node!r}: {name} has {have} entries for {count} axes")
    return attrs


def windows_of(node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> Windows:
    """The windows over spatial axes of these sizes.

    Raises:
        InvalidModel: they don't fit.
    """
    found = windows(check_axes(node, len(sizes), kernel), sizes, kernel)
    for size, pads, width, dilation in zip(sizes, found.pads, kernel, found.dilations, strict=True):
        if size + sum(pads) < extent(width, dilation):
            raise InvalidModel(f"{node!r}: a window of {extent(width, dilation)} over {size} elements")
    return found


def window_dims(view: Windows) -> list[WindowDim]:
    """As HLO has them, for which the padding behind says how many places there are."""
    axes = zip(view.kernel, view.strides, view.before, view.behind, view.dilations, strict=True)
    return [WindowDim(kernel, stride, low, high, 1, dilation) for kernel, stride, low, high, dilation in axes]
