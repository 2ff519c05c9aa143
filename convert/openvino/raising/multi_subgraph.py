"""Loop-5, TensorIterator-1 and If-8 -> the canonical Loop and If.

A body Parameter is, by the port map and the back edges, the iteration number, part of a sequence (an `axis`), a
carried value (a back edge leads to it), or a captured one. A Result may be several things at once: the value of
the last pass, the concatenation of all of them, the source of any number of back edges, the condition.

| OpenVINO | canonical |
|---|---|
| trip count -1, or below 0 at run time | no trip count, INT64_MAX |
| condition and iteration number of shape [1], i32 | scalars, int64; reshaped and cast inside |
| a body condition that is constant true, entered with true | no Condition slot |
| the last value of a Result without back edge | carried from zeros, which nobody sees unless there are no passes |
| a small constant fed through a port | a constant of the body |

OpenVINO's CPU runtime reads a sequence from its beginning whatever `start` says, and so is it read here, unless the
specification's meaning is to be kept; either is noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....passes.build import cast, reshape
from ....passes.build.expression import INT64_MAX
from ....passes.constant_analysis import static_truth
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.infer import part_type, without_axis
from ....passes.loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked, slot_indices
from ....passes.preconditions import input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, merge, tensor
from ..dialect import (
    BACK_EDGES,
    DOMAIN,
    ELSE_INPUTS,
    ELSE_OUTPUTS,
    INPUT_MAPS,
    OUTPUT_MAPS,
    THEN_INPUTS,
    THEN_OUTPUTS,
    InputMap,
    OutputMap,
)
from ..portmaps import CONDITION, ITERATION
from ..workarounds import FROM_FIRST
from .declared import contradictions_of
from .support import Results, constant, scalar

_MOST_COPIED = 64  # elements of a constant that a body gets a copy of


def _copied(body: Builder, parameter: Value, value: Value) -> Value | None:
    """A constant of the body in place of a small constant outside, for a Parameter; None for anything else."""
    if value.data is None or value.data.size > _MOST_COPIED:
        return None
    contradictions_of(body).compare(parameter.type, value.type)
    return body.const(value.data, name=value.name or "const")


def _enter(node: Node, body: Builder, parameter: Value, slot: Slot, fed: Value) -> Value:
    """A body input standing for a Parameter, which `fed` comes in by.

    Raises:
        InvalidModel: it is declared with another element type.
    """
    if parameter.tensor.dtype is not fed.tensor.dtype and None not in (parameter.tensor.dtype, fed.tensor.dtype):
        raise InvalidModel(f"{node!r}: {fed.type} is fed to the parameter {parameter.name!r} of {parameter.type}")
    found = part_type(slot, fed.type) if isinstance(slot, Sliced) else fed.type
    entering = contradictions_of(body).entering(parameter.type, found, isinstance(slot, Carried))
    value = body.graph.add_input(body.claim(parameter.name), entering)
    value.meta = parameter.meta
    return value


def _declared(body: Builder, counter: Value, parameter: Value) -> Value:
    """The iteration number in the type and shape that the body's Parameter has."""
    dtype = parameter.tensor.dtype or DType.INT64
    if dtype is not DType.INT64:
        counter = cast(body, counter, dtype)
    return counter if parameter.rank in (0, None) else reshape(body, counter, [1] * (parameter.rank or 0))


# loops ---------------------------------------------------------------------------------------------


