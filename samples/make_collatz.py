"""The Collatz sequence as a while loop around a branch: n / 2 if n is even, else 3 n + 1, until n is 1.

Integers only, so every runtime must give exactly the same numbers. What is below 2 needs no step.
"""

from __future__ import annotations

import onnxscript
from _common import scripted, write
from onnxscript import INT64
from onnxscript import opset21 as op


@onnxscript.script(default_opset=op)
def collatz(start: INT64) -> tuple[INT64, INT64]:
    number = op.Identity(start)
    highest = op.Identity(start)
    steps = op.Constant(value_int=0)
    go_on = start > 1
    while go_on:
        if number % 2 == 0:
            number = number / 2
        else:
            number = number * 3 + 1
        highest = op.Max(highest, number)
        steps = steps + 1
        go_on = number > 1
    return steps, highest


if __name__ == "__main__":
    write(scripted(collatz, "steps", "highest"), __file__)
