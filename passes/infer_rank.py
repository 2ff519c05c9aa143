"""The rank of a result that ONNX's inference says nothing of, or of whose sizes not even how many there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .core import REDUCTIONS
from .graph import Node
from .schema_check import LISTS_SIZES
from .types import TensorType, Type, merge

Rank = Callable[[Node], int | None]


def with_rank(node: Node, types: Sequence[Type | None]) -> Sequence[Type | None]:
    """The types that were found: the first, of a Split all, has the rank that the operator gives it."""
    tell = _RANKS.get(node.op_type) if not node.domain else None
    count = len(types) if node.op_type == "Split" else 1
    if tell is None or not any(_is_open(found) for found in types[:count]):
        return types
    rank = tell(node)
    return types if rank is None else [*(_of_rank(found, rank) for found in types[:count]), *types[count:]]


def _is_open(found: Type | None) -> bool:
    return isinstance(found, TensorType) and found.shape is None


def _of_rank(found: Type | None, rank: int) -> Type | None:
    return merge(found, TensorType(None, (None,) * rank)) if _is_open(found) else found


def _rank(node: Node, index: int) -> int | None:
    value = node.input(index)
    return None if value is None else value.rank


def _items(node: Node, index: int) -> int | None:
    """How many elements a vector has."""
    value = node.input(index)
    shape = None if value is None else value.tensor.shape
    return shape[0] if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else None


def _always(rank: int) -> Rank:
    return lambda node: rank


def _of_data(node: Node) -> int | None:
    return _rank(node, 0)


def _compressed(node: Node) -> int | None:
    return _rank(node, 0) if "axis" in node.attributes else 1


def _of_image(node: Node) -> int | None:
    """Of the images as of the filters."""
    weights = 3 if node.op_type == "QLinearConv" else 1
    return _rank(node, weights) if _rank(node, 0) is None else _rank(node, 0)


def _listed(node: Node) -> int | None:
    """As many axes as sizes are listed; an Expand has those of its data, too."""
    count = _items(node, LISTS_SIZES[node.op_type])
    if count is None or node.op_type != "Expand":
        return count
    rank = _rank(node, 0)
    return None if rank is None else max(rank, count)


def _squeezed(node: Node) -> int | None:
    """Several axes may be one."""
    rank = _rank(node, 0)
    return rank - 1 if rank and _items(node, 1) == 1 else None


def _unsqueezed(node: Node) -> int | None:
    rank, count = _rank(node, 0), _items(node, 1)
    return None if rank is None or count is None else rank + count


def _reduced(node: Node) -> int | None:
    return _rank(node, 0) if node.attributes.get("keepdims", 1) else _squeezed(node)


_RANKS: Mapping[str, Rank] = {
    **dict.fromkeys(("ConstantOfShape", "Expand", "Reshape"), _listed),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), _always(1)),
    "MelWeightMatrix": _always(2),
    "STFT": _always(4),  # complex numbers of frames of signals
    **dict.fromkeys(
        ("BatchNormalization", "CenterCropPad", "Concat", "GlobalLpPool", "InstanceNormalization"), _of_data
    ),
    **dict.fromkeys(("LpPool", "MaxUnpool", "Pad", "Resize", "Split", "Upsample"), _of_data),
    "Compress": _compressed,
    **dict.fromkeys(("Conv", "ConvInteger", "ConvTranspose", "DeformConv", "QLinearConv"), _of_image),
    **dict.fromkeys(REDUCTIONS, _reduced),
    "Squeeze": _squeezed,
    "Unsqueeze": _unsqueezed,
}
