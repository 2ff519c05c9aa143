"""The canonical Loop and If -> ONNX's Loop, Scan and If of the versions that an opset has.

A loop over sequences alone becomes a Scan; any other a Loop whose body takes its parts out of the captured
sequences by iteration number, and whose stacked values are turned, reversed or joined behind it.
What is built here is built at the hub's version; the version adapters take it down with everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...passes.constants import constant_array
from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.infer import static_trips
from ...passes.loop import Entry, Loop, Sliced, part_range, parts_of
from ...passes.rewrite import Builder, Rule, Rules
from ...passes.types import DType, OptionalType, SequenceType, TensorType, Type, tensor
from . import lowering_ifs, scan8
from .lowering_bodies import LoopLowering, gather, held_type, of_rank, on_lengths, rank_of_parts, without_rank_squeeze
from .lowering_scans import ScanLowering, is_scan

_INT64 = DType.INT64


def rules(opset: int) -> Rules:
    """The rules for a target opset."""

    def loop(op: Builder, node: Node) -> Sequence[Value]:
        view = Loop(node)
        if opset < 8 or not is_scan(view):
            return _LoopLowering(op, view, opset).loop()
        scan = ScanLowering(op, view, opset)
        if opset > 8:
            return scan.scan()
        batch = scan8.match(view)
        return scan.scan_batch() if batch is None else scan.scan_8(batch)

    def branch(op: Builder, node: Node) -> Sequence[Value]:
        return lowering_ifs.branch(op, node, opset)

    table: dict[tuple[str, str], list[Rule]] = {("backedge", "Loop"): [loop], ("backedge", "If"): [branch]}
    return table


class _LoopLowering(LoopLowering):
    """A Loop that becomes ONNX's Loop."""

    def loop(self) -> list[Value]:
        """Loop of any version."""
        view, op = self.view, self.op
        self._check_types(self.carried)
        condition = view.condition
        body, entering = self.region(), dict[Value, Value]()
        i = body.input("iteration", tensor(_INT64))
        c = body.input("condition", tensor(DType.BOOL))
        if view.iteration is not None and view.iteration.body_input is not None:
            i.name = body.claim(view.iteration.body_input.name)
            entering[view.iteration.body_input] = i
        if condition is not None and condition.body_input is not None:
            c.name = body.claim(condition.body_input.name)
            entering[condition.body_input] = c
        self.enter(body, self.carried, entering)
        dummy = not self.carried and self.opset < 11  # Loop-1 must carry something
        idle = body.input("idle", tensor(_INT64)) if dummy else None
        outer = [value for entry in [*self.sliced, *self.captured] if (value := entry.operand) is not None]
        seen = [body.input(f"{value.name}_seen", value.type) for value in outer]
        for entry, value in zip(self.captured, seen[len(self.sliced) :], strict=True):
            assert entry.body_input is not None
            entering[entry.body_input] = value
        counts: list[Value] = []
        for entry, sequence in zip(self.sliced, seen, strict=False):
            assert isinstance(entry.slot, Sliced) and entry.body_input is not None and entry.operand is not None
            counts.append(self._count(entry.operand, entry.slot))
            entering[entry.body_input] = _part(body, sequence, entry.slot, i, self.opset)
        outputs = self.inlined(body, entering)
        go_on = outputs[condition.body_output] if condition is not None and condition.body_output is not None else None
        leaving = [outputs[value] for value in self.values(self.carried, "body_output")]
        stacks = [
            of_rank(body, outputs[entry.body_output], rank_of_parts(entry))
            for entry in self.stacked
            if entry.body_output is not None
        ]
        if go_on is None:
            go_on = body.const(True, DType.BOOL)
        self.set_outputs(body, [go_on, *leaving, *([idle] if idle is not None else []), *stacks])

        trip = self._trip(counts)
        first = without_rank_squeeze(view.initial_condition)
        if condition is not None and first is None:
            first = op.const(True, DType.BOOL)
        if self.opset < 11 and trip is None and first is None:
            first = op.const(True, DType.BOOL)
        initial = self.given(self.carried) + ([op.const(0, _INT64)] if dummy else [])
        types: list[Type | None] = [held_type(entry.result.type, self.opset) for entry in self.carried if entry.result]
        types += [tensor(_INT64)] if dummy else []
        for entry in self.stacked:
            body_output = entry.body_output.tensor if entry.body_output is not None else TensorType()
            shape = None if body_output.shape is None else (static_trips(view), *body_output.shape)
            types.append(held_type(TensorType(body_output.dtype, shape), self.opset))
        made = self.insert("Loop", body, [trip, first, *initial], outer, {}, types)
        arranged = [
            self.arranged(value, entry) for value, entry in zip(made[len(initial) :], self.stacked, strict=True)
        ]
        return self.results(made[: len(self.carried)], arranged)

    def _check_types(self, carried: Sequence[Entry]) -> None:
        for entry in carried:
            type = entry.operand.type if entry.operand is not None else None
            if isinstance(type, SequenceType) and self.opset < 13:
                raise Unsupported(self.node, f"a loop carries a sequence, which isn't supported by opset {self.opset}")
            if isinstance(type, OptionalType) and self.opset < 16:
                raise Unsupported(self.node, f"a loop carries an optional, which isn't supported by opset {self.opset}")

    def _trip(self, counts: Sequence[Value]) -> Value | None:
        given = without_rank_squeeze(self.view.trip)
        bounds = ([given] if given is not None else []) + list(counts)
        if not bounds:
            return None
        trip = bounds[0]
        for bound in bounds[1:]:
            a, b = constant_array(trip), constant_array(bound)
            if a is not None and b is not None:
                trip = self.op.const(min(int(a), int(b)), _INT64)
            else:
                trip = on_lengths(self.op, "Min", trip, bound, self.opset)
        return trip

    def _count(self, sequence: Value, slot: Sliced) -> Value:
        """How many whole parts a sequence has, int64 []."""
        op = self.op
        count = parts_of(slot, sequence)
        if count is not None:
            return op.const(count, _INT64)
        length = op.Gather(op.Shape(sequence), op.const(slot.axis, _INT64), axis=0)
        if slot.part is None and abs(slot.stride) == 1 and (slot.start, slot.end) in ((0, -1), (-1, 0)):
            return length
        zero, math = op.const(0, _INT64), partial(on_lengths, op, opset=self.opset)

        def bound(position: int) -> Value:
            if position >= 0:
                return math("Min", length, op.const(position, _INT64))
            return math("Max", math("Add", length, op.const(position + 1, _INT64)), zero)

        start, end = bound(slot.start), bound(slot.end)
        distance = math("Sub", start, end) if slot.reversed else math("Sub", end, start)
        return math("Div", math("Max", distance, zero), op.const(abs(slot.stride), _INT64))


