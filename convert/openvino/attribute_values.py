"""Which values attributes of OpenVINO's layers may have, as far as OpenVINO itself demands it."""

from __future__ import annotations

from collections.abc import Mapping

from ...passes.graph import Node
from ...passes.words import words

_WINDOWS = words(
    "AvgPool BinaryConvolution Convolution ConvolutionBackpropData DeformableConvolution GroupConvolution "
    "GroupConvolutionBackpropData MaxPool"
)
_POSITIVE: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_WINDOWS, ("kernel", "strides", "dilations")),
    "Col2Im": ("strides", "dilations"),
    "DeformableConvolution": ("strides", "dilations", "group", "deformable_group"),
    "DepthToSpace": ("block_size",),
    "ExtractImagePatches": ("sizes", "strides", "rates"),
    "GroupNormalization": ("num_groups",),
    "LRN": ("size",),
    "PSROIPooling": ("spatial_scale",),
    "ROIPooling": ("output_roi", "output_size", "spatial_scale"),
    "SpaceToDepth": ("block_size",),
    "Split": ("num_splits",),
}
"""Attributes that are above 0, or have entries above 0."""
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "AvgPool": ("kernel", "strides"),
    "DepthToSpace": ("block_size",),
    "MaxPool": ("kernel", "strides"),
    "PSROIPooling": ("spatial_scale",),
    "ROIPooling": ("spatial_scale",),
    "SpaceToDepth": ("block_size",),
    "Split": ("num_splits",),
}
"""Attributes that no layer goes without."""
_NOT_NEGATIVE: Mapping[str, tuple[str, ...]] = {"Interpolate": ("pads_begin", "pads_end")}
_RECURRENT: Mapping[str, int] = {
    **dict.fromkeys(("GRUCell", "RNNCell"), 3),
    **dict.fromkeys(("GRUSequence", "LSTMCell", "RNNSequence"), 4),
    "LSTMSequence": 5,
}
"""Recurrent layers, and which input has the weights of the state."""
_WEIGHTS: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("BinaryConvolution", "Convolution", "ConvolutionBackpropData"), (1, 0)),
    **dict.fromkeys(("GroupConvolution", "GroupConvolutionBackpropData"), (1, 1)),
    "DeformableConvolution": (2, 0),
}
"""Convolutions: which input has the weights, and how many more axes these have than the image."""
_PER_AXIS = ("kernel", "strides", "dilations", "pads_begin", "pads_end", "output_padding")
"""Lists of windows that have an entry for each axis of an image."""
_MASKS = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
_SENSES: Mapping[str, frozenset[str]] = {
    "auto_broadcast": frozenset(("none", "explicit", "numpy", "pdpd")),
    "direction": frozenset(("bidirectional", "forward", "reverse")),
    "weights_format": frozenset(("fico", "icof", "ifco", "ifoc", "iofc")),
}
"""Attributes that are one of some words in every layer."""


def wrong_attribute(node: Node) -> str:
    """What is wrong with an attribute of a layer; "" where nothing is."""
    given = node.attributes
    for name in _NEEDED.get(node.op_type, ()):
        if given.get(name) in (None, []):
            return f"it has no {name}"
    for name in _POSITIVE.get(node.op_type, ()):
        value = given.get(name, 1)
        if any(entry <= 0 for entry in (value if isinstance(value, list) else [value])):
            return f"its {name} is {value!s:.100}, which must be above 0"
    for name, senses in _SENSES.items():
        if name in given and str(given[name]).lower() not in senses:
            return f"its {name} is {given[name]!r:.40}"
    for name in _NOT_NEGATIVE.get(node.op_type, ()):
        if any(entry < 0 for entry in given.get(name) or ()):
            return f"its {name} is {given[name]!s:.100}, which must not be below 0"
    parts = given.get("num_splits") if node.op_type == "Split" else None
    if parts not in (None, len(node.outputs)):
        return f"its num_splits is {parts}, of {len(node.outputs)} outputs"
    return _wrong_window(node) or _wrong_mask(node) or _wrong_bounds(node) or _wrong_units(node)


def _wrong_window(node: Node) -> str:
    image = node.input(0) if node.op_type in _WINDOWS else None
    if image is None or image.rank is None:
        return ""
    index, more = _WEIGHTS.get(node.op_type, (0, 0))
    weights = node.input(index)
    if weights is not None and weights.rank not in (None, image.rank + more):
        return f"its weights are of rank {weights.rank}, for an image of rank {image.rank}"
    for name in _PER_AXIS:
        listed = node.attributes.get(name)
        if listed and len(listed) != image.rank - 2:
            return f"its {name} has {len(listed)} entries, for {image.rank - 2} axes of an image"
    axis = node.attributes.get("axis", 0) if node.op_type == "MaxPool" else 0
    return "" if -image.rank <= axis < image.rank else f"its axis is {axis}, of an image of rank {image.rank}"


def _wrong_mask(node: Node) -> str:
    if node.op_type != "StridedSlice":
        return ""
    masks = {name: node.attributes.get(name) or [] for name in _MASKS}
    for name, mask in masks.items():
        if any(entry not in (0, 1) for entry in mask):
            return f"its {name} is {mask!s:.100}, whose entries must be 0 or 1"
    lengths = {name: len(mask) for name, mask in masks.items() if mask or name == "begin_mask"}
    return f"its masks have unlike lengths: {lengths}" if len(set(lengths.values())) > 1 else ""


def _wrong_bounds(node: Node) -> str:
    low, high = node.attributes.get("min"), node.attributes.get("max")
    if node.op_type != "Clamp" or low is None or high is None or not low > high:
        return ""
    return f"its min is {low}, and its max {high}"


def _wrong_units(node: Node) -> str:
    """Why the weights of a recurrent layer are those of other units or directions."""
    index = _RECURRENT.get(node.op_type)
    if index is None:
        return ""
    units = node.attributes.get("hidden_size")
    weights = node.input(index)
    shape = None if weights is None else weights.tensor.shape
    if shape and isinstance(shape[-1], int) and units not in (None, shape[-1]):
        return f"its hidden_size is {units}, its weights are for {shape[-1]}"
    if not node.op_type.endswith("Sequence") or not shape or not isinstance(shape[0], int):
        return ""
    count = 2 if str(node.attributes.get("direction", "forward")).lower() == "bidirectional" else 1
    return "" if shape[0] == count else f"it goes in {count} directions, its weights in {shape[0]}"
