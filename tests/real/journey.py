"""ONNX -> IR -> ONNX for models out of wheels: each step run, and measured beside ov.convert_model.

cd tests; python -m real.journey [part of a name ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from backedge.convert import load, to_hub
from backedge.runtime.compare.rounding_tensors import ALLOWED
from backedge.runtime.wide import WideModel, flat, spread
from backedge.runtime.wide.noise import Noise
from openvino_lowering.worker import Worker

from .models import MODELS, Feeds, Real

RTOL, ATOL = 1e-3, 1e-4  # ATOL in units of the largest number


def _openvino(path: Path, feeds: list[Feeds]) -> list[list[np.ndarray]]:
    from backedge.runtime.oracles.openvino_session import open_session

    session = open_session(path, {"recompile": "never"})
    return [list(session.run(feed)[0].values()) for feed in feeds]


def _onnxruntime(path: Path, feeds: list[Feeds]) -> list[list[np.ndarray]]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    return [[np.asarray(value) for value in session.run(None, dict(feed))] for feed in feeds]


@dataclass
class Step:
    """One file made of another: what it took, and how far its numbers are from the original's.

    `error`: the largest difference, in units of what is allowed; None if it doesn't run, then `reason` says why.
    """

    seconds: float = 0.0
    most: float = 0.0
    before: float = 0.0
    error: float | None = None
    reason: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def right(self) -> bool:
        return self.error is not None and self.error <= 1


Runs = list[list[np.ndarray]]


RUNS = 4
"""Noisy runs for each set of inputs."""


def _movement(path: Path, feeds: list[Feeds]) -> Runs:
    """How far rounding carries each element of the original's outputs."""
    model = WideModel(to_hub(load(path)))
    found: Runs = []
    for feed in feeds:
        exact = [leaf for value in model.exact(feed)[0].values() for leaf in flat(value)]
        noisy = [model.noisy(feed, Noise(seed)) for seed in range(RUNS)]
        runs = [[leaf for value in run.values() for leaf in flat(value)] for run in noisy]
        spreads = [spread(leaf, [run[place] for run in runs]) for place, leaf in enumerate(exact)]
        found.append([ALLOWED * one for one in spreads])
    return found


def difference(found: Runs, wanted: Runs, moves: Runs) -> float | None:
    """The largest difference in units of what is allowed; None where types or shapes differ.

    Allowed is a share of each number, and as far as rounding carries the original itself: nets that quantize what they
    compute go from one step to the next by the last place of a sum.
    """
    worst = 0.0
    for one, other, moved in zip(found, wanted, moves, strict=True):
        for a, b, far in zip(one, other, moved, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                return None
            if b.size:
                allowed = RTOL * np.abs(b) + ATOL * np.abs(b).max() + far
                worst = max(worst, float((np.abs(a - b) / np.maximum(allowed, 1e-30)).max()))
    return worst


def _step(tool: str, source: Path, target: Path, opset: int | None = None) -> Step:
    command = [sys.executable, str(Path(__file__).with_name("convert_one.py")), tool, str(source), str(target)]
    done = subprocess.run([*command, *([str(opset)] if opset else [])], capture_output=True, text=True, timeout=600)
    if done.returncode:
        return Step(reason=(done.stderr.strip().splitlines() or ["it died"])[-1])
    return Step(**json.loads(done.stdout.splitlines()[-1]))


def _compare(step: Step, run: Worker, path: Path, feeds: list[Feeds], wanted: Runs, moves: Runs) -> None:
    if step.reason:
        return
    try:
        step.error = difference(run.ask(path, feeds, timeout=300), wanted, moves)
        step.reason = "" if step.error is not None else "other types or shapes"
    except (RuntimeError, TimeoutError) as error:
        step.reason = str(error)


@dataclass
class Journey:
    """The steps of one model."""

    model: Real
    to_ir: Step
    back: Step
    peer: Step


def travel(model: Real, folder: Path) -> Journey:
    """Convert, run, compare; every runtime in a process of its own."""
    source, feeds = model.fetch(), model.feeds()
    opset = next(
        entry.version for entry in onnx.load(source, load_external_data=False).opset_import if not entry.domain
    )
    onnx_runs, ir_runs, wide_runs = Worker(_onnxruntime), Worker(_openvino), Worker(_movement)
    try:
        wanted = onnx_runs.ask(source, feeds, timeout=300)
        moves = wide_runs.ask(source, feeds, timeout=900)
        journey = Journey(
            model,
            _step("ours", source, folder / "ours.xml"),
            _step("ours", folder / "ours.xml", folder / "back.onnx", max(opset, 13)),
            _step("peer", source, folder / "peer.xml"),
        )
        _compare(journey.to_ir, ir_runs, folder / "ours.xml", feeds, wanted, moves)
        _compare(journey.back, onnx_runs, folder / "back.onnx", feeds, wanted, moves)
        _compare(journey.peer, ir_runs, folder / "peer.xml", feeds, wanted, moves)
        if not journey.back.reason:
            onnx.checker.check_model(folder / "back.onnx", full_check=True)
        return journey
    finally:
        onnx_runs.stop()
        ir_runs.stop()
        wide_runs.stop()


def _line(step: Step) -> str:
    if step.error is None:
        return f"{step.reason[:90]}"
    return f"error {step.error:8.2g}  {step.seconds:6.2f} s  {step.most - step.before:6.0f} MB"


def main() -> None:
    for model in MODELS:
        if sys.argv[1:] and not any(part in model.name for part in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            journey = travel(model, Path(folder))
        print(model.name)
        for name, step in (("to IR", journey.to_ir), ("back", journey.back), ("ov.convert_model", journey.peer)):
            print(f"    {name:17} {_line(step)}", flush=True)


if __name__ == "__main__":
    main()
