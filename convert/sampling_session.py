"""Two files in one child process, which tells on which of very many sets of inputs they differ.

Feeds: `from` and `to`, integers: numbers of sets of `Combined`. Outputs: `next`, the number to go on with, which is
below `to` where time was up; `numbers` of the sets on which the first file has results and the second has others or
fails; `ways` in which it does, a text each.

Options: `other`: the second file; `formats`: both formats or None; `runtime`: module of a runtime that is asked beside
our executor, "" for none; `sets`: the arguments of `Combined`, see `packed`; `seconds`: time for one call; `patience`:
seconds for one run, loops aren't compiled so that it can be broken off.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime import oracles
from ..runtime.compare.combined import Combined, are_apart
from ..runtime.compare.matching import match_names, renamed
from ..runtime.compare.runnables import TimeIsUp, alarm
from ..runtime.executor import Executor, never_compile
from ..runtime.oracles import Batch, Values
from ..runtime.oracles.session import Session
from .executor_session import ExecutorSession
from .files import load, to_hub
from .format import import_readers

_ENDLESS = "doesn't end"
ENDLESS = f"executor: {_ENDLESS}"


class SamplingSession:
    """Two loaded files, each on the same runnables.

    Args:
        pairs: our executor on both first, then the runtime that they share.
        inputs, outputs: names of the first file -> those of the second.
        set_of: number -> inputs of the first file.
        seconds: time for one call.
        patience: time for one run, in seconds.
    """

    coarse = False

    def __init__(
        self,
        pairs: list[tuple[str, Session, Session]],
        inputs: Mapping[str, str],
        outputs: Mapping[str, str],
        set_of: Callable[[int], Batch],
        seconds: float,
        patience: float,
    ) -> None:
        self._pairs, self._inputs, self._seconds, self._patience = pairs, inputs, seconds, patience
        self._outputs = {twin: name for name, twin in outputs.items()}
        self._set_of = set_of

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The numbers of the sets that tell the files apart."""
        end = time.monotonic() + self._seconds
        numbers: list[int] = []
        ways: list[str] = []
        number, last = int(feeds["from"]), int(feeds["to"])
        while number < last and time.monotonic() < end:
            way = "; ".join(self._ways(self._set_of(number)))
            if way:
                numbers.append(number)
                ways.append(way)
            number += 1
        return {"next": np.array(number), "numbers": np.array(numbers, np.int64), "ways": np.array(ways, object)}, ""

    def _ways(self, inputs: Batch) -> Iterator[str]:
        """How the results of each runnable differ. Where our executor has none of the first file, nothing is asked."""
        given = renamed(inputs, self._inputs)
        for place, (name, a, b) in enumerate(self._pairs):
            expected = _answer(a, inputs, self._patience)
            if isinstance(expected, str):
                if not place:
                    return
                continue
            actual = _answer(b, given, self._patience)
            if actual == _ENDLESS and place:
                continue  # a runtime may be slow
            way = actual if isinstance(actual, str) else are_apart(expected, renamed(actual, self._outputs))
            if way:
                yield f"{name}: {way}"
            if way == _ENDLESS:
                return


def _answer(session: Session, inputs: Batch, patience: float) -> dict[str, Values] | str:
    """The outputs, or why there are none."""
    start = time.monotonic()
    try:
        with alarm(patience):
            outputs, fault = session.run(inputs)
    except (Exception, TimeIsUp):
        return "fails" if time.monotonic() - start < patience else _ENDLESS
    return outputs if not fault else "fails"


def prepare(path: Path, options: Mapping[str, Any]) -> None:
    """Import what a session for two such files needs."""
    import_readers((path, Path(options["other"])), options["formats"])


def open_session(path: Path, options: Mapping[str, Any]) -> SamplingSession:
    """Load both files.

    Raises:
        Unsupported: our executor can't run one of them.
    """
    paths = path, Path(options["other"])
    a, b = (to_hub(load(one, format)) for one, format in zip(paths, options["formats"], strict=True))
    pairs: list[tuple[str, Session, Session]] = [
        ("executor", ExecutorSession(Executor(a, never_compile)), ExecutorSession(Executor(b, never_compile)))
    ]
    if options["runtime"]:
        module = importlib.import_module(f"{oracles.__name__}.{options['runtime']}")
        with contextlib.suppress(Exception):  # the comparison says what it refuses
            limited = (module.open_session(one, {"seconds": options["patience"]}) for one in paths)
            pairs.append((options["runtime"], *limited))
    inputs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs]).pairs
    outputs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs]).pairs
    sets = Combined(*pickle.loads(base64.b64decode(options["sets"])))
    limits = options["seconds"], options["patience"]
    return SamplingSession(pairs, inputs, outputs, lambda number: sets.set(number).inputs, *limits)


def packed(arguments: tuple[Any, ...]) -> str:
    """The arguments of `Combined` as an option."""
    return base64.b64encode(pickle.dumps(arguments)).decode()
