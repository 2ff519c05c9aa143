"""Two files in one child process that says how far rounding may carry the outputs of the first.

Feeds: `in/NAME` for each input of the first file, and `ask`: [loud, seed, coarse], integers. 0 for `loud` asks for
`Evidence`, a number of runs for the largest distances under loud noise. Outputs, for each output NAME of the first
file, lists of one tensor for each tensor in it: `exact/NAME`, `spread/NAME`, `apart/NAME`, `units/NAME`;
`shape/NAME`: [same shapes, loose]; and `steps`: [how many, forced, spreads apart, exact runs are wider].

Options: `other`: the second file; `formats`: both formats or None; `inputs`, `outputs`: names of the first file ->
those of the second.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..runtime.wide.evidence import Evidence, Output, Pair
from .files import load, to_hub

INPUT = "in/"


class RoundingSession:
    """Two loaded files."""

    coarse = False

    def __init__(self, pair: Pair) -> None:
        self._pair = pair

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Evidence as named tensors; there are no known faults."""
        inputs = {name.removeprefix(INPUT): value for name, value in feeds.items() if name.startswith(INPUT)}
        loud, seed, coarse = (int(number) for number in feeds["ask"])
        if loud:
            found = Evidence(self._pair.loud(inputs, seed, bool(coarse), loud))
        else:
            found = self._pair.evidence(inputs, seed, bool(coarse))
        named = {key: value for name, output in found.outputs.items() for key, value in _named(name, output)}
        steps = [found.steps, found.forced, found.steps_apart, self._pair.is_wider]
        return {**named, "steps": np.array(steps, np.float64)}, ""


def _named(name: str, output: Output) -> list[tuple[str, Any]]:
    return [
        (f"exact/{name}", [_plain(leaf) for leaf in output.exact]),
        (f"spread/{name}", [_plain(leaf) for leaf in output.spread]),
        (f"apart/{name}", [_plain(leaf) for leaf in output.apart]),
        (f"units/{name}", [_plain(leaf) for leaf in output.units]),
        (f"shape/{name}", np.array([output.same_shape, output.loose])),
    ]


def _plain(leaf: Any) -> Any:
    """Longdoubles as float64."""
    if leaf.dtype == np.longdouble:
        return leaf.astype(np.float64)
    return leaf.astype(np.complex128) if leaf.dtype == np.clongdouble else leaf


def open_session(path: Path, options: Mapping[str, Any]) -> RoundingSession:
    """Load both files."""
    formats = options["formats"]
    a, b = to_hub(load(path, formats[0])), to_hub(load(Path(options["other"]), formats[1]))
    return RoundingSession(Pair(a, b, options["inputs"], options["outputs"]))
