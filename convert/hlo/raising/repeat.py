"""Loops that a composite is made of: a step built once, for the canonical Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ....passes.graph import Value
from ....passes.loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType, Type


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass sees: its number (int64), the carried values, its parts of the sequences, the captured values."""

    op: Builder
    number: Value
    carried: list[Value]
    parts: list[Value]
    captured: list[Value]


@dataclass(frozen=True, slots=True)
class Made:
    """What one pass leaves: the carried values, elements to be stacked, and whether to go on."""

    carried: Sequence[Value]
    stacked: Sequence[Value] = ()
    go_on: Value | None = field(default=None)


def repeat(
    op: Builder,
    trips: int,
    step: Callable[[Pass], Made],
    carried: Sequence[Value],
    sliced: Sequence[tuple[Value, Sliced]] = (),
    captured: Sequence[Value] = (),
    stacked: Sequence[Stacked] = (),
    name: str = "step",
) -> list[Value]:
    """`step`, at most `trips` times: the last carried values, then what was stacked.

    Args:
        sliced: sequences, with the way in which they are walked; each pass gets one element.
        stacked: how the elements that a pass leaves are put together.
    """
    body = op.region(name)
    number = body.input("i", TensorType(DType.INT64, ()))
    state = [body.input(value.name, value.type) for value in carried]
    parts = [body.input(value.name, _element(value, walk.axis)) for value, walk in sliced]
    seen = [body.input(value.name, value.type) for value in captured]
    made = step(Pass(body, number, state, parts, seen))
    slots: list[Slot] = [Iteration(), *(Carried() for _ in carried), *(walk for _, walk in sliced)]
    slots += [*(Captured() for _ in captured), *stacked]
    body.graph.outputs = [*made.carried, *made.stacked]
    if made.go_on is not None:
        slots.append(Condition())
        body.graph.outputs.append(made.go_on)
    outside = [*carried, *(value for value, _ in sliced), *captured]
    return list(op.loop(op.const(trips), None, slots, outside, body.graph))


def _element(value: Value, axis: int) -> Type:
    shape = value.tensor.shape or ()
    return TensorType(value.tensor.dtype, (*shape[:axis], *shape[axis + 1 :]))
