"""while -> canonical Loop, still in HLO's dialect: what JAX's scan and fori_loop became is made what it was.

    state = while(0, c, xs, zeros), condition: i < n, body: (i + 1, f(c, xs[i]), xs, ys with g(c, xs[i]) at i)

    c', ys = Loop(n) carried c, sliced xs, stacked ys

- A counter that the condition holds against a limit gives the trip count; what else the condition demands stays.
- A `dynamic-slice` of an unchanged value at the counter is a sliced input, forwards or backwards.
- A `dynamic-update-slice` at the counter into a carried value that nobody else looks at is a stacked output.
- Values that the body hands on unchanged are captured.
- Anything else is carried, and the condition computed before the loop and at the end of each pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from ....passes.rewrite import Builder, Rewriter, collect, rule
from ....passes.structure.simplify import RemoveDead
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType
from ..build import HLO, HloBuilder
from ..dialect import DOMAIN
from .affine import Line, Lines, scalar
from .ranges import RANGE, limits
from .trip_count import Count, Counter, count, counters

_INT64 = DType.INT64
_SCALAR = TensorType(_INT64, ())
_BOOL = TensorType(DType.BOOL, ())


def recover_loops(graph: Graph) -> Graph:
    """A graph whose `while`s are canonical Loops; the old one stays as it was."""
    if not any(node.op_type == "while" for _, node in graph.walk()):
        return graph
    return Rewriter(HLO, RULES, fallback=Builder.copy).run(graph, HloBuilder)


@rule(DOMAIN, "while")
def while_loop(op: Builder, node: Node) -> Sequence[Value]:
    """While: `condition` on the state, then `body`, as long as it is true."""
    initial = [value for value in node.inputs if value is not None]
    condition, body = node.regions["condition"], node.regions["body"]
    if not len(initial) == len(body.inputs) == len(body.outputs) == len(condition.inputs) == len(node.outputs):
        raise InvalidModel(f"{node!r}: its condition and its body take other values than it has")
    known = counters(body, initial)
    found = count(condition, body, initial, known)
    if found is not None and found.trips == 0:
        return initial
    return _Recovery(op, node, initial, known, found).run()


@dataclass(frozen=True, slots=True)
class _Part:
    """What a `dynamic-slice` takes, or a `dynamic-update-slice` puts, along one axis: one part in each pass."""

    axis: int
    line: Line
    size: int

    @property
    def reverse(self) -> bool:
        return self.line.scale < 0

    @property
    def part(self) -> int | None:
        """As a slot says it: None is one element, without the axis."""
        return None if self.size == 1 else self.size

    def first(self, trips: int) -> int:
        """The smallest index of all passes."""
        return self.line.offset - (trips - 1) * self.size if self.reverse else self.line.offset

    def slot(self, trips: int, length: int) -> Sliced:
        start, end = self.first(trips), self.first(trips) + trips * self.size
        if end == length:
            end = -1
        if self.reverse:
            return Sliced(self.axis, end, start, -self.size, self.part)
        return Sliced(self.axis, start, end, self.size, self.part)

    def element(self, type: TensorType) -> TensorType:
        """The type of one part of a value of a type."""
        assert type.shape is not None
        kept = () if self.part is None else (self.size,)
        return TensorType(type.dtype, (*type.shape[: self.axis], *kept, *type.shape[self.axis + 1 :]))


@dataclass
class _Recovery:
    """One `while`; `body` is a copy of its body that is edited until it is the Loop's."""

    op: Builder
    node: Node
    initial: list[Value]
    counters: dict[int, Counter]
    count: Count | None
    sliced: list[tuple[Value, Value, Sliced]] = field(default_factory=list)  # outside, in the body, how
    stacked: dict[int, tuple[_Part, Value]] = field(default_factory=dict)  # carried index -> part, element at first
    started: dict[Value, Value] = field(default_factory=dict)  # in the body -> outside: where counters start

    def __post_init__(self) -> None:
        self.body = self.node.regions["body"].copy()
        self.enter, self.leave = list(self.body.inputs), list(self.body.outputs)
        self.unchanged = {k for k, value in enumerate(self.enter) if self.leave[k] is value}
        self.trips = None if self.count is None else self.count.trips
        self.exact = self.count is not None and not self.count.rest

    def run(self) -> list[Value]:
        lines = Lines(self.trips, {})
        lines.lines.update(self._known(lines))
        lines.follow(self.body)
        self._settle(lines)
        if self.trips is not None:
            self._slice(lines)
            self.leave = list(self.body.outputs)
            if self.exact:
                self._stack(lines)
        self.body.outputs += [element for _, element in self.stacked.values()]
        iteration = self.body.add_input("iteration", _SCALAR)
        counted = [k for k in self.counters if self._follows(k)]
        for k in counted:
            self._count(k, iteration)
        size = len(self.enter)
        self.leave, elements = self.body.outputs[:size], self.body.outputs[size:]
        carried = [k for k in range(size) if not (k in self.unchanged or k in counted or k in self.stacked)]
        self.body.outputs = [*(self.leave[k] for k in carried), *elements]
        RemoveDead()(self.body)
        return self._build(carried, counted, iteration)

    def _known(self, lines: Lines) -> dict[Value, Line]:
        """The lines of the body's inputs."""
        known: dict[Value, Line] = {}
        for k, value in enumerate(self.enter):
            number = scalar(self.initial[k])
            if k in self.unchanged and number is not None:
                known[value] = Line(0, number)
            span = (self.initial[k].meta or {}).get(RANGE)
            if k in self.unchanged and span is not None:
                lines.ranges[value] = span
                value.meta = {**(value.meta or {}), RANGE: span}
            counter = self.counters.get(k)
            if counter is not None and counter.start is not None:
                line = Line(counter.step, counter.start)
                counts = self._primary(k)
                if counts or (self.trips is not None and lines.fits(line, limits(counter.dtype))):
                    known[value] = line
                    low, high = lines.range(line)
                    least, most = limits(counter.dtype)
                    value.meta = {**(value.meta or {}), RANGE: (int(max(low, least)), int(min(high, most)))}
        return known

    def _primary(self, k: int) -> bool:
        """Whether the condition counts by this counter."""
        return self.count is not None and self.count.counter.index == k

    def _settle(self, lines: Lines) -> None:
        """Take the choices that are certain: JAX asks of each index whether it counts from the end."""
        for node in self.body.nodes:
            truth = lines.truths.get(node.inputs[0]) if node.op_type == "select" and node.inputs[0] else None
            chosen = node.inputs[1 if truth else 2] if truth is not None else None
            if chosen is not None:
                self.body.replace_uses(node.outputs[0], chosen)

    # parts -------------------------------------------------------------------------------------------

    def _part(self, whole: Value, sizes: Sequence[int], starts: Sequence[Value | None], lines: Lines) -> _Part | None:
        """How a node moves along one axis of a value, from pass to pass; None where it doesn't do just that."""
        shape = whole.tensor.static_shape
        if shape is None or not len(shape) == len(sizes) == len(starts):
            return None
        found = [None if start is None else lines.lines.get(start) for start in starts]
        axes = [axis for axis, (dim, size) in enumerate(zip(shape, sizes, strict=True)) if dim != size]
        if not axes and self.trips == 1:  # the one part is the whole
            axes = [axis for axis, line in enumerate(found) if line is not None and line.scale]
        if len(axes) != 1:
            return None
        axis = axes[0]
        line, size = found[axis], sizes[axis]
        if line is not None and self.trips == 1:
            line = Line(size, line.offset)
        if line is None or not size or abs(line.scale) != size or not lines.fits(line, (0, shape[axis] - size)):
            return None
        return _Part(axis, line, size)

    def _slice(self, lines: Lines) -> None:
        """Make sliced inputs of what is taken out of values that don't change."""
        assert self.trips is not None
        outside = {self.enter[k]: self.initial[k] for k in self.unchanged}
        for node in self.body.nodes:
            whole = node.inputs[0] if node.op_type == "dynamic-slice" and node.inputs else None
            if whole is None or (whole not in outside and whole.data is None):
                continue
            sizes = node.attributes.get("dynamic_slice_sizes", ())
            part = self._part(whole, sizes, node.inputs[1:], lines)
            if part is None:
                continue
            source = (
                outside[whole]
                if whole in outside
                else self.op.graph.add_constant(whole.data, self.op.claim(whole.name))
            )
            element = self.body.add_input(f"{whole.name}_part", part.element(whole.tensor))
            self._put(node.outputs[0], element)
            self.sliced.append((source, element, part.slot(self.trips, sizes_of(whole)[part.axis])))

    def _put(self, old: Value, element: Value) -> None:
        """Let the users of a slice use the element; those that take its axis away need do so no longer."""
        if old.type == element.type:
            self.body.replace_uses(old, element)
            return
        for user, _ in self.body.uses(old):
            if user.op_type == "reshape" and user.outputs[0].type == element.type:
                self.body.replace_uses(user.outputs[0], element)
        if any(user.outputs[0].type != element.type for user, _ in self.body.uses(old)) or old in self.body.outputs:
            self.body.replace_uses(old, self._reshape(element, old.tensor))

    def _reshape(self, value: Value, type: TensorType) -> Value:
        return self._add("reshape", [value], type)

    def _add(self, opcode: str, inputs: Sequence[Value], type: TensorType) -> Value:
        """A node of the body."""
        return self.body.add_node(opcode, inputs, [(opcode, type)], domain=DOMAIN).output

    def _stack(self, lines: Lines) -> None:
        """Make stacked outputs of what is put into values that nobody else looks at."""
        for k, (buffer, result) in enumerate(zip(self.enter, self.leave, strict=True)):
            maker = result.producer
            if maker is None or maker.op_type != "dynamic-update-slice" or maker.inputs[0] is not buffer:
                continue
            update = maker.inputs[1]
            alone = len(self.body.uses(buffer)) == 1 and not self.body.uses(result) and self.leave.count(result) == 1
            if not alone or update is None or buffer in self.leave:
                continue
            part = self._part(buffer, sizes_of(update), maker.inputs[2:], lines)
            if part is not None:
                self.stacked[k] = part, self._squeezed(update, part.element(buffer.tensor))

    def _squeezed(self, update: Value, type: TensorType) -> Value:
        if update.type == type:
            return update
        maker = update.producer
        source = maker.inputs[0] if maker is not None and maker.op_type == "reshape" else None
        return source if source is not None and source.type == type else self._reshape(update, type)

    # counters ----------------------------------------------------------------------------------------

    def _follows(self, k: int) -> bool:
        """Whether a counter should follow from the number of the pass.

        The loop's own counter is nobody's state. Another is, where following would be all that makes a Scan a Loop.
        """
        if not self.exact or self._primary(k):
            return self.exact
        whole = all(slot.part is None and (slot.start, slot.end) in ((0, -1), (-1, 0)) for _, _, slot in self.sliced)
        return self.counters[k].start is not None and not (self.sliced and whole)

    def _count(self, k: int, iteration: Value) -> None:
        """Let a counter follow from the number of the pass."""
        counter, value = self.counters[k], self.enter[k]
        if not self.body.uses(value) and value not in self.body.outputs:
            return
        type = value.tensor
        if counter.start is not None or self.trips is not None:
            most = limits(counter.dtype)[1] if self.trips is None else self.trips - 1
            iteration.meta = {RANGE: (0, most)}
        found = iteration if counter.dtype is _INT64 else self._add("convert", [iteration], type)
        if counter.step != 1:
            found = self._add("multiply", [found, self._number(counter.step, counter.dtype)], type)
        if counter.start is None:
            start = self.body.add_input(f"{value.name}_start", type)
            self.started[start] = self.initial[k]
            found = self._add("add", [found, start], type)
        elif counter.start:
            found = self._add("add", [found, self._number(counter.start, counter.dtype)], type)
        if found is not iteration and RANGE in (value.meta or {}):
            found.meta = {**(found.meta or {}), RANGE: (value.meta or {})[RANGE]}
        self.body.replace_uses(value, found)

    def _number(self, number: int, dtype: DType) -> Value:
        return self.body.add_constant(_data(number, dtype), "number")

    def _end(self, k: int, trip: Value | None) -> Value:
        """What a counter is after the loop."""
        counter = self.counters[k]
        if self.trips is not None and counter.start is not None:
            return self.op.graph.add_constant(
                _data(counter.start + self.trips * counter.step, counter.dtype), self.op.claim("end")
            )
        if trip is None:
            trip = self._outer_number(self.trips or 0)
        elif self.trips is None:  # a negative one runs nothing
            trip = self.op.call("maximum", trip, self._outer_number(0))
        step = self.op.call("multiply", trip, self._outer_number(counter.step)) if counter.step != 1 else trip
        if counter.dtype is not _INT64:
            step = self.op.call("convert", step, _types=[self.initial[k].type])
        return self.op.call("add", self.initial[k], step)

    def _outer_number(self, number: int) -> Value:
        return self.op.graph.add_constant(_data(number, _INT64), self.op.claim("number"))

    def _trip(self) -> Value | None:
        """The trip count, where the sliced inputs don't say it."""
        if self.count is None:
            return None
        if self.trips is not None:
            return None if self.sliced else self._outer_number(self.trips)
        counter, limit = self.count.counter, self.count.limit
        start = self.initial[counter.index]
        values = [self._outer_number(limit) if isinstance(limit, int) else self._wide(limit), self._wide(start)]
        if counter.step < 0:
            values.reverse()
        if scalar(values[1]) == 0:
            return values[0]
        if counter.dtype is _INT64 and not all(map(_is_narrow, values)):
            values[0] = self.op.call("maximum", *values)  # or the difference of far apart ones would wrap
        return self.op.call("subtract", *values)  # a negative one runs nothing

    def _wide(self, value: Value) -> Value:
        number = scalar(value)
        if number is not None:
            return self._outer_number(number)
        return value if value.tensor.dtype is _INT64 else self.op.call("convert", value, _types=[_SCALAR])

    # the loop ----------------------------------------------------------------------------------------

    def _condition(self) -> Graph | None:
        """The condition, without what the trip count says."""
        if self.exact:
            return None
        twins: dict[Value, Value] = {}
        graph = self.node.regions["condition"].copy(twins)
        if self.count is not None:
            rest = [twins[value] for value in self.count.rest]
            while len(rest) > 1:
                rest[:2] = [graph.add_node("and", rest[:2], [("and", _BOOL)], domain=DOMAIN).output]
            graph.outputs = rest
        RemoveDead()(graph)
        return graph

    def _build(self, carried: Sequence[int], counted: Sequence[int], iteration: Value) -> list[Value]:
        op, body = self.op, self.body
        condition = self._condition()
        looked_at = _used(body)
        if condition is not None:
            within = _used(condition)
            looked_at |= {self.enter[k] for k, value in enumerate(condition.inputs) if value in within}
        captured = [(self.initial[k], self.enter[k]) for k in sorted(self.unchanged)] + [
            (outer, inner) for inner, outer in self.started.items()
        ]
        captured = [(outer, inner) for outer, inner in captured if inner in looked_at]
        slots: list[Slot] = [Iteration()] if iteration in looked_at else []
        inputs = [iteration] if slots else []
        slots += [Condition()] if condition is not None else []
        slots += [Carried() for _ in carried]
        slots += [slot for _, _, slot in self.sliced]
        slots += [Captured() for _ in captured]
        slots += [Stacked(part.axis, part.reverse, part.part) for part, _ in self.stacked.values()]
        inputs += [self.enter[k] for k in carried]
        inputs += [element for _, element, _ in self.sliced]
        inputs += [inner for _, inner in captured]
        body.inputs = inputs
        made = op.region("body")
        arguments = [made.input(value.name, value.type) for value in inputs]
        for value, twin in zip(inputs, arguments, strict=True):
            twin.meta = value.meta
        outputs = made.inline(body, arguments)
        first: Value | None = None
        if condition is not None:
            first = op.inline(condition, self.initial)[0]
            inner = dict(zip(inputs, arguments, strict=True))
            state: list[Value | None] = [inner.get(value) for value in self.enter]
            for k, value in zip(carried, outputs[: len(carried)], strict=True):
                state[k] = value
            outputs = [made.inline(condition, state)[0], *outputs]
        made.graph.outputs = outputs
        outside = [self.initial[k] for k in carried]
        outside += [source for source, _, _ in self.sliced]
        outside += [outer for outer, _ in captured]
        trip = self._trip()
        types = [self.node.outputs[k].type for k in carried] + [self._stacked_type(k) for k in self.stacked]
        results = op.loop(trip, first, slots, outside, made.graph, types)
        found = dict(zip([*carried, *self.stacked], results, strict=True))
        for k, (part, _) in self.stacked.items():
            found[k] = self._placed(k, part, found[k])
        for k in counted:
            found[k] = self._end(k, trip)
        return [found[k] if k in found else self.initial[k] for k in range(len(self.enter))]

    def _stacked_type(self, k: int) -> TensorType:
        part, _ = self.stacked[k]
        buffer = self.enter[k].tensor
        assert buffer.shape is not None and self.trips is not None
        sizes = list(buffer.shape)
        sizes[part.axis] = self.trips * part.size
        return TensorType(buffer.dtype, tuple(sizes))

    def _placed(self, k: int, part: _Part, stack: Value) -> Value:
        """What was stacked, inside of what was there before where it doesn't fill that."""
        if stack.type == self.enter[k].type:
            return stack
        assert self.trips is not None
        starts = [self._outer_number(0)] * len(sizes_of(stack))
        starts[part.axis] = self._outer_number(part.first(self.trips))
        return self.op.call("dynamic-update-slice", self.initial[k], stack, *starts)


def sizes_of(value: Value) -> tuple[int, ...]:
    """The sizes of a value that are known to be known."""
    shape = value.tensor.static_shape
    return () if shape is None else shape


def _is_narrow(value: Value) -> bool:
    """Whether a value certainly is an integer of no more than 32 bits."""
    number = scalar(value)
    return number is not None and abs(number) < 2**32


def _data(number: int, dtype: DType) -> TensorData:
    """A number of a type, wrapped round where it is none of the type's."""
    low, high = limits(dtype)
    return TensorData.of(np.asarray((number - low) % (high - low + 1) + low, dtype.numpy), dtype)


def _used(graph: Graph) -> set[Value]:
    """The values that a graph's nodes and outputs use."""
    return {value for node in graph.nodes for value in node.inputs if value is not None} | set(graph.outputs)


RULES = collect(globals())
