"""Types of values: one operator at a time through ONNX's shape inference, loops and branches by their slots."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

import onnx
from onnx import TensorProto, TypeProto, shape_inference

from . import loop as loops
from .constants import MOST_DATA, constant_node_data, small_constant
from .graph import Graph, Node, Value
from .infer_elementwise import infer_elementwise
from .infer_formal import completed
from .infer_mistakes import MISTAKEN_DEFAULTS, corrected, is_miscounted, readable
from .infer_ml import DOMAIN as ML
from .infer_ml import TOKENIZER, infer_ml
from .infer_rank import with_rank
from .protos import AttributeRef, TypedList, attribute_to_proto, tensor_to_proto, type_from_proto, type_to_proto
from .schema_check import problem
from .schemas import schema
from .tensor import TensorData
from .types import DType, OptionalType, Shape, TensorType, Type, conflict, merge, tensor

FORMAL = "formal"
"""Key in the `meta` of a region's input: the type that the model itself declares for it."""

REFUSED = "refused"
"""Key in the `meta` of a node whose operands its operator's own inference function has found a fault in."""

Look = Callable[[Value], TensorData | None]


def infer_node(node: Node, look: Look | None = None) -> Sequence[Type | None]:
    """The types of a node's outputs as far as its inputs' types and small constants tell; None where unknown.

    `look` tells the data of inputs that are no constants, but known all the same.

    For operators of ONNX's domains at the node's version, and for `backedge.Loop` and `backedge.If`, whose
    bodies' values are given their types on the way.
    """
    if node.domain == loops.DOMAIN:
        return _infer_regions(node)
    if node.domain == ML or node.op == TOKENIZER:
        return [None] * len(node.outputs) if problem(node) else infer_ml(node)
    quick = infer_elementwise(node)
    if quick is not None:
        return [quick]
    if node.regions:
        return [None] * len(node.outputs)
    data = [None if value is None else small_data(value, look) for value in node.inputs]
    key = facts(node, data)
    found = _memory.get(key) if key is not None else None
    if found is None:
        found = _inferred(node, data)
        if key is not None:
            if len(_memory) >= _MOST_REMEMBERED:
                _memory.clear()
            _memory[key] = found
    types, is_refused = found
    if is_refused:
        node.meta = {**(node.meta or {}), REFUSED: True}
    return types


def _inferred(node: Node, data: Sequence[TensorData | None]) -> tuple[Sequence[Type | None], bool]:
    """What is known of a node's outputs, and whether its operator's own inference function finds a fault."""
    types: Sequence[Type | None] = [None] * len(node.outputs)
    if problem(node):
        return types, False
    known = _by_schema(node, data)
    return with_rank(node, completed(node, corrected(node, types if known is None else known))), known is None


_MOST_REMEMBERED = 4096
# large models ask the same for every block they are made of
_memory: dict[Hashable, tuple[Sequence[Type | None], bool]] = {}


def facts(node: Node, data: Sequence[TensorData | None]) -> Hashable:
    """A key of an operator, its attributes, and the types and given data of its inputs; None where no cheap one is.

    Nodes with equal keys are alike but for names, regions and what is known of their outputs.
    """
    found: list[Hashable] = [node.domain, node.op_type, node.version, len(node.outputs)]
    for name, value in node.attributes.items():
        items = value if isinstance(value, list) else [value]
        if isinstance(value, TypedList) or not all(isinstance(item, int | float | str | bytes) for item in items):
            return None
        found.append((name, repr(value)))  # which tells 0.0 from -0.0 and from 0
    for value, small in zip(node.inputs, data, strict=True):
        found.append(None if value is None else value.type)
        if small is not None:
            if small.dtype is DType.STRING:
                return None
            found.append((small.dtype, small.shape, small.numpy().tobytes()))
    return tuple(found)


def small_data(value: Value, look: Look | None = None) -> TensorData | None:
    """The data of a small constant, of a Constant node, or what `look` tells."""
    data, node = value.data, value.producer
    if data is None and node is not None and node.op == ("", "Constant"):
        data = constant_node_data(node)
    elif data is None and look is not None:
        data = look(value)
    return data if data is not None and data.size <= MOST_DATA else None


