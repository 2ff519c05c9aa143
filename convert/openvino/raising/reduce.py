"""Along axes: reductions, cumulative sums, the largest ones, normalizations."""

from __future__ import annotations

from ....passes.build import Expr, cast, constant_like, expr, pad
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .sampling import in_float32
from .support import (
    Results,
    call,
    choice,
    constant_integers,
    element_type,
    integers,
    normal_axes,
    required,
    scalar,
    vector,
)

_REDUCTIONS = {
    "ReduceL1": "ReduceL1",
    "ReduceL2": "ReduceL2",
    "ReduceLogicalAnd": "ReduceMin",
    "ReduceLogicalOr": "ReduceMax",
    "ReduceMax": "ReduceMax",
    "ReduceMean": "ReduceMean",
    "ReduceMin": "ReduceMin",
    "ReduceProd": "ReduceProd",
    "ReduceSum": "ReduceSum",
}


@rule(DOMAIN, *_REDUCTIONS)
def reduce(op: Builder, node: Node) -> Results:
    """Reduce*-1, -4: no axes reduce nothing, and along one that was made for it alone, one element is all there is."""
    x, axes = input_of(node, 0), input_of(node, 1)
    target = _REDUCTIONS[node.op_type]
    known, keep = integers(axes), bool(node.attributes.get("keep_dims", False))
    maker = x.producer if node.op_type.startswith("ReduceLogical") and known and not keep else None
    if maker is not None and maker.op == ("", "Unsqueeze") and known == integers(maker.input(1)):
        return op.Identity(input_of(maker, 0))
    if known == []:
        return op.Abs(x) if target in ("ReduceL1", "ReduceL2") else op.Identity(x)
    shape, dtype = x.tensor.static_shape, x.tensor.dtype
    if dtype is DType.BOOL and not (shape and all(shape)):
        x = cast(op, x, DType.UINT8)  # ONNX Runtime reduces no booleans where there are none, but it does numbers
    given = {"keepdims": int(keep), "noop_with_empty_axes": None if known else 1}
    reduced = call(op, target, x, vector(op, axes), **given)
    return reduced if dtype is not DType.BOOL else cast(op, reduced, DType.BOOL)


@rule(DOMAIN, "CumSum")
def cumsum(op: Builder, node: Node) -> Results:
    """CumSum-3: axis 0 where none is given."""
    axis = node.input(1)
    return call(
        op,
        "CumSum",
        input_of(node),
        op.const(0) if axis is None else scalar(op, axis, DType.INT64),
        exclusive=int(node.attributes.get("exclusive", False)),
        reverse=int(node.attributes.get("reverse", False)),
    )


@rule(DOMAIN, "TopK")
def topk(op: Builder, node: Node) -> Results:
    """TopK-1, -3, -11: "none" leaves the order open, so ONNX's does; "index" sorts once more, by index."""
    x, k = input_of(node, 0), vector(op, input_of(node, 1))
    axis = int(node.attributes.get("axis", 0))
    largest = choice(node, "mode", "max", {"max": 1, "min": 0})
    by_index = choice(node, "sort", "none", {"none": False, "value": False, "index": True})
    values, indices = call(op, "TopK", x, k, _outputs=2, axis=axis, largest=largest, sorted=1)
    if by_index:
        indices, positions = op.TopK(indices, k, _outputs=2, axis=axis, largest=0, sorted=1)
        values = op.GatherElements(values, positions, axis=axis)
    return values, cast(op, indices, element_type(node, "index_element_type", "i32") or DType.INT32)


# normalizations ------------------------------------------------------------------------------------


def _normalized(x: Expr, axes: Expr, variance: bool, eps: float, inside: bool) -> Value:
    centred = x - x.call("ReduceMean", axes, keepdims=1)
    if not variance:
        return centred.value()
    spread = (centred * centred).call("ReduceMean", axes, keepdims=1)
    return (centred / ((spread + eps).sqrt() if inside else spread.sqrt() + eps)).value()


