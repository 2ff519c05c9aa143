"""Whether a file is still what it was: a model may be written anew while it is read, or while it is worked on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file was at a moment."""

    path: Path
    _then: os.stat_result

    @staticmethod
    def of(path: Path, opened: int | None = None) -> FileState:
        """What it is now.

        Args:
            opened: the descriptor of what was opened under its name, which then is looked at.

        Raises:
            OSError: there is none.
        """
        return FileState(path, _stat(path, opened))

    @property
    def size(self) -> int:
        """Bytes."""
        return self._then.st_size

    def change(self, opened: int | None = None) -> str:
        """What has become of it: "changed" in its place, "replaced" by another file; "" where nothing has.

        Args:
            opened: as for `of`.
        """
        try:
            now = _stat(self.path, opened)
        except OSError:
            return "replaced"
        if not os.path.samestat(self._then, now):
            return "replaced"
        same = (now.st_size, now.st_mtime_ns) == (self._then.st_size, self._then.st_mtime_ns)
        return "" if same else "changed"


def _stat(path: Path, opened: int | None) -> os.stat_result:
    return path.stat() if opened is None else os.fstat(opened)
