"""Preconditions of rules: what a node and its values must have, and the refusal where they don't."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .attributes import NodeAttributes
from .errors import InvalidModel, Unsupported
from .graph import Node, Value
from .types import DType


def input_of(node: Node, index: int = 0) -> Value:
    """Input `index`, which the operator itself can't do without.

    Raises:
        InvalidModel: it is left out.
    """
    value = node.input(index)
    if value is None:
        raise InvalidModel(f"{node!r}: input {index} is missing")
    return value


def required(node: Node, index: int) -> Value:
    """Input `index`, which the rule can't do without.

    Raises:
        Unsupported: it is left out.
    """
    value = node.input(index)
    if value is None:
        raise Unsupported(node, f"input {index} is missing")
    return value


def rank_of(node: Node, value: Value) -> int:
    """The rank of a value.

    Raises:
        Unsupported: it isn't known.
    """
    if value.rank is None:
        raise Unsupported(node, f"the rank of {value.name!r} isn't known")
    return value.rank


def dtype_of(node: Node | Value, value: Value) -> DType:
    """The element type of a value; `node` is who needs it.

    Raises:
        Unsupported: it isn't known.
    """
    dtype = value.tensor.dtype
    if dtype is None:
        raise Unsupported(node, f"the element type of {value.name!r} isn't known")
    return dtype


def size_of_axis(value: Value, axis: int) -> int | None:
    """The size of one dimension, None where it isn't known."""
    shape = value.tensor.shape
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    found = shape[axis]
    return found if isinstance(found, int) else None


def addend_of(gemm: Node) -> Value | None:
    """What a Gemm adds to its product; None where `beta` is 0, as in BLAS, ONNX Runtime and onnx's reference: 0 times
    NaN isn't added."""
    return gemm.input(2) if NodeAttributes(gemm).float("beta") else None


def axis_of(node: Node, axis: int, rank: int) -> int:
    """`axis` counted from the front; a scalar has one, as ONNX Runtime has it.

    Raises:
        Unsupported: a tensor of this rank has no such axis.
    """
    count = max(rank, 1)
    if not -count <= axis < count:
        raise Unsupported(node, f"axis {axis} of a tensor of rank {rank}")
    return axis % count


@functools.cache
def default_bounds(dtype: DType) -> tuple[float | None, float | None]:
    """What stands for the lower and the upper bound where a Clip leaves them out (from version 11 on): the least and
    the largest finite number, so that infinity is cut off. None for integers, which have no other numbers."""
    return dtype.finite_limits if dtype.is_float else (None, None)


def power_type(base: DType, exponent: DType, known: np.ndarray[Any, Any] | None) -> DType:
    """The float type in which Pow of a float base has to be computed: its own where that has all exponents (`known` are
    their values, if they are certain), otherwise one that has all numbers of both types, or float64."""
    if base.holds(exponent):
        return base
    if known is not None and (known.astype(base.numpy).astype(known.dtype) == known).all():
        return base
    return DType.FLOAT32 if DType.FLOAT32.holds(base) and DType.FLOAT32.holds(exponent) else DType.FLOAT64


def flag(node: Node, name: str, default: int = 0) -> bool:
    """An ONNX attribute that is 0 or 1."""
    return bool(node.attributes.get(name, default))
