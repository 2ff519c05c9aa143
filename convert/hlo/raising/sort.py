"""sort and topk: TopK of one key after the other, the least significant one first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.build import cast
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from ..infer_tools import axis as axis_of
from ..infer_tools import number
from .bodies import applied, computation, part
from .comparators import keys
from .extremes import is_count
from .support import Results, dtype_of, given, shape_of
from .views import INT64_MIN, WIDE, broadcast_to, narrowed, sizes

_BEYOND = 1e300  # of doubles that hold narrower floats: more than the infinity among them
_ZERO = 1e-50  # less than all of them but zeros
_MOVERS = frozenset(["Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"])
_Order = tuple[Value, bool]
"""Numbers to sort by, none of them NaN, and whether the largest comes first."""


@rule(DOMAIN, "sort")
def sort(op: Builder, node: Node) -> Results:
    """sort by any comparator that is a weak order; equal elements stay in order, stable or not."""
    values = [given(node, index) for index in range(len(node.inputs))]
    region, shape = computation(node), shape_of(node, values[0])
    axis = axis_of(node, len(shape))
    if 0 in shape or shape[axis] == 1:
        return values
    found = keys(region)
    if found is None:
        op.rewriter.notes.append(
            f"{node!r}: its comparator is no comparison of keys: all pairs of elements are compared"
        )
        orders = [(_ranks(op, region, values, shape, axis), False)]
    else:
        pairs = [value for value in values for _ in (0, 1)]
        orders = []
        for key in found:
            if key.value in region.inputs:
                made = pairs[region.inputs.index(key.value)]
            else:
                made = applied(op, part(region, key.value), pairs, shape)[0]
            orders += [(one, key.descending) for one in _comparable(op, node, made, key.total, key.canonical)]
    best, places = _sorted(op, orders, axis, shape[axis])
    return [_moved(op, node, value, places, axis, orders, best) for value in values]


def _moved(
    op: Builder, node: Node, value: Value, places: Value, axis: int, orders: Sequence[_Order], best: Value
) -> Value:
    """An operand in its new order: where it is what is sorted by, or counts, it is there already."""
    if len(orders) == 1 and orders[0][0] is value:
        return best
    if is_count(value, axis):
        return cast(op, places, dtype_of(node, value))
    return _gathered(op, node, value, places, axis)


def _gathered(op: Builder, node: Node, value: Value, places: Value, axis: int) -> Value:
    """GatherElements; types that it doesn't take in wider ones."""
    dtype = dtype_of(node, value)
    if dtype not in WIDE:
        return op.GatherElements(value, places, axis=axis)
    return narrowed(op, op.GatherElements(cast(op, value, WIDE[dtype]), places, axis=axis), dtype)


def _sorted(op: Builder, orders: Sequence[_Order], axis: int, count: int) -> tuple[Value, Value]:
    """The first of several numbers sorted, and at which place everything stood before."""
    size, places, best = sizes(op, [count]), None, None
    for numbers, descending in reversed(orders):
        if places is not None:
            numbers = op.GatherElements(numbers, places, axis=axis)
        best, order = op.TopK(numbers, size, _outputs=2, axis=axis, largest=int(descending))
        places = order if places is None else op.GatherElements(places, order, axis=axis)
    assert best is not None and places is not None
    return best, places


def _comparable(op: Builder, node: Node, value: Value, total: bool, canonical: bool) -> list[Value]:
    """Numbers that order as the values do, the most significant ones first.

    What compares floats without their total order says nothing of NaN, which may stay. The total order ends with the
    NaN without a sign and begins with those that have one. ONNX doesn't tell them apart: all of a value count as
    without, of what was negated as with one.
    """
    dtype = dtype_of(node, value)
    if dtype is DType.UINT64:
        return [op.Add(cast(op, value, DType.INT64), op.const(INT64_MIN, DType.INT64))]
    if not dtype.is_float:
        wide = DType.INT64 if dtype is DType.UINT32 else DType.INT32 if dtype.bits < 32 else dtype
        return [cast(op, value, wide)]
    if not total:
        return [cast(op, value, DType.FLOAT32) if dtype.bits < 32 else value]
    odd, first = op.IsNaN(value), not canonical and _is_negated(value)
    if not canonical:
        place = "smallest" if first else "largest"
        op.rewriter.notes.append(f"{node!r}: NaN counts as the {place}, whatever its own sign, which ONNX doesn't tell")
    if dtype is DType.FLOAT64:
        return _of_doubles(op, value, odd, first, canonical)
    wide, double = cast(op, value, DType.FLOAT64), DType.FLOAT64
    if not canonical:  # a zero's sign shows when something is divided by it
        sign = op.Div(op.const(1 / _BEYOND, double), wide)
        wide = op.Add(wide, op.Clip(sign, op.const(-_ZERO, double), op.const(_ZERO, double)))
    if first:
        return [op.Where(odd, op.const(-np.inf, double), op.Max(wide, op.const(-_BEYOND, double)))]
    return [op.Where(odd, op.const(np.inf, double), op.Min(wide, op.const(_BEYOND, double)))]


