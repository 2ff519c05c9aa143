"""Hub -> OpenVINO: operators that a layer computes of the same inputs, each a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....passes.attributes import NodeAttributes
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import required
from ....passes.rewrite import Builder, Rule, combine, renamed
from ..attributes import BOOLEAN, kind_of
from ..layers import PLAIN
from .tools import number

Source = str | tuple[str, Mapping[str, str]]
"""An attribute of the hub's operator; of words, what the layer calls each."""


def _row(layer: str, fixed: Mapping[str, Any] | None = None, inputs: str = "", /, **attributes: Source) -> Rule:
    """The rule of an operator that is `layer`.

    Args:
        fixed: attributes of the layer that are always the same.
        inputs: attributes of the operator that are scalar inputs of the layer, behind the others.
        attributes: those of the layer that are attributes of the operator.
    """

    def build(op: Builder, node: Node) -> Value:
        values = NodeAttributes(node)
        behind = [number(op, node, values.float(name), required(node, 0)) for name in inputs.split()]
        taken = {name: _taken(node, values, name, source) for name, source in attributes.items()}
        return op.call(layer, *node.inputs, *behind, **taken, **(fixed or {}))

    return build


def _taken(node: Node, values: NodeAttributes, name: str, source: Source) -> Any:
    if isinstance(source, str):
        return values.flag(source) if kind_of(name) is BOOLEAN else values.get(source)
    source, words = source
    if values.string(source) not in words:
        raise Unsupported(node, f"{source}={values.string(source)!r} isn't supported by OpenVINO")
    return words[values.string(source)]


_BLOCKS: Source = ("mode", {"DCR": "blocks_first", "CRD": "depth_first"})

_ROWS = {
    "DepthToSpace": _row("DepthToSpace", block_size="blocksize", mode=_BLOCKS),
    "Elu": _row("Elu", alpha="alpha"),
    "Gelu": _row("Gelu", approximation_mode=("approximate", {"none": "ERF", "tanh": "TANH"})),
    "GroupNormalization": _row("GroupNormalization", num_groups="num_groups", epsilon="epsilon"),
    "IsInf": _row("IsInf", detect_negative="detect_negative", detect_positive="detect_positive"),
    "LogSoftmax": _row("LogSoftmax", axis="axis"),
    "MatMul": _row("MatMul"),
    "NonZero": _row("NonZero"),
    "ReverseSequence": _row("ReverseSequence", batch_axis="batch_axis", seq_axis="time_axis"),
    "Round": _row("Round"),
    "Selu": _row("Selu", None, "alpha gamma"),
    "Softmax": _row("SoftMax", axis="axis"),
    "SpaceToDepth": _row("SpaceToDepth", block_size="blocksize", mode=_BLOCKS),
    "Swish": _row("Swish", None, "alpha"),
}

RULES = combine(
    {("", name): [rule] for name, rule in _ROWS.items()}, renamed("", {hub: layer for layer, hub in PLAIN.items()})
)
