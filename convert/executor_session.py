"""Our executor as a runtime among the others: a file loaded and raised in a child process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime.compare.coverage import KEY, Coverage, packed
from ..runtime.executor import Executor
from ..runtime.special_values import SpecialValues
from .files import load, to_hub
from .format import import_readers


class ExecutorSession:
    """One loaded file."""

    coarse = False

    def __init__(self, executor: Executor, coverage: Coverage | None = None) -> None:
        self._executor = executor
        self._coverage = coverage

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The outputs by name; our executor has no known faults that a run could show."""
        if self._coverage is not None:
            self._coverage.taken()  # what a run that failed has left
        outputs = dict(self._executor.run(feeds))
        if self._coverage is not None:
            outputs[KEY] = packed(self._coverage.taken())
        return outputs, ""


class WatchSession:
    """One loaded file of which is asked what its operators see."""

    coarse = False

    def __init__(self, watch: SpecialValues) -> None:
        self._watch = watch

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Operator -> kinds of special values among its operands, as an array of strings."""
        return {name: np.array(kinds, object) for name, kinds in self._watch.run(feeds).items()}, ""


def prepare(path: Path, options: Mapping[str, Any]) -> None:
    """Import what a session for such a file needs."""
    import_readers([path], [options.get("format")])


def open_session(path: Path, options: Mapping[str, Any]) -> ExecutorSession | WatchSession:
    """Load a file; `options["format"]` names its format where the suffix doesn't.

    With `options["watch"]` a run gives what its operators see, instead of the outputs. With `options["coverage"]` each
    run also gives what it reached, as JSON, under the name `KEY`.
    """
    graph = to_hub(load(path, options.get("format")))
    if options.get("watch"):
        return WatchSession(SpecialValues(graph))
    coverage = Coverage(graph) if options.get("coverage") else None
    return ExecutorSession(Executor(graph, watch=coverage.watch if coverage else None), coverage)
