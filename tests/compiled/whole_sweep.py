"""onnx's node cases compiled as whole graphs: the recorded outputs, and what NumPy's tier gives.

python -m compiled.whole_sweep [--every N] [--match TEXT]      (from the folder tests; half a second a case)
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter

import numpy as np
from backedge.convert import load
from backedge.convert.files import to_hub
from backedge.passes.errors import BackedgeError
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.whole_graph import WholeGraph
from corpus.wheel import Recorded
from opset.releases import GENERATED, cases

_NEARLY = 1e-3, 1e-5
"""How far recorded numbers may be from others', as onnx's own tests have it; NumPy's tier has the right ones closer."""


def judged(case: Recorded) -> str:
    """ "right", "not compiled", or what differs."""
    graph = to_hub(load(case.path))
    plain, whole = Executor(graph, never_compile), WholeGraph(graph)
    names = [value.name for value in graph.inputs]
    outcome = "not compiled"
    for inputs, _ in case.sets():
        if not all(isinstance(array, np.ndarray) and array.dtype != object for array in inputs):
            return outcome
        expected = plain.run(dict(zip(names, inputs, strict=True)))
        if not whole.prepare(inputs):
            return outcome
        found = whole.outputs(inputs)
        if found is None:
            return "declined when it ran"
        outcome = "right"
        for (name, wanted), actual in zip(expected.items(), found, strict=True):
            same = wanted.dtype == actual.dtype and wanted.shape == actual.shape
            if not same or not _close(wanted, actual):
                return f"wrong: {name}"
    return outcome


def _close(wanted: np.ndarray, actual: np.ndarray) -> bool:
    if wanted.dtype.kind in "fV":
        wide = np.float64
        return bool(np.allclose(actual.astype(wide), wanted.astype(wide), *_NEARLY, equal_nan=True))
    return bool(np.array_equal(wanted, actual))


def swept(chosen: list[Recorded]) -> dict[str, str]:
    """Case -> what `judged` says, or why it can't be run at all."""
    found: dict[str, str] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in chosen:
            try:
                found[case.name] = judged(case)
            except BackedgeError as error:
                found[case.name] = f"not run: {error}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--match", default="")
    options = parser.parse_args()
    found = swept([case for case in cases(GENERATED) if options.match in case.name][:: options.every])
    print(dict(Counter(verdict.split(":")[0] for verdict in found.values())))
    for name, verdict in found.items():
        if verdict.startswith(("wrong", "declined")):
            print(f"    {name}: {verdict}")


if __name__ == "__main__":
    main()
