"""Two files in one child process that says where they part on a set of inputs.

Feeds: the inputs of the first file. Outputs: `location`, JSON in one text: null or see
`runtime.locate.search.Location.to_json`; `reduced`, if it is asked for: null or see `_written`.

Options: `other`: the second file; `formats`: both formats or None; `memory`: bytes; `seconds`: for one set of inputs;
`into`: a folder for the smallest pair of models that differ as the files do, "" for none.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..passes.errors import BackedgeError
from ..passes.graph import Graph
from ..passes.match.differences import Differences, differences
from ..runtime.compare.matching import match_names, renamed
from ..runtime.locate.extract import Reduced, reduced
from ..runtime.locate.location import Location
from ..runtime.locate.search import Search
from .files import load, to_dialect, to_hub
from .format import FORMATS, Format, format_of, import_readers
from .proof import matched
from .terminal import save_npz

Write = Callable[[Reduced], dict[str, Any]]


class LocatingSession:
    """Two hub graphs and what belongs together in them."""

    coarse = False

    def __init__(self, a: Graph, b: Graph, memory: int, seconds: float, write: Write | None = None) -> None:
        self._graphs, self._memory, self._seconds, self._write = (a, b), memory, seconds, write
        self._inputs = match_names([value.name for value in a.inputs], [value.name for value in b.inputs])
        self._outputs = match_names([value.name for value in a.outputs], [value.name for value in b.outputs])
        self._together: Differences = differences(matched(a, b))

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Where the two part."""
        search = self.search(feeds)
        found = search.first()
        outputs = {"location": None if found is None else found.to_json()}
        if self._write is not None:
            smallest = reduced(search)
            outputs["reduced"] = None if smallest is None else self._write(smallest)
        return {name: np.array([json.dumps(value)], object) for name, value in outputs.items()}, ""

    def location(self, feed: Mapping[str, Any]) -> Location | None:
        """Where the two part on inputs of the first."""
        return self.search(feed).first()

    def search(self, feed: Mapping[str, Any]) -> Search:
        """The search for it."""
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
        )


def prepare(path: Path, options: Mapping[str, Any]) -> None:
    """Import what a session for two such files needs."""
    import_readers((path, Path(options["other"])), options["formats"])


def open_session(path: Path, options: Mapping[str, Any]) -> LocatingSession:
    """Load and match both files."""
    formats = options["formats"]
    paths = path, Path(options["other"])
    graphs = [load(one, format) for one, format in zip(paths, formats, strict=True)]
    write: Write | None = None
    if options["into"]:
        targets = [format_of(one, format) for one, format in zip(paths, formats, strict=True)]
        opsets = [graph.opsets.get("") for graph in graphs]
        write = partial(_written, Path(options["into"]), targets, opsets)
    return LocatingSession(to_hub(graphs[0]), to_hub(graphs[1]), options["memory"], options["seconds"], write)


def _written(
    folder: Path, targets: Sequence[Format], opsets: Sequence[int | None], smallest: Reduced
) -> dict[str, Any]:
    """Write the smallest pair, each model in its own format where it can be said there, else in the first that can.

    {"files": [A's, B's], "formats": [A's, B's], "outputs": [name, name], "operators": [before, after] of A and of B}
    """
    files: list[str] = []
    formats: list[str] = []
    for name, graph, target, opset in zip("ab", smallest.graphs, targets, opsets, strict=True):
        form, made = _first_that_can(graph, [(target, opset), *((one, None) for one in FORMATS.values())])
        file = folder / f"{name}{form.suffixes[0]}"
        form.write(made, file)
        files.append(file.name)
        formats.append(form.name)
    save_npz(smallest.feed, str(folder / "inputs.npz"))
    operators = [list(pair) for pair in zip(smallest.operators, smallest.sizes, strict=True)]
    return {"files": files, "formats": formats, "outputs": list(smallest.outputs), "operators": operators}


def _first_that_can(graph: Graph, forms: Sequence[tuple[Format, int | None]]) -> tuple[Format, Graph]:
    for form, opset in forms:
        with contextlib.suppress(BackedgeError):
            return form, to_dialect(graph.copy(), form, opset, given=True)
    raise AssertionError("no format can say a hub graph")
