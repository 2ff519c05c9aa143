"""Where in a graph something stands: the loops and branches around it, with the pass of each loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...passes.graph import Graph, Node, Value
from ...passes.loop import is_loop
from .tracing import Passes

Regions = Mapping[Node, tuple[Node, str] | None]
"""Of each node of a model, the node in whose region it stands, and which region; None at the top."""


def regions(graph: Graph) -> dict[Node, tuple[Node, str] | None]:
    """Where every node of a graph stands."""
    found: dict[Node, tuple[Node, str] | None] = dict.fromkeys(graph.nodes)
    stack = list(graph.nodes)
    while stack:
        node = stack.pop()
        for name, region in node.regions.items():
            found.update(dict.fromkeys(region.nodes, (node, name)))
            stack.extend(region.nodes)
    return found


@dataclass(frozen=True, slots=True)
class Step:
    """One node on a path from the model's graph inwards.

    Attributes:
        op, name: of the node; its name is that of its first result where it has none.
        region: of which the next step is a part ("body", "then", "else"); "" at the end of the path.
        number: the pass of a loop, counted from 0; None of other nodes, and at the end of the path.
    """

    op: str
    name: str
    region: str = ""
    number: int | None = None

    def __str__(self) -> str:
        if self.number is not None:
            return f"{self.name}@{self.number}"
        return f"{self.name}/{self.region}" if self.region else self.name

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"op": self.op, "name": self.name, "region": self.region, "pass": self.number}


@dataclass(frozen=True, slots=True)
class Place:
    """A value of a model, or a node (`value` is ""), in a certain pass of each loop around it.

    Attributes:
        steps: the path to the node.
    """

    steps: tuple[Step, ...]
    value: str = ""

    @property
    def op(self) -> str:
        """The operator at the end of the path."""
        return self.steps[-1].op

    def __str__(self) -> str:
        return "".join(f"/{step}" for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "path": str(self),
            "op": self.op,
            "value": self.value,
            "steps": [step.to_json() for step in self.steps],
        }


def shown(node: Node) -> str:
    """A name for a node."""
    return node.name or next((value.name for value in node.outputs if value.name), node.op_type)


def place(where: Regions, node: Node, passes: Passes, value: Value | None = None) -> Place:
    """The place of a node, or of one of its results, in these passes of the loops around it."""
    steps = [Step(node.op_type, shown(node))]
    around = list(_around(where, node))
    numbers = iter(reversed(passes))
    for outer, region in around:
        number = next(numbers, None) if is_loop(outer) else None
        steps.append(Step(outer.op_type, shown(outer), region, number))
    return Place(tuple(reversed(steps)), "" if value is None else value.name)


def _around(where: Regions, node: Node) -> Iterator[tuple[Node, str]]:
    """The nodes in whose regions a node stands, innermost first."""
    found = where.get(node)
    while found is not None:
        yield found
        found = where.get(found[0])
