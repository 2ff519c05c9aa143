"""Hub -> OpenVINO: the canonical Loop to Loop-5.

What differs between the two sides, and what stands for it:

| hub | OpenVINO | built |
|---|---|---|
| no trip count | -1 | -1 |
| a negative trip count runs nothing | runs for ever | `Maximum(trip, 0)` |
| ends with the shortest sequence | reads on | `Minimum(trip, parts)` |
| a part loses its axis, a stack gains one | both keep it, size 1 | Squeeze, Unsqueeze in the body |
| a range of a sequence | the CPU ignores an offset | cut before the loop |
| a stack in reverse | `Model.evaluate` doesn't reverse | turned round after the loop |
| a stack along an axis behind one of size 0 | the CPU divides by 0 | stacked along the first axis, then transposed |
| no passes, open sizes are 0 | the CPU dies where it knows of one that it is more | cut to an end it can't know |
| no passes, an empty stack | the CPU leaves an earlier run's shape | cut to the number of passes |
| a captured value | a Parameter and a port | the same; a constant is copied into the body |
| the condition as the body sees it | not to be had | true: else the body wouldn't run |

OpenVINO takes a trip count that it can compute while compiling for the size of the stacks, and dies if it is 0.
Zero trips that are seen here are folded; where only OpenVINO may come to see them, the body's condition
is `iteration >= 0`, so that it can't tell how often the loop runs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....passes.constant_analysis import static_array
from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.loop import DOMAIN as HUB
from ....passes.loop import Captured, Carried, Entry, Iteration, Loop, Sliced, Stacked, trip_count
from ....passes.preconditions import axis_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.structure.unroll import without_passes
from ....passes.types import DType, TensorType, Type, merge, tensor
from ..dialect import OutputMap
from .assembly import Assembly
from .carried import copy_exposed_parameters, losing_initial_value, own_memory, with_initial_value
from .context import context_of
from .tools import i64, scalar, slice_axis, vector
from .trips import Parts, limit_of, parts_of

_NOT_HANDED_ON = (DType.FLOAT4E2M1, DType.FLOAT8E8M0)
_FIRST = np.iinfo(np.int64).min  # "before the first element", for a Slice that walks backwards


def _enter(assembly: Assembly, node: Node, entry: Entry, parts: Parts | None) -> Value:
    """What stands for a slot's body input in the new body."""
    old, operand = entry.body_input, entry.operand
    assert old is not None
    if operand is not None and operand.tensor.dtype in _NOT_HANDED_ON:
        raise Unsupported(
            node, f"{operand.name!r} is {operand.type}, which OpenVINO's CPU can't carry from pass to pass"
        )
    match entry.slot:
        case Iteration():
            return assembly.iteration(old.name)
        case Captured():
            assert operand is not None
            if operand.data is not None:
                return assembly.body.const(operand.data, name=operand.name or "const")
            return assembly.port(operand, merge(old.type, operand.type), old.name, False)
        case Carried():
            assert operand is not None
            type = old.type
            if old.rank is None:  # the new body tells whether it stays
                type = TensorType(operand.tensor.dtype, (None,) * rank_of(node, operand))
            return assembly.port(operand, type, old.name, True)
        case Sliced(part=part):
            assert parts is not None
            piece = assembly.port(parts.sequence, parts.type, old.name, False, parts)
            return piece if part is not None else assembly.body.Squeeze(piece, i64(assembly.body, [parts.axis]))
    raise AssertionError(entry.slot)


Finish = Callable[[Value, Value | None], Value]


