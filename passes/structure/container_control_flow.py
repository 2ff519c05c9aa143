"""Loops and branches that hand on sequences and optionals -> those that hand on what these hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..constant_analysis import static_branch
from ..constants import small_constant
from ..errors import Unsupported
from ..graph import Graph, Node, Value
from ..infer import FORMAL
from ..loop import Captured, Carried, Entry, Loop, Slot
from ..opset.build import give_types
from ..rewrite import Builder
from ..types import OptionalType, TensorType, Type
from .abstract_containers import PLACEHOLDER, AbstractContainer, is_new, is_not_carried
from .container_analysis import ContainerRules, Results
from .simplify import RemoveDead
from .unroll import unrolled

Encoding = tuple[int, ...] | str
"""What is carried of a value: "parts" (what it is made of), "whole", "maybe" (whether an optional holds something, and
what), or a sequence's elements of this shape in one tensor."""


@dataclass(slots=True)
class _Flat:
    """A loop about to be placed: its slots, their operands, its body, and how its results are built again."""

    slots: list[Slot]
    operands: list[Value]
    body: Graph

    def is_plain(self, opset: int) -> bool:
        """Whether the opset can say it."""
        if any(is_not_carried(value.type, opset) for value in self.operands):
            return False
        return not any(is_new(value.type, opset) for inner in self.body.graphs() for value in inner.values())


def refuse_placeholders(graph: Graph, opset: int) -> None:
    """What stands for an optional in two values must not be wanted any more.

    Raises:
        Unsupported: an operator takes it, or the model gives it.
    """
    for _, node in graph.walk():
        if node.domain == PLACEHOLDER:
            raise Unsupported(
                node, f"whether it has an element is known only at run time, which opset {opset} can't express"
            )


