"""What several threads share: locks, which a fork leaves free in the child, and the process's filters of warnings."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
import weakref
from collections.abc import Iterator
from types import TracebackType


class ForkableLock:
    """A lock for `with`. Use it where another thread may fork, and what it guards is sound at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: int | None = None
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._holder = threading.get_ident()

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._holder = None
        self._lock.release()

    def free(self) -> None:
        """Let nobody hold it but the calling thread, which gives it back itself."""
        if self._holder != threading.get_ident():
            self._lock, self._holder = threading.Lock(), None


_ALL: weakref.WeakSet[ForkableLock] = weakref.WeakSet()


def _free_all() -> None:
    for lock in list(_ALL):
        lock.free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)


_FILTERS = ForkableLock()


@contextlib.contextmanager
def without_warnings() -> Iterator[None]:
    """Say no warnings for a short time.

    The filters are the process's own: of two threads that change and restore them, the later one would restore those
    of the other, and nobody would be warned any more.
    """
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
