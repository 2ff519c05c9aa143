"""Hub -> HLO: Resize to the nearest element, and linear between two; every place and weight is known beforehand.

What else there is goes by what Resize is made of where older opsets lack it.
"""

from __future__ import annotations

import math

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, required
from ....passes.rewrite import Builder, collect, rule
from .tools import array_of, broadcast, constant, convert, ints_of, pick, sizes_of, wide, word

_ROUNDED = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
_CUT = "tf_crop_and_resize"


def _coordinates(mode: str, size: int, out: int, scale: float) -> np.ndarray:
    """Where each element of the result lies among `size` elements."""
    at = np.arange(out, dtype=np.float64)
    match mode:
        case "asymmetric":
            return at / scale
        case "align_corners":
            return at * (size - 1) / (scale * size - 1) if out > 1 else at * 0
        case "pytorch_half_pixel" if out == 1:
            return at * 0
        case "half_pixel_symmetric":
            return size / 2 * (1 - out / (scale * size)) + (at + 0.5) / scale - 0.5
    return (at + 0.5) / scale - 0.5


def _scales(node: Node, have: tuple[int, ...]) -> dict[int, tuple[int, float]]:
    """New size and scale of each axis that is resized."""
    rank = len(have)
    axes = [axis_of(node, axis, rank) for axis in node.attributes.get("axes") or range(rank)]
    scales, sizes = array_of(node, 2, "scales"), ints_of(node, 3, "sizes")
    if scales is not None and scales.size:
        factors = [float(item) for item in scales.reshape(-1)]
        found = [(math.floor(have[axis] * factor), factor) for axis, factor in zip(axes, factors, strict=True)]
    elif sizes is not None:
        policy = word(node, "keep_aspect_ratio_policy", "stretch")
        ratios = [size / have[axis] for axis, size in zip(axes, sizes, strict=True)]
        if policy == "stretch":
            found = list(zip(sizes, ratios, strict=True))
        else:
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            found = [(math.floor(ratio * have[axis] + 0.5), ratio) for axis in axes]
    else:
        raise InvalidModel(f"{node!r}: it has neither scales nor sizes")
    return dict(zip(axes, found, strict=True))


@rule("", "Resize")
def resize(op: Builder, node: Node) -> Value | None:
    """Axis by axis."""
    x = required(node, 0)
    mode, coordinates = word(node, "mode", "nearest"), word(node, "coordinate_transformation_mode", "half_pixel")
    if any(value is not None and value.data is None for value in node.inputs[2:]):
        return None
    if mode not in ("nearest", "linear") or coordinates == _CUT or flag(node, "antialias"):
        return None
    dtype, have = dtype_of(node, x), sizes_of(node, x)
    resized = {axis: new for axis, new in _scales(node, have).items() if new != (have[axis], 1.0)}
    if any(0 in (have[axis], out) for axis, (out, _) in resized.items()):
        return None
    if mode == "nearest":
        rounded = _ROUNDED[word(node, "nearest_mode", "round_prefer_floor")]
        for axis, (out, scale) in resized.items():
            places = rounded(_coordinates(coordinates, have[axis], out, scale)).clip(0, have[axis] - 1)
            x = pick(op, node, x, axis, places.astype(np.int64).tolist())
        return x
    x = convert(op, x, wide(dtype))
    for axis, (out, scale) in resized.items():
        x = _between(op, node, x, axis, _coordinates(coordinates, have[axis], out, scale))
    return convert(op, x, dtype)


def _between(op: Builder, node: Node, x: Value, axis: int, places: np.ndarray) -> Value:
    """Each element between its two neighbours, by its distance from them."""
    have, dtype = sizes_of(node, x), dtype_of(node, x)
    places = places.clip(0, have[axis] - 1)
    first = np.floor(places)
    share = places - first
    before = pick(op, node, x, axis, first.astype(np.int64).tolist())
    if not share.any():
        return before
    behind = pick(op, node, x, axis, (first + 1).clip(0, have[axis] - 1).astype(np.int64).tolist())
    shape = sizes_of(node, before)
    weights = [broadcast(op, constant(op, w.astype(dtype.numpy), dtype), shape, (axis,)) for w in (1 - share, share)]
    return op.add(op.multiply(before, weights[0]), op.multiply(behind, weights[1]))


RULES = collect(globals())
