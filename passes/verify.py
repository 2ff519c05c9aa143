"""The invariants of a graph, one function each. `verify(graph)` runs them all.

Raised as AssertionError-like `BrokenInvariant`: a broken graph is a fault of ours (of a pass or a rule), never
of the user's file, which the readers check by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .errors import InvalidModel
from .graph import Graph, Node, Value
from .loop import DOMAIN, Captured, Carried, Condition, Iteration, Loop, Sliced, Stacked, is_if, is_loop, slot_indices
from .schemas import HUB_OPSETS, schema
from .types import DType, TensorType, Type


class BrokenInvariant(AssertionError):
    """A graph is not what every graph must be. Names the graph, the node or value, and the invariant."""


Check = Callable[[Graph], Iterator[str]]


def verify(graph: Graph) -> Graph:
    """Check a whole model; return it, so that it can stand in an expression.

    Raises:
        BrokenInvariant: with every violation found by the first check that finds any.
    """
    for check in CHECKS:
        found = [f"{inner.name}: {message}" for inner in graph.graphs() for message in check(inner)]
        if found:
            raise BrokenInvariant("; ".join(found[:5]))
    names = list(_names_unique(graph)) if graph.dialect == "hub" else []
    if names:
        raise BrokenInvariant("; ".join(names[:5]))
    return graph


def is_acyclic(graph: Graph) -> Iterator[str]:
    """Recurrence exists only in slots."""
    try:
        graph.topological()
    except InvalidModel as error:
        yield str(error)


def uses_are_known(graph: Graph) -> Iterator[str]:
    """Every value used belongs to this same graph: nothing is captured silently."""
    known = set(graph.values())
    used: dict[tuple[Node, int], Value] = {}
    for value in known:
        used.update(dict.fromkeys(graph.uses(value), value))
    for node in graph.nodes:
        for index, value in enumerate(node.inputs):
            if value is not None and value not in known:
                yield f"{node!r} input {index} ({value.name!r}) is in no graph that it could see"
            elif value is not None and used.get((node, index)) is not value:
                yield f"{node!r} input {index} has no entry among the uses of {value.name!r}"
    for value in graph.outputs:
        if value not in known:
            yield f"output {value.name!r} is produced by nothing here"


def producers_are_right(graph: Graph) -> Iterator[str]:
    """One producer per value, and it knows its outputs."""
    for node in graph.nodes:
        for index, value in enumerate(node.outputs):
            if value.producer is not node or value.index != index:
                yield f"{node!r} output {index} has the producer {value.producer!r}"
    for value in (*graph.inputs, *graph.constants):
        if value.producer is not None:
            yield f"{value.name!r} is an input or constant and has a producer"


def constants_have_data(graph: Graph) -> Iterator[str]:
    """A constant's type is that of its data."""
    for value in graph.constants:
        if value.data is None:
            yield f"constant {value.name!r} has no data"
        elif value.tensor.dtype is not value.data.dtype or value.tensor.static_shape not in (None, value.data.shape):
            yield f"constant {value.name!r} is {value.type}, its data {value.data}"


def operators_exist(graph: Graph) -> Iterator[str]:
    """In the hub every operator of ONNX's domains exists at its version, and is of no dialect else."""
    if graph.dialect != "hub":
        return
    for node in graph.nodes:
        if node.domain in HUB_OPSETS:
            found = schema(node.domain, node.op_type, node.version)
            newest = schema(node.domain, node.op_type, HUB_OPSETS[node.domain])
            gone = newest is None and found is not None  # dropped without a successor: stays at its last version
            if not gone and (found is None or newest is None or found.since_version != newest.since_version):
                yield f"{node!r} is no operator of the hub"
            if node.op_type in ("Loop", "Scan", "If") and not node.domain:
                yield f"{node!r} is not in its canonical form"


def loops_are_canonical(graph: Graph) -> Iterator[str]:
    """Slots fit inputs, outputs and body; types agree; c' is a bool scalar, i an int64 scalar."""
    for node in graph.nodes:
        if is_loop(node):
            yield from (f"{node!r}: {message}" for message in _loop(node))
        elif is_if(node):
            yield from (f"{node!r}: {message}" for message in _if(node))
        elif node.domain == DOMAIN:
            yield f"{node!r} is no operator of the hub"


