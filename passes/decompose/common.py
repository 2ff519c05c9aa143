"""What decompositions share: small constants, rows, the best of some scores, what becomes of scores at the end."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..build import Expr, expr, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..protos import enum_of
from ..rewrite import Builder, Key, Rule
from ..types import DType

ML = "ai.onnx.ml"


def numbers(op: Builder, values: Any, dtype: DType = DType.FLOAT32) -> Value:
    """A constant of these numbers."""
    return op.const(np.asarray(values), dtype)


def cast(op: Builder, node: Node, value: Value, dtype: DType) -> Value:
    return value if value.tensor.dtype is dtype else op.Cast(value, to=enum_of(dtype, node))


def working(node: Node, value: Value) -> DType:
    """The type in which numbers like these are computed: float32, of doubles float64."""
    return DType.FLOAT64 if dtype_of(node, value) is DType.FLOAT64 else DType.FLOAT32


def as_floats(op: Builder, node: Node, value: Value) -> Value:
    return cast(op, node, value, DType.FLOAT32)


def formulas(table: Mapping[str, Callable[..., Expr]]) -> dict[Key, list[Rule]]:
    """Rules for ONNX's operators that are formulas of their inputs."""

    def of(formula: Callable[..., Expr]) -> Rule:
        def build(op: Builder, node: Node) -> Value:
            values = [required(node, index) for index in range(len(node.inputs))]
            for value in values:
                dtype_of(node, value)
            return formula(*(expr(op, value) for value in values)).value()

        return build

    return {("", name): [of(formula)] for name, formula in table.items()}


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


def named(op: Builder, indices: Value, labels: Sequence[Any]) -> Value:
    """The labels at integer positions."""
    dtype = DType.STRING if isinstance(labels[0], str) else DType.INT64
    return op.Gather(listed(op, labels, dtype), indices)


def best_of(op: Builder, scores: Value) -> Value:
    """The position of the first largest score of each row, int64 [rows]."""
    return op.ArgMax(scores, axis=1, keepdims=0)


def any_of(values: Expr, axis: int) -> Expr:
    """Whether anything along an axis is true."""
    return values.cast(DType.INT32).max(axis) > 0


def transformed(op: Builder, node: Node, scores: Value, kind: str) -> Value:
    """What a model does to its scores [rows, classes] at the end."""
    dtype_of(node, scores)
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return op.Sigmoid(scores)
    if kind == "SOFTMAX":
        return op.Softmax(scores, axis=1)
    if kind == "SOFTMAX_ZERO":
        x = expr(op, scores)
        weights = where(x.abs() <= 1e-7, x.like(0), (x - x.max(1, keepdims=True)).exp())
        total = weights.sum(1, keepdims=True)
        return (weights / where(total.equals(0), total.like(1), total)).value()
    if kind == "PROBIT":
        return _probit(expr(op, scores)).value()
    raise Unsupported(node, f"post_transform={kind!r} isn't known")


_MIDDLE = ([59.10937472, 159.29113202, 50.434271938, 3.3871327179], [67.1875636, 78.757757664, 17.895169469, 1.0])
_SIDES = ([0.17023821103, 1.3067284816, 2.75681539, 1.4234372777], [0.12021132975, 0.7370016425, 1.0])
_ENDS = ([0.017337203997, 0.42868294337, 3.081226386, 6.6579051150], [0.012258202635, 0.24197894225, 1.0])
"""Wichura's rational approximations AS 241 of the normal quantile, to about seven digits; highest powers first."""


def _probit(chance: Expr) -> Expr:
    """The inverse of the normal distribution's function; NaN outside of (0, 1)."""

    def polynomial(coefficients: Sequence[float], x: Expr) -> Expr:
        return functools.reduce(
            lambda made, coefficient: made * x + coefficient, coefficients[1:], x.like(coefficients[0])
        )

    def ratio(pair: tuple[list[float], list[float]], x: Expr) -> Expr:
        return polynomial(pair[0], x) / polynomial(pair[1], x)

    inside = (chance > 0) & (chance < 1)
    chance = where(inside, chance, 0.5)
    away = chance - 0.5
    middle = away * ratio(_MIDDLE, 0.180625 - away * away)
    far = (-chance.minimum(1 - chance).log()).sqrt()
    size = where(far <= 5, ratio(_SIDES, far - 1.6), ratio(_ENDS, far - 5))
    return where(inside, where(away.abs() <= 0.425, middle, away.sign() * size), math.nan)
