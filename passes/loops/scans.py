"""Loops that count and pick one part after the other -> loops that slice and stack, as Scan does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..graph import Graph, Node, Value
from ..hub import HUB
from ..loop import DOMAIN, Carried, Loop, Slot, Stacked, is_loop
from ..pipeline import PassResult
from ..protos import enum_of
from ..rewrite import Builder, Rewriter
from ..types import DType, TensorType
from .affine import Lines
from .draft import LoopDraft
from .induction import analyze, counters, replace_counters
from .ranges import Operation, hub_operation, scalar
from .slices import slice_reads, stack_writes
from .trip_count import count_passes
from .vocabulary import Access, Vocabulary


class HubVocabulary:
    """Gather of one position, Slice of a moving window, ScatterND and ScatterElements of one position."""

    def operation(self, node: Node) -> Operation:
        return hub_operation(node)

    def read(self, node: Node, lines: Lines) -> Access | None:
        whole = node.inputs[0] if node.inputs and not node.domain else None
        shape = whole.tensor.static_shape if whole is not None else None
        if whole is None or not shape:
            return None
        if node.op_type == "Gather" and node.inputs[1] is not None and node.inputs[1].tensor.shape in ((), (1,)):
            return _access(whole, shape, node.attributes.get("axis", 0), node.inputs[1], 1)
        if node.op_type != "Slice" or len(node.inputs) != 4 or None in node.inputs:  # with axes, without steps
            return None
        first, last, axes = (value for value in node.inputs[1:] if value is not None)
        axis, start, end = scalar(axes), lines.lines.get(first), lines.lines.get(last)
        if axis is None or start is None or end is None or start.scale != end.scale:
            return None
        return _access(whole, shape, axis, first, end.offset - start.offset)

    def written(self, node: Node) -> tuple[Access, Value] | None:
        if node.domain or node.op_type not in ("ScatterND", "ScatterElements") or len(node.inputs) != 3:
            return None
        whole, indices, update = node.inputs
        shape = whole.tensor.static_shape if whole is not None else None
        if whole is None or indices is None or update is None or not shape:
            return None
        if node.attributes.get("reduction", "none") != "none":
            return None
        if node.op_type == "ScatterND":
            return (_access(whole, shape, 0, indices, 1), update) if indices.tensor.shape in ((1,), (1, 1)) else None
        axis = node.attributes.get("axis", 0) % len(shape)
        if update.tensor.shape != (*shape[:axis], 1, *shape[axis + 1 :]) or update.tensor.shape != indices.tensor.shape:
            return None
        maker = indices.producer
        start = maker.inputs[0] if maker is not None and maker.op == ("", "Expand") else indices
        return None if start is None else (_access(whole, shape, axis, start, 1), update)

    def size(self, value: Value) -> int | None:
        return None

    def sized(self, op: Builder, size: int, dtype: DType) -> Value:
        raise AssertionError(f"a loop of the hub counts to {size}")

    def call(self, op: Builder, name: str, *operands: Value) -> Value:
        return op.call(name, *operands)

    def cast(self, op: Builder, value: Value, dtype: DType) -> Value:
        return value if value.tensor.dtype is dtype else op.Cast(value, to=enum_of(dtype, value.name))

    def reshape(self, op: Builder, value: Value, type: TensorType) -> Value:
        if value.type == type:
            return value
        return op.Reshape(value, op.const(list(type.static_shape or ())), _types=[type])

    def inserted(self, op: Builder, whole: Value, part: Value, axis: int, start: int) -> Value:
        size = (part.tensor.static_shape or ())[axis]
        ends = [(0, start), (start + size, (whole.tensor.static_shape or ())[axis])]
        before, behind = (
            [op.Slice(whole, op.const([low]), op.const([high]), op.const([axis]))] if low < high else []
            for low, high in ends
        )
        return op.Concat(*before, part, *behind, axis=axis)


def _access(whole: Value, shape: tuple[int, ...], axis: int, start: Value, size: int) -> Access:
    """A part along one axis, the others whole."""
    axis %= len(shape)
    sizes = [size if index == axis else dim for index, dim in enumerate(shape)]
    return Access(whole, sizes, [start if index == axis else None for index in range(len(shape))])


def recovered(op: Builder, node: Node, vocabulary: Vocabulary) -> list[Value]:
    """What a Loop's results are after all that is known of its counters was made use of.

    - A counter that the condition holds against a limit gives the trip count; what else the condition requires stays.
    - What is read of an unchanged value at a counter is a sliced input, forwards or backwards.
    - What is written at a counter into a carried value that nobody else looks at is a stacked output.
    - Other counters follow from the number of the pass.

    Args:
        node: as a rule sees it: its inputs belong to the new graph.
    """
    draft = LoopDraft(op, node, vocabulary)
    found = counters(draft)
    counts = count_passes(draft, found)
    if draft.trips == 0 and not draft.of(Stacked):
        return [entry.operand for entry in draft.of(Carried) if entry.operand is not None]
    analyze(draft, found, counts)
    slice_reads(draft)
    stack_writes(draft)
    replace_counters(draft, found, counts)
    return draft.build()


@dataclass(frozen=True)
class LoopsToScans:
    """`recovered` for every Loop of a hub graph; the graph is a new one where any loop has other slots then."""

    def __call__(self, graph: Graph) -> PassResult:
        before = _slots(graph)
        if not before:
            return PassResult(graph, False)

        def loop(op: Builder, node: Node) -> Sequence[Value]:
            return recovered(op, node, HubVocabulary())

        made = Rewriter(HUB, {(DOMAIN, "Loop"): [loop]}, fallback=Builder.copy).run(graph)
        return PassResult(made, True) if _slots(made) != before else PassResult(graph, False)


def _slots(graph: Graph) -> Counter[Slot | str]:
    """How many slots of each kind a graph's loops have, and how many trip counts."""
    loops = [Loop(node) for _, node in graph.walk() if is_loop(node)]
    return Counter(slot for loop in loops for slot in (*loop.slots, "loop", *["trip"] * (loop.trip is not None)))
