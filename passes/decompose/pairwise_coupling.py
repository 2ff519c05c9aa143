"""Probabilities of classes out of those of pairs of classes, which support vector machines give."""

from __future__ import annotations

import itertools

import numpy as np

from ..graph import Graph, Value
from ..loop import Captured, Carried, Condition
from ..protos import ENUMS
from ..rewrite import Builder
from ..types import DType, tensor

_MOST_ROUNDS = 100


def coupled(op: Builder, pairs: Value, slopes: list[float], offsets: list[float], classes: int) -> Value:
    """[rows, classes] of the machines' scores [rows, pairs], f32; a loop that ends where all rows are near enough.

    The second method of Wu, Lin and Weng: the minimum of the sum of (r_ji p_i - r_ij p_j)^2 by coordinate steps, with
    r_ij the sigmoid of a machine's score.
    """
    table = _quadratic(op, pairs, slopes, offsets, classes)
    rows = op.Shape(table, start=0, end=1)
    shape = op.Concat(rows, op.const([1]), axis=0)
    first = op.Expand(op.const(np.full((1, classes), 1 / classes, np.float32)), shape)
    everywhere = op.Expand(op.const(np.ones((1, 1), bool)), shape)
    slots = [Carried(), Carried(), Captured(), Condition()]
    found, _ = op.loop(op.const(_MOST_ROUNDS), None, slots, [first, everywhere, table], _round(op, classes))
    return found


def _quadratic(op: Builder, pairs: Value, slopes: list[float], offsets: list[float], classes: int) -> Value:
    """[rows, classes, classes]: of class t with itself the sum of r_jt^2, with class j -r_jt r_tj."""
    line = op.Add(op.Mul(pairs, op.const(np.array(slopes, np.float32))), op.const(np.array(offsets, np.float32)))
    one = op.const(1.0)
    chance = op.Clip(op.Sigmoid(op.Neg(line)), op.const(np.float32(1e-7)), op.const(np.float32(1 - 1e-7)))
    other = op.Sub(one, chance)
    beats: dict[tuple[int, int], Value] = {}
    for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
        at = op.const([number])
        beats[i, j], beats[j, i] = op.Gather(chance, at, axis=1), op.Gather(other, at, axis=1)
    lines = []
    for t in range(classes):
        squares = [op.Mul(beats[j, t], beats[j, t]) for j in range(classes) if j != t]
        own = op.Sum(*squares)
        row = [own if j == t else op.Neg(op.Mul(beats[j, t], beats[t, j])) for j in range(classes)]
        lines.append(op.Unsqueeze(op.Concat(*row, axis=1), op.const([1])))
    return op.Concat(*lines, axis=1)


def _round(op: Builder, classes: int) -> Graph:
    """One round: (p, which rows still go on, the quadratic form) -> (p, which go on, whether any does)."""
    body = op.region("body")
    p = body.input("p", tensor(DType.FLOAT32, None, classes))
    active = body.input("active", tensor(DType.BOOL, None, 1))
    table = body.input("table", tensor(DType.FLOAT32, None, classes, classes))
    one, nothing, last = body.const(1.0), body.const(0.0), body.const([1])
    product = body.Squeeze(body.MatMul(table, body.Unsqueeze(p, body.const([2]))), body.const([2]))
    level = body.ReduceSum(body.Mul(p, product), last, keepdims=1)
    away = body.ReduceMax(body.Abs(body.Sub(product, level)), last, keepdims=1)
    going = body.And(active, body.GreaterOrEqual(away, body.const(np.float32(0.005 / classes))))
    for t in range(classes):
        own = body.const(np.eye(classes, dtype=np.float32)[t])
        column = body.Gather(table, body.const(t), axis=2)
        peak, here = body.Gather(column, body.const([t]), axis=1), body.Gather(product, body.const([t]), axis=1)
        step = body.Where(going, body.Div(body.Sub(level, here), peak), nothing)
        share = body.Add(one, step)
        gain = body.Mul(step, body.Add(body.Mul(step, peak), body.Add(here, here)))
        level = body.Div(body.Add(level, gain), body.Mul(share, share))
        product = body.Div(body.Add(product, body.Mul(step, column)), share)
        p = body.Div(body.Add(p, body.Mul(own, step)), share)
    count = body.ReduceMax(body.Cast(going, to=ENUMS[DType.INT32]), body.const([0, 1]), keepdims=0)
    body.graph.outputs = [p, going, body.Greater(count, body.const(0, DType.INT32))]
    return body.graph