def _loop(node: Node) -> Iterator[str]:
    slots = node.attributes.get("slots", ())
    found = slot_indices(slots)
    counts = [
        sum(getattr(index, side) >= 0 for index in found) for side in ("operand", "body_input", "body_output", "result")
    ]
    body = node.regions.get("body")
    if body is None or node.captured:
        yield "needs one region 'body' and captures by slots only"
        return
    have = [len(node.inputs) - 2, len(body.inputs), len(body.outputs), len(node.outputs)]
    if counts != have:
        yield f"its slots need {counts} operands, body inputs, body outputs and results; it has {have}"
        return
    if sum(isinstance(slot, Condition) for slot in slots) > 1 or sum(isinstance(slot, Iteration) for slot in slots) > 1:
        yield "has two condition or iteration slots"
    loop = Loop(node)
    if loop.initial_condition is not None and loop.condition is None:
        yield "has an initial condition but no condition slot"
    yield from _is(loop.trip, DType.INT64, "trip count")
    yield from _is(loop.initial_condition, DType.BOOL, "initial condition")
    for entry in loop.entries:
        if entry.indices.operand >= 0 and entry.operand is None:
            yield f"the operand of a {type(entry.slot).__name__} slot is left out"
        match entry.slot:
            case Iteration():
                yield from _is(entry.body_input, DType.INT64, "iteration")
            case Condition():
                yield from _is(entry.body_input, DType.BOOL, "condition")
                yield from _is(entry.body_output, DType.BOOL, "condition")
            case Carried():
                for one, other in ((entry.operand, entry.body_input), (entry.body_input, entry.body_output)):
                    if one is not None and other is not None and not _agree(one.type, other.type):
                        yield f"carries {one!r} into {other!r}"
            case Captured():
                if entry.operand and entry.body_input and not _agree(entry.operand.type, entry.body_input.type):
                    yield f"captures {entry.operand!r} as {entry.body_input!r}"
            case Sliced(axis=axis, stride=stride, part=part):
                if not stride or (part is not None and abs(stride) != part) or part == 0:
                    yield f"slices parts of {part} by steps of {stride}"
                rank = entry.operand.rank if entry.operand else None
                if rank is not None and not -rank <= axis < rank:
                    yield f"slices axis {axis} of a value of rank {rank}"
            case Stacked(axis=axis, part=part):
                rank = entry.body_output.rank if entry.body_output else None
                if rank is not None and not -(rank + (part is None)) <= axis < rank + (part is None):
                    yield f"stacks values of rank {rank} along axis {axis}"


def _is(value: Value | None, dtype: DType, what: str) -> Iterator[str]:
    if value is None or value.type is None:
        return
    if value.tensor.dtype not in (None, dtype) or value.rank not in (None, 0):
        yield f"its {what} is {value.type}, not a {dtype.value} scalar"


def _agree(a: Type | None, b: Type | None) -> bool:
    """Whether two descriptions can be of one value."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return not (a.dtype and b.dtype and a.dtype is not b.dtype)
    return a is None or b is None or type(a) is type(b)


def _if(node: Node) -> Iterator[str]:
    then, otherwise = node.regions.get("then"), node.regions.get("else")
    if then is None or otherwise is None:
        yield "needs the regions 'then' and 'else'"
        return
    if node.captured != len(node.inputs) - 1:
        yield "takes a condition and captured values only"
        return
    yield from _is(node.inputs[0], DType.BOOL, "condition")
    for region in (then, otherwise):
        if len(region.inputs) != node.captured or len(region.outputs) != len(node.outputs):
            yield f"{region.name} takes {len(region.inputs)} and gives {len(region.outputs)} values"
    for one, other in zip(then.outputs, otherwise.outputs, strict=False):
        if not _agree(one.type, other.type):
            yield f"gives {one!r} or {other!r}"


def _names_unique(graph: Graph) -> Iterator[str]:
    """Over the whole model, no name hides another."""
    seen: set[str] = set()
    for inner in graph.graphs():
        for value in inner.values():
            if value.name and value.name in seen:
                yield f"{inner.name}: the name {value.name!r} is used for two values"
            seen.add(value.name)


CHECKS: tuple[Check, ...] = (
    is_acyclic,
    uses_are_known,
    producers_are_right,
    constants_have_data,
    operators_exist,
    loops_are_canonical,
)
