"""Limits on what a file may make of itself.

How much memory the values that a model computes may take is told by `$BACKEDGE_MEMORY` (bytes), which processes that
are started for a model inherit. What stands in files is not counted against it: models of many gigabytes of weights
are ordinary, and so is a multiple of what was read.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path

DEEPEST = 500
"""How many regions may stand in each other."""

_FRAMES = 50
"""Calls of Python functions, at most, that work on a region in another one takes."""

_ENOUGH = 500
"""Calls that are left to everything else."""

MOST_NODES = 2_000_000
"""Nodes of a model whose functions stand where they are called."""

MOST_COPIES = 200
"""Of each node of a model, on average, that its functions may make where they are called: a tower of functions that
double makes more of a few lines than any model has."""

FEW_NODES = 20_000
"""So many nodes functions may always make."""

MEMORY = 1 << 30
"""Bytes that computed values may take where nobody says otherwise."""

VARIABLE = "BACKEDGE_MEMORY"
"""The environment variable that says otherwise."""

_ROOM = "BACKEDGE_ROOM"
"""Of a process that is started for a model: all that it may take."""

FOLD = 64
"""Bytes that work on a model may take for each byte of its files: a graph is larger than its text, and some steps hold
several of them."""

MOST_AXES = 64
"""Of a NumPy array."""

MOST_ELEMENTS = 1 << 59
"""Of a NumPy array: its bytes are counted in 63 bits, and an axis without elements counts as one there."""

PASSES_A_SECOND = 10_000_000
"""Operators of a loop's body that a runtime runs in a second, at the very best."""

ADDRESS_SPACE = 400 << 20
"""Bytes of addresses that a process takes before it has read a model. NumPy's OpenBLAS ends the process where it gets
less: with exit code 1, or as if by Ctrl-C."""

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


def is_beyond_arrays(shape: Sequence[object]) -> bool:
    """Whether no NumPy array is of a shape, be it of an element type that takes 16 bytes; what is no size counts as
    one."""
    return len(shape) > MOST_AXES or math.prod(size for size in shape if isinstance(size, int) and size) > MOST_ELEMENTS


def allow_calls(depth: int = DEEPEST) -> None:
    """Set Python's limit on calls in each other, which is there against endless recursion, high enough for work on so
    many regions in each other.

    Calls from Python to Python take none of the machine's stack; what else such work calls takes less than 2 KB of it
    for each region.
    """
    needed = _ENOUGH + _FRAMES * depth
    if needed > sys.getrecursionlimit():
        sys.setrecursionlimit(needed)


def memory() -> int:
    """Bytes that the values which a model computes may take."""
    text = os.environ.get(VARIABLE, "")
    return int(text) if text.isdecimal() else MEMORY


_noted: dict[int, int] = {}
"""The bytes of each `FileBytes`, by its number."""
_numbers = itertools.count()
_call: ContextVar[list[FileBytes] | None] = ContextVar("call", default=None)
"""What was read in the call that is worked on."""


class FileBytes:
    """Bytes of a model that stand in files. They count as long as this is there: graphs and constants that were read
    from the files hold it, and the call in which they were read does (see `one_call`)."""

    __slots__ = ("__weakref__", "_number")

    def __init__(self, size: int = 0) -> None:
        self._number = next(_numbers)
        _noted[self._number] = size
        weakref.finalize(self, _noted.pop, self._number, None).atexit = False
        held = _call.get()
        if held is not None:
            held.append(self)

    def add(self, size: int) -> None:
        """So many more."""
        _noted[self._number] = _noted.get(self._number, 0) + size


@contextlib.contextmanager
def one_call() -> Iterator[None]:
    """Until this call ends, all that was read in it counts: a graph may be gone when other processes begin to work on
    its file. Calls in a call are of that one."""
    if _call.get() is not None:
        yield
        return
    token = _call.set([])
    try:
        yield
    finally:
        _call.reset(token)


def forget_stored() -> None:
    """Another model is begun with."""
    _noted.clear()


def room() -> int:
    """Bytes that work on the models that count may take beside what was there before, never all of the machine's."""
    given = os.environ.get(_ROOM, "")
    return min(int(given) if given.isdecimal() else memory() + FOLD * stored(), machine_memory() * 3 // 4)


def stored() -> int:
    """Bytes of the models that were read, as far as they count."""
    return sum(_noted.copy().values())


def for_children() -> dict[str, str]:
    """What the environment of a process that runs a model says of the limits."""
    return {VARIABLE: str(memory()), _ROOM: str(room())}


def too_few_addresses() -> str:
    """What is wrong where the process is limited (`ulimit -v`) to fewer addresses than libraries take; else ""."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return ""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most >= ADDRESS_SPACE:
        return ""
    return f"{told(most)} of addresses (ulimit -v) are too few, {told(ADDRESS_SPACE)} are needed"


def machine_memory() -> int:
    """Bytes of memory that the machine has, or 64 GiB where the system doesn't say."""
    with contextlib.suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 64 << 30


def size_on_disk(path: str | Path) -> int:
    """Bytes of a file; 0 of what is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def told(size: int) -> str:
    """An amount of memory for people: "1.07 GB"."""
    unit, number = 0, float(size)
    while number >= 1000 and unit < len(_UNITS) - 1:
        unit, number = unit + 1, number / 1000
    return f"{number:.3g} {_UNITS[unit]}"
