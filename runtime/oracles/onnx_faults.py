"""Where ONNX Runtime and onnx's reference evaluator are known to be wrong, found by looking at the model.

An answer of a runtime that is known to be wrong for such a model must not count as the model's answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAX_BYTES = 256 << 20
"""Bigger files aren't searched: reading them twice costs more than the search is worth."""

_RECURRENT = ("LSTM", "GRU", "RNN")
_SEQUENCE_LENS = 4


def onnxruntime_faults(path: Path) -> str:
    """One line if ONNX Runtime computes something else than the specification says, else ""."""
    for body_of, node in _nodes(path, (b"Loop",)):
        if node.op_type == "Loop" and _ignores_condition(node) and not _always_true(body_of(node)):
            return "ONNX Runtime obeys the body's condition of a Loop without `cond`, which the specification ignores"
    return ""


def reference_faults(path: Path) -> str:
    """One line if onnx's reference evaluator computes something else than the specification says, else ""."""
    for _, node in _nodes(path, (b"Loop", b"Scan", *(name.encode() for name in _RECURRENT))):
        if node.op_type in ("Loop", "Scan"):
            return f"onnx's reference evaluator is wrong for {node.op_type}"
        if node.op_type in _RECURRENT and len(node.input) > _SEQUENCE_LENS and node.input[_SEQUENCE_LENS]:
            directions = [a.s for a in node.attribute if a.name == "direction"]
            if directions == [b"bidirectional"]:
                return f"onnx's reference evaluator is wrong for a bidirectional {node.op_type} with sequence lengths"
    return ""


def _nodes(path: Path, mentioned: tuple[bytes, ...]) -> Iterator[tuple[Any, Any]]:
    """Every node of the model's graphs and functions, with a function that gives a node's body.

    The model isn't parsed if the file mentions none of the given names.
    """
    if path.stat().st_size > _MAX_BYTES:
        return
    data = path.read_bytes()
    if not any(word in data for word in mentioned):
        return
    import onnx

    model = onnx.load_model_from_string(data)

    def body_of(node: Any) -> Any:
        return next(a.g for a in node.attribute if a.name == "body")

    stack = [model.graph.node, *(function.node for function in model.functions)]
    while stack:
        for node in stack.pop():
            if node.domain in ("", "ai.onnx"):
                yield body_of, node
            for attribute in node.attribute:
                stack.extend(graph.node for graph in (attribute.g, *attribute.graphs))


def _ignores_condition(node: Any) -> bool:
    """A Loop with a trip count and no `cond`: the specification counts, whatever the body's condition says."""
    return bool(node.input and node.input[0]) and (len(node.input) < 2 or not node.input[1])


def _always_true(body: Any) -> bool:
    """The body's condition is a constant true, or the true it was entered with."""
    from onnx import numpy_helper

    producers = {name: node for node in body.node for name in node.output}
    name = body.output[0].name
    while name in producers and producers[name].op_type in ("Identity", "Cast"):  # Constant-1 holds floats only
        name = producers[name].input[0]
    if name == body.input[1].name:
        return True
    tensors = [tensor for tensor in body.initializer if tensor.name == name]
    if name in producers and producers[name].op_type == "Constant":
        tensors = [a.t for a in producers[name].attribute if a.name == "value"]
    return bool(tensors) and bool(numpy_helper.to_array(tensors[0]).all())