def _leave_stacked(
    assembly: Assembly, node: Node, slot: Stacked, value: Value, type: Type | None, certain: bool
) -> tuple[int, Finish]:
    """The port of a stack, and what is left to do with it once the number of passes is known (i64 []).

    Args:
        certain: there is at least one pass.
    """
    op, body = assembly.op, assembly.body
    if value.tensor.dtype is DType.FLOAT4E2M1:
        raise Unsupported(node, "a stack of 4-bit floats, which OpenVINO's CPU doesn't write")
    flat = slot.part is not None
    axis = axis_of(node, slot.axis, rank_of(node, value) + (not flat))
    size = 1
    if slot.part is not None:
        size = slot.part if slot.part > 0 else size_of_axis(value, axis) or 0
        if size <= 0:
            raise Unsupported(node, f"parts of unknown size along axis {axis} of {value.name!r}")
    sizes = [size if isinstance(size, int) else 0 for size in value.tensor.shape or ()]
    if any(sizes) and context_of(op).hides_sizes(value):  # after no pass they must be known from here
        value = body.Reshape(value, i64(body, sizes), special_zero=True)
    if not certain:
        value = _of_any_size(assembly, value, axis if flat else None)
    place = axis  # where the stack's axis belongs; `axis` is where it is until the end
    if not all(isinstance(size, int) for size in (value.tensor.shape or ())[:place]):
        if flat:
            value = body.Transpose(value, i64(body, _from_front(rank_of(node, value), place)))
        axis = 0
    moved = axis != place
    if not flat or slot.reverse:
        value = body.Unsqueeze(value, i64(body, [axis]))
    merged = flat and slot.reverse
    out_type = TensorType(value.tensor.dtype) if merged or moved else type
    port = assembly.output(value, out_type, axis, 1 if slot.reverse else size)

    def finish(stack: Value, count: Value | None) -> Value:
        if count is not None:
            whole = count if size == 1 or merged else op.Multiply(count, i64(op, size))
            stack = slice_axis(op, stack, 0, vector(op, whole), axis=axis)
        if slot.reverse:
            stack = slice_axis(op, stack, -1, _FIRST, -1, axis)
        if merged:
            shape = op.ShapeOf(stack)
            joined = op.Multiply(slice_axis(op, shape, axis, axis + 1), i64(op, [size]))
            ends = [slice_axis(op, shape, 0, axis), joined, slice_axis(op, shape, axis + 2, np.iinfo(np.int64).max)]
            stack = op.Reshape(stack, op.Concat(*ends, axis=0))
        if moved:
            rank = rank_of(node, value) - merged
            stack = op.Transpose(stack, i64(op, [*range(1, place + 1), 0, *range(place + 1, rank)]), _types=[type])
        return stack

    return port, finish


def _of_any_size(assembly: Assembly, value: Value, stacked: int | None) -> Value:
    """A value of which OpenVINO knows of no open size that it is more than 0, as it makes it after no pass.

    Args:
        stacked: the axis that parts are stacked along, whose size is known.
    """
    sizes = value.tensor.shape or ()
    open_axes = [axis for axis, size in enumerate(sizes) if not isinstance(size, int) and axis != stacked]
    if not open_axes or not context_of(assembly.op).limits_sizes(value):
        return value
    body, type = assembly.body, value.type
    end = body.Add(i64(body, [np.iinfo(np.int32).max] * len(open_axes)), assembly.nought())
    starts, steps = (i64(body, [one] * len(open_axes)) for one in (0, 1))
    return body.Slice(value, starts, end, steps, i64(body, open_axes), _types=[type])


def _from_front(rank: int, axis: int) -> list[int]:
    """The order of axes in which one stands before all others."""
    return [axis, *(index for index in range(rank) if index != axis)]


def _ending(assembly: Assembly, condition: Value | None, hidden: bool) -> Value:
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


def _is_used(graph: Graph, value: Value) -> bool:
    return bool(graph.uses(value)) or value in graph.outputs