def _part(body: Builder, sequence: Value, slot: Sliced, i: Value, opset: int) -> Value:
    """Part number i of a sequence."""
    math = partial(on_lengths, body, opset=opset)
    offset = i if abs(slot.stride) == 1 else math("Mul", i, body.const(abs(slot.stride), _INT64))
    size = None
    shape = sequence.tensor.shape
    if shape is not None and -len(shape) <= slot.axis < len(shape):
        size = shape[slot.axis]
    if slot.reversed or slot.start < 0:
        if isinstance(size, int):
            first = body.const(part_range(slot, size)[0], _INT64)
        else:
            length = body.Gather(body.Shape(sequence), body.const(slot.axis, _INT64), axis=0)
            back = int(slot.reversed)  # part 0 ends with the element before `start`
            if slot.start < 0:
                first = math("Add", length, body.const(slot.start + 1 - back, _INT64))
            else:
                first = math("Sub", math("Min", length, body.const(slot.start, _INT64)), body.const(back, _INT64))
        index = math("Sub", first, offset) if slot.reversed else math("Add", first, offset)
    else:
        index = offset if slot.start == 0 else math("Add", offset, body.const(slot.start, _INT64))
    if slot.part is None:
        return gather(body, sequence, index, slot.axis, opset)
    axes = body.const([0], _INT64)
    if slot.reversed:
        start, end = math("Sub", index, body.const(slot.part - 1, _INT64)), math("Add", index, body.const(1, _INT64))
    else:
        start, end = index, math("Add", index, body.const(slot.part, _INT64))
    start, end = body.Unsqueeze(start, axes), body.Unsqueeze(end, axes)
    known: Type | None = None
    if shape is not None and size is not None:
        before = slot.axis % len(shape)
        known = TensorType(sequence.tensor.dtype, (*shape[:before], slot.part, *shape[before + 1 :]))
    return body.Slice(sequence, start, end, body.const([slot.axis], _INT64), _types=[known])
