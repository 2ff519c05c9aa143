"""Every node case that ONNX ships: raised, lowered, run in OpenVINO, compared with the recorded outputs.

python -m openvino_lowering.sweep [part of a name ...]      (from the folder tests)
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.write import write
from backedge.passes.errors import BackedgeError

from .runner import Runner

RAISED, LOWERED, RAN, RIGHT = "not raised", "refused", "not run", "right"
WRONG = "wrong"


@dataclass(frozen=True)
class Verdict:
    """How far a case came, and why not further."""

    name: str
    stage: str
    reason: str = ""


def node_cases() -> Iterator[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in collect_testcases(None):
            if case.model is not None:
                yield case


def plain(value: Any) -> Any:
    """A recorded value as an array."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


TOLERANCES = {"bfloat16": 2e-2, "float16": 2e-3}


def difference(found: Any, wanted: Any, rtol: float, atol: float) -> str:
    """What is wrong with an output; "" if nothing is."""
    wanted = np.asarray(wanted)
    if found.shape != wanted.shape:
        return f"shape {list(found.shape)}, not {list(wanted.shape)}"
    if found.dtype != wanted.dtype:
        return f"type {found.dtype}, not {wanted.dtype}"
    exact = found.dtype.kind in "biu"
    a, b = (array if exact else array.astype(np.float64) for array in (found, wanted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limit = max(rtol, TOLERANCES.get(str(wanted.dtype), 0))
        scale = 0 if exact else np.abs(b[np.isfinite(b)]).max(initial=0)
        same = a == b if exact else np.isclose(a, b, limit, max(atol, limit * 1e-3 * scale), equal_nan=True)
    if same.all():
        return ""
    return f"{(~same).sum()} of {same.size}: {a[~same][:3]}, not {b[~same][:3]}"


def judge(case: Any, runner: Runner, folder: Path) -> Verdict:
    model: onnx.ModelProto = case.model
    try:
        graph = raise_graph(read_model(model))
    except BackedgeError as error:
        return Verdict(case.name, RAISED, str(error))
    try:
        path = folder / "model.xml"
        write(lower_graph(graph), path)
    except BackedgeError as error:
        return Verdict(case.name, LOWERED, str(error))
    names = [value.name for value in model.graph.input]
    for inputs, outputs in case.data_sets:
        feeds = {name: plain(value) for name, value in zip(names, inputs, strict=False)}
        try:
            (made,) = runner.run(path, [feeds], timeout=30)
        except (RuntimeError, TimeoutError) as error:
            return Verdict(case.name, RAN, str(error))
        for found, wanted in zip(made, outputs, strict=True):
            wrong = difference(found, plain(wanted), max(case.rtol, 1e-3), max(case.atol, 1e-6))
            if wrong:
                return Verdict(case.name, WRONG, wrong)
    return Verdict(case.name, RIGHT)


def sweep(parts: list[str] | None = None) -> list[Verdict]:
    runner = Runner()
    verdicts = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in node_cases():
                if not parts or any(part in case.name for part in parts):
                    verdicts.append(judge(case, runner, Path(folder)))
    finally:
        runner.close()
    return verdicts


def main() -> None:
    verdicts = sweep(sys.argv[1:])
    for verdict in verdicts:
        if verdict.stage != RIGHT:
            print(f"{verdict.stage:11} {verdict.name}: {verdict.reason[:200]}")
    counts = Counter(verdict.stage for verdict in verdicts)
    print(len(verdicts), "cases:", ", ".join(f"{count} {stage}" for stage, count in counts.most_common()))


if __name__ == "__main__":
    main()
