"""The canonical Loop and If, run pass by pass on NumPy values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..passes.errors import Endless, InvalidModel
from ..passes.graph import Node, Value
from ..passes.loop import Captured, Carried, Condition, Iteration, Loop, Sliced, SlotIndices, Stacked, part_range
from ..passes.types import Dim, merge_dims
from .kernels.base import Array, ExecutionError, normal_axis, scalar
from .machine_code import Compiler, MachineCode, work
from .plan import Call, Context, Plan


class LoopCall:
    """One Loop node: interpreted, and handed to the compiler once it turns out to be long."""

    def __init__(self, node: Node, context: Context, compiler: Compiler) -> None:
        view = Loop(node)
        self.node = node
        self.code = MachineCode(node, compiler, context.around)
        self.body = Plan(view.body, replace(context, around=self.code, constants=_constants(view, context)))
        self.code.operators = sum(map(work, self.body.nodes))
        self.carried, self.sliced, self.captured = (_of(view, kind) for kind in (Carried, Sliced, Captured))
        self.stacked, self.iteration, self.condition = (_of(view, kind) for kind in (Stacked, Iteration, Condition))
        if view.initial_condition is not None and not self.condition:
            raise InvalidModel(f"{node}: an initial condition without a condition slot")
        self.results = len(node.outputs)
        self.ends_early = not all(_goes_on(view, indices) for indices in self.condition)
        self.passes = 0  # that were interpreted

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        slices = [_Slices(indices, inputs[indices.operand]) for indices in self.sliced]
        most = self._most_passes(inputs, slices)
        if most is None and not self.condition:
            raise Endless(f"{self.node}: nothing ends this loop")
        each = self.code.work_of(*([inputs[slot.operand] for slot in slots] for slots in (self.carried, self.captured)))
        begins = inputs[1] is None or bool(scalar(inputs[1]))
        certain = 0 if self.ends_early or most is None or not begins else most * each
        finished = self.code.outputs(inputs, certain)
        if finished is None:
            before = self.code.done
            finished = self._interpret(inputs, slices, most, each)
            self.code.tell_around(self.code.done - before)
        return finished

    def _most_passes(self, inputs: Sequence[Any], slices: Sequence[_Slices]) -> int | None:
        """The bound that the trip count and the slices set; None: there is none."""
        bounds = [part.count for part in slices]
        if inputs[0] is not None:
            bounds.append(max(int(scalar(inputs[0])), 0))
        return min(bounds, default=None)

    def certain_passes(self, inputs: Sequence[Any]) -> int | None:
        """How many passes these inputs ask for; None where a condition decides."""
        slices = [_Slices(indices, inputs[indices.operand]) for indices in self.sliced]
        return None if self.condition else self._most_passes(inputs, slices)

    def _interpret(
        self, inputs: Sequence[Any], slices: Sequence[_Slices], most: int | None, each: int
    ) -> tuple[Any, ...]:
        """Pass by pass, each of them so much work; the machine code's answer once that is worth it."""
        arguments: list[Any] = [None] * len(self.body.graph.inputs)
        for indices in self.carried + self.captured:
            arguments[indices.body_input] = inputs[indices.operand]
        going: Any = np.array(True) if inputs[1] is None else inputs[1]
        seen_condition = [indices.body_input for indices in self.condition if indices.body_input >= 0]
        stacks: list[list[Array]] = [[] for _ in self.stacked]
        count = 0
        question = self.code.next_question
        while (most is None or count < most) and (not self.condition or bool(scalar(going))):
            if self.code.done >= question:
                finished = self.code.outputs(inputs)
                if finished is not None:
                    return finished
                question = self.code.next_question
            for part in slices:
                arguments[part.body_input] = part.take(count)
            for indices in self.iteration:
                arguments[indices.body_input] = np.array(count, np.int64)
            for index in seen_condition:
                arguments[index] = going
            produced = self.body.run(arguments)
            for indices in self.carried:
                arguments[indices.body_input] = produced[indices.body_output]
            for stack, indices in zip(stacks, self.stacked, strict=True):
                stack.append(produced[indices.body_output])
            for indices in self.condition:
                going = produced[indices.body_output]
            count += 1
            self.code.done += each
            self.passes += 1
        results: list[Any] = [None] * self.results
        for indices in self.carried:
            results[indices.result] = arguments[indices.body_input]
        for stack, indices in zip(stacks, self.stacked, strict=True):
            results[indices.result] = self._concat(stack, indices)
        return tuple(results)

    def _concat(self, stack: list[Array], indices: SlotIndices) -> Array:
        slot = indices.slot
        assert isinstance(slot, Stacked)
        if not stack:
            return self._empty(slot, indices)
        parts = stack[::-1] if slot.reverse else stack
        first = stack[0]
        if slot.part is None:
            if any(part.shape != first.shape for part in parts):
                shapes = sorted({str(list(part.shape)) for part in parts})
                raise ExecutionError(f"{self.node}: elements of different shapes can't be stacked: {', '.join(shapes)}")
            return np.stack(parts, axis=normal_axis(slot.axis, first.ndim + 1))
        return np.concatenate(parts, axis=normal_axis(slot.axis, first.ndim))

    def _empty(self, slot: Stacked, indices: SlotIndices) -> Array:
        """What no pass at all stacks up: 0 along the axis, the declared sizes elsewhere, 0 where they aren't known."""
        element = self.body.graph.outputs[indices.body_output].tensor
        whole = self.node.outputs[indices.result].tensor
        dtype = element.dtype or whole.dtype
        if dtype is None:
            raise ExecutionError(f"{self.node}: no pass was made, and the type of what it stacks isn't declared")
        sizes = declared_sizes(slot, element.shape, whole.shape)
        sizes[normal_axis(slot.axis, len(sizes))] = 0
        return np.zeros(sizes, dtype.numpy)


