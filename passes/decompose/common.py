"""What the composites share: small constants, rows, the best of some scores, what becomes of scores at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of
from ..protos import enum_of
from ..rewrite import Builder
from ..types import DType

ML = "ai.onnx.ml"


def numbers(op: Builder, values: Any, dtype: DType = DType.FLOAT32) -> Value:
    """A constant of these numbers."""
    return op.const(np.asarray(values), dtype)


def cast(op: Builder, node: Node, value: Value, dtype: DType) -> Value:
    return value if value.tensor.dtype is dtype else op.Cast(value, to=enum_of(dtype, node))


def working(node: Node, value: Value) -> DType:
    """The type in which numbers like these are reckoned: float32, of doubles float64."""
    return DType.FLOAT64 if dtype_of(node, value) is DType.FLOAT64 else DType.FLOAT32


def as_floats(op: Builder, node: Node, value: Value) -> Value:
    return cast(op, node, value, DType.FLOAT32)


def rows_of(op: Builder, node: Node, value: Value) -> Value:
    """A vector as one row."""
    return op.Unsqueeze(value, op.const([0])) if rank_of(node, value) == 1 else value


def is_text(value: Value) -> bool:
    return value.tensor.dtype is DType.STRING


def listed(op: Builder, values: Sequence[Any], dtype: DType) -> Value:
    """A vector of numbers or of words."""
    if dtype is DType.STRING:
        return op.const(np.array([str(value) for value in values], object), dtype)
    return op.const(np.array(values), dtype)


def named(op: Builder, places: Value, labels: Sequence[Any]) -> Value:
    """The labels at integer places."""
    dtype = DType.STRING if isinstance(labels[0], str) else DType.INT64
    return op.Gather(listed(op, labels, dtype), places)


def best_of(op: Builder, scores: Value) -> Value:
    """The place of the first largest score of each row, int64 [rows]."""
    return op.ArgMax(scores, axis=1, keepdims=0)


def any_of(op: Builder, values: Value, axis: int) -> Value:
    """Whether anything along an axis is true."""
    counted = op.Where(values, numbers(op, 1, DType.INT32), numbers(op, 0, DType.INT32))
    most = op.ReduceMax(counted, op.const([axis]), keepdims=0)
    return op.Greater(most, numbers(op, 0, DType.INT32))


def transformed(op: Builder, node: Node, scores: Value, kind: str) -> Value:
    """What a model does to its scores [rows, classes] at the end."""
    dtype = dtype_of(node, scores)
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return op.Sigmoid(scores)
    if kind == "SOFTMAX":
        return op.Softmax(scores, axis=1)
    if kind == "SOFTMAX_ZERO":
        zero, last = numbers(op, 0, dtype), op.const([1])
        highest = op.ReduceMax(scores, last)
        none = op.LessOrEqual(op.Abs(scores), numbers(op, 1e-7, dtype))
        weights = op.Where(none, zero, op.Exp(op.Sub(scores, highest)))
        total = op.ReduceSum(weights, last)
        return op.Div(weights, op.Where(op.Equal(total, zero), numbers(op, 1, dtype), total))
    if kind == "PROBIT":
        return _probit(op, scores, dtype)
    raise Unsupported(node, f"post_transform={kind!r} isn't known")


_MIDDLE = ([59.10937472, 159.29113202, 50.434271938, 3.3871327179], [67.1875636, 78.757757664, 17.895169469, 1.0])
_SIDES = ([0.17023821103, 1.3067284816, 2.75681539, 1.4234372777], [0.12021132975, 0.7370016425, 1.0])
_ENDS = ([0.017337203997, 0.42868294337, 3.081226386, 6.6579051150], [0.012258202635, 0.24197894225, 1.0])
"""Wichura's rational approximations AS 241 of the normal quantile, to about seven digits; highest powers first."""


def _probit(op: Builder, chance: Value, dtype: DType) -> Value:
    """The inverse of the normal distribution's function; NaN outside of (0, 1)."""

    def number(value: float) -> Value:
        return numbers(op, value, dtype)

    def polynomial(coefficients: Sequence[float], x: Value) -> Value:
        made = number(coefficients[0])
        for coefficient in coefficients[1:]:
            made = op.Add(op.Mul(made, x), number(coefficient))
        return made

    def ratio(pair: tuple[list[float], list[float]], x: Value) -> Value:
        return op.Div(polynomial(pair[0], x), polynomial(pair[1], x))

    one, half = number(1), number(0.5)
    inside = op.And(op.Greater(chance, number(0)), op.Less(chance, one))
    chance = op.Where(inside, chance, half)
    away = op.Sub(chance, half)
    middle = op.Mul(away, ratio(_MIDDLE, op.Sub(number(0.180625), op.Mul(away, away))))
    far = op.Sqrt(op.Neg(op.Log(op.Min(chance, op.Sub(one, chance)))))
    beyond = op.LessOrEqual(far, number(5))
    size = op.Where(beyond, ratio(_SIDES, op.Sub(far, number(1.6))), ratio(_ENDS, op.Sub(far, number(5))))
    outer = op.Mul(op.Sign(away), size)
    found = op.Where(op.LessOrEqual(op.Abs(away), number(0.425)), middle, outer)
    return op.Where(inside, found, number(math.nan))
