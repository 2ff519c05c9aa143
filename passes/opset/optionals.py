"""Optionals: which came with opset 15, and from 18 on may also be a plain tensor or sequence, or be left out.

What can be told of them before anything runs is replaced by what they hold before the walk
(`structure.containers`); what is left has no older form.
"""

from __future__ import annotations

from ..graph import Node
from ..preconditions import required
from ..types import DType, SequenceType, TensorType
from .build import StepBuilder
from .steps import Key, Made, Step, rows, same

_NONE = "there are no optionals before opset 15"


def _certain(op: StepBuilder, node: Node) -> Made:
    """OptionalHasElement of what is left out, or of what can't be."""
    value = node.input(0)
    if value is None:
        return op.const(False, DType.BOOL)
    return op.const(True, DType.BOOL) if isinstance(value.type, TensorType | SequenceType) else None


def _itself(op: StepBuilder, node: Node) -> Made:
    value = required(node, 0)
    return op.Identity(value) if isinstance(value.type, TensorType | SequenceType) else None


ROWS: dict[Key, Step] = {
    **rows("Optional OptionalHasElement OptionalGetElement", 15, Step(_NONE, _NONE)),
    ("OptionalHasElement", 18): Step(same, _certain),
    ("OptionalGetElement", 18): Step(same, _itself),
}
