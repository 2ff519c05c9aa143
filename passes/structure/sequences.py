"""Sequences that are only built and joined -> values stacked by the loop: what targets without sequences can say."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..build import stack, taken
from ..constants import constant_array
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..loop import Captured, Carried, Entry, Loop, Stacked, entry_of, is_loop, set_entries
from ..names import Names
from ..pipeline import PassResult
from ..preconditions import required
from ..rewrite import Builder, Rewriter
from ..types import DType, SequenceType, TensorType, merge


@dataclass(frozen=True)
class SequencesToStacks:
    """A loop that carries a sequence only to insert into it stacks what it inserted.

    Before::

        s: seq(float32[2]) = Loop(trip=m, condition=_) {
          carried  q: seq(float32[2]) = empty <- q2
          q2: seq(float32[2]) = SequenceInsert(q, e)
        }
        y: float32[?, 2] = ConcatFromSequence(s, axis=0, new_axis=1)

    After::

        y: float32[?, 2] = Loop(trip=m, condition=_) {
          stacked  y[axis=0] <- e
        }

    Taken where the sequence starts empty or from given elements, every insertion is at the same end, the body
    doesn't look into the sequence, and it is joined, indexed or counted behind the loop. Sequences of given
    elements that are joined without any loop are joined directly. Everything else stays as it is.
    """

    def __call__(self, graph: Graph) -> PassResult:
        names = Names.of(graph)
        modified = False
        for inner in graph.graphs():
            op = Builder(Rewriter(HUB, {}, names=names), inner)
            for node in inner.nodes:
                if is_loop(node):
                    while _stack_one(op, node):
                        modified = True
                elif node.op == ("", "ConcatFromSequence"):
                    modified |= _concat_given(op, node)
        return PassResult(graph, modified)


_COUNTED = Stacked(0, part=0)
"""Not the elements are stacked, which may be of different shapes, but a number in place of each."""


@dataclass(slots=True)
class _Built:
    """A carried sequence that is only built: what it starts with, and what each pass inserts."""

    entry: Entry
    insert: Node
    element: Value
    front: bool
    given: list[Value] = field(default_factory=list)


def _given_elements(value: Value | None) -> list[Value] | None:
    """The elements of a sequence made of given ones; None where it isn't."""
    inserted: list[Value] = []
    while value is not None and value.producer is not None and not value.producer.domain:
        node = value.producer
        if node.op_type == "SequenceEmpty":
            return inserted[::-1]
        if node.op_type == "SequenceConstruct":
            return [element for element in node.inputs if element is not None] + inserted[::-1]
        if node.op_type == "Identity":
            value = node.inputs[0]
            continue
        if node.op_type != "SequenceInsert" or len(node.inputs) > 2 or node.inputs[1] is None:
            return None
        inserted.append(node.inputs[1])
        value = node.inputs[0]
    return None


def _built(loop: Loop, entry: Entry) -> _Built | None:
    body, body_input, body_output = loop.body, entry.body_input, entry.body_output
    if body_input is None or body_output is None or not isinstance(body_input.type or body_output.type, SequenceType):
        return None
    insert = body_output.producer
    given = _given_elements(entry.operand)
    if insert is None or insert.op != ("", "SequenceInsert") or insert.inputs[0] is not body_input or given is None:
        return None
    alone = body.uses(body_input) == [(insert, 0)] and body_input not in body.outputs
    handed_on = [value for value in body.outputs if value is body_output]
    element = insert.inputs[1]
    if not alone or len(handed_on) != 1 or body.uses(body_output) or element is None:
        return None
    position = None
    if len(insert.inputs) > 2 and insert.inputs[2] is not None:
        operand = {captured.body_input: captured.operand for captured in loop.of(Captured)}
        position = constant_array(operand.get(insert.inputs[2], insert.inputs[2]))
        if position is None or int(position) != 0:
            return None
    return _Built(entry, insert, element, position is not None, given)


def _stack_one(op: Builder, node: Node) -> bool:
    """Turn one carried sequence of a loop into stacked values; False where there is none to turn."""
    graph, loop = op.graph, Loop(node)
    for entry in loop.of(Carried):
        built = _built(loop, entry)
        if built is None or entry.result in graph.outputs:
            continue
        uses = graph.uses(entry.result) if entry.result is not None else []
        wanted = {user: _slot_for(user, built) for user, _ in uses}
        if any(slot is None for slot in wanted.values()):
            continue
        _replace(op, loop, built, {user: slot for user, slot in wanted.items() if slot is not None})
        return True
    return False