def _by_schema(node: Node, small: Sequence[TensorData | None]) -> Sequence[Type | None] | None:
    """The types that the operator's own inference function finds; None where it finds a fault."""
    try:
        return infer_strictly(node, small)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError, onnx.checker.ValidationError):
        return None


def infer_strictly(node: Node, small: Sequence[TensorData | None]) -> Sequence[Type | None]:
    """The types that the operator's own inference function finds, with the data of small inputs; its errors pass."""
    found = schema(node.domain, node.op_type, node.version)
    if found is None or not found.has_type_and_shape_inference_function:
        return [None] * len(node.outputs)
    proto = onnx.NodeProto(op_type=node.op_type, domain=node.domain)
    types: dict[str, TypeProto] = {}
    data: dict[str, TensorProto] = {}
    for index, value in enumerate(node.inputs):
        if value is None:
            proto.input.append("")
            continue
        name = f"i{index}"
        proto.input.append(name)
        known = value.type
        if known is None or (isinstance(known, TensorType) and known.dtype is None):
            return [None] * len(node.outputs)
        known, known_data = readable(node, index, known, small[index])
        types[name] = type_to_proto(known, node)
        if known_data is not None and known_data.dtype is not DType.STRING:
            data[name] = tensor_to_proto(known_data, name)
    proto.output.extend(f"o{index}" for index in range(len(node.outputs)))
    for name, value in {**MISTAKEN_DEFAULTS.get(node.op, {}), **node.attributes}.items():
        if isinstance(value, AttributeRef):
            return [None] * len(node.outputs)
        proto.attribute.append(attribute_to_proto(name, value, node))
    outputs = shape_inference.infer_node_outputs(
        found, proto, types, data, opset_imports=[onnx.helper.make_opsetid(node.domain, max(node.version, 1))]
    )
    return [
        type_from_proto(outputs[f"o{index}"]) if f"o{index}" in outputs else None for index in range(len(node.outputs))
    ]


def infer(graph: Graph, *, known: bool = False) -> None:
    """Give every value of a hub (or ONNX) graph the type that inference finds, merged with what it had.

    Args:
        known: also visit nodes whose outputs all have a settled type already.
    """
    with _inferring(_Inferred()):
        _infer(graph, known)


def _infer(graph: Graph, known: bool) -> None:
    """What is declared wins, but for what follows from a pool of which ONNX's older inference finds other sizes."""
    doubted: set[Value | None] = set()
    for node in graph.topological():
        follows = not doubted.isdisjoint(node.inputs) or is_miscounted(node)
        doubted.update(node.outputs if follows else ())
        if not known and not follows and not node.regions and all(_is_settled(value.type) for value in node.outputs):
            continue
        for value, found in zip(node.outputs, infer_node(node), strict=False):
            if found is not None:
                value.type = found if follows and conflict(value.type, found) else merge(value.type, found)


def _is_settled(type: Type | None) -> bool:
    """Whether inference has nothing to add: every dimension is a size or a symbol."""
    return (
        isinstance(type, TensorType)
        and type.dtype is not None
        and type.shape is not None
        and all(isinstance(dim, int | str) for dim in type.shape)
    )


# loops -------------------------------------------------------------------------------------------


def widen(a: Type | None, b: Type | None) -> Type | None:
    """The narrowest type that describes values of both types; None where there is none."""
    if isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype == b.dtype:
        if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
            return TensorType(a.dtype)
        return TensorType(a.dtype, tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True)))
    return a if a == b else None


def without_axis(shape: Shape | None, axis: int) -> Shape | None:
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    return shape[:axis] + shape[axis + 1 :]


def part_type(slot: loops.Sliced, type: Type | None) -> Type | None:
    """The type of what a pass gets of a value of this type."""
    if not isinstance(type, TensorType):
        return None
    if slot.part is None:
        return TensorType(type.dtype, without_axis(type.shape, slot.axis))
    if type.shape is None:
        return type
    shape = list(type.shape)
    shape[slot.axis] = slot.part
    return TensorType(type.dtype, tuple(shape))


