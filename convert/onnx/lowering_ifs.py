"""The canonical If -> ONNX's If, and what the bodies of ONNX's Loop, Scan and If hand in and out.

Before version 11 an If's branches must have the same shapes, else it is two Loops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...passes.constant_analysis import static_branch
from ...passes.errors import Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.opset.raising_loops import SAME_SHAPES
from ...passes.protos import ENUMS
from ...passes.rewrite import Builder
from ...passes.schemas import since_version
from ...passes.tensor import TensorData
from ...passes.types import DType, OptionalType, SequenceType, TensorType, Type, tensor


def version_of(name: str, opset: int, node: Node) -> int:
    """The version of Loop, Scan or If in an opset.

    Raises:
        Unsupported: it has none; `node` is what can't be expressed.
    """
    version = since_version("", name, opset)
    if version is None:
        raise Unsupported(node, f"opset {opset} has no {name}")
    return version


def without_rank_squeeze(scalar: Value | None, any_rank: bool = False) -> Value | None:
    """A trip count or condition without the Squeeze that made sure of its rank, where it turned out to be a scalar.

    Args:
        any_rank: it may be any tensor of one element, as an If's condition may.
    """
    node = scalar.producer if scalar is not None else None
    if node is None or node.op != ("", "Squeeze") or len(node.inputs) > 1 or node.inputs[0] is None:
        return scalar
    return node.inputs[0] if any_rank or node.inputs[0].rank == 0 else scalar


def finish(body: Builder, outputs: Sequence[Value]) -> None:
    """Set a body's outputs: each must be made inside it, by a node, and only once."""
    own: set[Value] = set()
    made: list[Value] = []
    for value in outputs:
        if value.producer is None or value in own:
            value = body.Identity(value, _types=[value.type])
        own.add(value)
        made.append(value)
    body.graph.outputs = made


# Opsets 13 to 15 have bfloat16, but their Loop, Scan and If don't take it: float32 holds it meanwhile.


def held_type(type: Type | None, opset: int) -> Type | None:
    """The type in which a value of `type` goes in and out."""
    if isinstance(type, TensorType) and type.dtype is DType.BFLOAT16 and opset < 16:
        return TensorType(DType.FLOAT32, type.shape)
    return type


def as_container(op: Builder, value: Value, opset: int) -> Value:
    """The value in the type in which it goes in and out."""
    return _cast(op, value, held_type(value.type, opset))


def uncontained(op: Builder, value: Value, type: Type | None) -> Value:
    """The value in its own type again."""
    return _cast(op, value, type)


def _cast(op: Builder, value: Value, type: Type | None) -> Value:
    known = value.type
    if not isinstance(type, TensorType) or not isinstance(known, TensorType):
        return value
    if type.dtype is None or known.dtype in (None, type.dtype):
        return value
    return op.Cast(value, to=ENUMS[type.dtype], _types=[TensorType(type.dtype, known.shape)])


# If -----------------------------------------------------------------------------------------------


def branch(op: Builder, node: Node, opset: int) -> list[Value]:
    """An If of the version that the opset has.

    Raises:
        Unsupported: a branch gives what that version can't.
    """
    for value in node.outputs:
        if isinstance(value.type, SequenceType) and opset < 13:
            raise Unsupported(node, f"a branch returns a sequence, which isn't supported by opset {opset}")
        if isinstance(value.type, OptionalType) and opset < 16:
            raise Unsupported(node, f"a branch returns an optional, which isn't supported by opset {opset}")
    if opset < 11:
        taken = static_branch(node)
        if taken is not None:  # the condition depends on shapes that are declared, and may hide ranks
            return op.inline(taken, node.captures)
        if not _same_shapes(node):
            return _by_loops(op, node)
    made: dict[str, Graph] = {}
    for old, new in (("then", "then_branch"), ("else", "else_branch")):
        body, outputs = _inlined(op, node.regions[old])
        finish(body, [as_container(body, value, opset) for value in outputs])
        made[new] = body.graph
    lowered = Node("", "If", version_of("If", opset, node), node.name)
    lowered.regions.update(made)
    lowered.captured = node.captured
    types = [held_type(value.type, opset) for value in node.outputs]
    inputs = [without_rank_squeeze(node.inputs[0], any_rank=True), *node.captures]
    results = _several(op.insert(lowered, inputs, {}, len(types), types))
    return [uncontained(op, value, old.type) for value, old in zip(results, node.outputs, strict=True)]


def _several(made: Value | Sequence[Value]) -> list[Value]:
    return [made] if isinstance(made, Value) else list(made)


def _inlined(op: Builder, region: Graph, *parameters: tuple[str, TensorType]) -> tuple[Builder, list[Value]]:
    """A branch as a new body, behind parameters of another name and type, and its outputs there."""
    body = op.region(region.name)
    for name, type in parameters:
        body.input(name, type)
    arguments = [body.graph.add_input(body.claim(value.name), value.type) for value in region.inputs]
    return body, body.inline(region, arguments)


def _same_shapes(node: Node) -> bool:
    """Whether both branches certainly give the same shapes: known ones, or the model said so as an If-1."""
    if (node.meta or {}).get(SAME_SHAPES):
        return True
    for value, *given in zip(node.outputs, *(region.outputs for region in node.regions.values()), strict=True):
        shapes = [branch.tensor.shape for branch in given]
        known = all(shape is not None and None not in shape and shape == shapes[0] for shape in shapes)
        if not known and value.tensor.static_shape is None:
            return False
    return True


def _by_loops(op: Builder, node: Node) -> list[Value]:
    """A Loop that runs the one branch once or never, and behind it one for the other; a state may change its shape."""
    condition = without_rank_squeeze(node.inputs[0])
    types: list[TensorType] = []
    states: list[Value] = []
    for value in node.outputs:
        dtype = value.tensor.dtype
        if dtype is None:
            raise Unsupported(node, "branches that may have different shapes came with version 11")
        types.append(TensorType(dtype))
        nothing = np.full([1] * (value.rank or 0), "" if dtype is DType.STRING else 0, dtype.numpy)
        states.append(op.const(TensorData.of(nothing, dtype)))
    once = op.const(1, DType.INT64)
    parameters = [("iteration", tensor(DType.INT64)), ("condition", tensor(DType.BOOL))]
    for name in ("then", "else"):
        body, outputs = _inlined(op, node.regions[name], *parameters, *(("before", type) for type in types))
        finish(body, [body.graph.inputs[1], *outputs])
        loop = Node("", "Loop", 1)
        loop.regions["body"] = body.graph
        loop.captured = node.captured
        wanted = condition if name == "then" else op.Not(condition)
        states = _several(op.insert(loop, [once, wanted, *states, *node.captures], {}, len(types), types))
    for value, old in zip(states, node.outputs, strict=True):
        value.type = old.type
    return states
