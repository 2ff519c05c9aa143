"""What a walk did to the operators that didn't stay as they were, for the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..graph import Node, Value

ADAPTED, DECOMPOSED, INLINED, FOLDED = "adapted", "decomposed", "inlined", "folded"


@dataclass(frozen=True, slots=True)
class Change:
    """Operators of one kind to which the same was done.

    Attributes:
        operator: its name, "domain.Operator" outside of ai.onnx.
        version, target: its version before, and the opset it came to.
        how: "adapted" (the same operator with other inputs, attributes or types), "decomposed" (other
            operators), "inlined" (its official or model-local function body) or "folded" (a constant).
        count: how many of them.
        nodes: how many nodes stand for them.
    """

    operator: str
    version: int
    target: int
    how: str
    count: int
    nodes: int

    @property
    def cost(self) -> int:
        """Nodes more than before."""
        return self.nodes - self.count


@dataclass(slots=True)
class Frame:
    """What one operator of the old graph has become so far."""

    nodes: int = 0
    operators: set[tuple[str, str]] = field(default_factory=set)
    inlined: bool = False

    def add(self, node: Node) -> None:
        self.nodes += 1
        self.operators.add(node.op)

    def forget(self) -> None:
        """A way that turned out to be none."""
        self.nodes, self.inlined = 0, False
        self.operators.clear()


@dataclass(slots=True)
class Log:
    """Counts changes by operator, version and kind."""

    counts: dict[tuple[str, int, int, str], list[int]] = field(default_factory=dict)

    def add(self, node: Node, target: int, frame: Frame, made: list[Value]) -> None:
        """Take up what became of `node`."""
        how = _how(node, frame, made)
        if how:
            self.count(name_of(node), node.version, target, how, 1, frame.nodes)

    def count(self, operator: str, version: int, target: int, how: str, count: int, nodes: int) -> None:
        entry = self.counts.setdefault((operator, version, target, how), [0, 0])
        entry[0] += count
        entry[1] += nodes

    def changes(self) -> Iterator[Change]:
        """The changes, sorted by operator."""
        for key, (count, nodes) in sorted(self.counts.items()):
            yield Change(*key, count, nodes)


def name_of(node: Node) -> str:
    """An operator's name with its domain, if that isn't ai.onnx."""
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _how(node: Node, frame: Frame, made: list[Value]) -> str:
    if frame.inlined:
        return INLINED
    if not frame.nodes:
        return FOLDED if made and made[0].data is not None else DECOMPOSED
    if node.op not in frame.operators:
        return DECOMPOSED
    twin = made[0].producer if made else None
    alone = frame.nodes == 1 and twin is not None and twin.attributes == node.attributes
    return "" if alone and twin is not None and twin.inputs == node.inputs else ADAPTED
