"""Hub -> OpenVINO: the canonical Loop to Loop-5, the canonical If to If-8.

What differs between the two sides, and what stands for it:

| hub | OpenVINO | built |
|---|---|---|
| no trip count | -1 | -1 |
| a negative trip count runs nothing | runs for ever | `Maximum(trip, 0)` |
| ends with the shortest sequence | reads on | `Minimum(trip, parts)` |
| a part loses its axis, a stack gains one | both keep it, size 1 | Squeeze, Unsqueeze in the body |
| a range of a sequence | the CPU ignores an offset | cut before the loop |
| a stack in reverse | `Model.evaluate` doesn't reverse | turned round after the loop |
| no passes, an empty stack | the CPU leaves an earlier run's shape | cut to the number of passes |
| a captured value | a Parameter and a port | the same; a constant is copied into the body |
| the condition the body was entered with | not to be had | one more carried value |

OpenVINO takes a trip count that it can compute while compiling for the size of the stacks, and dies if it is 0.
Zero trips that are seen here are folded; where only OpenVINO may come to see them, the body's condition
is `iteration >= 0`, so that it can't tell how often the loop runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...passes.errors import Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.infer import constant_array
from ...passes.loop import DOMAIN as HUB
from ...passes.loop import Captured, Carried, Entry, Iteration, Loop, Sliced, Stacked
from ...passes.rewrite import Builder, collect, rule
from ...passes.tensor import TensorData
from ...passes.types import DType, TensorType, Type, merge, tensor
from .dialect import (
    BACK_EDGES,
    ELSE_INPUTS,
    ELSE_OUTPUTS,
    INPUT_MAPS,
    OUTPUT_MAPS,
    THEN_INPUTS,
    THEN_OUTPUTS,
    BackEdge,
    InputMap,
    OutputMap,
)
from .lowering_context import context_of, is_natural
from .lowering_slices import Parts, parts_of
from .lowering_tools import axis_of, cut, i64, rank_of, scalar, shape_of, static_dim, vector

_FIRST = np.iinfo(np.int64).min  # "before the first element", for a Slice that walks backwards


# how often the body runs ---------------------------------------------------------------------------


@dataclass
class _Trips:
    """`limit`: the most passes there can be, i64 [] or a number, None without a limit.

    `entered`: the condition before the first pass. `condition`: whether the body's own can end the loop.
    """

    limit: int | Value | None
    entered: bool | Value
    condition: bool

    @property
    def never(self) -> bool:
        return self.limit == 0 or self.entered is False

    @property
    def certain(self) -> bool:
        """Whether at least one pass is certain."""
        return isinstance(self.limit, int) and self.limit > 0 and self.entered is True


def _trips(op: Builder, node: Node, loop: Loop, parts: Sequence[Parts]) -> _Trips:
    bounds: list[int | Value] = [
        piece.count if isinstance(piece.count, int) else scalar(op, piece.count) for piece in parts
    ]
    if loop.trip is not None:
        stated = loop.trip.array()
        if stated is not None:
            bounds.append(max(0, int(stated.reshape(-1)[0])))
        else:
            trip = scalar(op, loop.trip)
            bounds.append(trip if is_natural(trip) else op.Maximum(trip, i64(op, 0)))
    entry = loop.condition
    entered: bool | Value = True
    goes_on = False
    if entry is not None:
        last = constant_array(entry.leave)
        if last is not None and not last.reshape(-1)[0]:
            bounds.append(1)
        goes_on = last is None
        first = loop.initial_condition
        known = None if first is None else first.array()
        entered = True if first is None else scalar(op, first) if known is None else bool(known.reshape(-1)[0])
    sizes = [bound for bound in bounds if isinstance(bound, int)]
    values = [bound for bound in bounds if isinstance(bound, Value)]
    limit: int | Value | None = min(sizes) if sizes else None
    if values and limit != 0:
        values += [] if limit is None else [i64(op, limit)]
        limit = functools.reduce(op.Minimum, values)
    if limit is None and not goes_on:
        raise Unsupported(node, "a loop without an end")
    return _Trips(limit, entered, goes_on)


def _nothing(node: Node, op: Builder, loop: Loop) -> list[Value]:
    """The results of a loop that never runs: the initial values, and empty stacks."""
    results: list[Value] = []
    for entry in loop.entries:
        if isinstance(entry.slot, Carried):
            assert entry.outside is not None
            results.append(entry.outside)
        elif isinstance(entry.slot, Stacked):
            assert entry.result is not None
            dtype, shape = entry.result.tensor.dtype, entry.result.tensor.shape
            if dtype is None or shape is None:
                raise Unsupported(node, f"the loop never runs, and the type of {entry.result.name!r} isn't known")
            dims = [dim if isinstance(dim, int) else 0 for dim in shape]
            dims[entry.slot.axis] = 0
            results.append(op.const(TensorData(dtype, tuple(dims), np.zeros(dims, dtype.numpy)), name="empty"))
    return results


# a Loop being put together ---------------------------------------------------------------------------


@dataclass
class _Port:
    """A Parameter of the body, and the value outside that feeds it (None: the iteration number)."""

    parameter: Value
    outside: Value | None
    slices: dict[str, Any] = field(default_factory=dict)
    result: int | None = None  # what is fed back to it


@dataclass
class _Assembly:
    op: Builder
    body: Builder
    trip: Value
    start: Value
    ports: list[_Port] = field(default_factory=list)
    output_maps: list[OutputMap] = field(default_factory=list)
    types: list[Type | None] = field(default_factory=list)
    count: Value | None = None  # the body's own iteration number

    def parameter(self, name: str, type: Type | None, known: bool) -> Value:
        value = Value(self.body.claim(name), type)
        context_of(self.op).note(value, known)
        return value

    def port(self, outside: Value, type: Type | None, name: str, carried: bool, parts: Parts | None = None) -> Value:
        """A Parameter and the input port that feeds it."""
        value = self.parameter(name, type, not carried and context_of(self.op).is_known(outside))
        self.ports.append(_Port(value, outside, {} if parts is None else parts.attributes))
        return value

    def iteration(self, name: str = "iteration") -> Value:
        """The Parameter that counts the passes; a body has at most one."""
        if self.count is None:
            self.count = self.parameter(name, tensor(DType.INT64), False)
            self.ports.append(_Port(self.count, None))
        return self.count

    def counting(self) -> Value:
        """True in every pass, but nothing that OpenVINO could know while compiling."""
        return self.body.GreaterEqual(self.iteration(), i64(self.body, 0))

    def result(self, value: Value) -> int:
        self.body.graph.outputs.append(value)
        return len(self.body.graph.outputs) - 1

    def output(self, value: Value, type: Type | None, axis: int | None = None, part: int = 1) -> int:
        """A Result and the output port it leaves through."""
        slices: dict[str, int] = {} if axis is None else {"axis": axis, "stride": part, "part_size": part}
        self.output_maps.append(replace(OutputMap(len(self.types), self.result(value)), **slices))
        self.types.append(type)
        return len(self.types) - 1

    def feed_back(self, parameter: Value, result: int) -> None:
        next(port for port in self.ports if port.parameter is parameter).result = result

    def place(self) -> list[Value]:
        """The Loop node; Parameters that nothing uses are left out."""
        body = self.body.graph
        used = [
            port
            for port in self.ports
            if port.result is not None or body.uses(port.parameter) or port.parameter in body.outputs
        ]
        body.inputs = [port.parameter for port in used]
        inputs, maps = [self.trip, self.start], []
        for index, port in enumerate(used):
            if port.outside is None:
                maps.append(InputMap(-1, index, purpose="current_iteration"))
            else:
                maps.append(InputMap(len(inputs), index, **port.slices))
                inputs.append(port.outside)
        domain, version = self.op.rewriter.dialect.resolve("Loop")
        node = Node(domain, "Loop", version)
        node.regions["body"] = body
        attributes = {
            INPUT_MAPS: tuple(maps),
            OUTPUT_MAPS: tuple(self.output_maps),
            BACK_EDGES: tuple(BackEdge(port.result, at) for at, port in enumerate(used) if port.result is not None),
        }
        made = self.op.place(node, inputs, attributes, len(self.types), self.types)
        return [made] if len(self.types) == 1 else list(made)


def _copied(body: Builder, outside: Value) -> Value:
    """A constant from outside as a constant of the body."""
    assert outside.data is not None
    return body.graph.add_constant(outside.data, body.rewriter.names.fresh(outside.name or "const"))


def _enter(assembly: _Assembly, node: Node, entry: Entry, parts: Parts | None) -> Value:
    """What stands for a slot's body input in the new body."""
    old, outside = entry.enter, entry.outside
    assert old is not None
    match entry.slot:
        case Iteration():
            return assembly.iteration(old.name)
        case Captured():
            assert outside is not None
            if outside.data is not None:
                return _copied(assembly.body, outside)
            return assembly.port(outside, merge(old.type, outside.type), old.name, False)
        case Carried():
            assert outside is not None
            if old.rank is None:
                raise Unsupported(node, f"the rank of the carried value {old.name!r} changes or isn't known")
            return assembly.port(outside, old.type, old.name, True)
        case Sliced(part=part):
            assert parts is not None
            piece = assembly.port(parts.sequence, parts.type, old.name, False, parts)
            return piece if part is not None else assembly.body.Squeeze(piece, i64(assembly.body, [parts.axis]))
    raise AssertionError(entry.slot)


