"""The variables of a model that was raised: how the way back knows which inputs and outputs are their values."""

from __future__ import annotations

from dataclasses import dataclass

from ...passes.graph import Graph, Node, Value
from .dialect import DOMAIN

VARIABLES = "openvino.variables"
"""Key in `meta` of a hub graph: a tuple of Variables."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of OpenVINO, which in the hub is inputs and an output of the graph.

    Attributes:
        id: its `variable_id`.
        input: name of the input that is its value before the run, "" if nothing reads it.
        given: name of the input that says whether that counts, "" where there is none.
        output: name of the output that is its value after the run, "" if nothing assigns it.
        read, assign: the layers, where it comes from a file of OpenVINO.
        initial: the constant that the file starts it with.
    """

    id: str
    input: str = ""
    given: str = ""
    output: str = ""
    read: Node | None = None
    assign: Node | None = None
    initial: Value | None = None


def values_read(graph: Graph) -> dict[Value, str]:
    """What the ReadValue layers of a graph give, with the variables' ids."""
    return {
        node.output: str(node.attributes.get("variable_id", ""))
        for node in graph.nodes
        if node.op == (DOMAIN, "ReadValue")
    }
