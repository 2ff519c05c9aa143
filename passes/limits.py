"""Limits on what a file may make of itself.

How much memory the values that a model computes may take is told by `$BACKEDGE_MEMORY` (bytes), which processes that
are started for a model inherit. What stands in files is not counted against it: models of many gigabytes of weights
are ordinary, and so is a multiple of what was read.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

DEEPEST = 100
"""How many regions may stand in each other."""

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

PASSES_A_SECOND = 10_000_000
"""Operators of a loop's body that a runtime runs in a second, at the very best."""

ADDRESS_SPACE = 400 << 20
"""Bytes of addresses that a process takes before it has read a model. NumPy's OpenBLAS ends the process where it gets
less: with exit code 1, or as if by Ctrl-C."""

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")

_stored = 0


def memory() -> int:
    """Bytes that the values which a model computes may take."""
    text = os.environ.get(VARIABLE, "")
    return int(text) if text.isdecimal() else MEMORY


def note_stored(size: int) -> None:
    """Tell that so many bytes of a model stand in a file which is being read."""
    global _stored
    _stored += size


def forget_stored() -> None:
    """Another model is begun with."""
    global _stored
    _stored = 0


def room() -> int:
    """Bytes that work on the models read so far may take beside what was there before, never all of the machine's."""
    given = os.environ.get(_ROOM, "")
    return min(int(given) if given.isdecimal() else memory() + FOLD * _stored, machine_memory() * 3 // 4)


def stored() -> int:
    """Bytes of the models that were read so far."""
    return _stored


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
