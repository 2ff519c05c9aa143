"""Regions that are built of values from around them, and closed when they are whole: bodies of loops, branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....passes.graph import Graph, Node, Value
from ....passes.loop import is_if
from ....passes.rewrite import Builder
from ....passes.types import Type


def close(op: Builder) -> list[tuple[Value, Value]]:
    """(value, input) of what a region uses from outside. Constants are copied into it."""
    graph = op.graph
    own = {*graph.inputs, *graph.constants, *(value for node in graph.nodes for value in node.outputs)}
    copies: dict[Value, Value] = {}
    captured: list[tuple[Value, Value]] = []

    def inside(value: Value) -> Value:
        if value in own:
            return value
        if value not in copies:
            if value.data is not None:
                copies[value] = graph.add_constant(value.data, op.rewriter.names.fresh(value.name))
            else:
                copies[value] = Value(op.rewriter.names.fresh(value.name), value.type)
                captured.append((value, copies[value]))
        return copies[value]

    narrow(graph)  # so that nothing is captured for what leads to no output
    for node in graph.nodes:
        node.inputs = [None if value is None else inside(value) for value in node.inputs]
    graph.outputs = [inside(value) for value in graph.outputs]
    return captured


def branch(
    op: Builder, condition: Value, then: Builder, otherwise: Builder, types: Sequence[Type | None]
) -> list[Value]:
    """An If of two regions that use values from outside, their outputs being set."""
    regions = then, otherwise
    captured = [close(region) for region in regions]
    values = list(dict.fromkeys(value for pairs in captured for value, _ in pairs))
    for region, pairs in zip(regions, captured, strict=True):
        inner = dict(pairs)
        region.graph.inputs = [inner.get(value) or _unused(op, value) for value in values]
    return list(op.branch(condition, values, then.graph, otherwise.graph, types))


def _unused(op: Builder, value: Value) -> Value:
    return Value(op.rewriter.names.fresh(value.name), value.type)


def operands(value: Value) -> Iterator[Value]:
    """What a value is computed of; of an If's result only what leads to that."""
    node = value.producer
    if node is None:
        return
    if not is_if(node):
        yield from (one for one in node.inputs if one is not None)
        return
    condition, *captured = node.inputs
    if condition is not None:
        yield condition
    for region in node.regions.values():
        found = _leading_to(region.outputs[value.index])
        for outer, inner in zip(captured, region.inputs, strict=True):
            if inner in found and outer is not None:
                yield outer


def _leading_to(value: Value) -> set[Value]:
    seen: set[Value] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += operands(one)
    return seen


def narrow(graph: Graph) -> None:
    """Take out what leads to no output, in branches as well, and what branches capture for that.

    The nodes stand in order, as they were built, and may use values from around the graph.
    """
    live = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if any(value in live for value in node.outputs):
            if is_if(node):
                _narrow_branches(node, live)
            live.update(value for value in node.inputs if value is not None)
            kept.append(node)
    graph.set_nodes(kept[::-1])
    graph.constants = [value for value in graph.constants if value in live]


def _narrow_branches(node: Node, live: set[Value]) -> None:
    wanted = [index for index, value in enumerate(node.outputs) if value in live]
    node.outputs = [node.outputs[index] for index in wanted]
    for index, value in enumerate(node.outputs):
        value.index = index
    used: set[int] = set()
    for region in node.regions.values():
        region.outputs = [region.outputs[index] for index in wanted]
        narrow(region)
        inside = {*region.outputs, *(value for inner in region.nodes for value in inner.inputs)}
        used.update(index for index, value in enumerate(region.inputs) if value in inside)
    condition, *captured = node.inputs
    node.inputs = [condition, *(captured[index] for index in sorted(used))]
    node.captured = len(used)
    for region in node.regions.values():
        region.inputs = [region.inputs[index] for index in sorted(used)]


def has_open_sizes(node: Node) -> bool:
    """Whether an operator may fail for the sizes that it meets: one of them is known only at run time."""
    values = [value for value in (*node.inputs, *node.outputs) if value is not None]
    if any(value.tensor.static_shape is None for value in values):
        return True
    return any(has_open_sizes(inner) for region in node.regions.values() for inner in region.nodes)
