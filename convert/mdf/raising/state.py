"""What a model keeps from pass to pass: numbers; flags and counters, computed at once where they are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....passes.graph import Value
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder
from ....passes.types import DType
from .conditions import Key
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


def like(item: Item, numbers: Sequence[Number]) -> Item:
    """Numbers in the form of an item: several, or the one."""
    return tuple(numbers) if isinstance(item, tuple) else numbers[0]


def have_one_form(a: Sequence[Number], b: Sequence[Number], opens: bool) -> bool:
    """Whether items have one rank and one shape; where sizes may be open, those of arrays may differ."""

    def form(number: Number) -> tuple[object, int]:
        return (number.rank if opens and not number.listed else number.sizes), number.listed

    return list(map(form, a)) == list(map(form, b))


Term = bool | int | Value
"""A flag (bool []) or a counter (int64 []): a Python one is known."""

_FAR = 1 << 62  # no counter gets there

_SIGNS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "<": ("Less", lambda a, b: a < b),
    "<=": ("LessOrEqual", lambda a, b: a <= b),
    ">": ("Greater", lambda a, b: a > b),
    ">=": ("GreaterOrEqual", lambda a, b: a >= b),
    "==": ("Equal", lambda a, b: a == b),
}


def is_flag(term: Term) -> bool:
    return term.tensor.dtype is DType.BOOL if isinstance(term, Value) else isinstance(term, bool)


class Logic:
    """What can be done with terms. Without a builder every term must be known.

    The same question asked twice has the same answer, the same value.
    """

    def __init__(self, op: Builder | None = None) -> None:
        self._op = op
        self._made: dict[tuple[object, ...], Term] = {}

    def both(self, a: Term, b: Term) -> Term:
        if a is False or b is False:
            return False
        if a is True or b is a:
            return b
        return a if b is True else self._make("And", a, b)

    def either(self, a: Term, b: Term) -> Term:
        if a is True or b is True:
            return True
        if a is False or b is a:
            return b
        return a if b is False else self._make("Or", a, b)

    def negate(self, a: Term) -> Term:
        if not isinstance(a, Value):
            return not a
        if a.producer is not None and a.producer.op_type == "Not" and a.producer.inputs[0] is not None:
            return a.producer.inputs[0]
        return self._make("Not", a)

    def compare(self, a: Term, sign: str, number: float) -> Term:
        """Whether a counter stands so to a number."""
        name, holds = _SIGNS[sign]
        if not isinstance(a, Value):
            return holds(a, number)
        if math.isnan(number) or abs(number) >= _FAR:
            return holds(0, number)
        if sign == "==" and number != math.floor(number):
            return False
        whole = math.ceil(number) if sign in ("<", ">=") else math.floor(number)
        return self._make(name, a, whole)

    def every(self, a: Term, number: int, rest: int = 0) -> Term:
        """Whether a counter leaves a rest when divided by a number."""
        if not isinstance(a, Value):
            return a % number == rest
        return self._make("Equal", self._make("Mod", a, number), rest)

    def add(self, a: Term, b: Term) -> Term:
        """A counter and another, or a flag as 0 or 1."""
        if not isinstance(a, Value) and not isinstance(b, Value):
            return int(a) + int(b)
        if isinstance(b, Value) and is_flag(b):
            b = self._make("Cast", b, to=ENUMS[DType.INT64])
        if isinstance(a, Value) and not isinstance(b, Value) and not b:
            return a
        if isinstance(b, Value) and not isinstance(a, Value) and not a:
            return b
        return self._make("Add", a, int(b) if isinstance(b, bool) else b)

    def select(self, flag: Term, a: Term, b: Term) -> Term:
        """`a` where the flag is set, else `b`: two counters, or two flags."""
        if not isinstance(flag, Value):
            return a if flag else b
        if a is b or (not isinstance(a, Value) and not isinstance(b, Value) and a == b):
            return a
        if is_flag(a):
            return self.either(self.both(flag, a), self.both(self.negate(flag), b))
        return self._make("Where", flag, a, b)

    def value(self, term: Term) -> Value:
        """The term as a value of the graph."""
        if isinstance(term, Value):
            return term
        op, dtype = self._op, DType.BOOL if isinstance(term, bool) else DType.INT64
        assert op is not None, "a term that isn't known"
        made = self.once(("const", dtype, term), lambda: op.const(term, dtype))
        assert isinstance(made, Value)
        return made

    def once(self, key: tuple[object, ...], make: Callable[[], Term]) -> Term:
        """What was made under this key before, or is now."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _make(self, name: str, *terms: Term, **attributes: Any) -> Term:
        op = self._op
        assert op is not None, "a term that isn't known"
        key = (name, *(term if isinstance(term, Value) else (type(term), term) for term in terms))
        return self.once(key, lambda: op.call(name, *(self.value(term) for term in terms), **attributes))
