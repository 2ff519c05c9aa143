"""Absolute values of what is joined.

OpenVINO makes Concat(Abs(x), Abs(y)) of Abs(Concat(x, y)), and of everything else that reads the Concat, too. With an
axis more around the Abs it doesn't see the Concat.
"""

from __future__ import annotations

from collections.abc import Callable

from ....passes.graph import Graph, Value
from ....passes.preconditions import required
from ....passes.rewrite import Builder
from .carried import hands_on
from .tools import i64


def part_absolutes(graph: Graph, builder: Callable[[Graph], Builder]) -> None:
    """Keep the Abs of a lowered graph from what is joined."""
    found = [(inner, node) for inner, node in graph.walk() if node.op_type == "Abs" and _is_joined(required(node, 0))]
    for inner, node in found:
        op = builder(inner)
        axis = i64(op, [0])
        made = op.Abs(op.Unsqueeze(required(node, 0), axis))
        _, node.version = op.rewriter.dialect.resolve("Squeeze")
        node.op_type = "Squeeze"  # which keeps its result's name
        inner.set_inputs(node, [made, axis])


def _is_joined(value: Value) -> bool:
    """Whether a value is what a Concat gives, behind layers that may do nothing."""
    while value.producer is not None and value.producer.op_type != "Concat":
        if not hands_on(value.producer):
            return False
        value = required(value.producer, 0)
    return value.producer is not None
