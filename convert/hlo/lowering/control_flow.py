"""Hub -> HLO: the canonical If to `conditional` over a pred, and the canonical Loop to `while`.

Their computations capture nothing, so small constants go in with them.

Where a value has a known size in one branch, or before the loop, and a bounded one in the other, or after a pass, it
has the bound in both (`bounds`).

The state of the `while` is, in this order: the number of passes done (s64), what is carried, captured or sliced and
isn't a small constant, the trip count where it isn't known, the condition where one decides, a buffer for each stack.

| hub | HLO |
|---|---|
| trip, iteration | the counter, compared in the condition |
| the shortest sequence ends the loop | its number of parts is one more bound |
| sliced | `dynamic-slice` at `start + i * stride` |
| stacked | a buffer for all passes, made before the loop, and `dynamic-update-slice` |
| condition | a pred, true where it is left out; true for the body that sees it, which else wouldn't run |

What is stacked needs a bound on the number of passes that is known now. Where the loop may end before, the stack has
the size of the bound and is told the number of passes by `set-dimension-size`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import permutations

from ....passes.constant_analysis import static_array, static_branch, static_truth
from ....passes.decompose.library import by_rule, inlined
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.infer import drop_shapes
from ....passes.loop import DOMAIN as HUB
from ....passes.loop import (
    Captured,
    Condition,
    Entry,
    Iteration,
    Loop,
    Sliced,
    Stacked,
    TripCount,
    part_range,
    trip_count,
)
from ....passes.preconditions import axis_of, dtype_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.rewrite import view as node_view
from ....passes.sizes import largest, smallest
from ....passes.structure.unroll import unrolled, without_passes
from ....passes.types import DType
from .bounds import bounded, bounded_axes
from .open_sizes import again, is_sizes, items_of
from .stacks import Stack, finished, part_of, stack
from .tools import compare, fill, reshape, scalar, sizes_of

_COPIED = 64  # elements of a constant that every computation that uses it has for itself


def copied(body: Builder, operand: Value) -> Value | None:
    """A captured value repeated inside, if it is a small constant, or sizes; else None."""
    if operand.data is not None and operand.data.size <= _COPIED:
        return body.const(operand.data, name=operand.name or "const")
    return again(body, operand) if is_sizes(operand) else None


def _branch(op: Builder, name: str, node: Node, region: Graph) -> tuple[Graph, list[Value]]:
    """A branch, and what is handed to it."""
    body = op.region(name)
    arguments: list[Value] = []
    handed: list[tuple[Value, Value]] = []
    for old, operand in zip(region.inputs, node.captures, strict=True):
        assert operand is not None
        repeated = copied(body, operand)
        if repeated is not None:
            arguments.append(repeated)
            continue
        value = body.input(old.name, operand.type)
        arguments.append(value)
        handed.append((value, operand))
    graph = body.graph
    try:
        graph.outputs = body.inline(region, arguments)
    except InvalidModel as error:  # for these shapes it can't be taken, which HLO has no way to say
        raise Unsupported(node, f"its branch {name} contradicts the shapes that it would be given: {error}") from None
    handed = [(value, operand) for value, operand in handed if graph.uses(value) or value in graph.outputs]
    graph.inputs = [value for value, _ in handed]
    return graph, [operand for _, operand in handed]


@rule(HUB, "If")
def branch(op: Builder, node: Node) -> Sequence[Value]:
    """branch_0 is what false takes; a known condition leaves only its branch."""
    condition, taken = required(node, 0), static_branch(node)
    if taken is not None:
        return op.inline(taken, [value for value in node.captures if value is not None])
    if not node.outputs:
        return []
    inputs = [reshape(op, condition, ())]
    domain, version = op.rewriter.dialect.resolve("conditional")
    twin = Node(domain, "conditional", version)
    for index, name in enumerate(("else", "then")):
        twin.regions[f"branch_{index}"], handed = _branch(op, name, node, node.regions[name])
        inputs += handed
    for at, old in enumerate(node.outputs):
        types = [region.outputs[at].type for region in twin.regions.values()]
        for region, (own, other) in zip(twin.regions.values(), permutations(types), strict=True):
            axes = bounded_axes(other, own)
            if axes is None:
                raise Unsupported(node, f"its branches return {old.name!r} different types: {types[0]}, {types[1]}")
            region.outputs[at] = bounded(type(op)(op.rewriter, region), region.outputs[at], axes)
    made = op.insert(twin, inputs, {}, len(node.outputs))
    return [made] if len(node.outputs) == 1 else list(made)


_MOST_UNROLLED = 64  # passes of a loop whose state changes its shape


_MOST_WRITTEN = 200_000  # operators of all passes of such loops, also of those in each other

_CHANGING, _BOUNDED = "hlo changing", "hlo bounded"
"""What a loop's body, and each copy of it, has in `meta` once that is found, so that it isn't looked for anew in each
loop around it: that what is carried changes its type; the axes along which what is carried has a bound, by slot."""


class _Changes(Exception):
    """A carried value doesn't keep its type; the argument says which."""


