"""What is kept of compiled loops on disk: for each a source, Numba's index and machine code, and a digest of both.

Machine code that was cut off or changed would run all the same, and give anything. What has no digest, or another one,
is removed and made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOST = 256 << 20
"""So many bytes are kept; what was used least recently goes first."""

_DIGEST = ".sha256"
_PREFIX = "loop_"


def stem(key: str) -> str:
    """How the names of a key's files begin."""
    return f"{_PREFIX}{key}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One compiled loop.

    Attributes:
        files: all of its files.
        size: of all of them, in bytes.
        used: when it was made or loaded last, in seconds since 1970.
    """

    files: tuple[Path, ...]
    size: int
    used: float

    def remove(self) -> None:
        """Take its files away, as far as that can be done."""
        for file in self.files:
            with contextlib.suppress(OSError):
                file.unlink()


def is_kept(folder: Path, key: str) -> bool:
    """Whether there seems to be machine code of this key; `is_whole` looks at it."""
    return _digest_of(folder, key).exists()


def is_whole(folder: Path, key: str) -> bool:
    """Whether the machine code of this key is what was written; counts as use."""
    digest = _digest_of(folder, key)
    try:
        if digest.read_text(encoding="ascii") != _digest(folder, key):
            return False
    except (OSError, UnicodeDecodeError):
        return False
    with contextlib.suppress(OSError):  # others' folder
        os.utime(digest)
    return True


def mentions(folder: Path, key: str, name: bytes) -> bool:
    """Whether a symbol's name, or the beginning of one, stands in the machine code of this key."""
    return any(name in file.read_bytes() for file in _code(folder, key))


def discard(folder: Path, key: str) -> bool:
    """Remove the machine code of this key, not its source; whether none is left."""
    for file in (_digest_of(folder, key), *_code(folder, key)):
        with contextlib.suppress(OSError):
            file.unlink()
    return not any(_code(folder, key))


def seal(folder: Path, key: str) -> None:
    """Machine code of this key was written: keep its digest, and remove what is beyond the limit."""
    digest = _digest_of(folder, key)
    with contextlib.suppress(OSError):
        temporary = digest.with_name(f"{digest.name}.{os.getpid()}.tmp")
        temporary.write_text(_digest(folder, key), encoding="ascii")
        temporary.replace(digest)
    _trim(folder, MOST)


def entries(folder: Path) -> list[Entry]:
    """All that is kept there, least recently used first."""
    found = (_entry(folder, path.name[len(_PREFIX) : -len(".py")]) for path in folder.glob(f"{_PREFIX}*.py"))
    return sorted(found, key=lambda entry: entry.used)


def _trim(folder: Path, most: int) -> None:
    kept = entries(folder)
    total = sum(entry.size for entry in kept)
    for entry in kept[:-1]:  # what was just made stays, however large it is
        if total <= most:
            return
        entry.remove()
        total -= entry.size


def _entry(folder: Path, key: str) -> Entry:
    files, size, used = list[Path](), 0, 0.0
    for file in (folder / f"{stem(key)}.py", _digest_of(folder, key), *_code(folder, key)):
        with contextlib.suppress(OSError):  # there is none, or another process removes it
            status = file.stat()
            files.append(file)
            size += status.st_size
            used = max(used, status.st_mtime)
    return Entry(tuple(files), size, used)


def _digest_of(folder: Path, key: str) -> Path:
    return folder / f"{stem(key)}{_DIGEST}"


def _code(folder: Path, key: str) -> Iterator[Path]:
    """Numba's files."""
    yield from sorted((folder / "__pycache__").glob(f"{stem(key)}.*.nb[ic]"))


def _digest(folder: Path, key: str) -> str:
    found = hashlib.sha256()
    for file in _code(folder, key):
        content = file.read_bytes()
        found.update(f"{file.name} {len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()
