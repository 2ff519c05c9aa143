"""Random MDF graphs on the ways to other formats and back, run in each format's own runtime; MDF's engine is the judge.

python -m fuzz.mdf_graphs --count N [--seed S] [--targets onnx,ir,hlo,function,stateful] [--minutes M]

(from the folder tests). The graphs are those of `mdf.differ`, which holds our reading of them alone against the engine.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.passes.errors import Unsupported
from backedge.runtime.oracles.mdf_names import interface
from mdf.engine import Endless, Tree, engine, same
from mdf.random_models import feeds, model

from .by_seed import main
from .judging import Event, told
from .running import Ours, run_file, run_in

TARGETS: dict[str, dict[str, Any]] = {
    "onnx": {"to": "made.onnx"},
    "ir": {"to": "made.xml"},
    "hlo": {"to": "made.hlo"},
    "function": {"to": "function.json", "mdf_style": "function"},
    "stateful": {"to": "stateful.json", "mdf_style": "stateful"},
}
RUNTIMES = {"onnx": "onnxruntime", "ir": "openvino", "hlo": "xla", "stateful": "mdf"}


def of_seed(seed: int) -> tuple[Tree, dict[str, Any]]:
    """A graph and what its inputs are fed."""
    tree, fed = model(seed)
    inputs = interface(tree).inputs
    shapes = [(one.name, one.type, tuple(size for size in one.shape if isinstance(size, int))) for one in inputs]
    return tree, {**feeds(seed, shapes), **fed}


def examine(seed: int, targets: Sequence[str]) -> Iterator[Event]:
    """What is seen of the graph of a seed."""
    yield Event("source", "")
    tree, fed = of_seed(seed)
    try:
        wanted = engine(tree, fed)
    except (Endless, Exception) as error:
        yield Event("source", "no truth", type(error).__name__)
        return
    if not wanted or any(value is None for value in wanted.values()):
        yield Event("source", "no truth", "an output is None")
        return
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        source = Path(name) / "source.json"
        source.write_text(json.dumps(tree))
        for target in targets:
            yield Event(target, "")
            yield from _path(target, source, Path(name), fed, wanted)


def _path(
    target: str, source: Path, folder: Path, fed: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Iterator[Event]:
    options = dict(TARGETS[target])
    made, back = folder / options.pop("to"), folder / f"{target}-back.onnx"
    for where, given, to, more in ((target, source, made, options), (f"{target}, back", made, back, {})):
        try:
            convert(given, to, verify=0, **more)
            hub = to_hub(load(to))
        except Unsupported as error:
            yield Event(where, "refused", told(error))
            return
        except Exception as error:
            yield Event(where, "crashed", told(error))
            return
        names = {value.name for value in hub.inputs}
        feed = {name: np.asarray(value) for name, value in fed.items() if name in names}
        runtime = RUNTIMES.get(target if to is made else "onnx", "")
        runs = {"executor": run_in(Ours(hub), [feed])}
        if runtime:
            runs[runtime] = run_file(runtime, to, [feed], [value.name for value in hub.outputs])
        for who, run in runs.items():
            yield _judged(where, who, run, [value.name for value in hub.outputs], wanted)


def _judged(where: str, who: str, run: Any, names: Sequence[str], wanted: Mapping[str, Any]) -> Event:
    found = run.outputs[0]
    if run.refused or found is None:
        told = run.refused or run.errors[0]
        theirs = told.startswith("fault") or run.coarse or "NOT_IMPLEMENTED" in told
        return Event(where, "fault" if theirs else "not run", f"{who}: {told}")
    for name, value in zip(names, found, strict=False):
        if name in wanted and not same(np.asarray(value), wanted[name]) and not _close(value, wanted[name], run.coarse):
            return Event(where, "wrong", f"{who}: {name}: {value}, not {wanted[name]}")
    return Event(where, f"fine in {who}")


def _close(found: Any, wanted: Any, coarse: bool) -> bool:
    """Whether float32 explains it, where a runtime computes in that."""
    a, b = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    return coarse and a.shape == b.shape and np.allclose(a, b, 1e-4, 1e-5, equal_nan=True)


if __name__ == "__main__":
    main(__doc__, "graphs", examine, TARGETS)
