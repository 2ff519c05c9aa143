"""Loading and saving the 1765 node tests of the onnx 1.22.0 wheel changes nothing that anybody could notice.

    python -m pytest -m corpus tests/corpus/test_round_trip.py -s

Each saved file must pass the checker wherever the original does, keep opsets, IR version and interface, and give
the recorded outputs under whichever of ONNX Runtime and onnx's reference gives them for the original.
"""

from __future__ import annotations

import os
import pickle
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from backedge.convert import load, save

from corpus.wheel import Recorded, recorded, same


def _valid(path: Path) -> bool:
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception:
        return False
    return True


def _onnxruntime(path: Path) -> Any:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    return lambda inputs: session.run(None, {k: v for k, v in zip(names, inputs, strict=True) if v is not None})


def _reference(path: Path) -> Any:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(path))
    return lambda inputs: evaluator.run(None, dict(zip(evaluator.input_names, inputs, strict=True)))


def _right(make: Any, path: Path, case: Recorded) -> bool:
    try:
        run = make(path)
        return all(same(expected, _plain(run(inputs))) for inputs, expected in case.sets())
    except Exception:
        return False


def _plain(outputs: Any) -> list[Any]:
    return [
        value.astype(object) if getattr(value, "dtype", None) is not None and value.dtype.kind in "US" else value
        for value in outputs
    ]


def examine(case: Recorded, folder: Path) -> str:
    """How the saved file does: "onnxruntime", "reference", "neither runs the original", or what is wrong."""
    target = folder / "m.onnx"
    save(load(case.path), target)
    old, new = onnx.load(case.path), onnx.load(target)
    if (old.ir_version, list(old.opset_import)) != (new.ir_version, list(new.opset_import)):
        return "wrong: opset or IR version"
    if (list(old.graph.input), list(old.graph.output)) != (list(new.graph.input), list(new.graph.output)):
        return "wrong: interface"
    if _valid(case.path) and not _valid(target):
        return "wrong: invalid"
    for name, make in (("onnxruntime", _onnxruntime), ("reference", _reference)):
        if _right(make, case.path, case):
            return name if _right(make, target, case) else f"wrong: {name} gives other values"
    return "neither runs the original"


def examine_all(
    cases: list[Recorded], folder: Path, examine: Callable[[Recorded, Path], str] = examine
) -> dict[str, str]:
    """In forked processes: what kills one costs one case."""
    found: dict[str, str] = {}
    while len(found) < len(cases):
        rest = [case for case in cases if case.name not in found][:100]
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                with os.fdopen(write, "wb") as pipe, warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for case in rest:
                        pickle.dump((case.name, None), pipe)
                        pipe.flush()
                        pickle.dump((case.name, examine(case, folder)), pipe)
            finally:
                os._exit(0)  # whatever happened: it must not go on as its parent, which removes the folder
        os.close(write)
        last = ""
        with os.fdopen(read, "rb") as pipe:
            while True:
                try:
                    name, outcome = pickle.load(pipe)
                except EOFError:
                    break
                last = name
                if outcome is not None:
                    found[name] = outcome
        os.waitpid(child, 0)
        if last and last not in found:
            found[last] = "neither runs the original"  # it died, original or copy: its runtime's doing
    return found


@pytest.mark.corpus
@pytest.mark.timeout(3000)
def test_nothing_changes(tmp_path: Path) -> None:
    cases = recorded("1.22.0")
    found = examine_all(cases, tmp_path)
    for name, outcome in found.items():
        if outcome not in ("onnxruntime", "reference"):
            print(f"{name}: {outcome}")
    print(Counter(found.values()))
    assert len(found) == 1765
    assert not [name for name, outcome in found.items() if outcome.startswith("wrong")]
