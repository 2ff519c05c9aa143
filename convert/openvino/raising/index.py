"""By index: gathers, scatters, and what makes indices (OneHot, NonZero, Unique)."""

from __future__ import annotations

import math

from ....passes.build import cast, concat, constant_like, expr, reshape, shape_of, transpose, where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    Results,
    call,
    choice,
    constant_axis,
    element_type,
    in_wider_type,
    integers,
    inverse_perm,
    normal_axes,
    perm_moving_axis,
    scalar,
    vector,
)

_NARROW = (DType.BOOL, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.UINT32)
_INDEX_TYPES = (DType.INT32, DType.INT64)


def _indices(op: Builder, value: Value) -> Value:
    """Indices in a type that ONNX takes."""
    return value if value.tensor.dtype in _INDEX_TYPES else cast(op, value, DType.INT64)


@rule(DOMAIN, "Gather")
def gather(op: Builder, node: Node) -> Results:
    """Gather-1, -7 (batch dimensions), -8 (negative indices): leading `batch_dims` dimensions belong together."""
    x, indices = input_of(node, 0), _indices(op, input_of(node, 1))
    axis, batch = constant_axis(node, 2), int(node.attributes.get("batch_dims", 0))
    if not batch:
        return op.Gather(x, indices, axis=axis)
    rank, count = rank_of(node, x), rank_of(node, indices)
    axis, batch = normal_axes(node, [axis], rank)[0], batch + count if batch < 0 else batch
    if not 0 <= batch <= min(axis, count):
        raise InvalidModel(f"{node!r}: {batch} batch dimensions, indices of rank {count} along axis {axis}")
    last = cast(op, op.Unsqueeze(indices, op.const([-1])), DType.INT64)
    found = op.GatherND(transpose(op, x, perm_moving_axis(rank, axis, batch)), last, batch_dims=batch)
    # batch, indices, then what stood before and after the axis: the indices belong where the axis was
    own = list(range(batch, count))
    before = list(range(count, count + axis - batch))
    after = list(range(count + axis - batch, count - batch + rank - 1))
    return transpose(op, found, [*range(batch), *before, *own, *after])


@rule(DOMAIN, "GatherElements")
def gather_elements(op: Builder, node: Node) -> Results:
    """GatherElements-6."""
    axis = int(node.attributes.get("axis", 0))
    return op.GatherElements(input_of(node, 0), _indices(op, input_of(node, 1)), axis=axis)


@rule(DOMAIN, "GatherND")
def gather_nd(op: Builder, node: Node) -> Results:
    """GatherND-5 (makes one dimension of the batch's), GatherND-8."""
    x, indices = input_of(node, 0), cast(op, input_of(node, 1), DType.INT64)
    batch = int(node.attributes.get("batch_dims", 0))
    found = op.GatherND(x, indices, batch_dims=batch)
    if node.version >= 8 or batch < 2:
        return found
    return reshape(op, found, [-1, shape_of(op, found, batch)])


# scatters ------------------------------------------------------------------------------------------

_LOGICAL = {"add": "max", "mul": "min"}  # or, and
_REDUCTIONS = {"none": "none", "sum": "add", "sub": "add", "prod": "mul", "min": "min", "max": "max", "mean": "add"}


def _least(dtype: DType, reduction: str) -> float | int:
    """What a reduction starts with when the data isn't to count."""
    if reduction in ("add", "mul"):
        return 0 if reduction == "add" else 1
    if dtype.is_float:
        return math.inf if reduction == "min" else -math.inf
    return dtype.finite_limits[reduction == "min"]


def _reducible(op: Builder, value: Value) -> Value:
    """`value` in a type that runtimes reduce."""
    return cast(op, value, DType.INT32) if value.tensor.dtype is DType.BOOL else in_wider_type(expr(op, value)).value()


