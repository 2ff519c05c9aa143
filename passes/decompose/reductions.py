"""Reductions in terms of sums and maxima; halves are reduced in float32, and rounded once at the end."""

from __future__ import annotations

import math
from typing import Any

from ..attributes import NodeAttributes
from ..build import Expr, expr, where
from ..constant_analysis import known_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, required
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import cast, working

_OF_FLOATS = frozenset(["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])


def _widened(op: Builder, node: Node) -> Value:
    """The operand in the type that it is reduced in; roots and logarithms of integers are taken in float64."""
    x = required(node, 0)
    if dtype_of(node, x).is_float:
        return cast(op, node, x, working(node, x))
    return cast(op, node, x, DType.FLOAT64) if node.op_type in _OF_FLOATS else x


def _options(node: Node) -> dict[str, Any]:
    attrs = NodeAttributes(node)
    return {name: int(attrs.flag(name)) for name in ("keepdims", "noop_with_empty_axes")}


@rule("", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare")
def sum_of_terms(op: Builder, node: Node) -> Value:
    """ReduceL1-18 sum(|x|), ReduceL2-18 sqrt(sum(x^2)), ReduceLogSum-28 log(sum(x)), ReduceSumSquare-18 sum(x^2)."""
    x = expr(op, _widened(op, node))
    terms = {"ReduceL1": x.abs, "ReduceLogSum": lambda: x}.get(node.op_type, lambda: x * x)()
    total = expr(op, op.ReduceSum(terms, node.input(1), **_options(node)))
    made = {"ReduceL2": total.sqrt, "ReduceLogSum": total.log}.get(node.op_type, lambda: total)()
    return made.cast(dtype_of(node, required(node, 0))).value()


@rule("", "ReduceLogSumExp")
def log_of_exponentials(op: Builder, node: Node) -> Value:
    """ReduceLogSumExp-28: log(sum(exp(x - m))) + m, m the largest x where it is finite, so that nothing overflows."""
    x, axes, options = expr(op, _widened(op, node)), node.input(1), _options(node)

    def largest(**attributes: Any) -> Expr:
        found = expr(op, op.ReduceMax(x, axes, **attributes))
        return where(found.abs() < math.inf, found, 0)

    powers = (x - largest(**{**options, "keepdims": 1})).exp()
    total = expr(op, op.ReduceSum(powers, axes, **options)).log() + largest(**options)
    return total.cast(dtype_of(node, required(node, 0))).value()


@rule("", "ReduceMean")
def reduce_mean(op: Builder, node: Node) -> Value:
    """ReduceMean-18: the sum along axes by the number of elements that it has; halves in float32."""
    x, axes = required(node, 0), node.input(1)
    attrs = NodeAttributes(node)
    if attrs.flag("noop_with_empty_axes"):
        known = None if axes is None else known_array(axes)
        if axes is not None and known is None:
            raise Unsupported(node, "noop_with_empty_axes with axes that aren't known")
        if known is None or not known.size:
            return op.Identity(x)
    elif axes is not None:
        known = known_array(axes)
        if known is not None and not known.size:
            axes = None
    wide = _widened(op, node)
    sums = op.ReduceSum(wide, axes, keepdims=int(attrs.flag("keepdims")))
    if axes is None or known_array(axes) is not None:
        count = op.ReduceProd(op.Shape(x) if axes is None else op.Gather(op.Shape(x), axes), keepdims=0)
    else:  # they may turn out to be none, which means all
        count = op.Div(op.Size(x), op.Max(op.Size(sums), op.const(1)))
    count = cast(op, node, count, dtype_of(node, wide))
    return cast(op, node, op.Div(sums, count), dtype_of(node, x))


RULES = collect(globals())
