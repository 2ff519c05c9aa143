"""Hub graphs by onnx's reference implementation: operators, each prepared once, and loops by their definition."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from ..passes.graph import Graph, Node
from ..passes.loop import Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked, is_if, is_loop, part_range
from ..passes.protos import attribute_to_proto
from ..passes.schemas import HUB_OPSETS

MOST_PASSES = 16
"""Of a loop that is run."""
_MOST_ELEMENTS = 1 << 22
_GROWING = ("ConstantOfShape", "Expand", "OneHot", "Pad", "Range", "Resize", "Tile", "CenterCropPad", "Upsample")
"""Operators whose operands say how large the result is."""


class Undefined(Exception):
    """There is no value: operands that don't go together, or no tensor."""


def defined(holds: bool) -> bool:
    if not holds:
        raise Undefined
    return True


class Reference:
    """onnx's reference implementation; an operator is prepared once for each key and choice of operands."""

    def __init__(self) -> None:
        self._prepared: dict[Any, ReferenceEvaluator] = {}

    def operator(
        self, key: Any, op: tuple[str, str], attributes: dict[str, Any], values: Sequence[Any], outputs: int
    ) -> list[Any]:
        """The results of an operator of the hub.

        Args:
            key: what has this very operator and these attributes each time, as a node does.
        """
        which = (key, tuple(value is not None for value in values), outputs)
        if which not in self._prepared:
            self._prepared[which] = _prepared(*op, attributes, which[1], outputs)
        _check(op, attributes, values)
        feed = {f"x{index}": np.asarray(value) for index, value in enumerate(values) if value is not None}
        try:
            return list(self._prepared[which].run(None, feed))
        except Exception as error:  # operands that don't go together, or none that it implements
            raise Undefined from error

    def node(self, node: Node, values: Sequence[Any]) -> list[Any]:
        """The results of any node."""
        if is_loop(node):
            return self.loop(node, values)
        if is_if(node):
            return self.graph(node.regions["then" if bool(np.all(values[0])) else "else"], values[1:])
        return self.operator(node, node.op, node.attributes, values, len(node.outputs))

    def graph(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a graph."""
        known = {value: value.data.numpy() for value in graph.constants if value.data is not None}
        known |= dict(zip(graph.inputs, inputs, strict=True))
        for node in graph.topological():
            values = [None if value is None else known[value] for value in node.inputs]
            known.update(zip(node.outputs, self.node(node, values), strict=True))
        return [known[value] for value in graph.outputs]

    def loop(self, node: Node, values: Sequence[Any]) -> list[Any]:
        """The results of a loop."""
        loop, count = Loop(node), 0
        most = min([MOST_PASSES, *limits_of(loop, lambda index: values[index])])
        carried = {entry.indices: values[entry.indices.operand] for entry in loop.of(Carried)}
        stacks: dict[Any, list[Any]] = {entry.indices: [] for entry in loop.of(Stacked)}
        goes_on = values[1] is None or bool(np.all(values[1]))
        while goes_on and count < most:
            state = self._after(loop, values, carried, count)
            for entry in loop.of(Carried):
                carried[entry.indices] = state[entry.indices]
            for entry in loop.of(Stacked):
                stacks[entry.indices].append(state[entry.indices])
            goes_on = all(bool(np.all(state[entry.indices])) for entry in loop.of(Condition))
            count += 1
        defined(count < MOST_PASSES)
        found = {**carried, **{key: laid_out(parts, key.slot) for key, parts in stacks.items() if parts}}
        if not count and stacks:  # no element of an empty stack is there; its type is that of one that would be
            state = self._after(loop, values, carried, None)
            found |= {key: laid_out([state[key]], key.slot).take([], key.slot.axis) for key in stacks}
        return [value for _, value in sorted((key.result, value) for key, value in found.items())]

    def _after(self, loop: Loop, values: Sequence[Any], carried: dict[Any, Any], number: int | None) -> dict[Any, Any]:
        """What a pass hands out, by slot; `number` None: a pass that isn't made, on zeros in the place of parts."""
        inputs: list[Any] = []
        for entry in loop.entries:
            if entry.body_input is not None:
                operand = values[entry.indices.operand] if entry.indices.operand >= 0 else None
                if isinstance(entry.slot, Carried):
                    inputs.append(carried[entry.indices])
                elif isinstance(entry.slot, Sliced) and number is None:
                    inputs.append(_blank(entry.slot, operand))
                else:
                    inputs.append(seen(entry, operand, number or 0))
        results = self.graph(loop.body, inputs)
        return {
            entry.indices: results[entry.indices.body_output] for entry in loop.entries if entry.body_output is not None
        }


def _check(op: tuple[str, str], attributes: dict[str, Any], values: Sequence[Any]) -> None:
    """Refuse what fills the memory, and what onnx's implementation doesn't refuse.

    Raises:
        Undefined: it is so.
    """
    if op[1] in _GROWING:
        numbers = [np.asarray(one) for one in values if np.asarray(one).dtype.kind in "iu"]
        sizes = [max(1, abs(int(number))) for one in numbers if one.size < 32 for number in one.reshape(-1)]
        defined(math.prod([*sizes, *(np.size(one) or 1 for one in values[:1])]) <= _MOST_ELEMENTS)
    elif op == ("", "TopK"):
        defined(attributes.get("sorted") != 0)  # else in any order
    elif op == ("", "Split") and len(values) > 1 and values[1] is not None:
        parts = np.asarray(values[1])
        defined(bool((parts >= 0).all()) and parts.sum() == np.shape(values[0])[attributes.get("axis") or 0])


def _prepared(
    domain: str, op: str, attributes: dict[str, Any], present: Sequence[bool], outputs: int
) -> ReferenceEvaluator:
    names = [f"x{index}" if is_there else "" for index, is_there in enumerate(present)]
    node = onnx.NodeProto(op_type=op, domain=domain, input=names, output=[f"y{index}" for index in range(outputs)])
    node.attribute.extend(attribute_to_proto(name, value) for name, value in attributes.items() if value is not None)
    given, wanted = ([onnx.ValueInfoProto(name=name) for name in some if name] for some in (names, node.output))
    opsets = [onnx.helper.make_opsetid(name, version) for name, version in HUB_OPSETS.items() if name in ("", domain)]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], op, given, wanted), opset_imports=opsets)
    try:
        return ReferenceEvaluator(model)
    except Exception as error:  # none that it knows
        raise Undefined from error


