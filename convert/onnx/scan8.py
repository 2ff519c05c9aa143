"""Recognising a Scan-8 again: a loop over a batch whose body is one scan, cut off at a length of its own.

That is what `raising_loops` makes of a Scan-8. Lowered piece by piece it would need operators that opset 8 hasn't.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...passes.constants import constant_array
from ...passes.graph import Node, Value
from ...passes.loop import Captured, Carried, Entry, Loop, Sliced, Stacked, is_loop


@dataclass(slots=True)
class BatchScan:
    """The parts of a Scan-8, in terms of the outer Loop's operands and results.

    `results` holds for each output of the Scan (states, then stacked values) the index of the outer Loop's
    result that it is, or -1 where nobody wants it.
    """

    inner: Loop
    lengths: Value | None = None
    states: list[Value] = field(default_factory=list)
    sequences: list[Value] = field(default_factory=list)
    directions: list[int] = field(default_factory=list)
    captures: list[Value] = field(default_factory=list)
    results: list[int] = field(default_factory=list)


def match(outer: Loop) -> BatchScan | None:
    """The Scan-8 that a Loop over whole sequences stands for; None where it is something else."""
    if any(slot not in (Sliced(0), Captured(), Stacked(0)) for slot in outer.slots):
        return None
    body = outer.body
    loops = [node for node in body.nodes if is_loop(node)]
    if len(loops) != 1:
        return None
    operands = {entry.body_input: entry for entry in outer.entries if entry.body_input is not None}
    found = BatchScan(Loop(loops[0]))
    ends: set[Value | None] = set()
    for entry in found.inner.entries:
        if not _take(entry, operands, found, ends):
            return None
    if len(ends) > 1 or not _results(outer, found):
        return None
    (end,) = ends or {None}
    if end is not None:
        length = operands.get(end)
        if length is None or not isinstance(length.slot, Sliced):
            return None
        found.lengths = length.operand
    return found


def _take(entry: Entry, operands: dict[Value, Entry], found: BatchScan, ends: set[Value | None]) -> bool:
    """Note what an inner slot is in terms of the outer loop; False where Scan-8 can't express it."""
    slot, value = entry.slot, entry.operand
    if isinstance(slot, Stacked):
        return slot == Stacked(0)
    if value is None:
        return False
    if isinstance(slot, Sliced):
        end, value = _without_prefix_slice(value)
        ends.add(end)
    source = operands.get(value)
    if source is None or source.operand is None:
        return False
    if isinstance(slot, Captured):
        found.captures.append(source.operand)
        return isinstance(source.slot, Captured)
    if source.slot != Sliced(0):
        return False
    if isinstance(slot, Carried):
        found.states.append(source.operand)
        return True
    if isinstance(slot, Sliced) and slot in (Sliced(0), Sliced(0, -1, 0, -1)):
        found.sequences.append(source.operand)
        found.directions.append(int(slot.reversed))
        return True
    return False


def _without_prefix_slice(value: Value) -> tuple[Value | None, Value]:
    """(length, whole sequence) of `Slice(sequence, 0, length, axis 0)`; (None, value) for anything else."""
    node = value.producer
    if node is None or node.op != ("", "Slice") or len(node.inputs) != 4:
        return None, value
    sequence, start, end, axes = node.inputs
    if sequence is None or end is None or not _is_zero(start) or not _is_zero(axes):
        return None, value
    return _scalar(end), sequence


def _is_zero(value: Value | None) -> bool:
    array = constant_array(value)
    return array is not None and array.tolist() == [0]


def _scalar(value: Value) -> Value:
    node = value.producer
    if node is not None and node.op == ("", "Unsqueeze") and node.inputs[0] is not None:
        return node.inputs[0]
    return value


def _results(outer: Loop, found: BatchScan) -> bool:
    inner = found.inner
    order = [entry.result for entry in (*inner.of(Carried), *inner.of(Stacked))]
    found.results = [-1] * len(order)
    for entry in outer.of(Stacked):
        value = entry.body_output
        assert value is not None
        if value not in order and value.producer is not None and _is_padding(value.producer):
            value = value.producer.inputs[0]
        if value not in order or found.results[order.index(value)] >= 0:
            return False
        found.results[order.index(value)] = entry.indices.result
    return True


def _is_padding(node: Node) -> bool:
    """Whether a node pads with zeros behind axis 0 (`Pad(x, [0, missing], None, [0])`)."""
    if node.op != ("", "Pad") or len(node.inputs) != 4 or node.inputs[2] is not None or not _is_zero(node.inputs[3]):
        return False
    pads = node.inputs[1].producer if node.inputs[1] is not None else None
    return pads is not None and pads.op == ("", "Concat") and _is_zero(pads.inputs[0])
