"""Reading a loop's body: what each of its values is, in terms of the states and one step of the sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...graph import Graph, Node, Value
from ...node import ancestors, through_identities
from .algebra import NotRecurrent, Source, as_sum
from .loop_invariants import LoopInvariants, Size
from .vectors import Axes, Vector, like, named

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """scale * (number of the pass) + offset, of shape [1] * rank."""

    scale: int
    offset: int
    rank: int = 0


@dataclass(frozen=True)
class LengthMask:
    """Whether the pass is one of the first so many, which `lengths` of the graph around the loop says for each entry
    of the batch (or one number for all); `negated`: whether it isn't; `last`: whether it is the last of them.

    `axes` are those of the mask, "wide" where it is the same for all entries of an axis.
    """

    lengths: Value | int
    axes: Axes
    negated: bool = False
    last: bool = False


@dataclass(frozen=True)
class Lengths:
    """What may be the lengths of the sequences: integers from around the loop, with these axes."""

    value: Value
    axes: Axes


@dataclass(frozen=True)
class ConstantFill:
    """One constant number in each element of a tensor of these sizes."""

    number: Array
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Invariant:
    """A value from around the loop that isn't constant, the same in each pass."""

    value: Value

    @property
    def lengths(self) -> Lengths | None:
        """The value as lengths, if it can be."""
        type = self.value.tensor
        if not type.shape or type.dtype is None or not type.dtype.is_integer:
            return None
        return Lengths(self.value, tuple("one" if dim == 1 else "batch" for dim in type.shape))


@dataclass(frozen=True)
class Unrecognized:
    """A value that no recurrence has."""

    reason: str


BodyValue = Vector | Step | LengthMask | Lengths | ConstantFill | Invariant | Unrecognized | Array


@dataclass
class SequenceInput:
    """A sequence that the body sees step by step.

    Attributes:
        value: of the graph around the loop.
        axes: its axes.
        reverse: whether the last step comes first.
        whole: whether the loop's slots take it step by step (and not its body, which would fail beyond its end).
        length: how many steps it has.
    """

    value: Value
    axes: Axes
    reverse: bool
    whole: bool
    length: Size

    @property
    def time(self) -> int:
        return self.axes.index("time")


Reading = Callable[["Reader", Node], "BodyValue | Sequence[BodyValue] | None"]
Readings = Mapping[str, Reading]