class _Bounds(Exception):
    """The body gives bounds for known sizes of what is carried; the argument says along which axes, by slot."""


@dataclass(slots=True)
class _State:
    """The state of a `while`: what it starts with, how the body sees it, what the body makes of it."""

    body: Builder
    start: list[Value] = field(default_factory=list)
    body_inputs: list[Value] = field(default_factory=list)
    body_outputs: list[Value] = field(default_factory=list)

    def add(self, operand: Value, name: str) -> int:
        """One more value, which stays as it is until `body_outputs` says otherwise; its position."""
        self.start.append(operand)
        self.body_inputs.append(self.body.input(name, operand.type))
        self.body_outputs.append(self.body_inputs[-1])
        return len(self.start) - 1


# what the body sees -------------------------------------------------------------------------------


def part_start(node: Node, slot: Sliced, sequence: Value) -> tuple[int, int, int]:
    """Axis, first index and size of the parts of a sequence."""
    sizes = sizes_of(node, sequence)
    axis = axis_of(node, slot.axis, len(sizes))
    first, _ = part_range(slot, sizes[axis])
    part = 1 if slot.part is None else slot.part
    return axis, first - (part - 1 if slot.reversed else 0), part


def _element(body: Builder, node: Node, slot: Sliced, sequence: Value, index: Value) -> Value:
    """The part of a sequence that this pass sees."""
    sizes = sizes_of(node, sequence)
    axis, first, part = part_start(node, slot, sequence)
    at = index
    if slot.stride != 1:
        at = body.multiply(at, scalar(body, slot.stride, DType.INT64))
    if first:
        at = body.add(at, scalar(body, first, DType.INT64))
    zero = scalar(body, 0, DType.INT64)
    starts = [at if position == axis else zero for position in range(len(sizes))]
    taken = tuple(part if position == axis else size for position, size in enumerate(sizes))
    piece = body.call("dynamic-slice", sequence, *starts, dynamic_slice_sizes=taken)
    return piece if slot.part is not None else reshape(body, piece, sizes[:axis] + sizes[axis + 1 :])


def _enter(
    op: Builder, state: _State, node: Node, entry: Entry, indices: dict[int, int], axes: frozenset[int] = frozenset()
) -> Value:
    """What stands for a slot's body input in the new body; along `axes` its size is a bound."""
    old, operand = entry.body_input, entry.operand
    assert old is not None
    match entry.slot:
        case Iteration():
            return state.body_inputs[0]
        case Condition():
            return scalar(state.body, True, DType.BOOL)
        case Captured() if operand is not None:
            repeated = copied(state.body, operand)
            if repeated is not None:
                return repeated
    assert operand is not None
    operand = bounded(op, operand, axes)
    index = indices[entry.indices.body_input] = state.add(operand, old.name)
    if isinstance(entry.slot, Sliced):
        return _element(state.body, node, entry.slot, state.body_inputs[index], state.body_inputs[0])
    return state.body_inputs[index]