class Resolver(ContainerRules):
    """Rules for a graph that goes to an opset without the sequences and optionals that it has."""

    def __init__(self, opset: int) -> None:
        super().__init__()
        self.opset = opset
        self.rules["backedge", "Loop"] = [self._loop]
        self.rules["backedge", "If"] = [self._branch]

    def _loop(self, op: Builder, node: Node) -> Results:
        encodings: dict[Entry, Encoding] = {}
        flat = self._flat(op, node, encodings)
        while flat is None:
            flat = self._flat(op, node, encodings)
        if not flat.is_plain(self.opset):
            results = unrolled(op, node)
            if results is not None:
                return results
        return self._emit_loop(op, node, flat, encodings)

    def _flat(self, op: Builder, node: Node, encodings: dict[Entry, Encoding]) -> _Flat | None:
        """The loop with leaves in place of what is known; None where `encodings` got another one."""
        loop = Loop(node)
        inner = op.region(loop.body.name)
        slots: list[Slot] = []
        operands: list[Value] = []
        arguments: list[Value] = []
        for entry in loop.entries:
            given = entry.operand
            known = small_constant(given) if isinstance(entry.slot, Captured) else None
            if known is not None:
                arguments.append(inner.const(known))
                continue
            if given is None or (given not in self.forms and not isinstance(entry.slot, Carried)):
                slots.append(entry.slot)
                operands += [given] if given is not None else []
                if entry.body_input is not None:
                    arguments.append(_entered(inner, entry.body_input, entry.body_input.type))
                continue
            encoding = "parts" if isinstance(entry.slot, Captured) else encodings.setdefault(entry, "parts")
            leaves = self._encode(op, given, encoding)
            if leaves is None:
                encodings[entry] = "whole"
                return None
            slots += [entry.slot] * len(leaves)
            operands += leaves
            assert entry.body_input is not None
            arguments.append(self._entering(inner, entry, encoding, leaves))
        outputs = inner.inline(loop.body, arguments)
        made: list[Value] = []
        for entry in loop.entries:
            if entry.body_output is None:
                continue
            value = outputs[entry.indices.body_output]
            if not isinstance(entry.slot, Carried):
                made.append(value)
                continue
            encoding = encodings[entry]
            leaves = self._encode(inner, value, encoding)
            if leaves is None or (encoding == "parts" and self.structure(value) != self.structure(entry.operand)):
                encodings[entry] = self._other_encoding(entry, value, encoding)
                return None
            made += leaves
        inner.graph.outputs = made
        RemoveDead()(inner.graph)
        return _Flat(slots, operands, inner.graph)

    def _other_encoding(self, entry: Entry, leave: Value, encoding: Encoding) -> Encoding:
        """Another encoding of what isn't made of the same parts before and behind a pass."""
        assert entry.operand is not None
        if encoding != "parts" or not is_not_carried(entry.operand.type, self.opset):
            return "whole"
        if isinstance(entry.operand.type, OptionalType):
            return "maybe"
        shape = self.element_shape(leave if self.elements(entry.operand) == () else entry.operand)
        return "whole" if shape is None else shape

    def _encode(self, op: Builder, value: Value, encoding: Encoding) -> list[Value] | None:
        """What is carried of a value; None where it can't have this encoding."""
        if encoding == "whole":
            return [value]
        if encoding == "maybe":
            pair = self.doubted(op, value)
            return None if pair is None else list(pair)
        if isinstance(encoding, str):
            return self.leaves(value)
        stack = self.stacked(op, value, encoding)
        return None if stack is None else [stack]

    def _decode(self, op: Builder, like: Value, encoding: Encoding, values: Iterator[Value]) -> Value:
        """The value of what is carried of it."""
        if encoding == "whole":
            return next(values)
        if encoding == "maybe":
            return self.made(op, AbstractContainer("maybe", (next(values), next(values))), like.type)
        return self.again(op, like, values) if isinstance(encoding, str) else self.unstacked(op, next(values))

    def _entering(self, inner: Builder, entry: Entry, encoding: Encoding, leaves: Sequence[Value]) -> Value:
        """The body's value of an entry, of what enters in its place."""
        assert entry.body_input is not None and entry.operand is not None
        if entry.operand not in self.forms or encoding == "whole":
            return _entered(inner, entry.body_input, entry.body_input.type)
        types = [leaf.type if isinstance(entry.slot, Captured) else _loose(leaf.type) for leaf in leaves]
        if isinstance(encoding, tuple):
            types = [TensorType(leaves[0].tensor.dtype, (None, *encoding))]
        entered = iter([_entered(inner, entry.body_input, type) for type in types])
        return self._decode(inner, entry.operand, encoding, entered)

    def _emit_loop(self, op: Builder, node: Node, flat: _Flat, encodings: dict[Entry, Encoding]) -> list[Value]:
        loop = Loop(node)
        made = iter(op.loop(loop.trip, loop.initial_condition, flat.slots, flat.operands, flat.body))
        results: list[Value] = []
        for entry in loop.entries:
            if entry.result is not None:
                known = entry.operand
                results.append(next(made) if known is None else self._decode(op, known, encodings[entry], made))
        return results

    def _branch(self, op: Builder, node: Node) -> Results:
        condition = node.input(0)
        assert condition is not None
        captures = [value for value in node.captures if value is not None]
        taken = static_branch(node)
        if taken is not None:
            return op.inline(taken, captures)
        constants = {value: data for value in captures if (data := small_constant(value)) is not None}
        leaves = [leaf for value in captures if value not in constants for leaf in self.leaves(value)]
        bodies: list[Builder] = []
        for name in ("then", "else"):
            region = node.regions[name]
            inner = op.region(region.name)
            entered = iter([inner.graph.add_input(inner.claim(f"{leaf.name}_seen"), leaf.type) for leaf in leaves])
            arguments = [
                inner.const(constants[value]) if value in constants else self.again(inner, value, entered)
                for value in captures
            ]
            inner.graph.outputs = inner.inline(region, arguments)
            bodies.append(inner)
        pairs = list(zip(*(inner.graph.outputs for inner in bodies), strict=True))
        encodings = [self._encoding(*pair) for pair in pairs]
        for inner in bodies:
            inner.graph.outputs = []
        for index, pair in enumerate(pairs):
            given = [self._encode(inner, value, encodings[index]) for inner, value in zip(bodies, pair, strict=True)]
            if None in given:
                encodings[index] = "whole"
                given = [[value] for value in pair]
            for inner, values in zip(bodies, given, strict=True):
                inner.graph.outputs += values or []
        for inner in bodies:
            RemoveDead()(inner.graph)
        count = len(bodies[0].graph.outputs)
        made = iter(op.branch(condition, leaves, bodies[0].graph, bodies[1].graph) if count else ())
        return [self._decode(op, pair[0], encoding, made) for pair, encoding in zip(pairs, encodings, strict=True)]

    def _encoding(self, a: Value, b: Value) -> Encoding:
        """How the branches give a value, which is of both."""
        if self.structure(a) == self.structure(b):
            return "parts"
        if not is_not_carried(a.type, self.opset):
            return "whole"
        shape = self.element_shape(a, b)
        return "maybe" if isinstance(a.type, OptionalType) else "whole" if shape is None else shape


def copied(op: Builder, node: Node) -> Sequence[Value]:
    """The node itself, with what is known by now of the types that it gives."""
    made = op.copy(node)
    if made and not node.regions and made[0].producer is not None:
        give_types(made[0].producer)
    return made


def _loose(type: Type | None) -> Type | None:
    """The type of what is carried, whose shape may change from pass to pass."""
    return TensorType(type.dtype) if isinstance(type, TensorType) else type


def _entered(inner: Builder, old: Value, type: Type | None) -> Value:
    twin = inner.graph.add_input(inner.claim(old.name), type)
    stated = old.meta or {}
    twin.meta = stated if type == old.type else {key: value for key, value in stated.items() if key != FORMAL}
    return twin
