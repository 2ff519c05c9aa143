"""Two files in one child process that says where they part on a set of inputs.

Feeds: `in/NAME` for each input of the first file. Outputs: `location`, JSON in one text: null or see
`runtime.locate.search.Location.to_json`.

Options: `other`: the second file; `formats`: both formats or None; `memory`: bytes; `seconds`: for one set of inputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.graph import Graph
from ..passes.match.differences import Differences, differences
from ..runtime.compare.matching import match_names, renamed
from ..runtime.locate.search import Location, Search
from .files import load, to_hub
from .format import import_readers
from .proof import matched

INPUT = "in/"


class LocatingSession:
    """Two hub graphs and what belongs together in them."""

    coarse = False

    def __init__(self, a: Graph, b: Graph, memory: int, seconds: float) -> None:
        self._graphs, self._memory, self._seconds = (a, b), memory, seconds
        self._inputs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs])
        self._outputs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs])
        self._together: Differences = differences(matched(a, b))

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Where the two part."""
        found = self.location({name.removeprefix(INPUT): value for name, value in feeds.items()})
        return {"location": np.array([json.dumps(None if found is None else found.to_json())], object)}, ""

    def location(self, feed: Mapping[str, Any]) -> Location | None:
        """Where the two part on inputs of the first."""
        given = renamed(dict(feed), self._inputs.pairs)
        together = self._together
        return Search(
            *self._graphs,
            (feed, given),
            self._outputs.pairs,
            together.pairs,
            together.nodes,
            self._memory,
            self._seconds,
        ).first()


def prepare(path: Path, options: Mapping[str, Any]) -> None:
    """Import what a session for two such files needs."""
    import_readers((path, Path(options["other"])), options["formats"])


def open_session(path: Path, options: Mapping[str, Any]) -> LocatingSession:
    """Load and match both files."""
    formats = options["formats"]
    a, b = to_hub(load(path, formats[0])), to_hub(load(Path(options["other"]), formats[1]))
    return LocatingSession(a, b, options["memory"], options["seconds"])
