"""Layers of images of which there are none: OpenVINO doesn't load pools over a batch that is declared to be empty, nor
blocks of axes without elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...passes.graph import Value
from ...passes.rewrite import Builder
from ...passes.tensor import TensorData
from ...passes.types import Dim, DType, TensorType

POOLS = {"AvgPool", "MaxPool"}
_LIKE = {"BatchNormInference"}
"""Layers whose result has the sizes of their first input."""
_BLOCKS = {"SpaceToDepth": False, "DepthToSpace": True}
"""Whether the blocks lie along the channels, and become parts of the images."""


def one_image(op: Builder, x: Value) -> Value:
    """Zeros of the sizes of `x`, but a batch of one."""
    rank, dtype = x.rank, x.tensor.dtype
    assert rank is not None and dtype is not None
    sizes = op.Gather(op.ShapeOf(x), op.const(list(range(1, rank)), DType.INT64), op.const(0, DType.INT64))
    made = op.Broadcast(op.const(0, dtype), op.Concat(op.const([1], DType.INT64), sizes, axis=0))
    made.type = TensorType(dtype, (1, *(x.tensor.shape or ())[1:]))
    return made


def no_images(op: Builder, pooled: Value) -> Value:
    """What is pooled over the one of `one_image`, without it."""
    start, step = op.const([0], DType.INT64), op.const([1], DType.INT64)
    made = op.Slice(pooled, start, start, step, start)
    if pooled.tensor.shape is not None:
        made.type = TensorType(pooled.tensor.dtype, (0, *pooled.tensor.shape[1:]))
    return made


def pools_nothing(op_type: str, inputs: Sequence[Value]) -> bool:
    """Whether a layer pools over a batch that is known to be empty, beside sizes that aren't known."""
    if op_type not in POOLS:
        return False
    shape = inputs[0].tensor.shape
    return bool(shape) and shape[0] == 0 and inputs[0].tensor.static_shape is None


def empty_image(op: Builder, op_type: str, inputs: Sequence[Value], attributes: Mapping[str, Any]) -> Value | None:
    """What a layer makes of an image that is known to have no elements: zeros of the sizes that the result has; None
    where there may be some, and for other layers."""
    if op_type not in _BLOCKS and op_type not in _LIKE:
        return None
    x = inputs[0].tensor
    if x.shape is None or 0 not in x.shape or x.dtype is None:
        return None
    if op_type in _LIKE:
        return _zeros(op, inputs[0], x.shape, None)
    block, spatial = attributes["block_size"], len(x.shape) - 2
    to_images = [1, block**spatial, *[1] * spatial], [1, 1, *[block] * spatial]
    divisors, factors = to_images if _BLOCKS[op_type] else to_images[::-1]
    sizes = [
        size // divisor * factor if isinstance(size, int) else None
        for size, divisor, factor in zip(x.shape, divisors, factors, strict=True)
    ]
    return _zeros(op, inputs[0], sizes, (divisors, factors))


def _zeros(op: Builder, x: Value, sizes: Sequence[Dim], scales: tuple[list[int], list[int]] | None) -> Value:
    """Zeros of the sizes of `x`, divided and multiplied by those of `scales`, as far as `sizes` doesn't tell them."""
    dtype = x.tensor.dtype
    assert dtype is not None
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes):
        return op.const(TensorData(dtype, tuple(known), np.zeros(known, dtype.numpy)))
    shape = op.ShapeOf(x)
    if scales is not None:
        divisors, factors = (op.const(each, DType.INT64) for each in scales)
        shape = op.Multiply(op.Divide(shape, divisors, m_pythondiv=False), factors)
    made = op.Broadcast(op.const(0, dtype), shape)
    made.type = TensorType(dtype, tuple(sizes))
    return made
