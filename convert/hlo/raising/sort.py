"""sort and topk: TopK of one key after the other, the least significant one first; which keys a comparator sorts by."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import shape_vector, where
from ....passes.build.values import INT64_MIN
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.loops.ranges import limits, scalar
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..infer_tools import axis as axis_of
from ..infer_tools import number
from .arrays import Array, arrays, move_widened, values
from .computations import applied, computation, is_count, part
from .support import Results, shape_of

_DOWN = {"LT": False, "LE": False, "GT": True, "GE": True}
_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


@dataclass(frozen=True, slots=True)
class Key:
    """A value that a comparator makes of the left element and, alike, of the right one, and how it orders them.

    `total`: floats in their total order, -0 before +0 and NaN at the end. `canonical`: the value has no -0, and only
    one NaN, made so from `value` (as jax does before it compares).
    """

    value: Value
    descending: bool
    total: bool = False
    canonical: bool = False


def keys(region: Graph) -> list[Key] | None:
    """The keys of a comparator that compares them one after the other; None where it is another one."""
    return _Reader(region).keys(region.outputs[0])


class _Reader:
    def __init__(self, region: Graph) -> None:
        self._sides = {value: (index % 2, index // 2) for index, value in enumerate(region.inputs)}
        self._found: dict[tuple[Value, bool], Hashable] = {}
        self._reached: dict[Value, frozenset[int]] = {}

    def keys(self, value: Value) -> list[Key] | None:
        maker = value.producer
        if maker is None:
            return None
        if maker.op_type == "compare":
            found = self._key(maker)
            return None if found is None else [found]
        inputs = [one for one in maker.inputs if one is not None]
        if maker.op_type == "or":
            return self._first(inputs[0], inputs[1]) or self._first(inputs[1], inputs[0])
        if maker.op_type == "select":
            return self._chosen(*inputs)
        return None

    def _first(self, first: Value, otherwise: Value) -> list[Key] | None:
        """`first`, or where that finds no difference what `otherwise` says: first | (equal & rest)."""
        both = otherwise.producer
        if both is None or both.op_type != "and":
            return None
        one, other = (value for value in both.inputs if value is not None)
        return self._then(first, one, other) or self._then(first, other, one)

    def _chosen(self, which: Value, chosen: Value, other: Value) -> list[Key] | None:
        """equal ? rest : first, or differ ? first : rest."""
        return self._then(other, which, chosen) or self._then(chosen, which, other, "NE")

    def _then(self, first: Value, equal: Value, rest: Value, direction: str = "EQ") -> list[Key] | None:
        maker, tie = first.producer, equal.producer
        if maker is None or tie is None or maker.op_type != "compare" or tie.op_type != "compare":
            return None
        if tie.attributes.get("direction") != direction or self._kind(tie) != self._kind(maker):
            return None
        if {self._text(value) for value in tie.inputs} != {self._text(value) for value in maker.inputs}:
            return None
        found, more = self._key(maker), self.keys(rest)
        return None if found is None or more is None else [found, *more]

    def _kind(self, node: Node) -> bool:
        """Whether floats are compared in their total order."""
        return node.attributes.get("type") == "TOTALORDER"

    def _key(self, node: Node) -> Key | None:
        direction = str(node.attributes.get("direction"))
        left, right = (value for value in node.inputs if value is not None)
        if direction not in _DOWN or self._text(left) != self._text(right, swapped=True):
            return None
        sides = self._side(left)
        if sides == {1}:
            left, direction = right, _MIRRORED[direction]
        elif sides != {0}:
            return None
        total_order_source = _totally_ordered(left)
        source = _made_canonical(left if total_order_source is None else total_order_source)
        if source is None:
            return Key(left, _DOWN[direction], self._kind(node))
        return Key(source, _DOWN[direction], total_order_source is not None or self._kind(node), canonical=True)

    def _side(self, value: Value) -> frozenset[int]:
        """Which elements a value depends on."""
        if value not in self._reached:
            inputs = () if value.producer is None else value.producer.inputs
            own = {self._sides[value][0]} if value in self._sides else set[int]()
            self._reached[value] = frozenset(own).union(*(self._side(one) for one in inputs if one is not None))
        return self._reached[value]

    def _text(self, value: Value | None, swapped: bool = False) -> Hashable:
        """What a value is, comparable; `swapped`: with the left and the right element exchanged."""
        if value is None:
            return None
        if (value, swapped) not in self._found:
            self._found[value, swapped] = self._described(value, swapped)
        return self._found[value, swapped]

    def _described(self, value: Value, swapped: bool) -> Hashable:
        if value in self._sides:
            side, index = self._sides[value]
            return ("element", side ^ swapped, index)
        if value.data is not None:
            return ("constant", value.type, value.data.numpy().tobytes())
        maker = value.producer
        if maker is None or maker.regions:  # whether two computations are one isn't asked
            return (value, swapped)
        attributes = tuple(sorted((name, str(one)) for name, one in maker.attributes.items()))
        operands = (self._text(one, swapped) for one in maker.inputs)
        return (maker.op_type, value.index, value.type, attributes, *operands)


def _made_canonical(value: Value) -> Value | None:
    """x where a value is x != x ? nan : (x == 0 ? 0 : x)."""
    found = _operands(value, "select")
    if found is None or not _is_constant(found[1], nan=True):
        return None
    odd, inner = _operands(found[0], "compare", "NE"), _operands(found[2], "select")
    if odd is None or inner is None or odd[0] is not odd[1] or inner[2] is not odd[0]:
        return None
    zero = _operands(inner[0], "compare", "EQ")
    if zero is None or zero[0] is not odd[0] or not (_is_constant(zero[1]) and _is_constant(inner[1])):
        return None
    return odd[0]


def _totally_ordered(value: Value) -> Value | None:
    """x where a value is an integer that orders as x does in the total order: of its bits i, i < 0 ? i ^ max : i.

    XLA's compiler writes so what TOTALORDER compares.
    """
    choice, dtype = _operands(value, "select"), value.tensor.dtype
    if choice is None or dtype is None or not dtype.is_signed or not dtype.is_integer:
        return None
    negative, turned, bits = _operands(choice[0], "compare", "LT"), _operands(choice[1], "xor"), choice[2]
    if negative is None or turned is None or negative[0] is not bits or scalar(negative[1]) != 0 or bits not in turned:
        return None
    if scalar(turned[turned[0] is bits]) != limits(dtype)[1]:
        return None
    source = _operands(bits, "bitcast-convert")
    kind = None if source is None else source[0].tensor.dtype
    return source[0] if source is not None and kind is not None and kind.is_float else None


def _operands(value: Value, opcode: str, direction: str | None = None) -> list[Value] | None:
    maker = value.producer
    if maker is None or maker.op_type != opcode or maker.attributes.get("direction") != direction:
        return None
    return [one for one in maker.inputs if one is not None]


def _is_constant(value: Value, nan: bool = False) -> bool:
    """Whether a scalar is the constant NaN, or +0."""
    array = value.array()
    if array is None or array.size != 1:
        return False
    item = float(array.reshape(()))
    return item != item if nan else str(item) == "0.0"


_BEYOND = 1e300  # of doubles that hold narrower floats: more than the infinity among them
_ZERO = 1e-50  # less than all of them but zeros
_MOVERS = frozenset(["Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"])
_Order = tuple[Array, bool]
"""Numbers to sort by, none of them NaN, and whether the largest comes first."""


@rule(DOMAIN, "sort")
def sort(op: Builder, node: Node) -> Results:
    """sort by any comparator that is a weak order; equal elements stay in order, stable or not."""
    operands = [input_of(node, index) for index in range(len(node.inputs))]
    region, shape = computation(node), shape_of(node, operands[0])
    axis = axis_of(node, len(shape))
    if 0 in shape or shape[axis] == 1:
        return operands
    sort_keys = keys(region)
    if sort_keys is None:
        op.rewriter.notes.append(
            f"{node!r}: its comparator is no comparison of keys: all pairs of elements are compared"
        )
        orders = [(_ranks(op, region, operands, shape, axis), False)]
    else:
        pairs = [value for value in operands for _ in (0, 1)]
        orders: list[_Order] = []
        for key in sort_keys:
            if key.value in region.inputs:
                numbers = pairs[region.inputs.index(key.value)]
            else:
                numbers = applied(op, part(region, key.value), pairs, shape)[0]
            orders += [(one, key.descending) for one in _comparable(op, node, numbers, key.total, key.canonical)]
    best, indices = _sorted(orders, axis, shape[axis])
    return values([_moved(x, indices, axis, orders, best) for x in arrays(op, *operands)])


def _moved(x: Array, indices: Array, axis: int, orders: Sequence[_Order], best: Array) -> Array:
    """An operand in its new order: where it is what is sorted by, or counts, it is there already."""
    if len(orders) == 1 and orders[0][0].value() is x.value():
        return best
    if is_count(x.value(), axis):
        return indices.cast(x.dtype)
    return _gathered(x, indices, axis)


def _gathered(x: Array, indices: Array, axis: int) -> Array:
    return move_widened(x, lambda wide: wide.call("GatherElements", indices, axis=axis))


def _sorted(orders: Sequence[_Order], axis: int, count: int) -> tuple[Array, Array]:
    """The first of several numbers sorted, and at which position everything stood before."""
    indices = best = None
    for numbers, descending in reversed(orders):
        if indices is not None:
            numbers = numbers.call("GatherElements", indices, axis=axis)
        shape = tuple(count if at == axis else dim for at, dim in enumerate(numbers.sizes_known))
        found = numbers.op.TopK(
            numbers,
            shape_vector(numbers.op, [count]),
            _outputs=2,
            _types=[TensorType(numbers.dtype, shape), TensorType(DType.INT64, shape)],
            axis=axis,
            largest=int(descending),
        )
        best, order = map(numbers.make, found)
        indices = order if indices is None else indices.call("GatherElements", order, axis=axis)
    assert best is not None and indices is not None
    return best, indices


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
        extreme = "smallest" if first else "largest"
        op.rewriter.notes.append(
            f"{node!r}: NaN counts as the {extreme}, whatever its own sign, which ONNX doesn't specify"
        )
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
    return extremes(op, node, input_of(node, 0), number(node, "k"), bool(node.attributes.get("largest", True)))


def topk_call(op: Builder, node: Node) -> Results:
    """The custom call "TopK", as XLA wrote it before it had an opcode for it: the largest elements and indices."""
    if len(node.outputs) != 2:
        raise InvalidModel(f"{node!r}: it has {len(node.outputs)} results, not 2")
    largest = True
    for region in node.regions.values():
        found = keys(region)
        if found is None or len(found) != 1:
            raise Unsupported(node, "its comparator doesn't compare the elements")
        largest = found[0].descending
    return extremes(op, node, input_of(node, 0), shape_of(node, node.outputs[0])[-1], largest)


def extremes(op: Builder, node: Node, value: Value, count: int, largest: bool) -> list[Value]:
    """The `count` largest or smallest elements of the last dimension, in order, and their positions (s32)."""
    shape = shape_of(node, value)
    axis = len(shape) - 1
    found = _comparable(op, node, value, total=True, canonical=False)
    orders = [(one, largest) for one in found]
    best, indices = _sorted(orders, axis, count if len(orders) == 1 else shape[axis])
    indices = indices.slice([0] * len(shape), [*shape[:-1], count])
    best = best if found[0].value() is value else _gathered(Array(op, value), indices, axis)
    return [best.value(), indices.cast(DType.INT32).value()]


RULES = collect(globals())
