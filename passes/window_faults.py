"""Faults of windows that slide over images: of their lists, and of weights and columns that aren't theirs."""

from __future__ import annotations

import math

from .graph import Node
from .operand_faults import differ, known_shape
from .types import Dim

_WEIGHTS = {"Conv": 1, "ConvInteger": 1, "ConvTranspose": 1, "DeformConv": 1, "QLinearConv": 3}
"""Operators whose attribute kernel_shape is that of weights: which input."""
WINDOWS = frozenset((*_WEIGHTS, "AveragePool", "Col2Im", "LpPool", "MaxPool", "MaxUnpool"))
"""Operators of windows."""
_MOST_PLACES = 1 << 31
"""More than any kernel has, and than any window is moved by: work on windows makes arrays of all places in one, and
targets count them in 64 bits."""
_PER_AXIS = {"kernel_shape": 1, "strides": 1, "dilations": 1, "output_padding": 1, "output_shape": 1, "pads": 2}
"""Lists of windows: how many entries each axis has behind those of images and channels."""
_MAY_BE_NONE = ("output_padding", "output_shape", "pads")
"""Those of them that may be 0; others are 1 at least. ONNX Runtime loads no model with less."""


def window_fault(node: Node) -> str:
    """Why an operator of windows can't be given them, to be read behind its name; "" where it may be."""
    if node.op_type == "Col2Im":
        return _columns_fault(node)
    fault = (_kernel_fault(node) if node.op_type in _WEIGHTS else "") or _lists_fault(node)
    return fault or (_offsets_fault(node) if node.op_type == "DeformConv" else "")


def _lists_fault(node: Node) -> str:
    """Why lists of windows aren't those of an input of this rank."""
    shape = known_shape(node, 0)
    if shape is None:
        return ""
    if len(shape) < 2:
        return f": windows over a tensor of rank {len(shape)}"
    for name, entries in _PER_AXIS.items():
        listed, wanted = node.attributes.get(name), entries * (len(shape) - 2)
        if not isinstance(listed, list | tuple):
            continue
        if len(listed) != wanted:
            return f": {name} has {len(listed)} entries; {wanted} are needed"
        if any(abs(entry) >= _MOST_PLACES for entry in listed):
            return f": {name} is {list(listed)!s:.100}, beyond any window"
        if any(entry < (0 if name in _MAY_BE_NONE else 1) for entry in listed):
            return f": {name} is {list(listed)!s:.100}, which no window has"
    kernel = node.attributes.get("kernel_shape")
    if isinstance(kernel, list | tuple) and math.prod(kernel) >= _MOST_PLACES:
        return f": a kernel of {math.prod(kernel)} places"
    return ""


def _columns_fault(node: Node) -> str:
    """Why lists of windows aren't those of an image of so many axes."""
    counts: dict[str, Dim | float] = {
        f"input {index}": shape[0] for index in (1, 2) if (shape := known_shape(node, index))
    }
    for name, entries in _PER_AXIS.items():
        listed = node.attributes.get(name)
        if isinstance(listed, list | tuple) and listed:
            counts[name] = len(listed) / entries
    known = {name: count for name, count in counts.items() if isinstance(count, int | float)}
    if len(set(known.values())) < 2:
        return ""
    return f": {' and '.join(known)} aren't of one image"


def _kernel_fault(node: Node) -> str:
    """Why a convolution's weights go with its attributes or with its input in no way."""
    shape, known = known_shape(node, 0), known_shape(node, _WEIGHTS[node.op_type])
    kernel, groups = node.attributes.get("kernel_shape"), node.attributes.get("group", 1)
    if known is None:
        return ""
    if len(known) < 2:
        return f": weights of rank {len(known)}"
    if isinstance(kernel, list | tuple) and (len(kernel) != len(known[2:]) or any(map(differ, kernel, known[2:]))):
        return f": kernel_shape is {list(kernel)}, its weights' is {list(known[2:])}"
    if shape is not None and len(shape) != len(known):
        return f": weights of rank {len(known)} for an input of rank {len(shape)}"
    if shape is None or len(shape) < 2 or not isinstance(groups, int):
        return ""
    taken = known[0]
    if node.op_type != "ConvTranspose":
        taken = known[1] * groups if isinstance(known[1], int) else None
    if differ(shape[1], taken):
        return f": its input has {shape[1]} channels, its weights are for {taken}"
    if isinstance(known[0], int) and (groups < 1 or known[0] % groups):
        return f": weights of {known[0]} channels are no {groups} groups"
    return ""


def _offsets_fault(node: Node) -> str:
    """Why a DeformConv's offsets aren't one for each axis of each place in its kernel, or its mask not one for each."""
    weights, kernel = known_shape(node, 1), node.attributes.get("kernel_shape")
    groups = node.attributes.get("offset_group", 1)
    listed = kernel if isinstance(kernel, list | tuple) and kernel else None if weights is None else weights[2:]
    sizes = [size for size in listed or () if isinstance(size, int)]
    if listed is None or len(sizes) < len(listed) or not isinstance(groups, int):
        return ""
    places = math.prod(sizes) * groups
    for what, index, wanted in (("offsets", 2, places * len(sizes)), ("mask", 4, places)):
        shape = known_shape(node, index)
        if shape is not None and (len(shape) < 2 or differ(shape[1], wanted)):
            return f": {what} of the shape {list(shape)}, which must have {wanted} channels"
    return ""
