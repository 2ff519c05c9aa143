"""The canonical Loop over whole sequences -> ONNX's Scan, of version 8 with a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...passes.errors import Unsupported
from ...passes.graph import Value
from ...passes.loop import Carried, Entry, Loop, Sliced, Stacked
from ...passes.types import DType, OptionalType, SequenceType, TensorType, Type
from . import scan8
from .lowering_bodies import LoopLowering, held_type, of_rank, rank_of_parts


def is_scan(loop: Loop) -> bool:
    """Whether ONNX's Scan says this loop: whole sequences, no count, no condition, states of constant shape."""
    if loop.trip is not None or loop.condition is not None or loop.iteration is not None:
        return False
    sliced = [entry.slot for entry in loop.of(Sliced)]
    if not sliced or any(
        slot.part is not None or (slot.start, slot.end, slot.stride) not in ((0, -1, 1), (-1, 0, -1))
        for slot in sliced
        if isinstance(slot, Sliced)
    ):
        return False
    if any(entry.slot.part is not None for entry in loop.of(Stacked) if isinstance(entry.slot, Stacked)):
        return False
    for entry in loop.of(Carried):
        body_input, body_output = entry.operand, entry.body_output
        if body_input is None or body_output is None or isinstance(body_input.type, SequenceType | OptionalType):
            return False
        if (
            None not in (body_input.tensor.shape, body_output.tensor.shape)
            and body_input.tensor.shape != body_output.tensor.shape
        ):
            return False  # ONNX Runtime refuses a Scan whose state changes its shape
    return True


class ScanLowering(LoopLowering):
    """A Loop for which `is_scan` holds."""

    def scan(self) -> list[Value]:
        """Scan-9 and later."""
        slices = [entry.slot for entry in self.sliced if isinstance(entry.slot, Sliced)]
        stacks = [entry.slot for entry in self.stacked if isinstance(entry.slot, Stacked)]
        attributes = {
            "scan_input_axes": [self._axis(entry) for entry in self.sliced],
            "scan_input_directions": [int(slot.reversed) for slot in slices],
            "scan_output_axes": [self._axis(entry) for entry in self.stacked],
            "scan_output_directions": [int(slot.reverse) for slot in stacks],
        }
        results = [entry.result for entry in (*self.carried, *self.stacked) if entry.result is not None]
        types = [held_type(result.type, self.opset) for result in results]
        inputs, captures = self.given([*self.carried, *self.sliced]), self.values(self.captured, "operand")
        made = self._node(inputs, captures, attributes, types)
        return self.results(made[: len(self.carried)], made[len(self.carried) :])

    def _node(
        self,
        inputs: Sequence[Value | None],
        captures: Sequence[Value],
        attributes: Mapping[str, Sequence[int]],
        types: Sequence[Type | None],
    ) -> list[Value]:
        """A Scan with this loop's body; attributes that are all 0 are left out."""
        body, entering = self.region(), dict[Value, Value]()
        self.enter(body, [*self.carried, *self.sliced, *self.captured], entering)
        outputs = self.inlined(body, entering)
        leaving = [self._ranked(entry) for entry in (*self.carried, *self.stacked) if entry.body_output is not None]
        self.set_outputs(body, [of_rank(body, outputs[value], rank) for value, rank in leaving])
        wanted: dict[str, object] = {"num_scan_inputs": len(self.sliced)}
        wanted |= {name: list(values) for name, values in attributes.items() if any(values)}
        return self.insert("Scan", body, inputs, captures, wanted, types)

    def _ranked(self, entry: Entry) -> tuple[Value, int | None]:
        """What leaves the body at a slot, and of which rank it is by what stands outside: a state keeps its rank."""
        assert entry.body_output is not None
        if isinstance(entry.slot, Stacked):
            return entry.body_output, rank_of_parts(entry)
        ranks = (value.rank for value in (entry.operand, entry.body_input, entry.result) if value is not None)
        return entry.body_output, next((rank for rank in ranks if rank is not None), None)

    def _axis(self, entry: Entry) -> int:
        """A scan axis; Scan-9 and 10 know no negative ones."""
        assert isinstance(entry.slot, Sliced | Stacked)
        axis = entry.slot.axis
        if axis >= 0 or self.opset >= 11:
            return axis
        value, more = (entry.operand, 0) if isinstance(entry.slot, Sliced) else (entry.body_output, 1)
        if value is None or value.rank is None:
            raise Unsupported(self.node, f"scan axis {axis} of a value of unknown rank, below opset 11")
        return axis + value.rank + more

    def scan_8(self, batch: scan8.BatchScan) -> list[Value]:
        """Scan-8, as it was read."""
        inner = ScanLowering(self.op, batch.inner, self.opset)
        wanted = [self.node.outputs[index] if index >= 0 else None for index in batch.results]
        types = [value.type if value is not None else None for value in wanted]
        inputs = [batch.lengths, *batch.states, *batch.sequences]
        made = inner._node(inputs, batch.captures, {"directions": batch.directions}, types)
        results = [made[0]] * len(self.node.outputs)
        for value, index in zip(made, batch.results, strict=True):
            if index >= 0:
                results[index] = value
        return results

    def scan_batch(self) -> list[Value]:
        """Scan-8 with a batch of one; only axis 0 forwards comes out of it, the rest is done behind."""
        op, count = self.op, len(self.carried)
        batch = op.const([0], DType.INT64)
        inputs: list[Value] = [op.Unsqueeze(value, batch) for value in self.values(self.carried, "operand")]
        directions: list[int] = []
        for entry in self.sliced:
            assert isinstance(entry.slot, Sliced) and entry.operand is not None
            inputs.append(op.Unsqueeze(self._axis_first(entry.operand, entry.slot.axis), batch))
            directions.append(int(entry.slot.reversed))
        types = [self._batched(entry) for entry in (*self.carried, *self.stacked)]
        made = self._node([None, *inputs], self.values(self.captured, "operand"), {"directions": directions}, types)
        single = [op.Squeeze(value, batch) for value in made]
        stacks = [self.arranged(value, entry) for value, entry in zip(single[count:], self.stacked, strict=True)]
        return self.results(single[:count], stacks)

    def _batched(self, entry: Entry) -> TensorType:
        """The type of a Scan's result: a batch of one, and a stack's passes."""
        body_output = entry.body_output.tensor if entry.body_output is not None else TensorType()
        before = (1, None) if isinstance(entry.slot, Stacked) else (1,)
        return TensorType(body_output.dtype, None if body_output.shape is None else (*before, *body_output.shape))

    def _axis_first(self, value: Value, axis: int) -> Value:
        if axis == 0:
            return value
        if value.rank is None:
            raise Unsupported(self.node, f"scan axis {axis} of a value of unknown rank")
        axis %= value.rank
        return self.op.Transpose(value, perm=[axis, *(dim for dim in range(value.rank) if dim != axis)])
