"""What a model keeps from pass to pass."""

from __future__ import annotations

from dataclasses import dataclass, field

from .conditions import Key
from .logic import Term
from .numpy.values import Number

Item = Number | tuple[Number, ...] | None
"""A number, the results of a function that has several, or nothing yet."""


@dataclass
class State:
    """What there is between two steps.

    Attributes:
        numbers: what parameters, functions and ports hold.
        counters: what the scheduler counts, and flags.
    """

    numbers: dict[Key, Item] = field(default_factory=dict)
    counters: dict[Key, Term] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.numbers), dict(self.counters))


class Changing(Exception):
    """A value has another type or shape in the first pass than later on."""

    def __init__(self, key: Key, reason: str) -> None:
        self.key = key
        self.reason = reason
        super().__init__(f"{key}: {reason}")


def parts(item: Item) -> tuple[Number, ...]:
    return item if isinstance(item, tuple) else () if item is None else (item,)
