"""The machine code that is kept on disk: a file for each function, named by the hash of all that it depends on.

Machine code that was cut off or changed would run all the same, and give anything; and whoever can write it runs what
they like. So nothing is taken that has another digest than its own, or that another user owns or could have written:
in a folder, or a file, that is a link, that isn't ours, or that others may write. What is damaged is removed.

Files are written under another name and renamed: any number of processes may read, write and remove at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "BACKEDGE_CACHE_MB"
"""The environment variable that says how many million bytes are kept."""

MOST = 256 * 10**6
"""So many bytes are kept where it says nothing; what was used least recently goes first."""

_MAGIC = b"backedge loop 1\n"
_NAME = re.compile(r"loop_[0-9a-f]{32}\.code")
_OURS = re.compile(r"loop_[0-9a-f]{32}\.(?:code(?:\.\w+\.tmp)?|py|sha256|[\w.-]+\.nb[ic])|tmp\w+\.tmp")
"""All that is, or by earlier versions was, written to the folder and `__pycache__` in it."""
_ABANDONED = 3600
"""Seconds after which a file that is still being written never will be."""


class Unusable(Exception):
    """Nothing can be kept in a folder, or taken from it: why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One function's file.

    Attributes:
        path: where it is.
        size: in bytes.
        used: when it was made or loaded last, in seconds since 1970.
    """

    path: Path
    size: int
    used: float

    def remove(self) -> None:
        """Take it away, as far as that can be done."""
        with contextlib.suppress(OSError):
            self.path.unlink()


def most() -> int:
    """How many bytes are kept.

    Raises:
        ValueError: `VARIABLE` isn't a number of million bytes.
    """
    told = os.environ.get(VARIABLE, "")
    if not told:
        return MOST
    if re.fullmatch(r"\d{1,9}(\.\d+)?", told) is None:
        raise ValueError(f"${VARIABLE} is {told!r}, not a number of million bytes")
    return int(float(told) * 10**6)


def check(folder: Path) -> None:
    """See that nobody else can have written to a folder.

    Raises:
        FileNotFoundError: there is none yet.
        Unusable: others may have, or it isn't a folder.
        OSError: it can't be looked at.
    """
    why = _not_ours(folder.lstat(), stat.S_ISDIR, "folder")
    if why:
        raise Unusable(f"{folder} {why}")


def why_unused(folder: Path) -> str:
    """Why nothing is kept in a folder, "" where it can be."""
    try:
        check(folder)
    except FileNotFoundError:
        return ""
    except (OSError, Unusable) as error:
        return str(error)
    return ""


def is_kept(folder: Path, key: str) -> bool:
    """Whether there seems to be machine code of this key; `read` looks at it."""
    try:
        check(folder)
        return _path(folder, key).is_file()
    except (OSError, Unusable):
        return False


def read(folder: Path, key: str) -> bytes | None:
    """The machine code of this key, None where there is none that can be trusted; counts as use.

    Raises:
        Unusable, OSError: see `check`.
    """
    check(folder)
    path = _path(folder, key)
    try:
        content = _content(path)
    except FileNotFoundError:
        return None
    except (OSError, Unusable):
        content = b""
    start = len(_MAGIC) + 32
    if content[:start] != _MAGIC + _digest(key, content[start:]):
        discard(folder, key)
        return None
    with contextlib.suppress(OSError):  # a file system that can't be written
        os.utime(path)
    return content[start:]


def discard(folder: Path, key: str) -> None:
    """Remove the machine code of this key: it is of no use."""
    with contextlib.suppress(OSError):
        _path(folder, key).unlink()


def write(folder: Path, key: str, content: bytes) -> None:
    """Keep the machine code of a key, and remove what is beyond the limit.

    Raises:
        Unusable: others may write to the folder.
        OSError: it can't be written.
        ValueError: see `most`.
    """
    limit = most()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    check(folder)
    path = _path(folder, key)
    handle, temporary = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=folder)  # 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + _digest(key, content))
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _trim(folder, limit)


def entries(folder: Path) -> list[Entry]:
    """All that is kept there, least recently used first."""
    return sorted((one for one in _files(folder) if _NAME.fullmatch(one.path.name)), key=lambda entry: entry.used)


def clear(folder: Path) -> None:
    """Remove all that was ever written to the folder."""
    for one in (*_files(folder), *_files(folder / "__pycache__")):
        one.remove()


def _trim(folder: Path, limit: int) -> None:
    kept, total, now = list[Entry](), 0, time.time()
    for one in (*_files(folder), *_files(folder / "__pycache__")):
        if _NAME.fullmatch(one.path.name):
            kept.append(one)
            total += one.size
        elif one.path.suffix != ".tmp" or now - one.used > _ABANDONED:
            one.remove()
    for entry in sorted(kept, key=lambda entry: entry.used):
        if total <= limit:
            return
        entry.remove()
        total -= entry.size


def _files(folder: Path) -> list[Entry]:
    """What is ours in a folder; nothing where that can't be told, or isn't known to be ours."""
    found: list[Entry] = []
    with contextlib.suppress(OSError, Unusable):
        check(folder)
        for path in folder.iterdir():
            if _OURS.fullmatch(path.name):
                with contextlib.suppress(OSError):  # another process removes it
                    status = path.lstat()
                    found.append(Entry(path, status.st_size, status.st_mtime))
    return found


def _content(path: Path) -> bytes:
    """
    Raises:
        OSError, Unusable: it can't be read, or can't be trusted.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        why = _not_ours(os.fstat(file.fileno()), stat.S_ISREG, "file")
        if why:
            raise Unusable(why)
        return file.read()


def _not_ours(status: os.stat_result, is_kind: Callable[[int], bool], kind: str) -> str:
    """Why somebody else may have written what has this status, "" where nobody has."""
    if not is_kind(status.st_mode):
        return f"isn't a {kind}"
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "may be written by other users" if status.st_mode & 0o022 else ""


def _path(folder: Path, key: str) -> Path:
    return folder / f"loop_{key}.code"


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(f"{key}\0".encode() + content).digest()
