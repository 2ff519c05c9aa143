"""Hub -> HLO: windows of convolutions and pools: kernels, strides, dilations, and the pads that ONNX means."""

from __future__ import annotations

from dataclasses import dataclass

from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ..text.tree import WindowDim
from .tools import word


@dataclass(frozen=True, slots=True)
class Axis:
    """A window along one axis of `size` elements; `out` how many places it has."""

    size: int
    kernel: int
    stride: int
    dilation: int
    low: int
    high: int
    out: int

    @property
    def reach(self) -> int:
        return (self.kernel - 1) * self.dilation + 1

    @property
    def window(self) -> WindowDim:
        """As HLO has it: with so much padding behind that it has `out` places."""
        high = self.high
        if (self.size + self.low + high - self.reach) // self.stride + 1 != self.out:
            high = (self.out - 1) * self.stride + self.reach - self.size - self.low
        return WindowDim(self.kernel, self.stride, self.low, high, 1, self.dilation)


def listed(node: Node, name: str, count: int, default: int) -> list[int]:
    """An attribute with an entry for each spatial axis."""
    found = list(node.attributes.get(name) or [default] * count)
    if len(found) != count:
        raise InvalidModel(f"{node!r}: {name} has {len(found)} entries for {count} axes")
    return found


def windows(node: Node, sizes: list[int], kernel: list[int]) -> list[Axis]:
    """The windows over spatial axes of these sizes; `ceil_mode` adds none that begins behind the elements."""
    count = len(sizes)
    if len(kernel) != count:
        raise InvalidModel(f"{node!r}: a kernel of {len(kernel)} axes over {count}")
    strides, dilations = listed(node, "strides", count, 1), listed(node, "dilations", count, 1)
    pads = listed(node, "pads", 2 * count, 0)
    ceil = bool(node.attributes.get("ceil_mode", 0))
    found = []
    for at, (size, width, stride, dilation) in enumerate(zip(sizes, kernel, strides, dilations, strict=True)):
        reach = (width - 1) * dilation + 1
        low, high = pads[at], pads[at + count]
        mode = word(node, "auto_pad", "NOTSET")
        if mode == "VALID":
            low = high = 0
        if mode.startswith("SAME"):
            out = -(-size // stride)
            total = max((out - 1) * stride + reach - size, 0)
            low = total // 2 if mode == "SAME_UPPER" else total - total // 2
            found.append(Axis(size, width, stride, dilation, low, total - low, out))
            continue
        room = size + low + high - reach
        if room < 0:
            raise InvalidModel(f"{node!r}: a window of {reach} over {size} elements")
        out = (-(-room // stride) if ceil else room // stride) + 1
        if ceil and (out - 1) * stride >= size + low:
            out -= 1
        found.append(Axis(size, width, stride, dilation, low, high, out))
    return found
