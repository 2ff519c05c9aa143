"""Locks that a fork leaves free in the child, whatever threads it hasn't got were doing."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


class ForkableLock:
    """A lock for `with`. Use it where another thread may fork, and what it guards is sound at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._lock.release()

    def free(self) -> None:
        """Let nobody hold it."""
        self._lock = threading.Lock()


_ALL: weakref.WeakSet[ForkableLock] = weakref.WeakSet()


def _free_all() -> None:
    for lock in list(_ALL):
        lock.free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