@dataclass
class Reader:
    """One attempt to read a body.

    Attributes:
        invariants: what is known of the values around.
        table: operator -> what it makes.
        feature: the axis of the features in states and steps, -1 or 0.
        hoist: whether sequences that are the product of another one and a matrix are read as that.
        hoisted: whether there were any.
        captured: what stands around the loop for what its body captures.
        values: what is known by now.
        sequences: by the names of their `Source`s.
        lengths: of the sequences, by the names that `Masked` atoms know them by.
    """

    invariants: LoopInvariants
    table: Readings
    feature: int = -1
    hoist: bool = False
    captured: dict[Value, Value] = field(default_factory=dict)
    hoisted: bool = False
    values: dict[Value, BodyValue] = field(default_factory=dict)
    sequences: dict[str, SequenceInput] = field(default_factory=dict)
    lengths: dict[str, Value | int] = field(default_factory=dict)

    # what comes in --------------------------------------------------------------------------------

    def state(self, name: str, value: Value, width: int | None) -> BodyValue:
        """A state, as the body gets it."""
        try:
            axes = named(value.tensor.shape, self.feature)
            return Vector(axes, (as_sum(Source(name, 0, self._width(value, axes.index("feature"), width))),))
        except NotRecurrent as odd:
            return Unrecognized(str(odd))

    def step(self, value: Value, axis: int, reverse: bool, whole: bool) -> Vector:
        """One step of a sequence, which is sliced along an axis.

        Raises:
            NotRecurrent: it isn't known how it stands.
        """
        value = through_identities(value)
        if value.rank is None or not -value.rank <= axis < value.rank:
            raise NotRecurrent("the rank of a sequence isn't known")
        axis %= value.rank
        hoisted = self._hoisted(value, axis, reverse) if self.hoist else None
        if hoisted is not None:
            root, axes, vector = hoisted
            self.hoisted = True
        else:
            root, axes = value, named(value.tensor.shape, self.feature, axis)
            vector = None
        name = sequence_name(root, axes, reverse)
        self._take(name, SequenceInput(root, axes, reverse, whole, self.size(value, axis)))
        if vector is None:
            width = self._width(value, axes.index("feature"), None)
            return Vector(tuple(item for item in axes if item != "time"), (as_sum(Source(name, 0, width)),))
        return vector

    def _take(self, name: str, taken: SequenceInput) -> None:
        known = self.sequences.get(name)
        if known is not None:
            taken.whole &= known.whole
        self.sequences[name] = taken

    def _width(self, value: Value, feature: int, known: int | None) -> int:
        shape = value.tensor.shape
        size = shape[feature] if shape is not None else None
        if isinstance(size, int):
            return size
        if known is None:
            raise NotRecurrent("the number of features isn't known")
        return known

    def _hoisted(self, value: Value, axis: int, reverse: bool) -> tuple[Value, Axes, Vector] | None:
        """What a sequence is the product of, its axes, and what one step of the sequence is made of it."""
        path: list[Node] = []
        current = value
        while True:
            node = current.producer
            if node is None or node.domain or node.regions or node.op_type not in self.table:
                return None
            data = [item for item in node.inputs if item is not None and self.invariants.array(item) is None]
            if len(data) != 1:
                return None
            path.append(node)
            current = data[0]
            if node.op_type in ("MatMul", "Gemm"):
                break
        root = through_identities(current)
        for time in range(root.rank or 0):
            reader = Reader(self.invariants, self.table)
            try:
                axes = named(root.tensor.shape, -1, time)
                width = self._width(root, axes.index("feature"), None)
                start = Vector(axes, (as_sum(Source(sequence_name(root, axes, reverse), 0, width)),))
            except NotRecurrent:
                continue
            reader.values[root] = reader.values[current] = start
            reader.evaluate(path[::-1])
            found = reader.values.get(value)
            if isinstance(found, Vector) and len(found.axes) > axis and found.axes[axis] == "time":
                return root, axes, found.with_axes(item for item in found.axes if item != "time")
        return None

    # reading --------------------------------------------------------------------------------------

    def read(self, body: Graph, wanted: Iterable[Value]) -> None:
        """Evaluate what the wanted values are computed from."""
        needed = {value.producer for value in ancestors(wanted)}
        self.evaluate(node for node in body.topological() if node in needed)

    def evaluate(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if all(value in self.values or self.invariants.array(value) is not None for value in node.outputs):
                continue
            try:
                made = self._evaluate(node)
            except NotRecurrent as odd:
                made = [Unrecognized(str(odd))] * len(node.outputs)
            for value, known in zip(node.outputs, made, strict=False):
                self.values[value] = known

    def _evaluate(self, node: Node) -> Sequence[BodyValue]:
        reading = self.table.get(node.op_type) if not node.domain and not node.regions else None
        made = None if reading is None else reading(self, node)
        if made is None:
            raise NotRecurrent(f"no recurrent operator has {'a' if node.domain else 'the'} {node.op_type} of its body")
        return made if isinstance(made, list | tuple) else [made]  # type: ignore[list-item]

    def known(self, value: Value | None) -> BodyValue | None:
        """What a value is; None where it is left out."""
        if value is None:
            return None
        if value in self.values:
            return self.values[value]
        array = self.invariants.array(value)
        if array is not None:
            return array
        return Invariant(through_identities(self.captured.get(value, value)))

    def vector(self, value: Value | None) -> Vector:
        """A value that must be a vector.

        Raises:
            NotRecurrent: it isn't one.
        """
        known = self.known(value)
        if isinstance(known, Vector):
            return known
        raise NotRecurrent(why_no_vector(known))

    def operands(self, values: Sequence[Value | None]) -> list[Vector]:
        """The operands of an elementwise operator as vectors, at least one of which isn't constant.

        Raises:
            NotRecurrent: they aren't.
        """
        knowns = [self.known(value) for value in values]
        indices = [index for index, known in enumerate(knowns) if isinstance(known, Vector)]
        if not indices:
            raise NotRecurrent(
                next(
                    (why_no_vector(known) for known in knowns if not isinstance(known, np.ndarray)), why_no_vector(None)
                )
            )
        shown = values[indices[0]]
        first = self.vector(shown)
        made: list[Vector] = []
        for value, known in zip(values, knowns, strict=True):
            if isinstance(known, ConstantFill):
                if shown is None or list(known.sizes) != [self.size(shown, axis) for axis in range(len(first.axes))]:
                    raise NotRecurrent("its body fills a value whose size isn't certain")
                known = known.number
            made.append(like(known, first) if isinstance(known, np.ndarray) else self.vector(value))
        return made

    def named_axes(self, value: Value | None) -> Vector | LengthMask | Lengths:
        """A value with named axes.

        Raises:
            NotRecurrent: it has none.
        """
        known = self.known(value)
        if isinstance(known, Invariant) and known.lengths is not None:
            return known.lengths
        return known if isinstance(known, LengthMask | Lengths) else self.vector(value)

    def array(self, value: Value | None) -> Array | None:
        """The elements of a constant."""
        return None if value is None or value in self.values else self.invariants.array(value)

    def integers(self, value: Value | None) -> list[int] | None:
        """The elements of a constant that holds axes, sizes or positions."""
        array = self.array(value)
        return None if array is None or array.dtype.kind not in "iu" else [int(item) for item in array.reshape(-1)]

    def size(self, value: Value, axis: int) -> Size:
        return self.invariants.size(value, axis)

    def lengths_name(self, lengths: Value | int) -> str:
        """What a `Masked` atom calls these lengths."""
        name = f"{lengths} steps" if isinstance(lengths, int) else lengths.name
        self.lengths[name] = lengths
        return name


def sequence_name(value: Value, axes: Axes, reverse: bool) -> str:
    """One name for one sequence in one direction, in whatever way it is found."""
    return (
        f"sequence {value.name} {axes.index('time')} {axes.index('feature')} {'backwards' if reverse else 'forwards'}"
    )


def why_no_vector(known: BodyValue | None) -> str:
    """Why something isn't a vector."""
    if isinstance(known, Unrecognized):
        return known.reason
    if isinstance(known, Invariant | Lengths):
        return f"its body uses all of {known.value.name!r}, which isn't constant"
    if isinstance(known, Step | LengthMask):
        return "its body computes with the iteration number"
    return "a constant is found where a state or an input is expected"