def _slot_for(user: Node, built: _Built) -> Stacked | None:
    """How the loop must stack for what is done with the sequence; None where it can't."""
    shape = built.element.tensor.shape
    if user.domain:
        return None
    if user.op_type == "SequenceLength":
        return _COUNTED
    if user.op_type == "SequenceAt":
        return Stacked(0, built.front) if built.element.tensor.static_shape is not None else None
    if user.op_type != "ConcatFromSequence" or shape is None:
        return None
    axis = int(user.attributes.get("axis", 0))
    if user.attributes.get("new_axis", 0):
        return Stacked(axis % (len(shape) + 1), built.front)
    if not shape or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    size = shape[axis]
    if isinstance(size, int) and size:
        return Stacked(axis, built.front, size)
    others = [dim for index, dim in enumerate(shape) if index != axis]
    return Stacked(axis, built.front, -1) if all(isinstance(dim, int) for dim in others) else None


def _replace(op: Builder, loop: Loop, built: _Built, wanted: dict[Node, Stacked]) -> None:
    graph, node, body = op.graph, loop.node, loop.body
    inner = Builder(op.rewriter, body)
    entries = [entry for entry in loop.entries if entry.indices != built.entry.indices]
    made: dict[Stacked, Value] = {}
    for slot in dict.fromkeys(wanted.values()):
        name = op.rewriter.names.fresh(f"{built.insert.output.name}_all")
        result = made[slot] = Value(name, None, node, len(node.outputs) + len(made))
        known, shape = built.element.tensor, list(built.element.tensor.shape or ())
        if slot == _COUNTED:
            result.type = TensorType(DType.INT64, (None,))
            entries.append(entry_of(Stacked(0), body_output=inner.const(0, DType.INT64), result=result))
        elif slot.part == -1:  # parts of any size: a tensor that grows
            shape[slot.axis] = 0
            sizes = [int(dim) for dim in shape if isinstance(dim, int)]
            dtype = known.dtype or DType.FLOAT32
            start = op.const(np.zeros(sizes, dtype.numpy), dtype)
            shape[slot.axis] = None
            result.type = TensorType(dtype, tuple(shape))
            grown = inner.input(f"{name}_so_far", result.type)
            parts = (built.element, grown) if slot.reverse else (grown, built.element)
            longer = inner.Concat(*parts, axis=slot.axis, _types=[result.type])
            entries.append(entry_of(Carried(), start, grown, longer, result))
        else:
            if slot.part is None:
                shape.insert(slot.axis, None)
            else:
                shape[slot.axis] = None
            result.type = TensorType(known.dtype, None if known.shape is None else tuple(shape))
            entries.append(entry_of(slot, body_output=built.element, result=result))
    joined = {slot: _with_given(op, value, slot, built) for slot, value in made.items()}
    for user, slot in wanted.items():
        new = _read(op, user, joined[slot])
        graph.replace_uses(user.output, new)
        graph.remove_node(user)
        new.name = user.output.name  # the model may hand it out
    old = built.entry.result
    assert old is None or not graph.uses(old)
    set_entries(graph, node, loop.initial_condition, entries)
    body.remove_node(built.insert)


def _with_given(op: Builder, whole: Value, slot: Stacked, built: _Built) -> Value:
    """The stacked elements together with those the sequence started with."""
    if not built.given:
        return whole
    given = list(built.given)
    if slot == _COUNTED:
        return op.Concat(whole, op.const([0] * len(given)), axis=0)
    if slot.part is None:
        axis = op.const([slot.axis])
        given = [op.Unsqueeze(value, axis) for value in given]
    return op.Concat(*((whole, *given) if slot.reverse else (*given, whole)), axis=slot.axis)


def _read(op: Builder, user: Node, whole: Value) -> Value:
    """What an operator reads from the sequence, from the stack instead."""
    if user.op_type == "SequenceLength":
        first = op.Gather(op.Shape(whole), op.const(0, DType.INT64), axis=0)
        return op.Identity(first, _types=[user.output.tensor])
    if user.op_type == "SequenceAt":
        return taken(op, whole, required(user, 1), 0)
    return op.Identity(whole, _types=[user.output.tensor])


def _concat_given(op: Builder, node: Node) -> bool:
    """ConcatFromSequence of given elements -> Concat."""
    given = _given_elements(node.inputs[0])
    if not given:
        return False
    axis = int(node.attributes.get("axis", 0))
    joined = stack(op, given, axis) if node.attributes.get("new_axis", 0) else op.Concat(*given, axis=axis)
    joined.type = merge(node.output.type, joined.type)
    handed_out = [index for index, value in enumerate(op.graph.outputs) if value is node.output]
    name = node.output.name
    op.graph.replace_uses(node.output, joined)
    op.graph.remove_node(node)
    if handed_out:
        joined.name = name
    return True