# the loop -----------------------------------------------------------------------------------------


@rule(HUB, "Loop")
def loop(op: Builder, node: Node) -> list[Value]:
    """One `while`; none for a loop that never runs; its passes one by one where what it carries changes its shape."""
    view = Loop(node)
    for sequence in (entry.operand for entry in view.of(Sliced) if entry.operand is not None):
        sizes_of(node, sequence)  # all must be known
    if not node.outputs:
        return []
    trips = _with_open_sizes(node, trip_count(view, static_array))
    if trips.most == 0:
        stacked = [entry.body_output for entry in view.of(Stacked) if entry.body_output is not None]
        if all(value.tensor.static_shape is not None for value in stacked):
            return without_passes(op, node)
        return _empty(op, node, view)
    known = view.body.meta
    made = _unrolled(op, node) if _CHANGING in known else None
    while made is None:
        try:
            return _while(op, node, view, trips)
        except _Bounds as found:
            known[_BOUNDED] = found.args[0]
            drop_shapes(view.body)
        except _Changes as changes:
            known[_CHANGING] = True
            made = _unrolled(op, node)
            if made is None:
                raise Unsupported(node, str(changes)) from None
    return made


def _with_open_sizes(node: Node, trips: TripCount) -> TripCount:
    """What bounds the passes where that follows from open sizes."""
    bounds = [] if trips.most is None else [trips.most]
    for entry in trips.sequences:
        assert isinstance(entry.slot, Sliced) and entry.operand is not None
        sizes = sizes_of(node, entry.operand)
        if not sizes:
            raise InvalidModel(f"{node!r}: {entry.operand.name!r} is a scalar, and has no parts")
        bounds.append(part_range(entry.slot, sizes[axis_of(node, entry.slot.axis, len(sizes))])[1])
    count, items = trips.count, None if trips.count is None else items_of(trips.count)
    if items is not None:
        bounds, count = [*bounds, largest(0, items[0])], None
    most = reduce(smallest, bounds) if bounds else None
    return replace(trips, most=most, count=count, sequences=())


def _while(op: Builder, node: Node, view: Loop, trips: TripCount) -> list[Value]:
    state = _State(op.region("body"))
    body = state.body
    state.add(scalar(op, 0, DType.INT64), "i")
    state.body_outputs[0] = body.add(state.body_inputs[0], scalar(body, 1, DType.INT64))
    indices: dict[int, int] = {}
    bounds: dict[int, frozenset[int]] = view.body.meta.get(_BOUNDED, {})
    arguments = [
        _enter(op, state, node, entry, indices, bounds.get(entry.indices.body_input, frozenset()))
        for entry in view.entries
        if entry.body_input is not None
    ]
    limit = None if trips.count is None else state.add(reshape(op, trips.count, ()), "trip")
    outs = body.inline(view.body, arguments)
    decides = _add_condition(op, state, view, trips, outs)
    certain = trips.bounded and trips.most is not None and decides is None
    results: list[int | Stack] = []
    more: dict[int, frozenset[int]] = {}
    for entry in view.entries:
        if entry.result is None:
            continue
        value = outs[entry.indices.body_output]
        if isinstance(entry.slot, Stacked):
            if trips.most is None:
                raise Unsupported(node, f"there is no bound on what it stacks in {entry.result.name!r}")
            made = stack(op, body, node, entry.slot, value, trips.most, state.body_inputs[0], certain)
            index = state.add(made.buffer, entry.result.name or "stack")
            state.body_outputs[index] = body.call(
                "dynamic-update-slice", state.body_inputs[index], made.part, *made.starts
            )
            made.index = index
            results.append(made)
            continue
        index = indices[entry.indices.body_input]
        before = state.body_inputs[index].type
        longer, shorter = bounded_axes(before, value.type), bounded_axes(value.type, before)
        if longer is None or shorter is None:
            raise _Changes(f"{entry.result.name!r} changes its type from {before} to {value.type}")
        if shorter:
            more[entry.indices.body_input] = shorter
        state.body_outputs[index] = bounded(body, value, longer)
        results.append(index)
    if more:
        raise _Bounds({at: bounds.get(at, frozenset()) | more.get(at, frozenset()) for at in {*bounds, *more}})
    whole = _while_node(op, state, trips.most, limit, decides)
    return [
        whole[found] if isinstance(found, int) else finished(op, node, found, whole[found.index], whole[0], certain)
        for found in results
    ]


