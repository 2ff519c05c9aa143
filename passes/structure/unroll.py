"""A loop of few, certain passes -> its passes one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..build import stack, taken
from ..constant_analysis import static_array, static_truth
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..loop import (
    DOMAIN,
    Captured,
    Carried,
    Condition,
    Entry,
    Iteration,
    Loop,
    Sliced,
    Stacked,
    is_loop,
    part_range,
    trip_count,
)
from ..pipeline import PassResult
from ..preconditions import axis_of, dtype_of, rank_of
from ..rewrite import Builder, Rewriter
from ..tensor import TensorData
from ..types import DType
from .branches import fold_branches

_MOST = 64  # passes


_MOST_NODES = 100_000  # operators of all passes of a loop


@dataclass(frozen=True)
class UnrollLoops:
    """Write out the passes of loops that certainly make no more than `most`; branches that are certain then, too.

    Before::

        y: float32[] = Loop(trip=2, condition=_) {
          carried  a: float32[] = x <- b
          b: float32[] = Exp(a)
        }

    After::

        b: float32[] = Exp(x)
        y: float32[] = Exp(b)

    `notes` takes up which loops were left, and why. The graph is a new one where anything changes.
    """

    most: int = _MOST
    notes: list[str] = field(default_factory=list, compare=False)

    def __call__(self, graph: Graph) -> PassResult:
        count = sum(is_loop(node) for _, node in graph.walk())
        if not count:
            return PassResult(graph, False)
        made = Rewriter(HUB, {(DOMAIN, "Loop"): [self._unroll]}, fallback=Builder.copy).run(graph)
        if sum(is_loop(node) for _, node in made.walk()) == count:
            return PassResult(graph, False)
        return PassResult(fold_branches(made), True)

    def _unroll(self, op: Builder, node: Node) -> Sequence[Value]:
        size = sum(1 for _ in node.regions["body"].walk())
        made = unrolled(op, node, min(self.most, _MOST_NODES // max(size, 1)))
        if made is not None:
            return made
        title = node.name or ", ".join(value.name for value in node.outputs)
        self.notes.append(
            f"the loop {title!r} isn't unrolled: more than {self.most} passes, or an unknown number of them"
        )
        return op.copy(node)


def unrolled(op: Builder, node: Node, most: int = _MOST) -> list[Value] | None:
    """The results of a loop, its passes written out where it stands; None where it isn't certain which there are.

    The trip count, the lengths of what is sliced and, pass by pass, the condition must be known; no more than `most`
    passes.
    """
    loop = Loop(node)
    trips = trip_count(loop, static_array)
    if not trips.bounded:
        return None
    end = most + 1 if trips.most is None else trips.most
    states = {entry.indices: entry.operand for entry in loop.of(Carried)}
    goes_on, condition = loop.initial_condition, loop.condition
    stacks: dict[Entry, list[Value]] = {entry: [] for entry in loop.of(Stacked)}
    done = 0
    while done < end:
        if condition is not None and goes_on is not None:
            known = static_truth(goes_on)
            if known is None:
                return None
            if not known:
                break
        if done == most:
            return None
        arguments: list[Value | None] = []
        for entry in loop.entries:
            if entry.body_input is None:
                continue
            match entry.slot:
                case Iteration():
                    arguments.append(op.const(done, DType.INT64))
                case Condition():
                    arguments.append(op.const(True, DType.BOOL))
                case Carried():
                    arguments.append(states[entry.indices])
                case Captured():
                    arguments.append(entry.operand)
                case Sliced():
                    arguments.append(_part(op, entry, done))
                case Stacked():
                    pass
        given = op.inline(loop.body, arguments)
        for entry in loop.entries:
            if entry.body_output is None:
                continue
            value = given[entry.indices.body_output]
            match entry.slot:
                case Carried():
                    states[entry.indices] = value
                case Stacked():
                    stacks[entry].append(value)
                case _:
                    goes_on = value
        done += 1
    results: list[Value] = []
    for entry in loop.entries:
        if entry.result is None:
            continue
        if isinstance(entry.slot, Stacked):
            if not done:
                return None  # what an empty stack looks like
            results.append(_stack(op, entry.slot, stacks[entry]))
        else:
            last = states[entry.indices]
            assert last is not None
            results.append(last)
    return results


def without_passes(op: Builder, node: Node) -> list[Value]:
    """The results of a loop that never runs: what is carried as it was, empty stacks.

    Raises:
        Unsupported: see `empty_stack`.
    """
    entries = [entry for entry in Loop(node).entries if entry.result is not None]
    return [entry.operand or op.const(empty_stack(node, entry), name="empty") for entry in entries]


def empty_stack(node: Node, entry: Entry) -> TensorData:
    """What a loop stacks that doesn't run; sizes that aren't known are 0.

    Raises:
        Unsupported: the rank or the element type isn't known.
    """
    assert isinstance(entry.slot, Stacked) and entry.body_output is not None
    dtype, part = dtype_of(node, entry.body_output), entry.slot.part
    rank_of(node, entry.body_output)
    shape = [size if isinstance(size, int) else 0 for size in entry.body_output.tensor.shape or ()]
    axis = axis_of(node, entry.slot.axis, len(shape) + (part is None))
    shape[axis : axis + (part is not None)] = [0]
    return TensorData(dtype, tuple(shape), np.zeros(shape, dtype.numpy))


def _part(op: Builder, entry: Entry, number: int) -> Value:
    """Part `number` of what is sliced."""
    slot = entry.slot
    assert isinstance(slot, Sliced) and entry.operand is not None
    length = (entry.operand.tensor.shape or ())[slot.axis]
    assert isinstance(length, int)
    index = part_range(slot, length)[0] + number * slot.stride
    if slot.part is None:
        return taken(op, entry.operand, op.const(index, DType.INT64), slot.axis)
    start = index - slot.part + 1 if slot.reversed else index
    return op.Slice(entry.operand, op.const([start]), op.const([start + slot.part]), op.const([slot.axis]))


def _stack(op: Builder, slot: Stacked, values: Sequence[Value]) -> Value:
    """What the passes gave, as the slot joins it."""
    parts = list(values[::-1] if slot.reverse else values)
    return stack(op, parts, slot.axis) if slot.part is None else op.Concat(*parts, axis=slot.axis)
