"""What is being done at the moment, for whoever shows it: work tells its stages, without knowing who listens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_count, _current, _is_run = 0, "", False
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def stage(text: str, run: bool = False) -> None:
    """Tell that this is begun.

    Args:
        run: it is a run of the model in this process.
    """
    global _count, _current, _is_run
    _count, _current, _is_run = _count + 1, text, run
    listener = _LISTENER.get()
    if listener is not None:
        listener(text)


def begun() -> int:
    """How many stages have begun so far."""
    return _count


def current() -> str:
    """The stage that was begun last; "" before the first."""
    return _current


def is_run() -> bool:
    """Whether the stage is a run of the model in this process."""
    return _is_run


@contextlib.contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the text of each stage that begins."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
