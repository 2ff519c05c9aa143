"""Where the constants of a module stand in its own file, as bytecode has them: what stands there needn't be copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_LEAST = 1 << 20  # bytes that a search through the file is worth
_BEGINNING = 64
_MOST_MISSES = 3


@dataclass(slots=True)
class ConstantsInFile:
    """Looks for constants in a file's content, in time linear in its size where they stand in the module's order."""

    file: bytes
    _after: int = 0
    _missed: int = 0

    def place(self, elements: np.ndarray[Any, Any]) -> int | None:
        """Where in the file these bytes stand; None where they don't, or it isn't worth to look."""
        if elements.nbytes < _LEAST or self._missed == _MOST_MISSES:
            return None
        beginning = elements[:_BEGINNING].tobytes()
        for first in (self._after, 0):
            found = self.file.find(beginning, first)
            if found >= 0 and self._stands_at(found, elements):
                self._after = found + elements.nbytes
                return found
        self._missed += 1
        return None

    def _stands_at(self, place: int, elements: np.ndarray[Any, Any]) -> bool:
        there = np.frombuffer(self.file, np.uint8)[place : place + elements.nbytes]
        return np.array_equal(there, elements)
