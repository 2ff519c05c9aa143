"""Core operators by other core operators, for targets that list the one and not the other.

Nothing here is simpler than what it stands for, so that only a list of operators asks for it. Each result is the same
bit for bit where nothing else is said.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from ..attributes import NodeAttributes
from ..build import Expr
from ..build.values import clip_bounds, limited
from ..constant_analysis import static_array
from ..graph import Node, Value
from ..preconditions import axis_of, dtype_of, rank_of, required
from ..protos import enum_of
from ..rewrite import Builder, collect, combine, rule
from ..types import DType
from .common import formulas, numbers

_FORMULAS: dict[str, Callable[..., Expr]] = {
    "Sub": lambda a, b: a + -b,
    "Neg": lambda x: x * -1,
    "Min": lambda *values: -functools.reduce(Expr.maximum, [-value for value in values]),
    "Abs": lambda x: x.maximum(-x),
    "Greater": lambda a, b: b < a,
    "Less": lambda a, b: b > a,
    "And": lambda a, b: ~(~a | ~b),
    "Or": lambda a, b: ~(~a & ~b),
    "Not": lambda x: x.equals(False),
    "Sqrt": lambda x: x**0.5,  # up to rounding; of -0.0 it is 0.0
    "Tan": lambda x: x.sin() / x.cos(),  # up to rounding
}


@rule("", "Clip")
def extremes(op: Builder, node: Node) -> Value:
    """min(max(x, low), high)."""
    return limited(op, required(node, 0), *clip_bounds(op, node))


@rule("", "Div")
def times_reciprocal(op: Builder, node: Node) -> Value | None:
    """Floats: a * (1 / b), which rounds twice."""
    a, b = required(node, 0), required(node, 1)
    if not dtype_of(node, a).is_float:
        return None
    known = static_array(b)
    if known is not None:
        return op.Mul(a, op.const(np.asarray(1 / known.astype(np.float64)), dtype_of(node, a)))
    return op.Mul(a, op.Reciprocal(b))


@rule("", "Max")
def rectified(op: Builder, node: Node) -> Value | None:
    """The larger of x and 0 is Relu(x)."""
    if len(node.inputs) != 2:
        return None
    for x, other in ((required(node, 0), required(node, 1)), (required(node, 1), required(node, 0))):
        known = static_array(other)
        if known is not None and known.size == 1 and known.ndim <= (x.rank or 0) and not known.any():
            return op.Relu(x)
    return None


@rule("", "Pow")
def small_powers(op: Builder, node: Node) -> Value | None:
    """Floats by a constant: x * x, x * x * x, sqrt(x), 1 / x; roots and cubes up to rounding."""
    x, exponent = required(node, 0), static_array(required(node, 1))
    if exponent is None or exponent.size != 1 or exponent.ndim > (x.rank or 0) or not dtype_of(node, x).is_float:
        return None
    match float(exponent.reshape(-1)[0]):
        case 1.0:
            return x
        case 2.0:
            return op.Mul(x, x)
        case 3.0:
            return op.Mul(op.Mul(x, x), x)
        case 0.5:
            return op.Sqrt(x)
        case -1.0:
            return op.Reciprocal(x)
    return None


@rule("", "ReduceMax")
def largest_of_all(op: Builder, node: Node) -> Value | None:
    """Over all but the first two dimensions: GlobalMaxPool."""
    return _pooled(op, node, "GlobalMaxPool")


@rule("", "ReduceSum")
def sum_by_mean(op: Builder, node: Node) -> Value | None:
    """Floats over dimensions of known sizes: the mean times the number of elements, up to rounding."""
    x, axes = required(node, 0), _axes(node)
    shape = x.tensor.shape
    if axes is None or shape is None or not dtype_of(node, x).is_float:
        return None
    sizes = [shape[axis] for axis in axes]
    known = [size for size in sizes if isinstance(size, int)]
    if len(known) < len(sizes) or not all(known):
        return None
    mean = op.ReduceMean(x, op.const(axes), keepdims=int(NodeAttributes(node).flag("keepdims")))
    return op.Mul(mean, numbers(op, math.prod(known), dtype_of(node, x)))


def _axes(node: Node) -> list[int] | None:
    """The axes of a reduction, counted from the front; None where they aren't known."""
    rank, axes = rank_of(node, required(node, 0)), node.input(1)
    known = None if axes is None else static_array(axes)
    if axes is not None and known is None:
        return None
    if known is None or not known.size:
        return None if NodeAttributes(node).flag("noop_with_empty_axes") else list(range(rank))
    return sorted(axis_of(node, int(axis), rank) for axis in known.reshape(-1))


