"""How many inputs and outputs the graphs of ONNX's control flow have, which no schema says."""

from __future__ import annotations

from collections.abc import Iterator

from .graph import Node

Counts = tuple[int, int]
"""Inputs, without what is captured, and the least number of outputs."""


def region_fault(node: Node) -> str:
    """What is wrong with a node's graphs, to be read behind its name; "" where nothing is."""
    wanted = _WANTED.get(node.op_type) if node.regions and not node.domain else None
    if wanted is None:
        return ""
    for name, (inputs, outputs) in wanted(node):
        region = node.regions.get(name)
        if region is None:
            return f": its graph {name} is missing"
        found = len(region.inputs) - node.captured
        if found != inputs:
            return f": its graph {name} has {found} inputs; {inputs} are fed"
        if len(region.outputs) < outputs:
            return f": its graph {name} has {len(region.outputs)} outputs; {outputs} are needed"
    return ""


def _loop(node: Node) -> Iterator[tuple[str, Counts]]:
    states = max(len(node.formal_inputs) - 2, 0)
    yield "body", (2 + states, 1 + max(states, len(node.outputs)))


def _scan(node: Node) -> Iterator[tuple[str, Counts]]:
    fed = len(node.formal_inputs) - (node.version < 9)  # the first one has lengths there
    sequences = node.attributes.get("num_scan_inputs")
    states = fed - sequences if isinstance(sequences, int) else 0
    yield "body", (fed, max(states, len(node.outputs)))


def _if(node: Node) -> Iterator[tuple[str, Counts]]:
    for name in ("then_branch", "else_branch"):
        yield name, (0, len(node.outputs))


def _map(node: Node) -> Iterator[tuple[str, Counts]]:
    yield "body", (len(node.formal_inputs), len(node.outputs))


_WANTED = {"If": _if, "Loop": _loop, "Scan": _scan, "SequenceMap": _map}
