"""What sequences and optionals hold, told from how they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..graph import Graph, Node, Value
from ..loop import Captured, Entry, Loop, Slot
from ..opset.known import known_array
from ..protos import ENUMS
from ..rewrite import Builder, Rule
from ..types import DType, MapType, OptionalType, SequenceType, TensorType, Type
from .simplify import RemoveDead
from .unroll import unrolled

_BORN = {SequenceType: 11, OptionalType: 15}
_CARRIED = {SequenceType: 13, OptionalType: 16}  # by loops and branches
_MOST = 256  # elements of a sequence

Results = Value | Sequence[Value] | None
Rebuild = Callable[[Builder, Iterator[Value]], Value]


def is_new(type: Type | None, opset: int) -> bool:
    """Whether an opset has no values of a type. (Maps in sequences are as old as ZipMap.)"""
    return _before(type, opset, _BORN)


def is_not_carried(type: Type | None, opset: int) -> bool:
    """Whether an opset's loops and branches don't give values of a type."""
    return _before(type, opset, _CARRIED)


def _before(type: Type | None, opset: int, first: dict[type[Any], int]) -> bool:
    if isinstance(type, SequenceType) and isinstance(type.element, MapType):
        return False
    return any(isinstance(type, kind) and opset < least for kind, least in first.items())


@dataclass(frozen=True, slots=True)
class Form:
    """How a sequence or an optional is made of other values.

    `kind`: "elements"; "slices" of a tensor, which is the one value, along axis `detail[0]`, that is kept if
    `detail[1]`; "optional", of one value or none.
    """

    kind: str
    values: tuple[Value, ...]
    detail: tuple[int, ...] = ()


class Resolver:
    """Rules that build plain values where it is known what sequences and optionals hold.

    What holds them is built all the same; where everybody could be told what it holds, it is dead.
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.forms: dict[Value, Form] = {}
        table: dict[str, Rule] = {
            "SequenceEmpty": self._empty,
            "SequenceConstruct": self._construct,
            "SequenceInsert": self._insert,
            "SequenceErase": self._erase,
            "SequenceAt": self._at,
            "SequenceLength": self._length,
            "ConcatFromSequence": self._join,
            "SplitToSequence": self._split,
            "Identity": self._identity,
            "Optional": self._optional,
            "OptionalHasElement": self._has,
            "OptionalGetElement": self._get,
        }
        self.rules: dict[tuple[str, str], list[Rule]] = {("", name): [rule] for name, rule in table.items()}
        self.rules["backedge", "Loop"] = [self._loop]
        self.rules["backedge", "If"] = [self._branch]

    # what is known ---------------------------------------------------------------------------------

    def _made(self, op: Builder, form: Form, type: Type | None) -> Value:
        """The sequence or optional of a form, built."""
        types = [type]
        if form.kind == "slices":
            value = op.SplitToSequence(*form.values, axis=form.detail[0], keepdims=form.detail[1], _types=types)
        elif form.kind == "optional":
            element = type.element if isinstance(type, OptionalType) else None
            value = op.Optional(*form.values, type=None if form.values else element, _types=types)
        elif form.values:
            value = op.SequenceConstruct(*form.values, _types=types)
        else:
            element = type.element if isinstance(type, SequenceType) else None
            if not isinstance(element, TensorType) or element.dtype is None:
                raise Unsupported("an empty sequence", "the type of its elements isn't known")
            value = op.SequenceEmpty(dtype=ENUMS[element.dtype], _types=types)
        self.forms[value] = form
        return value

    def _elements(self, value: Value | None) -> tuple[Value, ...] | None:
        form = self.forms.get(value) if value is not None else None
        return form.values if form is not None and form.kind == "elements" else None

    def _slices(self, value: Value | None) -> tuple[Value, int, bool] | None:
        form = self.forms.get(value) if value is not None else None
        if form is None or form.kind != "slices":
            return None
        return form.values[0], form.detail[0], bool(form.detail[1])

    def _shape(self, value: Value | None) -> Any:
        """The structure of a value, without the values in it: equal ones may be carried in each other's place."""
        form = self.forms.get(value) if value is not None else None
        return None if form is None else (form.kind, form.detail, tuple(self._shape(item) for item in form.values))

    def _leaves(self, value: Value) -> list[Value]:
        """The values of which nothing more is known that a value is made of."""
        form = self.forms.get(value)
        return [value] if form is None else [leaf for item in form.values for leaf in self._leaves(item)]

    def _again(self, op: Builder, value: Value, leaves: Iterator[Value]) -> Value:
        """A value like this one, elsewhere, of other leaves."""
        form = self.forms.get(value)
        if form is None:
            return next(leaves)
        items = tuple(self._again(op, item, leaves) for item in form.values)
        return self._made(op, Form(form.kind, items, form.detail), value.type)

    # sequences -------------------------------------------------------------------------------------

    def _kept(self, op: Builder, node: Node, form: Form) -> Results:
        (value,) = op.copy(node)
        self.forms[value] = form
        return value

    def _empty(self, op: Builder, node: Node) -> Results:
        return self._kept(op, node, Form("elements", ()))

    def _construct(self, op: Builder, node: Node) -> Results:
        return self._kept(op, node, Form("elements", tuple(value for value in node.inputs if value is not None)))

    def _insert(self, op: Builder, node: Node) -> Results:
        elements, value = self._elements(node.input(0)), node.input(1)
        place = _position(node.input(2), None if elements is None else len(elements), end=True)
        if elements is None or value is None or place is None:
            return None
        return self._kept(op, node, Form("elements", (*elements[:place], value, *elements[place:])))

    def _erase(self, op: Builder, node: Node) -> Results:
        elements = self._elements(node.input(0))
        place = _position(node.input(1), None if elements is None else len(elements))
        if elements is None or place is None:
            return None
        return self._kept(op, node, Form("elements", (*elements[:place], *elements[place + 1 :])))

    def _at(self, op: Builder, node: Node) -> Results:
        elements, position = self._elements(node.input(0)), node.input(1)
        if position is None:
            return None
        slices = self._slices(node.input(0))
        if slices is not None:
            value, axis, keep = slices
            found = op.Gather(value, _scalar(op, position), axis=axis)
            return op.Unsqueeze(found, op.const([axis])) if keep else found
        place = _position(position, None if elements is None else len(elements))
        if elements is None:
            return None
        if place is not None:
            return elements[place]
        shapes = {value.tensor.static_shape for value in elements}
        if len(shapes) != 1 or None in shapes or known_array(position) is not None:
            return None
        axes = op.const([0])
        stack = op.Concat(*(op.Unsqueeze(value, axes) for value in elements), axis=0)
        return op.Gather(stack, _scalar(op, position), axis=0)

    def _length(self, op: Builder, node: Node) -> Results:
        elements, slices = self._elements(node.input(0)), self._slices(node.input(0))
        if slices is not None:
            return op.Gather(op.Shape(slices[0]), op.const(slices[1], DType.INT64), axis=0)
        return None if elements is None else op.const(len(elements), DType.INT64)

    def _join(self, op: Builder, node: Node) -> Results:
        elements, slices = self._elements(node.input(0)), self._slices(node.input(0))
        axis, new = int(node.attributes.get("axis", 0)), bool(node.attributes.get("new_axis", 0))
        if slices is not None and new is not slices[2]:
            value, sliced, _ = slices
            rank = value.rank
            if rank is not None and sliced % rank == axis % rank:
                return op.Identity(value)
        if not elements:
            return None
        if new:
            axes = op.const([axis])
            elements = [op.Unsqueeze(value, axes) for value in elements]
        return op.Concat(*elements, axis=axis)

    def _split(self, op: Builder, node: Node) -> Results:
        value, sizes = node.input(0), node.input(1)
        assert value is not None
        axis, keep = int(node.attributes.get("axis", 0)), int(node.attributes.get("keepdims", 1))
        counts = _parts(value, axis, sizes)
        if counts is None or len(counts) > _MOST:
            return self._kept(op, node, Form("slices", (value,), (axis, keep))) if sizes is None else None
        parts: list[Value] = [value]
        if len(counts) != 1:
            given = (
                op.const(np.array(counts, np.int64)) if None not in counts else op.Cast(sizes, to=ENUMS[DType.INT64])
            )
            parts = list(op.Split(value, given, axis=axis, _outputs=len(counts))) if counts else []
        if sizes is None and not keep:
            axes = op.const([axis])
            parts = [op.Squeeze(part, axes) for part in parts]
        return self._made(op, Form("elements", tuple(parts)), node.outputs[0].type)

    def _identity(self, op: Builder, node: Node) -> Results:
        return node.input(0) if node.input(0) in self.forms else None

    # optionals -------------------------------------------------------------------------------------

    def _optional(self, op: Builder, node: Node) -> Results:
        return self._kept(op, node, Form("optional", tuple(value for value in node.inputs if value is not None)))

    def _has(self, op: Builder, node: Node) -> Results:
        value = node.input(0)
        if value is None:
            return op.const(False, DType.BOOL)
        form = self.forms.get(value)
        if form is not None and form.kind == "optional":
            return op.const(bool(form.values), DType.BOOL)
        return op.const(True, DType.BOOL) if isinstance(value.type, TensorType | SequenceType) else None

    def _get(self, op: Builder, node: Node) -> Results:
        value = node.input(0)
        form = self.forms.get(value) if value is not None else None
        if form is not None and form.kind == "optional":
            return form.values[0] if form.values else None
        return value if value is not None and isinstance(value.type, TensorType | SequenceType) else None

    # control flow ----------------------------------------------------------------------------------

    def _loop(self, op: Builder, node: Node) -> Results:
        flat = self._flat(op, node, carry=True) or self._flat(op, node, carry=False)
        assert flat is not None
        if not flat.is_plain(self.opset):
            results = unrolled(op, node)
            if results is not None:
                return results
        return self._place(op, node, flat)

    def _flat(self, op: Builder, node: Node, carry: bool) -> _Flat | None:
        """The loop with leaves in place of what is known; None where a pass gives something of another structure."""
        loop = Loop(node)
        inner = op.region(loop.body.name)
        slots: list[Slot] = []
        outside: list[Value] = []
        arguments: list[Value] = []
        expanded: set[Entry] = set()
        for entry in loop.entries:
            given = entry.outside
            known = given in self.forms and (carry or isinstance(entry.slot, Captured))
            leaves = self._leaves(given) if known and given is not None else [given] if given is not None else []
            slots += [entry.slot] * (len(leaves) if known else 1)
            outside += leaves
            if entry.enter is None:
                continue
            if not known or given is None:
                arguments.append(_entered(inner, entry.enter, entry.enter.type))
                continue
            kept = isinstance(entry.slot, Captured)
            names = [_entered(inner, entry.enter, leaf.type if kept else _loose(leaf.type)) for leaf in leaves]
            arguments.append(self._again(inner, given, iter(names)))
            if not kept:
                expanded.add(entry)
        outputs = inner.inline(loop.body, arguments)
        made: list[Value] = []
        for entry in loop.entries:
            if entry.leave is None:
                continue
            value = outputs[entry.place.leave]
            if entry in expanded and self._shape(value) != self._shape(entry.outside):
                return None
            made += self._leaves(value) if entry in expanded else [value]
        inner.graph.outputs = made
        RemoveDead()(inner.graph)
        return _Flat(slots, outside, inner.graph, expanded)

    def _place(self, op: Builder, node: Node, flat: _Flat) -> list[Value]:
        loop = Loop(node)
        made = iter(op.loop(loop.trip, loop.initial_condition, flat.slots, flat.outside, flat.body))
        results: list[Value] = []
        for entry in loop.entries:
            if entry.result is not None:
                known = entry in flat.expanded and entry.outside is not None
                results.append(self._again(op, entry.outside, made) if known and entry.outside else next(made))
        return results

    def _branch(self, op: Builder, node: Node) -> Results:
        condition = node.input(0)
        assert condition is not None
        captures = [value for value in node.captures if value is not None]
        known = known_array(condition)
        if known is not None:
            return op.inline(node.regions["then" if known.any() else "else"], captures)
        leaves = [leaf for value in captures for leaf in self._leaves(value)]
        bodies: list[Builder] = []
        for name in ("then", "else"):
            region = node.regions[name]
            inner = op.region(region.name)
            entered = iter([inner.graph.add_input(inner.claim(f"{leaf.name}_seen"), leaf.type) for leaf in leaves])
            arguments = [self._again(inner, value, entered) for value in captures]
            inner.graph.outputs = inner.inline(region, arguments)
            bodies.append(inner)
        pairs = list(zip(*(inner.graph.outputs for inner in bodies), strict=True))
        alike = [self._shape(a) == self._shape(b) for a, b in pairs]
        for side, inner in enumerate(bodies):
            inner.graph.outputs = [
                leaf
                for pair, same in zip(pairs, alike, strict=True)
                for leaf in (self._leaves(pair[side]) if same else [pair[side]])
            ]
            RemoveDead()(inner.graph)
        if not bodies[0].graph.outputs:
            made = iter(())
        else:
            made = iter(op.branch(condition, leaves, bodies[0].graph, bodies[1].graph))
        return [self._again(op, pair[0], made) if same else next(made) for pair, same in zip(pairs, alike, strict=True)]


