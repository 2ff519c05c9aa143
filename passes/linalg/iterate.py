"""Loops that a decomposition is made of: a step built once, for the canonical Loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..build import size_scalar
from ..graph import Value
from ..loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from ..rewrite import Builder
from ..sizes import OpenSize, is_below
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
        return Matrix.of(body, *(body.input(value.name, TensorType(x.dtype, shape)) for value in x.values()))

    number = Matrix.of(body, body.input("i", TensorType(DType.INT64, ())))
    arguments = [entering(x) for x in state], [entering(x, way.axis) for x, way in sliced], [*map(entering, captured)]
    made = step(Pass(number.unsqueeze(0), *arguments))
    slots: list[Slot] = [Iteration(), *(Carried() for x in state for _ in x.parts)]
    slots += [way for x, way in sliced for _ in x.parts] + [Captured() for x in captured for _ in x.parts]
    slots += [stacked for x in made.stacked for _ in x.parts if stacked is not None]
    left = [*made.state, *made.stacked]
    if made.go_on is not None:
        slots.append(Condition())
    body.graph.outputs = _values(body, [*left, *(() if made.go_on is None else (made.go_on,))])
    operands = _values(op, [*state, *(x for x, _ in sliced), *captured])
    axis = 0 if stacked is None else stacked.axis
    shapes = [(*x.shape[:axis], trips, *x.shape[axis:]) for x in made.stacked]
    types = [value.type for value in _values(op, state)]
    types += [_stack_type(x, shape, trips) for x, shape in zip(made.stacked, shapes, strict=True) for _ in x.parts]
    results = iter(op.loop(size_scalar(op, trips), None, slots, operands, body.graph, types))
    found = [Matrix.of(op, *(next(results) for _ in x.parts)) for x in left]
    count = len(state)
    return [*found[:count], *(x.reshape(*shape) for x, shape in zip(found[count:], shapes, strict=True))]


def _stack_type(element: Matrix, shape: tuple[int, ...], trips: int) -> TensorType:
    """Where no pass stacks anything, a runtime doesn't know the open sizes of elements: a Reshape says them then."""
    told = is_below(0, trips) or not any(isinstance(size, OpenSize) for size in element.shape)
    return TensorType(element.dtype, shape if told else (None,) * len(shape))


def _values(op: Builder, arrays: Sequence[Matrix]) -> list[Value]:
    """The parts of arrays, one after the other, in the graph of a builder."""
    return [part.value_in(op) for x in arrays for part in x.parts]