def _empty(op: Builder, node: Node, view: Loop) -> list[Value]:
    """The results of a loop that never runs: how large the parts of what it stacks were, its body tells."""
    state, indices = _State(op.region("body")), dict[int, int]()
    state.add(scalar(op, 0, DType.INT64), "i")
    try:
        arguments = [_enter(op, state, node, entry, indices) for entry in view.entries if entry.body_input is not None]
        outs = state.body.inline(view.body, arguments)
    except InvalidModel as error:
        raise Unsupported(node, f"it never runs, and how large its parts were isn't known: {error}") from None
    results: list[Value] = []
    for entry in view.entries:
        if entry.result is None:
            continue
        if isinstance(entry.slot, Stacked):
            part, axis = part_of(state.body, node, entry.slot, outs[entry.indices.body_output])
            sizes = sizes_of(node, part)
            results.append(fill(op, scalar(op, 0, dtype_of(node, part)), (*sizes[:axis], 0, *sizes[axis + 1 :])))
        else:
            assert entry.operand is not None
            results.append(entry.operand)
    return results


def _add_condition(op: Builder, state: _State, view: Loop, trips: TripCount, outs: list[Value]) -> int | None:
    """The position of the condition in the state; None where it never ends the loop."""
    entry, first = view.condition, trips.entered
    if entry is None:
        return None
    later = outs[entry.indices.body_output]
    if first is True and (trips.decides is None or static_truth(later)):
        return None
    index = state.add(reshape(op, first, ()) if isinstance(first, Value) else scalar(op, True, DType.BOOL), "go")
    state.body_outputs[index] = reshape(state.body, later, ())
    return index


def _while_node(
    op: Builder, state: _State, known: int | None, limit: int | None, decides: int | None
) -> tuple[Value, ...]:
    """The `while`, its condition made of what bounds it."""
    condition = op.region("condition")
    inside = [condition.input(value.name, value.type) for value in state.body_inputs]
    tests = [] if decides is None else [inside[decides]]
    if limit is not None:
        tests.append(compare(condition, inside[0], inside[limit], "LT"))
    if known is not None:
        tests.append(compare(condition, inside[0], scalar(condition, known, DType.INT64), "LT"))
    test = tests[0] if tests else scalar(condition, True, DType.BOOL)
    for more in tests[1:]:
        test = condition.call("and", test, more)
    condition.graph.outputs = [test]
    state.body.graph.outputs = state.body_outputs
    domain, version = op.rewriter.dialect.resolve("while")
    twin = Node(domain, "while", version)
    twin.regions = {"condition": condition.graph, "body": state.body.graph}
    made = op.insert(twin, state.start, {}, len(state.start))
    return (made,) if len(state.start) == 1 else made


def _unrolled(op: Builder, node: Node) -> list[Value] | None:
    """The passes one after the other, of the types that they have; None where it isn't certain which there are, or
    they are many."""
    twin, body = node_view(node, list(node.inputs)), node.regions["body"].copy()
    drop_shapes(body)
    twin.regions = {"body": body}
    made = by_rule(twin, op.rewriter.notes, {(HUB, "Loop"): [lambda op, node: unrolled(op, node, _MOST_UNROLLED)]})
    if made is None:
        return None
    context = op.rewriter.context
    context.written += len(made.nodes)
    if context.written > _MOST_WRITTEN:
        raise Unsupported(
            node, "what it carries changes its sizes, and its passes and those of the loops around it are too many"
        )
    return inlined(op, node, made)


RULES = collect(globals())
