"""Where the inference functions of ONNX's own operators are mistaken: what they are told, and what they tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .attention_sizes import last_sizes
from .equations import einsum_shape
from .graph import Node
from .preconditions import required
from .tensor import TensorData
from .types import Dim, DType, TensorType, Type
from .windows import sizes_of_pool

MISTAKEN_DEFAULTS = {("", "STFT"): {"onesided": 1}}
"""Defaults that an operator's inference function takes for other values than its schema says."""


def readable(node: Node, index: int, type: Type, data: TensorData | None) -> tuple[Type, TensorData | None]:
    """The type and the data of an input, if they are known, as an operator's inference function reads them."""
    if index == 3 and node.op == ("", "Resize"):  # sizes: where their number is open, it counts 0
        axes, sizes = node.attributes.get("axes"), required(node, 3).tensor
        count = len(axes) if isinstance(axes, list) else required(node, 0).rank
        if sizes.static_shape is None and count is not None:
            return TensorType(sizes.dtype, (count,)), data
    if index == 3 and node.op == ("", "Pad"):  # axes, which it reads as int64 alone
        wide = None if data is None else TensorData.of(data.numpy().astype(np.int64))
        return TensorType(DType.INT64, required(node, 3).tensor.shape), wide
    return type, data


def corrected(node: Node, types: Sequence[Type | None]) -> Sequence[Type | None]:
    """The types, with sizes that ONNX's inference doesn't see: a tensor without elements has none that isn't zero, a
    pool no window that would begin in the padding at the end, an Attention what its operands have."""
    if sizes := sizes_of_pool(node):
        return [_with_last(found, sizes[0]) for found in types]
    if node.op == ("", "Attention"):
        return [_with_last(found, last) for found, last in zip(types, last_sizes(node), strict=False)]
    if node.op == ("", "Einsum"):
        (found,) = types
        return [TensorType(found.dtype, einsum_shape(node))] if isinstance(found, TensorType) else types
    shape = node.inputs[0].tensor.shape if node.op == ("", "NonZero") and node.inputs[0] is not None else None
    if shape is None or 0 not in shape:
        return types
    return [TensorType(DType.INT64, (len(shape), 0))]


def _with_last(type: Type | None, sizes: tuple[Dim, ...]) -> Type | None:
    """The type with these sizes along its last axes."""
    if not isinstance(type, TensorType) or type.shape is None or len(type.shape) < len(sizes):
        return type
    return TensorType(type.dtype, (*type.shape[: len(type.shape) - len(sizes)], *sizes))


def is_miscounted(node: Node) -> bool:
    """Whether it is a pool that ONNX's inference before version 22 finds more windows of than there are."""
    sizes = sizes_of_pool(node)
    return sizes is not None and sizes[0] != sizes[1]