Finish = Callable[[Value, Value | None], Value]


def _leave_stacked(
    assembly: _Assembly, node: Node, slot: Stacked, value: Value, type: Type | None
) -> tuple[int, Finish]:
    """The port of a stack, and what is left to do with it once the number of passes is known (i64 [])."""
    op, body = assembly.op, assembly.body
    flat = slot.part is not None
    axis = axis_of(node, slot.axis, rank_of(node, value) + (not flat))
    size = 1
    if slot.part is not None:
        size = slot.part if slot.part > 0 else static_dim(value, axis) or 0
        if size <= 0:
            raise Unsupported(node, f"parts of unknown size along axis {axis} of {value.name!r}")
    if not flat or slot.reverse:
        value = body.Unsqueeze(value, i64(body, [axis]))
    merged = flat and slot.reverse
    out_type = TensorType(value.tensor.dtype) if merged else type
    port = assembly.output(value, out_type, axis, 1 if slot.reverse else size)

    def finish(stack: Value, count: Value | None) -> Value:
        if count is not None:
            whole = count if size == 1 or merged else op.Multiply(count, i64(op, size))
            stack = cut(op, stack, 0, vector(op, whole), axis=axis)
        if slot.reverse:
            stack = cut(op, stack, -1, _FIRST, -1, axis)
        if merged:
            shape = op.ShapeOf(stack, output_type="i64")
            joined = op.Multiply(cut(op, shape, axis, axis + 1), i64(op, [size]))
            ends = [cut(op, shape, 0, axis), joined, cut(op, shape, axis + 2, np.iinfo(np.int64).max)]
            stack = op.Reshape(stack, op.Concat(*ends, axis=0), special_zero=False)
        return stack

    return port, finish


