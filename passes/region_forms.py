"""How many inputs and outputs the graphs of ONNX's control flow have, and along which axes a Scan goes.

No schema says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .graph import Node

Counts = tuple[int, int]
"""Inputs, without what is captured, and the least number of outputs."""


def region_fault(node: Node) -> str:
    """What is wrong with a node's graphs, to be read behind its name; "" where nothing is."""
    wanted = _WANTED.get(node.op) if node.regions else None
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
        if node.op in _EXACTLY and len(region.outputs) > outputs:
            return f": its graph {name} has {len(region.outputs)} outputs; {outputs} are taken"
    return _scan_fault(node) if node.op_type == "Scan" else ""


def _loop(node: Node) -> Iterator[tuple[str, Counts]]:
    states = max(len(node.formal_inputs) - 2, 0)
    yield "body", (2 + states, 1 + max(states, len(node.outputs)))


def _scan(node: Node) -> Iterator[tuple[str, Counts]]:
    fed = len(node.formal_inputs) - (node.version < 9)  # the first one has lengths there, and all have a batch
    sequences = node.attributes.get("num_scan_inputs")
    states = fed - sequences if isinstance(sequences, int) else 0
    yield "body", (fed, max(states, len(node.outputs)))


def _scan_fault(node: Node) -> str:
    """Why a Scan's lists don't go with what it scans and what it stacks."""
    batched = node.version < 9
    fed, sequences = node.formal_inputs[batched:], node.attributes.get("num_scan_inputs")
    if not isinstance(sequences, int):
        return ""
    if not 0 < sequences <= len(fed):
        return f": num_scan_inputs is {sequences}, and {len(fed)} inputs are fed"
    states = len(fed) - sequences
    scanned, stacked = fed[states:], node.regions["body"].outputs[states:]
    for prefix, values, more in (
        [("", scanned, 0)] if batched else [("scan_input_", scanned, 0), ("scan_output_", stacked, 1)]
    ):
        axes, ways = (_list(node, prefix + name) for name in ("axes", "directions"))
        for name, listed in (("axes", axes), ("directions", ways)):
            if len(listed) not in (0, len(values)):
                return f": {prefix}{name} has {len(listed)} entries; {len(values)} are needed"
        for axis, value in zip(axes or [int(batched)] * len(values), values, strict=True):
            rank = None if value is None or value.rank is None else value.rank + more
            if rank is not None and not -rank <= axis < rank:
                return f": axis {axis} of a sequence of rank {rank}"
        if found := set(ways) - {0, 1}:
            return f": {prefix}directions has {min(found)}, which is no direction"
    return ""


def _list(node: Node, name: str) -> Sequence[int]:
    """A list among the attributes, empty where there is none."""
    found = node.attributes.get(name)
    return found if isinstance(found, list | tuple) else ()


def _if(node: Node) -> Iterator[tuple[str, Counts]]:
    for name in ("then_branch", "else_branch"):
        yield name, (0, len(node.outputs))


def _map(node: Node) -> Iterator[tuple[str, Counts]]:
    yield "body", (len(node.formal_inputs), len(node.outputs))


def _flex(node: Node) -> Iterator[tuple[str, Counts]]:
    for name in node.regions:
        yield name, (1, 1)


_FLEX, _MAP = ("ai.onnx.preview", "FlexAttention"), ("", "SequenceMap")
_WANTED = {("", "If"): _if, ("", "Loop"): _loop, ("", "Scan"): _scan, _MAP: _map, _FLEX: _flex}
_EXACTLY = (_MAP, _FLEX)
"""Whose graphs have no further outputs."""
