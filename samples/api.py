"""The Python interface on one page: load, run, save, convert, verify.

    python samples/api.py [DIRECTORY]

Writes into the directory, which defaults to a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from backedge.convert import convert, load, save, verify
from backedge.runtime import run

SOURCE = Path(__file__).with_name("newton_sqrt.onnx")


def main(folder: Path) -> None:
    graph = load(SOURCE)
    outputs = run(graph, {"x": np.array(2, np.float32)})
    print(f"sqrt(2) = {outputs['root'].item():.6f} after {outputs['iterations'].item()} iterations")

    copy, target = folder / "copy.onnx", folder / "newton_sqrt.xml"
    save(graph, copy)
    print(f"copy: {verify(SOURCE, copy, trials=16, seed=0).verdict}")

    # Checks its own result on sixteen inputs unless verify=0.
    print(f"conversion: {convert(SOURCE, target, verify=16).verdict}")
    print(f"OpenVINO IR: {verify(SOURCE, target, trials=64, seed=0).verdict}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
