"""Sums, means, quotients and products of several operands, and reductions; halves are reduced in float32, and rounded
once at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..attributes import NodeAttributes
from ..build import Expr, expr, where
from ..constant_analysis import static_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..opset.steps import chained
from ..preconditions import addend_of, dtype_of, rank_of, required
from ..rewrite import Builder, collect, combine, rule
from ..types import HALVES, DType
from ..windows import windows
from .common import cast, formulas, numbers, working

_OF_FLOATS = frozenset(["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])


def _widened(op: Builder, node: Node) -> Value:
    """The operand in the type that it is reduced in: roots and logarithms of integers are taken in float64, and the sum
    of a mean may be larger than the mean's type, which is exact in ONNX Runtime and NumPy."""
    x = required(node, 0)
    kind = dtype_of(node, x)
    if kind.is_float:
        return cast(op, node, x, working(node, x))
    if node.op_type == "ReduceMean" and kind is not DType.UINT64:
        return cast(op, node, x, DType.INT64)
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
    if x.rank == 0:  # whose one axis, which ONNX Runtime takes, isn't in its shape
        return op.Identity(x)
    if attrs.flag("noop_with_empty_axes"):
        known = None if axes is None else static_array(axes)
        if axes is not None and known is None:
            raise Unsupported(node, "noop_with_empty_axes with axes that aren't known")
        if known is None or not known.size:
            return op.Identity(x)
    elif axes is not None:
        known = static_array(axes)
        if known is not None and not known.size:
            axes = None
    wide = _widened(op, node)
    sums = op.ReduceSum(wide, axes, keepdims=int(attrs.flag("keepdims")))
    if axes is None or static_array(axes) is not None:
        count = op.ReduceProd(op.Shape(x) if axes is None else op.Gather(op.Shape(x), axes), keepdims=0)
    else:  # they may turn out to be none, which means all
        count = op.Div(op.Size(x), op.Max(op.Size(sums), op.const(1)))
    if not dtype_of(node, wide).is_float and 0 in (x.tensor.static_shape or (0,)):
        count = op.Max(count, op.const(1))  # the integers' mean of nothing is 0, as in ONNX Runtime; XLA dies of 0 / 0
    count = cast(op, node, count, dtype_of(node, wide))
    return cast(op, node, op.Div(sums, count), dtype_of(node, x))


@rule("", "Sum", "Mean")
def total(op: Builder, node: Node) -> Value:
    """Sum-13 and Mean-13: the operands added up, broadcast, and divided by their number; halves in float32, in which a
    sum of two is the same once it is rounded (their mean may be one of what is too large for a half)."""
    values, mean = [required(node, index) for index in range(len(node.inputs))], node.op_type == "Mean"
    if len(values) == 1:
        return op.Identity(values[0])
    kind = dtype_of(node, values[0])
    wide = working(node, values[0]) if kind.is_float and (mean or len(values) > 2) else kind
    made = chained(op, "Add", [cast(op, node, value, wide) for value in values])
    return cast(op, node, op.Div(made, op.const(len(values), wide)) if mean else made, kind)


@rule("", "Sigmoid")
def sigmoid(op: Builder, node: Node) -> Value:
    """Sigmoid-13: 1 / (1 + exp(-x)); halves in float32. exp overflows to infinity where the result is 0."""
    x = required(node, 0)
    made = 1 / ((-expr(op, x, working(node, x))).exp() + 1)
    return made.cast(dtype_of(node, x)).value()


@rule("", "Selu")
def scaled_elu(op: Builder, node: Node) -> Value:
    """Selu-22: gamma * Elu(x)."""
    attrs, x = NodeAttributes(node), required(node, 0)
    return op.Mul(op.Elu(x, alpha=attrs.float("alpha")), numbers(op, attrs.float("gamma"), dtype_of(node, x)))


@rule("", "HardSigmoid")
def hard_sigmoid(op: Builder, node: Node) -> Value:
    """HardSigmoid-22: max(0, min(1, alpha * x + beta)).

    `alpha` and `beta` are float32, and halves are computed in it, as in runtimes; ONNX's own body rounds them to
    halves, which shows where the two cancel.
    """
    attrs, x = NodeAttributes(node), required(node, 0)
    line = expr(op, x, working(node, x)) * attrs.float("alpha") + attrs.float("beta")
    return line.minimum(1).maximum(0).cast(dtype_of(node, x)).value()


