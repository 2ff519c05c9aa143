"""What a comparator sorts by: its keys, from the most significant one on."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ....passes.graph import Graph, Node, Value
from ....passes.loops.ranges import limits, scalar

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
        whole = _totally_ordered(left)
        source = _made_canonical(left if whole is None else whole)
        if source is None:
            return Key(left, _DOWN[direction], self._kind(node))
        return Key(source, _DOWN[direction], whole is not None or self._kind(node), canonical=True)

    def _side(self, value: Value) -> frozenset[int]:
        """Which elements a value hangs on."""
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
    found, dtype = _operands(value, "select"), value.tensor.dtype
    if found is None or dtype is None or not dtype.is_signed or not dtype.is_integer:
        return None
    negative, turned, bits = _operands(found[0], "compare", "LT"), _operands(found[1], "xor"), found[2]
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
