"""Single elements as vectors and as scalars, and 0, 1, 2 .., at every opset."""

from __future__ import annotations

import numpy as np

from ..constant_analysis import known_array
from ..graph import Value
from ..tensor import TensorData
from ..types import DType, TensorType
from .build import StepBuilder
from .loops import looped
from .steps import numbers

_VECTOR = TensorType(DType.INT64, (None,))
_MOST = 4096  # numbers counted before anything runs


def one_of(op: StepBuilder, value: Value) -> Value:
    """A tensor of one element as a vector of one."""
    known = known_array(value)
    kind = value.tensor.dtype
    if known is not None and known.size == 1:
        return op.const(known.reshape(1), kind)
    if value.tensor.shape == (1,):
        return value
    return op.Reshape(value, numbers(op, 1), _types=[TensorType(kind, (1,))])


def single(op: StepBuilder, value: Value) -> Value:
    """A tensor of one element as a scalar."""
    if value.rank == 0:
        return value
    return op.Reshape(value, numbers(op, []), _types=[TensorType(value.tensor.dtype, ())])


def counted(op: StepBuilder, count: Value) -> Value:
    """0, 1, 2 .. below a number of at least 0.

    Args:
        count: int64, a scalar or a vector of one.

    Returns:
        An int64 vector; it can be expressed at every opset.
    """
    known = known_array(count)
    if known is not None and known.size == 1 and known.item() <= _MOST:
        return numbers(op, np.arange(known.item()))
    if op.target >= 11:
        return op.at(11).Range(op.const(0), single(op, count), op.const(1), _types=[_VECTOR])
    if op.target < 9:
        return looped(op, single(op, count), [], [], lambda one: (None, [one.turn]))[0]
    early = op.at(9)
    ones = early.ConstantOfShape(one_of(op, count), value=TensorData.of(np.ones(1, np.int64)), _types=[_VECTOR])
    return early.Squeeze(early.NonZero(ones), axes=[0], _types=[_VECTOR])
