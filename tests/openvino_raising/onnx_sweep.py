"""How much of what OpenVINO writes becomes ONNX that is valid and computes the same: a report.

    cd tests; python -m openvino_raising.onnx_sweep [FOLDER] [SOURCE ...] [--opset N] [--only PART ...]

SOURCE as in `make_ir.py`: "nodes" (the default), "catalogue", "built_x", "built_x+dynamic". Only models count that
OpenVINO itself runs right: where a case comes with expected values, OpenVINO's own numbers equal them. ONNX Runtime is
asked first; where it can't run a model, onnx's reference evaluator is, then our executor.
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.check import objection
from backedge.convert.onnx.lowering import DEFAULT_OPSET
from backedge.convert.onnx.write import write
from backedge.convert.openvino.read import read
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from openvino_lowering.sweep import difference
from openvino_lowering.worker import Worker

from .corpus import numbers
from .sweep import made_by_openvino

RIGHT, REFUSED, INVALID, DIFFERENT, UNRUNNABLE = "right", "refused", "invalid", "different", "unrunnable"
ORACLE = "OpenVINO itself differs"

RUNTIMES = {
    "onnxruntime": "backedge.runtime.oracles.onnxruntime_session",
    "reference": "backedge.runtime.oracles.reference_session",
    "executor": "backedge.convert.executor_session",
}
RTOL, ATOL = 1e-3, 1e-6
_SECONDS = 120  # making a process included, on a machine that has other things to do


def _outputs(module: str, path: Path, feeds: dict[str, Any]) -> list[Any]:
    """What a runtime computes; its known fault, where the model shows one, is an error."""
    found, fault = importlib.import_module(module).open_session(path, {}).run(feeds)
    if fault:
        raise RuntimeError(fault)
    return list(found.values())


@dataclass(frozen=True)
class Verdict:
    """What became of a model: `by` is the runtime that had its say, `nodes` the size of the ONNX model."""

    name: str
    kind: str
    reason: str = ""
    by: str = ""
    nodes: int = 0


class Judge:
    """Judges IR files; keeps each runtime in a process."""

    def __init__(self, opset: int = DEFAULT_OPSET) -> None:
        self._opset = opset
        self._folder = tempfile.TemporaryDirectory()
        self._workers = {name: Worker(_outputs) for name in RUNTIMES}

    def close(self) -> None:
        for worker in self._workers.values():
            worker.stop()
        self._folder.cleanup()

    def __call__(self, path: Path) -> Verdict:
        """The verdict on an IR file with its arrays beside it."""
        held = numbers(path)
        if held.expected and _differs(held.outputs, held.expected):
            return Verdict(path.stem, ORACLE)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                graph = to_dialect(read(path), FORMATS["onnx"], self._opset)
        except BackedgeError as error:
            return Verdict(path.stem, REFUSED, str(error))
        except Exception as error:  # a fault of ours, to be told as such and not to end the report
            return Verdict(path.stem, REFUSED, f"{type(error).__name__}: {error}")
        model = Path(self._folder.name) / "model.onnx"
        write(graph, model)
        size = sum(1 for _ in graph.walk())
        told = objection(model)
        if told:
            return Verdict(path.stem, INVALID, told, nodes=size)
        return self._run(path.stem, graph, model, held.inputs, held.expected or held.outputs, size)

    def _run(
        self, name: str, graph: Graph, model: Path, inputs: list[np.ndarray], wanted: list[np.ndarray], size: int
    ) -> Verdict:
        feeds = dict(zip((value.name for value in graph.inputs if value.data is None), inputs, strict=False))
        objections: list[str] = []
        for by, worker in self._workers.items():
            try:
                found = worker.ask(RUNTIMES[by], model, feeds, timeout=_SECONDS)
            except (RuntimeError, TimeoutError) as error:
                objections.append(f"{by}: {error}")
                continue
            told = _differs(found, wanted)
            kind, reason = (DIFFERENT, f"{by}: {told}") if told else (RIGHT, "; ".join(objections))
            return Verdict(name, kind, reason, by, size)
        return Verdict(name, UNRUNNABLE, "; ".join(objections), nodes=size)


def _differs(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> str:
    """What is wrong with the first output that is; variables' values come after the model's own outputs."""
    if len(found) < len(wanted):
        return f"{len(found)} outputs, not {len(wanted)}"
    told = (difference(np.asarray(one), other, RTOL, ATOL) for one, other in zip(found, wanted, strict=False))
    return next((f"output {place}: {reason}" for place, reason in enumerate(told) if reason), "")


@contextmanager
def judging(opset: int = DEFAULT_OPSET) -> Iterator[Judge]:
    judge = Judge(opset)
    try:
        yield judge
    finally:
        judge.close()


def sweep(
    folder: Path, source: str, opset: int = DEFAULT_OPSET, parts: Sequence[str] = (), show: bool = True
) -> list[Verdict]:
    """The verdicts on all of a source's models, or those with one of `parts` in their names."""
    paths = made_by_openvino(folder, source, show)
    with judging(opset) as judge:
        return [judge(path) for path in paths if not parts or any(part in path.stem for part in parts)]


def summary(verdicts: Sequence[Verdict]) -> str:
    """A table: verdict, count, share of those that OpenVINO runs right."""
    judged = [verdict for verdict in verdicts if verdict.kind != ORACLE]
    counts = Counter(f"{verdict.kind} by {verdict.by}" if verdict.by else verdict.kind for verdict in judged)
    counts[RIGHT] = sum(verdict.kind == RIGHT for verdict in judged)
    rows = [f"{kind:26}{count:6}{100 * count / max(len(judged), 1):8.1f} %" for kind, count in sorted(counts.items())]
    rows.append(f"{'run right by OpenVINO':26}{len(judged):6}")
    rows.append(f"{'not run right by OpenVINO':26}{len(verdicts) - len(judged):6}")
    rows.append(f"{'ONNX nodes altogether':26}{sum(verdict.nodes for verdict in judged):6}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m openvino_raising.onnx_sweep")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--opset", type=int, default=DEFAULT_OPSET)
    parser.add_argument("--only", action="append", default=[], help="part of the names")
    given = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as temporary:
        for source in given.sources or ["nodes"]:
            verdicts = sweep(given.folder or Path(temporary), source, given.opset, given.only)
            for verdict in verdicts:
                if verdict.kind not in (RIGHT, ORACLE):
                    print(f"{verdict.kind:11} {verdict.name}: {verdict.reason[:300]}")
            print(f"--- {source} at opset {given.opset}")
            print(summary(verdicts))


if __name__ == "__main__":
    main()
