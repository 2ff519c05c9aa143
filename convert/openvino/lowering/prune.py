"""What nobody needs is taken out of a lowered graph: OpenVINO fails to compile some loops that have it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ....passes.graph import Graph, Node, Value
from ....passes.node import ancestors
from ....passes.structure.simplify import RemoveDead
from ..dialect import BACK_EDGES, BODY_MAPS, INPUT_MAPS, OUTPUT_MAPS, BackEdge, InputMap, OutputMap
from ..origin import ORIGIN


def prune(graph: Graph) -> None:
    """Take out dead nodes, and the ports, Parameters and Results of Loop and If that nothing live depends on."""
    modified = True
    while modified:
        modified = RemoveDead()(graph).modified
        for inner, node in list(graph.walk()):
            if node.meta and ORIGIN in node.meta:  # as it was in the file
                continue
            if "body" in node.regions:
                modified |= _prune_loop(inner, node)
            elif node.regions:
                modified |= _prune_if(inner, node)


def _used(graph: Graph, node: Node) -> list[int]:
    return [value.index for value in node.outputs if value in graph.outputs or graph.uses(value)]


def _prune_loop(graph: Graph, node: Node) -> bool:
    body = node.regions["body"]
    inputs: tuple[InputMap, ...] = node.attributes[INPUT_MAPS]
    outputs: tuple[OutputMap, ...] = node.attributes[OUTPUT_MAPS]
    edges: tuple[BackEdge, ...] = node.attributes[BACK_EDGES]
    used = _used(graph, node)
    results = {entry.result for entry in outputs if entry.external < 0 or entry.external in used}
    live: dict[Value, None] = {}
    size = -1
    while size < len(results):
        size = len(results)
        live = ancestors(body.outputs[index] for index in results)
        results |= {edge.result for edge in edges if body.inputs[edge.parameter] in live}
    fed_back = {edge.result for edge in edges if edge.result in results and body.inputs[edge.parameter] in live}
    kept_edges = [edge for edge in edges if edge.result in fed_back and body.inputs[edge.parameter] in live]
    kept_outputs = [
        entry for entry in outputs if entry.external < 0 or entry.external in used or entry.result in fed_back
    ]
    kept_inputs = [entry for entry in inputs if body.inputs[entry.parameter] in live]
    if (len(kept_inputs), len(kept_outputs), len(kept_edges)) == (len(inputs), len(outputs), len(edges)):
        return False
    parameters = _new_indices(entry.parameter for entry in kept_inputs)
    left = _new_indices({entry.result for entry in kept_outputs} | fed_back)
    body.inputs = [body.inputs[index] for index in parameters]
    body.outputs = [body.outputs[index] for index in left]
    outer = _new_indices([0, 1, *(entry.external for entry in kept_inputs if entry.external >= 0)])
    ports = _new_indices(entry.external for entry in kept_outputs if entry.external >= 0)
    node.attributes[INPUT_MAPS] = tuple(
        replace(entry, external=outer.get(entry.external, -1), parameter=parameters[entry.parameter])
        for entry in kept_inputs
    )
    node.attributes[OUTPUT_MAPS] = tuple(
        replace(entry, external=ports.get(entry.external, -1), result=left[entry.result]) for entry in kept_outputs
    )
    node.attributes[BACK_EDGES] = tuple(BackEdge(left[edge.result], parameters[edge.parameter]) for edge in kept_edges)
    graph.replace_node(node, [node.inputs[index] for index in outer], [node.outputs[index] for index in ports])
    return True


def _prune_if(graph: Graph, node: Node) -> bool:
    used = _used(graph, node)
    inputs: list[Value | None] = [node.inputs[0]]
    modified = len(used) < len(node.outputs)
    for name in ("then_body", "else_body"):
        body, (taken, given) = node.regions[name], BODY_MAPS[name]
        by_port = {entry.external: body.outputs[entry.result] for entry in node.attributes[given]}
        body.outputs = [by_port[index] for index in used]
        kept = [
            entry
            for entry in node.attributes[taken]
            if body.uses(body.inputs[entry.parameter]) or body.inputs[entry.parameter] in body.outputs
        ]
        modified |= len(kept) < len(node.attributes[taken])
        body.inputs = [body.inputs[entry.parameter] for entry in kept]
        first = len(inputs)
        inputs += [node.inputs[entry.external] for entry in kept]
        node.attributes[taken] = tuple(InputMap(first + index, index) for index in range(len(kept)))
        node.attributes[given] = tuple(OutputMap(index, index) for index in range(len(used)))
    if modified:
        graph.replace_node(node, inputs, [node.outputs[index] for index in used])
    return modified


def _new_indices(indices: Iterable[int]) -> dict[int, int]:
    """Old index -> new index, in ascending order."""
    return {old: new for new, old in enumerate(sorted(set(indices)))}
