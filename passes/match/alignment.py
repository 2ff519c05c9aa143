"""Two matched graphs aligned: which of their values and operators belong together, the same or not.

Values with one term are the same. Of the other operators those belong together whose operands do, forwards from the
inputs, then those that the same results are made of, backwards from the outputs; names, and what says what a node was
made of, come first, as conversions keep them. Bodies and branches are aligned in the same way, given what enters them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..attributes import attributes_of
from ..graph import Graph, Node, Value
from ..loop import Captured, Carried, Condition, Iteration, Loop, Sliced, is_loop
from .matching import Matching


@dataclass(frozen=True, slots=True)
class Together:
    """What belongs together in all graphs that were looked into.

    Attributes:
        values: of A, with B's.
        nodes: of A, with regions, with B's.
    """

    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    nodes: dict[Node, Node] = field(default_factory=dict[Node, Node])


class Aligned:
    """Two graphs, and which of their operators belong together.

    Args:
        pairs: values of A that are the same in B.
        stands_for: the value of B under which `pairs` has others that are the same as it.
        outputs: outputs that belong together.
        together: takes up what belongs together here and in regions.

    Attributes:
        same: `pairs`.
        left_a, left_b: operators of which the other graph hasn't all values, in topological order.
        partner: values of A with those of B that belong to them, the same or not.
        nodes: of `left_a`, with those of `left_b` that belong to them.
    """

    def __init__(
        self,
        a: Graph,
        b: Graph,
        pairs: dict[Value, Value],
        stands_for: dict[Value, Value],
        outputs: Sequence[tuple[Value, Value]],
        together: Together,
    ) -> None:
        self.a, self.b = a, b
        self.same = pairs
        self.together = together
        self.outputs = outputs
        self.stands_for = stands_for
        self.partner = dict(pairs)
        known = {*pairs.values()}
        self.left_a = [node for node in a.topological() if not all(value in pairs for value in _named(node))]
        self.left_b = [node for node in b.topological() if not all(self.of_b(value) in known for value in _named(node))]
        self.nodes: dict[Node, Node] = {}
        self._by_name()
        self._by_origin()
        self._forwards()
        self._backwards()
        together.values.update(self.partner)
        together.nodes.update((node, other) for node, other in self.nodes.items() if node.regions)

    def of_b(self, value: Value) -> Value:
        """The value of B that stands for all that are the same as this one."""
        return self.stands_for.get(value, value)

    def _by_name(self) -> None:
        """Pair values of one name and element type, as conversions keep names, and operators that are the same, too."""
        named = {value.name: value for node in self.left_b for value in _named(node)}
        free = set(self.left_b)
        for node in self.left_a:
            for value in _named(node):
                twin = named.get(value.name)
                if twin is None or twin.tensor.dtype is not value.tensor.dtype or value in self.partner:
                    continue
                assert twin.producer is not None
                if twin.producer.op == node.op and twin.producer in free and twin.index == value.index:
                    free.discard(twin.producer)
                    self._pair(node, twin.producer)
                else:
                    self.partner[value] = self.of_b(twin)

    def _by_origin(self) -> None:
        """Pair values with what says that it was made of them: of several nodes that do, what the others don't read."""
        made: dict[str, list[Node]] = {}
        for node in self.left_b:
            if node.written_origin:
                made.setdefault(node.written_origin, []).append(node)
        taken = set(self.partner.values())
        for node in self.left_a:
            for value in _named(node):
                group = made.get(value.name, ())
                read = {one for other in group for one in other.inputs}
                ends = [one for other in group for one in _named(other) if one not in read and one not in taken]
                if len(ends) == 1 and value not in self.partner and ends[0].tensor.dtype is value.tensor.dtype:
                    self.partner[value] = self.of_b(ends[0])

    def _forwards(self) -> None:
        """Pair operators by their operands."""
        waiting: dict[Any, list[Node]] = {}
        taken = set(self.nodes.values())
        for node in self.left_b:
            if node in taken:
                continue
            waiting.setdefault((node.op, *(self._place(value, None) for value in node.inputs)), []).append(node)
        for node in self.left_a:
            if node in self.nodes:
                continue
            options = waiting.get((node.op, *(self._place(value, self.partner) for value in node.inputs)), [])
            if options:
                named = next((index for index, one in enumerate(options) if one.name and one.name == node.name), 0)
                self._pair(node, options.pop(named))

    def _place(self, value: Value | None, partner: dict[Value, Value] | None) -> Any:
        """How an operand counts where operators are paired: a constant is like any other."""
        if value is None:
            return None
        if value.data is not None:
            return "constant"
        return self.of_b(value) if partner is None else partner.get(value, value)

    def _backwards(self) -> None:
        """Pair what makes values that belong together, where the operator is the same."""
        stack = list(self.outputs)
        stack += [pair for node, other in self.nodes.items() for pair in _operands(node, other)]
        free_a, free_b = set(self.left_a) - set(self.nodes), set(self.left_b) - set(self.nodes.values())
        while stack:
            one, other = stack.pop()
            node, twin = one.producer, other.producer
            if node is None or twin is None or node not in free_a or twin not in free_b or node.op != twin.op:
                continue
            free_a.discard(node)
            free_b.discard(twin)
            self._pair(node, twin)
            stack += _operands(node, twin)

    def _pair(self, node: Node, other: Node) -> None:
        self.nodes[node] = other
        for value, twin in zip(node.outputs, other.outputs, strict=False):
            self.partner.setdefault(value, self.of_b(twin))

    def are_one(self, one: Value, other: Value | None) -> bool:
        """Whether a value of A and one of B belong together, or are the same constant."""
        if other is not None and one.data is not None and other.data is not None:
            return content(one) == content(other)
        return other is not None and self.partner.get(one) is self.of_b(other)

    def entering(self, node: Node, other: Node, region: str) -> Entered:
        """What enters a body or branch of two operators: that belongs together which does outside, else in order."""
        found = Entered()
        left_a, left_b = entries(node, region), entries(other, region)
        for one in list(left_a):
            for twin in left_b:
                if one.kind == twin.kind and one.outer is not None and self.are_one(one.outer, twin.outer):
                    found.pairs[one.inner] = twin.inner
                    left_a.remove(one)
                    left_b.remove(twin)
                    break
        for one in left_a:
            twin = next((twin for twin in left_b if twin.kind == one.kind), None)
            if twin is None:
                found.only_a.append(one)
                continue
            left_b.remove(twin)
            found.pairs[one.inner] = twin.inner
            found.in_order.append((one, twin))
        found.only_b = left_b
        return found

    def region(self, a: Graph, b: Graph, pairs: dict[Value, Value]) -> Aligned:
        """Two regions, given which of their inputs belong together; what is built alike of these is the same."""
        first: dict[Any, Value] = {}
        stands_for = {value: first.setdefault(content(value), value) for value in b.values() if value.data is not None}
        pairs = pairs | {value: first[content(value)] for value in a.constants if content(value) in first}
        pairs = _structure(a, b, pairs, stands_for)
        return Aligned(a, b, pairs, stands_for, list(zip(a.outputs, b.outputs, strict=False)), self.together)


