"""The canonical Loop and If -> ONNX's Loop, Scan and If of the versions that an opset has.

A loop over sequences alone becomes a Scan; any other a Loop whose body takes its parts out of the captured
sequences by iteration number, and whose stacked values are turned, reversed or joined behind it.
What is built here is built at the hub's version; the version adapters take it down with everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.infer import constant_array, static_trips
from ...passes.loop import Captured, Carried, Entry, Loop, Sliced, Stacked, part_range, parts_of
from ...passes.protos import ENUMS
from ...passes.rewrite import Builder, Rule, Rules
from ...passes.types import DType, OptionalType, SequenceType, TensorType, Type, tensor
from . import lowering_ifs, scan8
from .lowering_ifs import as_container, finish, held_type, uncontained, version_of, without_rank_squeeze

_INT64 = DType.INT64


def rules(opset: int) -> Rules:
    """The rules for a target opset."""

    def loop(op: Builder, node: Node) -> Sequence[Value]:
        view = Loop(node)
        lowering = _Lowering(op, view, opset)
        batch = scan8.match(view, _is_scan(view)) if opset == 8 else None
        if batch is not None:
            return lowering.scan_8(batch)
        if _is_scan(view) and opset >= 8:
            return lowering.scan_batch() if opset < 9 else lowering.scan()
        return lowering.loop()

    def branch(op: Builder, node: Node) -> Sequence[Value]:
        return lowering_ifs.branch(op, node, opset)

    table: dict[tuple[str, str], list[Rule]] = {("backedge", "Loop"): [loop], ("backedge", "If"): [branch]}
    return table


def _is_scan(loop: Loop) -> bool:
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


@dataclass
class _Lowering:
    op: Builder
    view: Loop
    opset: int

    @property
    def node(self) -> Node:
        return self.view.node

    def _inlined(self, body: Builder, entering: dict[Value, Value]) -> dict[Value, Value]:
        """The old body rewritten into `body`: its outputs -> their values there."""
        old = self.view.body
        return dict(zip(old.outputs, body.inline(old, [entering[value] for value in old.inputs]), strict=True))

    def _values(self, entries: Sequence[Entry], side: str) -> list[Value]:
        return [value for entry in entries if (value := getattr(entry, side)) is not None]

    def _given(self, entries: Sequence[Entry]) -> list[Value]:
        """What enters from outside, in a type that enters."""
        return [as_container(self.op, value, self.opset) for value in self._values(entries, "operand")]

    def _results(self, carried: Sequence[Value], stacked: Sequence[Value]) -> list[Value]:
        """Results in slot order."""
        states, stacks = iter(carried), iter(stacked)
        return [
            uncontained(self.op, next(states) if isinstance(entry.slot, Carried) else next(stacks), entry.result.type)
            for entry in self.view.entries
            if entry.result is not None
        ]

    def _set_outputs(self, body: Builder, outputs: Sequence[Value]) -> None:
        finish(body, [as_container(body, value, self.opset) for value in outputs])

    def _body(self) -> tuple[Builder, dict[Value, Value]]:
        return self.op.region(self.view.body.name), {}

    def _enter(self, body: Builder, entries: Sequence[Entry], entering: dict[Value, Value]) -> None:
        for entry in entries:
            assert entry.body_input is not None
            type = entry.body_input.type
            if isinstance(entry.slot, Captured):
                twin = body.graph.add_input(body.claim(entry.body_input.name), type)
            else:
                twin = body.graph.add_input(body.claim(entry.body_input.name), held_type(type, self.opset))
            twin.meta = entry.body_input.meta
            entering[entry.body_input] = uncontained(body, twin, type)

    # Scan ----------------------------------------------------------------------------------------

    def scan(self) -> list[Value]:
        """Scan-9 and later."""
        view, op = self.view, self.op
        carried, sliced, stacked, captured = (view.of(kind) for kind in (Carried, Sliced, Stacked, Captured))
        body, entering = self._body()
        self._enter(body, [*carried, *sliced, *captured], entering)
        outputs = self._inlined(body, entering)
        self._set_outputs(body, [outputs[value] for value in self._values([*carried, *stacked], "body_output")])
        slices = [entry.slot for entry in sliced if isinstance(entry.slot, Sliced)]
        stacks = [entry.slot for entry in stacked if isinstance(entry.slot, Stacked)]
        axes = [self._axis(entry) for entry in sliced]
        out_axes = [self._axis(entry) for entry in stacked]
        node = Node("", "Scan", version_of("Scan", self.opset, self.node))
        node.regions["body"] = body.graph
        node.captured = len(captured)
        attributes: dict[str, object] = {"num_scan_inputs": len(sliced)}
        optional = {
            "scan_input_axes": axes,
            "scan_input_directions": [int(slot.reversed) for slot in slices],
            "scan_output_axes": out_axes,
            "scan_output_directions": [int(slot.reverse) for slot in stacks],
        }
        attributes.update({name: values for name, values in optional.items() if any(values)})
        types = [held_type(entry.result.type, self.opset) for entry in [*carried, *stacked] if entry.result]
        inputs = [*self._given([*carried, *sliced]), *self._values(captured, "operand")]
        made = op.insert(node, inputs, attributes, len(types), types)
        made = [made] if isinstance(made, Value) else list(made)
        return self._results(made[: len(carried)], made[len(carried) :])

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
        inner = _Lowering(self.op, batch.inner, self.opset)
        wanted = [self.node.outputs[index] if index >= 0 else None for index in batch.results]
        types = [value.type if value is not None else None for value in wanted]
        made = inner._scan_8(batch.lengths, [*batch.states, *batch.sequences], batch.captures, batch.directions, types)
        results = [made[0]] * len(self.node.outputs)
        for value, index in zip(made, batch.results, strict=True):
            if index >= 0:
                results[index] = value
        return results

    def _scan_8(
        self,
        lengths: Value | None,
        inputs: Sequence[Value],
        captures: Sequence[Value],
        directions: Sequence[int],
        types: Sequence[Type | None],
    ) -> list[Value]:
        """A Scan-8 node with this loop's body."""
        view = self.view
        carried, sliced, stacked, captured = (view.of(kind) for kind in (Carried, Sliced, Stacked, Captured))
        body, entering = self._body()
        self._enter(body, [*carried, *sliced, *captured], entering)
        outputs = self._inlined(body, entering)
        finish(body, [outputs[value] for value in self._values([*carried, *stacked], "body_output")])
        node = Node("", "Scan", version_of("Scan", self.opset, self.node))
        node.regions["body"] = body.graph
        node.captured = len(captures)
        attributes: dict[str, object] = {"num_scan_inputs": len(sliced)}
        if any(directions):
            attributes["directions"] = list(directions)
        made = self.op.insert(node, [lengths, *inputs, *captures], attributes, len(types), types)
        return [made] if isinstance(made, Value) else list(made)

    def scan_batch(self) -> list[Value]:
        """Scan-8 with a batch of one; only axis 0 forwards comes out of it, the rest is done behind."""
        view, op = self.view, self.op
        carried, sliced, stacked, captured = (view.of(kind) for kind in (Carried, Sliced, Stacked, Captured))
        batch = op.const([0], _INT64)
        inputs: list[Value] = [op.Unsqueeze(value, batch) for value in self._values(carried, "operand")]
        directions: list[int] = []
        for entry in sliced:
            assert isinstance(entry.slot, Sliced) and entry.operand is not None
            inputs.append(op.Unsqueeze(self._axis_first(entry.operand, entry.slot.axis), batch))
            directions.append(int(entry.slot.reversed))
        types = self._batched(len(carried) + len(stacked))
        made = self._scan_8(None, inputs, self._values(captured, "operand"), directions, types)
        single = [op.Squeeze(value, batch) for value in made]
        stacks = [self._arranged(value, entry) for value, entry in zip(single[len(carried) :], stacked, strict=True)]
        return self._results(single[: len(carried)], stacks)

    def _batched(self, count: int) -> list[TensorType | None]:
        entries = [*self.view.of(Carried), *self.view.of(Stacked)]
        types: list[TensorType | None] = []
        for entry in entries[:count]:
            body_output = entry.body_output.tensor if entry.body_output is not None else TensorType()
            extra = (1, None) if isinstance(entry.slot, Stacked) else (1,)
            types.append(
                TensorType(body_output.dtype, None if body_output.shape is None else (*extra, *body_output.shape))
            )
        return types

    def _axis_first(self, value: Value, axis: int) -> Value:
        if axis == 0:
            return value
        if value.rank is None:
            raise Unsupported(self.node, f"scan axis {axis} of a value of unknown rank")
        axis %= value.rank
        return self.op.Transpose(value, perm=[axis, *(dim for dim in range(value.rank) if dim != axis)])

    # Loop ----------------------------------------------------------------------------------------

    def loop(self) -> list[Value]:
        """Loop of any version."""
        view, op = self.view, self.op
        carried, sliced, stacked, captured = (view.of(kind) for kind in (Carried, Sliced, Stacked, Captured))
        self._check_types(carried)
        condition = view.condition
        body, entering = self._body()
        i = body.input("iteration", tensor(_INT64))
        c = body.input("condition", tensor(DType.BOOL))
        if view.iteration is not None and view.iteration.body_input is not None:
            i.name = body.claim(view.iteration.body_input.name)
            entering[view.iteration.body_input] = i
        if condition is not None and condition.body_input is not None:
            c.name = body.claim(condition.body_input.name)
            entering[condition.body_input] = c
        self._enter(body, carried, entering)
        dummy = not carried and self.opset < 11  # Loop-1 must carry something
        idle = body.input("idle", tensor(_INT64)) if dummy else None
        outer = [value for entry in [*sliced, *captured] if (value := entry.operand) is not None]
        seen = [body.input(f"{value.name}_seen", value.type) for value in outer]
        for entry, value in zip(captured, seen[len(sliced) :], strict=True):
            assert entry.body_input is not None
            entering[entry.body_input] = value
        counts: list[Value] = []
        for entry, sequence in zip(sliced, seen, strict=False):
            assert isinstance(entry.slot, Sliced) and entry.body_input is not None and entry.operand is not None
            counts.append(self._count(entry.operand, entry.slot))
            entering[entry.body_input] = _part(body, sequence, entry.slot, i, self.opset)
        outputs = self._inlined(body, entering)
        go_on = outputs[condition.body_output] if condition is not None and condition.body_output is not None else None
        leaving = [outputs[value] for value in self._values(carried, "body_output")]
        stacks = [outputs[value] for value in self._values(stacked, "body_output")]
        if go_on is None:
            go_on = body.const(True, DType.BOOL)
        self._set_outputs(body, [go_on, *leaving, *([idle] if idle is not None else []), *stacks])

        trip = self._trip(counts)
        first = without_rank_squeeze(view.initial_condition)
        if condition is not None and first is None:
            first = op.const(True, DType.BOOL)
        if self.opset < 11 and trip is None and first is None:
            first = op.const(True, DType.BOOL)
        node = Node("", "Loop", version_of("Loop", self.opset, self.node))
        node.regions["body"] = body.graph
        node.captured = len(outer)
        initial = self._given(carried) + ([op.const(0, _INT64)] if dummy else [])
        types: list[Type | None] = [held_type(entry.result.type, self.opset) for entry in carried if entry.result]
        types += [tensor(_INT64)] if dummy else []
        for entry in stacked:
            body_output = entry.body_output.tensor if entry.body_output is not None else TensorType()
            shape = None if body_output.shape is None else (static_trips(view), *body_output.shape)
            types.append(held_type(TensorType(body_output.dtype, shape), self.opset))
        made = op.insert(node, [trip, first, *initial, *outer], {}, len(types), types)
        made = [made] if isinstance(made, Value) else list(made)
        arranged = [self._arranged(value, entry) for value, entry in zip(made[len(initial) :], stacked, strict=True)]
        return self._results(made[: len(carried)], arranged)

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
                trip = _on_lengths(self.op, "Min", trip, bound, self.opset)
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
        zero, math = op.const(0, _INT64), partial(_on_lengths, op, opset=self.opset)

        def bound(position: int) -> Value:
            if position >= 0:
                return math("Min", length, op.const(position, _INT64))
            return math("Max", math("Add", length, op.const(position + 1, _INT64)), zero)

        start, end = bound(slot.start), bound(slot.end)
        distance = math("Sub", start, end) if slot.reversed else math("Sub", end, start)
        return math("Div", math("Max", distance, zero), op.const(abs(slot.stride), _INT64))

    # what a Scan or Loop stacked along axis 0, forwards -> as the slot says -----------------------

    def _arranged(self, value: Value, entry: Entry) -> Value:
        slot = entry.slot
        assert isinstance(slot, Stacked) and entry.body_output is not None
        if slot.part == -1:
            raise Unsupported(self.node, "a loop concatenates parts of varying length")
        if slot.reverse:
            value = self._reversed(value)
        rank = entry.body_output.rank
        if slot.axis == 0 and slot.part is None:
            return value
        if rank is None:
            raise Unsupported(self.node, f"a loop stacks values of unknown rank along axis {slot.axis}")
        axis = slot.axis % (rank + 1) if slot.part is None else slot.axis % rank
        if axis:
            others = [dim + 1 for dim in range(rank)]
            value = self.op.Transpose(value, perm=[*others[:axis], 0, *others[axis:]])
        if slot.part is None:
            return value
        shape = entry.body_output.tensor.shape or ()
        return self._joined(value, axis, rank, shape)

    def _joined(self, value: Value, axis: int, rank: int, shape: Sequence[object]) -> Value:
        """[.., passes, part, ..] -> [.., passes*part, ..]"""
        op = self.op
        if all(isinstance(size, int) for index, size in enumerate(shape) if index != axis):
            sizes = [-1 if index == axis else size for index, size in enumerate(shape)]
            part = shape[axis]
            if 0 not in sizes and part != 0:
                return op.Reshape(value, op.const(sizes, _INT64))
        whole = op.Shape(value)
        before = op.Slice(whole, op.const([0]), op.const([axis]), op.const([0]))
        pair = op.Slice(whole, op.const([axis]), op.const([axis + 2]), op.const([0]))
        after = op.Slice(whole, op.const([axis + 2]), op.const([rank + 1]), op.const([0]))
        product = op.ReduceProd(pair, op.const([0]), keepdims=1)
        return op.Reshape(value, op.Concat(before, product, after, axis=0), allowzero=1 if self.opset >= 14 else None)

    def _reversed(self, value: Value) -> Value:
        op = self.op
        trips = static_trips(self.view)
        if trips is not None:
            return op.Gather(value, op.const(list(range(trips - 1, -1, -1)), _INT64), axis=0)
        if self.opset >= 10:
            ends = op.const([-(2**63) + 1], _INT64)
            return op.Slice(value, op.const([-1]), ends, op.const([0]), op.const([-1]))
        count = op.Gather(op.Shape(value), op.const(0, _INT64), axis=0)
        body = op.region("reversal")
        i, _ = body.input("i", tensor(_INT64)), body.input("c", tensor(DType.BOOL))
        idle, last = body.input("idle", tensor(_INT64)), body.input("last", tensor(_INT64))
        go_on = body.const(True, DType.BOOL)
        finish(body, [go_on, idle, _on_lengths(body, "Sub", last, i, self.opset)])
        node = Node("", "Loop", version_of("Loop", self.opset, self.node))
        node.regions["body"] = body.graph
        node.captured = 1
        one = op.const(1, _INT64)
        types = [tensor(_INT64), tensor(_INT64, None)]
        end = _on_lengths(op, "Sub", count, one, self.opset)
        inputs = [count, op.const(True, DType.BOOL), op.const(0, _INT64), end]
        _, indices = op.insert(node, inputs, {}, 2, types)
        return _gather(op, value, indices, 0, self.opset)


_INTEGERS_SINCE = {"Min": 12, "Max": 12}  # Add, Sub, Mul and Div: 6


def _on_lengths(op: Builder, name: str, a: Value, b: Value, opset: int) -> Value:
    """Arithmetic on int64 scalars that are lengths or no longer than one, which float64 holds exactly."""
    if opset >= _INTEGERS_SINCE.get(name, 6):
        return op.call(name, a, b)
    wide = [op.Cast(value, to=ENUMS[DType.FLOAT64]) for value in (a, b)]
    return op.Cast(op.call(name, *wide), to=ENUMS[_INT64], _types=[tensor(_INT64)])


def _gather(op: Builder, data: Value, indices: Value, axis: int, opset: int) -> Value:
    """Gather with indices that are certainly not negative: below opset 11 there is nothing to count from the back."""
    return op.Gather(data, indices, axis=axis, _version=0 if opset >= 11 else 1)


def _part(body: Builder, sequence: Value, slot: Sliced, i: Value, opset: int) -> Value:
    """Part number i of a sequence."""
    math = partial(_on_lengths, body, opset=opset)
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
        return _gather(body, sequence, index, slot.axis, opset)
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
