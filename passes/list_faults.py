"""Faults of lists that operators are given: of their lengths, and of sizes that a constant says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .constants import small_constant
from .graph import Node

_LEAST: Mapping[str, Mapping[int, int]] = {
    "AffineGrid": {1: 0},
    "Col2Im": {1: 0, 2: 0},
    "ConstantOfShape": {0: 0},
    "Expand": {1: 0},
    "MaxUnpool": {2: 0},
    "Reshape": {1: -1},
    "Resize": {3: 0},
    "STFT": {1: 1, 3: 1},
    "Tile": {1: 0},
    "TopK": {1: 0},
}
"""Inputs that are sizes, and the least that one may be. CenterCropPad isn't among these: below 0, ONNX Runtime cuts off
everything."""
_ALIKE: Mapping[str, Sequence[int]] = {"Slice": (1, 2, 3, 4)}
"""Inputs that are lists of one length: as many as there are axes to go along."""
_SINGLE: Mapping[str, Sequence[int]] = {
    "Clip": (1, 2),
    "CumSum": (1,),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1,),
    "TopK": (1,),
    "Trilu": (1,),
}
"""Inputs that are one number, be it a scalar or a list of one."""
_CROP = "tf_crop_and_resize"


def list_fault(node: Node) -> str:
    """Why an operator can't be given its lists, to be read behind its name; "" where it may be."""
    if node.domain:
        return ""
    lengths = {index: length for index in _ALIKE.get(node.op_type, ()) if (length := _length(node, index)) is not None}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{length} in input {index}" for index, length in lengths.items())
        return f": it has as many entries in each list, and here {told}"
    for index in _SINGLE.get(node.op_type, ()):
        count = _length(node, index)
        if count not in (None, 1):
            return f": input {index} has {count} entries; it is one number"
    return _roi_fault(node) or _sizes_fault(node) or _affine_fault(node)


def _length(node: Node, index: int) -> int | None:
    value = node.input(index)
    shape = None if value is None else value.tensor.static_shape
    return None if shape is None else math.prod(shape)


def _sizes_fault(node: Node) -> str:
    for index, least in _LEAST.get(node.op_type, {}).items():
        data = small_constant(node.input(index))
        if data is None or not data.dtype.is_integer:
            continue
        sizes = data.numpy().ravel().tolist()
        if min(sizes, default=least) < least or sizes.count(-1) > 1:  # of Reshape's, one follows from the others
            return f": input {index} is {sizes!s:.100}, which are no sizes"
    return ""


def _affine_fault(node: Node) -> str:
    """Why there are no affine matrices of an image or a volume, or sizes of something else."""
    theta = node.input(0)
    if node.op_type != "AffineGrid" or theta is None:
        return ""
    shape, length = theta.tensor.shape, _length(node, 1)
    _, rows, columns = shape if shape is not None and len(shape) == 3 else (None, None, None)
    told = [(rows, 0), (columns, 1), (length, 2)]
    axes = {size - more for size, more in told if isinstance(size, int)}
    if len(axes) > 1 or not axes <= {2, 3}:
        return f": {length} sizes and matrices of {rows} by {columns}, which aren't 4 and 2 by 3, or 5 and 3 by 4"
    return ""


def _roi_fault(node: Node) -> str:
    """Why a part of an image has no beginning and end along each axis that is resized."""
    if node.op_type != "Resize" or node.attributes.get("coordinate_transformation_mode") not in (_CROP, _CROP.encode()):
        return ""
    count, length = resized_axes(node), _length(node, 1)
    if count is None or length in (None, 2 * count):
        return ""
    return f": a part of an image of {length} entries; {2 * count} are needed"


def resized_axes(node: Node) -> int | None:
    """How many axes a Resize goes along; None where the rank isn't known."""
    data, axes = node.input(0), node.attributes.get("axes")
    return len(axes) if isinstance(axes, list | tuple) and axes else None if data is None else data.rank
