"""Faults of operands that are multiplied with each other, whose sizes ONNX's own inference doesn't compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .equations import axis_names, ellipsis_extent
from .graph import Node
from .types import Dim

_AXES: Mapping[tuple[str, str], Mapping[int, str]] = {
    ("", "AffineGrid"): {0: "images . ."},
    ("", "CausalConvWithState"): {
        0: "batch channels length",
        1: "channels 1 kernel",
        2: "channels",
        3: "batch channels past",
    },
    ("", "LinearAttention"): {
        0: "batch steps .",
        1: "batch steps .",
        2: "batch steps .",
        3: "batch . . .",
        4: "batch steps .",
        5: "batch steps .",
    },
    ("", "MaxRoiPool"): {0: "images channels height width", 1: "boxes 5"},
    ("", "NonMaxSuppression"): {0: "batch boxes 4", 1: "batch classes boxes"},
    ("", "RoiAlign"): {0: "images channels height width", 1: "boxes 4", 2: "boxes"},
    ("ai.onnx.preview", "FlexAttention"): {
        0: "batch heads queries width",
        1: "batch shared keys width",
        2: "batch shared keys depth",
    },
}
"""What the axes of an operator's inputs are: a number is a size, and those of one name are of one size."""
_ATTENTION: Mapping[int, Mapping[int, str]] = {
    3: {
        0: "batch queries .",
        1: "batch keys .",
        2: "batch keys .",
        4: "batch shared past .",
        5: "batch shared past .",
        6: "batch",
    },
    4: {
        0: "batch heads queries width",
        1: "batch shared keys width",
        2: "batch shared keys depth",
        4: "batch shared past width",
        5: "batch shared past depth",
        6: "batch",
    },
}
"""Of Attention, by the rank of its queries: features of all heads stand behind each other in rank 3."""
_OF_CHANNELS: Mapping[tuple[str, str], tuple[int, Sequence[int]]] = {
    ("", "BatchNormalization"): (9, (1, 2, 3, 4)),
    ("", "InstanceNormalization"): (1, (1, 2)),
}
"""Operators, from which version on, and their inputs that have a value for each channel."""
_HEADS = ("q_num_heads", "kv_num_heads", "kv_num_heads")


def operand_fault(node: Node) -> str:
    """Why tensors of these shapes aren't an operator's operands, to be read behind its name; "" where some may be."""
    if node.op == ("", "Einsum"):
        return _einsum_fault(node)
    if node.op == ("", "Attention"):
        return _attention_fault(node)
    if node.op == ("", "RotaryEmbedding"):
        return _rotary_fault(node)
    if node.op in _OF_CHANNELS:
        return _channels_fault(node)
    axes = _AXES.get(node.op)
    if axes is None:
        return ""
    counts = zip(("heads", "shared"), (node.attributes.get(name) for name in _HEADS), strict=False)
    sizes = {name: count for name, count in counts if isinstance(count, int)}
    return _axes_fault(node, axes, sizes) or _groups_fault(sizes)


def known_shape(node: Node, index: int) -> tuple[Dim, ...] | None:
    """The shape of an input, None where it is left out or isn't known."""
    value = node.input(index)
    shape = None if value is None else value.tensor.shape
    return None if shape is None else tuple(shape)


def differ(one: Dim, other: Dim) -> bool:
    """Whether two sizes are known, and not the same."""
    return isinstance(one, int) and isinstance(other, int) and one != other


def _axes_fault(node: Node, axes: Mapping[int, str], sizes: dict[str, int]) -> str:
    """Why inputs aren't of these axes; `sizes` takes up the sizes by name, and may hold some."""
    for index, text in axes.items():
        shape, names = known_shape(node, index), text.split()
        if shape is None:
            continue
        if len(shape) != len(names):
            return f": input {index} is of rank {len(shape)}; it must be of rank {len(names)}"
        for axis, (name, size) in enumerate(zip(names, shape, strict=True)):
            if name == "." or not isinstance(size, int):
                continue
            known = int(name) if name.isdigit() else sizes.setdefault(name, size)
            if size != known:
                return f": axis {axis} of input {index} is {size}, which must be {known}"
    return ""


def _groups_fault(sizes: Mapping[str, int]) -> str:
    """Why heads of queries don't share those of keys."""
    heads, shared = sizes.get("heads"), sizes.get("shared")
    if heads is None or shared is None or (heads % shared == 0 if shared else not heads):
        return ""
    return f": {heads} heads of queries can't share {shared} of keys"


def _channels_fault(node: Node) -> str:
    """Why there isn't a value for each channel. Versions before 9 of BatchNormalization may have one for each place."""
    first, indices = _OF_CHANNELS[node.op]
    shape = known_shape(node, 0)
    if shape is None or node.version < first:
        return ""
    channels = shape[1] if len(shape) > 1 else 1
    for index in indices:
        found = known_shape(node, index)
        if found is not None and (len(found) != 1 or differ(found[0], channels)):
            return f": input {index} is of the shape {list(found)}, for {channels} channels"
    return ""


