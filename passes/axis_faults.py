"""Axes that ONNX's operators name, by an attribute or by a constant, and that their tensor hasn't."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .constants import constant_array
from .graph import Node
from .limits import MOST_AXES

_OWN = frozenset(
    [
        *("ArgMax", "ArgMin", "Compress", "Concat", "Gather", "GatherElements", "Hardmax", "LayerNormalization"),
        *("LogSoftmax", "LpNormalization", "RMSNormalization", "Scatter", "ScatterElements", "Softmax", "Split"),
        *("SplitToSequence", "TensorScatter", "TopK", "Unique"),
    ]
)
"""Operators whose attribute axis is one of the first input's."""
_NO_SCALARS = frozenset(
    [
        *("Concat", "Gather", "GatherElements", "LayerNormalization", "RMSNormalization", "Scatter"),
        *("ScatterElements", "Split", "TopK"),
    ]
)
"""Those of them that no scalar is given, since they always go along an axis."""
_COERCING = frozenset(["Hardmax", "LogSoftmax", "Softmax"])
"""Those that before version 11 make a matrix whose second axis may be one of size 1 behind the last."""
_SECOND_BY_DEFAULT = {("Concat", 1), *((name, 11) for name in _COERCING)}
"""Versions whose axis is 1 by default."""
_LISTED = {"CumProd": 1, "CumSum": 1, "Pad": 3, "Slice": 3, "Squeeze": 1, "Unsqueeze": 1}
"""Inputs that name axes, beside those of reductions."""
_WITH_AXES = frozenset(["CenterCropPad", "MeanVarianceNormalization", "Resize", "Slice", "Squeeze", "Unsqueeze"])
"""Operators whose attribute axes names some, beside reductions."""
_ONCE = frozenset(["Pad", "Resize", "Slice", "Unsqueeze"])
"""Operators that name no axis twice: what they would do isn't said."""
_NAMING = _OWN | _WITH_AXES | _LISTED.keys() | {"DFT", "Flatten", "OneHot", "ReverseSequence"}


def axis_fault(node: Node) -> str:
    """Why axes aren't those of a tensor, to be read behind the node's name; "" where they are, or it isn't known."""
    is_asked = not node.domain and (node.op_type in _NAMING or node.op_type.startswith("Reduce"))
    data = node.input(0) if is_asked else None
    rank = None if data is None else data.rank
    if rank is None:
        return ""
    along_one = node.op_type in _NO_SCALARS or (node.op_type == "Compress" and "axis" in node.attributes)
    if along_one and not rank:
        return ": a scalar has no axis"
    if node.op_type == "ReverseSequence":
        return _sequence_fault(node)
    if node.op_type == "DFT":
        return _signal_fault(node, rank)
    for axes, count, behind in _named(node, rank):
        most = count + behind
        for axis in axes:
            if not -count <= axis < most:
                return f": axis {axis} of a tensor of rank {rank}"
        if node.op_type in _ONCE and len({axis % max(count, 1) for axis in axes}) < len(axes):
            return f": axes {axes} name one axis twice"
    return ""


def listed_axes(node: Node) -> Any:
    """The attribute axes, or those that MeanVarianceNormalization has by default; None where there are neither."""
    has_own = node.op_type == "MeanVarianceNormalization" and not node.attributes.get("across_channels")
    return node.attributes.get("axes", [0, 2, 3] if has_own else None)


def _named(node: Node, rank: int) -> Iterator[tuple[list[int], int, int]]:
    """The axes that are named, from how many axes on they are counted from the end, and how many more there may be."""
    name, along = node.op_type, max(rank, 1)  # what is declared as a scalar may have an axis all the same
    axis, axes = node.attributes.get("axis"), listed_axes(node)
    if axis is None and (name, node.version) in _SECOND_BY_DEFAULT:
        axis = 1
    if isinstance(axis, int):
        if name in _OWN:
            yield [axis], along, name in _COERCING and node.version < 11
        elif name == "Flatten":
            yield [axis], rank, 1
        elif name == "OneHot":
            yield [axis], rank + 1, 0
    reduces = name.startswith("Reduce")
    if isinstance(axes, list | tuple) and (reduces or name in _WITH_AXES):
        yield [*axes], rank + len(axes) if name == "Unsqueeze" else along, 0
    array = constant_array(node.input(1 if reduces else _LISTED[name])) if reduces or name in _LISTED else None
    if array is not None and array.dtype.kind in "iu" and array.size <= MOST_AXES:
        listed = array.reshape(-1).tolist()
        yield listed, rank + len(listed) if name == "Unsqueeze" else along, 0


def _signal_fault(node: Node, rank: int) -> str:
    """Why a DFT doesn't go along an axis: the last one, which counts real and imaginary parts, is none."""
    array = constant_array(node.input(2))
    axis = node.attributes.get("axis") if array is None else array.reshape(-1)[0].item() if array.size == 1 else None
    if not isinstance(axis, int) or (-rank <= axis < rank - 1 and axis != -1):
        return ""
    return f": axis {axis} of a tensor of rank {rank}, whose last one counts parts of numbers"


def _sequence_fault(node: Node) -> str:
    """Why the batch and the steps of a ReverseSequence aren't the first two axes."""
    batch, time = node.attributes.get("batch_axis", 1), node.attributes.get("time_axis", 0)
    if {batch, time} == {0, 1} or not isinstance(batch, int) or not isinstance(time, int):
        return ""
    return f": batch_axis is {batch} and time_axis {time}; one is 0, the other 1"
