"""Our executor on the files of a comparison, each in a process that lives through all that is asked of it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..runtime.compare.coverage import KEY, Records, join, packed_in
from ..runtime.compare.runnables import Asking, Run
from ..runtime.compare.sides import Side
from ..runtime.oracles import ORACLES, Batch, Outcome
from ..runtime.oracles.driver import drive
from .format import format_of
from .sampling_session import packed

EXECUTOR = f"{__package__}.executor_session"
SAMPLING = f"{__package__}.sampling_session"

_CALL_SECONDS = 0.2
_HANG_SECONDS = 3.0
_RESTARTS = 3


def executor_on(
    path: Path, format: str | None, timeout: float, **options: Any
) -> Callable[[Iterable[Batch]], Iterator[Outcome]]:
    """A file on our executor, in a process of its own: compiled loops can't be interrupted any other way.

    Args:
        options: see `executor_session.open_session`.
    """
    given = {"format": format, **options}
    return lambda batches: drive(EXECUTOR, path.absolute(), batches, timeout, 10 * timeout, dict(given))


def sampling_on(
    paths: tuple[Path, Path], formats: tuple[str | None, str | None]
) -> Callable[[tuple[Any, ...], float], Run]:
    """Arguments of `Combined` and seconds for one run -> both files on our executor in one process, and on the runtime
    that they share if it answers as fast; see `sampling_session`."""
    a, b = (format_of(path, format) for path, format in zip(paths, formats, strict=True))
    is_quick = a.is_quick and a.runtime == b.runtime and not any(path.suffix in a.unread for path in paths)

    def sample(arguments: tuple[Any, ...], patience: float) -> Run:
        options = {
            "other": str(paths[1].absolute()),
            "formats": list(formats),
            "runtime": ORACLES[a.runtime].module if is_quick else "",
            "sets": packed(arguments),
            "seconds": _CALL_SECONDS,
            "patience": patience,
        }
        return lambda batches: drive(SAMPLING, paths[0].absolute(), batches, _HANG_SECONDS, math.inf, options)

    return sample


class Asked:
    """One side's executor, asked one set of inputs at a time; all answers are kept."""

    def __init__(self, side: Side, run: Callable[[Iterable[Batch]], Iterator[Outcome]]) -> None:
        self.side = side
        self.known: dict[tuple[int, ...], Outcome] = {}
        self.seen: Records = {}
        self.last: Records = {}
        self._kept: list[Batch] = []  # what is known by identity must stay alive
        self._run = run
        self._asking = Asking(run)
        self._restarts = 0

    def ask(self, batch: Batch) -> Outcome:
        """The outcome; what the run reached is in `last`."""
        outcome = self._asking.ask(batch)
        if outcome.stage == "skipped" and self._restarts < _RESTARTS:  # it hung too often, but not on this one
            self._restarts += 1
            self.close()
            self._asking = Asking(self._run)
            outcome = self._asking.ask(batch)
        self.last = {}
        if outcome.outputs is not None and KEY in outcome.outputs:
            outputs = dict(outcome.outputs)
            self.last = packed_in(outputs.pop(KEY))
            outcome = replace(outcome, outputs=outputs)
        return outcome

    def keep(self, batch: Batch, outcome: Outcome) -> None:
        """Count what this run reached, and have its outcome at hand."""
        join(self.seen, self.last)
        self._kept.append(batch)
        self.known[identity(batch)] = outcome

    def close(self) -> None:
        self._asking.close()


def identity(batch: Batch) -> tuple[int, ...]:
    return tuple(map(id, batch.values()))


def recorded(known: Mapping[tuple[int, ...], Outcome], run: Run) -> Run:
    """What is known for sets of inputs; others are run, one by one."""

    def answer(batches: Iterable[Batch]) -> Iterator[Outcome]:
        with contextlib.ExitStack() as stack:
            asking: Asking | None = None
            for batch in batches:
                outcome = known.get(identity(batch))
                if outcome is None:
                    asking = asking or stack.enter_context(contextlib.closing(Asking(run)))
                    outcome = asking.ask(batch)
                yield outcome

    return answer