@dataclass
class _Assembly:
    """A loop being put together: slots, and beside them their operands, and which Result leaves."""

    op: Builder
    node: Node
    body: Graph
    inner: Builder
    slots: list[Slot] = field(default_factory=list)
    operands: list[Value] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)  # Results, in the order of the slots that have one
    arguments: dict[int, Value] = field(default_factory=dict)  # by Parameter
    carried: dict[int, int] = field(default_factory=dict)  # Result -> the first slot it is carried in
    results: dict[int, int] = field(default_factory=dict)  # node output -> slot

    def parameters(self) -> None:
        """A slot for each Parameter."""
        back = {edge.parameter: edge.result for edge in self.node.attributes[BACK_EDGES]}
        for entry in self.node.attributes[INPUT_MAPS]:
            parameter = self.body.inputs[entry.parameter]
            if entry.purpose == ITERATION:
                self.slots.append(Iteration())
                counter = self.inner.graph.add_input(self.inner.claim(parameter.name), tensor(DType.INT64))
                self.arguments[entry.parameter] = _declared(self.inner, counter, parameter)
                continue
            value = input_of(self.node, entry.external)
            if entry.axis is not None:
                self._sliced(entry, value, parameter)
            elif entry.parameter in back:
                result = back[entry.parameter]
                self.carried.setdefault(result, len(self.slots))
                self._slot(Carried(), entry.parameter, value)
                self.leaves.append(result)
            else:
                twin = _copied(self.inner, parameter, value)
                if twin is not None:
                    self.arguments[entry.parameter] = twin
                else:
                    self._slot(Captured(), entry.parameter, value)
        missing = [value.name for index, value in enumerate(self.body.inputs) if index not in self.arguments]
        if missing:
            raise InvalidModel(f"{self.node!r}: nothing feeds the body's parameter {missing[0]!r}")

    def _slot(self, slot: Slot, parameter: int, value: Value) -> None:
        self.slots.append(slot)
        self.operands.append(value)
        self.arguments[parameter] = _enter(self.node, self.inner, self.body.inputs[parameter], slot, value)

    def _sliced(self, entry: InputMap, value: Value, parameter: Value) -> None:
        part, stride = entry.part_size, entry.stride
        if part < 1 or not stride:
            raise InvalidModel(f"{self.node!r}: part_size {part}, stride {stride} in its port map")
        start, end = entry.start, entry.end
        if start in (0, -1):
            pass
        elif (start > 0) == (stride > 0) and self.op.rewriter.workarounds.take(FROM_FIRST):
            first = 0 if stride > 0 else -1
            start, end = first, end + first - start  # as many parts
        else:
            self.op.rewriter.notes.append(
                f"{self.node!r}: input {entry.external} is sliced from {entry.start}, as the specification says;"
                " OpenVINO's CPU runtime takes as many parts, but from the first on"
            )
        axis = self._axis(entry, value)
        if abs(stride) == part:
            slot = Sliced(axis, start, end, stride, part)
            self._slot(slot, entry.parameter, value)
        elif part == 1:  # a single element, others skipped
            axis %= rank_of(self.node, value)
            slot = Sliced(axis, start, end, stride, None)
            self.slots.append(slot)
            self.operands.append(value)
            declared = TensorType(parameter.tensor.dtype, without_axis(parameter.tensor.shape, axis))
            found = part_type(slot, value.type)
            entering = contradictions_of(self.op).entering(declared, found, False)
            element = self.inner.input(parameter.name, entering)
            self.arguments[entry.parameter] = self.inner.Unsqueeze(element, self.inner.const([axis]))
        else:
            raise Unsupported(self.node, f"parts of {part} every {abs(stride)} entries")

    def _axis(self, entry: InputMap | OutputMap, value: Value) -> int:
        """The axis an entry names."""
        axis, rank = entry.axis or 0, value.rank
        if rank is not None and not -rank <= axis < rank:
            raise InvalidModel(f"{self.node!r}: its port map names axis {axis} of a value with {rank} dimensions")
        return axis

    def outputs(self, ends: bool) -> None:
        """A slot for each output that has none yet. `ends`: at least one pass is not certain."""
        for entry in self.node.attributes[OUTPUT_MAPS]:
            if entry.external < 0:
                continue
            if entry.axis is not None:
                self.results[entry.external] = len(self.slots)
                self.slots.append(self._stacked(entry))
                self.leaves.append(entry.result)
            elif entry.result in self.carried:
                self.results[entry.external] = self.carried[entry.result]
            else:
                self.results[entry.external] = self.carried[entry.result] = len(self.slots)
                self._from_zeros(entry, ends)
        if len(self.results) < len(self.node.outputs):
            raise InvalidModel(f"{self.node!r}: its port map doesn't make every output")

    def _stacked(self, entry: OutputMap) -> Stacked:
        """The parts of one output, as long as the port map says."""
        result = self.body.outputs[entry.result]
        axis = self._axis(entry, result)
        extent = size_of_axis(result, axis)
        if abs(entry.stride) != entry.part_size or (extent is not None and extent != entry.part_size):
            raise Unsupported(
                self.node,
                f"output {entry.external} concatenates parts of {extent} entries"
                f" with part_size {entry.part_size}, stride {entry.stride}",
            )
        return Stacked(axis, entry.stride < 0, entry.part_size)

    def _from_zeros(self, entry: OutputMap, ends: bool) -> None:
        """The last value of a Result without back edge: carried, though the body doesn't look at it."""
        result = self.body.outputs[entry.result]
        dtype, shape = result.tensor.dtype, result.tensor.shape
        if dtype is None:
            raise Unsupported(self.node, f"the element type of output {entry.external} isn't known")
        dims = tuple(dim if isinstance(dim, int) else 0 for dim in shape or ())
        if ends:
            self.op.rewriter.notes.append(
                f"{self.node!r}: output {entry.external} has no value in OpenVINO if the loop doesn't run; here zeros"
            )
        zeros = np.full(dims, "", object) if dtype is DType.STRING else np.zeros(dims, dtype.numpy)
        self.slots.append(Carried())
        self.operands.append(self.op.const(TensorData(dtype, dims, zeros)))
        self.inner.input(f"{result.name}_before", TensorType(dtype, shape))
        self.leaves.append(entry.result)

    def build(self, trip: Value | None, condition: Value | None) -> Results:
        """The Loop; a Condition slot, if there is one, has its Result in `leaves` already."""
        made = self.inner.inline(self.body, [self.arguments[index] for index in range(len(self.body.inputs))])
        found = slot_indices(self.slots)
        self._check(made)
        left = [position.slot for position in found if position.body_output >= 0]
        self.inner.graph.outputs = [
            scalar(self.inner, made[index], DType.BOOL).value() if isinstance(slot, Condition) else made[index]
            for slot, index in zip(left, self.leaves, strict=True)
        ]
        results = self.op.loop(trip, condition, self.slots, self.operands, self.inner.graph)
        return [results[found[self.results[index]].result] for index in range(len(self.node.outputs))]

    def _check(self, made: Sequence[Value]) -> None:
        """That what leaves the body fits its slot, which the file doesn't warrant."""
        leaving, entering = iter(self.leaves), iter(self.operands)
        for slot in self.slots:
            operand = next(entering) if isinstance(slot, Carried | Sliced | Captured) else None
            if not isinstance(slot, Carried | Condition | Stacked):
                continue
            value = made[next(leaving)]
            if isinstance(slot, Stacked) and value.rank is not None and not -value.rank <= slot.axis < value.rank:
                raise InvalidModel(f"{self.node!r}: {value.type} is concatenated along axis {slot.axis}")
            if operand is not None and operand.tensor.dtype is not value.tensor.dtype:
                raise InvalidModel(f"{self.node!r}: its body makes {value.type} of {operand.type}")


