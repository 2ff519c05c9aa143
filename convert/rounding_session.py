"""Two files in one child process that says how far rounding may carry the outputs of the first.

Feeds: `in/NAME` for each input of the first file, and `ask`: [strong, seed, coarse, milliseconds], integers. 0 for
`strong` asks for `Evidence`, a number of runs for the largest distances under strong noise. Outputs: see
`Evidence.named`; none where there was no time for them.

Options: `other`: the second file; `formats`: both formats or None; `inputs`, `outputs`: names of the first file ->
those of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..runtime.compare.runnables import TimeIsUp, alarm
from ..runtime.wide.evidence import Evidence, Pair
from .files import load, to_hub
from .format import import_readers

INPUT = "in/"


class RoundingSession:
    """Two loaded files."""

    coarse = False

    def __init__(self, pair: Pair) -> None:
        self._pair = pair

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Evidence as named tensors; there are no known faults."""
        inputs = {name.removeprefix(INPUT): value for name, value in feeds.items() if name.startswith(INPUT)}
        strong, seed, coarse, limit = (int(number) for number in feeds["ask"])
        seconds = limit / 1000
        try:
            with alarm(seconds):
                if strong:
                    found = Evidence(self._pair.strong(inputs, seed, bool(coarse), strong, seconds))
                else:
                    found = self._pair.evidence(inputs, seed, bool(coarse))
        except TimeIsUp:
            return {}, ""
        return found.named(), ""


def prepare(path: Path, options: Mapping[str, Any]) -> None:
    """Import what a session for two such files needs."""
    import_readers((path, Path(options["other"])), options["formats"])


def open_session(path: Path, options: Mapping[str, Any]) -> RoundingSession:
    """Load both files."""
    formats = options["formats"]
    a, b = to_hub(load(path, formats[0])), to_hub(load(Path(options["other"]), formats[1]))
    return RoundingSession(Pair(a, b, options["inputs"], options["outputs"]))
