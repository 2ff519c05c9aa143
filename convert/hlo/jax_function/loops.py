"""Hub -> HLO's `scan`: loops that run a known number of times, which JAX differentiates in reverse, too.

hub                                   HLO
carried, captured                     carried
iteration, sliced                     0, 1, 2 ...; the parts as a tensor of its own, both taken apart along axis 0
stacked                               the elements along axis 0, moved to where the hub has them
"""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.constant_analysis import static_array
from ....passes.graph import Graph, Node, Value
from ....passes.loop import DOMAIN as HUB
from ....passes.loop import Captured, Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked, trip_count
from ....passes.preconditions import axis_of, dtype_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType, Type
from ..infer import same_type
from ..lowering.control_flow import copied, part_start
from ..lowering.tools import Sizes, iota, pick, reshape, scalar, sizes_of, slice_axis, transpose


def _to_front(rank: int, axis: int) -> list[int]:
    return [axis, *(at for at in range(rank) if at != axis)]


def _from_front(rank: int, axis: int) -> list[int]:
    order = list(range(1, rank))
    order.insert(axis, 0)
    return order


def _parts(op: Builder, node: Node, slot: Sliced, sequence: Value, trips: int) -> Value:
    """The parts that the passes see, along axis 0."""
    sizes = sizes_of(node, sequence)
    axis, first, part = part_start(node, slot, sequence)
    if slot.part is None:
        taken = pick(op, node, sequence, axis, [first + slot.stride * at for at in range(trips)])
        return transpose(op, taken, _to_front(len(sizes), axis))
    lowest = first + min(slot.stride * (trips - 1), 0)
    taken = slice_axis(op, node, sequence, axis, lowest, lowest + part * trips)
    split = reshape(op, taken, (*sizes[:axis], trips, part, *sizes[axis + 1 :]))
    split = op.reverse(split, dimensions=(axis,)) if slot.reversed and trips > 1 else split
    return transpose(op, split, _to_front(len(sizes) + 1, axis))


def _stacked(op: Builder, node: Node, slot: Stacked, elements: Value, sizes: Sizes) -> Value:
    """Elements of these sizes, which stand along axis 0, where the hub has them."""
    trips = sizes_of(node, elements)[0]
    axis = axis_of(node, slot.axis, len(sizes) + (slot.part is None))
    made = transpose(op, elements, _from_front(len(sizes) + 1, axis))
    made = op.reverse(made, dimensions=(axis,)) if slot.reverse and trips > 1 else made
    if slot.part is None:
        return made
    return reshape(op, made, (*sizes[:axis], trips * sizes[axis], *sizes[axis + 1 :]))


@rule(HUB, "Loop")
def loop(op: Builder, node: Node) -> list[Value] | None:
    """A `scan` where it is certain how often the loop runs, and what it carries keeps its type."""
    view = Loop(node)
    trips = trip_count(view, static_array).exact
    if not trips or not node.outputs:
        return None
    body = op.region("body")
    carried: list[tuple[Entry, Value]] = []
    split = [iota(op, (trips,), 0)]
    parts = [body.input("i", TensorType(DType.INT64, ()))]
    arguments: dict[int, Value] = {}
    for entry in view.entries:
        old, operand, at = entry.body_input, entry.operand, entry.indices.body_input
        match entry.slot:
            case Sliced() as slot if old is not None and operand is not None:
                split.append(_parts(op, node, slot, operand, trips))
                parts.append(body.input(old.name, _without_first(split[-1])))
                arguments[at] = parts[-1]
            case Iteration():
                arguments[at] = parts[0]
            case Condition() if old is not None:
                arguments[at] = scalar(body, True, DType.BOOL)
            case Captured() | Carried() if old is not None and operand is not None:
                repeated = copied(body, operand) if isinstance(entry.slot, Captured) else None
                if repeated is None:
                    repeated = body.input(old.name, operand.type)
                    carried.append((entry, repeated))
                arguments[at] = repeated
    body.graph.inputs = [*parts, *(value for _, value in carried)]
    made = body.inline(view.body, [arguments[at] for at in range(len(view.body.inputs))])
    after = [made[entry.indices.body_output] if entry.result is not None else value for entry, value in carried]
    if not all(same_type(value.type, before.type) for value, (_, before) in zip(after, carried, strict=True)):
        return None
    stacked = view.of(Stacked)
    elements = [made[entry.indices.body_output] for entry in stacked]
    body.graph.outputs = [*elements, *after]
    starts = [entry.operand for entry, _ in carried]
    types = [TensorType(dtype_of(node, value), (trips, *sizes_of(node, value))) for value in elements]
    results = _scan(op, [*split, *starts], len(starts), body.graph, [*types, *(value.type for value in after)])
    found = {
        entry.indices.result: _stacked(op, node, slot, result, sizes_of(node, element))
        for entry, result, element in zip(stacked, results, elements, strict=False)
        if isinstance(slot := entry.slot, Stacked)
    }
    found |= {entry.indices.result: result for (entry, _), result in zip(carried, results[len(stacked) :], strict=True)}
    return [found[at] for at in range(len(node.outputs))]


def _without_first(value: Value) -> TensorType:
    return TensorType(value.tensor.dtype, (value.tensor.shape or ())[1:])


def _scan(
    op: Builder, operands: Sequence[Value | None], carries: int, body: Graph, types: Sequence[Type | None]
) -> Sequence[Value]:
    """HLO's `scan` over axis 0; the results are the elements, then what is carried."""
    domain, version = op.rewriter.dialect.resolve("scan")
    twin = Node(domain, "scan", version)
    twin.regions = {"to_apply": body}
    made = op.insert(twin, operands, {"dimensions": (0,), "num_carries": carries}, len(types), types)
    return [made] if len(types) == 1 else made


RULES = collect(globals())
