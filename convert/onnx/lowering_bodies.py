"""What ONNX's Loop, Scan and If have in common: what goes into their bodies and comes out, and what they stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...passes.build import taken
from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.infer import static_trips
from ...passes.loop import Captured, Carried, Entry, Loop, Sliced, Stacked
from ...passes.protos import ENUMS
from ...passes.rewrite import Builder
from ...passes.schemas import since_version
from ...passes.types import DType, TensorType, Type, tensor

_INT64 = DType.INT64


def version_of(name: str, opset: int, node: Node) -> int:
    """The version of Loop, Scan or If in an opset.

    Raises:
        Unsupported: it has none; `node` is what can't be expressed.
    """
    version = since_version("", name, opset)
    if version is None:
        raise Unsupported(node, f"opset {opset} has no {name}")
    return version


def without_rank_squeeze(scalar: Value | None, any_rank: bool = False) -> Value | None:
    """A trip count or condition without the Squeeze that made sure of its rank, where it turned out to be a scalar.

    Args:
        any_rank: it may be any tensor of one element, as an If's condition may.
    """
    node = scalar.producer if scalar is not None else None
    if node is None or node.op != ("", "Squeeze") or len(node.inputs) > 1 or node.inputs[0] is None:
        return scalar
    return node.inputs[0] if any_rank or node.inputs[0].rank == 0 else scalar


def finish(body: Builder, outputs: Sequence[Value]) -> None:
    """Set a body's outputs: each must be made inside it, by a node, and only once."""
    own: set[Value] = set()
    made: list[Value] = []
    for value in outputs:
        if value.producer is None or value in own:
            value = body.Identity(value, _types=[value.type])
        own.add(value)
        made.append(value)
    body.graph.outputs = made


def of_rank(body: Builder, value: Value, rank: int | None) -> Value:
    """The value declared with a rank where it has none: ONNX Runtime wants a Scan's body to declare them, and stacks of
    no parts have the rank that is declared."""
    if rank is None or value.rank is not None or not isinstance(value.type, TensorType):
        return value
    return body.Identity(value, _types=[TensorType(value.type.dtype, (None,) * rank)])


def rank_of_parts(entry: Entry) -> int | None:
    """The rank of what a slot stacks, by what comes out of the loop; None where that has none."""
    slot, result = entry.slot, entry.result
    if not isinstance(slot, Stacked) or result is None or result.rank is None:
        return None
    return result.rank - (slot.part is None)


# Opsets 13 to 15 have bfloat16, but their Loop, Scan and If don't take it: float32 holds it meanwhile.


def held_type(type: Type | None, opset: int) -> Type | None:
    """The type in which a value of `type` goes in and out."""
    if isinstance(type, TensorType) and type.dtype is DType.BFLOAT16 and opset < 16:
        return TensorType(DType.FLOAT32, type.shape)
    return type


def as_container(op: Builder, value: Value, opset: int) -> Value:
    """The value in the type in which it goes in and out."""
    return _cast(op, value, held_type(value.type, opset))


def uncontained(op: Builder, value: Value, type: Type | None) -> Value:
    """The value in its own type again."""
    return _cast(op, value, type)


def _cast(op: Builder, value: Value, type: Type | None) -> Value:
    known = value.type
    if not isinstance(type, TensorType) or not isinstance(known, TensorType):
        return value
    if type.dtype is None or known.dtype in (None, type.dtype):
        return value
    return op.Cast(value, to=ENUMS[type.dtype], _types=[TensorType(type.dtype, known.shape)])


_INTEGERS_SINCE = {"Min": 12, "Max": 12}  # Add, Sub, Mul and Div: 6


def on_lengths(op: Builder, name: str, a: Value, b: Value, opset: int) -> Value:
    """Arithmetic on int64 scalars that are lengths or no longer than one, which float64 holds exactly."""
    if opset >= _INTEGERS_SINCE.get(name, 6):
        return op.call(name, a, b)
    wide = [op.Cast(value, to=ENUMS[DType.FLOAT64]) for value in (a, b)]
    return op.Cast(op.call(name, *wide), to=ENUMS[_INT64], _types=[tensor(_INT64)])


def gather(op: Builder, data: Value, indices: Value, axis: int, opset: int) -> Value:
    """Gather with indices that are certainly not negative: below opset 11 there is nothing to count from the back."""
    return taken(op, data, indices, axis, _version=0 if opset >= 11 else 1)