def _pooled(op: Builder, node: Node, pool: str) -> Value | None:
    x, axes = required(node, 0), _axes(node)
    rank = rank_of(node, x)
    if axes != list(range(2, rank)) or not dtype_of(node, x).is_float:
        return None
    made = op.call(pool, x)
    return made if NodeAttributes(node).flag("keepdims") else op.Squeeze(made, op.const(axes))


@rule("", "ReduceMean")
def mean_of_all(op: Builder, node: Node) -> Value | None:
    """Over all but the first two dimensions: GlobalAveragePool."""
    return _pooled(op, node, "GlobalAveragePool")


@rule("", "MatMul")
def product_of_matrices(op: Builder, node: Node) -> Value | None:
    """Of two matrices: Gemm without a third."""
    a, b = required(node, 0), required(node, 1)
    return op.Gemm(a, b) if rank_of(node, a) == rank_of(node, b) == 2 else None


@rule("", "Squeeze", "Unsqueeze")
def other_sizes(op: Builder, node: Node) -> Value | None:
    """A Reshape; of the sizes one may be unknown."""
    x, shape = required(node, 0), node.outputs[0].tensor.shape
    if shape is None:
        return None
    sizes = [dim if isinstance(dim, int) else -1 for dim in shape]
    if 0 in sizes or sizes.count(-1) > 1:
        return None
    return op.Reshape(x, op.const(sizes))


@rule("", "Gather")
def sliced(op: Builder, node: Node) -> Value | None:
    """Constant neighbours along an axis: a Slice, without the axis where it is one index and no list."""
    x, indices = required(node, 0), static_array(required(node, 1))
    if indices is None or indices.ndim > 1 or not indices.size:
        return None
    axis = axis_of(node, NodeAttributes(node).int("axis"), rank_of(node, x))
    listed = indices.reshape(-1).astype(np.int64)
    first, last = int(listed[0]), int(listed[-1])
    if (np.diff(listed) != 1).any() or (first < 0 <= last):
        return None
    end = np.iinfo(np.int64).max if last == -1 else last + 1
    made = op.Slice(x, op.const([first]), op.const([end]), op.const([axis]))
    return made if indices.ndim else op.Squeeze(made, op.const([axis]))


@rule("", "Slice")
def gathered(op: Builder, node: Node) -> Value | None:
    """Along dimensions of known sizes, between constants: the elements gathered one axis after the other."""
    x = required(node, 0)
    rank = rank_of(node, x)
    starts, ends = (static_array(required(node, index)) for index in (1, 2))
    if starts is None or ends is None:
        return None
    axes, steps = (None if node.input(index) is None else static_array(required(node, index)) for index in (3, 4))
    if (node.input(3) is not None and axes is None) or (node.input(4) is not None and steps is None):
        return None
    listed = np.arange(len(starts)) if axes is None else axes
    made = x
    for position, axis in enumerate(int(axis) % max(rank, 1) for axis in listed):
        size = (x.tensor.shape or ())[axis]
        if not isinstance(size, int):
            return None
        step = 1 if steps is None else int(steps[position])
        kept = np.arange(size)[slice(int(starts[position]), _end(int(ends[position]), size, step), step)]
        if not kept.size:
            return None
        made = op.Gather(made, op.const(kept), axis=axis)
    return made


def _end(end: int, size: int, step: int) -> int | None:
    """The end of a Python slice that stops where ONNX's does."""
    return None if step < 0 and end < -size else end


@rule("", "Cast")
def truth_of_numbers(op: Builder, node: Node) -> Value | None:
    """To bool: what isn't 0."""
    x = required(node, 0)
    dtype = dtype_of(node, x)
    if node.attributes.get("to") != enum_of(DType.BOOL, node) or dtype in (DType.BOOL, DType.STRING):
        return None
    return op.Not(op.Equal(x, numbers(op, 0, dtype)))


RULES = combine(collect(globals()), formulas(_FORMULAS))
