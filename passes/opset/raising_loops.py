"""Loop, Scan and If of every version -> the canonical Loop and If.

Captured values arrive explicitly (the node's last inputs, each region's last inputs). A trip count or
condition of shape [1] becomes a scalar; a body that declares its iteration number or condition as [1]
gets it in that shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..constants import constant_node_data
from ..errors import InvalidModel
from ..graph import Graph, Node, Value
from ..infer import FORMAL
from ..loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from ..protos import ENUMS
from ..rewrite import Builder, collect, rule
from ..schema_check import check_schema
from ..types import DType, TensorType, Type, merge, tensor
from .control import entering

Results = Value | Sequence[Value] | None

SAME_SHAPES = "onnx.same_shapes"
"""Mark of an If that was version 1, whose branches have the same shapes, known or not."""


def _to_scalar(op: Builder, value: Value, dtype: DType) -> Value:
    """`value` ([], [1] or of unknown rank) as a scalar of type `dtype`."""
    if value.tensor.dtype is None:  # it can be nothing else
        value.type = TensorType(dtype, value.tensor.shape)
    elif value.tensor.dtype is not dtype:
        value = op.Cast(value, to=ENUMS[dtype], _types=[TensorType(dtype, value.tensor.shape)])
    if value.rank == 0:
        return value
    axes = op.const([0], DType.INT64) if value.rank == 1 else None
    return op.Squeeze(value, axes, _types=[tensor(dtype)])  # below opset 5, Reshape takes floats alone


def _as_declared(op: Builder, scalar: Value, declared: Value) -> Value:
    """A scalar in the shape that the body declares for it: [] or [1]."""
    if declared.rank != 1:
        return scalar
    return _vector(op, scalar, scalar.tensor.dtype or DType.INT64)


def _vector(op: Builder, scalar: Value, dtype: DType) -> Value:
    """A scalar in the shape [1]."""
    return op.Unsqueeze(scalar, op.const([0], DType.INT64), _types=[tensor(dtype, 1)])


def _arity(node: Node, region: Graph, inputs: int, outputs: int | None = None) -> None:
    formal = len(region.inputs) - node.captured
    if formal != inputs:
        raise InvalidModel(f"{node!r}: its body takes {formal} inputs, {inputs} are fed")
    if outputs is not None and len(region.outputs) != outputs:
        raise InvalidModel(f"{node!r}: its body gives {len(region.outputs)} outputs, {outputs} are needed")


def _region(node: Node, name: str) -> Graph:
    if name not in node.regions:
        raise InvalidModel(f"{node!r}: the graph attribute {name!r} is missing")
    return node.regions[name]


def _given(node: Node, values: Sequence[Value | None]) -> list[Value]:
    given = [value for value in values if value is not None]
    if len(given) != len(values):
        raise InvalidModel(f"{node!r}: an input that must be given is left out")
    return given


def _is_used(region: Graph, value: Value) -> bool:
    return bool(region.uses(value)) or value in region.outputs


def _is_always_true(op: Builder, node: Node, body: Graph) -> bool:
    """Whether the condition that a Loop's body gives is certainly true: a constant, or the one it was entered with."""
    root = op.rewriter.root
    overridable = root.inputs if root is not None else []
    seen = dict(zip(body.inputs[len(body.inputs) - node.captured :], node.captures, strict=True))
    value: Value | None = body.outputs[0]
    while value is not None:
        if value is body.inputs[1]:
            return True
        data = None if value in overridable else value.data
        if data is None and value.producer is not None and value.producer.op == ("", "Constant"):
            data = constant_node_data(value.producer)
        if data is not None:
            return bool(data.numpy().all())
        if value.producer is not None and value.producer.op in _SAME_TRUTH:
            value = value.producer.input(0)
        else:
            value = seen.get(value)
    return False


_SAME_TRUTH = frozenset(("", name) for name in ("Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze"))
"""What hands a condition on; below opset 7 or so a constant one needs a Cast: Constant-1 holds floats only."""


def _enter(body: Builder, value: Value, type: Type | None = None, known: Type | None = None) -> Value:
    """A body input standing for an old one, under its name; what was declared of it stays known.

    `known` is what is known of it from outside, which adapters in the body may ask for.
    """
    twin = body.graph.add_input(body.claim(value.name), type or value.type)
    twin.meta = {**(value.meta or {}), FORMAL: twin.type}
    twin.type = merge(twin.type, known)
    return twin


