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
from ..layers import HUB_ATTRIBUTES, LAYERS, PLAIN, HubAttribute
from .tools import number

_BLOCK_ORDERS = {"blocks_first": "DCR", "depth_first": "CRD"}


def row(layer: str, attributes: Mapping[str, HubAttribute], inputs: str = "") -> Rule:
    """The rule of an operator that is `layer`.

    Args:
        attributes: those of the layer that are attributes of the operator.
        inputs: attributes of the operator that are scalar inputs of the layer, behind the others.
    """

    def build(op: Builder, node: Node) -> Value:
        values = NodeAttributes(node)
        behind = [number(op, node, values.float(name), required(node, 0)) for name in inputs.split()]
        taken = {name: _taken(node, values, name, source) for name, source in attributes.items()}
        return op.call(layer, *node.inputs, *behind, **taken)

    return build


def _taken(node: Node, values: NodeAttributes, name: str, source: HubAttribute) -> Any:
    if source.words is None:
        return values.flag(source.name) if kind_of(name) is BOOLEAN else values.get(source.name)
    found = values.string(source.name)
    word = next((word for word, of_hub in source.words.items() if of_hub == found), None)
    if word is None:
        raise Unsupported(node, f"{source.name}={found!r} isn't supported by OpenVINO")
    return word


_BLOCKS = {"block_size": HubAttribute("blocksize"), "mode": HubAttribute("mode", words=_BLOCK_ORDERS)}
_AXES = {"batch_axis": HubAttribute("batch_axis"), "seq_axis": HubAttribute("time_axis")}

_ROWS = {
    **{
        LAYERS[layer].hub: row(layer, attributes)
        for layer, attributes in HUB_ATTRIBUTES.items()
        if layer != "GridSample"  # which is a row of images only: `image.py`
    },
    **{name: row(name, {}) for name in ("MatMul", "NonZero", "Round")},
    **{name: row(name, _BLOCKS) for name in ("DepthToSpace", "SpaceToDepth")},
    "ReverseSequence": row("ReverseSequence", _AXES),
    "Selu": row("Selu", {}, "alpha gamma"),
    "Swish": row("Swish", {}, "alpha"),
}

RULES = combine(
    {("", name): [rule] for name, rule in _ROWS.items()}, renamed("", {hub: layer for layer, hub in PLAIN.items()})
)
