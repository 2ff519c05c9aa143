"""Operators on strings: which of them older operators can say."""

from __future__ import annotations

from onnx import AttributeProto

from ..errors import Unsupported
from ..graph import Node
from ..preconditions import rank_of, required
from ..protos import TypedList
from ..types import DType
from .build import StepBuilder
from .steps import Key, Made, Step, as_type, attribute, numbers


def _first(op_type: str, older: str) -> dict[Key, Step]:
    """A first version that nothing before it says."""
    reason = f"{op_type} came with version 20, and nothing before it {older}"
    return {(op_type, 20): Step(reason, reason)}


def _without_stopwords(op: StepBuilder, node: Node) -> Made:
    """StringNormalizer that changes no letters: [C] or [1, C] without some words; one empty string if none is left."""
    action, words = attribute(node, "case_change_action", "NONE"), list(attribute(node, "stopwords", ()))
    if action != "NONE" or (words and not attribute(node, "is_case_sensitive", 0)):
        raise Unsupported(node, "StringNormalizer came with version 10, and nothing before it makes new strings")
    x = required(node, 0)
    batched = rank_of(node, x) == 2
    kept = op.Reshape(x, numbers(op, [-1]))
    if words:
        found = op.call(
            "LabelEncoder",
            kept,
            _domain="ai.onnx.ml",
            keys_strings=list(dict.fromkeys(words)),
            values_int64s=TypedList(AttributeProto.INTS, [0] * len(set(words))),
            default_int64=1,
        )
        kept = op.Compress(kept, as_type(op, found, DType.BOOL), axis=0)
    nothing = op.Equal(op.Shape(kept), numbers(op, [0]))
    made = op.Concat(kept, op.Compress(op.const([""], DType.STRING), nothing, axis=0), axis=0)
    return op.Unsqueeze(made, axes=[0]) if batched else made


ROWS: dict[Key, Step] = {
    **_first("StringConcat", "makes new strings"),
    **_first("StringSplit", "makes new strings"),
    **_first("RegexFullMatch", "looks into strings"),
    ("StringNormalizer", 10): Step("StringNormalizer came with version 10", _without_stopwords),
}
