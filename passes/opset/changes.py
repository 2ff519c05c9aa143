"""What a walk did to the operators that didn't stay as they were, for the report."""

from __future__ import annotations

from collections.abc import Collection
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

    nodes: list[Node] = field(default_factory=list)
    inlined: bool = False


@dataclass(slots=True)
class Log:
    """Collects changes by operator, version and kind."""

    frames: dict[tuple[str, int, int, str], list[Frame]] = field(default_factory=dict)
    counts: dict[tuple[str, int, int, str], list[int]] = field(default_factory=dict)

    def add(self, node: Node, target: int, frame: Frame, made: list[Value]) -> None:
        """Take up what became of `node`."""
        how = _how(node, frame, made)
        if how:
            self.frames.setdefault((name_of(node), node.version, target, how), []).append(frame)

    def count(self, operator: str, version: int, target: int, how: str, count: int, nodes: int) -> None:
        """Take up what somebody else did."""
        entry = self.counts.setdefault((operator, version, target, how), [0, 0])
        entry[0] += count
        entry[1] += nodes

    def changes(self, alive: Collection[Node]) -> list[Change]:
        """The changes, sorted by operator; of the nodes made, those count that are still there."""
        found = {key: (count, nodes) for key, (count, nodes) in self.counts.items()}
        for key, frames in self.frames.items():
            count, nodes = found.get(key, (0, 0))
            left = sum(node in alive for frame in frames for node in frame.nodes)
            found[key] = count + len(frames), nodes + left
        return [Change(*key, *found[key]) for key in sorted(found)]


def name_of(node: Node) -> str:
    """An operator's name with its domain, if that isn't ai.onnx."""
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _how(node: Node, frame: Frame, made: list[Value]) -> str:
    if frame.inlined:
        return INLINED
    if not frame.nodes:
        return FOLDED if made and made[0].data is not None else DECOMPOSED
    if all(made.op != node.op for made in frame.nodes):
        return DECOMPOSED
    twin = frame.nodes[0]
    alone = len(frame.nodes) == 1 and twin.attributes == node.attributes and twin.inputs == node.inputs
    return "" if alone else ADAPTED