@rule(DOMAIN, "ScatterElementsUpdate")
def scatter_elements(op: Builder, node: Node) -> Results:
    """ScatterElementsUpdate-3, -12: ONNX's has no mean, and the data always counts."""
    x, indices, updates = input_of(node, 0), _indices(op, input_of(node, 1)), input_of(node, 2)
    axis = constant_axis(node, 3)
    reduction: str = choice(node, "reduction", "none", _REDUCTIONS)
    if reduction == "none":
        return op.ScatterElements(x, indices, updates, axis=axis)
    dtype = dtype_of(node, x)
    mean = str(node.attributes["reduction"]).lower() == "mean"
    own = bool(node.attributes.get("use_init_val", True))
    if dtype is DType.BOOL:
        if mean:
            raise Unsupported(node, "the mean of booleans")
        reduction = _LOGICAL.get(reduction, reduction)
    x, updates = _reducible(op, x), _reducible(op, updates)

    def scatter(data: Value, what: Value, how: str) -> Value:
        return call(op, "ScatterElements", data, indices, what, axis=axis, reduction=how)

    start = x
    if not own:
        neutral = op.Expand(constant_like(op, _least(dtype, reduction), x), op.Shape(updates))
        start = op.ScatterElements(x, indices, neutral, axis=axis)
    total = scatter(start, updates, reduction)
    if not mean:
        return cast(op, total, dtype)
    zeros = op.Expand(constant_like(op, 0, x), op.Shape(x))
    hits = scatter(zeros, op.Expand(constant_like(op, 1, x), op.Shape(updates)), "add")
    one = constant_like(op, 1, x)
    count = op.Add(hits, one) if own else op.Max(hits, one)
    if dtype.is_float:
        return cast(op, op.Div(total, count), dtype)
    rest = call(op, "Mod", total, count)  # never negative, so that the division is exact: rounded down
    return cast(op, call(op, "Div", op.Sub(total, rest), count), dtype)


@rule(DOMAIN, "ScatterNDUpdate")
def scatter_nd(op: Builder, node: Node) -> Results:
    """ScatterNDUpdate-3, -15 (reductions; "sub" adds the negative)."""
    x, indices, updates = input_of(node, 0), cast(op, input_of(node, 1), DType.INT64), input_of(node, 2)
    reduction = choice(node, "reduction", "none", _REDUCTIONS)
    word = str(node.attributes.get("reduction", "none")).lower()
    dtype = dtype_of(node, x)
    if word == "mean":
        raise Unsupported(node, "reduction is 'mean'")
    if reduction == "none":
        return op.ScatterND(x, indices, updates)
    if dtype is DType.BOOL:
        if word == "sub":
            raise Unsupported(node, "booleans are subtracted")
        reduction = _LOGICAL.get(reduction, reduction)
    x, updates = _reducible(op, x), _reducible(op, updates)
    if word == "sub":
        updates = call(op, "Neg", updates)
    made = call(op, "ScatterND", x, indices, updates, reduction=reduction)
    return cast(op, made, dtype)


@rule(DOMAIN, "ScatterUpdate")
def scatter_update(op: Builder, node: Node) -> Results:
    """ScatterUpdate-3: whole slices of one axis, at indices of any rank."""
    x, indices, updates = input_of(node, 0), cast(op, input_of(node, 1), DType.INT64), input_of(node, 2)
    rank, count = rank_of(node, x), rank_of(node, indices)
    axis = normal_axes(node, [constant_axis(node, 3)], rank)[0]
    positions = op.Unsqueeze(indices, op.const([-1]))
    own = list(range(axis, axis + count))
    perm = own + [dim for dim in range(rank - 1 + count) if dim not in own]
    front = perm_moving_axis(rank, axis, 0)
    made = op.ScatterND(transpose(op, x, front), positions, transpose(op, updates, perm))
    return transpose(op, made, inverse_perm(front))


@rule(DOMAIN, "SliceScatter")
def slice_scatter(op: Builder, node: Node) -> Results:
    """SliceScatter-15: the data's own flat indices are sliced, and the updates scattered to them."""
    x, updates, start, stop, step = (input_of(node, index) for index in range(5))
    axes = node.input(5)
    shape = op.Shape(x)
    flat = op.Reshape(x, op.const([-1]))
    indices = op.Reshape(op.Range(op.const(0), op.ReduceProd(shape, keepdims=0), op.const(1)), shape)
    chosen = op.Slice(indices, *(None if part is None else vector(op, part) for part in (start, stop, axes, step)))
    chosen = op.Reshape(chosen, op.const([-1, 1]))
    return op.Reshape(op.ScatterND(flat, chosen, op.Reshape(updates, op.const([-1]))), shape)


# indices made --------------------------------------------------------------------------------------


