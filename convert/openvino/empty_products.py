"""Products of factors without elements, which are zeros, or nothing: OpenVINO's CPU doesn't load most of them, and
gives what stands in memory for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...passes.equations import einsum_axes, joint_shape, matmul_axes
from ...passes.graph import Value
from ...passes.rewrite import Builder
from ...passes.tensor import TensorData
from ...passes.types import DType

_Axes = tuple[list[tuple[str, ...]], tuple[str, ...]]
"""The names of the axes of each factor, and of the product's."""


def _of_matrices(attributes: Mapping[str, Any], ranks: Sequence[int]) -> _Axes:
    names, result = matmul_axes(*ranks)
    turned = [bool(attributes.get(name)) for name in ("transpose_a", "transpose_b")]
    return [(*term[:-2], *term[:-3:-1]) if turn else term for term, turn in zip(names, turned, strict=True)], result


def _of_equation(attributes: Mapping[str, Any], ranks: Sequence[int]) -> _Axes | None:
    return einsum_axes(attributes["equation"], ranks)


_AXES = {"MatMul": _of_matrices, "Einsum": _of_equation}


def empty_product(op: Builder, op_type: str, factors: Sequence[Value], attributes: Mapping[str, Any]) -> Value | None:
    """What a MatMul or an Einsum is, if one of its factors is known to have no elements; None if none is, for other
    layers, and where the ranks aren't known."""
    if op_type not in _AXES or not any(0 in (value.tensor.shape or ()) for value in factors):
        return None
    shapes = [value.tensor.shape for value in factors if value.tensor.shape is not None]
    dtype = factors[0].tensor.dtype
    axes = _AXES[op_type](attributes, list(map(len, shapes))) if len(shapes) == len(factors) else None
    if axes is None or dtype is None:
        return None
    sizes = joint_shape(axes[0], shapes, axes[1])
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) == len(sizes):
        return op.const(TensorData(dtype, tuple(known), np.zeros(known, dtype.numpy)))
    whole = None
    for value, names in zip(factors, axes[0], strict=True):
        one = op.const([1], DType.INT64)
        places = [names.index(name) if name in names else len(names) for name in axes[1]]
        every = op.Concat(op.ShapeOf(value), one, axis=0)
        own = op.Gather(every, op.const(places, DType.INT64), op.const(0, DType.INT64))
        whole = own if whole is None else op.Select(op.Equal(whole, one), own, whole)
    return op.Broadcast(op.const(0, dtype), whole)