@dataclass
class LoopLowering:
    """A canonical Loop that becomes ONNX's Loop or Scan of an opset: what both have in common."""

    op: Builder
    view: Loop
    opset: int

    @property
    def node(self) -> Node:
        return self.view.node

    @cached_property
    def carried(self) -> list[Entry]:
        return self.view.of(Carried)

    @cached_property
    def sliced(self) -> list[Entry]:
        return self.view.of(Sliced)

    @cached_property
    def captured(self) -> list[Entry]:
        return self.view.of(Captured)

    @cached_property
    def stacked(self) -> list[Entry]:
        return self.view.of(Stacked)

    def region(self) -> Builder:
        """The new body."""
        return self.op.region(self.view.body.name)

    def insert(
        self,
        op_type: str,
        body: Builder,
        inputs: Sequence[Value | None],
        captures: Sequence[Value],
        attributes: dict[str, object],
        types: Sequence[Type | None],
    ) -> list[Value]:
        """A Loop or Scan with a body, in the opset's version."""
        node = Node("", op_type, version_of(op_type, self.opset, self.node))
        node.regions["body"] = body.graph
        node.captured = len(captures)
        self.op.insert(node, [*inputs, *captures], attributes, len(types), types)
        return list(node.outputs)

    def inlined(self, body: Builder, entering: dict[Value, Value]) -> dict[Value, Value]:
        """The old body rewritten into `body`: its outputs -> their values there."""
        old = self.view.body
        return dict(zip(old.outputs, body.inline(old, [entering[value] for value in old.inputs]), strict=True))

    def values(self, entries: Sequence[Entry], side: str) -> list[Value]:
        """What stands in slots, by the name of a field of `Entry`."""
        return [value for entry in entries if (value := getattr(entry, side)) is not None]

    def given(self, entries: Sequence[Entry]) -> list[Value]:
        """What enters from outside, in a type that enters."""
        return [as_container(self.op, value, self.opset) for value in self.values(entries, "operand")]

    def results(self, carried: Sequence[Value], stacked: Sequence[Value]) -> list[Value]:
        """Results in slot order."""
        states, stacks = iter(carried), iter(stacked)
        return [
            uncontained(self.op, next(states) if isinstance(entry.slot, Carried) else next(stacks), entry.result.type)
            for entry in self.view.entries
            if entry.result is not None
        ]

    def set_outputs(self, body: Builder, outputs: Sequence[Value]) -> None:
        """Set a body's outputs, in types that leave."""
        finish(body, [as_container(body, value, self.opset) for value in outputs])

    def enter(self, body: Builder, entries: Sequence[Entry], entering: dict[Value, Value]) -> None:
        """Inputs of the body for slots; `entering` takes up what stands for the old ones."""
        for entry in entries:
            assert entry.body_input is not None
            type = entry.body_input.type
            if isinstance(entry.slot, Captured):
                twin = body.graph.add_input(body.claim(entry.body_input.name), type)
            else:
                twin = body.graph.add_input(body.claim(entry.body_input.name), held_type(type, self.opset))
            twin.meta = entry.body_input.meta
            entering[entry.body_input] = uncontained(body, twin, type)

    # what a Scan or Loop stacked along axis 0, forwards -> as the slot has it -----------------------

    def arranged(self, value: Value, entry: Entry) -> Value:
        """A stack as its slot describes it.

        Raises:
            Unsupported: its parts vary in length, or their rank isn't known.
        """
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
            return taken(op, value, op.const(list(range(trips - 1, -1, -1)), _INT64), 0)
        if self.opset >= 10:
            ends = op.const([-(2**63) + 1], _INT64)
            return op.Slice(value, op.const([-1]), ends, op.const([0]), op.const([-1]))
        count = op.Gather(op.Shape(value), op.const(0, _INT64), axis=0)
        body = op.region("reversal")
        i, _ = body.input("i", tensor(_INT64)), body.input("c", tensor(DType.BOOL))
        idle, last = body.input("idle", tensor(_INT64)), body.input("last", tensor(_INT64))
        go_on = body.const(True, DType.BOOL)
        finish(body, [go_on, idle, on_lengths(body, "Sub", last, i, self.opset)])
        types = [tensor(_INT64), tensor(_INT64, None)]
        end = on_lengths(op, "Sub", count, op.const(1, _INT64), self.opset)
        inputs = [count, op.const(True, DType.BOOL), op.const(0, _INT64)]
        _, indices = self.insert("Loop", body, inputs, [end], {}, types)
        return gather(op, value, indices, 0, self.opset)