def _enter_all(inner: Builder, node: Node, body: Graph) -> list[Value]:
    """All inputs of a body."""
    return [_enter(inner, value, known=known) for value, known in zip(body.inputs, entering(node, body), strict=True)]


@rule("", "Loop")
def loop(op: Builder, node: Node) -> Results:
    """Loop-1 ... Loop-25.

    Where the condition is left out, the first pass needs none, and the body's decides about the others. ONNX's text
    calls it ignored, but ONNX Runtime and OpenVINO obey it, and ONNX Script writes a `break` that way.
    """
    check_schema(node)
    body = _region(node, "body")
    states = _given(node, node.formal_inputs[2:])
    captures = _given(node, node.captures)
    stacked = len(body.outputs) - 1 - len(states)
    _arity(node, body, 2 + len(states))
    if stacked < 0 or len(node.outputs) > len(states) + stacked:
        raise InvalidModel(f"{node!r}: its body gives {len(body.outputs)} outputs, too few")
    trip, condition = node.input(0), node.input(1)
    old_i, old_c, old_states = body.inputs[0], body.inputs[1], body.inputs[2 : 2 + len(states)]
    old_captures = body.inputs[2 + len(states) :]

    slots: list[Slot] = [Iteration()]
    inner = op.region(body.name)
    iteration = _enter(inner, old_i, tensor(DType.INT64))
    sees_condition, seen = _is_used(body, old_c), inner.const(True, DType.BOOL)
    obeyed = condition is not None or not _is_always_true(op, node, body)
    if obeyed:
        slots.append(Condition(body_input=sees_condition))
        if sees_condition:
            seen = _enter(inner, old_c, tensor(DType.BOOL))
        if condition is None:
            op.rewriter.notes.append(
                f"{node!r}: without a condition, the one that its body gives is obeyed, as runtimes do; ONNX's text"
                " calls it ignored"
            )
    slots += [Carried()] * len(states) + [Stacked(0)] * stacked + [Captured()] * len(captures)
    arguments = [
        _as_declared(inner, iteration, old_i),
        _as_declared(inner, seen, old_c) if sees_condition else seen,
        *(
            _enter(inner, value, known=known)
            for value, known in zip((*old_states, *old_captures), entering(node, body)[2:], strict=True)
        ),
    ]
    outputs = inner.inline(body, arguments)
    inner.graph.outputs = ([_to_scalar(inner, outputs[0], DType.BOOL)] if obeyed else []) + outputs[1:]
    results = op.loop(
        None if trip is None else _to_scalar(op, trip, DType.INT64),
        None if condition is None else _to_scalar(op, condition, DType.BOOL),
        slots,
        [*states, *captures],
        inner.graph,
    )
    return results[: len(node.outputs)]


@rule("", "Scan")
def scan(op: Builder, node: Node) -> Results:
    """Scan-9 and later, and Scan-8 as the loop over its batch around it."""
    if node.version < 8:
        raise InvalidModel(f"{node!r}: opset {node.version} has no Scan")
    check_schema(node)
    return _scan_batch(op, node) if node.version < 9 else _scan(op, node)


def _ints(node: Node, name: str, count: int) -> list[int]:
    return [int(value) for value in node.attributes.get(name, ())] or [0] * count


def _sliced(axis: int, backwards: int) -> Sliced:
    return Sliced(axis, -1, 0, -1) if backwards else Sliced(axis)


def _counts(node: Node, body: Graph, inputs: int) -> tuple[int, int, int]:
    """How many sequences, states and stacked outputs a Scan has."""
    sequences = int(node.attributes.get("num_scan_inputs", 0))
    states = inputs - sequences
    stacked = len(body.outputs) - states
    if sequences < 1 or states < 0 or stacked < 0 or len(node.outputs) > len(body.outputs):
        raise InvalidModel(f"{node!r}: num_scan_inputs {sequences} doesn't fit its inputs and outputs")
    _arity(node, body, inputs)
    return sequences, states, stacked


