"""Python's garbage collector while very many objects are made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_frozen_by_others = False


@contextlib.contextmanager
def bulk() -> Iterator[None]:
    """Pause the garbage collector while very many objects are made (it triples the time otherwise)."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not _is_frozen_by_others():  # all that was made counts as old: the collector needn't look at it at once
            gc.freeze()
            gc.unfreeze()
        gc.enable()


_YOUNG = 10_000


@contextlib.contextmanager
def seldom() -> Iterator[None]:
    """Let the garbage collector look less often, while many objects are made of which some refer to one another and
    aren't kept: its looks at all that there is take a third of the time otherwise."""
    before = gc.get_threshold()
    if 0 < before[0] < _YOUNG:  # 0: it never looks
        gc.set_threshold(_YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _is_frozen_by_others() -> bool:
    """Whether `gc.unfreeze` would undo what others have frozen; once it did, it counts as so for good.

    Python finds the number by walking over all that is frozen, which takes longer than most models do.
    """
    global _frozen_by_others
    _frozen_by_others = _frozen_by_others or gc.get_freeze_count() > 0
    return _frozen_by_others


_MANY = 100_000


def release(nodes: int) -> None:
    """Give back the memory of an unused graph of so many nodes, whose nodes and values refer to one another.

    Of small ones the collector does so by itself.
    """
    if nodes >= _MANY:
        gc.collect()