def _assembly(op: Builder, node: Node) -> _Assembly:
    body = node.regions["body"]
    return _Assembly(op, node, body, op.region(body.name))


def _trip(op: Builder, value: Value) -> Value | None:
    """The trip count as int64 [], None for a constant below zero."""
    value = scalar(op, value, DType.INT64).value()
    known = constant(value)
    if known is not None:
        return op.const(int(known), DType.INT64) if known >= 0 else None
    return op.Where(op.Less(value, op.const(0)), op.const(INT64_MAX), value)


@rule(DOMAIN, "Loop")
def loop(op: Builder, node: Node) -> Results:
    """Loop-5: trip count, condition, then what the port map names."""
    trip, entered = _trip(op, input_of(node, 0)), input_of(node, 1)
    made = _assembly(op, node)
    obeyed = [entry.result for entry in node.attributes[OUTPUT_MAPS] if entry.purpose == CONDITION]
    if len(obeyed) != 1:
        raise InvalidModel(f"{node!r}: its port map has no execution_condition")
    rank = made.body.outputs[obeyed[0]].rank
    if rank is not None and rank > 1:
        raise InvalidModel(f"{node!r}: its execution_condition is of rank {rank}")
    condition = None
    ends = not (trip is not None and trip.data is not None and int(trip.data.numpy()) > 0)
    if not (static_truth(entered) and static_truth(made.body.outputs[obeyed[0]])):
        made.slots.append(Condition())
        made.leaves.append(obeyed[0])
        condition = None if static_truth(entered) else scalar(op, entered, DType.BOOL).value()
        ends = ends or condition is not None
    made.parameters()
    made.outputs(ends)
    return made.build(trip, condition)


