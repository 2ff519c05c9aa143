"""Folders for work in progress: gone when the work is done, however it ends.

A process that is killed can't remove its own. Each folder has a file that its process keeps locked, so that a lock
which is free tells of a process that is gone: the next process that makes a folder in the same place removes what is
left. Unlike process ids, locks mean the same in all containers that share a file system.

    .backedge-0123456789abcdef/
        lock        locked while the folder is in use
        files/      what is worked on
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from .errors import InvalidModel

try:
    import fcntl
except ImportError:  # not on this system: nothing is known of other processes, and nothing of theirs is removed
    fcntl = None

FILES = "files"
JOURNAL = ".put"
"""The suffix of folders that `outputs` moves files from; it alone knows what is to be done with those."""

_LOCK = "lock"
_PREFIX = "backedge-"
_NAME = re.compile(rf"\.?{_PREFIX}[0-9a-f]{{16}}({re.escape(JOURNAL)})?")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OF_SYSTEM = "no folder for temporary files can be made"
_ATTEMPTS = 3  # where no folder can be locked, on file systems without locks, one serves that isn't

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

_looked_into: set[str] = set()
"""The folders for temporary files where this process has removed what others left."""


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """A moment in which signals that raise exceptions, as Ctrl-C does, wait: what is begun is brought to its end."""
    if threading.current_thread() is not threading.main_thread():  # the exceptions are raised in the main one
        yield
        return
    waiting: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    raising = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in raising:
            signal.signal(number, lambda number, frame: waiting.append(number))
        yield
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)
        if waiting:
            signal.raise_signal(waiting[0])


class Scratch:
    """A folder for work in progress, from which files can be renamed into the folder that it stands in.

    What others left in the same place is removed first.

    Args:
        place: where it stands, under a hidden name; the system's folder for temporary files where left out, which is
            looked through once.

    Attributes:
        path: the folder; whoever renames it changes this, too.

    Raises:
        OSError: it can't be made.
    """

    def __init__(self, place: Path | None = None) -> None:
        name = _PREFIX if place is None else f".{_PREFIX}"
        place = Path(tempfile.gettempdir()) if place is None else place
        if name != _PREFIX or str(place) not in _looked_into:
            _looked_into.add(str(place))
            remove_leftovers(place)
        for _ in range(_ATTEMPTS):
            self.path = place / f"{name}{secrets.token_hex(8)}"
            self.path.mkdir(mode=0o700)
            self._lock = lock(self.path)
            if self._lock is not None:
                break
            remove(self.path, None)  # another process took it for a leftover in the moment before
        self.path.mkdir(mode=0o700, exist_ok=True)
        self.files.mkdir()
        atexit.register(self._at_exit, os.getpid())

    @property
    def files(self) -> Path:
        """The folder to work in."""
        return self.path / FILES

    def close(self) -> None:
        """Remove it."""
        with uninterrupted():
            atexit.unregister(self._at_exit)
            remove(self.path, self._lock)

    def leave(self) -> None:
        """Keep it, for the next process to do with as with one that was left."""
        atexit.unregister(self._at_exit)
        if self._lock is not None:
            os.close(self._lock)

    def _at_exit(self, owner: int) -> None:
        """Remove it when its process ends without coming back to whoever works in it; a process forked from its owner
        doesn't, and what is being moved stays for the next process."""
        if os.getpid() == owner and not self.path.name.endswith(JOURNAL):
            remove(self.path, self._lock)


@contextlib.contextmanager
def opened(
    place: Path | None = None, told: object = _OF_SYSTEM, is_unfinished: Callable[[Scratch], bool] = lambda made: False
) -> Iterator[Scratch]:
    """A folder to work in, removed afterwards.

    Args:
        place: as `Scratch`.
        told: what a message names where none can be made.
        is_unfinished: whether it is left for the next process instead.

    Raises:
        InvalidModel: the system doesn't let us make one.
    """
    made: Scratch | None = None
    try:
        try:
            with uninterrupted():
                made = Scratch(place)
        except OSError as error:
            raise InvalidModel(f"{told}: {error.strerror or error}") from None
        yield made
    finally:
        if made is None:
            pass
        elif is_unfinished(made):
            made.leave()
        else:
            made.close()


@contextlib.contextmanager
def scratch(place: Path | None = None, told: object = _OF_SYSTEM) -> Iterator[Path]:
    """A folder for temporary files; arguments and errors are those of `opened`."""
    with opened(place, told) as made:
        yield made.files


def is_scratch(path: Path) -> bool:
    """Whether a path lies in a folder of this kind."""
    return any(_NAME.fullmatch(part) for part in path.parts)


def in_folder(place: Path) -> list[Path]:
    """The folders of this kind that stand in a folder and are ours; none where it can't be read."""
    found: list[Path] = []
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) and is_ours(Path(entry.path)):
                found.append(Path(entry.path))
    return found


def is_ours(folder: Path) -> bool:
    """Whether a folder belongs to whom this process works for."""
    try:
        return os.name != "posix" or os.lstat(folder).st_uid == os.geteuid()
    except OSError:
        return False


def remove_leftovers(place: Path) -> None:
    """Remove the folders that processes which are gone left in a folder, but for those that files are moved from."""
    for folder in in_folder(place):
        if not folder.name.endswith(JOURNAL):
            held = lock(folder)
            if held is not None:
                remove(folder, held)


def lock(folder: Path) -> int | None:
    """Take a folder for this process.

    Returns:
        The lock, for `remove`; None where another process has it, the folder is gone or there are no locks.
    """
    if fcntl is None:
        return None
    path = folder / _LOCK
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(path)):  # else it was removed before we had the lock
            return handle
    except OSError:
        pass
    os.close(handle)
    return None


def remove(folder: Path, held: int | None) -> None:
    """Remove a folder that this process has locked; what can't be removed is left for the next one."""
    shutil.rmtree(folder / FILES, ignore_errors=True)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != _LOCK:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
    with contextlib.suppress(OSError):
        os.unlink(folder / _LOCK)
    with contextlib.suppress(OSError):
        folder.rmdir()
    if held is not None:
        os.close(held)
