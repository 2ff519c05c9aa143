"""Every refusal of a walk over a model, not only the first: for messages.

A walk ends at the first node that the target can't express, since something else may be tried then. Where nothing else
can, the work is done once more inside `collecting()`: walks over the model then go on with a value of the node's type
in the place of what was refused. What they make is of no use.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from .errors import Unsupported

_COLLECTED: ContextVar[list[Unsupported] | None] = ContextVar("collected", default=None)


@contextlib.contextmanager
def collecting() -> Iterator[list[Unsupported]]:
    """What is refused inside, in order, as far as the work goes on behind it."""
    found: list[Unsupported] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


@contextlib.contextmanager
def alternative() -> Iterator[None]:
    """Around work that is done another way where it is refused: its refusals are raised."""
    token = _COLLECTED.set(None)
    try:
        yield
    finally:
        _COLLECTED.reset(token)


@contextlib.contextmanager
def model_walk() -> Iterator[list[Unsupported] | None]:
    """The list that takes up what a walk over a model refuses; None where refusals are raised.

    What rules walk inside (decompositions, bodies that they try) is no part of the model: its refusals are raised.
    """
    found = _COLLECTED.get()
    with alternative():
        yield found


def refuse(refusal: Unsupported) -> None:
    """Raise a refusal, or take it up where they are collected and other reasons can be looked for without harm.

    Raises:
        Unsupported: the refusal.
    """
    found = _COLLECTED.get()
    if found is None:
        raise refusal
    found.append(refusal)


def is_any_collected() -> bool:
    """Whether something was taken up."""
    return bool(_COLLECTED.get())


def raise_collected() -> None:
    """End here where something was taken up: what follows only says the same again.

    Raises:
        Unsupported: the first one.
    """
    found = _COLLECTED.get()
    if found:
        raise found[0]
