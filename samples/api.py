"""The Python interface on one page: load, run, show, rewrite, save, convert, verify.

    python samples/api.py [DIRECTORY]

Writes into the directory, which defaults to a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import backedge
import numpy as np
import onnxscript
from onnxscript import FLOAT, INT64
from onnxscript import opset21 as op

SOURCE = Path(__file__).with_name("newton_sqrt.onnx")


@onnxscript.script(default_opset=op)
def compound(amount: FLOAT, rate: FLOAT, years: INT64) -> FLOAT:
    """What an amount becomes with interest."""
    result = op.Identity(amount)
    for _ in range(years):
        result = result + result * rate
    return result


def main(folder: Path) -> None:
    graph = backedge.load(SOURCE)
    outputs = backedge.run(graph, {"x": np.array(2, np.float32)})
    print(f"sqrt(2) = {outputs['root'].item():.6f} after {outputs['iterations'].item()} iterations")

    # Files: the format is told by the suffix, and a conversion checks itself.
    copy, target = folder / "copy.onnx", folder / "newton_sqrt.xml"
    backedge.save(graph, copy)
    print(f"copy: {backedge.verify(SOURCE, copy).verdict}")
    print(f"conversion: {backedge.convert(SOURCE, target).verdict}")
    print(f"OpenVINO IR: {backedge.verify(SOURCE, target).verdict}")

    # Objects: a function of ONNX Script goes in, an openvino.Model comes out.
    report = backedge.convert(compound, to="openvino")
    print(report)
    (amount,) = backedge.run(report.model, {"amount": np.float32(100), "rate": np.float32(0.5), "years": 3}).values()
    print(f"100 at 50 % for 3 years: {amount.item()}")

    # A rule is two functions: what is looked for, and what takes its place. It is applied in loops, too.
    rewritten = backedge.rewrite(
        compound, (lambda op, x, rate: op.Add(x, op.Mul(x, rate)), lambda op, x, rate: op.Mul(x, op.Add(rate, 1.0)))
    )
    backedge.show(rewritten)
    print(f"rewritten: {backedge.verify(compound, rewritten).verdict}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