def declared_sizes(slot: Stacked, element: Sequence[Dim] | None, whole: Sequence[Dim] | None) -> list[int]:
    """The sizes of a stacked output by the shapes that its elements and it are declared to have; 0 where none is
    known, and along the axis that a slot inserts."""
    dims: list[Dim] | None = None if element is None else list(element)
    if dims is not None and slot.part is None:
        dims.insert(normal_axis(slot.axis, len(dims) + 1), 0)
    if whole is not None and (dims is None or len(dims) == len(whole)):
        dims = [merge_dims(a, b) for a, b in zip(dims or whole, whole, strict=True)]
    return [dim if isinstance(dim, int) else 0 for dim in (dims or [0])]


class _Slices:
    """The parts of one sequence."""

    __slots__ = ("_before", "_first", "_sequence", "_slot", "_stride", "body_input", "count")

    def __init__(self, indices: SlotIndices, sequence: Array) -> None:
        slot = indices.slot
        assert isinstance(slot, Sliced)
        axis = normal_axis(slot.axis, sequence.ndim)
        self._first, self.count = part_range(slot, sequence.shape[axis])
        self._slot, self._stride, self.body_input = slot, slot.stride, indices.body_input
        self._before = (slice(None),) * axis
        self._sequence = sequence

    def take(self, number: int) -> Array:
        start, part = self._first + number * self._stride, self._slot.part
        if part is None:
            return self._sequence[(*self._before, start, ...)]
        if self._slot.reversed:
            start -= part - 1
        return self._sequence[(*self._before, slice(start, start + part))]


def _goes_on(view: Loop, condition: SlotIndices) -> bool:
    """Whether a condition stays what it was, or is true, after each pass."""
    value: Value | None = view.body.outputs[condition.body_output]
    while value is not None and value.producer is not None and value.producer.op == ("", "Identity"):
        value = value.producer.inputs[0]
    if value is None or value.producer is not None:
        return False
    if condition.body_input >= 0 and value is view.body.inputs[condition.body_input]:
        return True
    for captured in _of(view, Captured):
        if value is view.body.inputs[captured.body_input]:
            value = view.node.inputs[captured.operand]
            break
    return value is not None and value.data is not None and bool(value.data.numpy().all())


def _constants(view: Loop, context: Context) -> frozenset[Value]:
    """The inputs of the body that are constants around it."""
    slots, inputs = _of(view, Captured), view.node.inputs
    return frozenset(view.body.inputs[one.body_input] for one in slots if context.is_constant(inputs[one.operand]))


def _of(view: Loop, kind: type) -> list[SlotIndices]:
    return [indices for indices in view.indices if isinstance(indices.slot, kind)]


def if_call(node: Node, context: Context) -> Call:
    """One If node: the condition chooses the region that is run on the captured values."""
    then, otherwise = (Plan(node.regions[name], context) for name in ("then", "else"))

    def call(condition: Array, *captured: Any) -> tuple[Any, ...]:
        return tuple((then if scalar(condition) else otherwise).run(captured))

    return call