def _lose_their_start(assembly: _Assembly, carried: dict[Value, Value]) -> set[Value]:
    """The carried Parameters that don't reach their own value, not even over several passes.

    OpenVINO takes such a Parameter away, and its initial value with it; after no pass the result is then wrong.
    `carried`: Parameter -> value that is fed back.
    """
    bit = {parameter: 1 << index for index, parameter in enumerate(carried)}
    reached = dict(bit)
    for node in assembly.body.graph.topological():
        found = 0
        for value in node.inputs if node.op_type != "ShapeOf" else ():
            found |= reached.get(value, 0) if value is not None else 0
        reached.update(dict.fromkeys(node.outputs, found))
    next_ = {parameter: reached.get(value, 0) for parameter, value in carried.items()}
    changed = True
    while changed:
        changed = False
        for parameter, mask in next_.items():
            more = mask
            for other, its_bit in bit.items():
                more |= next_[other] if mask & its_bit else 0
            changed |= more != mask
            next_[parameter] = more
    return {parameter for parameter, mask in next_.items() if not mask & bit[parameter]}


def _held(assembly: _Assembly, value: Value, entered: Value, outside: Value, losing: bool) -> Value:
    """A carried value so that after no pass OpenVINO gives the initial one.

    For that the Parameter `entered` must have a part in it, and OpenVINO must not know a size that differs from
    the initial one: it would be the size of the result.
    """
    body = assembly.body
    sizes, first = value.tensor.shape, outside.tensor.shape
    if sizes is None or first is None or len(sizes) != len(first):
        raise Unsupported(body.graph.name, f"the rank of the carried value {entered.name!r} changes or isn't known")
    differing = [axis for axis, size in enumerate(sizes) if isinstance(size, int) and size != first[axis]]
    if losing and not differing and value.tensor.static_shape is not None:
        return body.Select(assembly.counting(), value, entered)
    axes = list(range(len(sizes))) if losing else differing
    if not axes:
        return value
    flat = vector(body, entered)
    same = body.Convert(body.Equal(flat, flat), destination_type="i64")
    nothing = body.Minimum(body.ReduceSum(same, i64(body, [0]), keep_dims=False), i64(body, 0))
    chosen = body.Gather(shape_of(body, value), i64(body, axes), i64(body, 0), batch_dims=0)
    ones = [1] * len(axes)
    return body.Slice(value, i64(body, [0] * len(axes)), body.Add(chosen, nothing), i64(body, ones), i64(body, axes))


