"""Loops that a decomposition is made of: a step built once, for the canonical Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..graph import Value
from ..loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from ..rewrite import Builder
from ..types import DType, TensorType
from .matrix import Matrix


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass sees: its number (int64 [1]), the state, its parts of the sequences, the captured arrays."""

    number: Matrix
    state: list[Matrix]
    parts: list[Matrix]
    captured: list[Matrix]


@dataclass(frozen=True, slots=True)
class Made:
    """What one pass leaves: the state, elements to be stacked, and whether to go on."""

    state: Sequence[Matrix]
    stacked: Sequence[Matrix] = ()
    go_on: Matrix | None = None


def iterate(
    op: Builder,
    trips: int,
    step: Callable[[Pass], Made],
    state: Sequence[Matrix],
    sliced: Sequence[tuple[Matrix, Sliced]] = (),
    captured: Sequence[Matrix] = (),
    stacked: Stacked | None = None,
    name: str = "step",
) -> list[Matrix]:
    """`step`, at most `trips` times: the last state, then what was stacked.

    Args:
        sliced: sequences, with the way in which they are walked; each pass gets one element.
        stacked: how the elements that a pass leaves are put together.
    """
    body = op.region(name)

    def entering(x: Matrix, axis: int | None = None) -> Matrix:
        shape = x.shape if axis is None else (*x.shape[:axis], *x.shape[axis + 1 :])
        return Matrix(body, *(body.input(part.name, TensorType(part.tensor.dtype, shape)) for part in x.parts))

    number = Matrix(body, body.input("i", TensorType(DType.INT64, ())))
    arguments = [entering(x) for x in state], [entering(x, way.axis) for x, way in sliced], [*map(entering, captured)]
    made = step(Pass(number.unsqueeze(0), *arguments))
    slots: list[Slot] = [Iteration(), *(Carried() for _ in _parts(state))]
    slots += [way for x, way in sliced for _ in x.parts] + [Captured() for _ in _parts(captured)]
    slots += [stacked for _ in _parts(made.stacked) if stacked is not None]
    body.graph.outputs = _parts([*made.state, *made.stacked])
    if made.go_on is not None:
        slots.append(Condition())
        body.graph.outputs.append(made.go_on.parts[0])
    outside = _parts([*state, *(x for x, _ in sliced), *captured])
    results = iter(op.loop(op.const(trips), None, slots, outside, body.graph))
    return [Matrix(op, *(next(results) for _ in x.parts)) for x in (*made.state, *made.stacked)]


def _parts(arrays: Sequence[Matrix]) -> list[Value]:
    return [part for x in arrays for part in x.parts]
