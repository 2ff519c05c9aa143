"""Which lines of the package are reached: a mutant that reaches new ones is worth mutating further."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

_TESTS = str(Path(__file__).parents[1])
_ROOT = str(Path(__file__).parents[2])


class Lines:
    """The lines reached so far."""

    def __init__(self) -> None:
        self._seen: set[tuple[Any, int]] = set()
        self.new = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Around one trial: `new` is how many lines it reaches first."""
        before, self.new = len(self._seen), 0
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)
            self.new = len(self._seen) - before

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        return self._line if name.startswith(_ROOT) and not name.startswith(_TESTS) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._seen.add((frame.f_code, frame.f_lineno))
        return self._line
