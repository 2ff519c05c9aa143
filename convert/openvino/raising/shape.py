"""Shapes: asked for, changed, spread out, put together."""

from __future__ import annotations

import numpy as np

from ....passes import build
from ....passes.build import Expr, cast, expr
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import (
    Results,
    choice,
    constant_axis,
    element_type,
    integers,
    normal_axes,
    scalar,
    vector,
)


@rule(DOMAIN, "ShapeOf")
def shape_of(op: Builder, node: Node) -> Results:
    """ShapeOf-1 (int64), ShapeOf-3 (int64 or int32)."""
    return cast(op, op.Shape(input_of(node)), element_type(node, "output_type", "i64") or DType.INT64)


@rule(DOMAIN, "Reshape")
def reshape(op: Builder, node: Node) -> Results:
    """Reshape-1: a 0 copies a dimension only with `special_zero`."""
    x, pattern = input_of(node, 0), vector(op, input_of(node, 1))
    known = integers(pattern)
    literal = not node.attributes.get("special_zero", False) and (known is None or 0 in known)
    return op.Reshape(x, pattern, allowzero=1 if literal else None)


@rule(DOMAIN, "Unsqueeze")
def unsqueeze(op: Builder, node: Node) -> Results:
    """Unsqueeze-1."""
    return op.Unsqueeze(input_of(node, 0), vector(op, input_of(node, 1)))


@rule(DOMAIN, "Squeeze")
def squeeze(op: Builder, node: Node) -> Results:
    """Squeeze-1, -15: without axes (or with none of them) every 1 goes; with `allow_axis_skip` other sizes stay."""
    x, axes = input_of(node, 0), node.input(1)
    known = integers(axes)
    if axes is None or known == []:
        return op.Squeeze(x)
    if not node.attributes.get("allow_axis_skip", False):
        return op.Squeeze(x, vector(op, axes))
    shape, rank = x.tensor.static_shape, x.rank
    if known is not None and shape is not None:
        single = [axis for axis in normal_axes(node, known, len(shape)) if shape[axis] == 1]
        return op.Squeeze(x, op.const(single, DType.INT64)) if single else op.Identity(x)
    if rank is None:
        raise Unsupported(node, "allow_axis_skip on a value of unknown rank")
    sizes, named = expr(op, op.Shape(x)), vector(op, axes)
    chosen = expr(op, [0] * rank).call("ScatterElements", named, named.full_like(1))
    keep = ~(chosen.cast(DType.BOOL) & sizes.equals(1))
    return op.Reshape(x, op.Compress(sizes, keep), allowzero=1)


@rule(DOMAIN, "Transpose")
def transpose(op: Builder, node: Node) -> Results:
    """Transpose-1: an empty order reverses. ONNX's order is constant: one that the model computes is done by the
    elements' positions."""
    x, order = input_of(node), vector(op, input_of(node, 1))
    known = integers(order)
    if known is not None:
        return op.Transpose(x, perm=known or None)
    rank = rank_of(node, x)
    count = order.size(0).item()
    if count not in (None, rank):
        raise Unsupported(node, f"its order names {count} axes, of {rank}")
    if not rank:
        return op.Identity(x)
    if count is None:  # none, or all
        order = build.concat(op, [order.reshape(-1, rank), np.arange(rank)[None, ::-1]]).gather(0)
    sizes, steps = build.shape_of(op, x), _steps(op, x, rank)
    places = [
        (build.arange(op, sizes.gather(axis)) * steps.gather(axis)).unsqueeze(*range(1, rank - index))
        for index, axis in enumerate(order.split(rank, 0))
    ]
    return op.Gather(op.Reshape(x, expr(op, [-1])), sum(places[1:], places[0]), axis=0)


def _steps(op: Builder, x: Value, rank: int) -> Expr:
    """How far two neighbours along each axis are from each other where all elements stand in one row."""
    steps = [expr(op, [1])]
    for axis in range(rank - 1, 0, -1):
        steps.insert(0, steps[0] * build.shape_of(op, x, axis, axis + 1))
    return build.concat(op, steps)


@rule(DOMAIN, "Concat")
def concat(op: Builder, node: Node) -> Results:
    """Concat-1."""
    return op.Concat(*node.inputs, axis=int(node.attributes.get("axis", 0)))


@rule(DOMAIN, "Broadcast")
def broadcast(op: Builder, node: Node) -> Results:
    """Broadcast-1, -3: "explicit" ("none" in -1) says which dimension of the result each dimension becomes."""
    x, target = input_of(node, 0), vector(op, input_of(node, 1))
    explicit = choice(
        node, "mode", "numpy", {"numpy": False, "bidirectional": False, "pdpd": False, "explicit": True, "none": True}
    )
    if explicit:
        x = _by_axes_mapping(op, node, x, target)
    return op.Expand(x, target)


