"""The canonical Loop as a Python loop.

n1 = min(trip, parts)          the most passes there can be
c1 = initial                   carried values: local variables, or buffers of their own
b1 = np.empty(...)             buffers of the body
for i1 in range(n1):           or `while`, where the body has a say in when to stop
    ...
    s1[i1] = element           stacked values
    c1 = next                  carried buffers change places with those of the body
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ...passes.graph import Node, Value
from ...passes.loop import Captured, Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked
from ..kernels.base import normal_axis
from .block import Block
from .branches import Environment, Writer, present
from .elementwise import reshaped_scalar
from .emitter import Target, element_of
from .growing import Growing, lengthening
from .indices import element_at
from .matmul import of_elements
from .selection import sliced
from .stacked_outputs import StackedOutput
from .tensors import (
    Atom,
    Decline,
    Dim,
    Dims,
    Lazy,
    Small,
    Stored,
    Sym,
    Tensor,
    literal,
)

_ENDLESS = 2**63 - 1
_MOST_WIDENED = 4  # so many times as long: the gates of an LSTM


class SizesChange(Exception):
    """Sizes of carried values turned out to change: write the loop again without relying on them."""

    def __init__(self, axes: set[tuple[int, int]]) -> None:
        super().__init__(axes)
        self.axes = axes  # (operand of the loop, axis)


def write_loop(writer: Writer, node: Node, inputs: Sequence[Tensor | None]) -> list[Tensor]:
    """Write a Loop; its results."""
    em = writer.em
    operands = [None if tensor is None else em.ready(tensor) for tensor in inputs]
    varying: set[tuple[int, int]] = set()
    mark = em.mark()
    while True:
        try:
            with em.within(em.block):
                return LoopWriter(writer, Loop(node), operands, varying).write()
        except SizesChange as found:
            em.rewind(mark)
            varying |= found.axes


def _is_narrow(dims: Dims) -> bool:
    """Whether a matrix makes rows that aren't much longer than those that it multiplies."""
    if len(dims) != 2:
        return False
    before, after = dims
    return isinstance(before, int) and isinstance(after, int) and after <= _MOST_WIDENED * before


@dataclass
class State:
    """A carried value in its variables; the axes in `changing` may differ in size from pass to pass. `growing`: the
    array with room, where a pass makes it longer and does nothing else to it."""

    entry: Entry
    inside: Tensor
    changing: set[int] = field(default_factory=set)
    growing: Growing | None = None


