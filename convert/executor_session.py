"""Our executor as a runtime among the others: a file loaded and raised in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..runtime.executor import Executor
from .files import load, to_hub


class ExecutorSession:
    """One loaded file."""

    coarse = False

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The outputs by name; our executor has no known faults that a run could show."""
        return dict(self._executor.run(feeds)), ""


def open_session(path: Path, options: Mapping[str, Any]) -> ExecutorSession:
    """Load a file; `options["format"]` names its format where the suffix doesn't."""
    return ExecutorSession(Executor(to_hub(load(path, options.get("format")))))
