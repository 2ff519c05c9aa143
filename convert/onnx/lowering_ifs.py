"""The canonical If -> ONNX's If.

Before version 11 an If's branches must have the same shapes, else it is two Loops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...passes.constant_analysis import static_branch
from ...passes.errors import Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.opset.raising_loops import SAME_SHAPES
from ...passes.rewrite import Builder
from ...passes.tensor import TensorData
from ...passes.types import DType, OptionalType, SequenceType, Shape, TensorType, tensor
from .lowering_bodies import as_container, finish, held_type, uncontained, version_of, without_rank_squeeze


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
    op.insert(lowered, inputs, {}, len(types), types)
    return [uncontained(op, value, old.type) for value, old in zip(lowered.outputs, node.outputs, strict=True)]


def _inlined(op: Builder, region: Graph, *parameters: tuple[str, TensorType]) -> tuple[Builder, list[Value]]:
    """A branch as a new body, behind parameters of another name and type, and its outputs there."""
    body = op.region(region.name)
    for name, type in parameters:
        body.input(name, type)
    arguments = [body.graph.add_input(body.claim(value.name), value.type) for value in region.inputs]
    return body, body.inline(region, arguments)


def _same_shapes(node: Node) -> bool:
    """Whether both branches certainly give the same shapes: known ones, or the model said so as an If-1.

    What an If-1 says needn't be so: readers that infer no shapes of its branches' nodes take it.
    """
    is_said = (node.meta or {}).get(SAME_SHAPES)
    for value, *given in zip(node.outputs, *(region.outputs for region in node.regions.values()), strict=True):
        shapes = [branch.tensor.shape for branch in given]
        if is_said:
            if not _may_agree(*shapes):
                return False
            continue
        known = all(shape is not None and None not in shape and shape == shapes[0] for shape in shapes)
        declared = value.tensor.static_shape
        if not known and (declared is None or not all(_may_be(shape, declared) for shape in shapes)):
            return False
    return True


def _may_agree(one: Shape | None, other: Shape | None) -> bool:
    if one is None or other is None:
        return True
    sizes = zip(one, other, strict=False)
    return len(one) == len(other) and all(a == b for a, b in sizes if isinstance(a, int) and isinstance(b, int))


def _may_be(shape: Shape | None, declared: Sequence[int]) -> bool:
    """Whether a branch's shape doesn't contradict what the If declares."""
    if shape is None:
        return True
    pairs = zip(shape, declared, strict=False)
    return len(shape) == len(declared) and all(dim == size or not isinstance(dim, int) for dim, size in pairs)


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
        op.insert(loop, [once, wanted, *states, *node.captures], {}, len(types), types)
        states = loop.outputs
    for value, old in zip(states, node.outputs, strict=True):
        value.type = old.type
    return states