def limits_of(loop: Loop, value: Callable[[int], Any]) -> list[int]:
    """What bounds a loop's passes, its condition aside; by the values of the operands that do."""
    trip = value(0)
    found = [] if trip is None else [max(0, int(np.asarray(trip).reshape(-1)[0]))]
    for entry in loop.of(Sliced):
        assert isinstance(entry.slot, Sliced)
        found.append(part_range(entry.slot, value(entry.indices.operand).shape[entry.slot.axis])[1])
    return found


def seen(entry: Entry, operand: Any, number: int) -> Any:
    """What a body sees in a pass of what isn't carried."""
    slot = entry.slot
    if isinstance(slot, Iteration):
        return np.int64(number)
    if isinstance(slot, Condition):
        return np.bool_(True)
    if not isinstance(slot, Sliced):
        return operand
    first, count = part_range(slot, operand.shape[slot.axis])
    at = first + slot.stride * number
    defined(number < count)
    if slot.part is None:
        return operand.take(at, slot.axis)
    return operand.take(np.arange(slot.part) + (at - slot.part + 1 if slot.reversed else at), slot.axis)


def _blank(slot: Sliced, operand: Any) -> Any:
    shape = list(operand.shape)
    shape[slot.axis : slot.axis + 1 or None] = [] if slot.part is None else [slot.part]
    return np.zeros(shape, operand.dtype)


def laid_out(parts: Sequence[Any], slot: Any) -> Any:
    """Elements of all passes, as a Stacked slot collects them."""
    ordered = list(parts)[::-1] if slot.reverse else list(parts)
    return np.stack(ordered, slot.axis) if slot.part is None else np.concatenate(ordered, slot.axis)