def _ending(assembly: _Assembly, condition: Value | None, hidden: bool) -> Value:
    """The body's condition: one that OpenVINO doesn't take for constant unless it is and may be seen.

    It takes a Parameter for what feeds it before the first pass, whatever is fed back.
    """
    body = assembly.body
    opaque = hidden or (
        condition is not None and (condition.producer is None or context_of(assembly.op).is_known(condition))
    )
    if not opaque:
        return body.const(True) if condition is None else condition
    counting = assembly.counting()
    return counting if condition is None else body.LogicalAnd(condition, counting)


@rule(HUB, "Loop")
def loop(op: Builder, node: Node) -> list[Value]:
    """One Loop-5; see the table above."""
    view = Loop(node)
    pieces = {
        entry.place.enter: parts_of(op, node, entry.slot, entry.outside)
        for entry in view.entries
        if isinstance(entry.slot, Sliced) and entry.outside is not None
    }
    trips = _trips(op, node, view, list(pieces.values()))
    if trips.never:
        return _nothing(node, op, view)
    if not node.outputs:
        return []
    limit, entered = trips.limit, trips.entered
    count = i64(op, -1 if limit is None else limit) if not isinstance(limit, Value) else limit
    start = op.const(True) if entered is True else entered
    assert isinstance(start, Value)
    hidden = isinstance(limit, Value) and context_of(op).is_known(limit)
    if entered is not True and context_of(op).is_known(start):
        count, start, hidden = op.Select(start, count, i64(op, 0)), op.const(True), True

    assembly = _Assembly(op, op.region("body"), count, start)
    arguments: list[Value] = []
    condition = view.condition
    seen: Value | None = None
    for entry in view.entries:
        if entry.enter is None:
            continue
        if entry is condition or (condition is not None and entry.place == condition.place):
            first = view.initial_condition
            outside = op.const(True) if first is None else scalar(op, first)
            seen = assembly.port(outside, tensor(DType.BOOL), entry.enter.name, True)
            arguments.append(seen)
        else:
            arguments.append(_enter(assembly, node, entry, pieces.get(entry.place.enter)))
    outs = assembly.body.inline(view.body, arguments)
    left = None if condition is None else outs[condition.place.leave]
    assembly.result(_ending(assembly, left if trips.condition else None, hidden))
    assembly.output_maps.append(OutputMap(-1, 0, purpose="execution_condition"))
    if seen is not None and left is not None:
        assembly.feed_back(seen, assembly.result(left))

    counter: int | None = None
    if trips.condition and not trips.certain and view.of(Stacked):
        number = assembly.port(i64(op, 0), tensor(DType.INT64), "passes", True)
        following = assembly.body.Add(number, i64(assembly.body, 1))
        counter = assembly.output(following, tensor(DType.INT64))
        assembly.feed_back(number, assembly.output_maps[-1].result)

    carried = {arguments[entry.place.enter]: outs[entry.place.leave] for entry in view.of(Carried)}
    losing = set() if trips.certain else _lose_their_start(assembly, carried)
    finishing: list[tuple[int, Finish | None]] = []
    for entry in view.entries:
        if entry.result is None:
            continue
        value = outs[entry.place.leave]
        if isinstance(entry.slot, Stacked):
            finishing.append(_leave_stacked(assembly, node, entry.slot, value, entry.result.type))
        else:
            if not trips.certain and entry.outside is not None:
                entered_as = arguments[entry.place.enter]
                value = _held(assembly, value, entered_as, entry.outside, entered_as in losing)
            port = assembly.output(value, entry.result.type)
            assembly.feed_back(arguments[entry.place.enter], assembly.output_maps[-1].result)
            finishing.append((port, None))
    made = assembly.place()
    done: Value | None = None
    if not trips.certain and view.of(Stacked):
        done = made[counter] if counter is not None else count
        if counter is None and start.data is None:
            done = op.Select(start, count, i64(op, 0))
    return [made[port] if finish is None else finish(made[port], done) for port, finish in finishing]


