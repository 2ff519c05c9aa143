"""Sequences of tensors, which came with opset 11, and optionals, with opset 15; from 18 on one may be a plain tensor.

What can be told of them before anything runs is replaced by what they hold before the walk
(`structure.containers`); what is left has no older form.
"""

from __future__ import annotations

from ..graph import Node
from ..preconditions import required
from ..types import DType, SequenceType, TensorType
from .build import StepBuilder
from .steps import Key, Made, Step, rows, same

_NO_SEQUENCES = "there are no sequences before opset 11"
_NO_MAP = "SequenceMap came with version 17; it is made a loop before other operators go down"


def _through_insertion(op: StepBuilder, node: Node) -> Made:
    """Identity-13 takes tensors only: an element is put into a sequence, and taken out again."""
    value = required(node, 0)
    element = value.type.element if isinstance(value.type, SequenceType) else None
    if not isinstance(element, TensorType) or element.dtype is None:
        return None
    first = op.const(0, DType.INT64)
    nothing = op.const([], element.dtype)
    longer = op.SequenceInsert(value, nothing, first, _types=[SequenceType(TensorType(element.dtype))])
    return op.SequenceErase(longer, first, _types=[value.type])


_NO_OPTIONALS = "there are no optionals before opset 15"


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
    **rows(
        "SequenceEmpty SequenceConstruct SequenceInsert SequenceErase SequenceAt SequenceLength"
        " SplitToSequence ConcatFromSequence",
        11,
        Step(_NO_SEQUENCES, _NO_SEQUENCES),
    ),
    ("Identity", 14): Step(same, _through_insertion),
    ("SequenceMap", 17): Step(_NO_MAP, _NO_MAP),
    **rows("Optional OptionalHasElement OptionalGetElement", 15, Step(_NO_OPTIONALS, _NO_OPTIONALS)),
    ("OptionalHasElement", 18): Step(same, _certain),
    ("OptionalGetElement", 18): Step(same, _itself),
}