def _passes(node: Node) -> int:
    """How often a TensorIterator without sliced inputs runs: as its concatenated outputs need it, else once."""
    for entry in node.attributes[OUTPUT_MAPS]:
        if entry.axis is None:
            continue
        if entry.start >= 0 and entry.end >= 0 and entry.end != entry.start:
            return abs(entry.end - entry.start) // abs(entry.stride)
        extent = size_of_axis(node.outputs[entry.external], entry.axis)
        if extent is not None:
            return extent // entry.part_size
    return 1


@rule(DOMAIN, "TensorIterator")
def tensor_iterator(op: Builder, node: Node) -> Results:
    """TensorIterator-1: as many passes as its sequences have parts."""
    made = _assembly(op, node)
    made.parameters()
    bounded = any(isinstance(slot, Sliced) for slot in made.slots)
    made.outputs(ends=False)
    return made.build(None if bounded else op.const(_passes(node), DType.INT64), None)


# branches ------------------------------------------------------------------------------------------


@rule(DOMAIN, "If")
def branch(op: Builder, node: Node) -> Results:
    """If-8: each branch has ports of its own for what it captures."""
    if input_of(node, 0).tensor.dtype not in (DType.BOOL, None):
        raise InvalidModel(f"{node!r}: its condition is {input_of(node, 0).type}, not boolean")
    condition = scalar(op, input_of(node, 0), DType.BOOL).value()
    maps: list[tuple[str, Sequence[InputMap], Sequence[OutputMap]]] = [
        ("then_body", node.attributes[THEN_INPUTS], node.attributes[THEN_OUTPUTS]),
        ("else_body", node.attributes[ELSE_INPUTS], node.attributes[ELSE_OUTPUTS]),
    ]
    captured: dict[Value, None] = {}
    for _, inputs, _ in maps:
        for entry in inputs:
            value = input_of(node, entry.external)
            if value.data is None or value.data.size > _MOST_COPIED:
                captured[value] = None
    regions = [_region(op, node, list(captured), *one) for one in maps]
    for index, (one, other) in enumerate(zip(regions[0].outputs, regions[1].outputs, strict=True)):
        if one.tensor.dtype is not other.tensor.dtype and None not in (one.tensor.dtype, other.tensor.dtype):
            raise InvalidModel(f"{node!r}: its branches give {one.type} and {other.type} for output {index}")
    return op.branch(condition, list(captured), regions[0], regions[1])


def _region(
    op: Builder,
    node: Node,
    captured: Sequence[Value],
    name: str,
    inputs: Sequence[InputMap],
    outputs: Sequence[OutputMap],
) -> Graph:
    body = node.regions[name]
    inner = op.region(body.name)
    fed = {entry.parameter: input_of(node, entry.external) for entry in inputs}
    source = {entry.external: entry.result for entry in outputs}
    if len(fed) < len(body.inputs) or len(source) < len(node.outputs):
        raise InvalidModel(f"{node!r}: the port map of its {name} is incomplete")
    entered: dict[Value, Value] = {}
    for value in captured:
        parameter = next((body.inputs[index] for index, outer in fed.items() if outer is value), None)
        name_ = inner.claim(parameter.name) if parameter is not None else inner.rewriter.names.fresh(value.name)
        entered[value] = inner.graph.add_input(name_, value.type)
    arguments: list[Value] = []
    for index in range(len(body.inputs)):
        value = fed[index]
        inner_value = entered.get(value)
        if inner_value is not None:
            entering = contradictions_of(op).entering(body.inputs[index].type, value.type, False)
            inner_value.type = merge(inner_value.type, entering)
        else:
            inner_value = _copied(inner, body.inputs[index], value)
            assert inner_value is not None, value
            entered[value] = inner_value
        arguments.append(inner_value)
    results = inner.inline(body, arguments)
    inner.graph.outputs = [results[source[index]] for index in range(len(node.outputs))]
    return inner.graph


RULES = collect(globals())