def _stack_type(slot: loops.Stacked, type: Type | None, trips: int | None) -> Type | None:
    if not isinstance(type, TensorType) or type.shape is None:
        return TensorType(type.dtype) if isinstance(type, TensorType) else None
    shape = list(type.shape)
    if slot.part is None:
        axis = slot.axis if slot.axis >= 0 else slot.axis + len(shape) + 1
        shape.insert(axis, trips)
    else:
        size = shape[slot.axis]
        shape[slot.axis] = trips * size if trips is not None and isinstance(size, int) else None
    return TensorType(type.dtype, tuple(shape))


def static_trips(loop: loops.Loop) -> int | None:
    """The number of passes where it is certain by constants and lengths of sequences."""
    return loops.trip_count(loop, Value.array).exact


_Found = tuple[Hashable, Sequence[Type | None]]
"""Of what the types of a node's outputs followed (see `_facts`), and these."""


@dataclass(slots=True)
class _Inferred:
    """What was found of nodes with regions while a graph is inferred. Who comes to such a node again from the level
    around it begins with that: nests would take twice as long at each level else.

    Attributes:
        found: what is known of nodes.
        carried: what a loop's carried values were found to be so far. Types around a loop only widen meanwhile.
        too_narrow: nodes in whose regions types may be left that follow from operands' types which are wider now.
    """

    found: dict[Node, _Found] = field(default_factory=dict)
    carried: dict[Node, list[Type | None]] = field(default_factory=dict)
    too_narrow: set[Node] = field(default_factory=set)


_INFERRED: ContextVar[_Inferred | None] = ContextVar("inferred", default=None)


@contextmanager
def _inferring(known: _Inferred) -> Iterator[_Inferred]:
    token = _INFERRED.set(known)
    try:
        yield known
    finally:
        _INFERRED.reset(token)


_BUILT: ContextVar[dict[Node, _Found] | None] = ContextVar("built", default=None)


@contextmanager
def inferred_once() -> Iterator[None]:
    """While a graph is built from the inside outwards: a node with regions whose types were asked for is taken as it
    is where it stands in a region of the next one. Nobody changes what stands in it meanwhile."""
    token = _BUILT.set({})
    try:
        yield
    finally:
        _BUILT.reset(token)


def _infer_regions(node: Node) -> Sequence[Type | None]:
    """The types of a Loop's or an If's outputs, its regions inferred unless they are already."""
    known = _INFERRED.get()
    if known is None:
        built = _BUILT.get()
        with _inferring(_Inferred({} if built is None else built)):
            return _infer_regions(node)
    before = known.found.get(node)
    if before is None or before[0] != _facts(node):
        if node in known.too_narrow:
            for region in node.regions.values():
                _drop_shapes(region, known)
                for value in region.inputs:
                    if isinstance(value.type, TensorType):
                        value.type = (value.meta or {}).get(FORMAL) or replace(value.type, shape=None)
        found = _infer_loop(node, known) if node.op_type == "Loop" else _infer_if(node)
        before = known.found[node] = _facts(node), found
    known.too_narrow.discard(node)
    return before[1]


def _facts(node: Node) -> Hashable:
    """What the types of a Loop's or an If's outputs follow from; the insides of its regions stand for themselves."""
    operands = [None if value is None else (value.type, _content(value)) for value in node.inputs]
    regions = [
        (region, len(region), *((value, value.type) for value in (*region.inputs, *region.outputs)))
        for region in node.regions.values()
    ]
    return (*operands, node.attributes.get("slots"), *regions)


def _content(value: Value) -> Hashable:
    """The elements of a small constant; None where it is none."""
    data = small_constant(value)
    if data is None:
        return None
    return tuple(data.numpy().ravel().tolist()) if data.dtype is DType.STRING else data.numpy().tobytes()


