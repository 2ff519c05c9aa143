"""A graph that is being read: which values the module's numbers are in it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....passes.graph import Graph, Node, Value


@dataclass(slots=True)
class Scope:
    """A graph that is being read: which values the module's numbers are in it."""

    graph: Graph
    outer: Scope | None = None
    captures: bool = True  # whether it can be handed values of the scope around it
    values: dict[int, Value | None] = field(default_factory=dict)
    captured: dict[int, Value] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    sizes: dict[str, Value] = field(default_factory=dict)


def present(value: Value | None) -> Value:
    """A value that is one: no token."""
    assert value is not None
    return value
