"""IR files with OpenVINO's own numbers, and what our raised graphs make of the same inputs."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.openvino.raising import raise_graph
from backedge.convert.openvino.read import read
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from backedge.passes.types import DType
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor, never_compile

MAKER = Path(__file__).with_name("make_ir.py")


@dataclass
class Making:
    """What became of the cases of a source: name -> "" or why OpenVINO has no file or numbers."""

    reasons: dict[str, str] = field(default_factory=dict)


def make(folder: Path, source: str, timeout: float = 60.0) -> Making:
    """Make all cases of a source; the process is started again behind a case that kills it or hangs."""
    making, first = Making(), 0
    while True:
        log = folder / "log.txt"
        errors = folder / "errors.txt"
        with log.open("w") as output, errors.open("w") as trouble:
            command = [sys.executable, str(MAKER), str(folder), source, str(first)]
            process = subprocess.Popen(command, stdout=output, stderr=trouble)
            _watch(process, log, timeout)
        lines = log.read_text(errors="replace").splitlines()
        begun = ("", "")
        for line in lines:
            head, _, rest = line.partition(" ")
            if head == "=":
                name, _, reason = rest.partition(" ")
                making.reasons[name] = reason
            elif head.isdigit():
                begun = (head, rest)
        if lines and lines[-1] == "done":
            return making
        if not begun[0] or (begun[1] in making.reasons and int(begun[0]) + 1 <= first):
            raise RuntimeError(f"{source}: the maker doesn't get on: {errors.read_text()[-500:]}")
        making.reasons.setdefault(begun[1], "OpenVINO died or hung")
        first = int(begun[0]) + 1


_BEGINNING = 5  # times as long until the first case: all of onnx's cases are computed before


def _watch(process: subprocess.Popen[bytes], log: Path, timeout: float) -> None:
    size, changed = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        if log.stat().st_size != size:
            size, changed = log.stat().st_size, time.monotonic()
        elif time.monotonic() - changed > timeout * (1 if size else _BEGINNING):
            process.kill()
            process.wait()


@dataclass
class Numbers:
    """The arrays beside an IR file."""

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]
    expected: list[np.ndarray]


def numbers(path: Path) -> Numbers:
    with np.load(path.with_suffix(".npz"), allow_pickle=True) as held:
        return Numbers(
            *([_array(held, key) for key in held if key.startswith(kind)] for kind in ("in", "out", "expected"))
        )


def _array(held: Any, key: str) -> np.ndarray:
    """An array, whose type stands behind the name where NumPy hasn't it."""
    dtype = key.partition(":")[2]
    return held[key].view(DType(dtype).numpy) if dtype else held[key]


def raised(path: Path) -> Graph:
    """The file's model in the hub, with every invariant checked."""
    return verify(raise_graph(read(path)))


def run(graph: Graph, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a hub graph, inputs by position."""
    feeds = {value.name: one for value, one in zip(graph.inputs, inputs, strict=False)}
    made = Executor(graph, never_compile).run(feeds)
    return [made[value.name] for value in graph.outputs]


def difference(found: list[np.ndarray], wanted: list[np.ndarray], rtol: float = 1e-4, atol: float = 1e-5) -> str:
    """ "" if equal, else what differs first."""
    if len(found) != len(wanted):
        return f"{len(found)} outputs, not {len(wanted)}"
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            return f"output {place}: shape {one.shape}, not {other.shape}"
        if one.dtype != other.dtype and {one.dtype.kind, other.dtype.kind} - set("OUS"):
            return f"output {place}: {one.dtype}, not {other.dtype}"
        if one.dtype.kind in "OUS":
            if [str(item) for item in one.reshape(-1)] != [str(item) for item in other.reshape(-1)]:
                return f"output {place}: other strings"
            continue
        if one.dtype.kind in "iub":
            if not np.array_equal(one, other):
                return f"output {place}: {one.reshape(-1)[:6]}, not {other.reshape(-1)[:6]}"
            continue
        a, b = one.astype(np.float64), other.astype(np.float64)
        finite = np.abs(b[np.isfinite(b)])
        if not np.allclose(a, b, rtol, atol * max(1.0, finite.max(initial=0)), equal_nan=True):
            with np.errstate(all="ignore"):
                worst = int(np.argmax(np.where(a == b, 0, np.nan_to_num(np.abs(a - b), nan=np.inf))))
            return f"output {place}: {a.reshape(-1)[worst]}, not {b.reshape(-1)[worst]} (element {worst})"
    return ""


def check(path: Path) -> str:
    """ "" if a raised file computes what OpenVINO does, else the stage and what went wrong."""
    held = numbers(path)
    try:
        graph = raised(path)
    except BackedgeError as error:
        return f"raise: {error}"
    try:
        found = run(graph, held.inputs)
    except Exception as error:
        return f"run: {type(error).__name__}: {error}"
    told = difference(found, held.outputs)
    if told and held.expected and not difference(found, held.expected, 1e-3, 1e-4):
        return ""  # OpenVINO's runtime is off, the model it wrote isn't
    return f"differs: {told}" if told else ""
