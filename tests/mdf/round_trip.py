"""ONNX's node tests through MDF and back, and in MDF's own engine.

    PYTHONPATH=tests python -m mdf.round_trip [--engine] [--match TEXT] [--every N] [--containers json,yaml,bson]

What comes back must be the model that went in, and give the recorded outputs under whatever gives them for the
original. The engine's outputs are compared with the recorded ones as numbers: it has float32 and int64 only.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert import load, save
from backedge.passes.errors import BackedgeError
from corpus.test_round_trip import examine_all
from corpus.wheel import Recorded, same
from opset.judge import RUNTIMES
from opset.releases import GENERATED, cases

from .same_model import same_model

CONTAINERS = ("json", "yaml", "bson")
_ORDER = ("executor", "onnxruntime", "reference")
_SECONDS = 60

RIGHT, UNRUNNABLE = "right", "nothing runs the original"


def round_trip(case: Recorded, folder: Path, container: str) -> str:
    """ "right by" whom, "nothing runs the original", or what is wrong or refused."""
    between, target, plain = folder / f"m.{container}", folder / "back.onnx", folder / "plain.onnx"
    try:
        graph = load(case.path)
        save(graph, plain)
        save(graph, between)
        save(load(between), target)
    except BackedgeError as refusal:
        return f"refused: {refusal}"
    if not same_model(onnx.load(plain), onnx.load(target)):
        return "wrong: another model"
    by = next((name for name in _ORDER if _gives(name, case.path, case)), "")
    if not by:
        return UNRUNNABLE
    return f"{RIGHT} by {by}" if _gives(by, target, case) else f"wrong: {by} gives other values"


def _gives(runtime: str, path: Path, case: Recorded) -> bool:
    """Whether a runtime gives the recorded outputs for the model at `path`, dtypes included."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for inputs, outputs in case.sets():
                got = RUNTIMES[runtime](onnx.load(path), path, inputs)
                if len(got) != len(outputs) or not all(map(same, outputs, got)):
                    return False
    except Exception:  # whatever a runtime says against a model
        return False
    return True


def in_engine(case: Recorded, folder: Path) -> str:
    """ "right", "wrong", or why MDF's engine doesn't run it."""
    from backedge.runtime.oracles.mdf_session import open_session

    path = folder / "m.json"
    try:
        graph = load(case.path)
        save(graph, path)
    except BackedgeError as refusal:
        return f"not written: {refusal}"
    try:
        with np.errstate(all="ignore"):
            session = open_session(path, {})
            for inputs, outputs in case.sets():
                feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
                got, fault = session.run({name: array for name, array in feeds.items() if array is not None})
                if not all(map(same_numbers, outputs, [got[value.name] for value in graph.outputs])):
                    return f"wrong ({fault})"
    except Exception as error:
        return f"refused: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
    return RIGHT


def same_numbers(expected: Any, actual: Any) -> bool:
    """Whether values are the same as far as the engine's types can tell."""
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(map(same_numbers, expected, actual))
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.dtype.kind in "OUS" or expected.shape != actual.shape:
        return same(expected, actual)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    return bool(np.allclose(actual.astype(wide), expected.astype(wide), 1e-3, 1e-5, equal_nan=True))


def limited(examine: Callable[[Recorded, Path], str]) -> Callable[[Recorded, Path], str]:
    """With a time limit, for one case in a process of its own."""

    def ring(*_: Any) -> None:
        raise TimeoutError("no answer")

    def run(case: Recorded, folder: Path) -> str:
        signal.signal(signal.SIGALRM, ring)
        signal.alarm(_SECONDS)
        try:
            return examine(case, folder)
        except TimeoutError:
            return f"refused: no answer in {_SECONDS} s"
        finally:
            signal.alarm(0)

    return run


def sweep(
    chosen: Sequence[Recorded], folder: Path, containers: Iterable[str] = CONTAINERS, engine: bool = False
) -> dict[str, dict[str, str]]:
    """Container (or "engine") -> case -> verdict."""
    if engine:
        return {"engine": examine_all(list(chosen), folder, limited(in_engine))}
    return {
        container: examine_all(
            list(chosen), folder, limited(lambda case, place, kind=container: round_trip(case, place, kind))
        )
        for container in containers
    }


def summary(found: dict[str, str]) -> Counter[str]:
    return Counter(verdict.split(" (")[0].split(":")[0] for verdict in found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--release", default=GENERATED)
    parser.add_argument("--containers", default=",".join(CONTAINERS))
    parser.add_argument("--engine", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="name every case that isn't right")
    options = parser.parse_args()
    chosen = [case for case in cases(options.release) if options.match in case.name][:: options.every]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # runtimes write there what they then raise, too
    with tempfile.TemporaryDirectory() as folder:
        found = sweep(chosen, Path(folder), options.containers.split(","), options.engine)
    for what, verdicts in found.items():
        print(f"{what}: {len(verdicts)} models, {dict(summary(verdicts))}")
        for name, verdict in verdicts.items():
            if verdict.startswith("wrong") or (options.verbose and not verdict.startswith(RIGHT)):
                print(f"    {name}: {verdict}")


if __name__ == "__main__":
    main()