def _infer_loop(node: Node, known: _Inferred) -> Sequence[Type | None]:
    loop = loops.Loop(node)
    carried = loop.of(loops.Carried)
    for entry in loop.entries:
        if entry.body_input is None:
            continue
        match entry.slot:
            case loops.Carried() | loops.Captured():
                found = entry.operand.type if entry.operand else None
                stated = None if isinstance(entry.slot, loops.Carried) else entry.body_input.type
                entry.body_input.type = merge(stated, found)
            case loops.Sliced():
                found = part_type(entry.slot, entry.operand.type if entry.operand else None)
                entry.body_input.type = merge(entry.body_input.type, found)
            case loops.Iteration():
                entry.body_input.type = tensor(DType.INT64)
            case loops.Condition():
                entry.body_input.type = tensor(DType.BOOL)
    if node in known.carried:
        for entry, found in zip(carried, known.carried[node], strict=True):
            if entry.body_input is not None:
                entry.body_input.type = widen(found, entry.body_input.type)
    seen = [(entry.body_input, entry.operand) for entry in loop.of(loops.Captured)]
    for _ in range(4):  # each round only loosens dimensions: shape, then rank
        with constants_around(seen):
            _infer(loop.body, known=True)
        changed = False
        for entry in carried:
            assert entry.body_input is not None and entry.body_output is not None
            wide = widen(entry.body_input.type, entry.body_output.type) if entry.body_output.type is not None else None
            if wide is None:
                type = entry.body_input.type
                wide = TensorType(type.dtype) if isinstance(type, TensorType) else type
            if wide != entry.body_input.type:
                entry.body_input.type = wide
                changed = True
        if not changed:
            break
        _drop_shapes(loop.body, known)
    else:
        drop_shapes(loop.body)
    known.carried[node] = [None if entry.body_input is None else entry.body_input.type for entry in carried]
    trips = static_trips(loop)
    results: list[Type | None] = []
    for entry in loop.entries:
        if entry.result is None:
            continue
        leaving = entry.body_output.type if entry.body_output else None
        if isinstance(entry.slot, loops.Stacked):
            results.append(_stack_type(entry.slot, leaving, trips))
        else:
            entering = entry.body_input.type if entry.body_input else None
            fills = isinstance(entering, OptionalType) and leaving is not None and not isinstance(leaving, OptionalType)
            results.append(leaving if trips or fills else entering)  # what ONNX says of a body that fills an optional
    return results


def _drop_shapes(body: Graph, known: _Inferred) -> None:
    """As `drop_shapes`; of what stands in regions inside only if it is inferred again, of wider operands."""
    for node in body.nodes:
        if node.regions:
            known.too_narrow.add(node)
        for value in node.outputs:
            if isinstance(value.type, TensorType):
                value.type = replace(value.type, shape=None)


def drop_shapes(graph: Graph) -> None:
    """Drop shapes in a loop's body that were inferred under a carried type that turned out too narrow."""
    for inner in graph.graphs():
        for node in inner.nodes:
            for value in node.outputs:
                if isinstance(value.type, TensorType):
                    value.type = replace(value.type, shape=None)
        if inner is not graph:
            for value in inner.inputs:
                if isinstance(value.type, TensorType):
                    value.type = (value.meta or {}).get(FORMAL) or replace(value.type, shape=None)


@contextmanager
def constants_around(seen: Iterable[tuple[Value | None, Value | None]]) -> Iterator[None]:
    """What a region sees of small constants around it (axes, sizes), known inside for a while."""
    filled: list[Value] = []
    for inner, outer in seen:
        if inner is not None and inner.data is None:
            inner.data = small_constant(outer)
            filled.append(inner)
    try:
        yield
    finally:
        for inner in filled:
            inner.data = None


def _infer_if(node: Node) -> Sequence[Type | None]:
    for region in node.regions.values():
        seen = list(zip(region.inputs, node.captures, strict=True))
        for inner, outer in seen:
            inner.type = merge(inner.type, outer.type if outer else None)
        with constants_around(seen):
            _infer(region, known=True)
    branches = [region.outputs for region in node.regions.values()]
    return [widen(a.type, b.type) for a, b in zip(*branches, strict=True)]
