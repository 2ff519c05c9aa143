"""Multinomial by numbers that are drawn evenly."""

from __future__ import annotations

from ...passes.demands import required
from ...passes.graph import Node, Value
from ...passes.protos import DTYPES
from ...passes.rewrite import Builder, collect, rule
from ...passes.types import DType
from .tools import cast, numbers, working


@rule("", "Multinomial")
def multinomial(op: Builder, node: Node) -> Value:
    """Multinomial-22: classes drawn by logarithms of their weights [rows, classes].

    How many sums of weights a number between 0 and all of them doesn't stay below; rounded up to all of them it still
    is of the last class that has a weight.
    """
    kept = DTYPES[node.attributes.get("dtype", 6)]
    dtype = working(node, required(node, 0))
    logarithms = cast(op, node, required(node, 0), dtype)
    weights = op.Exp(op.Sub(logarithms, op.ReduceMax(logarithms, op.const([1]))))
    sums = op.Unsqueeze(op.CumSum(weights, op.const(1)), op.const([1]))  # [rows, 1, classes]
    total = op.ReduceMax(sums, op.const([2]))
    count = op.const([node.attributes.get("sample_size", 1), 1])
    shape = op.Concat(op.Shape(logarithms, start=0, end=1), count, axis=0)
    drawn = op.RandomUniformLike(op.Expand(numbers(op, 0, dtype), shape), seed=node.attributes.get("seed"))
    passed = op.And(op.LessOrEqual(sums, op.Mul(drawn, total)), op.Less(sums, total))
    found = op.ReduceSum(cast(op, node, passed, DType.INT32), op.const([2]), keepdims=0)
    return cast(op, node, found, kept)


RULES = collect(globals())
