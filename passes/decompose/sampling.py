"""Random numbers: those of a shape by those like a tensor, Multinomial and Dropout by numbers that are drawn evenly."""

from __future__ import annotations

import numpy as np

from ..attributes import NodeAttributes
from ..graph import Node, Value
from ..preconditions import dtype_of, required
from ..protos import DTYPES, enum_of
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import cast, numbers, working


@rule("", "RandomNormal", "RandomUniform")
def of_shape(op: Builder, node: Node) -> Value:
    """RandomNormal-22, RandomUniform-22: as many numbers as a tensor of that shape has."""
    shape = op.const(NodeAttributes(node).ints("shape"), DType.INT64)
    dtype = node.attributes.get("dtype", enum_of(DType.FLOAT32, node))
    others = {name: value for name, value in node.attributes.items() if name not in ("shape", "dtype")}
    return op.call(f"{node.op_type}Like", op.Expand(numbers(op, 0), shape), dtype=dtype, **others)


@rule("", "Bernoulli")
def bernoulli(op: Builder, node: Node) -> Value:
    """Bernoulli-22: 1 with the probability that the input says. (ONNX's function body has 0 with it.)"""
    chances = required(node, 0)
    dtype = working(node, chances)
    drawn = op.RandomUniformLike(chances, dtype=enum_of(dtype, node), seed=node.attributes.get("seed"))
    hits = op.Less(drawn, cast(op, node, chances, dtype))
    return cast(op, node, hits, NodeAttributes(node).dtype("dtype", dtype_of(node, chances)))


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


@rule("", "Dropout")
def dropout(op: Builder, node: Node) -> list[Value]:
    """Dropout-22: in training x / (1 - ratio) where an even number isn't below the ratio, 0 elsewhere; otherwise x."""
    x, ratio, training = required(node, 0), node.input(1), node.input(2)
    rate = numbers(op, 0.5) if ratio is None else ratio
    state, known = None if training is None else training.array(), rate.array()
    if training is None or (state is not None and not state.any()) or (known is not None and not known.any()):
        kept = [op.Expand(op.const(np.array(True)), op.Shape(x))] if len(node.outputs) > 1 else []
        return [x, *kept]
    nothing, dtype = op.const([], DType.INT64), dtype_of(node, x)
    rate = op.Reshape(cast(op, node, rate, DType.FLOAT32), nothing)
    seed = node.attributes.get("seed")
    drawn = op.RandomUniformLike(x, dtype=enum_of(DType.FLOAT32, node), seed=None if seed is None else float(seed))
    kept = op.GreaterOrEqual(drawn, rate)
    if state is None:
        active = op.Reshape(training, nothing)
        kept, rate = op.Or(kept, op.Not(active)), op.Where(active, rate, numbers(op, 0))
    share = cast(op, node, op.Sub(numbers(op, 1), rate), dtype)
    return [op.Where(kept, op.Div(x, share), numbers(op, 0, dtype)), kept][: len(node.outputs)]


RULES = collect(globals())