def _attention_fault(node: Node) -> str:
    """Why the operands of an Attention don't fit one another or its numbers of heads."""
    if (node.input(4) is None) != (node.input(5) is None):
        return ": past keys without past values, or these without those"
    query = known_shape(node, 0)
    if query is None:
        return ""
    axes = _ATTENTION.get(len(query))
    if axes is None:
        return f": input 0 is of rank {len(query)}; it must be of rank 3 or 4"
    counts = [node.attributes.get(name) for name in _HEADS]
    sizes: dict[str, int] = {}
    for name, count in zip(("heads", "shared"), counts, strict=False):
        if isinstance(count, int) and count > 0:
            sizes[name] = count
        elif len(query) == 3 or count is not None:
            return f": {count} heads, of inputs of rank {len(query)}"
    fault = _axes_fault(node, axes, sizes) or _groups_fault(sizes) or _mask_fault(node, sizes)
    if fault or len(query) == 4:
        return fault
    features = [shape[2] if (shape := known_shape(node, index)) else None for index in range(3)]
    widths = list(_widths(features, counts))
    for index, (count, size) in enumerate(zip(counts, features, strict=True)):
        if isinstance(count, int) and isinstance(size, int) and size % count:
            return f": input {index} has {size} features, which aren't {count} heads"
    if None not in widths[:2] and widths[0] != widths[1]:
        return f": heads of {widths[0]} features in queries, and of {widths[1]} in keys"
    return ""


def _mask_fault(node: Node, sizes: Mapping[str, int]) -> str:
    """Why a mask isn't laid over the scores of an Attention, whose keys are along its last axis."""
    mask = known_shape(node, 3)
    if mask is None:
        return ""
    if not mask:
        return ": a mask that is a scalar has no axis of keys"
    for axis, name in zip((-2, -3, -4), ("queries", "heads", "batch"), strict=True):
        size, known = mask[axis] if len(mask) >= -axis else 1, sizes.get(name, 1)
        if isinstance(size, int) and 1 not in (size, known) and size != known:
            return f": axis {axis} of its mask is {size}, and there are {known} {name}"
    return ""


def _widths(features: Sequence[Dim], counts: Sequence[object]) -> Iterator[int | None]:
    """The features of each head."""
    for size, count in zip(features, counts, strict=True):
        yield size // count if isinstance(size, int) and isinstance(count, int) else None


def _rotary_fault(node: Node) -> str:
    """Why the features of a RotaryEmbedding aren't heads that its caches turn, half of whose turned features are along
    their last axis."""
    shape, count = known_shape(node, 0), node.attributes.get("num_heads")
    if shape is None:
        return ""
    if len(shape) not in (3, 4):
        return f": input 0 is of rank {len(shape)}; it must be of rank 3 or 4"
    width = shape[-1]
    if len(shape) == 3:
        if not isinstance(count, int) or count < 1:
            return f": {count or 0} heads, of an input of rank 3"
        if isinstance(width, int):
            if width % count:
                return f": input 0 has {width} features, which aren't {count} heads"
            width //= count
    turned = node.attributes.get("rotary_embedding_dim") or width  # 0: all of them
    if not isinstance(turned, int):
        return ""
    if turned % 2 or (isinstance(width, int) and turned > width):
        return f": {turned} features of {width} of a head can't be turned"
    places = ". half" if node.input(3) is not None else ". . half"
    return _axes_fault(node, {1: places, 2: places, 3: ". ."}, {"half": turned // 2})


def _einsum_fault(node: Node) -> str:
    """Why an Einsum's operands aren't what its equation says. Sizes of 1 are broadcast, but not in one operand."""
    equation = node.attributes.get("equation")
    if not isinstance(equation, str):
        return ""
    sizes: dict[str, int] = {}
    for index, text in enumerate(equation.replace(" ", "").partition("->")[0].split(",")):
        shape = known_shape(node, index) if index < len(node.formal_inputs) else None
        if shape is None:
            continue
        extent = ellipsis_extent(text, len(shape))
        if extent is None:
            return f": {text!r:.40} labels input {index}, which is of rank {len(shape)}"
        own: dict[str, int] = {}
        for name, size in zip(axis_names(text, extent), shape, strict=True):
            if isinstance(size, int) and own.setdefault(name, size) != size:
                return f": {name!r} is of {own[name]} and of {size} elements in input {index}"
        for name, size in own.items():
            known = sizes.get(name, 1)
            if 1 not in (known, size) and known != size:
                return f": axes of {known} and of {size} elements are named {name!r}"
            sizes[name] = size if known == 1 else known
    return ""
