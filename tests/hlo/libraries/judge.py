"""What `make.py` wrote: to ONNX, back to HLO and to OpenVINO IR, each run by its own runtime, beside jax's numbers.

python -m hlo.libraries.judge OUTDIR [name ...]   (from the folder tests)

Figures are the largest error in parts of the largest number of an output.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.files import load, to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from backedge.runtime import run
from backedge.runtime.oracles import run_file

_TARGETS = (("onnx", ".onnx", "onnxruntime"), ("hlo", ".back.hlo", "xla"), ("openvino", ".xml", "openvino"))


def difference(found: Sequence[Any], wanted: Sequence[np.ndarray]) -> str:
    """The largest error, or what differs altogether."""
    largest = 0.0
    for place, (got, value) in enumerate(zip(found, wanted, strict=True)):
        got = np.asarray(got)
        if value.dtype.kind == "c":
            value = np.stack([value.real, value.imag], -1)
        if (got.dtype, got.shape) != (value.dtype, value.shape):
            return f"output {place} is {got.dtype}{list(got.shape)}, not {value.dtype}{list(value.shape)}"
        if value.dtype.kind in "biu":
            if not np.array_equal(got, value):
                return f"output {place} differs"
            continue
        a, b = got.astype(np.float64), value.astype(np.float64)
        finite = np.isfinite(b)
        if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
            return f"output {place} differs where it isn't finite"
        scale = max(np.abs(b[finite]).max(initial=0), 1e-3)  # gradients that are 0 but for rounding
        largest = max(largest, np.abs(a[finite] - b[finite]).max(initial=0) / scale)
    return f"{largest:.0e}"


def judge_open(folder: Path, name: str) -> list[str]:
    """The program whose first size is open, as an ONNX model run by ONNX Runtime at each size."""
    model = folder / f"{name}.open.onnx"
    try:
        hub = to_hub(load(folder / f"{name}.open.mlirbc"))
        FORMATS["onnx"].write(to_dialect(hub, FORMATS["onnx"]), model)
    except BackedgeError as error:
        return [str(error)]
    found: list[str] = []
    for path in sorted(folder.glob(f"{name}.open.*.npz")):
        given, wanted = _arrays(path)
        feeds = dict(zip((value.name for value in hub.inputs), given, strict=True))
        (outcome,) = run_file("onnxruntime", model, [feeds], 60)
        outputs = [outcome.outputs[value.name] for value in hub.outputs] if not outcome.error else []
        found.append(outcome.error or difference(outputs, wanted))
    return [f"open, onnxruntime {', '.join(found)}"]


def _arrays(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What went in, and what jax computed."""
    arrays = np.load(path)
    given, wanted = ([arrays[f"{side}_{at}"] for at in range(_count(arrays, side))] for side in ("in", "out"))
    return given, wanted


def judge(folder: Path, name: str) -> list[str]:
    given, wanted = _arrays(folder / f"{name}.npz")
    try:
        hub = to_hub(load(folder / f"{name}.hlo"))
    except BackedgeError as error:
        return [str(error)]
    feeds = dict(zip((value.name for value in hub.inputs), given, strict=True))
    found = [f"executor {difference(list(run(hub, feeds).values()), wanted)}"]
    for target, suffix, oracle in _TARGETS:
        try:
            path = folder / f"{name}{suffix}"
            model: Graph = to_dialect(hub, FORMATS[target])
            FORMATS[target].write(model, path)
            (outcome,) = run_file(oracle, path, [feeds], 60)
            outputs = [outcome.outputs[value.name] for value in hub.outputs] if not outcome.error else []
            found.append(f"{oracle} {outcome.error or difference(outputs, wanted)}")
        except BackedgeError as error:
            found.append(f"{target}: {error}")
    loops = Counter(node.op_type for _, node in load(folder / f"{name}.onnx").walk() if node.regions)
    return [*found, " ".join(f"{count} {kind}" for kind, count in loops.items())]


def _count(arrays: Any, side: str) -> int:
    return sum(name.startswith(f"{side}_") for name in arrays.files)


def main(folder: Path, names: list[str]) -> None:
    for path in sorted(folder.glob("*.hlo")):
        name = path.stem
        if path.name.count(".") > 1 or (names and name not in names):  # `judge` writes NAME.back.hlo
            continue
        opened = judge_open(folder, name) if (folder / f"{name}.open.mlirbc").exists() else []
        print(name, *judge(folder, name), *opened, sep=" | ", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
