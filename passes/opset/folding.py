"""Arithmetic of adapters beside `passes.build`: what is certain of a model's values, places counted row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..build import Expr, Operand, concat, expr
from ..constant_analysis import known_array
from ..graph import Value
from ..types import DType
from .build import StepBuilder
from .counting import counted


def certain(op: StepBuilder, value: Value) -> Expr:
    """What a value holds, known where it is certain before anything runs."""
    array = known_array(value)
    return expr(op, value if array is None else array)


def arange(count: Expr) -> Expr:
    """0, 1, ... up to a number that isn't negative, int64, by operators of every opset."""
    op = count.op
    assert isinstance(op, StepBuilder)
    return expr(op, counted(op, count.value()) if count.array is None else np.arange(count.item()))


def largest(vector: Expr, least: float) -> Expr:
    """The largest element of a vector, or `least`, as a vector of one."""
    return concat(vector.op, [vector, np.asarray([least])]).max(0, keepdims=True)


def total(numbers: Expr) -> Expr:
    """The sum along the first axis, which is gone; how many, of bools (int64)."""
    return (numbers.cast(DType.INT64) if numbers.dtype is DType.BOOL else numbers).sum(0)


def remainder(number: Expr, divisor: Operand) -> Expr:
    """Of integers that aren't negative, by operators of every opset."""
    return number - number // divisor * divisor


def flattened(places: Sequence[Expr], lengths: Sequence[Expr]) -> Expr:
    """Places along each axis as one, counted row by row."""
    made = places[0]
    for place, length in zip(places[1:], lengths[1:], strict=True):
        made = made * length + place
    return made


def unravelled(index: Expr, lengths: Sequence[Expr]) -> list[Expr]:
    """The places along each axis of elements counted row by row; of tensors without elements there are none."""
    found: list[Expr] = []
    for length in reversed(lengths[1:]):
        found.insert(0, remainder(index, length.maximum(1)))
        index = index // length.maximum(1)
    return [index, *found]
