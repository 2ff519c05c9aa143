"""What rules must know of a whole model: what OpenVINO can compute while it compiles, and whether -inf comes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder
from .. import result_types as types
from ..layers import LAYERS

_MOST_DATA = 1024  # elements of a constant that is looked at
_SHAPED = frozenset(
    ["Broadcast", "Interpolate", "OneHot", "Pad", "Range", "Reshape", "Slice", "Tile", "TopK", "VariadicSplit"]
)
"""Operators with inputs, behind the first, that say how large the result is."""
_SIZED_BY_OPERANDS = (
    *(types.SAME, types.ELEMENTWISE, types.PREDICATE, types.SELECT, types.CONVERT, types.CONVERT_LIKE),
    *(types.TRANSPOSE, types.SQUEEZE, types.UNSQUEEZE, types.REDUCE, types.MATMUL),
    *(types.GATHER, types.GATHER_ELEMENTS),
)
"""The results of layers each of whose open sizes is one of an operand's."""
_PARTS = frozenset(["Slice", "Split", "VariadicSplit"])
"""Layers whose sizes are no larger than those of an operand."""
_NATURAL_IF_INPUT_IS = frozenset(["Convert", "Gather", "Reshape", "Slice", "Squeeze", "Unsqueeze", "ReduceProd"])


class Context:
    """Knowledge of one conversion (`rewriter.context`).

    `infinities`: whether a constant of the model is infinite. OpenVINO's CPU takes the largest of nothing but -inf
    for the lowest finite number.
    `compressed`: whether the model has quantized weights. By those OpenVINO multiplies what it quantizes for that,
    unless the model tells it not to.
    `magnitudes`: what was found out of values by `magnitudes.py`.
    `rounded`: names of integers that OpenVINO's CPU computes in float32.
    """

    def __init__(self) -> None:
        self.infinities = False
        self.compressed = False
        self._known: dict[Value, bool] = {}
        self._sources: dict[Value, list[Value | None]] = {}  # of Parameters
        self._hides: dict[Value, bool] = {}
        self._limits: dict[Value, bool] = {}
        self.magnitudes: dict[Value, Any] = {}
        self.rounded: list[str] = []

    def look_at(self, graph: Graph) -> None:
        """Take note of the constants of a hub graph that is about to be lowered."""
        for inner in graph.graphs():
            for value in inner.constants:
                self.look_at_constant(value)

    def look_at_constant(self, value: Value) -> None:
        data = value.data
        if data is not None and data.dtype.is_float and data.size <= _MOST_DATA:
            with np.errstate(all="ignore"):
                self.infinities |= bool(np.isinf(data.numpy().astype(np.float32)).any())

    def note(self, parameter: Value, operand: Value | None, carried: bool = False) -> None:
        """What feeds a body's Parameter; those that nobody spoke of are inputs of the model.

        OpenVINO moves constants into bodies, so it is known while compiling if what feeds it is.

        Args:
            operand: None for the number of the pass.
            carried: what it is after the first pass is told by `note_fed_back`.
        """
        self._known[parameter] = operand is not None and not carried and self.is_known(operand)
        self._sources[parameter] = [operand, None] if carried else [operand] if operand is not None else []

    def note_fed_back(self, parameter: Value, value: Value) -> None:
        """What a carried Parameter is after the first pass."""
        self._sources[parameter][1] = value

    def sources(self, parameter: Value) -> Sequence[Value | None] | None:
        """What feeds a body's Parameter, None for what isn't known yet, nothing for the number of the pass; None for an
        input of the model."""
        return self._sources.get(parameter)

    def hides_sizes(self, value: Value) -> bool:
        """Whether OpenVINO may know less of a value's sizes than its type tells: it is made of something whose shape
        is computed when the model runs, or that comes out of a loop or a branch."""
        return self._reaches(value, self._has_computed_shape, self._hides)

    def limits_sizes(self, value: Value) -> bool:
        """Whether OpenVINO may know of an open size of a value that it is some number at least: it comes of more than
        the open sizes of what is fed with, which are 0 or more."""
        return self._reaches(value, _makes_sizes, self._limits)

    def _reaches(self, value: Value, holds: Callable[[Node], bool], found: dict[Value, bool]) -> bool:
        """Whether a value is made of what such a node gives, in this body or around it; `found` remembers."""
        seen, stack = set[Value](), [value]
        while stack:
            top = stack.pop()
            if top is None or found.get(top) or (top.producer is not None and holds(top.producer)):
                found[value] = True
                return True
            if top in seen or top in found:
                continue
            seen.add(top)
            if top.producer is None:
                stack += self._sources.get(top, ())
            elif top.producer.op_type != "ShapeOf":  # whose size is a rank
                stack += (item for item in top.producer.inputs if item is not None)
        found.update(dict.fromkeys(seen, False))
        return False

    def _has_computed_shape(self, node: Node) -> bool:
        return bool(node.regions) or (
            node.op_type in _SHAPED and not all(item is None or self.is_known(item) for item in node.inputs[1:])
        )

    def is_known(self, value: Value) -> bool:
        """Whether OpenVINO can compute a value while it compiles: from constants and static shapes alone."""
        known = self._known
        stack = [value]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
            elif top.data is not None:
                known[top] = True
            elif top.producer is None:
                known[top] = False
            else:
                stack.extend(self._step(top))
        return known[value]

    def _step(self, value: Value) -> list[Value]:
        """Settle a node's output, or give the inputs that must be settled before."""
        node = value.producer
        assert node is not None
        inputs = [item for item in node.inputs if item is not None]
        if node.op_type == "ShapeOf" and inputs[0].tensor.static_shape is not None:
            self._known[value] = True
            return []
        if node.op_type == "ReadValue" or any(self._known.get(item) is False for item in inputs):
            self._known[value] = False
            return []
        waiting = [item for item in inputs if item not in self._known]
        if not waiting:
            self._known[value] = True
        return waiting[:1]


def _makes_sizes(node: Node) -> bool:
    layer = LAYERS.get(node.op_type)
    opens = any(value.type is None or value.tensor.static_shape is None for value in node.outputs)
    return opens and node.op_type not in _PARTS and (layer is None or layer.result not in _SIZED_BY_OPERANDS)


def context_of(op: Builder) -> Context:
    """The knowledge of this conversion."""
    return op.rewriter.context


def is_natural(value: Value) -> bool:
    """Whether an integer value is certainly not negative: a constant, or sizes of a shape."""
    while value.producer is not None:
        node = value.producer
        if node.op_type == "ShapeOf":
            return True
        first = node.inputs[0] if node.inputs else None
        if node.op_type not in _NATURAL_IF_INPUT_IS or first is None:
            return False
        value = first
    return value.data is not None and value.data.size > 0 and bool((value.data.numpy() >= 0).all())
