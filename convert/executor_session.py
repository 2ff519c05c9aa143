"""Our executor as a runtime among the others: a file loaded and raised in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime.executor import Executor
from ..runtime.special_values import Watch
from .files import load, to_hub


class ExecutorSession:
    """One loaded file."""

    coarse = False

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The outputs by name; our executor has no known faults that a run could show."""
        return dict(self._executor.run(feeds)), ""


class WatchSession:
    """One loaded file of which is asked what its operators see."""

    coarse = False

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Operator -> kinds of special values among its operands, as an array of strings."""
        return {name: np.array(kinds, object) for name, kinds in self._watch.run(feeds).items()}, ""


def open_session(path: Path, options: Mapping[str, Any]) -> ExecutorSession | WatchSession:
    """Load a file; `options["format"]` names its format where the suffix doesn't.

    With `options["watch"]` a run gives what its operators see, instead of the outputs.
    """
    if options.get("watch"):
        return WatchSession(Watch(to_hub(load(path, options.get("format")))))
    return ExecutorSession(Executor(to_hub(load(path, options.get("format")))))
