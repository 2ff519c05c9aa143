"""What a proof takes for granted of one operator, tried: the operator alone and what stands for it, on the executor."""

from __future__ import annotations

import contextlib

from ..passes.errors import BackedgeError
from ..passes.graph import Graph, Node, Value
from ..passes.schemas import HUB_OPSETS
from ..runtime.compare.input_roles import signature_of
from ..runtime.compare.inputs import design
from ..runtime.compare.runnables import TimeIsUp, alarm
from ..runtime.compare.tolerance import measure_values
from ..runtime.executor import Executor, never_compile

SETS = 8
"""Sets of inputs on which each is tried."""
_SECONDS = 2.0


def alone(node: Node) -> Graph:
    """A hub graph of one operator, whose inputs are its own that are there; those that are constants stay it."""
    graph = Graph("hub", node.op_type)
    graph.opsets = dict(HUB_OPSETS)
    twins: dict[Value, Value] = {}
    for value in node.inputs:
        if value is None or value in twins:
            continue
        if value.data is not None:
            twins[value] = graph.add_constant(value.data, value.name)
        else:
            twins[value] = graph.add_input(value.name, value.type)
    made = graph.add_node(
        node.op_type,
        [None if value is None else twins[value] for value in node.inputs],
        [(value.name, value.type) for value in node.outputs],
        node.attributes,
        domain=node.domain,
        version=node.version,
    )
    graph.outputs = [value for value in made.outputs if value.name]
    return graph


def tried(node: Node, other: Graph) -> tuple[int, bool]:
    """On how many sets of inputs an operator and what stands for it gave the same, within the element types'
    tolerances, and whether they did on all on which the operator has results.

    Args:
        other: a hub graph whose inputs are the operator's that are there, in order.
    """
    graph = alone(node)
    given = [value for value in node.inputs if value is not None]
    same = 0
    try:
        with alarm(_SECONDS):
            first, second = Executor(graph, never_compile), Executor(other, never_compile)
            for feed in design(signature_of(graph), SETS):
                with contextlib.suppress(BackedgeError):
                    expected = list(first.run(feed).values())
                    names = {twin.name: value for value, twin in zip(given, other.inputs, strict=True)}
                    theirs = {name: feed[value.name] for name, value in names.items() if value.data is None}
                    theirs |= {name: value.data.numpy() for name, value in names.items() if value.data is not None}
                    actual = list(second.run(theirs).values())
                    if any(measure_values(*pair).difference for pair in zip(expected, actual, strict=False)):
                        return same, False
                    same += 1
    except (BackedgeError, TimeIsUp, ValueError):
        return same, True
    return same, True
