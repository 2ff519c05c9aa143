"""Where two matched graphs part, as a structural difference: operators added, removed, changed, and what follows.

Values with one term are the same. Of the other operators those belong together whose operands do, forwards from the
inputs, then those that the same results are made of, backwards from the outputs. Bodies and branches of two operators
that belong together are compared in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from ..graph import Graph, Node, Value
from ..loop import DOMAIN as LOOPS
from ..loop import Captured, Carried, Condition, Iteration, Loop, Sliced, is_if, is_loop
from ..tensor import TensorData
from .matching import Matching
from .reading import attributes_of

Kind = Literal["added", "removed", "changed", "follows"]
"""changed: attributes, constants or the wiring differ. follows: only what it is computed from does."""


@dataclass(slots=True)
class Difference:
    """One operator that isn't the same in both.

    Attributes:
        a, b: the operator in each; None where it isn't there.
        details: what differs, as texts.
        inner: differences in its bodies or branches.
    """

    kind: Kind
    a: Node | None
    b: Node | None
    details: list[str] = field(default_factory=list[str])
    inner: list[Difference] = field(default_factory=list["Difference"])

    @property
    def name(self) -> str:
        """Operator and name, of B's where there is one."""
        node = self.b or self.a
        assert node is not None
        shown = node.name or next((value.name for value in node.outputs if value.name), "")
        domain = "" if node.domain in ("", LOOPS) else f"{node.domain}."
        return f"{domain}{node.op_type} {shown!r}"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "kind": self.kind,
            "name": self.name,
            "details": self.details,
            "inner": [one.to_json() for one in self.inner],
        }


@dataclass(slots=True)
class Differences:
    """All differences of two graphs, regions included, and how many operators there are and are the same.

    Attributes:
        pairs: values of A and the value of B that belongs to each, the same or not, those in regions included.
        nodes: loops and choices of A that aren't the same in B, and those of B.
    """

    found: list[Difference]
    same: int
    of: tuple[int, int]
    pairs: dict[Value, Value]
    nodes: dict[Node, Node]


def differences(matching: Matching) -> Differences:
    """The structural difference of two graphs that were matched."""
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
    aligned = _Aligned(a, b, pairs, stands_for, outputs, _Together({}, {}))
    found = aligned.differences()
    together = aligned.together
    return Differences(found, len(b) - len(aligned.left_b), (len(a), len(b)), together.values, together.nodes)


@dataclass(frozen=True, slots=True)
class _Together:
    """What belongs together in all graphs that were looked into."""

    values: dict[Value, Value]
    nodes: dict[Node, Node]


