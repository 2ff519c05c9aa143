"""Building HLO by opcode: `op.call("dynamic-slice", x, i, dynamic_slice_sizes=(1,))`.

The types of the results are inferred; where the operands don't tell them (`reshape`, `broadcast`, `iota`, `convert`)
they are given as `_types=[...]`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.rewrite import Builder
from ...passes.types import Type
from .dialect import DOMAIN
from .infer import OPCODES, TooLarge
from .infer_open import open_types


class Hlo:
    """The dialect that the hub is lowered to."""

    name = DOMAIN

    def resolve(self, op_type: str) -> tuple[str, int]:
        if op_type not in OPCODES:
            raise Unsupported(op_type, "HLO has no such opcode")
        return DOMAIN, 0

    def infer(self, node: Node) -> Sequence[Type | None]:
        if node.domain != DOMAIN:  # a canonical Loop, of which some results are tokens
            return []
        try:
            return open_types(node)
        except TooLarge as error:
            raise Unsupported(node, str(error).partition(": ")[2]) from None


HLO = Hlo()


class HloBuilder(Builder):
    """A builder in HLO, whose identity is `copy`."""

    def Identity(self, value: Value, _types: Sequence[Type | None] | None = None) -> Value:
        """The same value, under a name of its own."""
        return self.call("copy", value, _types=_types)