@rule("", "Gemm")
def general_product(op: Builder, node: Node) -> Value:
    """Gemm-13: alpha * A B + beta * C, A and B transposed where it is asked for. Halves in float32 where the product,
    which they may not hold, is scaled.

    Raises:
        Unsupported: integers by a factor that is none.
    """
    attrs, a, b, c = NodeAttributes(node), required(node, 0), required(node, 1), addend_of(node)
    kind = dtype_of(node, a)
    dtype = DType.FLOAT32 if kind in HALVES and attrs.float("alpha") != 1 else kind

    def scaled(value: Value, name: str) -> Value:
        factor = attrs.float(name)
        if factor == 1:
            return value
        if not dtype.is_float and factor != int(factor):
            raise Unsupported(node, f"{name}={factor} times integers")
        return op.Mul(value, numbers(op, factor if dtype.is_float else int(factor), dtype))

    a, b = (
        op.Transpose(value, perm=[1, 0]) if attrs.flag(name) else value
        for value, name in ((cast(op, node, a, dtype), "transA"), (cast(op, node, b, dtype), "transB"))
    )
    made = scaled(op.MatMul(a, b), "alpha")
    return cast(op, node, made if c is None else op.Add(made, scaled(cast(op, node, c, dtype), "beta")), kind)


@rule("", "GlobalAveragePool", "GlobalMaxPool")
def global_pool(op: Builder, node: Node) -> Value:
    """GlobalAveragePool-22, GlobalMaxPool-22: the mean or the largest of all elements of each channel."""
    x = required(node, 0)
    reduction = "ReduceMean" if node.op_type == "GlobalAveragePool" else "ReduceMax"
    return op.call(reduction, x, op.const(list(range(2, rank_of(node, x)))))


@rule("", "GlobalLpPool")
def global_norm(op: Builder, node: Node) -> Value:
    """GlobalLpPool-22: (sum of |x|^p)^(1/p) over each channel; halves in float32."""
    x = required(node, 0)
    powers, root = _powers(op, node, x)
    return (powers.sum(*range(2, rank_of(node, x)), keepdims=True) ** root).cast(dtype_of(node, x)).value()


@rule("", "LpPool")
def pooled_norm(op: Builder, node: Node) -> Value:
    """LpPool-22: (sum of |x|^p over a window)^(1/p); halves in float32.

    The sum is the average of a window that counts its padding, times the window's size.

    Raises:
        Unsupported: windows that reach over the padding of an image of unknown sizes.
    """
    x, attrs = required(node, 0), NodeAttributes(node)
    names = ("kernel_shape", "strides", "pads", "dilations", "auto_pad")
    same = {name: node.attributes.get(name) for name in names}
    sizes = x.tensor.shape
    spatial = [size for size in (sizes or ())[2:] if isinstance(size, int)]
    if sizes is not None and len(spatial) == len(sizes) - 2:
        view = windows(attrs, spatial, attrs.ints("kernel_shape"))
        if any(more for _, more in view.overhang):
            same |= {"pads": [*view.before, *view.behind], "auto_pad": None}
    elif attrs.flag("ceil_mode"):
        raise Unsupported(node, "windows that reach over the padding (ceil_mode) of an image of unknown sizes")
    powers, root = _powers(op, node, x)
    means = expr(op, op.AveragePool(powers, count_include_pad=1, **same))
    return ((means * math.prod(attrs.ints("kernel_shape"))) ** root).cast(dtype_of(node, x)).value()


def _powers(op: Builder, node: Node, x: Value) -> tuple[Expr, float]:
    """|x|^p, and 1 / p."""
    p = NodeAttributes(node).int("p")
    return expr(op, x, working(node, x)).abs() ** p, 1 / p


_FORMULAS: dict[str, Callable[..., Expr]] = {
    "Reciprocal": lambda x: 1 / x,
    "Xor": lambda a, b: ~a.equals(b),
}

RULES = combine(collect(globals()), formulas(_FORMULAS))
