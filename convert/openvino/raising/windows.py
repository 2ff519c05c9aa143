"""What convolutions and pooling share: windows that slide over an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from .support import choice, rank_of

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
