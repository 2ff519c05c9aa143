"""Ids that MDF's engine can evaluate: Python identifiers that mean nothing else there."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection, Iterable

_NOT_IN_IDS = re.compile(r"\W", re.ASCII)
_TAKEN = frozenset(
    [*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "__builtins__", "constant", "math", "numpy", "rng"]
)
_NUMBERS = frozenset({"inf", "infinity", "nan"})  # `float` takes these words, whatever their case


def identifier(name: str, otherwise: str) -> str:
    """A Python identifier like `name`; `otherwise` stands before what begins with a digit, or for nothing."""
    made = _NOT_IN_IDS.sub("_", name)
    if not made or made[0].isdigit():
        made = f"{otherwise}_{made}" if made else otherwise
    return f"{made}_" if made in _TAKEN or made.lower() in _NUMBERS else made


class Ids:
    """Ids of which each is given once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def take(self, name: str, otherwise: str, avoided: Collection[str] = ()) -> str:
        """An id like `name` that is free and none of the avoided: name, name_1, name_2, ..."""
        base = made = identifier(name, otherwise)
        while made in self._taken or made in avoided:
            number = self._next[base] = self._next.get(base, 0) + 1
            made = f"{base}_{number}"
        self._taken.add(made)
        return made
