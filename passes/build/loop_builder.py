"""Loops of array expressions: the body is a function of what a pass sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..graph import Value
from ..loop import Captured, Carried, Iteration, Sliced, Slot
from ..rewrite import Builder
from ..types import DType, TensorType, Type, tensor
from .expression import Expr


def loop(
    op: Builder,
    slots: Sequence[Slot],
    operands: Sequence[Expr | Value],
    step: Callable[..., Sequence[Expr]],
    trip: Expr | None = None,
    name: str = "step",
) -> list[Expr]:
    """A canonical Loop (see `passes.loop`): the results of its slots, in order.

    Args:
        operands: what is carried (and stays of its shape), sliced or captured, in the order of these slots.
        step: gets what enters the body, in the order of the slots, and gives what leaves it.
        trip: the greatest number of passes, int64 [].
    """
    body = op.region(name)
    values = [item if isinstance(item, Value) else item.value() for item in operands]
    rest, entered = iter(values), list[Expr]()
    for slot in slots:
        if isinstance(slot, Iteration):
            entered.append(Expr(body, body.input("iteration", tensor(DType.INT64))))
        elif isinstance(slot, Carried | Captured | Sliced):
            value = next(rest)
            entered.append(Expr(body, body.input(value.name, _type_in_body(slot, value))))
    body.graph.outputs = [made.value_in(body) for made in step(*entered)]
    results = op.loop(None if trip is None else trip.value(), None, slots, values, body.graph)
    return [Expr(op, made) for made in results]


def _type_in_body(slot: Slot, value: Value) -> Type | None:
    """The type of what enters the body: of a sequence that of one element."""
    shape = value.tensor.shape
    if not isinstance(slot, Sliced) or slot.part is not None or shape is None:
        return value.type
    axis = slot.axis % len(shape)
    return TensorType(value.tensor.dtype, shape[:axis] + shape[axis + 1 :])