@rule(DOMAIN, "OneHot")
def one_hot(op: Builder, node: Node) -> Results:
    """OneHot-1, -16: a negative index is nowhere, but for `negative_indices_mode` "normalize", which is ONNX's."""
    indices, depth, on, off = (input_of(node, index) for index in range(4))
    mode = choice(node, "negative_indices_mode", "ignore_negative", {"ignore_negative": False, "normalize": True})
    depth = scalar(op, depth, DType.INT64)
    indices = cast(op, indices, DType.INT64)
    if not mode:
        index = expr(op, indices)
        indices = where(index < 0, depth, index).value()
    dtype = dtype_of(node, on)
    wide = DType.INT64 if dtype in _NARROW else dtype  # runtimes have few of the types
    values = concat(op, [vector(op, value, wide) for value in (off, on)])
    if indices.rank == 0:  # ONNX wants a dimension
        return cast(op, op.Squeeze(op.OneHot(reshape(op, indices, [1]), depth, values), op.const([0])), dtype)
    return cast(op, op.OneHot(indices, depth, values, axis=int(node.attributes.get("axis", -1))), dtype)


@rule(DOMAIN, "NonZero")
def non_zero(op: Builder, node: Node) -> Results:
    """NonZero-3; of a scalar that of a vector of one element."""
    x = input_of(node)
    found = op.NonZero(op.Reshape(x, op.const([1])) if x.rank == 0 else x)
    return cast(op, found, element_type(node, "output_type", "i64") or DType.INT64)


@rule(DOMAIN, "Unique")
def unique(op: Builder, node: Node) -> Results:
    """Unique-10; of a vector along its only axis, or of what it was made of, it is the one of all elements."""
    axis = None if node.input(1) is None else constant_axis(node, 1)
    x = input_of(node)
    if x.rank == 1:
        maker, axis = x.producer, None
        if maker is not None and maker.op == ("", "Reshape") and integers(maker.input(1)) == [-1]:
            x = input_of(maker)
    dtype = dtype_of(node, x)
    made = call(
        op,
        "Unique",
        cast(op, x, DType.INT64) if dtype in _NARROW else x,  # runtimes have few of the types
        _outputs=4,
        axis=axis,
        sorted=int(node.attributes.get("sorted", True)),
    )
    index = element_type(node, "index_element_type", "i64") or DType.INT64
    counts = element_type(node, "count_element_type", "i64") or DType.INT64
    return cast(op, made[0], dtype), cast(op, made[1], index), cast(op, made[2], index), cast(op, made[3], counts)


def _count_before(op: Builder, edges: Value, x: Value, included: bool, dtype: DType) -> Value:
    """How many edges along the last axis lie before each number, equal ones counted if they are `included`."""
    column = op.Unsqueeze(x, op.const([-1]))
    below = call(op, "LessOrEqual" if included else "Less", edges, column)
    return cast(op, op.ReduceSum(cast(op, below, DType.INT64), op.const([-1]), keepdims=0), dtype)


@rule(DOMAIN, "Bucketize")
def bucketize(op: Builder, node: Node) -> Results:
    """Bucketize-3: how many borders lie before a number, the equal one with the right bound not counted."""
    x, borders = input_of(node, 0), input_of(node, 1)
    dtype = element_type(node, "output_type", "i64") or DType.INT64
    if size_of_axis(borders, 0) == 0:
        ones = cast(op, op.Equal(x, x), dtype)
        return op.Sub(ones, ones)  # of x's sizes, whatever sizes the layer declares
    common = DType.FLOAT64 if x.tensor.dtype is not borders.tensor.dtype else dtype_of(node, x)
    included = not node.attributes.get("with_right_bound", True)
    return _count_before(op, cast(op, borders, common), cast(op, x, common), included, dtype)


@rule(DOMAIN, "SearchSorted")
def search_sorted(op: Builder, node: Node) -> Results:
    """SearchSorted-15: rows of sorted numbers, or one row for all."""
    edges, x = input_of(node, 0), input_of(node, 1)
    if edges.rank != 1:
        edges = op.Unsqueeze(edges, op.const([-2]))
    dtype = element_type(node, "output_type", "i64") or DType.INT64
    return _count_before(op, edges, x, bool(node.attributes.get("right_mode", False)), dtype)


RULES = collect(globals())
