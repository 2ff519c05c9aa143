"""Recorded cases: raised, lowered, run in OpenVINO, compared with the recorded outputs; beside OpenVINO's converter.

python -m openvino_lowering.sweep [--peer] [--cases nodes|releases|open] [part of a name ...]   (from the folder tests)
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.write import write
from backedge.passes.errors import BackedgeError

from . import peer
from .corpus import KINDS, Case
from .runner import Runner

RAISED, LOWERED, RAN, RIGHT = "not raised", "refused", "not run", "right"
WRONG, DRAWN, OTHERWISE = "wrong", "right but for what is drawn", "as ONNX Runtime, recorded otherwise"
_SECONDS = 30


@dataclass(frozen=True)
class Verdict:
    """How far a case came, and why not further; `peer`: how far OpenVINO's own converter came with it."""

    name: str
    stage: str
    reason: str = ""
    peer: str = ""


TOLERANCES = {"bfloat16": 2e-2, "float16": 2e-3}


def difference(found: Any, wanted: Any, rtol: float, atol: float) -> str:
    """What is wrong with an output; "" if nothing is."""
    if wanted is None or isinstance(wanted, list):
        return "a sequence or an optional is wanted"
    wanted = np.asarray(wanted)
    if found.shape != wanted.shape:
        return f"shape {list(found.shape)}, not {list(wanted.shape)}"
    text = wanted.dtype.kind in "OUT"
    if found.dtype != wanted.dtype and not (text and found.dtype.kind in "OUT"):
        return f"type {found.dtype}, not {wanted.dtype}"
    exact = text or found.dtype.kind in "biu"
    a, b = (array if exact else array.astype(np.float64) for array in (found, wanted))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limit = max(rtol, TOLERANCES.get(str(wanted.dtype), 0))
        scale = 0 if exact else np.abs(b[np.isfinite(b)]).max(initial=0)
        same = np.asarray(a == b if exact else np.isclose(a, b, limit, max(atol, limit * 1e-3 * scale), equal_nan=True))
    if same.all():
        return ""
    return f"{(~same).sum()} of {same.size}: {a[~same][:3]}, not {b[~same][:3]}"


_DRAW = ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomUniform")


def _draws(model: onnx.ModelProto) -> bool:
    """Whether a model draws random numbers, which nobody draws alike."""
    return any(node.op_type.startswith(_DRAW) for node in model.graph.node)


def _is_usual(case: Case, feeds: dict[str, Any], made: list[Any]) -> bool:
    """Whether ONNX Runtime has what OpenVINO has; early releases recorded some cases wrongly."""
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        found = onnxruntime.InferenceSession(case.model.SerializeToString(), options).run(None, feeds)
    except Exception:  # it has no such kernel
        return False
    return not any(difference(one, other, case.rtol, case.atol) for one, other in zip(made, found, strict=True))


def _compared(case: Case, runner: Runner, path: Path) -> tuple[str, str]:
    """(stage, reason) of a file that a runner runs."""
    names = [value.name for value in case.model.graph.input]
    for inputs, outputs in case.sets:
        feeds = {name: value for name, value in zip(names, inputs, strict=False) if value is not None}
        try:
            (made,) = runner.run(path, [feeds], timeout=_SECONDS)
        except (RuntimeError, TimeoutError) as error:
            return RAN, str(error)
        if len(made) != len(outputs):
            return WRONG, f"{len(made)} outputs, not {len(outputs)}"
        for found, wanted in zip(made, outputs, strict=True):
            wrong = difference(found, wanted, case.rtol, case.atol)
            if wrong and not wrong.startswith(("shape", "type")) and _draws(case.model):
                return DRAWN, wrong
            if wrong:
                return (OTHERWISE if _is_usual(case, feeds, made) else WRONG), wrong
    return RIGHT, ""


def judge(case: Case, runner: Runner, folder: Path) -> tuple[str, str]:
    """(stage, reason) of our conversion."""
    try:
        graph = raise_graph(read_model(case.model))
    except BackedgeError as error:
        return RAISED, str(error)
    try:
        path = folder / "model.xml"
        write(lower_graph(graph), path)
    except BackedgeError as error:
        return LOWERED, str(error)
    return _compared(case, runner, path)


def judge_peer(case: Case, runner: Runner, folder: Path) -> str:
    """The stage of the peer's conversion."""
    path = folder / "model.onnx"
    onnx.save(case.model, path)
    return _compared(case, runner, path)[0]


def sweep(cases: Iterable[Case], parts: Iterable[str] = (), *, beside: bool = False) -> Iterator[Verdict]:
    """The verdict on each case whose name has one of the parts; `beside`: the peer's, too."""
    parts = tuple(parts)
    runner, other = Runner(), Runner(peer.convert_and_run)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in cases:
                if not parts or any(part in case.name for part in parts):
                    stage, reason = judge(case, runner, Path(folder))
                    yield Verdict(case.name, stage, reason, judge_peer(case, other, Path(folder)) if beside else "")
    finally:
        runner.close()
        other.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", action="store_true", help="measure OpenVINO's own converter, too")
    parser.add_argument("--cases", choices=[*KINDS], default="nodes")
    parser.add_argument("parts", nargs="*")
    chosen = parser.parse_args()
    verdicts = []
    for verdict in sweep(KINDS[chosen.cases](), chosen.parts, beside=chosen.peer):
        verdicts.append(verdict)
        if verdict.stage != RIGHT:
            beside = f" [peer: {verdict.peer}]" if chosen.peer else ""
            print(f"{verdict.stage:11} {verdict.name}: {verdict.reason[:200]}{beside}", flush=True)
    counts = Counter(verdict.stage for verdict in verdicts)
    print(len(verdicts), "cases:", ", ".join(f"{count} {stage}" for stage, count in counts.most_common()))
    if chosen.peer:
        theirs = Counter(verdict.peer for verdict in verdicts)
        print("peer:", ", ".join(f"{count} {stage}" for stage, count in theirs.most_common()))
        for verdict in verdicts:
            if verdict.peer == RIGHT and verdict.stage != RIGHT:
                print(f"only the peer: {verdict.name}: {verdict.stage}: {verdict.reason[:200]}")


if __name__ == "__main__":
    main()
