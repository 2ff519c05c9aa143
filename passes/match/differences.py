"""Where two matched graphs part, as a structural difference: operators added, removed, changed, and what follows.

Operators are compared with those that belong to them, see `alignment`, and so are bodies and branches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal

import numpy as np

from ..attributes import attributes_of
from ..graph import Node, Value
from ..loop import DOMAIN as LOOPS
from ..loop import is_if, is_loop
from ..tensor import TensorData
from .alignment import Aligned, Entered, Entering, align
from .matching import Matching

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
    aligned = align(matching)
    found, together = _differences(aligned), aligned.together
    of = len(aligned.a), len(aligned.b)
    return Differences(found, of[1] - len(aligned.left_b), of, together.values, together.nodes)


def _differences(aligned: Aligned) -> list[Difference]:
    taken = set(aligned.nodes.values())
    found: list[Difference] = []
    for node in aligned.left_a:
        other = aligned.nodes.get(node)
        found.append(Difference("removed", node, None) if other is None else _compared(aligned, node, other))
    return found + [Difference("added", None, node) for node in aligned.left_b if node not in taken]


def _compared(aligned: Aligned, node: Node, other: Node) -> Difference:
    if node.regions:
        details, inner = _with_regions(aligned, node, other)
    else:
        pairs = enumerate(zip_longest(node.inputs, other.inputs))
        texts = [text for index, pair in pairs for text in _operand(aligned, f"operand {index}", *pair)]
        details, inner = [*_attributes(node, other), *texts], []
    return Difference("changed" if details or inner else "follows", node, other, details, inner)


def _operand(aligned: Aligned, what: str, one: Value | None, twin: Value | None) -> Iterator[str]:
    if one is None or twin is None:
        if one is not twin:
            yield f"{what} is left out in {'A' if one is None else 'B'}"
    elif one.data is not None and twin.data is not None:
        yield from (f"{what}: {text}" for text in _constants(one.data, twin.data))
    elif aligned.partner.get(one) is not aligned.of_b(twin):
        yield f"{what} is {_name(one)} in A and {_name(twin)} in B"


def _with_regions(aligned: Aligned, node: Node, other: Node) -> tuple[list[str], list[Difference]]:
    """Of a loop or a choice."""
    details: list[str] = []
    if is_loop(node):
        details += _operand(aligned, "the trip count", node.inputs[0], other.inputs[0])
        details += _operand(aligned, "the initial condition", node.inputs[1], other.inputs[1])
    elif is_if(node):
        details += _operand(aligned, "the condition", node.inputs[0], other.inputs[0])
    inner: list[Difference] = []
    for index, name in enumerate(name for name in node.regions if name in other.regions):
        entered = aligned.entering(node, other, name)
        details += [] if index else _entering(aligned, entered)
        region = aligned.region(node.regions[name], other.regions[name], entered.pairs)
        inner += [*_differences(region), *_handed_out(region)]
    return details, inner


def _entering(aligned: Aligned, entered: Entered) -> Iterator[str]:
    for one, twin in entered.in_order:
        yield from _operand(aligned, one.kind, one.outer, twin.outer)
    yield from (f"{_entry(one)} enters in A only" for one in entered.only_a)
    yield from (f"{_entry(one)} enters in B only" for one in entered.only_b)


def _entry(one: Entering) -> str:
    return f"{one.kind} {'' if one.outer is None else _name(one.outer)}".strip()


def _handed_out(aligned: Aligned) -> Iterator[Difference]:
    """Results of two regions that are other values of both."""
    known = {aligned.of_b(value) for value in aligned.same.values()}
    for index, (one, other) in enumerate(aligned.outputs):
        other = aligned.of_b(other)
        if one.producer is not None and one in aligned.same and aligned.same[one] is not other and other in known:
            text = f"result {index} is {_name(one)} in A and {_name(other)} in B"
            yield Difference("changed", one.producer, other.producer, [text])


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
