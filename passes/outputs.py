"""Files that are written for others: they appear whole or not at all, and replace files only.

What is written stands in a folder beside its target first (`scratch`) and is renamed when it is complete. Links are
followed; modes and owners of files that are replaced are kept. The data is on the disk before the rename, which takes
10 ms, so that a machine that loses its power doesn't leave an empty file in the place of an old one.

A model of several files, whose formats say that they stand side by side under certain names, can't be renamed at once.
For the moment that it takes, the folder that the files come from is their journal:

    .backedge-HASH.put/         HASH: of the model's file name
        lock                    see `scratch`
        files/m.bin, m.xml      what is still to be moved to its place
        old/m.xml, m.bin        what was there
        state                   the sizes and times of both; there from the first move to the last

The old model's file goes first and the new one's comes last: in between a reader that knows nothing of this finds no
model, never one with the other's constants. A process that is killed then leaves the journal, and the next one that
reads or writes the model completes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from .errors import InvalidModel
from .scratch import FILES, JOURNAL, Scratch, in_folder, is_ours, lock, opened, remove, uninterrupted

_OLD, _STATE = "old", "state"
_PATIENCE = 10.0  # seconds for another process to move its files
_PATIENCE_WITH_OTHERS = 1.0  # where we can't tell whether there is a process
_DESCRIPTORS = re.compile(r"/proc/(\d+|self)(/task/\d+)?/fd|/dev/fd")


@contextlib.contextmanager
def writing(target: str | Path) -> Iterator[None]:
    """While a file is written.

    Raises:
        InvalidModel: the system doesn't let us.
    """
    try:
        yield
    except OSError as error:
        raise InvalidModel(f"{target}: {error.strerror or error}") from None


def is_stream(target: Path) -> bool:
    """Whether what is written there goes to somebody as it is written: a pipe, a device, an open file (/dev/stdout)."""
    try:
        mode = os.stat(target).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or (stat.S_ISREG(mode) and _is_descriptor(target))


def _is_descriptor(path: Path) -> bool:
    """Whether links lead to an open file by its number."""
    while path.is_symlink():
        if _DESCRIPTORS.fullmatch(os.path.realpath(path.parent)):
            return True
        path = path.parent / os.readlink(path)
    return False


def place_of(target: Path) -> Path:
    """The file that is written or replaced where `target` is to be: what its links lead to, be it there or not.

    Raises:
        InvalidModel: nothing can be written there, or it is no regular file, which isn't replaced by one.
    """
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    except (OSError, ValueError) as error:  # links in a circle, a name that is too long or has a NUL
        raise InvalidModel(f"{target}: {getattr(error, 'strerror', None) or error}") from None
    if mode is not None and not stat.S_ISREG(mode):
        what = "it is a folder" if stat.S_ISDIR(mode) else "it is no regular file, and isn't replaced by one"
        raise InvalidModel(f"{target}: {what}")
    place = Path(os.path.realpath(target))
    if not place.parent.is_dir():
        raise InvalidModel(f"{target}: no such folder")
    if mode is not None and not os.access(place, os.W_OK):
        raise InvalidModel(f"{target}: this file may not be written to")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise InvalidModel(f"{target}: its folder may not be written to")
    return place


def check_output(target: Path) -> None:
    """
    Raises:
        InvalidModel: `output` certainly can't write there.
    """
    if not is_stream(target):
        place_of(target)
    elif not os.access(target, os.W_OK):
        raise InvalidModel(f"{target}: it may not be written to")


@contextlib.contextmanager
def output(target: Path) -> Iterator[IO[bytes]]:
    """A file to be written, which takes its place when it is complete; a stream is written to as it is.

    Raises:
        InvalidModel: it can't be written.
    """
    with writing(target):
        if is_stream(target):
            with open(target, "wb") as file:
                yield file
            return
        with drafted(target) as draft:
            with draft.path.open("xb") as file:
                yield file
            draft.put()


def write_text(text: str, target: Path) -> None:
    """Text as a file in UTF-8; half a character, as in a file name of another encoding, is written as its number.

    Raises:
        InvalidModel: it can't be written.
    """
    with output(target) as file:
        file.write(text.encode(errors="backslashreplace"))


@contextlib.contextmanager
def drafted(target: Path, lasting: bool = True) -> Iterator[Draft]:
    """A place to write what is to stand at `target`; without `Draft.put` it is gone afterwards.

    Args:
        lasting: whether somebody will want it when the machine has lost its power.

    Raises:
        InvalidModel: nothing can be written there.
    """
    place = place_of(target)
    settle_all(place.parent)
    with opened(place.parent, target, lambda made: (made.path / _STATE).exists()) as made:
        try:
            yield Draft(target, place, made, lasting)
        except InvalidModel as error:  # it names the draft
            files = f"{made.files}{os.sep}"
            text = str(error).replace(f"{files}{place.name}", str(target)).replace(files, "")
            if text == str(error):
                raise
            raise type(error)(text) from error.__cause__


class Draft:
    """What is to take the place of `target`.

    Attributes:
        path: the file to write, under its final name; files that are written beside it go along.
    """

    def __init__(self, target: Path, place: Path, scratch: Scratch, lasting: bool) -> None:
        self._target = target
        self._place = place
        self._scratch = scratch
        self._lasting = lasting
        self.path = scratch.files / place.name

    def put(self) -> None:
        """Let what was written take its place, all files or none.

        Raises:
            InvalidModel: the system doesn't let us, or a file beside the target would replace something else.
        """
        with writing(self._target):
            names = sorted(
                (file.name for file in self.path.parent.iterdir()), key=lambda name: name == self._place.name
            )
            for name in names:
                final = self._place.with_name(name)
                if final.exists() and not final.is_file():
                    raise InvalidModel(f"{final}: it is no regular file, and isn't replaced by one")
                _take_after(self.path.with_name(name), final, self._lasting)
            settle(self._target)
            if len(names) == 1:
                os.replace(self.path, self._place)
                return
            while not self._put_together(names):
                settle(self._target)

    def _put_together(self, names: list[str]) -> bool:
        """Move several files; whether no other process was about to do that."""
        folder = _journal_of(self._place)
        with uninterrupted():
            try:
                os.rename(self._scratch.path, folder)
            except OSError:
                if os.path.lexists(folder):
                    return False
                raise
            self._scratch.path = folder
            (folder / _OLD).mkdir()
            _write_state(folder, names, self._lasting)
            try:
                _complete(folder)
            except OSError:
                _go_back(folder)
                raise
        return True


def settle(target: Path) -> None:
    """Complete what another process was killed at while it moved the files of a model to their places.

    Raises:
        InvalidModel: that isn't possible; the model's files may not belong together.
    """
    try:
        folder = _journal_of(Path(os.path.realpath(target)))
    except (OSError, ValueError):  # there is no such file
        return
    begin = time.monotonic()
    while os.path.lexists(folder):
        may = is_ours(folder) and os.access(folder, os.W_OK) and os.access(folder.parent, os.W_OK)
        if (may and _settle_abandoned(folder)) or not os.path.lexists(folder):
            continue
        if time.monotonic() - begin > (_PATIENCE if may else _PATIENCE_WITH_OTHERS):
            why = (
                "another process is moving its files" if may else "its files aren't all in place, and may not be moved"
            )
            raise InvalidModel(f"{target}: {why} ({folder})")
        time.sleep(0.01)


def settle_all(place: Path) -> None:
    """Complete what processes that are gone were moving to a folder, where that is possible."""
    for folder in in_folder(place):
        if folder.name.endswith(JOURNAL):
            with contextlib.suppress(InvalidModel):
                _settle_abandoned(folder)


def _settle_abandoned(folder: Path) -> bool:
    """Complete the journal of a process that is gone; whether it was one."""
    with uninterrupted():
        held = lock(folder)
        if held is None:
            return False
        try:
            if (folder / _STATE).exists():
                if _is_untouched(folder):
                    try:
                        _complete(folder)
                    except OSError:
                        _go_back(folder)
                else:  # somebody has written these files since: they are theirs
                    os.unlink(folder / _STATE)
        except OSError as error:
            os.close(held)
            raise InvalidModel(f"{folder}: what it holds can't be put in place: {error.strerror or error}") from None
        remove(folder, held)
    return True


# the journal ---------------------------------------------------------------------------------------

_Stamp = list[int]


def _journal_of(place: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]
    return place.parent / f".backedge-{digest}{JOURNAL}"


def _stamp(file: Path) -> _Stamp | None:
    """What tells one content of a file from another, also in a copy of the folder; None where there is none."""
    try:
        found = os.lstat(file)
    except FileNotFoundError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _write_state(folder: Path, names: list[str], lasting: bool) -> None:
    state = {name: [_stamp(folder.parent / name), _stamp(folder / FILES / name)] for name in names}
    draft = folder / f"{_STATE}.part"
    with draft.open("x", encoding="ascii") as file:
        json.dump(state, file)
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    os.rename(draft, folder / _STATE)


def _state(folder: Path) -> dict[str, Any]:
    """Name -> the stamps of the old file and the new one; the model's name is the last.

    Raises:
        OSError: it can't be read.
    """
    try:
        return json.loads((folder / _STATE).read_text(encoding="ascii"))
    except ValueError:
        raise OSError("its state is damaged") from None


def _is_untouched(folder: Path) -> bool:
    """Whether each file in place is the old one, the new one or away."""
    return all(_stamp(folder.parent / name) in (None, *stamps) for name, stamps in _state(folder).items())


def _complete(folder: Path) -> None:
    """Move what is still to be moved; the old model goes first, the new one comes last."""
    *others, model = _state(folder)
    for name in (model, *others):
        final = folder.parent / name
        if (folder / FILES / name).exists() and os.path.lexists(final):
            os.replace(final, folder / _OLD / name)
    for name in (*others, model):
        if (folder / FILES / name).exists():
            os.replace(folder / FILES / name, folder.parent / name)
    os.unlink(folder / _STATE)


def _go_back(folder: Path) -> None:
    """Move all back to where it was before `_complete`."""
    *others, model = _state(folder)
    for name in (model, *others):
        if not (folder / FILES / name).exists():
            os.replace(folder.parent / name, folder / FILES / name)
    for name in (*others, model):
        if os.path.lexists(folder / _OLD / name):
            os.replace(folder / _OLD / name, folder.parent / name)
    os.unlink(folder / _STATE)


def _take_after(draft: Path, final: Path, lasting: bool) -> None:
    """Give a draft the owner and the mode of what it replaces, and have its data on the disk."""
    if lasting:
        with draft.open("rb") as file:
            os.fsync(file.fileno())
    try:
        old = os.stat(final)
    except FileNotFoundError:
        return
    new = os.stat(draft)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        for user, group in ((old.st_uid, old.st_gid), (-1, old.st_gid)):
            with contextlib.suppress(OSError):  # only root gives files away
                os.chown(draft, user, group)
                break
    shutil.copymode(final, draft)
