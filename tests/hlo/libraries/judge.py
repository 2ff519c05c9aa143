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


def judge(folder: Path, name: str) -> list[str]:
    arrays = np.load(folder / f"{name}.npz")
    given, wanted = ([arrays[f"{side}_{at}"] for at in range(_count(arrays, side))] for side in ("in", "out"))
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
    for path in sorted(folder.glob("*.npz")):
        if not names or path.stem in names:
            print(path.stem, *judge(folder, path.stem), sep=" | ", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
