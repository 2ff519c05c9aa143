"""The order in which OpenVINO writes layers: Parameters, everything the results need, sinks, Results."""

from __future__ import annotations

from ...passes.errors import Unsupported
from ...passes.graph import Graph, Node, Value
from .dialect import DOMAIN

_ASSIGN, _READ = (DOMAIN, "Assign"), (DOMAIN, "ReadValue")


def is_sink(node: Node) -> bool:
    """Whether the node writes a variable, itself or in a body."""
    return node.op == _ASSIGN or any(
        inner.op == _ASSIGN for region in node.regions.values() for _, inner in region.walk()
    )


def _check_closed(graph: Graph, nodes: list[Node]) -> None:
    inside: set[Node | Value] = {*nodes, *graph.inputs}
    for value in (*graph.outputs, *(value for node in nodes for value in node.inputs)):
        if value is not None and value.data is None and (value.producer or value) not in inside:
            raise Unsupported(f"value {value.name!r}", f"graph {graph.name!r} uses it from outside")


def file_order(graph: Graph) -> tuple[list[Node | Value], list[Node]]:
    """(constants and nodes, sinks) in file order; constants stand as their Values.

    OpenVINO walks depth first from the last sink to the first and from the last Result to the first, takes the
    ReadValue of an Assign before the Assign's inputs, and inputs in their order. What nothing needs comes after that.

    Raises:
        InvalidModel: the graph has a cycle.
        Unsupported: a value is neither an input nor a constant of the graph, nor made in it.
    """
    nodes = graph.nodes
    _check_closed(graph, nodes)
    graph.topological()
    readers = {node.attributes.get("variable_id"): node for node in nodes if node.op == _READ}
    done: set[Node | Value] = set(graph.inputs)
    entered: set[Node] = set()
    order: list[Node | Value] = []

    def needs(node: Node) -> list[Node | Value]:
        found: list[Node | Value] = [value.producer or value for value in node.inputs if value is not None]
        reader = readers.get(node.attributes.get("variable_id")) if node.op == _ASSIGN else None
        return found if reader is None else [reader, *found]

    def visit(root: Node | Value) -> None:
        stack = [root]
        while stack:
            item = stack[-1]
            if item in done:
                stack.pop()
            elif isinstance(item, Node) and item not in entered:
                entered.add(item)
                stack.extend(need for need in reversed(needs(item)) if need not in done)
            else:
                done.add(item)
                order.append(item)
                stack.pop()

    sinks = [node for node in nodes if is_sink(node)]
    for node in reversed(sinks):
        visit(node)
    for value in reversed(graph.outputs):
        visit(value.producer or value)
    for rest in (*graph.constants, *nodes):
        visit(rest)
    aside = set(sinks)
    return [item for item in order if item not in aside], sinks