def _of_doubles(op: Builder, value: Value, odd: Value, first: bool, canonical: bool) -> list[Value]:
    """As `_comparable`, where no wider type is left: NaN apart, and the signs of zeros."""
    zero = op.const(0, DType.FLOAT64)
    found = [cast(op, op.Not(odd) if first else odd, DType.INT32), op.Where(odd, zero, value)]
    if not canonical:
        positive = op.Greater(op.Div(op.const(1, DType.FLOAT64), value), zero)
        found.append(cast(op, op.And(op.Equal(value, zero), positive), DType.INT32))
    return found


def _is_negated(value: Value) -> bool:
    """Whether a value is another one negated, which gives NaN a sign."""
    maker = value.producer
    if maker is None or maker.domain or maker.inputs[:1] in ([], [None]):
        return False
    source = maker.inputs[0]
    assert source is not None
    if maker.op_type == "Neg":
        return not _is_negated(source)
    return maker.op_type in _MOVERS and _is_negated(source)


def _ranks(op: Builder, region: Graph, values: Sequence[Value], shape: Sequence[int], axis: int) -> Value:
    """How many elements come before each: every one is compared with every other."""
    count, rank = shape[axis], len(shape) + 1
    full = [*shape[:axis], count, *shape[axis:]]
    pairs = []
    for value in values:
        pairs.append(broadcast_to(op, op.Unsqueeze(value, sizes(op, [axis + 1])), full))
        pairs.append(broadcast_to(op, op.Unsqueeze(value, sizes(op, [axis])), full))
    (less,) = applied(op, region, pairs, full)
    across = [*range(axis), axis + 1, axis, *range(axis + 2, rank)]
    before = op.And(less, op.Not(op.Transpose(less, perm=across)))
    behind = op.Transpose(before, perm=across)
    earlier = np.triu(np.ones((count, count), np.bool_), 1).reshape([count, count, *[1] * (rank - axis - 2)])
    first = op.Or(before, op.And(op.const(earlier), op.Not(behind)))
    return op.ReduceSum(cast(op, first, DType.INT64), sizes(op, [axis]), keepdims=0)


@rule(DOMAIN, "topk")
def topk(op: Builder, node: Node) -> Results:
    """topk of the last dimension: floats in their total order, of equal elements the first."""
    return extremes(op, node, given(node, 0), number(node, "k"), bool(node.attributes.get("largest", True)))


def topk_call(op: Builder, node: Node) -> Results:
    """The custom call "TopK", as XLA wrote it before it had an opcode for it: the largest elements and their places."""
    if len(node.outputs) != 2:
        raise InvalidModel(f"{node!r}: it has {len(node.outputs)} results, not 2")
    largest = True
    for region in node.regions.values():
        found = keys(region)
        if found is None or len(found) != 1:
            raise Unsupported(node, "its comparator doesn't compare the elements")
        largest = found[0].descending
    return extremes(op, node, given(node, 0), shape_of(node, node.outputs[0])[-1], largest)


def extremes(op: Builder, node: Node, value: Value, count: int, largest: bool) -> list[Value]:
    """The `count` largest or smallest elements of the last dimension, in order, and their places (s32)."""
    shape = shape_of(node, value)
    axis = len(shape) - 1
    found = _comparable(op, node, value, total=True, canonical=False)
    orders = [(one, largest) for one in found]
    kept = count if len(orders) == 1 else shape[axis]
    best, places = _sorted(op, orders, axis, kept)
    if kept != count:
        places = op.Slice(places, sizes(op, [0]), sizes(op, [count]), sizes(op, [axis]))
    values = best if found[0] is value else _gathered(op, node, value, places, axis)
    return [values, cast(op, places, DType.INT32)]


RULES = collect(globals())
