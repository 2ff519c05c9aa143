"""A canonical Loop while it is made another one: its slots one by one, over a copy of its body.

Regions inside of the body stay as they are until the body is built anew, which rewrites them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..constant_analysis import static_array
from ..graph import Node, Value
from ..loop import Captured, Carried, Condition, Iteration, Loop, Sliced, Slot, Stacked, trip_count
from ..rewrite import Builder, Rewriter
from ..structure.simplify import remove_dead
from ..tensor import TensorData
from ..types import DType, TensorType, Type
from .affine import Lines
from .ranges import limits, scalar
from .vocabulary import Vocabulary

INT64 = DType.INT64
CARRIER = "carrier"
"""Key in the `meta` of a region's input that is there for its sizes, even if nothing uses it yet."""
_ORDER = (Iteration, Condition, Carried, Sliced, Captured, Stacked)

Finish = Callable[[Value | None], Value]
"""Makes an old result of the new one, None where the Loop hasn't it any more."""


@dataclass(slots=True, eq=False)
class DraftSlot:
    """A slot and what stands in it.

    Attributes:
        operand: value of the new graph.
        body_input, body_output: input and output of the body's copy.
        result: which of the old node's outputs it makes; `type` is the new one's.
    """

    slot: Slot
    operand: Value | None = None
    body_input: Value | None = None
    body_output: Value | None = None
    result: int | None = None
    type: Type | None = None


class LoopDraft:
    """A Loop node as a rule sees it (its inputs belong to the new graph already), to be changed and built anew.

    Attributes:
        trips: how many passes there are at most, where that is known.
        lines: what is known of the body's integers, once `analyze` was called.
        inside: a builder of the body's copy, whose names are given anew when it is built.
        finish: which of the old results are made of the new ones, and how.
    """

    def __init__(self, op: Builder, node: Node, vocabulary: Vocabulary) -> None:
        self.op, self.node, self.vocabulary = op, node, vocabulary
        twins: dict[Value, Value] = {}
        self.body = node.regions["body"].copy(twins, regions=False)
        loop = Loop(node)
        self.trip, self.initial_condition = loop.trip, loop.initial_condition
        self.slots = [
            DraftSlot(
                entry.slot,
                entry.operand,
                None if entry.body_input is None else twins[entry.body_input],
                None if entry.body_output is None else twins[entry.body_output],
                None if entry.result is None else entry.indices.result,
                None if entry.result is None else entry.result.type,
            )
            for entry in loop.entries
        ]
        known = trip_count(loop, static_array)
        self.trips: int | None = known.most if known.bounded else None
        self.lines = Lines(vocabulary.operation, trips=self.trips, size=vocabulary.size)
        self.finish: dict[int, Finish] = {}
        self.inside = type(op)(Rewriter(op.rewriter.dialect, {}), self.body)

    # asking ------------------------------------------------------------------------------------------

    def of(self, *kinds: type[Slot]) -> list[DraftSlot]:
        """The slots of some kinds, in order."""
        return [entry for entry in self.slots if isinstance(entry.slot, kinds)]

    @property
    def condition(self) -> DraftSlot | None:
        return next(iter(self.of(Condition)), None)

    @property
    def exact(self) -> bool:
        """Whether it certainly makes `trips` passes, or as many as its trip count says."""
        certain = self.trips is not None or (self.trip is not None and not self.of(Sliced))
        return certain and self.condition is None

    def fixed(self, value: Value) -> int | Value | None:
        """What never changes: a number, or a value outside of the loop; None where it may change."""
        if value.data is not None:
            return scalar(value)
        size = self.vocabulary.size(value)
        if size is not None:
            return size
        for entry in self.of(Captured):
            if entry.body_input is value and entry.operand is not None:
                number = scalar(entry.operand)
                return entry.operand if number is None else number
        return None

    def uses(self, value: Value) -> bool:
        """Whether the body does anything with a value."""
        return bool(self.body.uses(value)) or any(entry.body_output is value for entry in self.slots)

    # changing ----------------------------------------------------------------------------------------

    def replace(self, old: Value, new: Value) -> None:
        """Let the body use another value."""
        self.body.replace_uses(old, new)
        for entry in self.slots:
            if entry.body_output is old:
                entry.body_output = new

    def iteration(self) -> Value:
        """The number of the pass, in the body."""
        if not self.of(Iteration):
            self.slots.append(DraftSlot(Iteration(), body_input=Value("iteration", TensorType(INT64, ()))))
        found = self.of(Iteration)[0].body_input
        assert found is not None
        return found

    # building ----------------------------------------------------------------------------------------

    def build(self) -> list[Value]:
        """The new Loop, and what the old one's results are now."""
        self.slots.sort(key=lambda entry: _ORDER.index(type(entry.slot)))
        body, op = self.body, self.op
        body.outputs = [entry.body_output for entry in self.slots if entry.body_output is not None]
        body.inputs = [entry.body_input for entry in self.slots if entry.body_input is not None]
        remove_dead(body)
        used = {value for node in body.nodes for value in node.inputs} | set(body.outputs)
        self.slots = [e for e in self.slots if not isinstance(e.slot, Iteration | Captured) or _stays(e, used)]
        body.inputs = [entry.body_input for entry in self.slots if entry.body_input is not None]
        made = op.region("body")
        arguments = [made.input(value.name, value.type) for value in body.inputs]
        for value, twin in zip(body.inputs, arguments, strict=True):
            twin.meta = value.meta
        made.graph.outputs = made.inline(body, arguments)
        kept = [entry for entry in self.slots if entry.result is not None]
        results = op.loop(
            self.trip,
            self.initial_condition,
            [entry.slot for entry in self.slots],
            [entry.operand for entry in self.slots if entry.operand is not None],
            made.graph,
            [entry.type for entry in kept],
        )
        found = {entry.result: value for entry, value in zip(kept, results, strict=True)}
        found |= {index: finish(found.get(index)) for index, finish in self.finish.items()}
        return [found[index] for index in range(len(self.node.outputs))]


def _stays(entry: DraftSlot, used: set[Value | None]) -> bool:
    value = entry.body_input
    return value in used or bool(value is not None and (value.meta or {}).get(CARRIER))


def number_in(op: Builder, number: int, dtype: DType = INT64, name: str = "number") -> Value:
    """A constant integer, wrapped round where it is none of the type's."""
    low, high = limits(dtype)
    return op.const(TensorData.of(np.asarray((number - low) % (high - low + 1) + low, dtype.numpy), dtype), name=name)