@dataclass(slots=True)
class _Flat:
    """A loop about to be placed: its slots, what stands outside, its body, and which entries are in pieces."""

    slots: list[Slot]
    outside: list[Value]
    body: Graph
    expanded: set[Entry]

    def is_plain(self, opset: int) -> bool:
        """Whether the opset can say it."""
        if any(is_not_carried(value.type, opset) for value in self.outside):
            return False
        return not any(is_new(value.type, opset) for inner in self.body.graphs() for value in inner.values())


def _loose(type: Type | None) -> Type | None:
    """The type of what is carried, whose shape may change from pass to pass."""
    return TensorType(type.dtype) if isinstance(type, TensorType) else type


def _entered(inner: Builder, old: Value, type: Type | None) -> Value:
    twin = inner.graph.add_input(inner.claim(old.name), type)
    twin.meta = old.meta
    return twin


def _scalar(op: Builder, position: Value) -> Value:
    return position if position.rank == 0 else op.Reshape(position, op.const([], DType.INT64))


def _position(value: Value | None, length: int | None, end: bool = False) -> int | None:
    """A position in a sequence, from the front; None where it isn't known, or outside."""
    if length is None:
        return None
    last = length if end else length - 1
    if value is None:
        return last if last >= 0 else None
    array = known_array(value)
    if array is None:
        return None
    index = int(array.reshape(-1)[0])
    if not -length <= index <= last:
        return None
    return index + length if index < 0 else index


def _parts(value: Value, axis: int, sizes: Value | None) -> list[int | None] | None:
    """The sizes of the parts that SplitToSequence makes; None where it isn't known how many there are.

    A size that is told only at run time is None.
    """
    shape = value.tensor.shape
    size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    array = known_array(sizes)
    if sizes is not None and array is None:
        count = sizes.tensor.static_shape
        unknown: list[int | None] = [None]
        return unknown * count[0] if count else None
    if array is not None and array.ndim:
        return [int(part) for part in array]
    if not isinstance(size, int):
        return None
    step = 1 if array is None else int(array)
    if step <= 0:
        return None
    return [min(step, size - start) for start in range(0, size, step)]
