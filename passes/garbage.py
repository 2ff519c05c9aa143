"""Python's garbage collector while very many objects are made."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

_frozen_by_others = False
_YOUNG = 10_000


@dataclass
class _Threshold:
    """Of the collector of the whole process, which threads have in common."""

    raised_by: int = 0
    before: tuple[int, int, int] = (0, 0, 0)


_threshold = _Threshold()
_LOCK = threading.Lock()

if hasattr(os, "register_at_fork"):  # a child of a process that holds it would wait for ever
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


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


@contextlib.contextmanager
def seldom() -> Iterator[None]:
    """Let the garbage collector look less often, while many objects are made of which some refer to one another and
    aren't kept: its looks at all that there is take a third of the time otherwise. The last of several threads that
    are here puts back what the first one found."""
    with _LOCK:
        if not _threshold.raised_by:
            _threshold.before = gc.get_threshold()
            if 0 < _threshold.before[0] < _YOUNG:  # 0: it never looks
                gc.set_threshold(_YOUNG, *_threshold.before[1:])
        _threshold.raised_by += 1
    try:
        yield
    finally:
        with _LOCK:
            _threshold.raised_by -= 1
            if not _threshold.raised_by:
                gc.set_threshold(*_threshold.before)


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
