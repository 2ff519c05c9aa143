"""Layers that stand under another version than "opsetN": their attributes come as the file spells them."""

from __future__ import annotations

from collections.abc import Iterable

from ....passes.graph import Node
from ....passes.rewrite import Builder, Key, Rule, Rules, combine
from ..dialect import DOMAIN
from ..layers import typed_attributes
from .support import Results

INTERNAL = "ie_internal_opset"
"""What OpenVINO's own passes make."""
EXTENSION = "extension"
"""What OpenVINO's own passes made in 2020."""
OLD = (EXTENSION, "experimental")
"""What files of 2020 have that got an opset later: OpenVINO takes eight such layers, as those of opset6."""


def typed(node: Node, op_type: str, version: int) -> Node:
    """The layer of an opset that a node stands for."""
    view = Node(DOMAIN, op_type, version, node.name)
    view.attributes = typed_attributes(op_type, node.attributes)
    view.inputs, view.outputs, view.meta = node.inputs, node.outputs, node.meta
    return view


def under_other_opsets(
    rules: Rules, names: Iterable[tuple[str, str, int]], opsets: Iterable[str]
) -> dict[Key, list[Rule]]:
    """`rules`, and some of them for the same operators under other versions: (layer type, which rule, its version)."""

    def make(rule: Rule, op_type: str, version: int) -> Rule:
        def standing(op: Builder, node: Node) -> Results:
            return rule(op, typed(node, op_type, version))

        return standing

    more = {
        (opset, name): [make(rule, op_type, version) for rule in rules[DOMAIN, op_type]]
        for name, op_type, version in names
        for opset in opsets
    }
    return combine(rules, more)
