"""What arithmetic on the bytes of text was made of: a mark in IR, by which operators on text are read back.

OpenVINO has no such operators, and ONNX no bytes of text. What makes a result of one carries the operator in its
`<rt_info>`, which OpenVINO passes over. A mark is only a hint: the operator it names is lowered once more, and stands
for the layers if these are the same (`raising/text_operators.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...passes.attributes import text
from ...passes.graph import Node, Value
from ...passes.rewrite import Builder, Rule
from ...passes.types import DType, TensorType
from .dialect import META, Layer

_RESULTS = {"Equal": 1, "StringConcat": 1, "StringNormalizer": 1, "StringSplit": 2}
OPERATORS = frozenset(_RESULTS)
"""Those that are marked."""

_NAME = "backedge.text"
_MOST = 1 << 16
"""Constant strings that a mark repeats."""


def marking(rule: Rule) -> Rule:
    """A rule that marks what an operator that reads text becomes."""

    def marked(op: Builder, node: Node) -> Value | Sequence[Value] | None:
        made = rule(op, node)
        if made is not None:
            _mark(node, [made] if isinstance(made, Value) else made)
        return made

    return marked


def _mark(node: Node, made: Sequence[Value]) -> None:
    inputs = [value for value in node.inputs if value is not None]
    if not any(_is_text(value) for value in inputs) or any(value.tensor.shape is None for value in inputs):
        return
    if any(value.data is not None and value.data.size > _MOST for value in inputs):
        return
    told: dict[str, Any] = {
        "operator": node.op_type,
        "version": node.version,
        "attributes": {name: _plain(value) for name, value in node.attributes.items()},
        "inputs": [_told(value) for value in inputs],
        "outputs": len(node.outputs),
    }
    for index, value in enumerate(made):
        if value.producer is None:
            continue
        entry = {"name": _NAME, "version": "0", "value": json.dumps({**told, "output": index})}
        layer = (value.producer.meta or {}).get(META)
        known = layer.rt_info if isinstance(layer, Layer) else []
        value.producer.meta = {**(value.producer.meta or {}), META: Layer(rt_info=[*known, entry])}


def _is_text(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is DType.STRING


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | str):
        return text(value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _told(value: Value) -> dict[str, Any]:
    """The shape of an operand, and its text where that is constant."""
    shape = [size if isinstance(size, int) else None for size in value.tensor.shape or ()]
    if value.data is None:
        return {"shape": shape}
    return {"shape": shape, "text": [_plain(item) for item in value.data.numpy().reshape(-1).tolist()]}


def marks(node: Node) -> list[dict[str, Any]]:
    """What the marks of a layer tell."""
    layer = (node.meta or {}).get(META)
    found = []
    for entry in layer.rt_info if isinstance(layer, Layer) else ():
        if entry.get("name") == _NAME:
            try:
                told = json.loads(str(entry.get("value")))
            except (ValueError, RecursionError):
                continue
            if isinstance(told, dict) and told.get("operator") in _RESULTS:
                count = _RESULTS[told["operator"]]
                if told.get("output") in range(count) and told.get("outputs") in range(1, count + 1):
                    found.append(told)
    return found
