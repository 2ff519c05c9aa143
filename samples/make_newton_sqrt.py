"""Newton's method for the square root, as a while loop.

y' = (y + x / y) / 2 until the step is small. No trip count: only the condition ends the loop. For what
isn't positive it is false from the start, and x comes out as it went in.
"""

from __future__ import annotations

import onnxscript
from _common import scripted, write
from onnxscript import FLOAT, INT64
from onnxscript import opset21 as op


@onnxscript.script(default_opset=op)
def newton_sqrt(x: FLOAT) -> tuple[FLOAT, INT64]:
    root = op.Identity(x)
    iterations = op.Constant(value_int=0)
    go_on = x > 0.0
    while go_on:
        better = (root + x / root) * 0.5
        go_on = op.Abs(better - root) > better * 1e-4
        root = better
        iterations = iterations + 1
    return root, iterations


if __name__ == "__main__":
    write(scripted(newton_sqrt, "root", "iterations"), __file__)
