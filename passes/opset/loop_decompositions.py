"""Loops that decompositions build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..constants import small_constant
from ..graph import Node, Value
from ..types import DType, TensorType, Type
from .build import StepBuilder

_NUMBER, _CONDITION = TensorType(DType.INT64, ()), TensorType(DType.BOOL, ())


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of a loop as its body sees it."""

    op: StepBuilder
    turn: Value
    """How many passes there were before, an int64 scalar."""
    go_on: Value
    """The condition under which it takes place, a bool scalar."""
    states: list[Value]
    seen: list[Value]


Fill = Callable[[Pass], tuple[Value | None, Sequence[Value]]]
"""What a pass makes: the condition of the next one (None: none but the number of passes), then the states that it
hands on and, behind them, what is stacked."""


def looped(
    op: StepBuilder,
    trips: Value | None,
    states: Sequence[Value | None],
    seen: Sequence[Value | None],
    fill: Fill,
    *,
    start: Value | None = None,
    types: Sequence[Type | None] | None = None,
) -> list[Value]:
    """A Loop-1, which every opset has; it gets a state where it would have none, which that version doesn't take.

    Args:
        trips: how many passes there are at most, an int64 scalar; None: as many as the condition says.
        states: what is handed from pass to pass, as it is before the first.
        seen: what the body sees of the graph around.
        start: the condition of the first pass, a bool scalar; None: there is one.
        types: of the states in every pass; None: as they are before the first.

    Returns:
        The states after the last pass, then what was stacked, along a new first axis.
    """
    kinds = list(types) if types is not None else [None if value is None else value.type for value in states]
    body = op.region("body")
    turn, go_on = body.input("turn", _NUMBER), body.input("go_on", _CONDITION)
    inner = [body.input("state", type) for type in kinds]
    idle = [] if inner else [body.input("idle", _NUMBER)]
    views = [body.input("seen", None if value is None else value.type) for value in seen]
    for view, outer in zip(views, seen, strict=True):
        view.data = small_constant(outer)  # adapters inside may ask for it
    more, made = fill(Pass(body, turn, go_on, inner, views))
    outputs: list[Value] = []
    for value in (body.const(True, DType.BOOL) if more is None else more, *idle, *made):
        is_made_here = value.producer is not None and value not in outputs
        outputs.append(value if is_made_here else body.Identity(value, _types=[value.type]))
    body.graph.outputs = outputs
    for view in views:
        view.data = None
    loop = Node("", "Loop", 1)
    loop.regions["body"] = body.graph
    loop.captured = len(seen)
    first = op.const(True, DType.BOOL) if start is None else start
    before = [*states, *(op.const(0) for _ in idle)]
    after = [*(kinds or [_NUMBER]), *(_stacked(value) for value in made[len(states) :])]
    results = op.insert(loop, [trips, first, *before, *seen], {}, len(after), after)
    found = [results] if isinstance(results, Value) else list(results)
    return found[len(idle) :]


def _stacked(value: Value) -> TensorType:
    shape = value.tensor.shape
    return TensorType(value.tensor.dtype, None if shape is None else (None, *shape))