def align(matching: Matching) -> Aligned:
    """The two graphs of a matching."""
    assert matching.graphs is not None
    a, b = matching.graphs
    first: dict[Any, Value] = {}
    stands_for = {value: first.setdefault(term, value) for value, term in matching.terms[1].items()}
    pairs = {value: first[term] for value, term in matching.terms[0].items() if term in first}
    outputs = [
        (one, other)
        for one in a.outputs
        for other in b.outputs
        if matching.terms[1].get(other) is matching.outputs.get(one.name, (None, None))[1]
    ]
    return Aligned(a, b, pairs, stands_for, outputs, Together())


@dataclass(frozen=True, slots=True)
class Entering:
    """A value that enters a region: as what, what it is inside, and what it is outside if it is anything there."""

    kind: str
    inner: Value
    outer: Value | None


@dataclass(slots=True)
class Entered:
    """What enters a region of two operators.

    Attributes:
        pairs: values inside that belong together.
        in_order: those of them that don't outside.
        only_a, only_b: what enters one of them only.
    """

    pairs: dict[Value, Value] = field(default_factory=dict[Value, Value])
    in_order: list[tuple[Entering, Entering]] = field(default_factory=list[tuple[Entering, Entering]])
    only_a: list[Entering] = field(default_factory=list[Entering])
    only_b: list[Entering] = field(default_factory=list[Entering])


def entries(node: Node, region: str) -> list[Entering]:
    """What enters a body or branch, in order."""
    inputs = node.regions[region].inputs
    if not is_loop(node):
        pairs = zip(inputs[len(inputs) - node.captured :], node.captures, strict=True)
        return [Entering("captured value", inner, outer) for inner, outer in pairs]
    found: list[Entering] = []
    for entry in Loop(node).entries:
        if entry.body_input is not None:
            kind = _ENTERS[type(entry.slot)]
            outer = None if kind == "condition" else entry.operand
            found.append(Entering(kind, entry.body_input, outer))
    return found


_ENTERS = {
    Carried: "initial value",
    Sliced: "sequence",
    Captured: "captured value",
    Iteration: "number of the pass",
    Condition: "condition",
}


def _named(node: Node) -> list[Value]:
    return [value for value in node.outputs if value.name]


def _structure(a: Graph, b: Graph, pairs: dict[Value, Value], stands_for: dict[Value, Value]) -> dict[Value, Value]:
    """The values of two regions that are the same if `pairs` are: built alike of the same."""
    same = dict(pairs)
    known: dict[Any, Node] = {}
    for node in b.topological():
        if not node.regions:
            operands = tuple(stands_for.get(value, value) if value is not None else None for value in node.inputs)
            known.setdefault((node.op, attributes_of(node), operands), node)
    for node in a.topological():
        operands = tuple(same.get(value, value) if value is not None else None for value in node.inputs)
        twin = None if node.regions else known.get((node.op, attributes_of(node), operands))
        if twin is not None:
            same.update(zip(node.outputs, twin.outputs, strict=False))
    return same


def content(value: Value) -> Any:
    """What a constant is told by; others are themselves."""
    if value.data is None:
        return value
    array = value.data.numpy()
    return value.data.dtype, value.data.shape, str(array) if array.dtype == object else array.tobytes()


def _operands(node: Node, other: Node) -> list[tuple[Value, Value]]:
    pairs = zip(node.inputs, other.inputs, strict=False)
    return [(one, twin) for one, twin in pairs if one is not None and twin is not None]