@rule(HUB, "Loop")
def loop(op: Builder, node: Node) -> list[Value]:
    """One Loop-5; see the table above."""
    view = Loop(node)
    pieces = {
        entry.indices.body_input: parts_of(op, node, entry.slot, entry.operand)
        for entry in view.entries
        if isinstance(entry.slot, Sliced) and entry.operand is not None
    }
    trips = trip_count(view, static_array)
    limit = limit_of(op, node, trips, list(pieces.values()))
    if limit == 0:
        return without_passes(op, node)
    if not node.outputs:
        return []
    count = i64(op, -1 if limit is None else limit) if not isinstance(limit, Value) else limit
    start = scalar(op, trips.entered) if isinstance(trips.entered, Value) else op.const(True)
    certain = isinstance(limit, int) and trips.entered is True  # at least one pass is
    hidden = isinstance(limit, Value) and context_of(op).is_known(limit)
    if trips.entered is not True and context_of(op).is_known(start):
        count, start, hidden = op.Select(start, count, i64(op, 0)), op.const(True), True

    assembly = Assembly(op, op.region("body"), count, start)
    arguments: list[Value] = []
    condition = view.condition
    for entry in view.entries:
        if entry.body_input is None:
            continue
        if condition is not None and entry.indices == condition.indices:
            arguments.append(assembly.body.const(True))  # else the body wouldn't run
        elif isinstance(entry.slot, Captured | Sliced) and not _is_used(view.body, entry.body_input):
            assert entry.operand is not None
            arguments.append(entry.operand)  # nobody asks for it
        else:
            arguments.append(_enter(assembly, node, entry, pieces.get(entry.indices.body_input)))
    outs = assembly.body.inline(view.body, arguments)
    left = outs[condition.indices.body_output] if condition is not None and trips.decides is not None else None
    assembly.result(_ending(assembly, left, hidden))
    assembly.output_maps.append(OutputMap(-1, 0, purpose="execution_condition"))

    counter: int | None = None
    if trips.decides is not None and not certain and view.of(Stacked):
        number = assembly.port(i64(op, 0), tensor(DType.INT64), "passes", True)
        following = assembly.body.Add(number, i64(assembly.body, 1))
        counter = assembly.output(following, tensor(DType.INT64))
        assembly.feed_back(number, assembly.output_maps[-1].result)

    pairs = [(arguments[entry.indices.body_input], outs[entry.indices.body_output]) for entry in view.of(Carried)]
    for pair in pairs:
        context_of(op).note_fed_back(*pair)
    carried = {entered_as: value for entered_as, value in pairs if entered_as is not value}
    for entered_as, value in carried.items():
        if value.rank is None or value.rank != entered_as.rank:
            raise Unsupported(node, f"the rank of the carried value {entered_as.name!r} changes or isn't known")
    losing = set() if certain else losing_initial_value(assembly, carried)
    finishing: list[tuple[int | Value, Finish | None]] = []
    for entry in view.entries:
        if entry.result is None:
            continue
        value = outs[entry.indices.body_output]
        if isinstance(entry.slot, Stacked):
            finishing.append(_leave_stacked(assembly, node, entry.slot, value, entry.result.type, certain))
            continue
        entered_as = arguments[entry.indices.body_input]
        assert entry.operand is not None
        if value is entered_as:
            finishing.append((entry.operand, None))
            continue
        needed = bool(assembly.body.graph.uses(entered_as)) or entered_as in outs
        if not certain:
            value = with_initial_value(assembly, value, entered_as, entry.operand, entered_as in losing)
        port = assembly.output(own_memory(assembly, value), entry.result.type)
        if needed or not certain:
            assembly.feed_back(entered_as, assembly.output_maps[-1].result)
        finishing.append((port, None))
    copy_exposed_parameters(assembly)
    made = assembly.build()
    done: Value | None = None
    if not certain and view.of(Stacked):
        done = made[counter] if counter is not None else count
        if counter is None and start.data is None:
            done = op.Select(start, count, i64(op, 0))
    results = [(made[port] if isinstance(port, int) else port, finish) for port, finish in finishing]
    return [value if finish is None else finish(value, done) for value, finish in results]


RULES = collect(globals())
