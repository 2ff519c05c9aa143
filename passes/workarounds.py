"""Where a runtime doesn't do what an operator's text says: what is done about it, and the switch that turns it off.

A model that comes from a runtime's format means what its users saw, what the runtime computes; a model that goes there
is written such that the runtime computes what the model means. Each difference is a `Workaround`. `--faithful`
(`faithful=True`) turns them off: files are read as the text of their format says, and operators are written plainly.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

_FAITHFUL: ContextVar[bool] = ContextVar("faithful", default=False)


@dataclass(frozen=True, slots=True)
class Workaround:
    """One fault of a runtime and what stands for the operator because of it.

    Attributes:
        name: what reports and documents call it.
        condition: the operators, with types and values, that it is for.
        fault: what the runtime does with them.
        note: what the report says where it was used.
    """

    name: str
    condition: str
    fault: str
    note: str


def is_faithful() -> bool:
    """Whether the text counts, whatever a runtime makes of it."""
    return _FAITHFUL.get()


@contextlib.contextmanager
def keeping_to_the_text(faithful: bool) -> Iterator[None]:
    """Within this the text counts; False leaves it as it is around."""
    token = _FAITHFUL.set(faithful or _FAITHFUL.get())
    try:
        yield
    finally:
        _FAITHFUL.reset(token)


class Used(Counter[Workaround]):
    """The workarounds of one conversion, with the number of nodes."""

    def take(self, workaround: Workaround) -> bool:
        """Whether a workaround is to be used for a node; it counts then."""
        if is_faithful():
            return False
        self[workaround] += 1
        return True

    def notes(self) -> list[str]:
        """A line for each."""
        return [
            f"{workaround.note} ({count} {'node' if count == 1 else 'nodes'}; not with --faithful)"
            for workaround, count in self.items()
        ]


def table(*workarounds: Workaround) -> Mapping[str, Workaround]:
    """Workarounds by name."""
    return {workaround.name: workaround for workaround in workarounds}