class _Aligned:
    """Two graphs, and which of their operators belong together.

    Args:
        pairs: values of A that are the same in B.
        stands_for: the value of B under which `pairs` has others that are the same as it.
        outputs: outputs that belong together.
        together: takes up what belongs together here and in regions.
    """

    def __init__(
        self,
        a: Graph,
        b: Graph,
        pairs: dict[Value, Value],
        stands_for: dict[Value, Value],
        outputs: Sequence[tuple[Value, Value]],
        together: _Together,
    ) -> None:
        self.together = together
        self.outputs = outputs
        self.stands_for = stands_for
        self.partner = dict(pairs)  # values that belong together, whether or not they are the same
        known = {*pairs.values()}
        self.left_a = [node for node in a.topological() if not all(value in pairs for value in _named(node))]
        self.left_b = [
            node for node in b.topological() if not all(self._of_b(value) in known for value in _named(node))
        ]
        self.nodes: dict[Node, Node] = {}

    def _of_b(self, value: Value) -> Value:
        return self.stands_for.get(value, value)

    def differences(self) -> list[Difference]:
        self._by_name()
        self._forwards()
        self._backwards()
        self.together.values.update(self.partner)
        self.together.nodes.update((node, other) for node, other in self.nodes.items() if node.regions)
        taken = set(self.nodes.values())
        found: list[Difference] = []
        for node in self.left_a:
            other = self.nodes.get(node)
            found.append(Difference("removed", node, None) if other is None else self._compared(node, other))
        return found + [Difference("added", None, node) for node in self.left_b if node not in taken]

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
                    self.partner[value] = self._of_b(twin)
        self._by_origin()

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
                    self.partner[value] = self._of_b(ends[0])

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
        return self._of_b(value) if partner is None else partner.get(value, value)

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
            self.partner.setdefault(value, self._of_b(twin))

    def _compared(self, node: Node, other: Node) -> Difference:
        if node.regions:
            details, inner = self._with_regions(node, other)
        else:
            pairs = enumerate(zip_longest(node.inputs, other.inputs))
            texts = [text for index, pair in pairs for text in self._operand(f"operand {index}", *pair)]
            details, inner = [*_attributes(node, other), *texts], []
        return Difference("changed" if details or inner else "follows", node, other, details, inner)

    def _operand(self, what: str, one: Value | None, twin: Value | None) -> Iterator[str]:
        if one is None or twin is None:
            if one is not twin:
                yield f"{what} is left out in {'A' if one is None else 'B'}"
        elif one.data is not None and twin.data is not None:
            yield from (f"{what}: {text}" for text in _constants(one.data, twin.data))
        elif self.partner.get(one) is not self._of_b(twin):
            yield f"{what} is {_name(one)} in A and {_name(twin)} in B"

    def _with_regions(self, node: Node, other: Node) -> tuple[list[str], list[Difference]]:
        """Of a loop or a choice: values that enter belong together by what they are outside, else in order."""
        details: list[str] = []
        if is_loop(node):
            details += self._operand("the trip count", node.inputs[0], other.inputs[0])
            details += self._operand("the initial condition", node.inputs[1], other.inputs[1])
        elif is_if(node):
            details += self._operand("the condition", node.inputs[0], other.inputs[0])
        inner: list[Difference] = []
        for index, name in enumerate(name for name in node.regions if name in other.regions):
            pairs, texts = self._entering(_entries(node, name), _entries(other, name))
            details += texts if not index else []
            inner += _region(node.regions[name], other.regions[name], pairs, self.together)
        return details, inner

    def _entering(self, a: list[_Entering], b: list[_Entering]) -> tuple[dict[Value, Value], list[str]]:
        pairs: dict[Value, Value] = {}
        details: list[str] = []
        left_a, left_b = list(a), list(b)
        for one in a:
            for other in left_b:
                if one.kind == other.kind and one.outer is not None and self._are_one(one.outer, other.outer):
                    pairs[one.inner] = other.inner
                    left_a.remove(one)
                    left_b.remove(other)
                    break
        for one in left_a:
            other = next((other for other in left_b if other.kind == one.kind), None)
            if other is None:
                details.append(f"{one} enters in A only")
                continue
            left_b.remove(other)
            pairs[one.inner] = other.inner
            details += self._operand(one.kind, one.outer, other.outer)
        return pairs, details + [f"{other} enters in B only" for other in left_b]

    def _are_one(self, one: Value, other: Value | None) -> bool:
        if other is not None and one.data is not None and other.data is not None:
            return _content(one) == _content(other)
        return other is not None and self.partner.get(one) is self._of_b(other)


@dataclass(frozen=True, slots=True)
class _Entering:
    """A value that enters a region: as what, what it is inside, and what it is outside if it is anything there."""

    kind: str
    inner: Value
    outer: Value | None

    def __str__(self) -> str:
        return f"{self.kind} {'' if self.outer is None else _name(self.outer)}".strip()