def _by_axes_mapping(op: Builder, node: Node, x: Value, target: Expr) -> Value:
    """`x` with its dimensions at the indices that the axes mapping names, ones between them."""
    mapping = input_of(node, 2)
    axes, rank = integers(mapping), target.size(0).item()
    if axes is not None and axes != sorted(axes):
        raise InvalidModel(f"{node!r}: its axes mapping {axes} isn't in order")
    if axes is not None and rank is not None:
        if x.rank == 0:
            return x
        missing = [axis for axis in range(rank) if axis not in axes]
        return build.unsqueeze(op, x, missing)
    return op.Reshape(x, op.ScatterElements(target.full_like(1), vector(op, mapping), op.Shape(x)), allowzero=1)


@rule(DOMAIN, "Tile")
def tile(op: Builder, node: Node) -> Results:
    """Tile-1: the shorter of shape and repeats gets ones in front."""
    x, repeats = input_of(node, 0), vector(op, input_of(node, 1))
    rank, count = rank_of(node, x), repeats.size(0).item()
    if count is None:
        raise Unsupported(node, "the number of repeats isn't known")
    if rank < count:
        x = build.unsqueeze(op, x, range(count - rank))
    elif count < rank:
        repeats = build.concat(op, [expr(op, [1] * (rank - count)), repeats])
    return op.Tile(x, repeats)


@rule(DOMAIN, "Split")
def split(op: Builder, node: Node) -> Results:
    """Split-1: parts of equal size."""
    axis = constant_axis(node, 1)
    count = len(node.outputs)
    return op.Split(input_of(node), axis=axis, num_outputs=count, _outputs=count)


@rule(DOMAIN, "VariadicSplit")
def variadic_split(op: Builder, node: Node) -> Results:
    """VariadicSplit-1: one length may be -1, what is left."""
    x, lengths = input_of(node, 0), vector(op, input_of(node, 2))
    axis = constant_axis(node, 1)
    known, extent = integers(lengths), size_of_axis(x, axis)
    if known is not None and -1 in known and extent is not None:
        rest = extent - sum(item for item in known if item >= 0)
        lengths = expr(op, [rest if item == -1 else item for item in known])
    elif known is None or -1 in known:
        minus = lengths.equals(-1)
        left = build.size_of(op, x, axis) - build.where(minus, 0, lengths).sum(keepdims=True)
        lengths = build.where(minus, left, lengths)
    return op.Split(x, lengths, axis=axis, _outputs=len(node.outputs))


@rule(DOMAIN, "Range")
def range_(op: Builder, node: Node) -> Results:
    """Range-1 (one type) and Range-4 (counted with the inputs' own values, made of them cast to `output_type`)."""
    ends = [input_of(node, index) for index in range(3)]
    dtype = element_type(node, "output_type") or node.output.tensor.dtype or ends[0].tensor.dtype
    if dtype is None:
        raise Unsupported(node, "its element type isn't known")
    floats = [value.tensor.dtype for value in ends if value.tensor.dtype is not None and value.tensor.dtype.is_float]
    if dtype.is_float or not floats:
        wide = dtype if dtype in _RANGES else DType.FLOAT32 if dtype.is_float else DType.INT64
        return cast(op, op.Range(*(scalar(op, value, wide) for value in ends)), dtype)
    # a whole-number range between fractions: how many is decided before they lose their fractions
    widest = DType.FLOAT64 if DType.FLOAT64 in floats else DType.FLOAT32
    start, stop, step = (scalar(op, value, widest) for value in ends)
    count = ((stop - start) / step).ceil().maximum(0).cast(DType.INT64)
    first, each = (scalar(op, value, DType.INT64) for value in (ends[0], ends[2]))
    return (build.arange(op, count) * each + first).cast(dtype).value()


_RANGES = (DType.FLOAT32, DType.FLOAT64, DType.INT16, DType.INT32, DType.INT64)


@rule(DOMAIN, "Eye")
def eye(op: Builder, node: Node) -> Results:
    """Eye-9: ones where column - row is the diagonal's index, repeated over a batch shape."""
    height, width, diagonal = (scalar(op, input_of(node, index), DType.INT64) for index in range(3))
    dtype = element_type(node, "output_type", "f32") or DType.FLOAT32
    matrix = (build.arange(op, height)[:, None] + diagonal).equals(build.arange(op, width)).cast(dtype)
    batch = node.input(3)
    if batch is None or integers(batch) == []:
        return matrix.value()
    return op.Expand(matrix, build.shape_vector(op, [vector(op, batch), height, width]))


RULES = collect(globals())
