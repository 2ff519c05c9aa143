"""Results that can only be computed where a condition is as it should be."""

from __future__ import annotations

from ..graph import Value
from ..protos import ENUMS
from ..rewrite import Builder
from ..types import DType


def assertion(op: Builder, condition: Value, wanted: bool) -> Value:
    """1, an int64 scalar, computed in a way that fails unless the condition is as wanted: two numbers are no scalar."""
    holds = op.Reshape(condition if wanted else op.Not(condition), op.const([1]))
    count = op.Where(holds, op.const([1]), op.const([2]))
    return op.Reshape(op.Tile(op.Cast(holds, to=ENUMS[DType.INT64]), count), op.const([], DType.INT64))