def _entries(node: Node, region: str) -> list[_Entering]:
    inputs = node.regions[region].inputs
    if not is_loop(node):
        pairs = zip(inputs[len(inputs) - node.captured :], node.captures, strict=True)
        return [_Entering("captured value", inner, outer) for inner, outer in pairs]
    found: list[_Entering] = []
    for entry in Loop(node).entries:
        if entry.body_input is not None:
            kind = _ENTERS[type(entry.slot)]
            outer = None if kind == "condition" else entry.operand
            found.append(_Entering(kind, entry.body_input, outer))
    return found


_ENTERS = {
    Carried: "initial value",
    Sliced: "sequence",
    Captured: "captured value",
    Iteration: "number of the pass",
    Condition: "condition",
}


def _region(a: Graph, b: Graph, pairs: dict[Value, Value], together: _Together) -> list[Difference]:
    """The differences of two regions, given which of their inputs are the same."""
    first: dict[Any, Value] = {}
    stands_for = {value: first.setdefault(_content(value), value) for value in b.values() if value.data is not None}
    pairs = pairs | {value: first[_content(value)] for value in a.constants if _content(value) in first}
    pairs = _structure(a, b, pairs, stands_for)
    outputs = list(zip(a.outputs, b.outputs, strict=False))
    aligned = _Aligned(a, b, pairs, stands_for, outputs, together)
    return [*aligned.differences(), *_handed_out(pairs, stands_for, outputs)]


def _handed_out(
    pairs: dict[Value, Value], stands_for: dict[Value, Value], outputs: Sequence[tuple[Value, Value]]
) -> list[Difference]:
    """Results of two regions that are other values of both."""
    known = {stands_for.get(value, value) for value in pairs.values()}
    found: list[Difference] = []
    for index, (one, other) in enumerate(outputs):
        other = stands_for.get(other, other)
        if one in pairs and pairs[one] is not other and other in known and one.producer is not None:
            text = f"result {index} is {_name(one)} in A and {_name(other)} in B"
            found.append(Difference("changed", one.producer, other.producer, [text]))
    return found


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


def _content(value: Value) -> Any:
    """What a constant is told by; others are themselves."""
    if value.data is None:
        return value
    array = value.data.numpy()
    return value.data.dtype, value.data.shape, str(array) if array.dtype == object else array.tobytes()


def _operands(node: Node, other: Node) -> list[tuple[Value, Value]]:
    pairs = zip(node.inputs, other.inputs, strict=False)
    return [(one, twin) for one, twin in pairs if one is not None and twin is not None]


def _name(value: Value) -> str:
    if value.data is not None:
        return "a constant"
    return repr(value.name) if value.producer is None else f"{value.producer.op_type} {value.name!r}"


def _attributes(node: Node, other: Node) -> Iterator[str]:
    one, twin = dict(attributes_of(node)), dict(attributes_of(other))
    for name in sorted(one.keys() | twin.keys()):
        if one.get(name) != twin.get(name):
            yield f"{name} is {_shown(one.get(name))} in A and {_shown(twin.get(name))} in B"


def _shown(value: Any) -> str:
    text = "not set" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _constants(a: TensorData, b: TensorData) -> Iterator[str]:
    """By how much two constants differ."""
    if a.dtype is not b.dtype or a.shape != b.shape:
        yield f"a constant {a.dtype.value}{list(a.shape)} in A and {b.dtype.value}{list(b.shape)} in B"
        return
    one, other = a.numpy(), b.numpy()
    if one.dtype == object:
        apart = int((one != other).sum())
        if apart:
            yield f"{apart} of {one.size} texts of the constant differ"
        return
    wide = [array.astype(np.float64) for array in (one, other)]
    unlike = ~((wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1])))
    if not unlike.any():
        return
    gap = np.abs(wide[0] - wide[1])[unlike]
    most = float(np.nanmax(gap)) if not np.isnan(gap).all() else math.nan
    if one.size == 1:
        yield f"the constant is {one.reshape(-1)[0]} in A and {other.reshape(-1)[0]} in B"
    else:
        yield f"{int(unlike.sum())} of {one.size} elements of the constant differ, by up to {most:.3g}"
