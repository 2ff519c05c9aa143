"""How often a Loop's body runs, as far as it is known, and what is left of a Loop whose body never runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.infer import constant_array
from ....passes.loop import Carried, Loop, Stacked
from ....passes.rewrite import Builder
from ....passes.tensor import TensorData
from .context import is_natural
from .slices import Parts
from .tools import i64, scalar

_MOST_TRIPS = 2**31 - 1  # OpenVINO's CPU counts in int32; with a condition, a larger count is none


@dataclass
class Trips:
    """`limit`: the most passes there can be, i64 [] or a number, None without a limit.

    `entered`: the condition before the first pass. `condition`: whether the body's own can end the loop.
    """

    limit: int | Value | None
    entered: bool | Value
    condition: bool

    @property
    def never(self) -> bool:
        return self.limit == 0 or self.entered is False

    @property
    def certain(self) -> bool:
        """Whether at least one pass is certain."""
        return isinstance(self.limit, int) and self.limit > 0 and self.entered is True


def trips_of(op: Builder, node: Node, loop: Loop, parts: Sequence[Parts]) -> Trips:
    bounds: list[int | Value] = [
        piece.count if isinstance(piece.count, int) else scalar(op, piece.count) for piece in parts
    ]
    if loop.trip is not None:
        stated = loop.trip.array()
        if stated is not None:
            bounds.append(max(0, int(stated.reshape(-1)[0])))
        else:
            trip = scalar(op, loop.trip)
            bounds.append(trip if is_natural(trip) else op.Maximum(trip, i64(op, 0)))
    entry = loop.condition
    entered: bool | Value = True
    goes_on = False
    if entry is not None:
        last = constant_array(entry.leave)
        if last is not None and not last.reshape(-1)[0]:
            bounds.append(1)
        goes_on = last is None and entry.leave is not entry.enter
        first = loop.initial_condition
        known = None if first is None else first.array()
        entered = True if first is None else scalar(op, first) if known is None else bool(known.reshape(-1)[0])
    sizes = [bound for bound in bounds if isinstance(bound, int) and not (goes_on and bound > _MOST_TRIPS)]
    values = [bound for bound in bounds if isinstance(bound, Value)]
    limit: int | Value | None = min(sizes) if sizes else None
    if values and limit != 0:
        values += [] if limit is None else [i64(op, limit)]
        limit = functools.reduce(op.Minimum, values)
    if limit is None and not goes_on:
        raise Unsupported(node, "a loop without an end")
    return Trips(limit, entered, goes_on)


def nothing(node: Node, op: Builder, loop: Loop) -> list[Value]:
    """The results of a loop that never runs: the initial values, and empty stacks."""
    results: list[Value] = []
    for entry in loop.entries:
        if isinstance(entry.slot, Carried):
            assert entry.outside is not None
            results.append(entry.outside)
        elif isinstance(entry.slot, Stacked):
            assert entry.result is not None
            dtype, shape = entry.result.tensor.dtype, entry.result.tensor.shape
            if dtype is None or shape is None:
                raise Unsupported(node, f"the loop never runs, and the type of {entry.result.name!r} isn't known")
            dims = [dim if isinstance(dim, int) else 0 for dim in shape]
            dims[entry.slot.axis] = 0
            results.append(op.const(TensorData(dtype, tuple(dims), np.zeros(dims, dtype.numpy)), name="empty"))
    return results