class LoopWriter:
    """One attempt at writing a loop; raises `SizesChange` if it relied on a size that changes."""

    def __init__(
        self, writer: Writer, loop: Loop, operands: Sequence[Tensor | None], varying: set[tuple[int, int]]
    ) -> None:
        self.writer = writer
        self.em = writer.em
        self.loop = loop
        self.body = loop.body
        self.operands = operands
        self.varying = varying
        self.environment: Environment = {}
        self.counter = self.em.name("i")
        self.bound = self.em.name("n")
        self.going = self.em.name("g")
        self.states: list[State] = []
        self.stacked: list[StackedOutput] = []
        self.through: dict[int, Tensor] = {}
        self.jobs: list[tuple[Tensor, Target]] = []
        self.products: list[tuple[Entry, Value, Tensor]] = []  # of a sequence's elements, all of them

    def write(self) -> list[Tensor]:
        em = self.em
        for node in self.body.nodes:
            self.writer.special.pop(node, None)  # of an attempt before
        bounds = self._bounds()
        self._enter_invariants()
        self._hoist()
        self._hoist_products()
        self._enter_carried()
        limit, before, statement = em.block.sub(), em.block.sub(), em.block.sub()
        body = Block()
        em.before.append(before)
        with em.within(body):
            self._enter_pass()
            outputs = self.writer.graph(self.body, self.environment)
            self._check(outputs)
            condition = self._next_condition(outputs)
            counted = condition is None or condition.value is not None
            for entry in self.loop.of(Stacked):
                element = outputs[entry.indices.body_output]
                self.stacked.append(StackedOutput(em, entry, element, self.counter, self.bound, counted))
                self.jobs += self.stacked[-1].write(before)
            if condition is not None and not counted:
                em.block.line(f"{self.going} = {condition.code}")
            self._carry(outputs)
        em.before.pop()
        count = self._statement(limit, statement, body, bounds, condition)
        return self._results(count)

    def _operand(self, entry: Entry) -> Tensor:
        """The operand of a slot."""
        return present(self.operands[entry.indices.operand])

    # before the loop -----------------------------------------------------------------------------

    def _bounds(self) -> list[Dim]:
        """What limits the number of passes: the trip count, and the parts of each sliced sequence."""
        bounds: list[Dim] = []
        if self.operands[0] is not None:
            trip = reshaped_scalar(self.em, self.operands[0]).atoms[0]
            known = trip.value is not None
            bounds.append(max(int(trip.value or 0), 0) if known else self.em.size(f"max({trip.code}, 0)"))
        for entry in self.loop.of(Sliced):
            slot = entry.slot
            assert isinstance(slot, Sliced)
            sequence = self._operand(entry)
            length = sequence.dims[normal_axis(slot.axis, len(sequence.dims))]
            if not slot.stride:
                raise Decline("a sliced slot that doesn't move")
            if (slot.start, slot.end, slot.stride) in ((0, -1, 1), (-1, 0, -1)):
                bounds.append(length)
            else:
                bounds.append(self.em.size(f"part_count({slot.start}, {slot.end}, {slot.stride}, {length})"))
        return bounds

    def _enter_invariants(self) -> None:
        """Captured values, and carried ones that each pass hands on as they are."""
        for entry in self.loop.of(Captured, Carried):
            if isinstance(entry.slot, Carried):
                if entry.body_output is not entry.body_input:
                    continue
                self.through[entry.indices.result] = self._operand(entry)
            assert entry.body_input is not None
            self.writer.bind(self.body, self.environment, entry.body_input, self._operand(entry))

    def _hoist(self) -> None:
        """What is the same in every pass is computed before the loop."""
        moved: list[Node] = []
        for node in self.body.topological():
            if not node.regions and all(
                value is None or value in self.environment or value.data is not None for value in node.inputs
            ):
                self.writer.node(self.body, node, self.environment)
                moved.append(node)
        for value in [value for node in moved for value in node.outputs]:
            tensor = self.environment.get(value)
            inside = any(user not in moved for user, _ in self.body.uses(value)) or value in self.body.outputs
            if isinstance(tensor, Lazy) and inside:
                self.writer.bind(self.body, self.environment, value, self.em.ready(tensor))

    def _hoist_products(self) -> None:
        """Products of a sequence's elements by a matrix that stays the same: one product of all before the loop, where
        all passes are made for certain, and the products don't take much more room than the sequence."""
        if self.loop.condition is not None or self.loop.trip is not None:
            return
        for entry in self.loop.of(Sliced):
            assert isinstance(entry.slot, Sliced) and entry.body_input is not None
            sequence = self._operand(entry)
            rank = len(sequence.dims)
            if entry.slot.part is not None or rank < 2 or normal_axis(entry.slot.axis, rank):
                continue
            for user, place in self.body.uses(entry.body_input):
                other = user.inputs[1] if user.op == ("", "MatMul") and place == 0 else None
                if other is None or (other not in self.environment and other.data is None):
                    continue
                matrix = self.writer.look_up(self.body, self.environment, other)
                if matrix.kind == sequence.kind != "bool" and _is_narrow(matrix.dims):
                    self.products.append((entry, user.outputs[0], of_elements(self.em, sequence, matrix)))

    def _enter_carried(self) -> None:
        """Variables for the carried values, with their initial contents."""
        em, level = self.em, self.em.depth + 1
        for entry in self.loop.of(Carried):
            if entry.body_output is entry.body_input:
                continue
            initial = self._operand(entry)
            changing = {axis for operand, axis in self.varying if operand == entry.indices.operand}
            longer = lengthening(entry, len(initial.dims), changing)
            if longer is not None:
                (axis,) = changing
                growing = Growing.of(em, initial, axis)
                self.writer.special[longer] = growing.lengthened
                self.states.append(State(entry, growing.seen(level), changing, growing))
                continue
            if changing:
                name = em.name("c")
                em.block.line(f"{name} = {em.stored(initial).name}.copy()")
                dims = [Sym(em.name("d"), level) if axis in changing else dim for axis, dim in enumerate(initial.dims)]
                inside: Tensor = Stored(initial.kind, tuple(dims), name, level)
            elif isinstance(initial, Small):
                inside = Small(
                    initial.kind, initial.dims, tuple(Atom(em.name("c"), a.kind, level) for a in initial.atoms)
                )
                for atom, source in zip(inside.atoms, initial.atoms, strict=True):
                    em.block.line(f"{atom.code} = {source.code}")
            else:
                buffer = em.buffer(initial.kind, initial.dims)
                em.write([(initial, element_of(buffer.name))])
                inside = Stored(initial.kind, initial.dims, buffer.name, level, owned=True, made=buffer.made)
            self.states.append(State(entry, inside, changing))

    # in the body ---------------------------------------------------------------------------------

    def _enter_pass(self) -> None:
        """What a pass sees of the slots."""
        counter = Atom(self.counter, "int64", self.em.depth)
        seen: list[tuple[Entry, Tensor]] = []
        for state in self.states:
            for axis in sorted(state.changing) if state.growing is None else ():
                dim = state.inside.dims[axis]
                assert isinstance(state.inside, Stored)
                self.em.block.line(f"{dim} = {state.inside.name}.shape[{axis}]")
            seen.append((state.entry, state.inside))
        for entry in self.loop.of(Iteration, Condition, Sliced):
            if isinstance(entry.slot, Iteration):
                seen.append((entry, Small("int64", (), (counter,))))
            elif isinstance(entry.slot, Condition):  # no pass begins with any other condition
                seen.append((entry, Small("bool", (), (literal("bool", True),))))
            elif isinstance(entry.slot, Sliced):
                seen.append((entry, self._part(entry.slot, self._operand(entry), counter)))
        for entry, tensor in seen:
            if entry.body_input is not None:
                self.writer.bind(self.body, self.environment, entry.body_input, tensor)
        for entry, value, all_of_them in self.products:
            assert isinstance(entry.slot, Sliced)
            part = self._part(replace(entry.slot, axis=0), all_of_them, counter)
            self.writer.bind(self.body, self.environment, value, part)

    def _part(self, slot: Sliced, sequence: Tensor, counter: Atom) -> Tensor:
        """The part of a sequence that a pass sees."""
        axis = normal_axis(slot.axis, len(sequence.dims))
        length = sequence.dims[axis]
        if (slot.start, slot.end, slot.stride) == (0, -1, 1):
            index = counter
        elif (slot.start, slot.end, slot.stride) == (-1, 0, -1):
            index = self.em.let(f"{length} - 1 - {self.counter}", "int64")
        else:
            back = slot.part - 1 if slot.part is not None and slot.reversed else 0
            first = f"part_first({slot.start}, {length}, {slot.reversed})"
            index = self.em.let(f"{first} + {self.counter} * {slot.stride} - {back}", "int64")
        if slot.part is None:
            return element_at(self.em, sequence, axis, index)
        return sliced(self.em, sequence, axis, index, slot.part, 1)

    def _check(self, outputs: Sequence[Tensor]) -> None:
        """Types must not change from pass to pass; changing sizes start a new attempt."""
        found: set[tuple[int, int]] = set()
        for state in self.states:
            before, after = state.inside, outputs[state.entry.indices.body_output]
            if before.kind != after.kind or len(before.dims) != len(after.dims):
                raise Decline("a carried value changes its type")
            for axis, (old, new) in enumerate(zip(before.dims, after.dims, strict=True)):
                if old != new and axis not in state.changing:
                    found.add((state.entry.indices.operand, axis))
        if found:
            raise SizesChange(found)

    def _next_condition(self, outputs: Sequence[Tensor]) -> Atom | None:
        """Whether to go on after a pass; None without a Condition slot."""
        entry = self.loop.condition
        return None if entry is None else reshaped_scalar(self.em, outputs[entry.indices.body_output]).atoms[0]

    def _carry(self, outputs: Sequence[Tensor]) -> None:
        """Hand the carried values over to the next pass, all at once."""
        em = self.em
        buffers = {state.inside.name for state in self.states if isinstance(state.inside, Stored)}
        old: list[str] = []
        new: list[str] = []
        for state in self.states:
            inside, tensor = state.inside, outputs[state.entry.indices.body_output]
            if state.growing is not None:
                old.append(state.growing.size)
                new.append(str(tensor.dims[state.growing.axis]))
                continue
            if isinstance(inside, Small):
                assert isinstance(tensor, Small)
                old += [atom.code for atom in inside.atoms]
                new += [atom.code for atom in tensor.atoms]
                continue
            assert isinstance(inside, Stored)
            kept = em.known(tensor) or tensor
            if isinstance(kept, Stored) and kept.name == inside.name:
                continue
            if not self._movable(kept, buffers, bool(state.changing)):
                source = em.spill(kept) if isinstance(kept, Small) else kept
                kept = em.buffer(tensor.kind, tensor.dims, fresh=bool(state.changing))
                self.jobs.append((source, element_of(kept.name)))
            assert isinstance(kept, Stored)
            buffers.add(kept.name)
            old += [inside.name] if state.changing else [inside.name, kept.name]
            new += [kept.name] if state.changing else [kept.name, inside.name]
        em.write(self.jobs)
        if old:
            em.block.line(f"{', '.join(old)} = {', '.join(new)}")

    def _movable(self, tensor: Tensor, taken: set[str], fresh: bool) -> bool:
        """Whether the tensor's own buffer can become the carried one: nobody else's, and of this pass."""
        if not isinstance(tensor, Stored) or not tensor.owned or tensor.name in taken:
            return False
        return tensor.made == self.em.depth if fresh else tensor.level == self.em.depth

    # after the body ------------------------------------------------------------------------------

    def _statement(
        self, limit: Block, statement: Block, body: Block, bounds: Sequence[Dim], condition: Atom | None
    ) -> Dim:
        """The loop statement, now that it is known what the body does; how many passes there were."""
        fixed = [bound for bound in bounds if isinstance(bound, int)]
        others = [str(bound) for bound in bounds if not isinstance(bound, int)]
        most = min([*fixed, _ENDLESS] if condition is None or condition.value is not False else [*fixed, 1])
        code = f"min({', '.join([str(most), *others])})" if others else str(most)
        start = literal("bool", True)
        if condition is not None and self.operands[1] is not None:
            start = reshaped_scalar(self.em, self.operands[1]).atoms[0]
        if condition is None or condition.value is not None:
            limit.line(
                f"{self.bound} = np.int64({code})" + ("" if start.value else f" if {start.code} else np.int64(0)")
            )
            statement.sub(f"for {self.counter} in range({self.bound}):").items.append(body)
            if start.value and not others:
                return most
            return Sym(self.bound, self.em.depth)
        limit.line(f"{self.bound} = np.int64({code})")
        limit.line(f"{self.counter} = np.int64(0)")
        limit.line(f"{self.going} = {start.code}")
        loop = statement.sub(f"while {self.counter} < {self.bound} and {self.going}:")
        loop.items.append(body)
        loop.line(f"{self.counter} += 1")
        return Sym(self.counter, self.em.depth)

    def _results(self, count: Dim) -> list[Tensor]:
        """The last carried values and the stacked ones, in slot order."""
        depth = self.em.depth
        tensors = dict(self.through)
        for state in self.states:
            inside = state.inside
            if state.growing is not None:
                tensor: Tensor = state.growing.result()
            elif isinstance(inside, Small):
                tensor = Small(inside.kind, inside.dims, tuple(Atom(a.code, a.kind, depth) for a in inside.atoms))
            else:
                assert isinstance(inside, Stored)
                dims = tuple(
                    self.em.size(f"{inside.name}.shape[{axis}]") if axis in state.changing else dim
                    for axis, dim in enumerate(inside.dims)
                )
                tensor = Stored(inside.kind, dims, inside.name, depth, owned=not state.changing, made=inside.made)
            tensors[state.entry.indices.result] = tensor
        for stacked in self.stacked:
            tensors[stacked.entry.indices.result] = stacked.result(count)
        return [tensors[index] for index in range(len(tensors))]
