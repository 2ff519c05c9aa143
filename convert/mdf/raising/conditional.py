"""Operators that are computed whether they are wanted or not, and must not end the run where they aren't."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from ....passes.types import DType, Type
from ....passes.words import words

_FAILING: dict[str, tuple[int, int]] = {
    **dict.fromkeys(words("Gather GatherElements GatherND ScatterElements ScatterND Scatter MaxUnpool"), (1, 0)),
    **dict.fromkeys(words("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss ReverseSequence"), (1, 0)),
    **dict.fromkeys(words("RoiAlign TensorScatter"), (2, 0)),
    **dict.fromkeys(words("Div Mod"), (1, 1)),
}
"""The input of integers for some of which an operator fails, and a number for which it doesn't."""


class Conditional(Builder):
    """Builds what is wanted only where a condition is as it should be: elsewhere nothing that is built fails for the
    numbers that it meets. It may still fail for sizes (see `regions.has_open_sizes`).

    Args:
        around: builds the same for everything else.
        condition: bool [].
        wanted: what it should be.
    """

    def __init__(self, around: Builder, condition: Value, wanted: bool = True) -> None:
        super().__init__(around.rewriter, around.graph)
        self._around, self._condition, self._wanted = around, condition, wanted

    def region(self, name: str) -> Builder:
        return Conditional(self._around.region(name), self._condition, self._wanted)

    def insert(
        self,
        node: Node,
        inputs: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: int,
        types: Sequence[Type | None] | None = None,
    ) -> Any:
        index, number = _FAILING.get(node.op_type, (len(inputs), 0))
        given = inputs[index] if index < len(inputs) else None
        dtype = None if given is None or given.data is not None or node.domain else given.tensor.dtype
        if given is not None and dtype is not None and dtype.is_integer:
            inputs = [*inputs[:index], self._harmless(given, dtype, number), *inputs[index + 1 :]]
        return self._around.insert(node, inputs, attributes, outputs, types)

    def _harmless(self, given: Value, dtype: DType, number: int) -> Value:
        """The given integers where the condition is as it should be, elsewhere a number."""
        other = self.const(np.asarray(number, dtype.numpy))
        return self.Where(self._condition, *((given, other) if self._wanted else (other, given)), _types=[given.type])