# If -----------------------------------------------------------------------------------------------


def _branch(
    op: Builder, node: Node, name: str, region: Graph, inputs: list[Value]
) -> tuple[Graph, tuple[InputMap, ...]]:
    """A branch with a Parameter for each captured value that it uses; `inputs` grows by what feeds them."""
    body = op.region(name)
    arguments: list[Value] = []
    fed: list[tuple[Value, Value]] = []
    for old, outside in zip(region.inputs, node.captures, strict=True):
        assert outside is not None
        if outside.data is not None:
            arguments.append(_copied(body, outside))
            continue
        value = Value(body.claim(old.name), merge(old.type, outside.type))
        context_of(op).note(value, context_of(op).is_known(outside))
        arguments.append(value)
        fed.append((value, outside))
    graph = body.graph
    graph.outputs = body.inline(region, arguments)
    fed = [(value, outside) for value, outside in fed if graph.uses(value) or value in graph.outputs]
    graph.inputs = [value for value, _ in fed]
    maps = tuple(InputMap(len(inputs) + index, index) for index in range(len(fed)))
    inputs.extend(outside for _, outside in fed)
    return graph, maps


@rule(HUB, "If")
def branch(op: Builder, node: Node) -> Sequence[Value]:
    """One If-8, with a port for each captured value of each branch; a known condition leaves only its branch."""
    condition = node.inputs[0]
    assert condition is not None
    known = condition.array()
    if known is not None:
        region = node.regions["then" if known.reshape(-1)[0] else "else"]
        captured = [value for value in node.captures if value is not None]
        return op.inline(region, captured)
    for old in node.outputs:
        if old.rank is None:
            raise Unsupported(node, f"the branches give {old.name!r} different ranks, or unknown ones")
    domain, version = op.rewriter.dialect.resolve("If")
    twin = Node(domain, "If", version)
    inputs = [scalar(op, condition)]
    results = tuple(OutputMap(index, index) for index in range(len(node.outputs)))
    regions = (("then", THEN_INPUTS, THEN_OUTPUTS), ("else", ELSE_INPUTS, ELSE_OUTPUTS))
    attributes: dict[str, tuple[InputMap, ...] | tuple[OutputMap, ...]] = {}
    for name, taken, given in regions:
        twin.regions[f"{name}_body"], attributes[taken] = _branch(op, node, f"{name}_body", node.regions[name], inputs)
        attributes[given] = results
    made = op.place(twin, inputs, attributes, len(node.outputs), [value.type for value in node.outputs])
    return [made] if len(node.outputs) == 1 else list(made)


RULES = collect(globals())