@rule(DOMAIN, "MVN")
@in_float32
def mvn(op: Builder, node: Node) -> Results:
    """MVN-1 (axes by attribute, or all but the batch, with or without the channels) and MVN-6 (axes an input)."""
    x = input_of(node)
    attributes = node.attributes
    inside = choice(node, "eps_mode", "inside_sqrt", {"inside_sqrt": True, "outside_sqrt": False})
    if node.input(1) is not None:
        axes = vector(op, input_of(node, 1))
    else:
        known = attributes.get("reduction_axes") or []
        first = 1 if attributes.get("across_channels", False) else 2
        axes = expr(op, list(known) or list(range(first, rank_of(node, x))), DType.INT64)
    variance = bool(attributes.get("normalize_variance", False))
    return _normalized(expr(op, x), axes, variance, float(attributes.get("eps", 0.0)), inside)


@rule(DOMAIN, "NormalizeL2")
@in_float32
def normalize_l2(op: Builder, node: Node) -> Results:
    """NormalizeL2-1: eps is added to the sum of squares, or is its least value."""
    x, axes = input_of(node, 0), input_of(node, 1)
    squares = op.Mul(x, x)
    if integers(axes) != []:
        squares = op.ReduceSum(squares, vector(op, axes), keepdims=1, noop_with_empty_axes=1)
    join = choice(node, "eps_mode", "add", {"add": "Add", "max": "Max"})
    return op.Div(x, op.Sqrt(op.call(join, squares, constant_like(op, node.attributes.get("eps", 0.0), x))))


@rule(DOMAIN, "GRN")
@in_float32
def grn(op: Builder, node: Node) -> Results:
    """GRN-1: by the root of the channels' sum of squares plus bias."""
    x = input_of(node)
    total = op.ReduceSum(op.Mul(x, x), op.const([1]), keepdims=1)
    return op.Div(x, op.Sqrt(op.Add(total, constant_like(op, node.attributes.get("bias", 1.0), x))))


@rule(DOMAIN, "BatchNormInference")
def batch_norm(op: Builder, node: Node) -> Results:
    """BatchNormInference-1 takes gamma and beta before the data, -5 after it."""
    inputs = [input_of(node, index) for index in range(5)]
    order = (2, 0, 1, 3, 4) if node.version < 5 else (0, 1, 2, 3, 4)
    return call(
        op,
        "BatchNormalization",
        *(inputs[index] for index in order),
        epsilon=float(node.attributes.get("epsilon", 0.0)),
    )


@rule(DOMAIN, "LRN")
def lrn(op: Builder, node: Node) -> Results:
    """LRN-1: over the channels it is ONNX's; over other axes the window is summed by shifted slices.

    A window of even size reaches as far as the one before it, but its sum is divided by its own size.
    """
    x = input_of(node)
    rank = rank_of(node, x)
    axes = normal_axes(node, constant_integers(node, 1, "the axes"), rank)
    alpha, beta, bias = (float(required(node, name)) for name in ("alpha", "beta", "bias"))
    length = int(required(node, "size"))
    if axes == [1] and rank == 4 and length % 2:  # runtimes have it of images only
        return op.LRN(x, alpha=alpha, beta=beta, bias=bias, size=length)
    total = op.Mul(x, x)
    half = (length - 1) // 2
    width = 2 * half + 1
    for axis in axes:
        padded, extent = pad(op, total, [half], [half], 0, [axis]), size_of_axis(x, axis)
        stops = [(shift - width + 1 or None) if extent is None else shift + extent for shift in range(width)]
        lead = (slice(None),) * axis
        total = op.Sum(*(expr(op, padded)[(*lead, slice(shift, stop))] for shift, stop in enumerate(stops)))
    scale = constant_like(op, alpha / length ** len(axes), x)
    return op.Div(x, op.Pow(op.Add(constant_like(op, bias, x), op.Mul(scale, total)), constant_like(op, beta, x)))


RULES = collect(globals())
