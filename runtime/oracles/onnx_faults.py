"""Where onnx's reference evaluator is known to be wrong, found by looking at the model.

An answer of a runtime that is known to be wrong for such a model must not count as the model's answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAX_BYTES = 256 << 20
"""Bigger files aren't searched: reading them twice costs more than the search is worth."""

_CONTROL = ("Loop", "Scan")
_DISREGARDED = {
    "RNN": ("clip",),
    "GRU": ("clip", "activations"),
    "LSTM": ("clip", "activations", "input_forget"),
}
"""Recurrent operators, and the attributes that it takes no notice of."""

_SEQUENCE_LENS = 4


def reference_faults(path: Path) -> str:
    """One line if onnx's reference evaluator computes something else than the specification says, else ""."""
    for node in _nodes(path, tuple(name.encode() for name in (*_CONTROL, *_DISREGARDED))):
        if node.op_type in _CONTROL:
            return f"onnx's reference evaluator is wrong for {node.op_type}"
        if node.op_type not in _DISREGARDED:
            continue
        if len(node.input) > _SEQUENCE_LENS and node.input[_SEQUENCE_LENS]:
            return f"onnx's reference evaluator disregards the lengths of the sequences of {node.op_type}"
        for attribute in node.attribute:
            if attribute.name in _DISREGARDED[node.op_type]:
                return f"onnx's reference evaluator disregards {attribute.name} of {node.op_type}"
    return ""


def _nodes(path: Path, mentioned: tuple[bytes, ...]) -> Iterator[Any]:
    """Every node of the model's graphs and functions.

    The model isn't parsed if the file mentions none of the given names.
    """
    if path.stat().st_size > _MAX_BYTES:
        return
    data = path.read_bytes()
    if not any(word in data for word in mentioned):
        return
    import onnx

    model = onnx.load_model_from_string(data)
    stack = [model.graph.node, *(function.node for function in model.functions)]
    while stack:
        for node in stack.pop():
            if node.domain in ("", "ai.onnx"):
                yield node
            for attribute in node.attribute:
                stack.extend(graph.node for graph in (attribute.g, *attribute.graphs))
