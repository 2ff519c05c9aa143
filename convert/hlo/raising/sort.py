"""sort and topk: TopK of one key after the other, the least significant one first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.build import where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from ..infer_tools import axis as axis_of
from ..infer_tools import number
from .arrays import INT64_MIN, Array, arrays, moved, values
from .bodies import applied, computation, part
from .comparators import keys
from .extremes import is_count
from .support import Results, shape_of

_BEYOND = 1e300  # of doubles that hold narrower floats: more than the infinity among them
_ZERO = 1e-50  # less than all of them but zeros
_MOVERS = frozenset(["Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"])
_Order = tuple[Array, bool]
"""Numbers to sort by, none of them NaN, and whether the largest comes first."""


@rule(DOMAIN, "sort")
def sort(op: Builder, node: Node) -> Results:
    """sort by any comparator that is a weak order; equal elements stay in order, stable or not."""
    operands = [given(node, index) for index in range(len(node.inputs))]
    region, shape = computation(node), shape_of(node, operands[0])
    axis = axis_of(node, len(shape))
    if 0 in shape or shape[axis] == 1:
        return operands
    found = keys(region)
    if found is None:
        op.rewriter.notes.append(
            f"{node!r}: its comparator is no comparison of keys: all pairs of elements are compared"
        )
        orders = [(_ranks(op, region, operands, shape, axis), False)]
    else:
        pairs = [value for value in operands for _ in (0, 1)]
        orders: list[_Order] = []
        for key in found:
            if key.value in region.inputs:
                made = pairs[region.inputs.index(key.value)]
            else:
                made = applied(op, part(region, key.value), pairs, shape)[0]
            orders += [(one, key.descending) for one in _comparable(op, node, made, key.total, key.canonical)]
    best, places = _sorted(orders, axis, shape[axis])
    return values([_moved(x, places, axis, orders, best) for x in arrays(op, *operands)])


def _moved(x: Array, places: Array, axis: int, orders: Sequence[_Order], best: Array) -> Array:
    """An operand in its new order: where it is what is sorted by, or counts, it is there already."""
    if len(orders) == 1 and orders[0][0].value() is x.value():
        return best
    if is_count(x.value(), axis):
        return places.cast(x.dtype)
    return _gathered(x, places, axis)


def _gathered(x: Array, places: Array, axis: int) -> Array:
    return moved(x, lambda wide: wide.call("GatherElements", places, axis=axis))


def _sorted(orders: Sequence[_Order], axis: int, count: int) -> tuple[Array, Array]:
    """The first of several numbers sorted, and at which place everything stood before."""
    places = best = None
    for numbers, descending in reversed(orders):
        if places is not None:
            numbers = numbers.call("GatherElements", places, axis=axis)
        found = numbers.op.TopK(numbers, numbers.op.const([count]), _outputs=2, axis=axis, largest=int(descending))
        best, order = map(numbers.make, found)
        places = order if places is None else places.call("GatherElements", order, axis=axis)
    assert best is not None and places is not None
    return best, places


def _comparable(op: Builder, node: Node, value: Value, total: bool, canonical: bool) -> list[Array]:
    """Numbers that order as the values do, the most significant ones first.

    What compares floats without their total order says nothing of NaN, which may stay. The total order ends with the
    NaN without a sign and begins with those that have one. ONNX doesn't tell them apart: all of a value count as
    without, of what was negated as with one.
    """
    x = Array(op, value)
    dtype = x.dtype
    if dtype is DType.UINT64:
        return [x.cast(DType.INT64) + INT64_MIN]
    if not dtype.is_float:
        return [x.cast(DType.INT64 if dtype is DType.UINT32 else DType.INT32 if dtype.bits < 32 else dtype)]
    if not total:
        return [x.cast(DType.FLOAT32) if dtype.bits < 32 else x]
    nan, first = x.isnan(), not canonical and _is_negated(value)
    if not canonical:
        place = "smallest" if first else "largest"
        op.rewriter.notes.append(f"{node!r}: NaN counts as the {place}, whatever its own sign, which ONNX doesn't tell")
    if dtype is DType.FLOAT64:
        return _of_doubles(x, nan, first, canonical)
    wide = x.cast(DType.FLOAT64)
    if not canonical:  # a zero's sign shows when something is divided by it
        wide = wide + (1 / _BEYOND / wide).call("Clip", -_ZERO, _ZERO)
    return [where(nan, -np.inf, wide.maximum(-_BEYOND)) if first else where(nan, np.inf, wide.minimum(_BEYOND))]


def _of_doubles(x: Array, nan: Array, first: bool, canonical: bool) -> list[Array]:
    """As `_comparable`, where no wider type is left: NaN apart, and the signs of zeros."""
    found = [(~nan if first else nan).cast(DType.INT32), where(nan, 0, x)]
    if not canonical:
        found.append((x.equals(0) & (1 / x > 0)).cast(DType.INT32))
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


def _ranks(op: Builder, region: Graph, operands: Sequence[Value], shape: Sequence[int], axis: int) -> Array:
    """How many elements come before each: every one is compared with every other."""
    count, rank = shape[axis], len(shape) + 1
    full = [*shape[:axis], count, *shape[axis:]]
    xs = arrays(op, *operands)
    pairs = values([x.unsqueeze(at).broadcast_to(*full) for x in xs for at in (axis + 1, axis)])
    less = Array(op, applied(op, region, pairs, full)[0])
    across = [*range(axis), axis + 1, axis, *range(axis + 2, rank)]
    before = less & ~less.call("Transpose", perm=across)
    behind = before.call("Transpose", perm=across)
    earlier = np.triu(np.ones((count, count), np.bool_), 1).reshape([count, count, *[1] * (rank - axis - 2)])
    return (before | (less.make(earlier) & ~behind)).cast(DType.INT64).sum(axis)


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
    best, places = _sorted(orders, axis, count if len(orders) == 1 else shape[axis])
    places = places.slice([0] * len(shape), [*shape[:-1], count])
    best = best if found[0].value() is value else _gathered(Array(op, value), places, axis)
    return [best.value(), places.cast(DType.INT32).value()]


RULES = collect(globals())