def _scan(op: Builder, node: Node) -> Results:
    body = _region(node, "body")
    inputs, captures = _given(node, node.formal_inputs), _given(node, node.captures)
    sequences, states, stacked = _counts(node, body, len(inputs))
    in_axes = _ints(node, "scan_input_axes", sequences)
    in_back = _ints(node, "scan_input_directions", sequences)
    out_axes = _ints(node, "scan_output_axes", stacked)
    out_back = _ints(node, "scan_output_directions", stacked)
    slots: list[Slot] = [
        *[Carried()] * states,
        *(_sliced(axis, back) for axis, back in zip(in_axes, in_back, strict=True)),
        *(Stacked(axis, bool(back)) for axis, back in zip(out_axes, out_back, strict=True)),
        *[Captured()] * len(captures),
    ]
    inner = op.region(body.name)
    inner.graph.outputs = inner.inline(body, _enter_all(inner, node, body))
    return op.loop(None, None, slots, [*inputs, *captures], inner.graph)[: len(node.outputs)]


def _scan_batch(op: Builder, node: Node) -> Results:
    """Scan-8: axis 0 of everything is a batch, axis 1 of the sequences is scanned, each batch entry alone.

    With `sequence_lens` an entry stops early, and what it did not reach is zero.
    """
    body = _region(node, "body")
    lengths, inputs = node.input(0), _given(node, node.formal_inputs[1:])
    captures = _given(node, node.captures)
    sequences, states, stacked = _counts(node, body, len(inputs))
    directions = _ints(node, "directions", sequences)
    whole = op.Shape(inputs[states], start=1, end=2) if lengths is not None else None

    outer = op.region(f"{body.name}_batch")
    entries = [outer.input(f"{value.name}_entry", _without_batch(value.type)) for value in inputs]
    length = outer.input("length", tensor(DType.INT64)) if lengths is not None else None
    longest = outer.input("longest", tensor(DType.INT64, 1)) if whole is not None else None
    seen = [outer.input(f"{value.name}_seen", value.type) for value in captures]

    inner = op.region(body.name)
    inner.graph.outputs = inner.inline(body, _enter_all(inner, node, body))
    cut = list(entries)
    if length is not None:  # a reversed sequence starts at its own last element, not at the padding
        end = _vector(outer, length, DType.INT64)
        for index in range(states, len(cut)):
            cut[index] = outer.Slice(cut[index], outer.const([0]), end, outer.const([0]))
    slots: list[Slot] = [
        *[Carried()] * states,
        *(_sliced(0, back) for back in directions),
        *[Stacked(0)] * stacked,
        *[Captured()] * len(captures),
    ]
    results = list(outer.loop(None, None, slots, [*cut, *seen], inner.graph))
    if length is not None and longest is not None:
        for index in range(states, len(results)):
            missing = outer.Sub(longest, _vector(outer, length, DType.INT64))
            pads = outer.Concat(outer.const([0]), missing, axis=0)
            results[index] = outer.Pad(results[index], pads, None, outer.const([0]))
    outer.graph.outputs = results
    batch: list[Slot] = [Sliced(0)] * len(inputs)
    operands = list(inputs)
    if lengths is not None and whole is not None:
        batch += [Sliced(0), Captured()]
        operands += [lengths, whole]
    batch += [Captured()] * len(captures) + [Stacked(0)] * len(results)
    return op.loop(None, None, batch, [*operands, *captures], outer.graph)[: len(node.outputs)]


def _without_batch(type: Type | None) -> Type | None:
    if not isinstance(type, TensorType):
        return None
    return TensorType(type.dtype, type.shape[1:] if type.shape else None)


@rule("", "If")
def branch(op: Builder, node: Node) -> Results:
    """If-1 ... If-25."""
    check_schema(node)
    condition, captures = node.input(0), _given(node, node.captures)
    if condition is None:
        raise InvalidModel(f"{node!r}: without a condition")
    made: list[Graph] = []
    for name in ("then_branch", "else_branch"):
        region = _region(node, name)
        _arity(node, region, 0, max(len(node.outputs), len(region.outputs)))
        inner = op.region(region.name)
        inner.graph.outputs = inner.inline(region, _enter_all(inner, node, region))
        inner.graph.meta = dict(region.meta)
        made.append(inner.graph)
    if len(made[0].outputs) != len(made[1].outputs) or len(made[0].outputs) < len(node.outputs):
        raise InvalidModel(f"{node!r}: its branches give {len(made[0].outputs)} and {len(made[1].outputs)} outputs")
    results = op.branch(_to_scalar(op, condition, DType.BOOL), captures, made[0], made[1])
    if node.version < 11 and results and results[0].producer is not None:
        results[0].producer.meta = {SAME_SHAPES: True}
    return results[: len(node.outputs)]


RULES = collect(globals())
