"""Parts of one entry -> elements: how OpenVINO slices and stacks becomes how ONNX does."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..constants import constant_array
from ..errors import InvalidModel
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import infer_node
from ..loop import Loop, Sliced, Slot, Stacked, is_loop
from ..pipeline import PassResult
from ..types import TensorType


@dataclass(frozen=True)
class PartsToElements:
    """A loop that takes or joins parts of one entry takes or stacks elements.

    Before::

        y: float32[3, 2] = Loop(trip=_, condition=_) {
          sliced   x: float32[1, 2] = xs[axis=0, part=1]
          stacked  y[axis=0, part=1] <- n
          n: float32[1, 2] = Neg(x)
        }

    After::

        y: float32[3, 2] = Loop(trip=_, condition=_) {
          sliced   e: float32[2] = xs[axis=0]
          stacked  y[axis=0] <- s
          x: float32[1, 2] = Unsqueeze(e, [0])
          n: float32[1, 2] = Neg(x)
          s: float32[2] = Squeeze(n, [0])
        }
    """

    def __call__(self, graph: Graph) -> PassResult:
        modified = False
        for inner in graph.graphs():
            for node in inner.nodes:
                if is_loop(node):
                    modified |= _elements(node)
        return PassResult(graph, modified)


def _elements(node: Node) -> bool:
    loop = Loop(node)
    slots: list[Slot] = []
    changed = False
    for entry in loop.entries:
        slot = entry.slot
        if isinstance(slot, Sliced) and slot.part == 1 and entry.body_input is not None:
            loop.body.inputs[entry.indices.body_input] = _element(loop.body, entry.body_input, slot.axis)
            slot = replace(slot, part=None)
            changed = True
        elif (
            isinstance(slot, Stacked)
            and slot.part == 1
            and entry.body_output is not None
            and _is_one(entry.body_output, slot)
        ):
            loop.body.outputs[entry.indices.body_output] = _axis(
                loop.body, "Squeeze", entry.body_output, slot.axis, "element"
            )
            slot = replace(slot, part=None, axis=_new_axis(entry.body_output, slot.axis))
            changed = True
        slots.append(slot)
    if changed:
        node.attributes["slots"] = tuple(slots)
    return changed


def _is_one(value: Value, slot: Stacked) -> bool:
    """The axis is known to hold one entry, and where it stands."""
    shape = value.tensor.shape
    return shape is not None and shape[slot.axis] in (1, None)


def _new_axis(value: Value, axis: int) -> int:
    return axis if axis >= 0 or value.rank is None else axis + value.rank


def _element(body: Graph, part: Value, axis: int) -> Value:
    """A new body input in the place of `part`, which is now made of it."""
    shape = part.tensor.shape
    if shape is not None:
        if not -len(shape) <= axis < len(shape):
            raise InvalidModel(f"{part.name!r}: a part along axis {axis} of {len(shape)} dimensions")
        axis %= len(shape)
        shape = shape[:axis] + shape[axis + 1 :]
    element = Value(f"{part.name}_element", TensorType(part.tensor.dtype, shape))
    made = _axis(body, "Unsqueeze", element, axis, "part")
    made.type = part.type
    body.replace_uses(part, made)
    return element


def _axis(body: Graph, op_type: str, value: Value, axis: int, suffix: str) -> Value:
    domain, version = HUB.resolve(op_type)
    axes = body.add_constant(np.array([axis], np.int64), f"{value.name}_axis_{suffix}")
    outputs = [f"{value.name}_{suffix}"]
    node = body.add_node(op_type, [value, axes], outputs, domain=domain, version=version)
    node.output.type = infer_node(node)[0]
    return node.output


def cancels(node: Node) -> Value | None:
    """What a Squeeze of an Unsqueeze (or the other way round) at the same axes hands on."""
    pairs = {"Squeeze": "Unsqueeze", "Unsqueeze": "Squeeze"}
    value = node.inputs[0] if node.inputs else None
    before = value.producer if value is not None else None
    if node.domain or before is None or before.domain or pairs.get(node.op_type) != before.op_type:
        return None
    if len(node.inputs) < 2 or len(before.inputs) < 2 or before.inputs[0] is None:
        return None
    ours, theirs = constant_array(node.inputs[1]), constant_array(before.inputs[1])
    if ours is None or theirs is None:
        return None
    larger = (value if node.op_type == "Squeeze" else before.inputs[0]).rank if value is not None else None

    def absolute(axes: object) -> list[int] | None:
        found = [int(axis) for axis in axes]  # type: ignore[attr-defined]
        if any(axis < 0 for axis in found):
            return None if larger is None else sorted(axis % larger for axis in found)
        return sorted(found)

    first, second = absolute(ours), absolute(theirs)
    return before.inputs[0] if first is not None and first == second else None
