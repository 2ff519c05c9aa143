"""What convolutions and pooling share: windows that slide over an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.build import shape_of
from ....passes.build.values import pad
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import rank_of
from ....passes.rewrite import Builder
from .support import choice

AUTO_PAD = {
    "explicit": "NOTSET",
    "notset": "NOTSET",
    "same_upper": "SAME_UPPER",
    "same_lower": "SAME_LOWER",
    "valid": "VALID",
}


def numbers(node: Node, name: str, default: int, count: int) -> list[int]:
    """A list attribute, one entry for each spatial axis."""
    found = [int(item) for item in node.attributes.get(name) or []]
    if found and len(found) != count:
        raise InvalidModel(f"{node!r}: {name} has {len(found)} entries for {count} axes")
    return found if found else [default] * count


def spatial(node: Node, x: Value) -> int:
    """The number of spatial axes."""
    rank = rank_of(node, x)
    if rank < 3:
        raise InvalidModel(f"{node!r}: an image of {rank} dimensions")
    return rank - 2


def window(node: Node, count: int, *names: str) -> dict[str, Any]:
    """The attributes that all sliding windows share, as ONNX has them."""
    auto = choice(node, "auto_pad", "explicit", AUTO_PAD)
    made: dict[str, Any] = {name: numbers(node, name, 1, count) for name in names}
    if auto == "NOTSET":
        made["pads"] = numbers(node, "pads_begin", 0, count) + numbers(node, "pads_end", 0, count)
    else:
        made["auto_pad"] = auto
    return made


def reach(window: dict[str, Any], kernel: Sequence[int]) -> list[int]:
    """How many pixels a dilated window spans along each axis."""
    dilations = window.get("dilations") or [1] * len(kernel)
    return [(width - 1) * dilation + 1 for width, dilation in zip(kernel, dilations, strict=True)]


def same_pads(window: dict[str, Any], extents: Sequence[int], kernel: Sequence[int]) -> list[int]:
    """The pads that `auto_pad` means with SAME_UPPER or SAME_LOWER, before each axis and then behind each."""
    total = [
        max((-(-extent // stride) - 1) * stride + span - extent, 0)
        for extent, stride, span in zip(extents, window["strides"], reach(window, kernel), strict=True)
    ]
    less, more = [item // 2 for item in total], [item - item // 2 for item in total]
    return less + more if window["auto_pad"] == "SAME_UPPER" else more + less


def is_same(window: dict[str, Any]) -> bool:
    """Whether the pads follow from the sizes of the image."""
    return str(window.get("auto_pad", "")).startswith("SAME")


def resolved(window: dict[str, Any], extents: Sequence[int] | None, kernel: Sequence[int] | None) -> dict[str, Any]:
    """A window with pads in numbers where `auto_pad` meets dilations, which ONNX Runtime doesn't take together."""
    if not is_same(window) or extents is None or kernel is None or max(window["dilations"]) == 1:
        return window
    return unpadded(window) | {"pads": same_pads(window, extents, kernel)}


def unpadded(window: dict[str, Any]) -> dict[str, Any]:
    """The same window without pads."""
    return {name: item for name, item in window.items() if name not in ("pads", "auto_pad")}


def around(op: Builder, x: Value, window: dict[str, Any], kernel: Sequence[int]) -> Value:
    """An image of unknown sizes with the zeros around it that `auto_pad` means with SAME_UPPER or SAME_LOWER."""
    step, extents = np.array(window["strides"]), shape_of(op, x, 2)
    needed = ((extents + (step - 1)) // step - 1) * step + np.array(reach(window, kernel))
    total = (needed - extents).maximum(0)
    less = total // 2
    before, behind = (less, total - less) if window["auto_pad"] == "SAME_UPPER" else (total - less, less)
    return pad(op, x, [0, 0, before], [0, 0, behind], 0)
