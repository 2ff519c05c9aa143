"""Sequences and optionals of which it is known what they hold -> the values that they hold.

That is what opsets can say that have none (sequences came with 11, optionals with 15), or whose control flow
carries none (sequences with 13, optionals with 16). A SequenceMap (17) becomes a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..constants import constant_node_data
from ..constraints import born
from ..errors import Unsupported
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import infer
from ..loop import Captured, Carried, Iteration, Slot, is_if, is_loop
from ..names import Names
from ..node import through_identities
from ..protos import ENUMS
from ..refusals import refuse
from ..rewrite import Builder, Rewriter, view
from ..schema_check import check_schema, unknown
from ..schemas import HUB_OPSETS, any_schema
from ..types import DType, OptionalType, SequenceType, TensorType, Type, tensor
from .abstract_containers import is_new, is_not_carried
from .container_control_flow import Resolver, copied, refuse_placeholders
from .sequences import SequencesToStacks
from .simplify import RemoveDead

_MAP = 17  # the opset that brought SequenceMap


def check_interface(graph: Graph, opset: int) -> None:
    """
    Raises:
        Unsupported: the model takes or gives a sequence or an optional, and the opset has none; it gives tensors of
            an element type that came later, and that no operator makes. (Operators say themselves what they take.)
    """
    for word, values in (("takes", graph.inputs), ("gives", graph.outputs)):
        for value in values:
            if is_new(value.type, opset):
                what = "sequences" if isinstance(value.type, SequenceType) else "optionals"
                refuse(Unsupported(f"{value.name!r}", f"the model {word} it, and there are no {what} at opset {opset}"))
    for value in graph.outputs:
        dtype = value.tensor.dtype
        if _is_handed_through(value) and dtype is not None and born(dtype) > opset:
            lacking = f"the model gives it, and there is no {dtype.value} at opset {opset}"
            refuse(Unsupported(f"{value.name!r}", lacking))


def _is_handed_through(value: Value) -> bool:
    """Whether a result is an input or a constant as it is; a constant also by Identity, which is not asked then what it
    takes."""
    return value.producer is None or through_identities(value).data is not None


def lower_containers(graph: Graph, opset: int) -> Graph:
    """The model with no more sequences and optionals than an opset takes, as far as it is known what they hold.

    Args:
        graph: of the hub, or of ONNX with canonical control flow; it stays as it was.

    Raises:
        Unsupported: it isn't known what one holds.
        InvalidModel: an operator isn't there at its version, or isn't of its form.
    """
    holding = [node for _, node in graph.walk() if _uses_containers(node)] if opset < _MAP else []
    if not holding:
        return graph
    own = {key[:2] for key in graph.functions}
    for node in holding:
        if not node.domain and node.version and node.op not in own and any_schema(*node.op, node.version) is None:
            raise unknown(node)
        check_schema(node)
    maps = any(node.op == ("", "SequenceMap") for _, node in graph.walk())
    if not maps and not any(_needs_lowering(node, opset) for _, node in graph.walk()):
        return graph
    graph = Rewriter(HUB, {("", "SequenceMap"): [_map], ("", "Constant"): [_constant]}, fallback=copied).run(graph)
    RemoveDead()(graph)
    infer(graph)
    if not any(_needs_lowering(node, opset) for _, node in graph.walk()):
        return graph
    if is_not_carried(SequenceType(), opset):
        SequencesToStacks()(graph)
        RemoveDead()(graph)
        infer(graph)
    resolver = Resolver(opset)
    graph = Rewriter(HUB, resolver.rules, fallback=copied).run(graph)
    RemoveDead()(graph)
    refuse_placeholders(graph, opset)
    infer(graph)
    return graph


def map_as_loop(node: Node, types: Sequence[Type | None]) -> Graph:
    """A hub graph of the loop that a SequenceMap is on inputs of these types; those that are there are its inputs."""
    graph = Graph("hub", node.op_type)
    graph.opsets = dict(HUB_OPSETS)
    pairs = zip(node.inputs, types, strict=True)
    entered = [None if value is None else graph.add_input(f"x{at}", type) for at, (value, type) in enumerate(pairs)]
    op = Builder(Rewriter(HUB, {}, names=Names.of(graph), fallback=copied), graph)
    graph.outputs = list(_map(op, view(node, entered)))
    return graph


def _uses_containers(node: Node) -> bool:
    """Whether an operator may take or give a container."""
    return bool(node.regions or node.domain or "Seq" in node.op_type or "Opt" in node.op_type) or any(
        isinstance(value.type, SequenceType | OptionalType) for value in node.outputs
    )


def _needs_lowering(node: Node, opset: int) -> bool:
    """Whether an operator has to do with what an opset lacks."""
    values = [value for value in (*node.inputs, *node.outputs) if value is not None]
    if is_loop(node) or is_if(node):
        return any(is_not_carried(value.type, opset) for value in values)
    if node.op[0] or any(is_new(value.type, opset) for value in values):
        return not node.domain
    return node.op_type.startswith("Optional") and is_new(OptionalType(), opset)


def _constant(op: Builder, node: Node) -> Value | None:
    """A Constant node -> a constant, where it holds a dense tensor."""
    data = constant_node_data(node)
    return None if data is None else op.graph.add_constant(data, op.claim(node.output.name))


def _map(op: Builder, node: Node) -> Sequence[Value]:
    """SequenceMap -> a loop that inserts what its body gives into one sequence for each output."""
    given = [value for value in node.formal_inputs if value is not None]
    captures = [value for value in node.captures if value is not None]
    region = node.regions["body"]
    inner = op.region(region.name)
    i = inner.graph.add_input(inner.claim("i"), tensor(DType.INT64))
    entered = [inner.graph.add_input(inner.claim(value.name), value.type) for value in (*given, *captures)]
    arguments = [
        inner.SequenceAt(value, i) if isinstance(value.type, SequenceType) else value for value in entered[: len(given)]
    ]
    elements = inner.inline(region, [*arguments, *entered[len(given) :]])
    starts: list[Value] = []
    for value, old in zip(elements, node.outputs, strict=True):
        known = old.type.element if isinstance(old.type, SequenceType) else None
        dtype = value.tensor.dtype or (known.dtype if isinstance(known, TensorType) else None)
        if dtype is None:
            raise Unsupported(node, f"the element type of {old.name!r} isn't known")
        starts.append(op.SequenceEmpty(dtype=ENUMS[dtype], _types=[SequenceType(TensorType(dtype))]))
    grown = [
        inner.graph.add_input(inner.claim(f"{value.name}_so_far"), start.type)
        for value, start in zip(elements, starts, strict=True)
    ]
    inner.graph.outputs = [
        inner.SequenceInsert(so_far, value, _types=[so_far.type]) for so_far, value in zip(grown, elements, strict=True)
    ]
    slots: list[Slot] = [Iteration(), *[Captured()] * len(entered), *[Carried()] * len(starts)]
    count = op.SequenceLength(given[0], _types=[tensor(DType.INT64)])
    types = [start.type for start in starts]
    return op.loop(count, None, slots, [*given, *captures, *starts], inner.graph, types)
